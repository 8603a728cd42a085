"""Policies that are values of FTRL: a regularizer, rates, an estimator, and what is known about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

from bothworlds.policies.ftrl.estimators import REDUCED_VARIANCE, CappedBaseline, ImplicitExploration
from bothworlds.policies.ftrl.ftrl import FTRL, Alias
from bothworlds.policies.ftrl.kernel import FTRLParameters, on_sets
from bothworlds.policies.ftrl.predictions import MeanPredictions, SteadyPredictions
from bothworlds.policies.ftrl.rates import (
    ConstantRate,
    CountedRates,
    DeviationRates,
    EntropyRate,
    ErrorWeightedRates,
    GapTunedRates,
    HalvingRate,
    RootRate,
    SlowRootRate,
    VarianceRates,
    log_arms,
    log_horizon,
)
from bothworlds.policies.shared.confidence import require_horizon
from bothworlds.problem import SETS, Problem
from bothworlds.settings import NonNegative, UnitInterval, Within
from bothworlds.simplex.regularizers import (
    CenteredTsallis,
    ComplementBarrier,
    ComplementTsallis,
    LogBarrier,
    Regularizer,
    Shannon,
    Tsallis,
)
from bothworlds.simplex.steps import HalfTsallisStep


@dataclass(frozen=True, repr=False)
class LightBarrier(Alias, name="light-barrier"):
    """The paper's log-barrier algorithm made light.

    It is Algorithm 1 with the log-barrier (α = 0), C = ½ and θ = ¾/√(log T), and two changes:

    * the estimator has a capped baseline: with ḡ = (½ + Σ losses seen)/(1 + number seen) and
      b_i = min{ḡ, ½(C + γ_i)}, the estimate is ℓ̂_i = b_i + 1[i = a]·(ℓ_a − b_a)/p_a;
    * the rates weigh rounds by their squared prediction error:
      γ_i^t = θ·√(1 + Σ_{τ<t} 4(ℓ_τ − b_{a_τ})²·max(p_i^τ, 1/T)).

    With an unknown horizon, log(t + K) stands for log T and 1/t for the clip; it never restarts.

    What is proved: the estimator is unbiased, because b is fixed before the draw (with late feedback b is
    that of its arrival). What is only measured: its regret. No theorem covers this policy; for one that has
    a theorem, take ``FTRL(LogBarrier(), constants="paper")`` and expect to pay for it.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.LightBarrier(), n_arms=2, arms=[0, 0, 1], losses=[1.0, 1.0, 0.0]).p[-1].round(3)
    array([0.292, 0.708])
    """

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """The log-barrier with error-weighted rates and the capped baseline."""
        return FTRL(
            LogBarrier(),
            rates=ErrorWeightedRates(0.75),
            estimator=CappedBaseline(kappa=0.5),
            log_barrier=0.5,
        )


@dataclass(frozen=True, repr=False)
class TsallisINF(Alias, name="tsallis-inf"):
    """Tsallis-INF of Zimmert and Seldin: ½-Tsallis entropy, one rate for all arms, no horizon needed.

    p^t = argmin <p, L> − 2γ_t Σ_i √p_i, with

    * ``estimator="iw"``: γ_t = √t and importance weighting; regret ≤ 4√(KT) + 1 always;
    * ``estimator="rv"``: γ_t = √t/2 and the reduced-variance estimator, with baseline ½ where p_i ≥ 16/t;
      about half the regret.

    ``TsallisINF()`` is ``FTRL(Tsallis(0.5), log_barrier=0, theta=1, alpha=0.5)``. From 400 arms on, its time
    per round hardly depends on their number: a million is fine. The distribution is the same to 1e-11; which
    arm a random number leads to is not.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.TsallisINF(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.1594, 0.8406]])

    References
    ----------
    J. Zimmert, Y. Seldin: Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
    JMLR 2021.
    """

    estimator: Literal["iw", "rv"] = "iw"

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """½-Tsallis entropy at a root rate."""
        if self.estimator == "rv":
            return FTRL(Tsallis(0.5), rates=RootRate(0.5), estimator=REDUCED_VARIANCE)
        return FTRL(Tsallis(0.5), rates=RootRate(1.0))


def half_tsallis(n_arms: int) -> FTRLParameters:
    """The parameters of Tsallis-INF, of the same types for any number of arms, for policies around it."""
    params: FTRLParameters = TsallisINF().parameters(n_arms, None)
    return params._replace(step=HalfTsallisStep())


@dataclass(frozen=True, repr=False)
class INF(Alias, name="inf"):
    """INF of Audibert and Bubeck with q = 2: ½-Tsallis entropy at the fixed rate γ = √(T/2).

    Regret ≤ √(8KT) against any adversary; no better in benign worlds. Needs the horizon.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.INF(), n_arms=2, horizon=1000, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.4685, 0.5315]])

    References
    ----------
    J.-Y. Audibert, S. Bubeck: Minimax Policies for Adversarial and Stochastic Bandits. COLT 2009.
    """

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """½-Tsallis entropy at a constant rate."""
        horizon = require_horizon(self, horizon, "TsallisINF()")
        return FTRL(Tsallis(0.5), rates=ConstantRate(math.sqrt(horizon / 2.0)))


def exponential_weights(n_arms: int) -> RootRate:
    """EXP3's rate: p ∝ exp(−η_t·L) with η_t = √(log K/(tK)) is Shannon entropy at γ_t = 1/η_t = θ·√t."""
    return RootRate(math.sqrt(n_arms / log_arms(n_arms)))


@dataclass(frozen=True, repr=False)
class EXP3(Alias, name="exp3"):
    """EXP3 in its anytime form: p_i ∝ exp(−η_t·L_i) with η_t = √(log K/(tK)), no mixing.

    L are importance-weighted losses. Regret ≤ 2·√(TK log K) against any oblivious adversary; no better
    in benign worlds. Needs no horizon.

    The rate rests on this: with decreasing η_t the regret is at most log K/η_T + ½·Σ_t η_t·Σ_i p_i·E[ℓ̂_i²]
    ≤ log K/η_T + (K/2)·Σ_t η_t, and η_t = c/√t makes that √T·(log K/c + Kc), least at c = √(log K/K).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3031, 0.6969]])

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit Problem. 2002.
    S. Bubeck, N. Cesa-Bianchi: Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems.
    2012 (Theorem 3.1: the anytime form).
    """

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """Shannon entropy at a root rate."""
        return FTRL(Shannon(), rates=exponential_weights(n_arms))


@dataclass(frozen=True, repr=False)
class EXP3IX(Alias, name="exp3-ix"):
    """EXP3-IX: EXP3 with implicit exploration, for regret bounds that hold with high probability.

    p_i ∝ exp(−η_t·L_i) with η_t = √(log K/(tK)) and ℓ̂_i = 1[i = a]·ℓ_a/(p_a + γ_t), γ_t = η_t/2.
    Regret O(√(TK log K) + √(TK/log K)·log(1/δ)) with probability 1 − δ, for all δ at once. No horizon needed.

    What the tuning rests on: each L_i exceeds the true loss by at most log(K/δ)/(2γ_T) with probability
    1 − δ, at the price ℓ_a − Σ_i p_i·ℓ̂_i = γ_t·Σ_i ℓ̂_i per round. The regret is then at most
    log K/η_T + K·Σ_t (η_t/2 + γ_t) + O(log(K/δ)/γ_T), and with γ_t = η_t/2 its first two terms are
    log K/η_T + K·Σ_t η_t ≤ 3·√(TK log K).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.EXP3IX(), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3719, 0.6281]])

    References
    ----------
    G. Neu: Explore No More: Improved High-Probability Regret Bounds for Non-Stochastic Bandits. NeurIPS 2015.
    """

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """EXP3 with the other estimator."""
        return FTRL(Shannon(), rates=exponential_weights(n_arms), estimator=ImplicitExploration(scale=0.5))


@dataclass(frozen=True, repr=False)
class ITH22(Alias, name="ith22"):
    """Shannon entropy with an entropy-driven rate: Ito, Tsuchiya and Honda (2022), for plain bandits.

    p^t ∝ exp(−L/β_t) with importance weighting, β_1 = c and

        β_{t+1} = β_t + c/√(1 + Σ_{s≤t} H(p^s)/log K),   c = max{1, ½·√(K log T/log K)},

    H the entropy. Regret O(√(K log T·E Σ_t H(p^t))): that is O(√(KT log K log T)) always, and
    O(K log T log(KT)/Δ_min) in stochastic worlds.

    The original is for feedback graphs; here every arm shows its own loss and losses are not negative, so
    nothing is mixed in. Its c for this case rests on: the stability terms K/(2β_t), with
    β_t ≥ c·t/√(1 + ΣH/log K), add up to at most K(1 + log T)/(2c)·√(1 + ΣH/log K); the penalty terms
    (β_{t+1} − β_t)·H to at most 2c·√(log K·ΣH); the two are equal at c = ½·√(K log T/log K).

    With an unknown horizon, log(t + K) stands for log T in round t. Since log(s + K) ≥ ½·log(t + K) for
    s ≥ √t, this c is within √2 of its value at t in all but the first √t rounds, so both sums above change
    by constant factors only. log T is taken as at least 1, and with one arm so is log K.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.ITH22(), n_arms=2, horizon=1000, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.3717, 0.6283]])

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Nearly Optimal Best-of-Both-Worlds Algorithms for Online Learning with
    Feedback Graphs. NeurIPS 2022.
    """

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """Shannon entropy at a rate driven by the entropy of p."""
        return FTRL(Shannon(), rates=EntropyRate())


@dataclass(frozen=True, repr=False)
class BroadOMD(Alias, name="broad-omd"):
    """BROAD-OMD with the doubling trick: Algorithm 3 (Option II) of Wei and Luo (2018).

    Log-barrier FTRL with importance weighting, p^t = argmin <p, L> − (1/η)·Σ_i log p_i. With the variance
    V = Σ_t Σ_i (1[i = a_t]·ℓ − p_i·ℓ)², ℓ the loss seen, the policy restarts with half the rate as soon as
    V ≥ K·log T/(3η²). Regret O(K log T/Δ_min) in stochastic worlds and O(√(K L* log T) + K log T) always,
    L* the loss of the best arm. With the theorem's η it plays nearly uniformly until T ≫ 162·K·log T/Δ.

    The published form is optimistic mirror descent with m_t = (ℓ, …, ℓ). A constant vector moves no
    minimizer over the simplex, so w_t = w'_t; and mirror steps at a fixed rate add up, −1/(ηw'_{t+1}) =
    −1/(ηw'_t) − ℓ̂_t + λ, from uniform to the FTRL solution above.

    ``anytime=True`` is the variant that Zimmert, Luo and Wei (2019) run as a baseline in their code: no
    restarts, no horizon, and η_t = 4·√(log(1+t)/t) for losses in [−1, 1]. Losses ℓ in [0, 1] are 2ℓ − 1
    there, estimated by 1[i = a]·2ℓ/p_a − 1; the −1 moves no minimizer and the 2 can be divided out, which
    leaves the policy above with 1/(2η_t) = √(t/log(1+t))/8 for 1/η. No regret bound is claimed for it.

    Parameters
    ----------
    eta:
        η of the first epoch, in (0, 1]; the theorem needs at most 1/162. Plays no part with ``anytime``.
    anytime:
        Take the variant.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.BroadOMD(anytime=True), n_arms=2, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.0773, 0.9227]])

    References
    ----------
    C.-Y. Wei, H. Luo: More Adaptive Algorithms for Adversarial Bandits. COLT 2018.
    J. Zimmert, H. Luo, C.-Y. Wei: Beating Stochastic and Adversarial Semi-bandits Optimally and
    Simultaneously. ICML 2019.
    """

    eta: Annotated[float, Within(above=0.0, at_most=1.0)] = 1.0 / 162.0
    _: KW_ONLY
    anytime: bool = False

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """The log-barrier at a halving rate, or at one that grows slowly."""
        if self.anytime:
            return FTRL(LogBarrier(), rates=SlowRootRate(0.125))
        require_horizon(self, horizon, "BroadOMD(anytime=True)")
        return FTRL(LogBarrier(), rates=HalvingRate(self.eta))


@dataclass(frozen=True, repr=False)
class Ito21(Alias, name="ito21"):
    """Optimistic FTRL with the log-barrier: Algorithm 1 of Ito (2021).

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> − Σ_i γ_i^t log p_i, with predictions m (all ½ at first),
    ℓ̂ = m + (ℓ_a − m_a)/p_a·e_a for the observed arm a, and

        γ_i^1 = 2,   γ_i^{t+1} = γ_i^t + ν_i/(2·γ_i^t·log T),   ν_i = (ℓ_a − m_a)²·(1[i = a] − p_i)²;

    then m_a moves by η·(ℓ_a − m_a). Regret O(Σ log T/Δ_i) in stochastic worlds, O(√(KT log T)) always, and
    with η > 0 bounds that adapt to small, stable or slowly moving losses.

    An unknown horizon is replaced by T_k = 2^{2^k} in segments of that length (4, 16, 256, …); each
    begins anew but for m, which keeps all the bounds up to constants. log T is taken as at least 1.

    Parameters
    ----------
    eta:
        η in [0, ½]; ¼ is the paper's. With 0, m stays ½: a better constant in the gap-dependent bound, and no
        data-dependent ones.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.Ito21(), n_arms=2, horizon=1000, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.4311, 0.5689]])

    References
    ----------
    S. Ito: Parameter-Free Multi-Armed Bandit Algorithms with Hybrid Data-Dependent Regret Bounds. COLT 2021.
    """

    accountable: ClassVar[bool] = False  # predictions

    eta: Annotated[float, Within(at_least=0.0, at_most=0.5)] = 0.25

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """The log-barrier with predictions, and rates that follow their errors."""
        return FTRL(LogBarrier(), rates=DeviationRates(), predictions=SteadyPredictions(self.eta))


@dataclass(frozen=True, repr=False)
class LBINFV(Alias, name="lb-inf-v"):
    """LB-INF-V: optimistic FTRL whose rates follow the variance of each arm's losses.

    p^t = argmin <p, Σ_{s<t} ℓ̂^s + m^t> + Σ_i β_i^t φ(p_i) with γ = log T,

        φ(x) = x − 1 − log x + γ·(x + (1−x)·log(1−x)),   β_i^t = √((1+ε)² + Σ_{s<t} α_i^s/γ),

        α_i = 1[i = a]·(ℓ_a − m_a)²·min{1, 2(1−p_a)/(p_a²·γ)},

    predictions m_i = (½ + Σ losses seen of i)/(1 + number seen of i) and ℓ̂ = m + (ℓ_a − m_a)/p_a·e_a. In
    stochastic worlds the regret is O(Σ_i (σ_i²/Δ_i + 1)·log T), σ_i² the variance of arm i. Needs the
    horizon.

    It plays sets of m arms too (``choose=m``): then Σp = m, p_i is the probability of being chosen, and what
    is said here of the arm a holds for each that is chosen. Proved for these constants, for m = 1 and for
    sets: in stochastic worlds, and with corruption, regret O(Σ_i (σ_i²/Δ_i + 1)·log T), Δ_i the distance of
    arm i to the worst of the best m; against any adversary O(√(K·min{L*, mT − L*, Q}·log T)), L* the loss of
    the best set and Q the squared deviations of all losses from their means.

    Where sets have different sizes (``choose="any"`` or a pair) the loss ℓ₀ of an arm that is left out is
    subtracted from all ℓ and m, which leaves α and β as they are. The theorem against adversaries is for any
    kind of set; with Σα ≤ mT it is O(√(K·m·T·log T)), m the most that are chosen. That its stochastic bound
    holds then is measured, not proved. With slots each is a bandit of its own, and bounds add up.

    Formulas are those of the paper for combinatorial semi-bandits, ε = 1/5 is that of the authors' code.

    Parameters
    ----------
    epsilon:
        ε in (0, ½].
    eta:
        None: the predictions above, least squares. A number in (0, ½): m_i moves towards each loss seen of
        arm i by η times the difference (gradient descent; the authors' code has ¼).

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.LBINFV(), n_arms=2, horizon=1000, arms=[0], losses=[1.0]).p.round(4)
    array([[0.5   , 0.5   ],
           [0.4702, 0.5298]])

    References
    ----------
    S. Ito, T. Tsuchiya, J. Honda: Adversarially Robust Multi-Armed Bandit Algorithm with Variance-Dependent
    Regret Bounds. COLT 2022.
    T. Tsuchiya, S. Ito, J. Honda: Further Adaptive Best-of-Both-Worlds Algorithm for Combinatorial
    Semi-Bandits. AISTATS 2023.
    """

    accountable: ClassVar[bool] = False  # predictions
    fits: ClassVar[frozenset[str]] = frozenset({SETS})

    epsilon: Annotated[float, Within(above=0.0, at_most=0.5)] = 0.2
    _: KW_ONLY
    eta: Annotated[float, Within(above=0.0, below=0.5, fix="None: least squares")] | None = None

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """A barrier on both sides, least-squares predictions, and rates that follow the variance."""
        horizon = require_horizon(self, horizon, "Ito21() (for sets HybridINF())")
        # a single arm cannot be kept away from p = 1, and needs no regularizer
        barrier: Regularizer = ComplementBarrier(log_horizon(horizon)) if n_arms > 1 else LogBarrier()
        predictions = MeanPredictions() if self.eta is None else SteadyPredictions(self.eta)
        return FTRL(barrier, rates=VarianceRates(self.epsilon), predictions=predictions)

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> Any:
        """Those of the FTRL, over sets."""
        params = self.parameters(n_arms, horizon)
        return params._replace(ftrl=on_sets(params.ftrl, problem.groups(n_arms), ahead=1))


@dataclass(frozen=True, repr=False)
class HybridINF(Alias, name="hybrid-inf"):
    """HYBRID: FTRL for sets of m of K arms with half-Tsallis entropy and the entropy of the complement.

    In round t the probabilities of being chosen are, over 0 ≤ p ≤ 1 with Σp = m,

        p^t = argmin <p, Σ_{s<t} ℓ̂^s> + (√t/2)·Σ_i [−√p_i + γ·(1−p_i)·log(1−p_i)],

    with ℓ̂_i = 1[i chosen]·ℓ_i/p_i, and γ = 1 if m ≤ K/2, else γ = min{1, 1/√(log(K/(K−m)))}. Both are proved
    for these constants: in stochastic worlds, and with corruption, regret O(Σ_i log T/Δ_i), Δ_i the distance
    of arm i to the worst of the best m; against any adversary O(√(mKT)) for m ≤ K/2. Needs no horizon. With
    m = 1 it is a bandit policy like Tsallis-INF, four times less regularized.

    The paper has losses o in [−1, 1], estimates (o + 1)/p − 1 and rate √t. With o = 2ℓ − 1 and sets of one
    size, the −1 is the same for all sets, and halving everything gives the above.

    Where sets have different sizes (``choose="any"`` or a pair) the −1 matters, and stays: the minimum is
    over <p, Σ(ℓ̂ − ℓ₀)> with the loss ℓ₀ of an arm that is left out, with limits of Σp or none, and γ = 1.
    Proved for ℓ₀ = ½, rewards from −h to h: for any set regret O(Σ log T/Δ_i) over arms with
    Δ_i = E ℓ_i − ℓ₀ > 0 plus O(Σ 1/abs(Δ_i)) over the others in stochastic worlds; against adversaries
    O(√(mKT)), m the most that are chosen. Another ℓ₀ changes constants only. With limits the paper states no
    stochastic bound. With slots each is a bandit of its own, and bounds add up.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["ale", "bun", "cod", "dip"], bw.HybridINF(), choose=2, seed=1)
    >>> pull = bandit.pull()
    >>> pull.arms
    ('ale', 'cod')
    >>> bandit.update(pull, rewards=[1.0, 0.0])
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'ale': 0.653, 'bun': 0.653, 'cod': 0.042, 'dip': 0.653}

    References
    ----------
    J. Zimmert, H. Luo, C.-Y. Wei: Beating Stochastic and Adversarial Semi-bandits Optimally and
    Simultaneously. ICML 2019.
    """

    accountable: ClassVar[bool] = False  # no divergence is registered for its regularizer
    fixed_arms: ClassVar[str | None] = "it is for sets of arms that stay"
    fits: ClassVar[frozenset[str]] = frozenset({SETS})

    def ftrl(self, n_arms: int, horizon: int | None, *, choose: int = 1) -> FTRL:
        """The regularizer for sets of this size, and √t/4: ¼·2√p = √p/2."""
        if n_arms == 1:  # which cannot be kept away from p = 1, and needs no regularizer
            return FTRL(LogBarrier(), rates=RootRate(0.25))
        gamma = 1.0
        if 2 * choose > n_arms:
            gamma = min(1.0, 1.0 / math.sqrt(math.log(n_arms / (n_arms - choose))))
        return FTRL(ComplementTsallis(2.0 * gamma), rates=RootRate(0.25))

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> Any:
        """Those of the FTRL, over sets."""
        choose = problem.choose if isinstance(problem.choose, int) else 1  # γ = 1 where sizes differ
        ftrl = self.ftrl(n_arms, horizon, choose=choose)
        params = ftrl.parameters(n_arms, horizon)  # whose regularizer has the linear part 2γp on top
        return on_sets(params, problem.groups(n_arms), tilt=params.regularizer.weight)


@dataclass(frozen=True, repr=False)
class CountedBarrier(Alias, name="counted-barrier"):
    """The paper's log-barrier algorithm with pulls counted in place of probabilities: fast with many arms.

    Algorithm 1 with the log-barrier has the rates γ_i = θ·√(1 + Σ_{τ<t} max(p_i^τ, 1/T)), θ = 1/√(log T).
    They all move in every round, so that a round takes time proportional to the number of arms. Here

        γ_i^t = θ·√(1 + N_i),     N_i = how often arm i was pulled before round t,

    which moves only for the arm that was pulled. From 400 arms on, the time of a round hardly depends on
    their number.

    *Why that is a fair exchange.* γ^t is known before round t and never decreases, which is what the paper's
    lemmas ask of it. In expectation N_i equals Σ p_i; and since γ_i^t is fixed before the draw,
    E Σ_t p_i^t/γ_i^t = E Σ_t 1[a_t = i]/γ_i^t ≤ (2/θ)·E√(N_i), where the last sum runs over 1/√1, 1/√2, …
    So both sums that the analysis balances, Σ_t p_i^t/γ_i^t and γ_i^T, have the bound in terms of
    E√(N_i) ≤ √(E Σ p_i) that the paper's rates give them. This is an argument, not a theorem of the paper:
    what it costs in regret is measured in docs/benchmarks.md.

    Parameters
    ----------
    log_barrier:
        C ≥ 0. 1 is what works in practice ("light"), 162 is the paper's.

    Notes
    -----
    With an unknown horizon the policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k², as FTRL does.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.replay(bw.CountedBarrier(), n_arms=3, horizon=100, arms=[0, 1], losses=[1.0, 0.0]).p.round(3)
    array([[0.333, 0.333, 0.333],
           [0.242, 0.379, 0.379],
           [0.234, 0.407, 0.359]])

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023
    (the algorithm whose rates are exchanged).
    """

    log_barrier: NonNegative = 1.0

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """The log-barrier with counted rates."""
        return FTRL(LogBarrier(), rates=CountedRates(), log_barrier=self.log_barrier)


@dataclass(frozen=True, repr=False)
class TsallisINFOracle(Alias, name="tsallis-inf-oracle"):
    """Tsallis-INF with any power α, tuned to known gaps: Zimmert and Seldin's infeasible algorithm.

    p^t = argmin <p, L> − (1/η_t)·Σ_i (p_i^α − α·p_i)/(α(1−α)·ξ_i), importance weighting, and

        η_t = (16^α/4)·(1 − t̄^{α−1})/((1−α)·t^α),  t̄ = max(e, t),    ξ_i = Δ_i^{1−2α},

    Δ_i the gap of arm i and, for optimal arms, the smallest positive gap. It has regret O(Σ log T/Δ_i) for
    every α, which without the gaps only α = ½ has: there ξ = 1, and η_t approaches Tsallis-INF's 2/√t.
    α = 0 and α = 1 are the limits (log-barrier, η_t = (1 − 1/t̄)/4; Shannon entropy, η_t = 4·log t̄/t).
    Because of ξ the linear term αp matters, hence the regularizer ``CenteredTsallis``. Needs no horizon.

    Parameters
    ----------
    gaps, alpha:
        As in ``GapTunedRates``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.TsallisINFOracle([0.0, 0.1, 0.4], alpha=0.3)
    >>> bw.replay(policy, n_arms=3, arms=[1], losses=[1.0]).p.round(3)
    array([[0.379, 0.379, 0.243],
           [0.401, 0.337, 0.262]])

    References
    ----------
    J. Zimmert, Y. Seldin: Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
    JMLR 2021.
    """

    fixed_arms: ClassVar[str | None] = "its gaps are those of the arms it was made for"

    gaps: Sequence[float]
    alpha: UnitInterval

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(gaps=GapTunedRates(self.gaps, self.alpha).gaps)

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """α-Tsallis entropy with its linear term, tuned to the gaps."""
        return FTRL(CenteredTsallis(self.alpha), rates=GapTunedRates(self.gaps, self.alpha))
