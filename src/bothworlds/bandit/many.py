"""``bw.Bandits``: a bandit for each segment, made when it is first asked for."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from os import PathLike
from typing import Any, TypeAlias

from bothworlds import _check, statefile
from bothworlds._progress import Progress
from bothworlds._version import __version__
from bothworlds.bandit.bandit import Bandit
from bothworlds.bandit.forks import survive_forks
from bothworlds.bandit.pull import Label, label_of
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.policies.base import Policy

Segment: TypeAlias = str | int | tuple[str | int, ...]

FORMAT = "bothworlds-bandits"
VERSION = 1
UNPACKED = 1000  # so many bandits, those last asked for, are ready to play; the others are packed


class Bandits(Mapping[Segment, Bandit]):
    """A bandit for each segment (country, device, customer …): all alike, each learning on its own.

    Parameters
    ----------
    arms, policy, **options:
        As of :class:`Bandit`; they hold for every segment.
    seed:
        A non-negative integer for reproducible bandits; None for fresh randomness. The seed of a segment is a
        function of it and of the name of the segment, whatever was asked for before.

    Notes
    -----
    ``bandits["nl"]`` is a :class:`Bandit`, the same whenever it is asked for; it is made the first time. A
    segment is named by a string, an integer, or a tuple of those. As a mapping, ``bandits`` has the segments
    that were made.

    Kernels are compiled once. A bandit that was not asked for lately is packed into some kilobytes, and
    unpacked, in a fraction of a millisecond, when it is used; nothing else changes. All is kept in one file,
    of which :meth:`load` restores a segment when it is asked for.

    Nothing is shared between segments: one with few pulls knows little. Segment by what changes which arm is
    best, and by no more.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandits = bw.Bandits(["blue", "green"], seed=7)
    >>> pull = bandits["nl"].pull()
    >>> bandits["nl"].update(pull, reward=1.0)
    >>> bandits["nl", "mobile"].rounds
    0
    >>> list(bandits)
    ['nl', ('nl', 'mobile')]
    """

    def __init__(
        self,
        arms: int | Sequence[Label],
        policy: Policy | str | None = None,
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        seed = None if seed is None else _check.integer("seed", seed, at_least=0)
        self._begin(Bandit(arms, policy, **options), seed)

    def _begin(self, first: Bandit, seed: int | None) -> None:
        self._first = first  # never played: what new ones are made of
        self._seed = seed
        self._made: OrderedDict[Segment, Bandit | str] = OrderedDict()  # or the text in a file
        self._unpacked: OrderedDict[Segment, Bandit] = OrderedDict()  # least recently asked for first
        self._lock = threading.RLock()
        self._forks = 0
        self._forked: list[int] = []
        survive_forks(self)

    __eq__, __hash__ = object.__eq__, object.__hash__  # one of a kind, not the sum of its segments

    def __getitem__(self, segment: Segment) -> Bandit:
        with self._lock:
            segment = segment if type(segment) is str else _name_of(segment)
            bandit = self._unpacked.get(segment)
            if bandit is not None:
                self._unpacked.move_to_end(segment)
                return bandit
            self._unpacked[segment] = bandit = self._made_or_new(segment)
            if len(self._unpacked) > UNPACKED:
                self._unpacked.popitem(last=False)[1]._pack()
            return bandit

    def _made_or_new(self, segment: Segment) -> Bandit:
        known = self._made.get(segment)
        if isinstance(known, Bandit):
            return known
        bandit = self._new(segment) if known is None else self._restored(segment, known)
        for fork in self._forked:
            bandit._continue_in_child(fork)
        self._made[segment] = bandit
        return bandit

    def _new(self, segment: Segment) -> Bandit:
        if self._seed is None:
            return self._first._twin(None)
        digest = blake2b(repr((self._seed, segment)).encode(), digest_size=16).digest()
        return self._first._twin(int.from_bytes(digest, "little"))

    def _restored(self, segment: Segment, text: str) -> Bandit:
        try:
            return Bandit.from_dict(json.loads(text))
        except (StateError, ValueError) as error:
            raise StateError(f"segment {segment!r} cannot be restored: {error}") from error

    def __iter__(self) -> Iterator[Segment]:
        with self._lock:
            return iter(list(self._made))

    def __len__(self) -> int:
        return len(self._made)

    def __contains__(self, segment: object) -> bool:
        return segment in self._made

    def __delitem__(self, segment: Segment) -> None:
        """Forget a segment: asked for again, it starts anew."""
        with self._lock:
            del self._made[segment]
            self._unpacked.pop(segment, None)

    @property
    def arms(self) -> tuple[Label, ...]:
        """The arms of a new segment."""
        return self._first.arms

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._first.policy

    def __repr__(self) -> str:
        return f"<Bandits: {len(self)} segments, {len(self.arms)} arms, {self.policy!r}>"

    def _continue_in_child(self, fork: int) -> None:
        """In the child of a fork: so that segments which are made there draw what no other child draws."""
        self._forked.append(fork)

    # --- arms that change ---------------------------------------------------------------------------

    def add(self, arm: Label) -> None:
        """A new arm in every segment, those to come included: see :meth:`Bandit.add`.

        A segment that has the arm already is left as it is. If one refuses, as where an arm of that label has
        retired, the error names it and no segment is changed.

        Parameters
        ----------
        arm:
            A label that no arm of a new segment has or had.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandits = bw.Bandits(["blue", "green"], seed=7)
        >>> bandits["nl"].arms
        ('blue', 'green')
        >>> bandits.add("red")
        >>> bandits["nl"].arms, bandits["be"].arms
        (('blue', 'green', 'red'), ('blue', 'green', 'red'))
        """
        self._change(lambda bandit: bandit.add(arm), lambda bandit: arm in bandit.arms)

    def retire(self, arm: Label) -> None:
        """Let an arm go for good in every segment, those to come included: see :meth:`Bandit.retire`.

        A segment whose arm has retired already is left as it is. If one refuses, as where all other arms are
        disabled, the error names it and no segment is changed.

        Parameters
        ----------
        arm:
            One of ``bandits.arms``.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandits = bw.Bandits(["blue", "green", "red"], seed=7)
        >>> bandits["nl"].arms
        ('blue', 'green', 'red')
        >>> bandits.retire("green")
        >>> bandits["nl"].arms, bandits["be"].arms
        (('blue', 'red'), ('blue', 'red'))
        """
        self._change(lambda bandit: bandit.retire(arm), lambda bandit: arm in bandit.retired)

    def _change(self, change: Callable[[Bandit], None], is_done: Callable[[Bandit], bool]) -> None:
        """Change every segment, or none: a twin of each kind tries it first."""
        with self._lock, Progress("changing arms", 2 * len(self._made)) as progress:
            change(self._first._twin(0))
            tried = set()
            for segment, bandit in self._each_unpacked(progress):
                kind = bandit._arms, bandit._roster.disabled, bandit._roster.retired
                if kind not in tried and not is_done(bandit):
                    tried.add(kind)
                    try:
                        change(bandit._twin(0))
                    except InvalidArgumentError as error:
                        error.got += f" in segment {segment!r}"
                        raise
            change(self._first)
            for _, bandit in self._each_unpacked(progress):
                if not is_done(bandit):
                    change(bandit)

    def _each_unpacked(self, progress: Progress) -> Iterator[tuple[Segment, Bandit]]:
        """All that were made, one after the other; those that were packed are packed again."""
        for segment in self._made:
            bandit = self._made_or_new(segment)
            yield segment, bandit
            if segment not in self._unpacked:
                bandit._pack()
            progress.advance(1)

    # --- keeping them -------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write all bandits to one file, whole or not at all: JSON, a line for each segment."""
        with self._lock, Progress("saving bandits", len(self._made)) as progress:
            header = {
                "format": FORMAT,
                "version": VERSION,
                "bothworlds": __version__,
                "seed": self._seed,
                "first": self._first.to_dict(),
            }
            lines = [json.dumps(header, allow_nan=False)]
            for segment, bandit in self._made.items():
                was_packed = isinstance(bandit, Bandit) and segment not in self._unpacked
                text = bandit if isinstance(bandit, str) else json.dumps(bandit.to_dict(), allow_nan=False)
                lines.append(f"{json.dumps(segment)}\t{text}")
                if isinstance(bandit, Bandit) and was_packed:
                    bandit._pack()
                progress.advance(1)
            statefile.write_bytes(path, ("\n".join(lines) + "\n").encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Bandits:
        """Read the bandits that :meth:`save` wrote."""
        with open(path, encoding="utf-8") as file:
            try:
                header = json.loads(file.readline())
                if header["format"] != FORMAT or header["version"] > VERSION:
                    raise StateError(f"it is {header['format']!r}, version {header['version']}")
                first = Bandit.from_dict(header["first"])
                bandits = cls.__new__(cls)
                bandits._begin(first, header["seed"])
                for number, line in enumerate(file, 2):
                    name, _, text = line.partition("\t")
                    if not text.endswith("\n"):
                        raise StateError(f"it ends within line {number}")
                    bandits._made[_name_of(label_of(json.loads(name)))] = text[:-1]
            except (StateError, InvalidArgumentError, ValueError, KeyError, TypeError) as error:
                raise StateError(f"{path} is not a file of bw.Bandits that can be loaded: {error}") from error
        return bandits


def _name_of(segment: Any) -> Segment:
    """The name of a segment, with NumPy's strings and numbers as Python's."""
    name = label_of(segment)
    parts = name if isinstance(name, tuple) and name else (name,)
    if not all(isinstance(part, (str, int)) and not isinstance(part, bool) for part in parts):
        wanted = "a string, an integer, or a tuple of those"
        raise InvalidArgumentError("segment", segment, wanted, fix="give str(segment)")
    named: Segment = name
    return named
