"""SAO: play as if the world were stochastic, watch for signs that it is not, and then switch for good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, copy, draws_from_its_p, init, inspect, learn, memo_of, step
from bothworlds.policies.exp3_p import EXP3P, EXP3PParameters, EXP3PState
from bothworlds.policies.shared.confidence import Delta, delta_or, require_horizon
from bothworlds.simplex.kernel import CONVERGED


class SAOParameters(NamedTuple):
    """log β, the number of arms, and the EXP3.P to switch to."""

    log_beta: float
    n_arms: int
    exp3p: EXP3PParameters


class SAOState(NamedTuple):
    """What is known of every arm in the stochastic phase, and the state of EXP3.P."""

    counts: FloatArray
    """T_i: how often the arm was seen."""
    sums: FloatArray
    """The gains seen; over ``counts`` they are Ĥ_i."""
    estimates: FloatArray
    """The gains seen, each over its probability; over the number of rounds they are H̃_i."""
    stopped: FloatArray
    """τ_i: the round in which the arm was deactivated; 0 while it is active."""
    frozen: FloatArray
    """q_i: its probability then."""
    p: FloatArray
    """Distribution of the round to come."""
    scalars: FloatArray
    """The single numbers below."""
    exp3p: EXP3PState


EPOCH = 0  # 1 after the switch
ROUND = 1  # number of losses seen in the stochastic phase
LEARNED = 2  # from ``learn`` to ``step``: is there anything new?
N_SCALARS = 3


@dataclass(frozen=True, repr=False)
class SAO(Policy, name="sao"):
    """SAO of Bubeck and Slivkins, the first best-of-both-worlds policy. Needs the horizon T.

    Gains are g = 1 − ℓ. In the stochastic phase, after round t: H̃_i is the mean of the importance-weighted
    gains of arm i, Ĥ_i the mean of its T_i observed ones, H* the largest H̃ of an active arm, and
    r(s) = √(4·x + 5·x²) with x = K·log β/s.

    * An active arm with H* − H̃_i > 6·r(t) is deactivated: τ_i = t, and q_i is its probability.
    * The policy switches to EXP3.P, for ever, if for some arm
      abs(H̃_i − Ĥ_i) > √(2·log β/T_i) + √(4·(K·s/t² + (t − s)/(q_i·τ_i·t))·log β + 5·(K·log β/s)²) with
      s = τ_i (s = t for an active arm, whose second term is 0), or if for some deactivated arm
      H* − H̃_i > 10·r(τ_i − 1) or H* − H̃_i ≤ 2·r(τ_i).
    * Else a deactivated arm gets p_i = q_i·τ_i/(t + 1), and active arms share the rest equally.

    log β is log(10·K·T³/δ), or 4·log T for the version in expectation. Regret 260·K(1 + log K)·log²β/Δ in
    stochastic worlds, 60(1 + log K)(1 + log T)·√(T·K·log β + 5K²·log²β) + 200·K²·log²β in adversarial ones.
    A piece of history rather than a tool: no arm is deactivated before t ≈ 144·K·log β/Δ².

    EXP3.P starts afresh, tuned to T and to δ (to 1/T in expectation): its bound for T rounds covers those
    that remain. Losses that come late, of arms drawn before the switch, are not used.

    Parameters
    ----------
    delta:
        δ in (0, 1]; None is the version in expectation.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.SAO(), n_arms=2, horizon=1000, arms=[0], losses=[0.0]).p  # too early to tell
    array([[0.5, 0.5],
           [0.5, 0.5]])

    References
    ----------
    S. Bubeck, A. Slivkins: The Best of Both Worlds: Stochastic and Adversarial Bandits. COLT 2012.
    """

    fixed_arms: ClassVar[str | None] = (
        "its tests of the world assume that every arm can be drawn in every round"
    )

    delta: Delta | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> SAOParameters:
        """log β, and the parameters of EXP3.P."""
        horizon = require_horizon(self, horizon, "TsallisINF()")
        if self.delta is None:
            log_beta = 4.0 * math.log(max(2, horizon))
        else:
            log_beta = math.log(10.0 * n_arms / self.delta) + 3.0 * math.log(horizon)
        exp3p = EXP3P(delta_or(self, horizon)).parameters(n_arms, horizon)
        return SAOParameters(log_beta, n_arms, exp3p)


draws_from_its_p(SAOParameters)


@memo_of.register(SAOParameters)
def _(params: SAOParameters, state: SAOState, arm: int, uniforms: FloatArray) -> float:
    return float(state.scalars[EPOCH])


@init.register(SAOParameters)
def _(params: SAOParameters) -> SAOState:
    n = params.n_arms
    return SAOState(
        counts=np.zeros(n),
        sums=np.zeros(n),
        estimates=np.zeros(n),
        stopped=np.zeros(n),
        frozen=np.zeros(n),
        p=np.full(n, 1.0 / n),
        scalars=np.zeros(N_SCALARS),
        exp3p=init(params.exp3p),
    )


@learn.register(SAOParameters, inline=True)
def _(params: SAOParameters, state: SAOState, arm: int, loss: float, weight: float, memo: float) -> None:
    scalars = state.scalars
    if memo != scalars[EPOCH]:
        return  # drawn before the switch
    scalars[LEARNED] = 1.0
    if memo == 1.0:
        learn(params.exp3p, state.exp3p, arm, loss, weight, 0.0)
        return
    scalars[ROUND] += 1.0
    state.counts[arm] += 1.0
    state.sums[arm] += 1.0 - loss
    state.estimates[arm] += (1.0 - loss) / weight


@step.register(SAOParameters, inline=True)
def _(params: SAOParameters, state: SAOState) -> int:
    scalars = state.scalars
    if scalars[LEARNED] == 0.0:
        return CONVERGED
    scalars[LEARNED] = 0.0
    if scalars[EPOCH] == 1.0:
        step(params.exp3p, state.exp3p)
        copy(state.exp3p.p, state.p)
    elif suspicious(params, state):
        scalars[EPOCH] = 1.0
        copy(state.exp3p.p, state.p)
    else:
        share(state)
    return CONVERGED


@kernel
def radius(params: SAOParameters, rounds: float) -> float:
    """r(s), infinite for s = 0."""
    if rounds <= 0.0:
        return math.inf
    x = params.n_arms * params.log_beta / rounds
    return math.sqrt(4.0 * x + 5.0 * x * x)


@kernel
def suspicious(params: SAOParameters, state: SAOState) -> bool:
    """Deactivate arms, and say whether the world looks adversarial."""
    t = state.scalars[ROUND]
    best = 0.0  # the best arm is never deactivated: its own gap is 0
    for i in range(params.n_arms):
        if state.stopped[i] == 0.0:
            best = max(best, state.estimates[i] / t)
    for i in range(params.n_arms):
        estimate = state.estimates[i] / t
        gap = best - estimate
        if state.stopped[i] == 0.0 and gap > 6.0 * radius(params, t):
            state.stopped[i] = t
            state.frozen[i] = state.p[i]
        stop = state.stopped[i]
        if stop > 0.0 and (gap > 10.0 * radius(params, stop - 1.0) or gap <= 2.0 * radius(params, stop)):
            return True
        if state.counts[i] > 0.0:
            difference = abs(estimate - state.sums[i] / state.counts[i])
            if difference > deviation(params, state, i):
                return True
    return False


@kernel
def deviation(params: SAOParameters, state: SAOState, i: int) -> float:
    """How far H̃_i and Ĥ_i may be apart in a stochastic world; the arm must have been seen."""
    t = state.scalars[ROUND]
    stop = state.stopped[i]
    active = t if stop == 0.0 else stop  # rounds in which the arm was active
    variance = params.n_arms * active / (t * t)
    if stop > 0.0:
        variance += (t - stop) / (state.frozen[i] * stop * t)
    x = params.n_arms * params.log_beta / active
    empirical = math.sqrt(2.0 * params.log_beta / state.counts[i])
    return empirical + math.sqrt(4.0 * variance * params.log_beta + 5.0 * x * x)


@kernel
def share(state: SAOState) -> None:
    """The distribution of the round to come, into ``state.p``."""
    following = state.scalars[ROUND] + 1.0
    rest = 1.0
    n_active = 0.0
    for i in range(state.p.size):
        if state.stopped[i] > 0.0:
            state.p[i] = state.frozen[i] * state.stopped[i] / following
            rest -= state.p[i]
        else:
            n_active += 1.0
    for i in range(state.p.size):
        if state.stopped[i] == 0.0:
            state.p[i] = rest / n_active


@inspect.register(SAOParameters)
def _(params: SAOParameters, state: SAOState, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    if state.scalars[EPOCH] == 1.0:
        inspect(params.exp3p, state.exp3p, out_rates, out_estimates)
    else:
        out_rates[:] = math.nan  # no learning rate before the switch
        out_estimates[:] = state.scalars[ROUND] - state.estimates  # losses are 1 − gains
