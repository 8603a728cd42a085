"""The insured sampler: Thompson-like play, a log-barrier shadow that insures it, and two tests of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, copy_state, kernel
from bothworlds._simd import (
    LANES,
    add_up,
    all_at_most,
    exp_of,
    fill,
    load,
    log_of,
    make_block,
    most,
    root,
    store,
    whole,
)
from bothworlds.policies.base import (
    Policy,
    before_draw,
    begin_again,
    carry_over,
    copy,
    draws_from_its_p,
    grow,
    init,
    inspect,
    learn,
    learn_absent,
    memo_of,
    retire,
    step,
)
from bothworlds.policies.ftrl.aliases import LightBarrier
from bothworlds.policies.ftrl.estimators import CappedBaseline
from bothworlds.policies.ftrl.ftrl import FTRL
from bothworlds.policies.ftrl.kernel import HOPELESS, FTRLParameters, restart, update_p
from bothworlds.policies.ftrl.rates import ErrorWeightedRates
from bothworlds.policies.ftrl.state import (
    BEGUN,
    DRIFT,
    ERRORS,
    LEARNED,
    LOSS_COUNT,
    LOSS_SUM,
    RESTARTS,
    FTRLState,
)
from bothworlds.simplex.kernel import CONVERGED
from bothworlds.simplex.regularizers import LogBarrier
from bothworlds.simplex.steps import SEVERAL

GREED = 1.5  # λ: how much faster than e^(−n·kl) the weight of an arm falls
PRIOR = 4.0  # pseudo-count of the variance ratio
CAUTION = 4.0  # u − log n of the change test: smaller is quicker, and more often wrong
PREMIUM = 25.0  # the floor halves when the sampler has earned so much more than its shadow
PATIENCE = 3.0  # of the insurance test: standard deviations, and losses on top of them
ROUNDING = 1e-15  # a divergence of less is that of equal means
NO_ARM = 1.0  # a negative entropy that no arm has, for what fills the last block, and for retired arms:
NO_WEIGHT = 1e4  # their divergence is at least 1, and their weight below 1e-300
HANDED_OVER = 2.0  # the memo of a draw after the rejection; before it is x_a, which is at most 1


class InsuredParameters(NamedTuple):
    """The two FTRL machines, the largest ε, whether it adapts, and the number of arms."""

    shadow: FTRLParameters
    fallback: FTRLParameters
    floor: float
    adaptive: bool
    n_arms: int


class InsuredState(NamedTuple):
    """What is known of every arm, the distribution, and the state of the shadow, later of the fallback."""

    arms: FloatArray
    """``WIDTH`` numbers for each arm, in the order below."""
    means: FloatArray
    """m_i = (s_i + ½)/(n_i + 1). This and the next three are filled up to whole blocks."""
    entropies: FloatArray
    """h_i = m_i·log m_i + (1−m_i)·log(1−m_i), the negative entropy."""
    scales: FloatArray
    """λ·n_i/ρ_i, by which kl(m_i, m_k) is multiplied for Z_i."""
    weights: FloatArray
    """w_i of the round to come, up to the rejection."""
    p: FloatArray
    """Distribution of the round to come."""
    scalars: FloatArray
    """The single numbers below."""
    ftrl: FTRLState
    """Its p is x. Its number of restarts is 0 before the rejection, 1 after it."""


# of every arm: blocks of four first
LEAKY = 0  # four leaky sums k_ij of residuals
NOISE = 4  # four leaky sums v_ij of their variances
LOGS = 8  # log m_i, log(1 − m_i), log n_i (and a 0)
COUNT = 12  # n_i: how often the arm was seen
SUM = 13  # s_i: the losses seen
SQUARES = 14  # A_i: squared residuals
VARIANCE = 15  # B_i: what they would be for Bernoulli losses
WIDTH = 16

LEADER = 0  # an arm with the smallest mean
DEBT = 1  # D: by how much the sampler is estimated to lose more than its shadow
DEBT_NOISE = 2  # V: its squared increments
AWAKE = 3  # Σ x_i of the arms that can be drawn: 1, unless some are asleep
N_SCALARS = 4


@dataclass(frozen=True, repr=False)
class InsuredSampler(Policy, name="insured-sampler"):
    """Thompson's regret where losses are iid, at closed-form probabilities, with an insurance against others.

    *Sampler.* With n_i losses of arm i seen, s_i their sum, m_i = (s_i + ½)/(n_i + 1), and k the smallest
    mean, q_i ∝ w(Z_i) with

        Z_i = 1.5·n_i·kl(m_i, m_k)/ρ_i   and   w(Z) = e^{−Z}·2/(√(πZ) + √(πZ + 4)) ≈ erfc √Z .

    ρ_i ≤ 1 is the variance of the losses of arm i relative to that of Bernoulli losses, so that quiet arms
    are told apart sooner. With residuals r = (ℓ − s_i/n_i)·√(n_i/(n_i + 1)), each taken before its loss is
    counted, it is min{1, (4 + Σ r²)/(4 + Σ m_i(1−m_i))}.

    *Shadow.* A log-barrier FTRL x learns from the same importance-weighted losses, and holds a floor:

        p_i ∝ max{q_i, ε·x_i} ,   ε = 0.03 .

    Its C is 8, its rates γ are ``ErrorWeightedRates(3, monotone=True)``, and its baselines are
    b_i = min{ḡ, 0.015·(C + γ_i)}, ḡ the mean of all losses seen.

    *Tests.* D = Σ (1 − x_a/p_a)·(ℓ_a − ḡ) estimates without bias what the sampler has lost more than its
    shadow would have. The sampler is rejected when D > 3·√V + 3, V the sum of squares, or when an arm has
    changed: for one of η = 2^−4, 2^−7, 2^−10, 2^−14 the leaky sum k = Σ (1−η)^{n_i − j} r_j of its residuals
    has abs(k) > √(2uv) + u/3, with v that of the variances m_i(1−m_i) at (1−η)², and u = 4 + log n_i. From
    then on, for good, it is a :class:`LightBarrier`. After a change it starts with what the sampler knew, the
    estimated losses L_i = n·(m_i − m_k), n = Σ n_i: the order of the arms may well be the same, as it is when
    all move together (if it is not, :class:`Watched` finds out). After a debt it knows nothing but ḡ.

    With an unknown horizon, log(t + K) stands for log T and 1/t for the clip of the rates; nothing else uses
    the horizon. Losses that come late count when they come, with the p_a and x_a of their draw; of those
    drawn before the rejection that come after it only ḡ takes note.

    What is proved: every probability is exact, the estimates and D are unbiased. What is only measured: the
    regret. On iid losses it is that of Thompson sampling, and less where losses vary little. A bound
    O(√(KT log T)/ε) up to the rejection is sketched, not proved line by line: x is FTRL on estimates with
    p_i ≥ ε·x_i/(1 + ε), and the insurance test bounds what p may lose more than x.

    Parameters
    ----------
    floor:
        ``"fixed"``: as above.
        ``"adaptive"``: ε = 0.2/(1 + max{0, −D}/25), C = 2, rates with θ = 1.5, and baselines capped by the
        probability in force, b_i = min{ḡ, ½·p_i·(L_i − λ)}: a little less regret on some iid losses. Not even
        a sketch of a bound: in a long calm the floor nearly vanishes, and an adversary who reads p and then
        hides good losses in improbable arms does more harm.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.InsuredSampler(), n_arms=2, arms=[0, 0, 1], losses=[1.0, 1.0, 0.0]).p[-1].round(3)
    array([0.03, 0.97])

    References
    ----------
    W. Thompson: On the Likelihood that One Unknown Probability Exceeds Another. Biometrika 1933.
    O. Maillard: Apprentissage Séquentiel: Bandits, Statistique et Renforcement. 2013 (sampling at e^{−n·kl}).
    J. Bian, K.-S. Jun: Maillard Sampling: Boltzmann Exploration Done Optimally. AISTATS 2022.
    """

    fixed_arms: ClassVar[str | None] = None

    floor: Literal["fixed", "adaptive"] = "fixed"

    def parameters(self, n_arms: int, horizon: int | None) -> InsuredParameters:
        """The shadow and the fallback in numbers."""
        adaptive = self.floor == "adaptive"
        floor, barrier, theta, kappa = (0.2, 2.0, 1.5, 0.5) if adaptive else (0.03, 8.0, 3.0, 0.015)
        shadow = FTRL(
            LogBarrier(),
            rates=ErrorWeightedRates(theta, monotone=True),
            estimator=CappedBaseline(kappa=kappa),
            log_barrier=barrier,
        )
        return InsuredParameters(
            shadow.parameters(n_arms, horizon),
            LightBarrier().parameters(n_arms, horizon),
            floor,
            adaptive,
            n_arms,
        )


draws_from_its_p(InsuredParameters)


@init.register(InsuredParameters)
def _(params: InsuredParameters) -> InsuredState:
    n = params.n_arms
    blocks = -(-n // LANES) * LANES
    arms = np.zeros((n, WIDTH))
    arms[:, LOGS : LOGS + 2] = -math.log(2.0)
    entropies, scales = np.full(blocks, -math.log(2.0)), np.zeros(blocks)
    entropies[n:] = NO_ARM
    scales[n:] = NO_WEIGHT
    state = InsuredState(
        arms=arms.ravel(),
        means=np.full(blocks, 0.5),
        entropies=entropies,
        scales=scales,
        weights=np.ones(blocks),
        p=np.full(n, 1.0 / n),
        scalars=np.zeros(N_SCALARS),
        ftrl=init(params.shadow),
    )
    state.scalars[AWAKE] = 1.0
    return state


@begin_again.register(InsuredParameters)
def _(
    params: InsuredParameters, state: InsuredState, fresh: InsuredState, loss_sum: float, loss_count: float
) -> None:
    copy_state(fresh, state)
    state.ftrl.scalars[LOSS_SUM] = loss_sum
    state.ftrl.scalars[LOSS_COUNT] = loss_count
    state.ftrl.scalars[BEGUN] = loss_sum


@memo_of.register(InsuredParameters, inline=True)
def _(params: InsuredParameters, state: InsuredState, arm: int, uniforms: FloatArray) -> float:
    return float(state.ftrl.p[arm] / state.scalars[AWAKE]) if insured(state) else HANDED_OVER


@before_draw.register(InsuredParameters, inline=True)
def _(params: InsuredParameters, state: InsuredState, outstanding: int, awake: FloatArray) -> None:
    mass = 1.0
    if awake.size > 0:
        mass = 0.0
        for i in range(params.n_arms):
            mass += awake[i] * state.ftrl.p[i]
    state.scalars[AWAKE] = mass


@kernel(inline=True)
def insured(state: InsuredState) -> bool:
    """Has the sampler not been rejected?"""
    return bool(state.ftrl.scalars[RESTARTS] == 0.0)


@kernel(inline=True)
def machine(params: InsuredParameters, state: InsuredState) -> FTRLParameters:
    """The FTRL in force: the shadow or the fallback, which share the state."""
    return params.shadow if insured(state) else params.fallback


@kernel(inline=True)
def as_played(params: InsuredParameters, state: InsuredState) -> FTRLState:
    """The state of the FTRL with p for x, where the caps of the baselines go by the probability in force."""
    ftrl = state.ftrl
    p = state.p if params.adaptive else ftrl.p
    return FTRLState(ftrl.losses, ftrl.sums, ftrl.rates, p, ftrl.scalars, ftrl.carried)


@learn.register(InsuredParameters, inline=True)
def _(
    params: InsuredParameters, state: InsuredState, arm: int, loss: float, weight: float, memo: float
) -> None:
    if insured(state):
        changed = take_in_residual(state.arms, WIDTH * arm, state.means[arm], loss)
        in_debt = indebted(state, loss, memo / weight)
        if in_debt or changed:
            hand_over(params, state, not in_debt)
        else:
            count_loss(state, arm, loss)
    restarts = 1.0 if memo == HANDED_OVER else 0.0  # others than the FTRL's: only the mean takes note
    learn(machine(params, state), as_played(params, state), arm, loss, weight, restarts)


@kernel(inline=True)
def take_in_residual(arms: FloatArray, at: int, mean: float, loss: float) -> bool:
    """Take in the residual of a loss of the arm whose numbers begin at ``at``; has the arm changed?"""
    n = arms[at + COUNT]
    if n == 0.0:
        return False
    residual = (loss - arms[at + SUM] / n) * math.sqrt(n / (n + 1.0))
    variance = mean * (1.0 - mean)
    arms[at + SQUARES] += residual * residual
    arms[at + VARIANCE] += variance
    keep = make_block(1.0 - 2.0**-4, 1.0 - 2.0**-7, 1.0 - 2.0**-10, 1.0 - 2.0**-14)
    leaky = keep * load(arms, at + LEAKY) + residual
    noise = keep * keep * load(arms, at + NOISE) + variance
    store(arms, at + LEAKY, leaky)
    store(arms, at + NOISE, noise)
    u = CAUTION + arms[at + LOGS + 2]
    return not all_at_most(most(leaky, 0.0 - leaky), root(2.0 * u * noise) + u / 3.0)


@kernel(inline=True)
def indebted(state: InsuredState, loss: float, ratio: float) -> bool:
    """Take in a loss at x_a/p_a; has the sampler lost more than its shadow?"""
    seen = state.ftrl.scalars
    scalars = state.scalars
    excess = (1.0 - ratio) * (loss - (0.5 + seen[LOSS_SUM]) / (1.0 + seen[LOSS_COUNT]))
    scalars[DEBT] += excess
    scalars[DEBT_NOISE] += excess * excess
    return bool(scalars[DEBT] > PATIENCE * math.sqrt(scalars[DEBT_NOISE]) + PATIENCE)


@kernel
def hand_over(params: InsuredParameters, state: InsuredState, trusted: bool) -> None:
    """Become the fallback, for good; if the sampler's means can be trusted, one that knows them."""
    ftrl = state.ftrl
    scalars = ftrl.scalars
    scalars[RESTARTS] = 1.0
    scalars[LEARNED] = 0.0  # what the shadow has learned in this round goes with it
    scalars[DRIFT] = 0.0
    scalars[ERRORS] = 0.0
    restart(params.fallback, ftrl, params.fallback.rate.horizon)
    if trusted:
        best = state.means[int(state.scalars[LEADER])]
        seen = 0.0
        for i in range(params.n_arms):
            seen += state.arms[WIDTH * i + COUNT]
        for i in range(params.n_arms):
            ftrl.losses[i] = seen * (state.means[i] - best)
    equal = not trusted
    for i in range(params.n_arms):
        if state.entropies[i] == NO_ARM:
            ftrl.losses[i] = HOPELESS
            equal = False
    if not equal:
        update_p(params.fallback, ftrl, SEVERAL, 0.0, 0.0)
    copy(ftrl.p, state.p)


@kernel(inline=True)
def count_loss(state: InsuredState, arm: int, loss: float) -> None:
    """Take a loss into the mean of its arm, and find the leader."""
    if state.entropies[arm] == NO_ARM:
        return  # it has retired
    arms, means, scalars = state.arms, state.means, state.scalars
    at = WIDTH * arm
    n = arms[at + COUNT] + 1.0
    total = arms[at + SUM] + loss
    mean = (total + 0.5) / (n + 1.0)
    arms[at + COUNT] = n
    arms[at + SUM] = total
    store(arms, at + LOGS, log_of(make_block(mean, 1.0 - mean, n, 1.0)))
    state.entropies[arm] = mean * arms[at + LOGS] + (1.0 - mean) * arms[at + LOGS + 1]
    ratio = min(1.0, (arms[at + SQUARES] + PRIOR) / (arms[at + VARIANCE] + PRIOR))
    state.scales[arm] = GREED * n / ratio
    rises = mean > means[arm]
    means[arm] = mean
    leader = int(scalars[LEADER])
    if arm == leader and rises:
        find_leader(state)
    elif mean < means[leader]:
        scalars[LEADER] = arm


@kernel(inline=True)
def find_leader(state: InsuredState) -> None:
    """An arm with the smallest mean, the one it is if that is one: of several, any, their divergence is 0."""
    means = state.means
    leader = int(state.scalars[LEADER])
    for i in range(state.p.size):
        if means[i] < means[leader]:
            leader = i
    state.scalars[LEADER] = leader


@step.register(InsuredParameters, inline=True)
def _(params: InsuredParameters, state: InsuredState) -> int:
    if state.ftrl.scalars[LEARNED] == 0.0:
        return CONVERGED
    status = step(machine(params, state), state.ftrl)
    put_in_force(params, state)
    return status


@kernel(inline=True)
def put_in_force(params: InsuredParameters, state: InsuredState) -> None:
    """The distribution of the sampler with its floor, or of the fallback."""
    if insured(state):
        raise_to_floor(params, state, sum_weights(state))
    else:
        copy(state.ftrl.p, state.p)


@kernel(inline=True)
def sum_weights(state: InsuredState) -> float:
    """Fill the weights w_i; return their sum."""
    means, entropies, scales, weights = state.means, state.entropies, state.scales, state.weights
    at = WIDTH * int(state.scalars[LEADER]) + LOGS
    log_mean, log_rest = state.arms[at], state.arms[at + 1]
    sums = fill(0.0)
    for i in range(0, means.size, LANES):
        mean = load(means, i)
        divergence = load(entropies, i) - mean * log_mean - (1.0 - mean) * log_rest
        z = load(scales, i) * most(divergence - ROUNDING, 0.0)
        spread = math.pi * z  # 2/(√a + √(a+4)) is ½(√(a+4) − √a), to 1e-14 where e^−z is above 1e-20
        weight = exp_of(0.0 - z) * (0.5 * (root(spread + 4.0) - root(spread)))
        store(weights, i, weight)
        sums = sums + weight
    return add_up(sums)


@kernel(inline=True)
def raise_to_floor(params: InsuredParameters, state: InsuredState, total: float) -> None:
    """p_i ∝ max{q_i, ε·x_i}, q the weights over their total."""
    weights, x, p = state.weights, state.ftrl.p, state.p
    floor = params.floor * total
    if params.adaptive:
        floor /= 1.0 + max(0.0, -state.scalars[DEBT]) / PREMIUM
    n = p.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        block = most(load(weights, i), floor * load(x, i))
        store(p, i, block)
        sums = sums + block
    share = add_up(sums)
    for i in range(whole(n), n):
        p[i] = max(weights[i], floor * x[i])
        share += p[i]
    share = 1.0 / share
    for i in range(n):
        p[i] *= share


@learn_absent.register(InsuredParameters)
def _(
    params: InsuredParameters, state: InsuredState, before: InsuredState, awake: FloatArray, loss: float
) -> int:
    status = learn_absent(machine(params, state), state.ftrl, before.ftrl, awake, loss)
    put_in_force(params, state)
    return status


@grow.register(InsuredParameters)
def _(params: InsuredParameters, state: InsuredState) -> InsuredState:
    n = state.p.size
    grown: InsuredState = init(params)._replace(ftrl=grow(machine(params, state), state.ftrl))
    carry_over(state.arms, grown.arms)
    carry_over(state.scalars, grown.scalars)
    for one, other in (
        (state.means, grown.means),
        (state.entropies, grown.entropies),
        (state.scales, grown.scales),
    ):
        other[:n] = one[:n]
    find_leader(grown)
    put_in_force(params, grown)
    return grown


@retire.register(InsuredParameters)
def _(params: InsuredParameters, state: InsuredState, arm: int) -> None:
    retire(machine(params, state), state.ftrl, arm)
    state.means[arm], state.entropies[arm], state.scales[arm] = 1.0, NO_ARM, NO_WEIGHT
    find_leader(state)
    put_in_force(params, state)


@inspect.register(InsuredParameters)
def _(params: Any, state: InsuredState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    inspect(params.fallback, state.ftrl, out_rates, out_estimates)
