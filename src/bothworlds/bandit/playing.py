"""The loop of a bandit: pull, update, and all that happens between them."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _changeover, _check, policies, rng
from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray, what_to_do
from bothworlds._value import is_ours
from bothworlds._words import counted
from bothworlds.bandit import batch, several
from bothworlds.bandit.arms import RestrictedKernels, Roster, require_changing_arms
from bothworlds.bandit.batch import BatchKernels, Pulls
from bothworlds.bandit.deadlines import LEARN_AT, Wait
from bothworlds.bandit.decision_log import DecisionLog
from bothworlds.bandit.feedback import PLURALS, Missing
from bothworlds.bandit.forks import survive_forks
from bothworlds.bandit.history import Notes
from bothworlds.bandit.keys import Key, fill_with_key, new_secret
from bothworlds.bandit.learned_range import LearnedRange, range_of
from bothworlds.bandit.open_pulls import FEEDBACK, MADE, RECENT, OpenPull, OpenPullRow, OpenPulls
from bothworlds.bandit.pull import Label, Pull, bandit_prefix, instance_and_round, labels_of, new_instance_id
from bothworlds.bandit.recording import EvidenceRecord, Kind
from bothworlds.bandit.several import DrawOfSeveral, RoundWorkspace, Slots
from bothworlds.bandit.shares import Shares
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    RepeatedPullError,
    SolverError,
    UnknownPullError,
)
from bothworlds.policies.base import (
    Policy,
    init,
    pull_chosen,
    pull_once,
    read_distribution,
    retire,
    update_once,
)
from bothworlds.simplex.kernel import FAILED

BUFFERS = (
    "_restricted",
    "_batched",
    "_workspace",
)  # made anew for each process: no part of a bandit's state
KERNELS = ("_act", "_learn", "_read")
new_pull = tuple.__new__  # half the time of Pull(...), whose __new__ is Python's
NOT_YET = math.nan  # the feedback of a pull that has had none
ANSWERED = 0.0  # that of a pull of several arms that has had some: the losses are in its draw


class Playing:
    """Draws arms and learns from what comes back; everything that a bandit is made of is set up here."""

    # kernels, as Python or as machine code (see _changeover)
    _act: Callable[..., Any]
    _learn: Callable[..., int]
    _read: Callable[..., None]

    def __init__(
        self,
        arms: int | Sequence[Label] | Mapping[Label, Sequence[Label]],
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
        choose: int | tuple[int, int] | Literal["any"] = 1,
        shows: Mapping[Label, Sequence[Label]] | Literal["all"] | None = None,
        switching_cost: float = 0.0,
    ) -> None:
        listed, self._slots = Slots.of(arms)
        self._arms = labels_of(listed)
        self._range = range_of(low, high, clip, len(self._arms))
        self._problem = several.problem_of(
            self._arms, choose, self._slots, shows, switching_cost, self._range
        )
        several.refuse(self._problem, evidence=evidence, floor=floor or None, fixed=fixed)
        several.require_range(self._problem, high)
        self._policy = policies.usual(self._problem, horizon) if policy is None else Policy.require(policy)
        if self._policy.in_python:
            fix = "simulate and studies play it"
            raise InvalidArgumentError("policy", policy, "one that tells its probabilities", fix=fix)
        self._shares = Shares.of(floor, fixed, self._arms, self._policy)
        self._params = self._policy.resolve(self._n_played, horizon, self._problem)
        self._horizon = None if horizon is None else int(horizon)
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
        self._draws: dict[int, DrawOfSeveral] = {}  # of open pulls of several arms
        self._roster = Roster(self._arms)
        self._awake_at: dict[int, FloatArray] = {}  # of open pulls at which not all of today's arms were
        self._pulls = [0] * len(self._arms)
        self._seen = [0] * len(self._arms)
        self._sums = [0.0] * len(self._arms)
        self._feedback_kind = "reward"  # or "loss": what the last update reported
        self._notes = Notes(len(self._arms), enabled=not self._problem.several)
        self._record = EvidenceRecord.of(evidence, self._policy, self._params, self._range, self._pulls)
        self._set_identity(seed)
        self._ready()

    def _set_identity(self, seed: int | None) -> None:
        """A random stream and a secret for keys, from the seed; an id, which no other bandit has."""
        self._set_stream(rng.stream(seed))
        self._secret = new_secret(seed)
        self._id = secrets.token_hex(8)
        self._instances: list[str] = []  # the ids of those whose pulls may be open

    def _set_stream(self, generator: np.random.Generator) -> None:
        """Take random numbers from here: those of the policy, and one for shares where there are any."""
        self._random = rng.Rows(generator, self._policy.draws + (self._shares is not None))

    def _ready(self) -> None:
        """What is not part of the state: the id of this instance, lock, buffer, compiled kernels."""
        self._lock = threading.RLock()
        self._forks = 0
        self._log: DecisionLog | None = None
        self._begin_instance()
        self._bind()
        survive_forks(self)

    def _bind(self) -> None:
        """The kernels for this number of arms, and their buffers."""
        self._make_buffers()
        self._start(self, self._kernels(), "single")

    def _make_buffers(self) -> None:
        self._restricted: RestrictedKernels | None = None  # made when it is first needed
        self._batched: BatchKernels | None = None  # likewise
        self._workspace = RoundWorkspace.of(self._problem, len(self._arms))
        if self._record is not None:
            self._start(self._record, self._record.kernels(), f"evidence {self._record.kind}")

    def _start(self, owner: Any, kernels: Kernels, part: str) -> None:
        """Give ``owner`` its kernels; ``part`` names them for another process that compiles."""

        def recipe() -> dict[str, Any] | None:
            if not is_ours(self._policy):
                return None
            policy = policies.to_dict(self._policy)
            what = {"policy": policy, "n_arms": self._n_played, "horizon": self._horizon, "part": part}
            return what | {"problem": self._problem.to_dict()}

        _changeover.give_kernels(owner, kernels, n_arms=self._n_played, recipe=recipe)

    @property
    def _n_played(self) -> int:
        """The number of arms that the policy plays."""
        return len(self._arms if self._shares is None else self._shares.free)

    def _kernels(self) -> Kernels:
        """The attributes that are kernels, Python or machine code, with arguments of the right types."""
        if self._workspace is not None:
            return self._workspace.kernels(self)
        kernels = (
            (pull_once, (self._params, self._state, np.empty(self._policy.draws), 0)),
            (update_once, (self._params, self._state, 0, 0.0, 1.0, 0.0)),
            (read_distribution, (self._params, self._state, np.empty(self._n_played))),
        )
        return dict(zip(KERNELS, kernels, strict=True))

    def _begin_instance(self) -> None:
        """From now on pulls have ids that no copy gives out, nor this bandit before."""
        self._instance = new_instance_id(self._id)
        self._instances.append(self._instance)

    def _continue_in_child(self, fork: int) -> None:
        """In the child of a fork: ids and draws that neither the parent has nor its other children."""
        self._set_stream(rng.branch(self._random.generator, fork))
        self._log = None  # the parent's
        self._begin_instance()

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
        if n is not None or self._workspace is not None:
            return self._pull_several(n, key, among)
        with self._lock:
            opened, arms, made = self._open, self._arms, 0.0
            if self._wait is not None:
                self._close_overdue()
                made = self._wait.now()
            awake = self._roster.awake if among is None else self._awake_among(among)
            uniforms = self._random.take() if key is None else self._uniforms_of(key)
            number = self._rounds + 1
            if number == self._notes.due:
                self._notes.note(self._distribution())
            if awake is not None:
                kernels = self._among()
                arm, probability, memo = kernels.act(
                    self._params, self._state, uniforms, len(opened), awake, kernels.p
                )
                shown, weight = arm, probability
            elif self._shares is None:
                arm, shown, probability, weight, memo = self._act(
                    self._params, self._state, uniforms, len(opened.recent) + opened.n_packed
                )
                if math.isnan(probability):  # dear to compute, and not needed to learn
                    probability = weight = self._policy_distribution()[arm]
            else:
                arm, probability, memo = self._draw_with(self._shares, uniforms)
                shown, weight = arm, probability
            self._rounds = number
            instance = len(self._instances) - 1
            row = probability, weight, memo, NOT_YET, made, arm, shown, self._restarts, instance
            opened.recent[number] = row
            if awake is not None:
                self._awake_at[number] = awake
            if len(opened.recent) > RECENT:
                opened.pack()
            self._pulls[arm] += 1
            made_pull = new_pull(Pull, (number, arms[arm], arms[shown], probability, self._instance))
            if self._log is not None:
                self._log_decision(self._log, made_pull, weight, awake)
            return made_pull

    def _pull_several(self, n: int | None, key: Key | None, among: Iterable[Label] | None) -> Pull | Pulls:
        """Several pulls, or one of several arms."""
        several.refuse(self._problem, n=n, among=among)
        if self._workspace is None:
            assert n is not None
            return self._pull_many(n, key, among)
        return self._pull_set(self._workspace, key)

    def _pull_set(self, workspace: RoundWorkspace, key: Key | None) -> Pull:
        with self._lock:
            self._close_overdue()
            uniforms = self._random.take() if key is None else self._uniforms_of(key)
            drawn = several.draw_several(self, workspace, uniforms)
            number = self._rounds = self._rounds + 1
            made, instance = 0.0 if self._wait is None else self._wait.now(), len(self._instances) - 1
            # the draw has all of it; a row has places for one arm alone
            first = drawn.arms[0] if drawn.arms else 0
            self._open.add(number, (1.0, 1.0, 0.0, NOT_YET, made, first, first, self._restarts, instance))
            self._draws[number] = drawn
            for arm in drawn.arms:
                self._pulls[arm] += 1
            return several.pull_of(self._arms, number, drawn, self._instance)

    def _pull_many(self, n: int, key: Key | None, among: Iterable[Label] | None) -> Pulls:
        _check.integer("n", n, at_least=0, fix="write pull() for one, pull(10) for ten")
        if key is not None:
            raise InvalidArgumentError("key", key, "given for a single pull", fix="write pull(key=...)")
        with self._lock:
            return batch.draw_many(self, n, among)

    def _awake_among(self, among: Iterable[Label]) -> FloatArray | None:
        awake = self._roster.among(among)
        if awake is not None:
            require_changing_arms(self._policy, self._shares)
        return awake

    def _uniforms_of(self, key: Key) -> FloatArray:
        uniforms = np.empty(self._random.width)
        fill_with_key(self._secret, key, uniforms)
        return uniforms

    def _draw_with(self, shares: Shares, uniforms: FloatArray) -> tuple[int, float, float]:
        """An arm, its probability, and the memo of the policy."""
        arm = shares.draw(float(uniforms[-1]))
        if arm in shares.fixed:
            return arm, shares.fixed[arm], 0.0
        arguments = self._params, self._state, uniforms[:-1], len(self._open)
        if arm is None:
            place, _, p, _, memo = self._act(*arguments)
        else:
            place = shares.places[arm]
            p, memo = pull_chosen(*arguments, place)
        if math.isnan(p):
            p = self._policy_distribution()[place]
        return shares.free[place], shares.mixed(p), memo

    @overload
    def update(self, pull: Pull | str, *, reward: float) -> None: ...
    @overload
    def update(self, pull: Pull | str, *, loss: float) -> None: ...
    @overload
    def update(
        self, pull: Pull | str | Sequence[Pull | str], *, rewards: ArrayLike | Mapping[Label, float]
    ) -> None: ...
    @overload
    def update(
        self, pull: Pull | str | Sequence[Pull | str], *, losses: ArrayLike | Mapping[Label, float]
    ) -> None: ...
    def update(
        self,
        pull: Any,
        *unnamed: Any,
        reward: float | None = None,
        loss: float | None = None,
        rewards: ArrayLike | Mapping[Label, float] | None = None,
        losses: ArrayLike | Mapping[Label, float] | None = None,
    ) -> None:
        """Report the reward or the loss of ``pull.observe``; any outstanding pull, in any order, once.

        Where a pull has several arms, or shows several outcomes, ``rewards`` or ``losses`` has one for each
        of ``pull.observe``, in that order or as ``{arm: reward}``; all of them at once.

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
        kind, value = ("reward", reward) if loss is None else ("loss", loss)
        with self._lock:
            if self._wait is not None:
                self._close_overdue()
            if self._workspace is not None:
                name = PLURALS[kind]
                fix = f"write {name}=[...], one for each of pull.observe"
                raise InvalidArgumentError(kind, value, f"given as {name} for {self._problem}", fix=fix)
            number, row = self._find(pull)
            feedback = self._range.take(kind, value)
            if row is not None and not self._defers:  # by far the most common, without another call
                self._close(number, row, feedback)
            else:
                self._take_feedback(number, row, feedback)
            self._feedback_kind = kind

    def _update_many(self, pulls: Any, **given: Any) -> None:
        (name, values), *others = ((name, value) for name, value in given.items() if value is not None)
        if others:
            raise InvalidArgumentError(name, values, f"given without {others[0][0]}")
        kind = "reward" if name == "rewards" else "loss"
        if self._workspace is not None:
            self._update_several(pulls, kind, values)
            return
        if isinstance(pulls, (Pull, str)) or not isinstance(pulls, Sequence):
            fix = "for a single one write reward=... or loss=..."
            raise InvalidArgumentError("pull", pulls, "several pulls, or their ids", fix=fix)
        with self._lock:
            self._close_overdue()
            batch.learn_many(self, pulls, kind, self._range.take_many(kind, values, len(pulls)))
            self._feedback_kind = kind

    def _update_several(self, pull: Any, kind: str, values: Any) -> None:
        with self._lock:
            self._close_overdue()
            number, row = self._find(pull)
            if row is None:
                self._late += 1
                return
            drawn = self._draws[number]
            losses = several.losses_shown(self, kind, values, drawn)
            if not math.isnan(row[FEEDBACK]):
                raise self._repeated(self._pull(number, row))
            self._draws[number] = drawn._replace(losses=losses)
            self._take_feedback(number, row, ANSWERED)
            self._feedback_kind = kind

    def _take_feedback(self, number: int, row: OpenPullRow | None, feedback: float) -> None:
        """Take in feedback, as the range gave it: learn it, hold it for its deadline, or count it as late."""
        if row is None:
            self._late += 1
        elif self._defers:
            self._hold_feedback(number, row, feedback)
        else:
            self._close(number, row, feedback)

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
            feedback, imputed = row[FEEDBACK], False
            if math.isnan(feedback) and self._missing is not None:
                feedback, imputed = self._missing.feedback, not self._defers
            self._close(number, row, feedback, imputed=imputed)
            self._overdue = number

    def _hold_feedback(self, number: int, row: OpenPullRow, feedback: float) -> None:
        """Hold the feedback of an open pull until its wait is over."""
        if not math.isnan(row[FEEDBACK]):
            raise self._repeated(self._pull(number, row))
        self._open.replace(number, OpenPull._make(row)._replace(feedback=feedback))

    def _close(self, number: int, row: OpenPullRow, feedback: float, *, imputed: bool = False) -> None:
        """Close an open pull, and learn its feedback; without any (NaN) there is nothing to learn."""
        if self._workspace is not None:
            self._learn_several(self._workspace, number, row, feedback)
        elif not math.isnan(feedback):
            _, weight, memo, _, _, _, observe, restarts, _ = row
            place = observe if self._shares is None else self._shares.places.get(observe)
            if restarts == self._restarts and place is not None:
                loss = feedback
                if isinstance(self._range, LearnedRange):
                    loss = self._learn_range(self._range, observe, feedback)
                if self._awake_at and number in self._awake_at:
                    kernels, awake = self._among(), self._awake_at[number]
                    arguments = place, loss, weight, memo, awake
                    status = kernels.learn(self._params, self._state, kernels.before, *arguments)
                else:
                    status = self._learn(self._params, self._state, place, loss, weight, memo)
                if status == FAILED:
                    raise self._no_solution(self._pull(number, row))
            self._seen[observe] += 1
            self._sums[observe] += feedback
            if self._record is not None and number > self._record.since:
                self._record.note_answer(observe, feedback, row[0], imputed=imputed)
        if self._open.recent.pop(number, None) is None:
            self._open.close(number)
        if self._awake_at:
            self._awake_at.pop(number, None)
        if self._log is not None:
            self._log.settle(number, reward=self._reward_of(feedback))

    def _learn_several(
        self, workspace: RoundWorkspace, number: int, row: OpenPullRow, feedback: float
    ) -> None:
        """Learn the losses of a pull of several arms; where none have come, ``feedback`` is that of each."""
        drawn = self._draws[number]
        if not math.isnan(feedback):
            losses = drawn.losses or (feedback,) * len(drawn.shown)
            fresh = OpenPull._make(row).restarts == self._restarts
            if fresh and several.learn_several(self, workspace, drawn, losses) == FAILED:
                raise self._no_solution(self._pull(number, row))
            for arm, loss in zip(drawn.shown, losses, strict=True):
                self._seen[arm] += 1
                self._sums[arm] += loss
        del self._draws[number]

    def _log_decision(self, log: DecisionLog, pull: Pull, weight: float, awake: FloatArray | None) -> None:
        """Log the arm whose outcome will be known, and the probability with which it was drawn."""
        probability = weight if self._policy.decoupled else pull.probability
        p: Iterable[float] = ()
        if log.probabilities:
            p = self._distribution() if awake is None else self._among().p.tolist()
        others = dict(zip(self._arms, p, strict=False))
        log.decide(pull.id, number=pull.round, arm=pull.observe, probability=probability, others=others)

    def _reward_of(self, feedback: float) -> float:
        """Feedback, as the range gave it, as a reward in the user's range."""
        value = self._range.value_of("reward", feedback)
        is_loss = isinstance(self._range, LearnedRange) and self._range.feedback_kind == "loss"
        return -value if is_loss else value

    def _learn_range(self, learned: LearnedRange, arm: int, feedback: float) -> float:
        """The loss in [0, 1] that the feedback of an arm is by the range in force, which learns from it."""
        loss = learned.loss_of(feedback)
        if arm not in self._roster.retired:
            learned.learn(arm, feedback)
        return loss

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

    def _among(self) -> RestrictedKernels:
        """Kernels and buffers for draws among some arms, made when they are first needed."""
        if self._restricted is None:
            made = self._restricted = RestrictedKernels(
                self._n_played, self._params, self._state, self._policy.draws
            )
            self._start(made, made.kernels, "among")
        return self._restricted

    def _batch(self) -> BatchKernels:
        """Kernels and buffers for many pulls at once, made when they are first needed."""
        if self._batched is None:
            made = self._batched = BatchKernels(self._arms, self._params, self._state, self._policy.draws)
            self._start(made, made.kernels, "batch")
        return self._batched

    def _find_any(self, pull: Pull | str) -> tuple[int, OpenPullRow | None]:
        """As :meth:`_find`, but None, too, for a pull that is closed."""
        try:
            return self._find(pull)
        except RepeatedPullError:
            return instance_and_round(pull)[1], None

    def _find(self, pull: Pull | str) -> tuple[int, OpenPullRow | None]:
        """The round of a pull, and what is remembered of it: None if its wait is over."""
        if type(pull) is Pull and type(pull.round) is int:
            number, instance = pull.round, pull.bandit
        else:
            instance, number = instance_and_round(pull)
        row = self._open.recent.get(number) or self._open.get(number)
        if row and self._instances[row[-1]] == instance:
            return number, row
        if instance.rpartition("-")[0] != bandit_prefix(self._id):
            raise ForeignPullError(f"{pull!r} was made by another bandit; update that one")
        if 1 <= number <= self._last_overdue():
            return number, None
        if instance == self._instance and 1 <= number <= self._rounds:
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
        fix = what_to_do(self._params, "history")
        return SolverError(
            f"{self._policy!r} found no solution after {pull!r}; go back to a saved state; {fix}"
        )

    def _pull(self, number: int, row: OpenPullRow) -> Pull:
        record = OpenPull._make(row)
        if self._workspace is not None:
            return several.pull_of(self._arms, number, self._draws[number], self._instances[record.instance])
        arm, observe = self._arms[record.arm], self._arms[record.observe]
        return Pull(number, arm, observe, record.probability, self._instances[record.instance])

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


Playing.__init__.__qualname__ = "Bandit"  # Python's own errors name what was called
