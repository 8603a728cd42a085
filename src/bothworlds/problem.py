"""What is chosen in a round, and what is shown: one arm and its own loss, or more than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from bothworlds import _check
from bothworlds._jit import IntArray
from bothworlds.errors import InvalidArgumentError

Choose: TypeAlias = int | tuple[int, int] | Literal["any"]
Shows: TypeAlias = Literal["all"] | tuple[tuple[int, ...], ...] | None

SETS, GRAPHS, SWITCHING = "sets", "graphs", "switching costs"
"""What a problem may ask of a policy beyond playing one arm: see ``Policy.fits``."""


class Groups(NamedTuple):
    """The sets that can be chosen: of arms first[g] … last[g] − 1, from fewest[g] to most[g], for each g."""

    first: IntArray
    last: IntArray
    fewest: IntArray
    most: IntArray
    outside: float
    """The loss of an arm that is left out, where sets have different sizes."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is chosen in a round and what is shown of it; arms are numbers.

    The plain problem, ``Problem()``, is the usual bandit: one arm is chosen, and its loss is shown.

    Parameters
    ----------
    choose:
        How many arms are chosen in a round, fewer than there are. Each shows its own loss. A pair: from so
        many to so many, ``(0, 3)`` for at most three. ``"any"``: any set, be it empty or all of them.
    slots:
        How many arms there are for each of several slots, the arms of one slot after those of the other. One
        is chosen for each slot.
    outside:
        Where sets have different sizes, the loss of an arm that is left out: choosing one with a larger loss
        is worse than leaving it out. ½ is in the middle, as for rewards from −1 to 1.
    shows:
        For each arm, the arms whose losses are shown when it is played; ``"all"``: whatever is played, all
        are. None: an arm shows itself.
    switching_cost:
        What it costs to play another arm than in the round before, in units of losses.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.Problem(choose=3)
    Problem(choose=3)
    >>> bw.Problem(choose=(0, 3), outside=0.25)
    Problem(choose=(0, 3), outside=0.25)
    >>> bw.Problem(shows=[[0, 1], [1]]).shows
    ((0, 1), (1,))
    """

    choose: Choose = 1
    slots: tuple[int, ...] | None = None
    outside: float = 0.5
    shows: Shows = None
    switching_cost: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "choose", _choice(self.choose))
        object.__setattr__(self, "slots", _slots(self.slots, self.choose))
        outside = _check.number("outside", self.outside, above=0.0, below=1.0)
        object.__setattr__(self, "outside", outside if self.sizes_differ else 0.5)
        cost = _check.number("switching_cost", self.switching_cost, at_least=0.0, fix="0 is none")
        object.__setattr__(self, "switching_cost", cost)
        object.__setattr__(self, "shows", _graph(self.shows))
        if len(self.asks) > 1:
            raise InvalidArgumentError(
                "problem",
                self,
                "of one kind",
                got=" and ".join(sorted(self.asks)),
                fix="no policy plays both",
            )

    @property
    def asks(self) -> frozenset[str]:
        """What a policy must be able to do."""
        sets = self.choose != 1 or self.slots is not None
        asks = {SETS: sets, GRAPHS: self.shows is not None, SWITCHING: self.switching_cost > 0.0}
        return frozenset(kind for kind, asked in asks.items() if asked)

    @property
    def plain(self) -> bool:
        """Is it the usual bandit?"""
        return not self.asks

    @property
    def several(self) -> bool:
        """Can a round have several arms, or several observations?"""
        return bool(self.asks & {SETS, GRAPHS})

    @property
    def sizes_differ(self) -> bool:
        """Do the sets that can be chosen have different sizes?"""
        return not isinstance(self.choose, int)

    def sizes(self, n_arms: int) -> tuple[int, int]:
        """How many arms are chosen in a round: from so many to so many."""
        if self.slots is not None:
            return len(self.slots), len(self.slots)
        if self.choose == "any":
            return 0, n_arms
        return (self.choose, self.choose) if isinstance(self.choose, int) else self.choose

    def groups(self, n_arms: int) -> Groups:
        """The sets that can be chosen, in numbers for kernels."""
        if self.slots is None:
            first, last, (fewest, most) = [0], [n_arms], ([size] for size in self.sizes(n_arms))
        else:
            last = np.cumsum(self.slots).tolist()
            first = [0, *last[:-1]]
            fewest = most = [1] * len(last)
        one, other, few, many = (np.array(column, dtype=np.int64) for column in (first, last, fewest, most))
        return Groups(one, other, few, many, self.outside)

    def check(self, n_arms: int) -> None:
        """Refuse a number of arms that it is not made for."""
        most = self.sizes(n_arms)[1]
        if self.slots is not None and sum(self.slots) != n_arms:
            wanted = f"a number of arms for each slot, {n_arms} in all"
            raise InvalidArgumentError("slots", self.slots, wanted, got=f"{sum(self.slots)} in all")
        if isinstance(self.choose, tuple) and most > n_arms:
            wanted = f"a pair of numbers up to that of the arms, {n_arms}"
            raise InvalidArgumentError("choose", self.choose, wanted, fix="choose='any' sets no limits")
        if isinstance(self.choose, int) and self.choose > 1 and self.choose >= n_arms:
            fix = "choose fewer: with all of them there is nothing to choose"
            raise InvalidArgumentError("choose", self.choose, f"below the number of arms, {n_arms}", fix=fix)
        if self.shows is None or self.shows == "all":
            return
        if len(self.shows) != n_arms:
            got = f"{len(self.shows)} for {n_arms} arms"
            raise InvalidArgumentError("shows", self.shows, "a list of arms for each arm", got=got)
        shown = {arm for arms in self.shows for arm in arms}
        unknown = sorted(arm for arm in shown if not 0 <= arm < n_arms)
        if unknown:
            raise InvalidArgumentError("shows", unknown[0], f"arms 0 to {n_arms - 1}")
        unseen = sorted(set(range(n_arms)) - shown)
        if unseen:
            raise InvalidArgumentError(
                "shows",
                self.shows,
                "such that every arm is shown by one",
                got=f"nothing that shows arm {unseen[0]}",
                fix="let it show itself, or leave it out",
            )

    def neighbors(self, n_arms: int) -> tuple[tuple[int, ...], ...]:
        """For each arm, the arms that it shows."""
        if self.shows == "all":
            return (tuple(range(n_arms)),) * n_arms
        return tuple((i,) for i in range(n_arms)) if self.shows is None else self.shows

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types: what is not usual."""
        unusual = self._unusual()
        for name in ("choose", "slots"):
            if isinstance(unusual.get(name), tuple):
                unusual[name] = list(unusual[name])
        if isinstance(self.shows, tuple):
            unusual["shows"] = [list(arms) for arms in self.shows]
        return unusual

    def _unusual(self) -> dict[str, Any]:
        usual = {field.name: field.default for field in fields(self)}
        return {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}

    def __repr__(self) -> str:
        return f"Problem({self})"

    def __str__(self) -> str:
        shown = self._unusual() | {name: value for name, value in self.to_dict().items() if name == "shows"}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def _choice(choose: Any) -> Choose:
    if isinstance(choose, str):
        if choose == "any":
            return "any"
        wanted = "a number, a pair such as (0, 3), or 'any'"
        raise InvalidArgumentError("choose", choose, wanted)
    if not isinstance(choose, (tuple, list)):
        fix = "choose=1 is the usual bandit, (0, 3) is at most three, 'any' any set"
        return _check.integer("choose", choose, at_least=1, fix=fix)
    wanted, fix = "a pair of numbers, the fewest and the most", "(0, 3) is at most three"
    if len(choose) != 2:
        raise InvalidArgumentError("choose", choose, wanted, fix=fix)
    fewest, most = (_check.integer("choose", size, at_least=0, fix=fix) for size in choose)
    if fewest >= most:
        fix = f"write choose={fewest}" if fewest == most > 0 else "the fewest come first"
        raise InvalidArgumentError("choose", choose, f"{wanted}, which differ", fix=fix)
    return fewest, most


def _slots(slots: Any, choose: Choose) -> tuple[int, ...] | None:
    if slots is None:
        return None
    if isinstance(slots, (str, Mapping)) or not isinstance(slots, (Sequence, np.ndarray)) or not len(slots):
        raise InvalidArgumentError("slots", slots, "a number of arms for each slot", fix="as in slots=[3, 2]")
    if choose != 1:
        raise InvalidArgumentError("choose", choose, "1 where there are slots: one arm for each")
    fix = "a slot with one arm leaves nothing to choose: leave it out"
    return tuple(_check.integer("slots", size, at_least=2, fix=fix) for size in slots)


def _graph(shows: Any) -> Shows:
    if shows is None or isinstance(shows, str):
        _check.one_of("shows", shows, ("all", None))
        return shows  # type: ignore[return-value]
    wanted = "'all', or a list of arms for each arm"
    if isinstance(shows, Mapping):
        fix = "here arms are numbers: give a list of lists in their order"
        raise InvalidArgumentError("shows", shows, wanted, fix=fix)
    if not isinstance(shows, (Sequence, np.ndarray)):
        raise InvalidArgumentError("shows", shows, wanted)
    graph = []
    for i, arms in enumerate(shows):
        if isinstance(arms, str) or not isinstance(arms, (Sequence, np.ndarray)):
            raise InvalidArgumentError("shows", arms, "a list of arms", index=(i,))
        numbers = [_check.integer("shows", arm, at_least=0) for arm in arms]
        if len(set(numbers)) < len(numbers):
            raise InvalidArgumentError("shows", arms, "distinct arms", index=(i,))
        graph.append(tuple(sorted(numbers)))
    return tuple(graph)


PLAIN = Problem()
