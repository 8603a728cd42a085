"""``bw.theory.lower_bound``: what no policy can beat, in one world in the long run, and in the worst one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments import Bernoulli, Beta, Discrete, Environment, TruncatedNormal
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.bounds.divergences import (
    bernoulli_divergence,
    beta_divergence,
    discrete_divergence,
    truncated_normal_divergence,
)

LAI_ROBBINS = "Lai and Robbins 1985; Burnetas and Katehakis 1996"
AUER = "Auer, Cesa-Bianchi, Freund and Schapire 2002, Theorem 5.1 and its proof"


@functools.singledispatch
def information(environment: Any) -> FloatArray | None:
    """How much a loss of each arm tells in favor of another best arm, in nats; None where that is not known.

    It is K_inf(ν_i, μ*) = inf{KL(ν_i, ν) : ν of the family of the world, with mean at most μ*}, for every
    arm i with law ν_i; 0 for optimal arms. A world of your own: ``information.register(MyWorld)``.
    """
    return None


@information.register
def _(environment: Bernoulli) -> FloatArray:
    means = environment.mean_losses()
    return np.array([bernoulli_divergence(m, means.min()) for m in means.tolist()])


@information.register
def _(environment: Beta) -> FloatArray:
    means = environment.mean_losses()
    return np.array([beta_divergence(m, means.min(), environment.concentration) for m in means.tolist()])


@information.register
def _(environment: TruncatedNormal) -> FloatArray:
    best = min(environment.locations)  # means increase with locations
    means = environment.mean_losses().tolist()
    return np.array(
        [
            truncated_normal_divergence(at, best, environment.scale, mean)
            for at, mean in zip(environment.locations, means, strict=True)
        ]
    )


@information.register
def _(environment: Discrete) -> FloatArray:
    best = float(environment.mean_losses().min())
    values = np.array(environment.values)
    laws = zip(environment.gaps, environment.probabilities, strict=True)
    return np.array([discrete_divergence(values, np.array(p), best) if gap else 0.0 for gap, p in laws])


def minimax_regret(n_arms: int, horizon: float) -> float:
    """The regret that every policy has in some Bernoulli world with K arms and T rounds.

    One arm, drawn at random, has mean loss ½ − ε, all others ½. Then the mean regret is at least

        ε·T·(1 − 1/K − ½·√(−(T/K)·log(1 − 4ε²))) ,

    for every ε in [0, ½]. That is concave in ε; here is its maximum, at most (1 − 1/K)²/4·√(KT), and at
    least min(√(KT), T)/20.
    """

    def regret(epsilon: float) -> float:
        divergence = -math.log1p(-4.0 * epsilon * epsilon) * horizon / n_arms
        return epsilon * horizon * (1.0 - 1.0 / n_arms - 0.5 * math.sqrt(divergence))

    return max(0.0, regret(_largest(regret, 0.0, 0.4999999)))  # one arm has no regret


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is largest, by golden sections: its value there is exact to rounding."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(80):
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = function(b)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class LowerBound:
    """What no policy can beat in one world; see :func:`lower_bound`.

    Attributes
    ----------
    n_arms, horizon:
        K and T.
    information:
        K_inf of every arm, where losses are iid with a known law; else None.
    constant:
        Σ_V Δ_i/K_inf(ν_i, μ*), the smallest slope of regret over log T; NaN without ``information``.
    minimax:
        The regret of every policy in the worst world with K arms and T rounds.
    """

    n_arms: int
    horizon: int
    information: tuple[float, ...] | None
    constant: float
    minimax: float

    @property
    def asymptotic(self) -> float:
        """``constant``·log T."""
        return self.constant * math.log(self.horizon)

    def within(self, regret: float) -> float:
        """How many times ``asymptotic`` a regret is; NaN where there is none, or where it is 0."""
        return float(regret / self.asymptotic) if self.asymptotic > 0.0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        numbers = vars(self) | {"asymptotic": self.asymptotic}
        if self.information is None:
            return numbers | {"constant": None, "asymptotic": None}
        return numbers | {"information": list(self.information)}

    def table(self) -> str:
        """Both bounds, and where they are from, as text."""
        lines = [f"K = {self.n_arms}, T = {self.horizon:,}"]
        if self.information is not None:
            lines += [
                f"in the long run  {self.constant:.4g}·log T = {self.asymptotic:,.1f}  [{LAI_ROBBINS}]",
            ]
        lines.append(f"in some world    {self.minimax:,.1f}  [{AUER}]")
        return "\n".join(lines)


def lower_bound(environment: Environment, *, horizon: int) -> LowerBound:
    """What no policy can beat: in this world in the long run, and in the worst world of its size.

    *In the long run*: a policy whose regret is o(T^a) for every a > 0 in every world of the family has

        lim inf R_T/log T  ≥  Σ_V Δ_i/K_inf(ν_i, μ*) ,

    where K_inf is how much a loss of arm i tells, on average, in favor of its being best: kl(μ_i, μ*) for
    Bernoulli losses. For Beta and truncated normal losses the family is that with the same concentration or
    scale, for discrete ones all laws on the same values; a policy that does not know the family pays no less.
    It is a statement about T → ∞: at a given T a policy may be below ``constant``·log T, and good ones are
    while T is small.

    *In some world*: whatever the policy, there is a Bernoulli world of K arms in which its mean regret after
    T rounds is at least ``minimax``, about (1 − 1/K)²/4·√(KT). This one holds for every T.

    Parameters
    ----------
    environment:
        Any world. Those without a known law that stays, ``Minimax`` among them, have the minimax bound only.
    horizon:
        T.

    Returns
    -------
    LowerBound
        ``.constant``, ``.asymptotic``, ``.minimax``, ``.within(regret)``, ``.table()``, ``.to_dict()``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> low = bw.theory.lower_bound(bw.environments.Bernoulli(means=[0.4, 0.5, 0.6]), horizon=10_000)
    >>> print(low.table())
    K = 3, T = 10,000
    in the long run  7.366·log T = 67.8  [Lai and Robbins 1985; Burnetas and Katehakis 1996]
    in some world    19.2  [Auer, Cesa-Bianchi, Freund and Schapire 2002, Theorem 5.1 and its proof]
    >>> round(low.within(150.0), 2)
    2.21

    References
    ----------
    T. Lai, H. Robbins: Asymptotically Efficient Adaptive Allocation Rules. Advances in Applied Mathematics
    1985. A. Burnetas, M. Katehakis: Optimal Adaptive Policies for Sequential Allocation Problems. Advances in
    Applied Mathematics 1996. P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed
    Bandit Problem. SIAM Journal on Computing 2002.
    """
    Environment.require(environment, name="environment")
    horizon = _check.integer("horizon", horizon, at_least=1)
    n_arms = environment.n_arms
    divergences = information(environment)
    constant = math.nan
    if divergences is not None:
        gaps = np.asarray(environment.gaps)
        constant = float((gaps[gaps > 0.0] / divergences[gaps > 0.0]).sum())
    return LowerBound(
        n_arms,
        horizon,
        None if divergences is None else tuple(divergences.tolist()),
        constant,
        minimax_regret(n_arms, horizon),
    )


def lower_bound_curve(environment: Environment, *, rounds: Sequence[int]) -> list[dict[str, Any]]:
    """``constant``·log t along rounds, for drawing under measured regret: ``round``, ``bound``, ``name``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> rows = bw.theory.lower_bound_curve(bw.environments.Bernoulli(n_arms=2, gap=0.2), rounds=[10, 100])
    >>> [(row["round"], round(row["bound"], 1)) for row in rows]
    [(10, 5.7), (100, 11.4)]
    """
    marks = [_check.integer("rounds", t, at_least=1) for t in rounds]
    if not marks:
        raise InvalidArgumentError("rounds", rounds, "at least one round", got="none")
    constant = lower_bound(environment, horizon=max(marks)).constant
    if math.isnan(constant):
        allowed = "one whose losses are iid with a known law: Bernoulli, Beta, TruncatedNormal or Discrete"
        raise InvalidArgumentError("environment", environment, allowed)
    return [
        {"round": t, "bound": constant * math.log(t), "name": "lower bound in the long run"} for t in marks
    ]
