"""``Evidence``: what the decisions of a bandit say about its arms, at this moment, as a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds._words import counted, html_table
from bothworlds.errors import InvalidArgumentError, UnknownNameError
from bothworlds.inference.alarm import Alarm, alarm_of
from bothworlds.inference.comparisons import AnyWorld, StationaryWorld, e_bh
from bothworlds.inference.forecast import More, how_many_more
from bothworlds.inference.intervals import (
    WORLDS,
    Interval,
    Scale,
    World,
    arm_ends,
    digits_for,
    number_text,
    value_ends,
)
from bothworlds.inference.regret import any_regret, stationary_regret
from bothworlds.inference.state import EvidenceState
from bothworlds.inference.sums import Sums, is_full
from bothworlds.statefile import clone_state

ASSUMPTION = {
    "stationary": "in a stationary world",
    "any": "on average over all rounds, whatever the world",
}
HEADS = {"stationary": "stationary", "any": "any world", "played": "rounds played"}
NEEDS_PROBABILITIES = (
    "statements for any world need the probability of every draw, and a policy that draws every arm with "
    "positive probability: keep them with evidence='full', or ask for world='stationary'"
)


@dataclass(frozen=True)
class Comparison:
    """One arm against another.

    Attributes
    ----------
    difference:
        The mean of the first minus that of the second, as an interval.
    log_e:
        The logarithm of the evidence against their being equal, now.
    p_value:
        1/e, at most 1: it may be looked at at any time.
    verdict:
        In words, with what is assumed.
    """

    difference: Interval
    log_e: float
    p_value: float
    verdict: str

    def __str__(self) -> str:
        return f"{self.verdict}; difference {self.difference}"


@dataclass(frozen=True, repr=False, eq=False)
class Evidence:
    """What is known of the arms of a bandit, at this moment; it may be asked for at any time, as often as you
    like.

    ``evidence["green"]`` is the interval of an arm. Every statement is wrong, ever, with probability at most
    ``error``: each interval, each comparison, and ``standing`` have their own; give ``joint=True`` if several
    intervals are quoted together.

    Parameters
    ----------
    state:
        Sums and the state of the drift alarm (a copy is made).
    labels:
        The arms.
    error:
        See above.
    world:
        What is assumed: ``"stationary"``, that no mean moves; ``"any"``, nothing. None: intervals are
        stationary, and so are verdicts until the drift alarm is raised; after that they are for any world,
        or withheld.
    low, high, feedback_kind:
        The range of what was reported, and whether it was a ``"reward"`` or a ``"loss"``.
    joint:
        Let all intervals of arms be right together with probability 1 − error.
    probabilities:
        Those of the next pull, for :meth:`more`; None: as often as so far.
    since:
        The number of pulls before the first that is counted here.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(means=[0.3, 0.6])  # losses
    >>> run = bw.simulate(bw.TsallisINF(), world, horizon=3000, trace=True)
    >>> evidence = bw.inference.evidence(run.traces[0][0])
    >>> evidence.standing
    (0,)
    >>> print(evidence.compare(0, 1).verdict)
    0 is better than 1 in a stationary world
    """

    state: EvidenceState
    labels: tuple[Any, ...]
    _: KW_ONLY
    error: float = 0.05
    world: World | None = None
    low: float = 0.0
    high: float = 1.0
    feedback_kind: str = "reward"
    joint: bool = False
    probabilities: FloatArray | None = None
    since: int = 0
    _places: dict[Any, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _check.number("error", self.error, above=0.0, below=1.0)
        _check.one_of("world", self.world, (None, *WORLDS))
        Scale.of(self.low, self.high, self.feedback_kind)
        if self.world == "any" and not is_full(self.state.sums):
            raise InvalidArgumentError("world", self.world, "'stationary' or None", fix=NEEDS_PROBABILITIES)
        if len(self.labels) != self.state.sums.pulls.size:
            wanted = f"{self.state.sums.pulls.size} labels"
            raise InvalidArgumentError("labels", self.labels, wanted, got=counted(len(self.labels), "label"))
        for name, value in (
            ("state", clone_state(self.state)),
            ("labels", tuple(self.labels)),
            ("_places", {label: i for i, label in enumerate(self.labels)}),
        ):
            object.__setattr__(self, name, value)

    # --- what it is made of -------------------------------------------------------------------------

    @property
    def _sums(self) -> Sums:
        return self.state.sums

    @property
    def _scale(self) -> Scale:
        return Scale(self.low, self.high, self.feedback_kind)

    @property
    def full(self) -> bool:
        """Are there probabilities, and so statements for any world?"""
        return is_full(self._sums)

    @property
    def rounds(self) -> int:
        """How many decisions were counted."""
        return int(self._sums.pulls.sum())

    def _place(self, arm: Any) -> int:
        try:
            return self._places[arm]
        except (KeyError, TypeError):
            raise UnknownNameError("arm", arm, [str(label) for label in self.labels]) from None

    # --- arms ---------------------------------------------------------------------------------------

    def intervals(self, world: World | None = None) -> dict[Any, Interval]:
        """The intervals of all arms, by label.

        Parameters
        ----------
        world:
            What to assume; None: what can be assumed. After a drift alarm that is nothing: the intervals are
            for the mean over all rounds, or, without probabilities, over those in which an arm was played.
        """
        asked: World = world or self._shown
        _check.one_of("world", asked, (*WORLDS, "played"))
        if asked == "any" and not self.full:
            raise InvalidArgumentError("world", asked, "'stationary'", fix=NEEDS_PROBABILITIES)
        n = len(self.labels) if self.joint else 1
        ends = arm_ends(self._sums, asked, self.error / n)
        return {
            label: self._scale.mean(float(low), float(estimate), float(high), self.error, asked)
            for label, low, estimate, high in zip(self.labels, *ends, strict=True)
        }

    @property
    def _shown(self) -> World:
        """What intervals assume."""
        if self.claims is None:
            return "played"
        return self.claims

    @cached_property
    def _intervals(self) -> dict[Any, Interval]:
        return self.intervals()

    def __getitem__(self, arm: Any) -> Interval:
        """The interval of an arm."""
        return self._intervals[self.labels[self._place(arm)]]

    # --- drift, and what verdicts may assume ----------------------------------------------------------

    @cached_property
    def drift(self) -> Alarm:
        """Has the world moved? True if the alarm was raised, or if bounds for a still world cross."""
        alarm = alarm_of(self.state.drift, self.labels)
        low, _, high = arm_ends(self._sums, "stationary", self.error / len(self.labels))
        crossed = np.flatnonzero(low > high)
        if crossed.size and not alarm:
            return Alarm(alarm.log_e, alarm.threshold, self.labels[crossed[0]], int(self._sums.answers.sum()))
        return alarm

    @cached_property
    def claims(self) -> World | None:
        """What verdicts assume; None while they are withheld."""
        if self.world == "any":
            return "any"
        if not self.drift:
            return "stationary"
        return "any" if self.world is None and self.full else None

    @property
    def why(self) -> str:
        """Why verdicts assume less than was asked for; empty if they do not."""
        if not self.drift or self.world == "any":
            return ""
        if self.claims is None:
            return f"undecided: the world is not stationary ({self.drift})"
        return f"the world is not stationary ({self.drift}), so verdicts are for any world"

    @cached_property
    def _compared(self) -> StationaryWorld | AnyWorld | None:
        if self.claims is None:
            return None
        return StationaryWorld(self._sums) if self.claims == "stationary" else AnyWorld(self._sums)

    # --- verdicts -----------------------------------------------------------------------------------

    @cached_property
    def log_e(self) -> Mapping[Any, float]:
        """For each arm the log of the evidence against its being the best; 0 if verdicts are withheld."""
        if self._compared is None:
            return dict.fromkeys(self.labels, 0.0)
        return dict(zip(self.labels, self._compared.not_best().tolist(), strict=True))

    @cached_property
    def ruled_out(self) -> tuple[Any, ...]:
        """The arms that are not the best; a best arm is ever among them with probability ≤ ``error``."""
        if self._compared is None:
            return ()
        threshold = self._compared.threshold(self.error)
        return tuple(label for label, value in self.log_e.items() if value >= threshold)

    @property
    def standing(self) -> tuple[Any, ...]:
        """The arms that are not ruled out."""
        return tuple(label for label in self.labels if label not in self.ruled_out)

    def compare(self, one: Any, other: Any) -> Comparison:
        """Is one arm better than another?

        Parameters
        ----------
        one, other:
            Two arms.
        """
        a, b = self._place(one), self._place(other)
        if a == b:
            raise InvalidArgumentError("other", other, "another arm than the first")
        world = self._compared
        if world is None:
            nothing = self._scale.difference(-1.0, math.nan, 1.0, self.error, "stationary")
            return Comparison(nothing, 0.0, 1.0, self.why)
        assert self.claims is not None
        ends = arm_ends(self._sums, self.claims, self.error)
        low = world.difference(a, b, self.error / 2)
        high = -world.difference(b, a, self.error / 2)
        difference = self._scale.difference(
            low, float(ends.estimate[a] - ends.estimate[b]), high, self.error, self.claims
        )
        values = np.array([world.better(a, b), world.better(b, a)])
        log_e = float(values.max() + math.log(np.mean(np.exp(values - values.max()))))
        verdict = "undecided"
        if low > 0.0 >= -high:
            verdict = f"{one} is better than {other} {ASSUMPTION[self.claims]}"
        elif high < 0.0 <= -low:
            verdict = f"{other} is better than {one} {ASSUMPTION[self.claims]}"
        return Comparison(difference, log_e, min(1.0, math.exp(-max(log_e, 0.0))), verdict)

    def better_than(self, control: Any) -> tuple[Any, ...]:
        """The arms that are claimed to be better than ``control``, of which a share of at most ``error`` are
        not.

        Parameters
        ----------
        control:
            An arm that all others are compared with (see :func:`e_bh`).
        """
        at = self._place(control)
        if self._compared is None:
            return ()
        others = [i for i in range(len(self.labels)) if i != at]
        values = [self._compared.better(i, at) for i in others]
        return tuple(self.labels[others[k]] for k in e_bh(values, error=self.error)) if others else ()

    def more(self, arm: Any) -> More | None:
        """How many more pulls until an arm is ruled out; None if that is not in sight.

        Parameters
        ----------
        arm:
            The arm in question.
        """
        place = self._place(arm)
        if self.claims is None:
            return None
        return how_many_more(self._sums, place, self.claims, self.error, self.probabilities)

    # --- the policy that played ---------------------------------------------------------------------

    @cached_property
    def value(self) -> Interval:
        """What the policy that played was worth per pull, in any world."""
        return self._scale.mean(*value_ends(self._sums, self.error), self.error, "any")

    @cached_property
    def regret(self) -> Interval:
        """What was lost so far against the best fixed arm, with all that is not known."""
        return self.regret_band()

    def regret_band(self, *, tight: bool = False) -> Interval:
        """The regret; ``tight`` takes milliseconds per arm, and its low end is larger.

        Parameters
        ----------
        tight:
            Find the low end by the contrast of every arm with the rest, in a stationary world.
        """
        t = float(self.rounds)
        if self.claims is None:
            return self._scale.regret(0.0, math.nan, t, self.error, "stationary")
        if self.claims == "any":
            low, estimate, high = any_regret(self._sums, self.error)
            return self._scale.regret(t * low, t * estimate, t * high, self.error, "any")
        return self._scale.regret(
            *stationary_regret(self._sums, self.error, tight=tight), self.error, "stationary"
        )

    @property
    def regret_per_round(self) -> Interval:
        """The regret, over the number of rounds."""
        total, t = self.regret, max(1, self.rounds)
        return Interval(total.low / t, total.estimate / t, total.high / t, total.error, total.world)

    # --- together -----------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Evidence:
        """The evidence of two bandits with the same arms, as if one had seen everything.

        The alarm is raised if one of theirs is: a false one then has the probability of both together.
        """
        if not isinstance(other, Evidence):
            return NotImplemented
        mine, theirs = self._terms(), other._terms()
        if mine != theirs:
            raise InvalidArgumentError("other", other, f"evidence with {mine}", got=str(theirs))
        louder = max((self, other), key=lambda one: (bool(one.drift), one.drift.log_e))
        state = EvidenceState(self._sums + other._sums, louder.state.drift)
        return Evidence(state, **mine)

    def _terms(self) -> dict[str, Any]:
        """What the evidence of two bandits must have in common to be added."""
        names = ("labels", "error", "world", "low", "high", "feedback_kind", "joint")
        return {name: getattr(self, name) for name in names}

    # --- in words -----------------------------------------------------------------------------------

    def verdict(self, arm: Any) -> str:
        """In a word or two: what is known of an arm.

        Parameters
        ----------
        arm:
            The arm in question.
        """
        label = self.labels[self._place(arm)]
        if self.claims is None:
            return "undecided"
        if label in self.ruled_out:
            return "not the best"
        return "the best" if len(self.standing) == 1 else "may be the best"

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        columns = [self._intervals]
        heads = ["arm", "pulls", f"mean {self.feedback_kind}", f"interval ({HEADS[self._shown]})"]
        if self.world is None and self.full and self._shown != "any":
            columns.append(self.intervals("any"))
            heads.append(f"interval ({HEADS['any']})")
        digits = digits_for([interval for column in columns for interval in column.values()])
        rows = [
            [
                str(label),
                f"{int(self._sums.pulls[i]):,}",
                number_text(columns[0][label].estimate, digits),
                *(f"[{column[label].bounds_text(digits)}]" for column in columns),
                self.verdict(label),
            ]
            for i, label in enumerate(self.labels)
        ]
        return [*heads, "verdict"], rows

    def lines(self) -> list[str]:
        """What is said below the table."""
        since = f" since pull {self.since:,}" if self.since else ""
        said = [
            f"{counted(self.rounds, 'decision')}{since}, {counted(int(self._sums.answers.sum()), 'answer')}; "
            f"each statement has never been wrong so far with probability {1.0 - self.error:.4g}",
            f"value of what was played: {self.value} per pull, whatever the world",
        ]
        if self.claims is not None:
            assuming, regret = ASSUMPTION[self.claims], self.regret
            said.append(f"regret: {regret.text(max(0, digits_for([regret]) - 2))} {assuming}")
            if len(self.standing) == 1:
                said.append(f"{self.standing[0]} is the best {assuming}")
            elif self.ruled_out:
                said.append(f"not the best {assuming}: {', '.join(map(str, self.ruled_out))}")
        return [*said, self.why or f"drift: {self.drift}"]

    def table(self) -> str:
        """All of it as text."""
        heads, rows = self._rows()
        widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
        lined = [
            "  ".join(
                cell.rjust(width) if k in (1, 2) else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [heads, *rows]
        ]
        return "\n".join([*lined, *self.lines()])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        standing = ", ".join(str(label) for label in self.standing)
        return f"<Evidence: {counted(self.rounds, 'decision')}, standing: {standing}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON."""
        return {
            "rounds": self.rounds,
            "since": self.since,
            "error": self.error,
            "world": self.world,
            "claims": self.claims,
            "why": self.why,
            "arms": [
                {
                    "arm": label,
                    "pulls": int(self._sums.pulls[i]),
                    "answers": int(self._sums.answers[i]),
                    "interval": _plain(self[label]),
                    "any": _plain(self.intervals("any")[label]) if self.full else None,
                    "log_e": self.log_e[label],
                    "verdict": self.verdict(label),
                }
                for i, label in enumerate(self.labels)
            ],
            "standing": list(self.standing),
            "ruled_out": list(self.ruled_out),
            "value": _plain(self.value),
            "regret": _plain(self.regret),
            "drift": {**vars(self.drift), "raised": bool(self.drift)},
        }

    def _repr_html_(self) -> str:
        heads, rows = self._rows()
        return html_table(heads, rows, self.lines())


def _plain(interval: Interval) -> dict[str, Any]:
    estimate = None if math.isnan(interval.estimate) else interval.estimate
    return {**vars(interval), "estimate": estimate}
