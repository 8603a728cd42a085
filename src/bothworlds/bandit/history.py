"""How the distribution has moved: noted now and then, in bounded memory, for people to look at."""

from __future__ import annotations

import html
import sys
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds.bandit.pull import Label
from bothworlds.errors import StateError

NOTES = 64  # when there are so many, every other one is dropped
MANY_ARMS = 1000  # from here on nothing is noted
DIGITS = 4
NO_ROUND = sys.maxsize  # later than any: nothing is noted
BLOCKS = "▁▂▃▄▅▆▇█"
COLORS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")


ROOM_FOR_TEXT = 14  # pixels


def widest(values: FloatArray) -> int:
    """The middle of those places at which the values are within 5% of their largest."""
    places = np.flatnonzero(values >= 0.95 * values.max())
    return int(places[len(places) // 2])


class Notes:
    """The distribution before rounds 1, 1 + s, 1 + 2s …, to four digits, with s a power of two that grows."""

    def __init__(self, n_arms: int, *, enabled: bool = True) -> None:
        self._rounds: list[int] = []
        self._rows: list[array[float]] = []
        self._stride = 1
        self.due = 1 if enabled and n_arms < MANY_ARMS else NO_ROUND
        """The round before which the next note is to be taken."""

    def note(self, p: Sequence[float]) -> None:
        """The distribution before the round that is due."""
        self._rounds.append(self.due)
        self._rows.append(array("d", [round(value, DIGITS) for value in p]))
        if len(self._rounds) == NOTES:
            self._rounds, self._rows = self._rounds[::2], self._rows[::2]
            self._stride *= 2
        self.due = self._rounds[-1] + self._stride

    def copy(self) -> Notes:
        """An independent copy."""
        twin = Notes(0)
        twin._rounds, twin._rows = self._rounds.copy(), self._rows.copy()
        twin._stride, twin.due = self._stride, self.due
        return twin

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "stride": self._stride,
            "rounds": list(self._rounds),
            "probabilities": [*map(list, self._rows)],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any] | None, n_arms: int, rounds: int) -> Notes:
        """What :meth:`to_dict` gave; where a file of an earlier version has none, notes begin now."""
        notes = cls(n_arms)
        if notes.due == NO_ROUND:
            return notes
        if data is None:
            notes.due = rounds + 1
            return notes
        notes._stride = _check.integer("stride", data["stride"], at_least=1)
        notes._rounds = [_check.integer("rounds", number, at_least=1) for number in data["rounds"]]
        for row in data["probabilities"]:
            p = _check.vector("probabilities", row, at_least=0.0, at_most=1.0)
            if p.size > n_arms:
                raise StateError(f"the history has {p.size} probabilities for {n_arms} arms")
            notes._rows.append(array("d", p))
        if len(notes._rounds) != len(notes._rows) or len(notes._rounds) >= NOTES:
            raise StateError(f"the history has {len(notes._rounds)} rounds and {len(notes._rows)} rows")
        if notes._rounds:
            notes.due = notes._rounds[-1] + notes._stride
        return notes

    def history(self, arms: Sequence[Label]) -> History:
        """For people; arms that came later had no probability before."""
        table = np.zeros((len(self._rows), len(arms)))
        for i, row in enumerate(self._rows):
            table[i, : len(row)] = row
        return History(tuple(arms), np.array(self._rounds, dtype=np.int64), table)


class History:
    """The distribution of a bandit before some of its rounds, at most 64 of them, evenly spread.

    ``rounds`` are their numbers, and ``probabilities`` has a row for each of them and a column for each of
    ``arms``, to four digits. A notebook shows it as a chart.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green"], bw.LightBarrier(), seed=7)
    >>> for _ in range(100):
    ...     pull = bandit.pull()
    ...     bandit.update(pull, reward=float(pull.arm == "green"))
    >>> bandit.history
    History(50 rounds, 1 … 99)
    >>> bandit.history["green"][[0, 10, 49]]
    array([0.5   , 0.9625, 0.9833])
    """

    def __init__(self, arms: tuple[Label, ...], rounds: IntArray, probabilities: FloatArray) -> None:
        self.arms = arms
        self.rounds = rounds
        self.probabilities = probabilities

    def __len__(self) -> int:
        return len(self.rounds)

    def __getitem__(self, arm: Label) -> FloatArray:
        """The probabilities of one arm."""
        if arm not in self.arms:
            raise KeyError(arm)
        column: FloatArray = self.probabilities[:, self.arms.index(arm)]
        return column

    def before(self, number: int) -> tuple[int, dict[Label, float]] | None:
        """The last noted round up to ``number``, and its distribution; None if there is none."""
        i = int(np.searchsorted(self.rounds, number, side="right")) - 1
        if i < 0:
            return None
        return int(self.rounds[i]), dict(zip(self.arms, self.probabilities[i].tolist(), strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns ``round``, ``arm``, ``probability``, a row for each arm of each round: for a data frame."""
        n, k = self.probabilities.shape
        return {
            "round": np.repeat(self.rounds, k).tolist(),
            "arm": list(self.arms) * n,
            "probability": self.probabilities.ravel().tolist(),
        }

    def line(self, arm: Label, *, width: int = 16) -> str:
        """A line of blocks, for a terminal: an empty one is 0, a full one is 1, and a dot is not known."""
        values = self[arm]
        picks = np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int)
        return "".join(
            "·" if np.isnan(p) else BLOCKS[min(int(p * len(BLOCKS)), len(BLOCKS) - 1)] for p in values[picks]
        )

    def svg(self, *, width: int = 480, height: int = 120) -> str:
        """Shares over the rounds, stacked, in the order of the arms; an arm is named where it has room."""
        if len(self) < 2 or np.isnan(self.probabilities).any():
            return ""
        x = (self.rounds - self.rounds[0]) / (self.rounds[-1] - self.rounds[0]) * width
        edges = np.zeros((len(self), len(self.arms) + 1))
        np.cumsum(self.probabilities, axis=1, out=edges[:, 1:])
        parts, names = [], []
        for i, arm in enumerate(self.arms):
            name, color = html.escape(str(arm)), COLORS[i % len(COLORS)]
            upper = [f"{a:.1f},{height * (1 - b):.1f}" for a, b in zip(x, edges[:, i + 1], strict=True)]
            lower = [f"{a:.1f},{height * (1 - b):.1f}" for a, b in zip(x, edges[:, i], strict=True)]
            points = " ".join(upper + lower[::-1])
            parts.append(f'<polygon points="{points}" fill="{color}"><title>{name}</title></polygon>')
            wide = widest(self.probabilities[:, i])
            if self.probabilities[wide, i] * height >= ROOM_FOR_TEXT:
                anchor = ("start", "middle", "end")[int(3 * x[wide] / (width + 1))]
                y = height * (1 - edges[wide, i : i + 2].mean()) + 4
                names.append(
                    f'<text x="{x[wide]:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222">{name}</text>'
                )
        below = height + 14
        for x_end, anchor, number in ((0, "start", self.rounds[0]), (width, "end", self.rounds[-1])):
            text = f"round {number:,}"
            names.append(f'<text x="{x_end}" y="{below}" text-anchor="{anchor}" fill="#666">{text}</text>')
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {below + 4}" width="{width}" '
            f'height="{below + 4}" role="img" aria-label="Probability of each arm over the rounds" '
            f'font-family="sans-serif" font-size="11">{"".join(parts + names)}</svg>'
        )

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        if not len(self):
            return "History(no rounds)"
        return f"History({len(self)} rounds, {self.rounds[0]} … {self.rounds[-1]})"
