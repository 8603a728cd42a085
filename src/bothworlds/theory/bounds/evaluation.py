"""``bw.theory.bound``: what is proved about a policy, in numbers, term by term."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._words import html_table
from bothworlds.bandit import Advised, PolicyOptimization
from bothworlds.errors import InvalidArgumentError, NotCoveredError
from bothworlds.policies.base import Policy, does_not_fit
from bothworlds.problem import Problem
from bothworlds.theory.bounds import (  # noqa: F401 - they register what they state
    graphs,
    late,
    learners,
    linear,
    others,
    paper,
    sets,
    watched,
)
from bothworlds.theory.bounds.complexities import Complexity, complexity
from bothworlds.theory.bounds.statement import (
    ADVERSARIAL,
    LATE,
    SELF_BOUNDING,
    STATEMENTS,
    Bound,
    BoundSetting,
)

HORIZONS = [2.0 ** (j / 4.0) for j in range(4 * 120)]
"""Where to look for the horizon from which on a bound says something: up to 2^120."""


@dataclass(frozen=True)
class Bounds:
    """All that is stated about one policy in one setting; see :func:`bound`.

    Attributes
    ----------
    policy, setting:
        What they are about.
    all:
        The bounds, adversarial ones first.
    """

    policy: Policy | Advised | PolicyOptimization
    setting: BoundSetting
    all: tuple[Bound, ...]

    def _least(self, name: str) -> Bound | None:
        """The smallest that holds as a number; if there is none, the smallest O(·)."""
        named = [bound for bound in self.all if bound.name == name]
        return min(named, key=lambda bound: (not bound.explicit, bound.value), default=None)

    @property
    def adversarial(self) -> Bound | None:
        """The bound that holds always, where there is one; an explicit one before an O(·)."""
        return self._least(ADVERSARIAL)

    @property
    def self_bounding(self) -> Bound | None:
        """The bound for these gaps, C and D, where there is one; an explicit one before an O(·)."""
        return self._least(SELF_BOUNDING)

    @property
    def value(self) -> float:
        """The smallest explicit bound; NaN if all are O(·)."""
        return min((bound.value for bound in self.all if bound.explicit), default=math.nan)

    def at(self, horizon: float) -> Bounds:
        """The same with another horizon, for the same gaps, C and D."""
        setting = replace(self.setting, rounds=float(horizon), horizon=float(horizon))
        return Bounds(self.policy, setting, tuple(STATEMENTS[type(self.policy)](self.policy, setting)))

    def meaningful_from(self, name: str = SELF_BOUNDING) -> float:
        """The horizon from which on the bound of this name is below T (mT for sets), which any play achieves.

        ``inf`` if none is found up to 2^120. Of an O(·) bound it is an estimate with all constants 1.
        """
        _check.one_of("name", name, (ADVERSARIAL, SELF_BOUNDING))
        m = self.setting.most
        return self._from(lambda bounds: _value(bounds, name) < m * bounds.setting.horizon)

    def better_from(self) -> float:
        """The horizon from which on knowing the gaps helps: self-bounding below adversarial.

        NaN where the two cannot be compared: one is missing, or only one of them has constants.
        ``inf`` if there is none up to 2^120.
        """
        worst, gap = self.adversarial, self.self_bounding
        if worst is None or gap is None or worst.explicit != gap.explicit:
            return math.nan
        return self._from(lambda bounds: _value(bounds, SELF_BOUNDING) < _value(bounds, ADVERSARIAL))

    def _from(self, holds: Callable[[Bounds], bool]) -> float:
        """The smallest horizon from which on something holds at all horizons looked at."""
        first = max(2, self.setting.n_arms)
        grid = [first, *(h for h in HORIZONS if h > first)]
        failing = [i for i, h in enumerate(grid) if not holds(self.at(h))]
        if not failing:
            return float(first)
        if failing[-1] == len(grid) - 1:
            return math.inf
        low, high = math.floor(grid[failing[-1]]), math.ceil(grid[failing[-1] + 1])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(self.at(middle)) else (middle, high)
        return float(high)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        s = self.setting
        return {
            "policy": repr(self.policy),
            "n_arms": s.n_arms,
            "horizon": s.horizon,
            "corruption": s.corruption,
            "spread": s.spread,
            "choose": s.choose,
            "complexity": None if s.gaps is None else s.gaps.to_dict(),
            "bounds": [bound.to_dict() for bound in self.all],
        }

    def table(self) -> str:
        """All bounds with their terms, and from which horizon on they say anything, as text."""
        s = self.setting
        lines = [
            f"{self.policy!r}: K = {s.n_arms}, T = {s.horizon:,.0f}, C = {s.corruption:g}, D = {s.spread:g}"
            + (f", m = {s.most}" if s.most > 1 else "")
        ]
        lines += [bound.table() for bound in self.all]
        for name in dict.fromkeys(bound.name for bound in self.all):
            lines.append(f"{name}: below T from T = {_horizon(self.meaningful_from(name))}")
        better = self.better_from()
        if not math.isnan(better):
            lines.append(f"self-bounding below adversarial from T = {_horizon(better)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (bound.name, term.name, term.formula, f"{term.value:,.1f}", bound.source)
            for bound in self.all
            for term in bound.terms
        ]
        totals = [f"{bound.label}: {bound.value:,.1f}" for bound in self.all]
        return html_table(("bound", "term", "formula", "value", "source"), rows, [repr(self.policy), *totals])

    def __repr__(self) -> str:
        parts = [f"{bound.name}={bound.value:.4g}{'' if bound.explicit else ' O(·)'}" for bound in self.all]
        return f"Bounds({self.policy!r}, {', '.join(parts)})"


def _value(bounds: Bounds, name: str) -> float:
    found = bounds._least(name)
    if found is None:
        have = ", ".join(dict.fromkeys(bound.name for bound in bounds.all))
        fix = "" if bounds.setting.gaps is not None else "give gaps"
        raise InvalidArgumentError(
            "name", name, f"that of a bound that {bounds.policy!r} has here ({have})", fix=fix
        )
    return found.value


def _horizon(value: float) -> str:
    if math.isinf(value):
        return "never (up to 2^120)"
    return f"{value:,.0f}" if value < 1e9 else f"{value:.3g}"


def bound(
    policy: Policy | Advised | PolicyOptimization,
    *,
    n_arms: int | None = None,
    horizon: int,
    gaps: ArrayLike | None = None,
    means: ArrayLike | None = None,
    corruption: float = 0.0,
    spread: float | None = None,
    delay: float = 0.0,
    choose: int | tuple[int, int] | Literal["any"] = 1,
    outside: float = 0.5,
    shows: Literal["all"] | Sequence[Sequence[int]] | None = None,
) -> Bounds:
    """Every regret bound stated for a policy, in named terms.

    *Adversarial* bounds hold always. *Self-bounding* ones hold under the paper's Condition (1):
    there are gaps Δ and a C ≥ 0 with Reg ≥ E Σ_t <p^t, Δ> − C. That covers iid losses (C = 0) and corrupted
    ones; D bounds by how much arms of gap 0 fall behind the best of them. Where several optimal arms are
    not covered, or corruption is not, the bound is left out and ``assumes`` of those present says what is.

    Explicit bounds are numbers that hold. O(·) bounds are returned as their terms with constant 1
    (``explicit`` is False, and tables say so): good for seeing which term dominates, not as numbers.

    Parameters
    ----------
    policy:
        A policy with a stated bound. Without: ``LightBarrier`` and FTRL with constants of one's own, which
        are measured, not proved; ``EpsilonGreedy``, ``Uniform``. Or an ``Advised`` or a
        ``PolicyOptimization``, which know their sizes: K is then the number of experts, whose gaps ``gaps``
        are, or that of pairs of a state and an action, and ``n_arms`` is left out.
    n_arms, horizon:
        K and T ≥ K. The policy is taken to be told T.
    gaps:
        Δ_i in [0, 1], one per arm, at least one 0 and one positive; None: adversarial bounds only.
    means:
        Mean losses in [0, 1] in place of gaps; ``KLUCB(c=3)`` and ``Thompson`` have bounds in terms of them.
    corruption:
        C of the condition. A corruption by Σ_t max_i abs(change) ≤ B gives C ≤ 2B, not B:
        ``environment.corruption(T)`` is that.
    spread:
        D. None: 0 with one optimal arm, else C, which is at least D where losses are corrupted.
    delay:
        The sum of the delays of all pulls, for policies whose theorems take it into account.
    choose:
        m, where sets of m arms are chosen: regret is then to the best set.
        Gaps to the best arm are turned into those to the worst of the best m. A pair or ``"any"``, where sets
        have different sizes: then means in place of gaps. (Bounds of slots are those of bandits, and add up.)
    outside:
        Where sets have different sizes, the loss of an arm that is left out.
    shows:
        For each arm, the arms whose losses it shows, or ``"all"``.

    Returns
    -------
    Bounds
        ``.adversarial``, ``.self_bounding``, ``.value``, ``.table()``, ``.to_dict()``; ``.meaningful_from()``
        and ``.better_from()``, the horizons from which on a bound is below T and below the adversarial one.

    Notes
    -----
    The paper's theorems are evaluated as its lemmas need them: the additive terms W are part of the
    adversarial bounds too, C_log is 162·max(1, β/(1−β)) for Tsallis and 162·max(1, log K) for Shannon,
    W's log-barrier term is C_log·K·log T (the tables print it without the 162), a stray term of the
    log-barrier lemma is dropped, and log T is at least 1.

    Examples
    --------
    >>> import bothworlds as bw
    >>> b = bw.theory.bound(bw.TsallisINF(), n_arms=4, horizon=10_000, gaps=[0.0, 0.2, 0.2, 0.2])
    >>> round(b.adversarial.value), round(b.self_bounding.value), b.self_bounding.explicit
    (801, 1581, True)
    >>> b.better_from()                      # from here on the gaps are worth knowing
    43461.0
    >>> paper = bw.FTRL(bw.LogBarrier(), constants="paper")
    >>> b = bw.theory.bound(paper, n_arms=4, horizon=10_000, gaps=[0.0, 0.2, 0.2, 0.2])
    >>> b.self_bounding.dominant.name, b.self_bounding.explicit
    ('log-barrier', False)

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023;
    every other source is named in ``.source``.
    """
    if isinstance(policy, (Advised, PolicyOptimization)):
        rest = (means, spread, delay, choose, outside, shows)
        return _of_a_learner(policy, n_arms, horizon, gaps, corruption, rest)
    policy = Policy.require(policy)
    if type(policy) not in STATEMENTS:
        raise InvalidArgumentError("policy", policy, "one with a stated regret bound", fix=_those())
    setting = _setting(n_arms, horizon, gaps, means, corruption, spread, choose, outside, shows)
    if not setting.problem.asks <= policy.fits:
        raise does_not_fit(policy, setting.problem)
    if _check.number("delay", delay, at_least=0.0) > 0.0:
        if type(policy) not in LATE:
            those = ", ".join(sorted(kind.__name__ for kind in LATE))
            wanted, fix = f"0 for {policy!r}", f"policies with a bound for late feedback: {those}"
            raise InvalidArgumentError("delay", delay, wanted, fix=fix)
        setting = replace(setting, delay=float(delay))
    return Bounds(policy, setting, tuple(_state(policy, setting)))


def _of_a_learner(
    learner: Advised | PolicyOptimization,
    n_arms: int | None,
    horizon: int,
    gaps: ArrayLike | None,
    corruption: float,
    rest: tuple[Any, ...],
) -> Bounds:
    """The bounds of what knows its own sizes, and has no others."""
    name = type(learner).__name__
    if n_arms is not None:
        raise InvalidArgumentError("n_arms", n_arms, f"left out for {name}, which knows it")
    usual = (None, None, 0.0, 1, 0.5, None)
    names = ("means", "spread", "delay", "choose", "outside", "shows")
    for option, value, default in zip(names, rest, usual, strict=True):
        if value is not default and value != default:
            raise InvalidArgumentError(option, value, f"left out for {name}")
    if isinstance(learner, PolicyOptimization):
        if gaps is not None:
            fix = "its bound for stochastic worlds needs gaps in every state, and is in its docstring"
            raise InvalidArgumentError("gaps", gaps, f"left out for {name}", fix=fix)
        size = sum(table.size for table in learner.probabilities)
    else:
        size = len(learner.trust)
    setting = _setting(size, horizon, gaps, None, corruption, None, *usual[3:])
    return Bounds(learner, setting, tuple(_state(learner, setting)))


def _setting(
    n_arms: Any,
    horizon: Any,
    gaps: ArrayLike | None,
    means: ArrayLike | None,
    corruption: Any,
    spread: Any,
    choose: Any,
    outside: Any,
    shows: Any,
) -> BoundSetting:
    n_arms = _check.integer("n_arms", n_arms, at_least=2, fix="with one arm there is no regret")
    horizon = _check.integer("horizon", horizon, at_least=n_arms, fix=f"there are {n_arms} arms")
    corruption = _check.number("corruption", corruption, at_least=0.0)
    problem = Problem(choose=choose, outside=outside, shows=shows)
    problem.check(n_arms)
    if problem.sizes_differ:
        return _of_any_size(problem, n_arms, horizon, gaps, means, corruption)
    losses = None
    if means is not None:
        if gaps is not None:
            raise InvalidArgumentError("means", means, "given without gaps", fix="gaps follow from means")
        losses = _check.vector("means", means, size=n_arms, at_least=0.0, at_most=1.0)
        gaps = losses - losses.min()
    if gaps is None:
        if corruption > 0.0 or spread:
            raise InvalidArgumentError(
                "gaps",
                None,
                "given with corruption or spread",
                got=f"None with corruption={corruption:g}, spread={spread}",
                fix="give gaps, or leave them out",
            )
        return BoundSetting(
            n_arms, float(horizon), float(horizon), choose=problem.choose, shows=problem.shows
        )
    assert isinstance(problem.choose, int)
    measures: Complexity = complexity(_to_the_set(gaps, problem.choose))
    if measures.n_arms != n_arms:
        raise InvalidArgumentError(
            "gaps", gaps, f"one gap for each of the {n_arms} arms", got=str(measures.n_arms)
        )
    if spread is None:
        spread = 0.0 if measures.n_optimal == 1 else corruption
    spread = _check.number("spread", spread, at_least=0.0)
    known = None if losses is None else tuple(losses.tolist())
    return BoundSetting(
        n_arms,
        float(horizon),
        float(horizon),
        measures,
        corruption,
        spread,
        choose=problem.choose,
        shows=problem.shows,
        means=known,
    )


def _of_any_size(
    problem: Problem, n_arms: int, horizon: int, gaps: Any, means: Any, corruption: float
) -> BoundSetting:
    """The setting where sets have different sizes."""
    if gaps is not None:
        fix = "give means: gaps do not say whether an arm is worth choosing"
        raise InvalidArgumentError("gaps", gaps, f"None for {problem}", fix=fix)
    if corruption > 0.0:
        raise InvalidArgumentError("corruption", corruption, f"0 for {problem}: nothing is stated with it")
    known = None
    if means is not None:
        known = tuple(_check.vector("means", means, size=n_arms, at_least=0.0, at_most=1.0).tolist())
    rounds = float(horizon)
    return BoundSetting(n_arms, rounds, rounds, choose=problem.choose, outside=problem.outside, means=known)


def _to_the_set(gaps: ArrayLike, choose: int) -> ArrayLike:
    """Distances to the worst of the best arms, from those to the best."""
    if choose == 1:
        return gaps
    values = _check.vector("gaps", gaps, at_least=0.0, at_most=1.0)
    worst = float(np.sort(values)[choose - 1])
    return [max(0.0, value - worst) for value in values.tolist()]


def _state(policy: Policy | Advised | PolicyOptimization, setting: BoundSetting) -> list[Bound]:
    try:
        found = STATEMENTS[type(policy)](policy, setting)
    except NotCoveredError as refusal:
        raise InvalidArgumentError(
            "policy", policy, "one that a theorem covers", fix=f"{refusal}; {_those()}"
        ) from None
    if not found:
        raise InvalidArgumentError(
            "policy",
            policy,
            "one with a bound that covers this setting",
            fix="give gaps (for KLUCB and Thompson means), with corruption=0 (and, for TsallisINFOracle, "
            "one optimal arm), "
            "or take a policy with an adversarial bound: TsallisINF()",
        )
    return found


def _those() -> str:
    return f"policies with a bound: {', '.join(sorted(kind.__name__ for kind in STATEMENTS))}"


def bound_curve(
    policy: Policy,
    *,
    n_arms: int,
    rounds: Sequence[int],
    gaps: ArrayLike | None = None,
    means: ArrayLike | None = None,
    corruption: float = 0.0,
    spread: float | None = None,
    horizon: int | None = None,
    choose: int | tuple[int, int] | Literal["any"] = 1,
    outside: float = 0.5,
    shows: Literal["all"] | Sequence[Sequence[int]] | None = None,
) -> list[dict[str, Any]]:
    """The bounds of a policy along its rounds, for drawing over measured regret.

    The policy is told one T for the whole curve. Where T enters through log T only, √T becomes the square
    root of the round; where a policy is tuned to T (INF, EXP3.P, SAO), its curve is flat.

    Parameters
    ----------
    policy, n_arms, gaps, means, corruption, spread, choose, outside, shows:
        As for :func:`bound`.
    rounds:
        The rounds at which to evaluate; those before round K are left out.
    horizon:
        T; None is the last of the rounds.

    Returns
    -------
    list of dict
        ``round``, ``bound``, ``name`` (for a legend), ``explicit``, ``kind`` (adversarial or self-bounding)
        and ``assumes``, one row per bound and round. Those that assume iid losses, such as UCB1's, are not
        for worlds that merely have gaps.

    Examples
    --------
    >>> import bothworlds as bw
    >>> rows = bw.theory.bound_curve(bw.TsallisINF(), n_arms=4, rounds=[10, 100, 1000])
    >>> [(row["round"], round(row["bound"])) for row in rows]
    [(10, 26), (100, 81), (1000, 254)]
    >>> rows[0]["name"], rows[0]["explicit"]
    ('adversarial: Zimmert and Seldin 2019, IW', True)
    """
    marks = [_check.integer("rounds", t, at_least=1) for t in rounds]
    if not marks:
        raise InvalidArgumentError("rounds", rounds, "at least one round", got="none")
    last = max(marks) if horizon is None else horizon
    setting: dict[str, Any] = {
        "gaps": gaps,
        "means": means,
        "corruption": corruption,
        "spread": spread,
        "choose": choose,
        "outside": outside,
        "shows": shows,
    }
    whole = bound(policy, n_arms=n_arms, horizon=last, **setting)
    if max(marks) > last:
        raise InvalidArgumentError("horizon", last, f"at least the last round, {max(marks)}")
    covered = [t for t in marks if t >= n_arms]
    states = [_state(policy, replace(whole.setting, rounds=float(t))) for t in covered]
    return [
        {
            "round": t,
            "bound": state[i].value,
            "name": same.label,
            "explicit": same.explicit,
            "kind": same.name,
            "assumes": same.assumes,
        }
        for i, same in enumerate(whole.all)
        for t, state in zip(covered, states, strict=True)
    ]
