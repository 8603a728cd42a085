"""What a regret bound is: terms with names, from a source, under an assumption, with or without constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bothworlds.policies.ftrl.rates import log_horizon
from bothworlds.problem import Choose, Problem, Shows
from bothworlds.theory.bounds.complexities import Complexity

Cause = Literal["main", "corruption", "spread", "additive"]
ADVERSARIAL = "adversarial"
SELF_BOUNDING = "self-bounding"


@dataclass(frozen=True)
class BoundSetting:
    """The numbers a bound is a function of.

    Attributes
    ----------
    n_arms, rounds, horizon:
        K, the rounds played, and the T that the policy was told (it enters through log T).
    gaps:
        The complexities of the instance; None in an adversarial world.
    corruption, spread:
        C and D of the self-bounding condition.
    delay:
        The total delay Σ_s d_s of the feedback.
    choose, outside:
        m, how many arms are chosen in a round, or from how many to how many; then also the loss of leaving
        one out.
    shows:
        What the arms show.
    means:
        Mean losses, where they are known: bounds by Kullback–Leibler divergences need more than gaps.
    """

    n_arms: int
    rounds: float
    horizon: float
    gaps: Complexity | None = None
    corruption: float = 0.0
    spread: float = 0.0
    delay: float = 0.0
    choose: Choose = 1
    outside: float = 0.5
    shows: Shows = None
    means: tuple[float, ...] | None = None

    @property
    def problem(self) -> Problem:
        """What is chosen and what is shown."""
        return Problem(choose=self.choose, outside=self.outside, shows=self.shows)

    @property
    def most(self) -> int:
        """m, or the most that are chosen."""
        return self.problem.sizes(self.n_arms)[1]

    @property
    def log_t(self) -> float:
        """log T, at least 1: the paper's formulas divide by it."""
        return log_horizon(self.horizon)


@dataclass(frozen=True)
class Term:
    """One term of a bound.

    Attributes
    ----------
    name:
        Short, unique within the bound.
    formula:
        The term in the paper's symbols.
    value:
        Its value.
    cause:
        ``"main"``; ``"corruption"`` and ``"spread"``, which vanish with C and with D; ``"additive"``, the
        terms W that neither gaps nor adversary cause.
    """

    name: str
    formula: str
    value: float
    cause: Cause


@dataclass(frozen=True)
class Bound:
    """A bound on the expected regret, in named terms; its value is their sum.

    Attributes
    ----------
    name:
        ``"adversarial"``: holds always. ``"self-bounding"``: holds for these gaps, C and D.
    terms:
        The terms.
    explicit:
        True: a number that holds. False: an O(·) bound, with constant 1 before every term; a picture of
        its shape, not a number that holds.
    source, assumes, notes:
        Who proved it, under what assumption beyond those of its name, and what else to know.
    """

    name: str
    terms: tuple[Term, ...]
    explicit: bool
    source: str
    assumes: str = ""
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The sum of all terms."""
        return sum(term.value for term in self.terms)

    @property
    def dominant(self) -> Term:
        """The largest term."""
        return max(self.terms, key=lambda term: term.value)

    @property
    def label(self) -> str:
        """What to write beside its curve."""
        kind = self.name if self.explicit else f"{self.name}, O(·) with constant 1"
        return f"{kind}: {self.source}"

    def __getitem__(self, name: str) -> Term:
        """The term of that name."""
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(f"{name!r}; the terms are {', '.join(term.name for term in self.terms)}")

    def total(self, cause: Cause) -> float:
        """The sum of the terms of one cause."""
        return sum(term.value for term in self.terms if term.cause == cause)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "name": self.name,
            "value": self.value,
            "explicit": self.explicit,
            "source": self.source,
            "assumes": self.assumes,
            "notes": list(self.notes),
            "dominant": self.dominant.name,
            "terms": [vars(term) | {} for term in self.terms],
        }

    def table(self) -> str:
        """The terms as text, the largest marked."""
        width = max(len(term.name) for term in self.terms)
        wide = max(len(term.formula) for term in self.terms)
        kind = "explicit" if self.explicit else "O(·), every constant 1"
        assumes = f"; {self.assumes}" if self.assumes else ""
        lines = [f"{self.name} ({kind}{assumes}) [{self.source}]"]
        for term in self.terms:
            mark = " <- dominates" if term is self.dominant and len(self.terms) > 1 else ""
            lines.append(f"  {term.name:<{width}}  {term.formula:<{wide}}  {term.value:>12,.1f}{mark}")
        lines.append(f"  {'total':<{width}}  {'':<{wide}}  {self.value:>12,.1f}")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])


Statement = Callable[[Any, BoundSetting], list[Bound]]
STATEMENTS: dict[type[Any], Statement] = {}
"""The class of a policy (or ``Advised``, …) → function that states its bounds in a setting, and
refuses parameters no theorem covers."""

LATE: set[type[Any]] = set()
"""Those whose bounds hold with late feedback."""


def states(kind: type[Any], *, late: bool = False) -> Callable[[Statement], Statement]:
    """Register the bounds of a policy; ``late``: they take the delay into account."""

    def register(statement: Statement) -> Statement:
        STATEMENTS[kind] = statement
        if late:
            LATE.add(kind)
        return statement

    return register
