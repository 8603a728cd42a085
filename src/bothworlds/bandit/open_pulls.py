"""The pulls that wait for feedback: tuples while they are few, 64 bytes each where they are many."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bothworlds._jit import IntArray

RECENT = 256  # so many pulls, the latest, are tuples
FEW = 64  # so many closed rows are never worth sweeping away

OpenPullRow: TypeAlias = tuple[float, float, float, float, float, int, int, int, int]
ROW = struct.Struct("=5d4i")
ARM = struct.Struct("=i")
AT_ARM = 40  # bytes before it in a row
CLOSED = -1  # the arm of a row that waits to be swept away


class OpenPull(NamedTuple):
    """What a bandit remembers of a pull until its feedback arrives: the names in a row. Arms are numbers."""

    probability: float
    weight: float
    memo: float
    feedback: float
    """What was reported and waits for its deadline, as :meth:`Range.take` gave it; NaN before."""
    made: float
    """When, in seconds since 1970; 0 where time plays no part."""
    arm: int
    observe: int
    restarts: int
    """How often the bandit had been restarted."""
    instance: int
    """Which of the bandit's instances made it: its index in the list of their ids."""


FEEDBACK, MADE = OpenPull._fields.index("feedback"), OpenPull._fields.index("made")  # places in a row
COLUMNS = np.dtype([(name, "f8" if i < 5 else "i4") for i, name in enumerate(OpenPull._fields)])


class OpenPulls:
    """Open pulls by their rounds, which increase.

    The latest are in a dictionary, all others in two flat arrays sorted by round, in which closing marks a
    row: at most half of the rows (and 64 more) are closed. Adding and closing take constant time on average,
    finding one the logarithm of their number.
    """

    def __init__(self) -> None:
        # a bandit reads and writes it directly: calls of add and close would take longer than what they do
        self.recent: dict[int, OpenPullRow] = {}
        self._rounds = array("q")
        self._rows = bytearray()
        self.n_packed = 0  # open pulls in the arrays
        self._first = 0  # all rows before it are closed

    def __len__(self) -> int:
        return len(self.recent) + self.n_packed

    def __iter__(self) -> Iterator[tuple[int, OpenPull]]:
        """Rounds and pulls, oldest first."""
        for number, row in zip(self._rounds, ROW.iter_unpack(self._rows), strict=True):
            pull = OpenPull._make(row)
            if pull.arm != CLOSED:
                yield number, pull
        for number, row in self.recent.items():
            yield number, OpenPull._make(row)

    def add(self, number: int, row: OpenPullRow) -> None:
        """Open the pull of round ``number``, the latest."""
        self.recent[number] = row
        if len(self.recent) > RECENT:
            self.pack()

    def add_many(self, first: int, rows: NDArray[np.void]) -> None:
        """Open pulls from round ``first`` on, the latest; columns have the names in OpenPull."""
        self.pack(len(self.recent))
        self._rounds.frombytes(np.arange(first, first + len(rows), dtype=np.int64).tobytes())
        self._rows += rows.tobytes()
        self.n_packed += len(rows)

    def get(self, number: int) -> OpenPullRow | None:
        """The pull of this round, if it is open."""
        row = self.recent.get(number)
        if row is None and self._rounds:
            i = self._find(number)
            return None if i < 0 else ROW.unpack_from(self._rows, i * ROW.size)
        return row

    def replace(self, number: int, row: OpenPullRow) -> None:
        """Change what is remembered of an open pull."""
        if number in self.recent:
            self.recent[number] = row
        else:
            ROW.pack_into(self._rows, self._find(number) * ROW.size, *row)

    def close(self, number: int) -> None:
        """Forget the pull of this round, which is open."""
        if self.recent.pop(number, None) is None:
            ARM.pack_into(self._rows, self._find(number) * ROW.size + AT_ARM, CLOSED)
            self.n_packed -= 1
            self._sweep_if_worth_it()

    def places(self, rounds: IntArray) -> IntArray:
        """Where the pulls of these rounds are, for :meth:`rows` and :meth:`close_many`; −1 if not open."""
        self.pack(len(self.recent))
        if not self._rounds:
            return np.full(len(rounds), -1)
        packed = np.frombuffer(self._rounds, np.int64)
        places = np.searchsorted(packed, rounds)
        places[places == len(packed)] = 0
        is_open = (packed[places] == rounds) & (np.frombuffer(self._rows, COLUMNS)["arm"][places] != CLOSED)
        return np.where(is_open, places, -1)

    def rows(self, places: IntArray) -> NDArray[np.void]:
        """What is remembered of the pulls at these places, in columns named as in OpenPull."""
        words = np.frombuffer(self._rows, np.int64).reshape(-1, ROW.size // 8)
        return words[places].view(COLUMNS)[:, 0]  # taking rows of words is faster than taking records

    def close_many(self, places: IntArray) -> None:
        """Forget the pulls at these places, which are open."""
        np.frombuffer(self._rows, COLUMNS)["arm"][places] = CLOSED
        self.n_packed -= len(places)
        self._sweep_if_worth_it()

    def oldest(self) -> int | None:
        """The first round whose pull is open."""
        while self._first < len(self._rounds):
            if not self._is_closed(self._first):
                return self._rounds[self._first]
            self._first += 1
        return next(iter(self.recent), None)

    def copy(self) -> OpenPulls:
        """An independent copy."""
        twin = OpenPulls()
        twin.recent, twin._rounds, twin._rows = self.recent.copy(), self._rounds[:], self._rows[:]
        twin.n_packed, twin._first = self.n_packed, self._first
        return twin

    def _find(self, number: int) -> int:
        """Where the row of a round is; −1 where there is none."""
        i = bisect_left(self._rounds, number)
        if i == len(self._rounds) or self._rounds[i] != number or self._is_closed(i):
            return -1
        return i

    def _is_closed(self, i: int) -> bool:
        return ARM.unpack_from(self._rows, i * ROW.size + AT_ARM) == (CLOSED,)

    def pack(self, count: int = RECENT // 2) -> None:
        """Move the oldest of the recent pulls into the arrays."""
        for number in list(islice(self.recent, count)):
            self._rounds.append(number)
            self._rows += ROW.pack(*self.recent.pop(number))
        self.n_packed += count

    def _sweep_if_worth_it(self) -> None:
        if len(self._rounds) <= 2 * self.n_packed + FEW:
            return
        rows = np.frombuffer(self._rows, COLUMNS)
        is_open = rows["arm"] != CLOSED
        self._rounds = array("q", np.frombuffer(self._rounds, np.int64)[is_open].tobytes())
        self._rows = bytearray(rows[is_open].tobytes())
        self._first = 0
