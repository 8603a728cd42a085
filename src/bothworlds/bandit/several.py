"""Rounds of a bandit in which several arms are chosen, or several outcomes are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bothworlds._changeover import Kernels
from bothworlds._words import counted, did_you_mean, short
from bothworlds.bandit.feedback import WORDS, Range
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.pull import Label, PullOfSeveral, label_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import read_distribution, weighs
from bothworlds.policies.several import Round, Shown, new_round, pull_several, shown_by, update_several
from bothworlds.problem import PLAIN, Problem
from bothworlds.simplex.kernel import CONVERGED

if TYPE_CHECKING:
    from bothworlds.bandit.playing import Playing


class Draw(NamedTuple):
    """What a bandit remembers of such a round until its feedback arrives. Arms are numbers."""

    arms: tuple[int, ...]
    probabilities: tuple[float, ...]
    shown: tuple[int, ...]
    weights: tuple[float, ...]
    memos: tuple[float, ...]
    kept: tuple[float, ...] = ()
    """What was reported of those shown, as the range takes it; nothing before."""


class Room(NamedTuple):
    """What the kernels work in."""

    shown: Shown
    drawn: Round

    @classmethod
    def of(cls, problem: Problem, n_arms: int) -> Room | None:
        """None where a round has one arm and one observation."""
        return cls(shown_by(problem, n_arms), new_round(problem, n_arms)) if problem.several else None

    def kernels(self, bandit: Playing) -> Kernels:
        """Those of a bandit, with arguments of the right types."""
        params, state = bandit._params, bandit._state
        return {
            "_act": (pull_several, (params, state, bandit._own, 0, self.shown, self.drawn)),
            "_learn": (update_several, (params, state, self.drawn, 0)),
            "_read": (read_distribution, (params, state, np.empty(len(bandit._arms)))),
        }


def problem_of(
    arms: Sequence[Label], choose: Any, shows: Any, switching_cost: Any, scale: Range | LearnedRange
) -> Problem:
    """The problem of a bandit, whose arms have labels, and whose rewards have a range."""
    if isinstance(shows, Mapping):
        shows = _numbered(arms, shows)
    elif shows is not None and not (isinstance(shows, str) and shows == "all"):
        fix = "write shows={'a': ['a', 'b'], ...}"
        raise InvalidArgumentError("shows", shows, "a dict of arms and the arms they show, or 'all'", fix=fix)
    problem = Problem(choose=choose, shows=shows, switching_cost=switching_cost)
    problem.check(len(arms))
    if problem.switching_cost > 0.0:
        if not isinstance(scale, Range):
            wanted = "0 where the range of rewards is not known"
            raise InvalidArgumentError("switching_cost", switching_cost, wanted, fix="give low and high")
        problem = Problem(switching_cost=problem.switching_cost / (scale.high - scale.low))
    return PLAIN if problem.plain else problem


def _numbered(arms: Sequence[Label], shows: Mapping[Any, Any]) -> list[list[int]]:
    numbers = {label: i for i, label in enumerate(arms)}

    def number_of(label: Any) -> int:
        number = numbers.get(label_of(label))
        if number is None:
            fix = did_you_mean(str(label), map(str, arms))
            raise InvalidArgumentError("shows", label, "an arm of this bandit", fix=fix)
        return number

    listed = {number_of(arm): [number_of(other) for other in others] for arm, others in shows.items()}
    missing = [arm for i, arm in enumerate(arms) if i not in listed]
    if missing:
        fix = f"what does playing {missing[0]!r} show? At least {{{missing[0]!r}: []}}"
        raise InvalidArgumentError("shows", list(shows), "given for every arm", fix=fix)
    return [listed[i] for i in range(len(arms))]


def refuse(problem: Problem, **options: Any) -> None:
    """Refuse what makes no sense yet for a round with several arms; options that are not None were given."""
    if not problem.several:
        return
    reasons = {
        "evidence": "its statements are about one arm per decision",
        "floor": "shares are of single arms",
        "fixed": "shares are of single arms",
        "n": "pull one set at a time",
        "among": "the arms of such a bandit cannot sleep, arrive or retire",
        "arm": "the arms of such a bandit cannot sleep, arrive or retire",
        "log": "a row of a log is one arm per decision",
        "pull": "explanations are of one arm per decision",
    }
    for name, value in options.items():
        if value is not None:
            raise InvalidArgumentError(name, value, f"left out for {problem}", fix=reasons[name])


def require_range(problem: Problem, high: float | None) -> None:
    """Refuse a range that is not known."""
    if problem.several and high is None:
        fix = "give the largest reward, and clip=True to cut off what is beyond"
        raise InvalidArgumentError(
            "high", high, f"given for {problem}: ranges are learned from single arms", fix=fix
        )


def draw(bandit: Playing, room: Room) -> Draw:
    """Draw a round, whose uniforms are there."""
    drawn = room.drawn
    count = bandit._act(bandit._params, bandit._state, bandit._own, len(bandit._open), room.shown, drawn)
    if not weighs(bandit._params):  # dear to compute, and not needed to learn
        p = bandit._policy_distribution()
        drawn.probabilities[:] = [p[arm] for arm in drawn.played]
        seen = np.zeros(len(p))
        for arm, others in enumerate(bandit._problem.neighbors(len(p))):
            seen[list(others)] += p[arm]
        drawn.weights[:count] = np.minimum(seen, 1.0)[drawn.shown[:count]]
    played, probabilities, shown, weights, memos, _ = (tuple(column.tolist()) for column in drawn)
    return Draw(played, probabilities, shown[:count], weights[:count], memos[:count])


def learn(bandit: Playing, room: Room, drawn: Draw, units: Sequence[float]) -> int:
    """Learn the losses of those shown; the status of the solver."""
    count = len(units)
    if count == 0:
        return CONVERGED
    for column, values in zip(room.drawn[2:], (drawn.shown, drawn.weights, drawn.memos, units), strict=True):
        column[:count] = values
    return bandit._learn(bandit._params, bandit._state, room.drawn, count)


def pull_of(arms: Sequence[Label], number: int, drawn: Draw, life: str) -> PullOfSeveral:
    """The pull of a round."""
    played, shown = tuple(arms[i] for i in drawn.arms), tuple(arms[i] for i in drawn.shown)
    return PullOfSeveral.of(number, played, shown, drawn.probabilities, life)


def take(bandit: Playing, word: str, values: Any, drawn: Draw) -> tuple[float, ...]:
    """What is reported of those shown, in their order, as the range takes it."""
    name = WORDS[word]
    labels = [bandit._arms[i] for i in drawn.shown]
    if isinstance(values, Mapping):
        given = {label_of(label): value for label, value in values.items()}
        extra = [label for label in given if label not in labels]
        if extra:
            wanted = f"for what the pull has shown: {short(labels)}"
            raise InvalidArgumentError(name, values, wanted, got=f"one for {extra[0]!r}")
        missing = [label for label in labels if label not in given]
        if missing:
            fix = "report zeros too; forget(pull) if nothing is known"
            raise InvalidArgumentError(
                name, values, "given for all that was shown", got=f"none for {missing[0]!r}", fix=fix
            )
        ordered = [given[label] for label in labels]
    else:
        if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
            fix = f"write {name}=[...], or {name}={{arm: ...}}"
            raise InvalidArgumentError(name, values, f"one for each of {short(labels)}", fix=fix)
        ordered = list(values)
        if len(ordered) != len(labels):
            wanted = f"one for each of {short(labels)}, in that order"
            raise InvalidArgumentError(name, values, wanted, got=counted(len(ordered), "number"))
    scale = bandit._range
    return tuple(
        scale.take(word, value, f"{name}[{label!r}]") for label, value in zip(labels, ordered, strict=True)
    )
