"""``bw.Bandit``: the friendly, stateful face of a policy."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _changeover, _check, policies, rng, statefile
from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray
from bothworlds._words import counted
from bothworlds.bandit import batch, printing, resting, saving
from bothworlds.bandit.arms import Restricted, Roster, require_changing_arms
from bothworlds.bandit.batch import Batch, Pulls
from bothworlds.bandit.deadlines import LEARN_AT, Wait
from bothworlds.bandit.decision_log import DecisionLog
from bothworlds.bandit.explanation import Explanation, explain
from bothworlds.bandit.feedback import Missing, Range
from bothworlds.bandit.forks import survive_forks
from bothworlds.bandit.history import History, Notes
from bothworlds.bandit.keys import Key, fill_with_key, new_secret
from bothworlds.bandit.learned_range import LearnedRange, range_of
from bothworlds.bandit.learning import learn_log
from bothworlds.bandit.open_pulls import KEPT, MADE, RECENT, OpenPull, OpenPulls, Row
from bothworlds.bandit.pull import Label, Pull, family_of, labels_of, life_and_round, new_life
from bothworlds.bandit.recording import Kind, Record
from bothworlds.bandit.shares import Shares
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    RepeatedPullError,
    SolverError,
    StateError,
    UnknownPullError,
)
from bothworlds.inference.statements import Evidence
from bothworlds.policies.base import (
    Policy,
    grow,
    init,
    pull_once,
    read_distribution,
    require_policy,
    retire,
    show_once,
    update_once,
)
from bothworlds.simplex.kernel import FAILED

ROOM = ("_uniforms", "_own", "_restricted", "_batched")  # what is not part of a bandit, but of its calls
KERNELS = ("_act", "_learn", "_read")
NOT_YET = math.nan  # what is kept of a pull that has had no feedback


class Bandit:
    """Choose among arms, learn from what comes back, whatever the world is like.

    Parameters
    ----------
    arms:
        The number of arms (labeled 0, 1, …), or their labels, in an order: distinct strings, numbers (prices,
        say), or tuples of those. NumPy's strings and numbers become Python's.
    policy:
        Any policy, or the name of one with its usual settings (``"thompson"``; ``bw.policies.names()`` lists
        them); None is the default, ``Watched(InsuredSampler())``: see :doc:`default`.
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
    evidence:
        What to keep for :meth:`evidence`: ``"full"``, with probabilities, for statements whatever the world;
        ``"arms"``, without, for a stationary world and for policies that do not draw; None: nothing.

    Notes
    -----
    A bandit starts at once, as plain Python, and changes over to machine code when it is there, with the same
    bits (see :doc:`kernels`).

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

    # kernels, as Python or as machine code (see _changeover)
    _act: Callable[..., tuple[int, int, float, float, float]]
    _learn: Callable[..., int]
    _read: Callable[..., None]

    def __init__(
        self,
        arms: int | Sequence[Label],
        policy: Policy | str | None = None,
        *,
        horizon: int | None = None,
        seed: int | None = None,
        low: float | None = 0.0,
        high: float | None = 1.0,
        clip: bool = False,
        wait: int | timedelta | None = None,
        missing: float | dict[Literal["reward", "loss"], float] | None = None,
        learn_at: Literal["arrival", "deadline"] = "arrival",
        floor: float = 0.0,
        fixed: Mapping[Label, float] | None = None,
        evidence: Kind | None = None,
    ) -> None:
        self._arms = labels_of(arms)
        self._policy = policies.DEFAULT if policy is None else require_policy(policy)
        self._shares = Shares.of(floor, fixed, self._arms, self._policy)
        self._params = self._policy.resolve(self._n_played, horizon)
        self._horizon = None if horizon is None else int(horizon)
        self._range = range_of(low, high, clip, len(self._arms))
        self._wait = Wait.of(wait)
        self._missing = Missing.of(missing, self._range)
        _check.one_of("learn_at", learn_at, LEARN_AT)
        self._defers = learn_at == "deadline"
        if self._wait is None and (self._missing is not None or self._defers):
            name, given = ("missing", missing) if self._missing is not None else ("learn_at", learn_at)
            raise InvalidArgumentError(name, given, "given with a wait", fix="write Bandit(..., wait=...)")
        self._late = 0
        self._overdue = 0  # the last round known to have waited long enough
        self._state = init(self._params)
        self._rounds = 0
        self._restarts = 0
        self._open = OpenPulls()
        self._roster = Roster(self._arms)
        self._awake_at: dict[int, FloatArray] = {}  # of open pulls at which not all of today's arms were
        self._pulls = [0] * len(self._arms)
        self._seen = [0] * len(self._arms)
        self._sums = [0.0] * len(self._arms)
        self._word = "reward"  # the user's own: the word of the last update
        self._notes = Notes(len(self._arms))
        self._record = Record.of(evidence, self._policy, self._params, self._range, self._pulls)
        self._be_born(seed)
        self._ready()

    def _be_born(self, seed: int | None) -> None:
        """Randomness and a name."""
        self._random = rng.stream(seed)
        self._secret = new_secret(seed)
        self._id = secrets.token_hex(8)
        self._lives: list[str] = []

    def _twin(self, seed: int | None) -> Bandit:
        """Another bandit with all that this one knows, and randomness and a name of its own."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self._snapshot())
        twin._be_born(seed)
        twin._lock, twin._forks, twin._log = threading.RLock(), 0, None
        twin._begin_life()
        twin._make_room()
        _changeover.follow(twin, self, KERNELS)
        survive_forks(twin)
        return twin

    def _ready(self) -> None:
        """What is not part of the state: this life, lock, buffer, compiled kernels."""
        self._lock = threading.RLock()
        self._forks = 0
        self._log: DecisionLog | None = None
        self._begin_life()
        self._bind()
        survive_forks(self)

    def _bind(self) -> None:
        """The kernels for this number of arms, and their buffers."""
        self._make_room()
        self._start(self, self._kernels(), "single")

    def _make_room(self) -> None:
        draws = self._policy.draws
        self._uniforms = np.empty(draws if self._shares is None else draws + 1)
        self._own = self._uniforms[:draws]  # the policy's
        self._restricted: Restricted | None = None  # made when it is first needed
        self._batched: Batch | None = None  # likewise
        if self._record is not None:
            self._start(self._record, self._record.kernels(), f"evidence {self._record.kind}")

    def _start(self, owner: Any, kernels: Kernels, part: str) -> None:
        """Give ``owner`` its kernels; ``part`` names them for another process that compiles."""

        def recipe() -> dict[str, Any]:
            policy = policies.to_dict(self._policy)
            return {"policy": policy, "n_arms": self._n_played, "horizon": self._horizon, "part": part}

        _changeover.start(owner, kernels, n_arms=self._n_played, recipe=recipe)

    @property
    def _n_played(self) -> int:
        """The number of arms that the policy plays."""
        return len(self._arms if self._shares is None else self._shares.free)

    def _kernels(self) -> Kernels:
        """The attributes that are kernels, Python or machine code, with arguments of the right types."""
        kernels = (
            (pull_once, (self._params, self._state, self._own, 0)),
            (update_once, (self._params, self._state, 0, 0.0, 1.0, 0.0)),
            (read_distribution, (self._params, self._state, np.empty(self._n_played))),
        )
        return dict(zip(KERNELS, kernels, strict=True))

    def _begin_life(self) -> None:
        """From now on pulls have ids that no twin gives out, nor this bandit before."""
        self._life = new_life(self._id)
        self._lives.append(self._life)

    def _live_on_in_child(self, fork: int) -> None:
        """In the child of a fork: ids and draws that neither the parent has nor its other children."""
        if "_resting" in self.__dict__:
            self._forked.append(fork)  # when it wakes
            return
        self._random = rng.branch(self._random, fork)
        self._log = None  # the parent's
        self._begin_life()

    # --- the loop: pull, update ---------------------------------------------------------------------

    @overload
    def pull(self, *, key: Key | None = None, among: Iterable[Label] | None = None) -> Pull: ...
    @overload
    def pull(self, n: int, *, among: Iterable[Label] | None = None) -> Pulls: ...
    def pull(
        self, n: int | None = None, *, key: Key | None = None, among: Iterable[Label] | None = None
    ) -> Pull | Pulls:
        """Draw the next arm, or the next ``n``.

        Parameters
        ----------
        n:
            How many, before any feedback: the same as so many single pulls, as columns, and faster.
        key:
            Whom it is for: a string, an integer or bytes. The draw is then a function of the key and of the
            distribution: as long as the distribution stands the same user gets the same arm, in every
            process that was made with the same seed or from the same file, and few change arms when it moves
            a little. None: a fresh draw.
        among:
            The arms that can be played this time, of which those disabled are left out; None: all. See
            :meth:`disable` for what is promised.

        Notes
        -----
        The uniform of a key is its BLAKE2b hash, keyed with a secret of the bandit: over keys the arms have
        the probabilities that are logged. Draws for one key are not independent of each other, so that what a
        policy promises holds where most keys come once, or few times.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> [bandit.pull(key="ann").arm for _ in range(3)]
        ['blue', 'blue', 'blue']
        >>> bw.Bandit(["blue", "green", "red"], seed=7).pull(key="ann").arm
        'blue'
        >>> bandit.pull(among=["blue", "red"])
        Pull(round=4, arm='blue', observe='blue', probability=0.5)
        """
        if n is not None:
            return self._pull_many(n, key, among)
        with self._lock:
            opened = self._open
            if self._wait is not None:
                self._close_overdue()
            awake = self._roster.awake if among is None else self._awake_among(among)
            if key is None:
                self._random.random(out=self._uniforms)
            else:
                fill_with_key(self._secret, key, self._uniforms)
            number = self._rounds + 1
            if number == self._notes.due:
                self._notes.note(self._distribution())
            if awake is not None:
                kernels = self._among()
                arm, probability, memo = kernels.act(
                    self._params, self._state, self._own, len(opened), awake, kernels.p
                )
                shown, weight = arm, probability
            elif self._shares is None:
                arm, shown, probability, weight, memo = self._act(
                    self._params, self._state, self._own, len(opened.recent) + opened.n_packed
                )
                if math.isnan(probability):  # dear to compute, and not needed to learn
                    probability = weight = self._policy_distribution()[arm]
            else:
                arm, probability, memo = self._draw_with(self._shares)
                shown, weight = arm, probability
            self._rounds = number
            made, life = 0.0 if self._wait is None else self._wait.now(), len(self._lives) - 1
            row = probability, weight, memo, NOT_YET, made, arm, shown, self._restarts, life
            opened.recent[number] = row
            if awake is not None:
                self._awake_at[number] = awake
            if len(opened.recent) > RECENT:
                opened.pack()
            self._pulls[arm] += 1
            made_pull = Pull(number, self._arms[arm], self._arms[shown], probability, self._life)
            if self._log is not None:
                self._write_down(self._log, made_pull, weight, awake)
            return made_pull

    def _pull_many(self, n: int, key: Key | None, among: Iterable[Label] | None) -> Pulls:
        _check.integer("n", n, at_least=0, fix="write pull() for one, pull(10) for ten")
        if key is not None:
            raise InvalidArgumentError("key", key, "given for a single pull", fix="write pull(key=...)")
        with self._lock:
            return batch.draw(self, n, among)

    def _awake_among(self, among: Iterable[Label]) -> FloatArray | None:
        awake = self._roster.among(among)
        if awake is not None:
            require_changing_arms(self._policy, self._shares)
        return awake

    def _draw_with(self, shares: Shares) -> tuple[int, float, float]:
        """An arm, its probability, and the memo of the policy."""
        arm = shares.draw(float(self._uniforms[-1]))
        if arm in shares.fixed:
            return arm, shares.fixed[arm], 0.0
        arguments = self._params, self._state, self._own, len(self._open)
        if arm is None:
            place, _, p, _, memo = self._act(*arguments)
        else:
            place = shares.places[arm]
            p, memo = show_once(*arguments, place)
        if math.isnan(p):
            p = self._policy_distribution()[place]
        return shares.free[place], shares.mixed(p), memo

    @overload
    def update(self, pull: Pull | str, *, reward: float) -> None: ...
    @overload
    def update(self, pull: Pull | str, *, loss: float) -> None: ...
    @overload
    def update(self, pull: Sequence[Pull | str], *, rewards: ArrayLike) -> None: ...
    @overload
    def update(self, pull: Sequence[Pull | str], *, losses: ArrayLike) -> None: ...
    def update(
        self,
        pull: Any,
        *unnamed: Any,
        reward: float | None = None,
        loss: float | None = None,
        rewards: ArrayLike | None = None,
        losses: ArrayLike | None = None,
    ) -> None:
        """Report the reward or the loss of ``pull.observe``; any outstanding pull, in any order, once.

        For several pulls, or their ids, ``rewards`` or ``losses`` has a number for each: the same as so many
        single updates, in that order; if one of them is refused, none is learned.

        Instead of a pull its id will do. Booleans are numbers: a click is ``reward=True``. Report zeros too:
        what is reported only when it is good teaches nothing (or give ``wait`` and ``missing``). An answer
        that comes after the wait is over is counted (:attr:`late`), and not learned.
        """
        if unnamed:
            fix = f"write update(pull, reward={unnamed[0]!r}) or update(pull, loss={unnamed[0]!r})"
            raise InvalidArgumentError("reward", unnamed[0], "given by its name", fix=fix)
        if rewards is not None or losses is not None:
            self._update_many(pull, reward=reward, loss=loss, rewards=rewards, losses=losses)
            return
        if (reward is None) == (loss is None):
            got = "neither" if reward is None else "both"
            raise InvalidArgumentError("reward", reward, "given, or loss, and not both", got=got)
        word, value = ("reward", reward) if loss is None else ("loss", loss)
        with self._lock:
            if self._wait is not None:
                self._close_overdue()
            number, row = self._find(pull)
            self._hear(number, row, self._range.take(word, value))
            self._word = word

    def _update_many(self, pulls: Any, **words: Any) -> None:
        (name, values), *others = ((name, value) for name, value in words.items() if value is not None)
        if others:
            raise InvalidArgumentError(name, values, f"given without {others[0][0]}")
        if isinstance(pulls, (Pull, str)) or not isinstance(pulls, Sequence):
            fix = "for a single one write reward=... or loss=..."
            raise InvalidArgumentError("pull", pulls, "several pulls, or their ids", fix=fix)
        word = "reward" if name == "rewards" else "loss"
        with self._lock:
            self._close_overdue()
            batch.learn(self, pulls, word, self._range.take_many(word, values, len(pulls)))
            self._word = word

    def _hear(self, number: int, row: Row | None, kept: float) -> None:
        """Take in feedback: learn it, keep it until its deadline, or count it as late."""
        if row is None:
            self._late += 1
        elif self._defers:
            self._keep(number, row, kept)
        else:
            self._close(number, row, kept)

    def forget(self, pull: Pull | str) -> None:
        """Close a pull without learning, because its arm was never shown.

        Not for answers that do not come (see ``wait``): if only those of one kind are forgotten, what remains
        is biased.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], seed=7)
        >>> pull = bandit.pull()  # the page was closed before it was drawn
        >>> bandit.forget(pull)
        >>> bandit.outstanding, bandit.rounds
        ((), 1)
        """
        with self._lock:
            self._close_overdue()
            number, row = self._find(pull)
            if row is not None:
                self._close(number, row, NOT_YET)

    def _close_overdue(self) -> None:
        """Close the pulls whose wait is over, in the order of decision."""
        wait = self._wait
        if wait is None:
            return
        while (number := self._open.oldest()) is not None:
            row = self._open.get(number)
            if row is None or not wait.over(number, row[MADE], self._rounds):
                break
            kept, imputed = row[KEPT], False
            if math.isnan(kept) and self._missing is not None:
                kept, imputed = self._missing.kept, not self._defers
            self._close(number, row, kept, imputed=imputed)
            self._overdue = number

    def _keep(self, number: int, row: Row, kept: float) -> None:
        """Keep the feedback of an open pull until its wait is over."""
        if not math.isnan(row[KEPT]):
            raise self._repeated(self._pull(number, row))
        self._open.replace(number, OpenPull._make(row)._replace(kept=kept))

    def _close(self, number: int, row: Row, kept: float, *, imputed: bool = False) -> None:
        """Close an open pull, and learn its feedback; without any (NaN) there is nothing to learn."""
        if not math.isnan(kept):
            _, weight, memo, _, _, _, observe, restarts, _ = row
            place = observe if self._shares is None else self._shares.places.get(observe)
            if restarts == self._restarts and place is not None:
                unit = (
                    kept if isinstance(self._range, Range) else self._learn_range(self._range, observe, kept)
                )
                if number in self._awake_at:
                    kernels, awake = self._among(), self._awake_at[number]
                    feedback = place, unit, weight, memo
                    status = kernels.learn(self._params, self._state, kernels.before, *feedback, awake)
                else:
                    status = self._learn(self._params, self._state, place, unit, weight, memo)
                if status == FAILED:
                    raise self._no_solution(self._pull(number, row))
            self._seen[observe] += 1
            self._sums[observe] += kept
            if self._record is not None and number > self._record.since:
                self._record.hear(observe, kept, row[0], imputed=imputed)
        if self._open.recent.pop(number, None) is None:
            self._open.close(number)
        self._awake_at.pop(number, None)
        if self._log is not None:
            self._log.settle(number, self._reward_of(kept))

    def _write_down(self, log: DecisionLog, pull: Pull, weight: float, awake: FloatArray | None) -> None:
        """The arm whose outcome will be known, and the probability that it had to be it."""
        probability = weight if self._policy.decoupled else pull.probability
        p: Iterable[float] = ()
        if log.probabilities:
            p = self._distribution() if awake is None else self._among().p.tolist()
        log.decide(pull.id, pull.round, pull.observe, probability, dict(zip(self._arms, p, strict=False)))

    def _reward_of(self, kept: float) -> float:
        """What was kept of feedback as a reward, in the user's range."""
        value = self._range.value_of("reward", kept)
        is_loss = isinstance(self._range, LearnedRange) and self._range.word == "loss"
        return -value if is_loss else value

    def _learn_range(self, learned: LearnedRange, arm: int, kept: float) -> float:
        """The loss in [0, 1] of what was kept for an arm, from which the range learns too."""
        unit = learned.loss_of(kept)
        if arm not in self._roster.retired:
            learned.learn(arm, kept)
        return unit

    def restart(self) -> None:
        """Let the policy forget everything and start afresh, because the world has changed.

        For changes that you know of: a new season, another page, arms that mean something else. Arms, pulls
        and their counts stay, and so does the random stream. Pulls that are outstanding can be updated as
        ever, but the policy does not learn from them: they belong to the world before.

        If the world changes S − 1 times and you restart each time, the promises of the policy hold for each
        stretch, the stochastic ones too: regret to the best arm of each stretch is the sum of theirs.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], seed=7)
        >>> for _ in range(100):
        ...     pull = bandit.pull()
        ...     bandit.update(pull, reward=float(pull.arm == "blue"))
        >>> bandit.restart()
        >>> bandit.probabilities, bandit.rounds
        ({'blue': 0.5, 'green': 0.5}, 100)
        """
        with self._lock:
            self._state = init(self._params)
            for number in self._roster.retired:
                retire(self._params, self._state, number)
            if isinstance(self._range, LearnedRange):
                for number in range(len(self._arms)):
                    self._range.forget(number)
            if self._record is not None:
                self._record.begin_anew(self._pulls)
            self._restarts += 1

    # --- arms that change ---------------------------------------------------------------------------

    def disable(self, arm: Label) -> None:
        """Let an arm sleep until :meth:`enable` wakes it: it is not drawn, and its share goes to the others.

        Nobody knows what it would have lost. It gets the learner's own loss, so that sleeping is neither to
        its credit nor to its debit. Feedback of earlier pulls counts as ever. Disabling it again changes
        nothing.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``, and not the last one that is enabled.

        Notes
        -----
        With arms that sleep you get: never worse than any single arm, on the rounds when that arm was
        available, by more than O(√(T·√(A·K))), A the largest number of arms available at once; no log T
        promise. That is proved for Tsallis-INF, not for the default. Other policies do the same, or compare
        the arms that are awake; some refuse. docs/arms.md has the rest.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> bandit.disable("green")
        >>> bandit.probabilities
        {'blue': 0.5, 'green': 0.0, 'red': 0.5}
        >>> bandit.enable("green")
        >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
        {'blue': 0.333, 'green': 0.333, 'red': 0.333}
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares)
            self._roster.disable(arm)

    def enable(self, arm: Label) -> None:
        """Wake an arm that was disabled, with all that is known of it; harmless for one that is awake.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``.
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares)
            self._roster.enable(arm)

    def add(self, arm: Label) -> None:
        """A new arm, which can be drawn from now on.

        It starts as if it had been asleep so far: with the learner's own loss. Regret to it counts from its
        arrival on. Rates that depend on the number of arms go by those seen so far, retired ones included; a
        horizon stays what it is.

        Parameters
        ----------
        arm:
            A label that no arm has or had.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], seed=7)
        >>> bandit.add("red")
        >>> bandit.arms
        ('blue', 'green', 'red')
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares)
            label = self._roster.new_label(arm)
            params = self._policy.resolve(len(self._arms) + 1, self._horizon)
            self._state = grow(params, self._state)
            self._params = params
            everyone = np.ones(len(self._arms))
            self._awake_at = {
                number: np.append(self._awake_at.get(number, everyone), 0.0) for number, _ in self._open
            }
            self._arms = (*self._arms, label)
            self._roster = self._roster.with_arms(self._arms)
            self._pulls.append(0)
            self._seen.append(0)
            self._sums.append(0.0)
            if isinstance(self._range, LearnedRange):
                self._range.add()
            if self._record is not None:
                self._record.add_arm()
            self._bind()

    def retire(self, arm: Label) -> None:
        """Let an arm go for good: it is never drawn again, and has no weight beside the others.

        Feedback of its outstanding pulls can still be given. Its label stays taken.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``, and not the last one that is enabled.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> bandit.retire("green")
        >>> bandit.probabilities, bandit.retired
        ({'blue': 0.5, 'red': 0.5}, ('green',))
        """
        with self._lock:
            require_changing_arms(self._policy, self._shares)
            number = self._roster.retire(arm)
            retire(self._params, self._state, number)
            if isinstance(self._range, LearnedRange):
                self._range.forget(number)

    def _among(self) -> Restricted:
        """What is needed where not all arms are awake."""
        if self._restricted is None:
            made = self._restricted = Restricted(self._n_played, self._params, self._state, self._own)
            self._start(made, made.kernels, "among")
        return self._restricted

    def _batch(self) -> Batch:
        """What is needed for many pulls at once."""
        if self._batched is None:
            made = self._batched = Batch(self._arms, self._params, self._state, self._policy.draws)
            self._start(made, made.kernels, "batch")
        return self._batched

    @property
    def disabled(self) -> tuple[Label, ...]:
        """The labels of the arms that are disabled."""
        return self._roster.labels(self._roster.disabled)

    @property
    def retired(self) -> tuple[Label, ...]:
        """The labels of the arms that have retired."""
        return self._roster.labels(self._roster.retired)

    def _find_any(self, pull: Pull | str) -> tuple[int, Row | None]:
        """The same of a pull that may be closed."""
        try:
            return self._find(pull)
        except RepeatedPullError:
            return life_and_round(pull)[1], None

    def _find(self, pull: Pull | str) -> tuple[int, Row | None]:
        """The round of a pull, and what is remembered of it: None if its wait is over."""
        if type(pull) is Pull and type(pull.round) is int:
            number, life = pull.round, pull.bandit
        else:
            life, number = life_and_round(pull)
        row = self._open.recent.get(number) or self._open.get(number)
        if row and self._lives[row[-1]] == life:
            return number, row
        if life.rpartition("-")[0] != family_of(self._id):
            raise ForeignPullError(f"{pull!r} was made by another bandit; update that one")
        if 1 <= number <= self._last_overdue():
            return number, None
        if life == self._life and 1 <= number <= self._rounds:
            raise self._repeated(pull)
        raise UnknownPullError(
            f"{pull!r} is not open in this bandit, which has made {counted(self._rounds, 'pull')}: it has "
            "had its feedback, or it was made by a copy, or by one that was loaded from an older state"
        )

    def _last_overdue(self) -> int:
        """Up to this round the wait is over, also of those that had their feedback in time."""
        if self._wait is not None and self._wait.rounds is not None:
            return self._rounds - self._wait.rounds
        return self._overdue

    def _repeated(self, pull: Pull | str) -> RepeatedPullError:
        return RepeatedPullError(
            f"{pull!r} has had its feedback, or was forgotten; each pull is updated once"
        )

    def _no_solution(self, pull: Pull) -> SolverError:
        return SolverError(
            f"{self._policy!r} found no solution after {pull!r}; go back to a saved state, and please report "
            "this"
        )

    def _pull(self, number: int, row: Row) -> Pull:
        record = OpenPull._make(row)
        arm, observe = self._arms[record.arm], self._arms[record.observe]
        return Pull(number, arm, observe, record.probability, self._lives[record.life])

    # --- what it knows ------------------------------------------------------------------------------

    @property
    def probabilities(self) -> dict[Label, float]:
        """The distribution that the next pull is drawn from."""
        with self._lock:
            self._close_overdue()
            p = self._distribution()
            return {label: p[i] for i, label in enumerate(self._arms) if i not in self._roster.retired}

    def _distribution(self) -> list[float]:
        p = self._policy_distribution()
        return p if self._shares is None else self._shares.distribution(p)

    def _policy_distribution(self) -> list[float]:
        out = np.empty(self._n_played)
        if self._roster.awake is None:
            self._read(self._params, self._state, out)
        else:
            self._among().read(self._params, self._state, self._roster.awake, out)
        return out.tolist()

    @property
    def log(self) -> DecisionLog | None:
        """Where decisions are written down, if you give one: see :class:`bothworlds.DecisionLog`."""
        return self._log

    @log.setter
    def log(self, log: DecisionLog | None) -> None:
        if log is not None and not isinstance(log, DecisionLog):
            fix = f"write bandit.log = bw.DecisionLog({log!r})"
            raise InvalidArgumentError("log", log, "a DecisionLog, or None", fix=fix)
        if log is not None and log.probabilities and self._policy.decoupled:
            fix = "it observes other arms than it plays: leave out probabilities=True"
            raise InvalidArgumentError("log", log, "without probabilities for this policy", fix=fix)
        with self._lock:
            self._log = log

    @property
    def history(self) -> History:
        """How the distribution has moved: at most 64 of its moments, for fewer than 1,000 arms."""
        with self._lock:
            return self._notes.history(self._arms)

    def evidence(
        self, *, error: float = 0.05, world: Literal["stationary", "any"] | None = None, joint: bool = False
    ) -> Evidence:
        """What can be concluded from the decisions so far: ask as often as you like.

        Needs ``Bandit(..., evidence="full")`` or ``"arms"``. Decisions are counted when they are made, so
        that answers which are late, or lost, do not mislead. It begins anew with :meth:`restart`.

        Parameters
        ----------
        error:
            The probability with which a statement may ever be wrong.
        world:
            ``"stationary"``: no mean moves. ``"any"``: nothing is assumed; means are over all rounds. None:
            stationary until the drift alarm is raised, then any.
        joint:
            Let all intervals of arms be right together with probability 1 − error.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], bw.TsallisINF(), seed=7, evidence="full")
        >>> for i in range(600):
        ...     pull = bandit.pull()
        ...     bandit.update(pull, reward=i % 10 < (7 if pull.arm == "green" else 3))
        >>> evidence = bandit.evidence()
        >>> print(evidence.compare("green", "blue").verdict)
        green is better than blue in a stationary world
        >>> print(evidence["green"])
        0.695 [0.625, 0.760]
        """
        with self._lock:
            self._close_overdue()
            if self._record is None:
                fix = (
                    'make the bandit with evidence="full", or load it so: Bandit.load(path, evidence="full")'
                )
                raise InvalidArgumentError("evidence", None, "kept from the beginning", got="none", fix=fix)
            assert isinstance(self._range, Range)
            return Evidence(
                self._record.counted(self._pulls),
                self._arms,
                error=error,
                world=world,
                low=self._range.low,
                high=self._range.high,
                word=self._word,
                joint=joint,
                probabilities=np.array(self._distribution()),
                since=self._record.since,
            )

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
            self._close_overdue()
            return learn_log(self, log, missing)

    def explain(self, pull: Pull | str) -> Explanation:
        """Say of a pull how likely it was, what the others had, and what was known.

        Of an open pull its id will do; one that is closed must be given itself.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], bw.LightBarrier(), seed=7)
        >>> for _ in range(9):
        ...     pull = bandit.pull()
        ...     bandit.update(pull, reward=float(pull.arm == "green"))
        >>> print(bandit.explain(bandit.pull()))
        Round 10: green was drawn by LightBarrier(), with probability 0.9044.
        Then the distribution was green 90.4%, blue 9.6%.
        Mean reward as of now: green 1 in 5 answers, blue 0 in 4 answers.
        Its feedback has not come.
        """
        with self._lock:
            return explain(self, pull)

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms, without those that have retired."""
        return self._roster.there

    def __len__(self) -> int:
        """The number of arms, without those that have retired."""
        return len(self._roster.there)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def horizon(self) -> int | None:
        """The horizon that was given."""
        return self._horizon

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The range in force, low and high; where it is learned, None before anything is known of it.

        Examples
        --------
        >>> import bothworlds as bw
        >>> shop = bw.Bandit(["a", "b"], high=None, seed=7)
        >>> for basket in (0.0, 40.0, 0.0, 50.0):
        ...     shop.update(shop.pull(), reward=basket)
        >>> low, high = shop.range
        >>> low, round(high)
        (0.0, 60)
        """
        with self._lock:
            return self._range.low, self._range.high

    @property
    def rounds(self) -> int:
        """How many pulls have been made."""
        return self._rounds

    @property
    def outstanding(self) -> tuple[Pull, ...]:
        """The pulls that wait for feedback, oldest first."""
        with self._lock:
            self._close_overdue()
            return tuple(self._pull(number, pull) for number, pull in self._open if math.isnan(pull.kept))

    @property
    def late(self) -> int:
        """How many answers came after the wait of their pulls was over, and were not learned."""
        return self._late

    def __repr__(self) -> str:
        return printing.line(self)

    def __str__(self) -> str:
        return printing.text(self)

    def _repr_html_(self) -> str:
        return printing.page(self)

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
            return self._snapshot() | {"_random": rng.from_dict(rng.to_dict(self._random))}

    def _snapshot(self) -> dict[str, Any]:
        """All but the random stream; copies, so that what is taken while a thread plays is one moment."""
        private = {"_lock", "_forks", "_log", "_life", *ROOM, *KERNELS}
        kept = {name: value for name, value in self.__dict__.items() if name not in private}
        return kept | {
            "_open": self._open.copy(),
            "_roster": self._roster.with_arms(self._arms),
            "_awake_at": dict(self._awake_at),
            "_lives": list(self._lives),
            "_range": self._range if isinstance(self._range, Range) else self._range.copy(),
            "_state": statefile.copy_state(self._state),
            "_pulls": list(self._pulls),
            "_seen": list(self._seen),
            "_sums": list(self._sums),
            "_notes": self._notes.copy(),
            "_record": None if self._record is None else self._record.copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    # --- at rest ------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """Take little memory until somebody touches this bandit."""
        with self._lock:
            if "_resting" not in self.__dict__:
                kept = {name: value for name, value in self.__dict__.items() if name not in ROOM}
                awake = {name: kept.pop(name) for name in ("_lock", "_forks", "_log", *KERNELS)}
                self.__dict__ = awake | {"_resting": resting.lay_down(kept), "_forked": []}

    def __getattr__(self, name: str) -> Any:
        """An attribute that is missing: of a bandit at rest, which wakes."""
        if "_resting" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._lock:
            if "_resting" in self.__dict__:  # no other thread was faster
                self.__dict__.update(resting.wake(self._resting))
                self._make_room()
                del self._resting
                for number in self.__dict__.pop("_forked"):
                    self._live_on_in_child(number)
        return getattr(self, name)
