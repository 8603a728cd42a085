"""``bw.Bandit``: the friendly, stateful face of a policy."""

from __future__ import annotations

import threading
from os import PathLike
from typing import Any, Literal

from bothworlds import _changeover, rng, statefile
from bothworlds.bandit import packing, saving, several
from bothworlds.bandit.feedback import Range
from bothworlds.bandit.forks import survive_forks
from bothworlds.bandit.learning import learn_log
from bothworlds.bandit.playing import BUFFERS, KERNELS
from bothworlds.bandit.queries import Queries
from bothworlds.bandit.recording import Kind
from bothworlds.errors import StateError
from bothworlds.policies.base import Policy


class Bandit(Queries):
    """Choose among arms, learn from what comes back, whatever the world is like.

    Parameters
    ----------
    arms:
        The number of arms (labeled 0, 1, …), or their labels, in an order: distinct strings, numbers (prices,
        say), or tuples of those. NumPy's strings and numbers become Python's. A dict of slots and the arms
        for each, ``{"headline": [...], "picture": [...]}``: a pull chooses one for each slot, see
        :doc:`/sets`.
    policy:
        Any policy, or the name of one with its usual settings (``"thompson"``; ``bw.policies.names()`` lists
        them); None is the default, ``Watched(InsuredSampler())``: see :doc:`/default`. Where a pull chooses
        several arms it is ``LBINFV()`` if the horizon is known, else ``HybridINF()``.
    horizon:
        How many pulls there will be, if known; None if not. Pulling on beyond it is allowed, but what a
        policy promises then ends at the horizon.
    seed:
        A non-negative integer for a reproducible bandit; None for fresh randomness.
    low, high:
        The range of the losses or rewards that you will report. A number beyond it by rounding alone, a
        millionth of its width, is taken for its end. ``high=None``: it is not known, as with money; then the
        range is learned, and what is far beyond the usual is cut off (:attr:`range` has what is in force).
        ``low=None`` too: numbers of either sign.
    clip:
        Take everything beyond the range for its end, instead of refusing it.
    wait:
        How long a pull waits for its feedback: until so many more pulls have been made (an integer), or for
        so much time (a :class:`datetime.timedelta`, by the clock of the system). None: for ever.
    missing:
        What is learned for a pull whose wait is over: a reward, or ``{"loss": 1.0}`` for those who report
        losses. None: nothing, the pull is dropped.
    learn_at:
        ``"arrival"``: feedback is learned as it comes. ``"deadline"``: all of it when the wait is over, in
        the order of decision. Good news may travel faster than silence (a click comes at once, no click
        after an hour): on arrival the clicks are then learned first, and arms whose answers are slow look
        worse than they are.
    floor:
        A share of the pulls that every arm keeps, whatever was learned.
    fixed:
        Arms whose share is fixed, ``{"control": 0.1}``. The policy plays the others, and learns from them.
    choose:
        How many arms each pull chooses, fewer than there are: see :doc:`/sets`. ``pull.arms`` are those, and
        ``update(pull, rewards=...)`` takes a reward for each. ``(0, 3)``: at most three; ``"any"``: any set.
        Then an arm that is left out has reward 0, and rewards go from ``low`` < 0 to ``high`` > 0.
    shows:
        What playing an arm shows, ``{"a": ["a", "b"], ...}``: the arms whose rewards ``update`` wants.
        ``"all"``: those of all arms, whatever is played. None: an arm shows its own.
    switching_cost:
        What it costs to play another arm than in the round before, in units of the rewards.
    evidence:
        What to keep for :meth:`evidence`: ``"full"``, with probabilities, for statements whatever the world;
        ``"arms"``, without, for a stationary world and for policies that do not draw; None: nothing.

    Notes
    -----
    A bandit starts at once, as plain Python, and changes over to machine code when it is there, with the same
    bits (see :doc:`/kernels`).

    Feedback may be late, out of order, or never come. Each pull keeps the probability it was drawn with and
    may be updated once. A bandit learns only from updates: two pulls in a row without feedback are two
    draws from the same distribution. All methods may be called from several threads.

    A bandit that was copied or loaded continues the random stream: with or without a restart of the program
    the same seed gives the same arms. After a fork the parent continues it, and each child has a stream of
    its own, which depends on the seed, the pulls so far and the number of the fork. The ids of pulls are
    never the same, and those of before remain good.

    An answer that comes after the wait is over is counted (:attr:`late`) and not learned; it is no error.
    Open pulls take about 70 bytes each where they are many. With a ``wait`` of n pulls at most n + 1 are
    open, with one of time as many as are made in that time; without one, those that are never answered stay.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
    >>> pull = bandit.pull()
    >>> pull
    Pull(round=1, arm='green', observe='green', probability=0.3333)
    >>> bandit.update(pull, reward=0.0)
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'blue': 0.391, 'green': 0.219, 'red': 0.391}
    """

    def learn(self, log: Any, *, missing: Literal["ignorable"] | None = None) -> int:
        """Begin with what others have tried: learn the rows of a log, all or none; return how many.

        Parameters
        ----------
        log:
            A table of decisions, in their order: a dict of columns, a data frame, a path to a CSV, Parquet or
            JSON lines file. Its columns are ``action`` (an arm), ``reward``, ``propensity`` (the
            probability with which the action was chosen) and, where a row stands for many, ``count``.
        missing:
            ``"ignorable"`` leaves out rows without a reward, for which there must be no reason in the reward.

        Notes
        -----
        Each row is learned as a round of this policy, weighed with the probability that the logger had: its
        estimates are unbiased whoever decided. Policies that compare means (Thompson, UCB1 …) need no
        propensities, and can be told plain counts. Pulls, rounds and evidence are those of this bandit alone.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], "thompson", seed=7)
        >>> arms, clicks, times = ["blue", "blue", "green", "green"], [1, 0, 1, 0], [30, 970, 45, 955]
        >>> bandit.learn({"action": arms, "reward": clicks, "count": times})
        2000
        >>> bandit.probabilities["green"] > 0.95
        True
        """
        with self._lock:
            several.refuse(self._problem, log=log)
            self._close_overdue()
            return learn_log(self, log, missing)

    # --- keeping it ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, in plain JSON types, exact to the bit: state, random stream, outstanding pulls."""
        with self._lock:
            return saving.describe(self)

    @classmethod
    def from_dict(
        cls, data: dict[str, Any], *, policy: Policy | str | None = None, evidence: Kind | None = None
    ) -> Bandit:
        """The bandit that :meth:`to_dict` described. ``policy``, where given, must be the saved one.

        ``evidence`` is for one that has kept none: it is kept from now on.
        """
        return saving.restore(cls, data, policy, evidence)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the bandit to a JSON file, whole or not at all."""
        statefile.write(path, self.to_dict())

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        policy: Policy | str | None = None,
        evidence: Kind | None = None,
    ) -> Bandit:
        """Read a bandit that :meth:`save` wrote; ``policy`` and ``evidence`` are as in :meth:`from_dict`."""
        try:
            return cls.from_dict(statefile.read(path), policy=policy, evidence=evidence)
        except StateError as error:
            raise StateError(f"{path} cannot be loaded: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            position = rng.to_dict(self._random.generator)
            return self._snapshot() | {"_random": rng.Rows(rng.from_dict(position), self._random.width)}

    def _snapshot(self) -> dict[str, Any]:
        """All but the random stream; copies, so that what is taken while a thread plays is one moment."""
        private = {"_lock", "_forks", "_log", "_instance", *BUFFERS, *KERNELS}
        attributes = {name: value for name, value in self.__dict__.items() if name not in private}
        return attributes | {
            "_open": self._open.copy(),
            "_draws": dict(self._draws),
            "_roster": self._roster.with_arms(self._arms),
            "_awake_at": dict(self._awake_at),
            "_instances": list(self._instances),
            "_range": self._range if isinstance(self._range, Range) else self._range.copy(),
            "_state": statefile.clone_state(self._state),
            "_pulls": list(self._pulls),
            "_seen": list(self._seen),
            "_sums": list(self._sums),
            "_notes": self._notes.copy(),
            "_record": None if self._record is None else self._record.copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def _twin(self, seed: int | None) -> Bandit:
        """Another bandit with all that this one knows, and randomness and a name of its own."""
        twin = self._copy()
        twin._set_identity(seed)
        twin._begin_instance()
        return twin

    def _copy(self) -> Bandit:
        """Another bandit with all that this one knows, that shares its random stream and its instance id."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self._snapshot())
        twin._lock, twin._forks, twin._log, twin._instance = threading.RLock(), 0, None, self._instance
        twin._make_buffers()
        _changeover.follow(twin, self, KERNELS)
        survive_forks(twin)
        return twin

    # --- packed -------------------------------------------------------------------------------------

    def _pack(self) -> None:
        """Take little memory until an attribute of this bandit is asked for."""
        with self._lock:
            attributes = {name: value for name, value in self.__dict__.items() if name not in BUFFERS}
            stay = {name: attributes.pop(name) for name in ("_lock", "_forks", "_log", *KERNELS)}
            packed = packing.pack_bandit(attributes)
            self.__class__ = PackedBandit  # first: from now on, what is missing is unpacked
            self.__dict__ = stay | {"_packed": packed, "_forked": []}


class PackedBandit(Bandit):
    """A bandit that takes little memory; who asks for an attribute unpacks it, and it is a plain one again.

    It is a class of its own since ``__getattr__`` makes every attribute of a class five times as slow.
    """

    def __getattr__(self, name: str) -> Any:
        """An attribute that is missing."""
        PackedBandit._unpack(self)  # by name: another thread may have done it, and the class is another
        return getattr(self, name)

    def _unpack(self) -> None:
        with self._lock:
            if "_packed" in self.__dict__:  # no other thread was faster
                self.__dict__.update(packing.unpack_bandit(self._packed))
                self._make_buffers()
                del self._packed
                forked = self.__dict__.pop("_forked")
                self.__class__ = Bandit  # type: ignore[assignment]
                for number in forked:
                    self._continue_in_child(number)

    def _pack(self) -> None:
        """It is packed."""

    def _continue_in_child(self, fork: int) -> None:
        self._forked.append(fork)  # for when it is unpacked

    def _copy(self) -> Bandit:
        PackedBandit._unpack(self)
        return self._copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        PackedBandit._unpack(self)  # its class would be saved before its attributes are asked for
        return self.__reduce_ex__(protocol)
