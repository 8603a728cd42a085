"""What is chosen in a round, and what is shown: one arm and its own loss, or more than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError

Shows: TypeAlias = Literal["all"] | tuple[tuple[int, ...], ...] | None

SETS, GRAPHS, SWITCHING = "sets", "graphs", "switching costs"
"""What a problem may ask of a policy beyond playing one arm: see ``Policy.fits``."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is chosen in a round and what is shown of it; arms are numbers.

    The plain problem, ``Problem()``, is the usual bandit: one arm is chosen, and its loss is shown.

    Parameters
    ----------
    choose:
        How many arms are chosen in a round, fewer than there are. Each shows its own loss.
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
    >>> bw.Problem(shows=[[0, 1], [1]]).shows
    ((0, 1), (1,))
    """

    choose: int = 1
    shows: Shows = None
    switching_cost: float = 0.0

    def __post_init__(self) -> None:
        fix = "choose=1 is the usual bandit"
        object.__setattr__(self, "choose", _check.integer("choose", self.choose, at_least=1, fix=fix))
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
        asks = {SETS: self.choose > 1, GRAPHS: self.shows is not None, SWITCHING: self.switching_cost > 0.0}
        return frozenset(kind for kind, asked in asks.items() if asked)

    @property
    def plain(self) -> bool:
        """Is it the usual bandit?"""
        return not self.asks

    @property
    def several(self) -> bool:
        """Can a round have several arms, or several observations?"""
        return self.choose > 1 or self.shows is not None

    def check(self, n_arms: int) -> None:
        """Refuse a number of arms that it is not made for."""
        if self.choose > 1 and self.choose >= n_arms:
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
        listed: dict[str, Any] = {
            "choose": self.choose,
            "shows": self.shows,
            "switching_cost": self.switching_cost,
        }
        usual = {"choose": 1, "shows": None, "switching_cost": 0.0}
        kept = {name: value for name, value in listed.items() if value != usual[name]}
        if isinstance(self.shows, tuple):
            kept["shows"] = [list(arms) for arms in self.shows]
        return kept

    def __repr__(self) -> str:
        return f"Problem({self})"

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())


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
