"""Rounds of a bandit in which several arms are chosen, or several outcomes are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray
from bothworlds._words import counted, did_you_mean, short
from bothworlds.bandit.feedback import PLURALS, Range
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.pull import Label, PullOfSeveral, label_of, labels_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import read_distribution, weighs
from bothworlds.policies.several import Round, Shown, new_round, pull_several, shown_by, update_several
from bothworlds.problem import PLAIN, Problem

if TYPE_CHECKING:
    from bothworlds.bandit.playing import Playing


class DrawOfSeveral(NamedTuple):
    """What a bandit remembers of a round of several arms until its feedback arrives. Arms are numbers."""

    arms: tuple[int, ...]
    probabilities: tuple[float, ...]
    shown: tuple[int, ...]
    weights: tuple[float, ...]
    memos: tuple[float, ...]
    losses: tuple[float, ...] = ()
    """The losses in [0, 1] that were reported of those shown, and wait for their deadline; none before."""


class RoundWorkspace(NamedTuple):
    """Arrays that the kernels of such rounds compute in."""

    shown: Shown
    drawn: Round

    @classmethod
    def of(cls, problem: Problem, n_arms: int) -> RoundWorkspace | None:
        """None where a round has one arm and one observation."""
        return cls(shown_by(problem, n_arms), new_round(problem, n_arms)) if problem.several else None

    def kernels(self, bandit: Playing) -> Kernels:
        """Those of a bandit, with arguments of the right types."""
        params, state, uniforms = bandit._params, bandit._state, np.empty(bandit._policy.draws)
        return {
            "_act": (pull_several, (params, state, uniforms, 0, self.shown, self.drawn)),
            "_learn": (update_several, (params, state, self.drawn, 0)),
            "_read": (read_distribution, (params, state, np.empty(len(bandit._arms)))),
        }


class Slots(NamedTuple):
    """The names of the slots, and how many arms there are for each."""

    names: tuple[Label, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, arms: Any) -> tuple[Any, Slots | None]:
        """The arms of all slots one after the other, and the slots; None where arms are not given by slot."""
        if not isinstance(arms, Mapping):
            return arms, None
        if not arms:
            raise InvalidArgumentError("arms", arms, "a dict of slots and the arms for each")
        every: list[Any] = []
        home: dict[Any, Any] = {}
        for slot, options in arms.items():
            if isinstance(options, (str, bytes)) or not isinstance(options, (Sequence, np.ndarray)):
                fix = (
                    "as in {'title': ['short', 'long'], 'picture': ['cat', 'dog']}; without slots list(arms)"
                )
                wanted = f"a list of arms for the slot {slot!r}"
                raise InvalidArgumentError("arms", options, wanted, fix=fix)
            if len(options) < 2:
                fix = "a slot with one arm leaves nothing to choose: leave it out"
                got = counted(len(options), "arm")
                raise InvalidArgumentError(
                    "arms", options, f"two or more for the slot {slot!r}", got=got, fix=fix
                )
            for label in map(label_of, options):
                if home.get(label, slot) != slot:
                    got = f"{label!r} for both {home[label]!r} and {slot!r}"
                    fix = f"write ({slot!r}, {label!r})"
                    raise InvalidArgumentError("arms", arms, "distinct over all slots", got=got, fix=fix)
                home[label] = slot
                every.append(label)
        return every, cls(labels_of(list(arms)), tuple(map(len, arms.values())))

    def share_out(self, arms: Sequence[Any]) -> dict[Label, tuple[Any, ...]]:
        """The arms of each slot."""
        ends = np.cumsum(self.sizes).tolist()
        parts = zip(self.names, [0, *ends], ends, strict=False)
        return {name: tuple(arms[first:last]) for name, first, last in parts}


def problem_of(
    arms: Sequence[Label],
    choose: Any,
    slots: Slots | None,
    shows: Any,
    switching_cost: Any,
    scale: Range | LearnedRange,
) -> Problem:
    """The problem of a bandit, whose arms have labels, and whose rewards have a range."""
    if isinstance(shows, Mapping):
        shows = _numbered(arms, shows)
    elif shows is not None and not (isinstance(shows, str) and shows == "all"):
        fix = "write shows={'a': ['a', 'b'], ...}"
        raise InvalidArgumentError("shows", shows, "a dict of arms and the arms they show, or 'all'", fix=fix)
    sizes = None if slots is None else slots.sizes
    problem = Problem(choose=choose, slots=sizes, shows=shows, switching_cost=switching_cost)
    problem.check(len(arms))
    if problem.sizes_differ and isinstance(scale, Range):
        problem = replace(problem, outside=_outside(problem, scale))
    if problem.switching_cost > 0.0:
        if not isinstance(scale, Range):
            wanted = "0 where the range of rewards is not known"
            raise InvalidArgumentError("switching_cost", switching_cost, wanted, fix="give low and high")
        problem = Problem(switching_cost=problem.switching_cost / (scale.high - scale.low))
    return PLAIN if problem.plain else problem


def _outside(problem: Problem, scale: Range) -> float:
    """The loss of an arm that is left out, whose reward is 0."""
    if not scale.low < 0.0 < scale.high:
        never = (
            "taking an arm is never worse than leaving it out" if scale.low >= 0.0 else "no arm is worth it"
        )
        fix = "give low and high, with rewards below 0 for arms that are not worth it"
        if isinstance(problem.choose, tuple) and scale.low >= 0.0:
            fix += f"; or write choose={problem.choose[1]}"
        wanted = f"below 0, and high above, for {problem}: an arm that is left out has reward 0"
        got = f"low={scale.low:g} and high={scale.high:g}: {never}"
        raise InvalidArgumentError("low", scale.low, wanted, got=got, fix=fix)
    return scale.high / (scale.high - scale.low)


def _numbered(arms: Sequence[Label], shows: Mapping[Any, Any]) -> list[list[int]]:
    numbers = {label: i for i, label in enumerate(arms)}

    def number_of(label: Any) -> int:
        number = numbers.get(label_of(label))
        if number is None:
            fix = did_you_mean(str(label), map(str, arms))
            raise InvalidArgumentError("shows", label, "an arm of this bandit", fix=fix)
        return number

    for arm, others in shows.items():
        if isinstance(others, (str, bytes)) or not isinstance(others, Iterable):
            fix = f"write {{{arm!r}: [{others!r}], ...}}" if isinstance(others, str) else "[] is nothing"
            raise InvalidArgumentError("shows", others, f"a list of arms for {arm!r}", fix=fix)
    listed = {number_of(arm): [number_of(other) for other in others] for arm, others in shows.items()}
    for number, seen in listed.items():
        if len(set(seen)) < len(seen):
            wanted, got = f"distinct arms for {arms[number]!r}", repr([arms[i] for i in seen])
            raise InvalidArgumentError("shows", shows, wanted, got=got)
    missing = [arm for i, arm in enumerate(arms) if i not in listed]
    if missing:
        fix = f"what does playing {missing[0]!r} show? At least {{{missing[0]!r}: []}}"
        raise InvalidArgumentError("shows", list(shows), "given for every arm", fix=fix)
    unseen = [arm for i, arm in enumerate(arms) if not any(i in seen for seen in listed.values())]
    if unseen:
        got, fix = f"nothing that shows {unseen[0]!r}", "let it show itself, or leave it out"
        raise InvalidArgumentError("shows", shows, "such that every arm is shown by one", got=got, fix=fix)
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


def draw_several(bandit: Playing, workspace: RoundWorkspace, uniforms: FloatArray) -> DrawOfSeveral:
    """Draw a round."""
    drawn = workspace.drawn
    outstanding = len(bandit._open)
    n, count = bandit._act(bandit._params, bandit._state, uniforms, outstanding, workspace.shown, drawn)
    if not weighs(bandit._params):  # dear to compute, and not needed to learn
        p = bandit._policy_distribution()
        drawn.probabilities[:n] = [p[arm] for arm in drawn.played[:n]]
        seen = np.zeros(len(p))
        for arm, others in enumerate(bandit._problem.neighbors(len(p))):
            seen[list(others)] += p[arm]
        drawn.weights[:count] = np.minimum(seen, 1.0)[drawn.shown[:count]]
    played, probabilities, shown, weights, memos, _ = (tuple(column.tolist()) for column in drawn)
    return DrawOfSeveral(played[:n], probabilities[:n], shown[:count], weights[:count], memos[:count])


def learn_several(
    bandit: Playing, workspace: RoundWorkspace, drawn: DrawOfSeveral, losses: Sequence[float]
) -> int:
    """Learn the losses of those shown; the status of the solver."""
    count = len(losses)
    columns = drawn.shown, drawn.weights, drawn.memos, losses
    for column, values in zip(workspace.drawn[2:], columns, strict=True):
        column[:count] = values
    return bandit._learn(bandit._params, bandit._state, workspace.drawn, count)


def pull_of(arms: Sequence[Label], number: int, drawn: DrawOfSeveral, instance: str) -> PullOfSeveral:
    """The pull of a round."""
    played, shown = tuple(arms[i] for i in drawn.arms), tuple(arms[i] for i in drawn.shown)
    return PullOfSeveral.of(number, played, shown, drawn.probabilities, instance)


def losses_shown(bandit: Playing, kind: str, values: Any, drawn: DrawOfSeveral) -> tuple[float, ...]:
    """The losses in [0, 1] of what is reported of those shown, in their order."""
    name = PLURALS[kind]
    if bandit._problem.sizes_differ and kind == "loss":
        fix = "an arm that is left out has reward 0: write rewards, below 0 for arms that are not worth it"
        raise InvalidArgumentError(name, values, f"given as rewards for {bandit._problem}", fix=fix)
    labels = [bandit._arms[i] for i in drawn.shown]
    if isinstance(values, Mapping):
        given = {label_of(label): value for label, value in values.items()}
        extra = [label for label in given if label not in labels]
        if extra:
            wanted = f"for what the pull has shown: {short(labels)}"
            fix = did_you_mean(str(extra[0]), map(str, labels))
            raise InvalidArgumentError(name, values, wanted, got=f"one for {extra[0]!r}", fix=fix)
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
        scale.take(kind, value, f"{name}[{label!r}]") for label, value in zip(labels, ordered, strict=True)
    )
