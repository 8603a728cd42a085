"""A bandit as a fold over its log: draws that change nothing, and learning in an order that others fix."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import math
import platform
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _jit, policies, statefile
from bothworlds._code_cache import source_hash
from bothworlds._jit import FloatArray, IntArray
from bothworlds._version import __version__
from bothworlds.bandit.bandit import Bandit
from bothworlds.bandit.feedback import Range
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.pull import Label, labels_of
from bothworlds.errors import InvalidArgumentError, PartError, StateError
from bothworlds.policies.base import Policy, before_draw
from bothworlds.simplex.kernel import FAILED

FORMAT = "bothworlds-learner"
VERSION = 1
FIRST_LAYOUT = 3  # of states whose layout was not yet written beside them
CHANGES = ("add", "retire", "disable", "enable", "restart")

# A ticket is what travels with a draw until its feedback is learned, in the place of an open pull; whoever
# keeps it need not look inside. Where arms were asleep, a bit for each follows.
TICKET = struct.Struct("<4I2d")
COLUMNS = np.dtype(
    {
        "names": ["version", "observe", "n_arms", "restarts", "weight", "memo"],
        "formats": ["<u4", "<u4", "<u4", "<u4", "<f8", "<f8"],
    }
)


class Draw(NamedTuple):
    """What :meth:`Learner.decide` drew; arms are numbers."""

    arm: int
    observe: int
    probability: float
    ticket: bytes
    """What :meth:`Learner.learn` wants back with the feedback: see ``TICKET``."""


class Learner:
    """A policy that is a function of its log: of the feedback it has learned, in that order, alone.

    A :class:`Bandit` without its bookkeeping. It has no randomness, no clock and no open pulls: uniforms are
    given to :meth:`decide`, which changes nothing, and what must be remembered of a draw is its ticket. So
    two learners that have learned the same are the same to the bit, wherever they are, and any draw can be
    computed again.

    Parameters
    ----------
    arms, policy, horizon, low, high, clip:
        As in :class:`Bandit`. A policy that takes note of its draws cannot be used.

    Notes
    -----
    Where a solver finds no solution (which is a defect), the learner stays what it was before and is
    :attr:`frozen`: it draws, and learns nothing any more. Everybody who reads the same log meets it at the
    same place.

    Where ``high`` is None, rewards are learned, and losses are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from bothworlds.bandit import Learner
    >>> learner = Learner(["blue", "green"], "tsallis-inf")
    >>> draw = learner.decide(np.array([0.7]))
    >>> learner.arms[draw.arm], draw.probability
    ('green', 0.5)
    >>> learner.learn([draw.ticket], [learner.take("reward", 1.0)])
    >>> twin = Learner.load(learner.dump())
    >>> twin.probabilities() == learner.probabilities()
    True
    """

    def __init__(
        self,
        arms: int | Sequence[Label],
        policy: Policy | str | None = None,
        *,
        horizon: int | None = None,
        low: float | None = 0.0,
        high: float | None = 1.0,
        clip: bool = False,
    ) -> None:
        self._bandit = Bandit(arms, policy, horizon=horizon, seed=0, low=low, high=high, clip=clip)
        self._asked = high
        if isinstance(self._bandit._range, LearnedRange):
            self._bandit._range.feedback_kind = "reward"
        require_no_memory_of_draws(self._bandit)
        self.frozen = False

    def twin(self) -> Learner:
        """Another one with all that this one knows, for a tenth of what it takes to make one."""
        twin = type(self).__new__(type(self))
        twin._bandit = self._bandit._copy()  # whose randomness nobody uses
        twin._bandit._batched = self._bandit._batch()  # kernels, which are the same until arms are added
        twin._asked, twin.frozen = self._asked, self.frozen
        return twin

    # --- drawing --------------------------------------------------------------------------------------

    @property
    def draws(self) -> int:
        """How many uniforms a draw takes."""
        return self._bandit._policy.draws

    def decide(
        self, uniforms: FloatArray, *, among: Iterable[Label] | None = None, awake: FloatArray | None = None
    ) -> Draw:
        """Draw an arm. Changes nothing: the same uniforms give the same draw until something is learned.

        Parameters
        ----------
        uniforms:
            As many numbers in [0, 1) as :attr:`draws` says.
        among:
            As in :meth:`Bandit.pull`.
        awake:
            Instead of ``among``: 1 for arms that can be drawn, 0 for others, as :meth:`awake_at` has it.
        """
        bandit = self._bandit
        if among is not None:
            awake = bandit._awake_among(among)
        elif awake is None:
            awake = bandit._roster.awake
        if awake is None:
            arm, observe, probability, weight, memo = bandit._act(bandit._params, bandit._state, uniforms, 0)
            if math.isnan(probability):  # dear to compute, and not needed to learn
                probability = weight = bandit._policy_distribution()[arm]
            bits = b""
        else:
            kernels = bandit._among()
            arm, probability, memo = kernels.act(bandit._params, bandit._state, uniforms, 0, awake, kernels.p)
            observe, weight, bits = arm, probability, np.packbits(awake == 1.0).tobytes()
        ticket = TICKET.pack(VERSION, observe, len(bandit._arms), bandit._restarts, weight, memo) + bits
        return Draw(arm, observe, probability, ticket)

    @staticmethod
    def awake_at(ticket: bytes) -> FloatArray | None:
        """Which arms could be drawn when this ticket was given; None if all that were there."""
        if len(ticket) == TICKET.size:
            return None
        n_arms = TICKET.unpack_from(ticket)[2]
        return np.unpackbits(np.frombuffer(ticket, np.uint8, offset=TICKET.size), count=n_arms).astype(float)

    @staticmethod
    def observed(ticket: bytes) -> int:
        """The arm whose loss a ticket waits for."""
        observe: int = TICKET.unpack_from(ticket)[1]
        return observe

    @staticmethod
    def restarts_before(ticket: bytes) -> int:
        """How often the learner had been restarted when this ticket was given."""
        restarts: int = TICKET.unpack_from(ticket)[3]
        return restarts

    def probabilities(self) -> dict[Label, float]:
        """The distribution that the next arm is drawn from."""
        return self._bandit.probabilities

    # --- learning -------------------------------------------------------------------------------------

    def take(self, kind: str, value: Any) -> float:
        """A reward or a loss (``kind`` says which) as feedback for :meth:`learn`, or an error."""
        return self._bandit._range.take(kind, value) + 0.0  # no negative zero: databases have none

    def value_of(self, feedback: float) -> float:
        """Undo :meth:`take`: the reward that was reported."""
        return self._bandit._range.value_of("reward", feedback)

    def learn(self, tickets: Sequence[bytes], feedback: Sequence[float]) -> None:
        """Learn the feedback, as :meth:`take` gave it, of draws with these tickets, one after the other."""
        begin, n = 0, len(tickets)
        while begin < n and not self.frozen:
            end = begin + 1
            if len(tickets[begin]) == TICKET.size:
                while end < n and len(tickets[end]) == TICKET.size:
                    end += 1
                rows = np.frombuffer(b"".join(tickets[begin:end]), COLUMNS)
                self._learn_rows(rows, np.array(feedback[begin:end], dtype=np.float64))
            else:
                row = np.frombuffer(tickets[begin], COLUMNS, count=1)[0]
                self._learn_row(row, feedback[begin], self.awake_at(tickets[begin]))
            begin = end

    def _learn_rows(self, rows: Any, feedback: FloatArray) -> None:
        """Draws at which all arms were awake that there were."""
        bandit = self._bandit
        known = rows["restarts"] == bandit._restarts  # the world before a restart is another one
        if not known.all():
            rows, feedback = rows[known], feedback[known]
        today = rows["n_arms"] == len(bandit._arms)
        if today.all():
            self._learn_known(*_columns(rows), feedback)
            return
        begin = 0  # each draw takes the way that it would take alone: states must not depend on its neighbors
        for end in [*(np.flatnonzero(today[1:] != today[:-1]) + 1).tolist(), len(rows)]:
            if today[begin] and not self.frozen:
                self._learn_known(*_columns(rows[begin:end]), feedback[begin:end])
            else:
                for row, one in zip(rows[begin:end], feedback[begin:end].tolist(), strict=True):
                    self._learn_row(row, one, None)
            begin = end

    def _learn_known(
        self, observe: IntArray, weights: FloatArray, memos: FloatArray, feedback: FloatArray
    ) -> None:
        """Draws of today's arms, since the last restart."""
        before = self._moment()
        learned = self._learn_columns(observe, feedback, weights, memos)
        if learned < len(feedback):
            self._freeze(before)
            self._learn_columns(observe[:learned], feedback[:learned], weights[:learned], memos[:learned])

    def _learn_columns(
        self, observe: Any, feedback: FloatArray, weights: FloatArray, memos: FloatArray
    ) -> int:
        bandit, losses = self._bandit, feedback
        if isinstance(bandit._range, LearnedRange):
            pairs = zip(observe.tolist(), feedback.tolist(), strict=True)
            losses = np.array([bandit._learn_range(bandit._range, arm, one) for arm, one in pairs])
        return bandit._batch().learn(bandit._params, bandit._state, observe, losses, weights, memos)

    def _learn_row(self, row: Any, feedback: float, awake: FloatArray | None) -> None:
        """A draw at which not all of today's arms could be drawn."""
        bandit = self._bandit
        if self.frozen or row["restarts"] != bandit._restarts:
            return
        observe, weight, memo = int(row["observe"]), float(row["weight"]), float(row["memo"])
        among = np.ones(int(row["n_arms"])) if awake is None else awake
        mask = np.concatenate([among, np.zeros(len(bandit._arms) - among.size)])  # some came after the draw
        before, loss = self._moment(), feedback
        if isinstance(bandit._range, LearnedRange):
            loss = bandit._learn_range(bandit._range, observe, feedback)
        kernels, arguments = bandit._among(), (observe, loss, weight, memo, mask)
        if kernels.learn(bandit._params, bandit._state, kernels.before, *arguments) == FAILED:
            self._freeze(before)

    def _moment(self) -> tuple[Any, Range | LearnedRange]:
        scale = self._bandit._range
        return statefile.clone_state(self._bandit._state), scale if isinstance(scale, Range) else scale.copy()

    def _freeze(self, before: tuple[Any, Range | LearnedRange]) -> None:
        _jit.copy_state(before[0], self._bandit._state)
        self._bandit._range = before[1]
        self.frozen = True

    # --- arms -----------------------------------------------------------------------------------------

    def change(self, what: str, arm: Label | None = None) -> None:
        """``add``, ``retire``, ``disable`` or ``enable`` an arm, or ``restart``: as :class:`Bandit` does.

        What it refuses changes nothing.
        """
        if what not in CHANGES:
            raise InvalidArgumentError("what", what, f"one of {', '.join(CHANGES)}")
        method = getattr(self._bandit, what)
        method() if what == "restart" else method(arm)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of all arms by their numbers, those that have retired included."""
        return self._bandit._arms

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms, without those that have retired."""
        return self._bandit.arms

    @property
    def disabled(self) -> tuple[Label, ...]:
        """The labels of the arms that are disabled."""
        return self._bandit.disabled

    @property
    def retired(self) -> tuple[Label, ...]:
        """The labels of the arms that have retired."""
        return self._bandit.retired

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._bandit.policy

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The range in force, as in :class:`Bandit`."""
        return self._bandit.range

    # --- keeping --------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        """What it was made of, in JSON types."""
        bandit = self._bandit
        return {
            "arms": list(bandit._arms),
            "policy": policies.to_dict(bandit._policy),
            "horizon": bandit._horizon,
            "low": bandit._range.low,
            "high": self._asked,
            "clip": bandit._range.clip,
        }

    def dump(self) -> bytes:
        """Everything, exact to the bit: equal learners have equal bytes."""
        bandit = self._bandit
        learned = bandit._range if isinstance(bandit._range, LearnedRange) else None
        forget_draws(bandit)
        made_of = self._settings()
        data = {
            "format": FORMAT,
            "version": VERSION,
            "arms": made_of.pop("arms"),
            "disabled": sorted(bandit._roster.disabled),
            "retired": sorted(bandit._roster.retired),
            **made_of,
            "range": None if learned is None else learned.to_dict(),
            "restarts": bandit._restarts,
            "frozen": self.frozen,
            "layout": statefile.VERSION,
            "state": statefile.pack(bandit._state),
        }
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes, *, fresh: Learner | None = None) -> Learner:
        """The learner that :meth:`dump` gave these bytes.

        ``fresh``: one that was made, and nothing since. If it was made of the same, its :meth:`twin` is taken
        in place of a new one.
        """
        try:
            saved = json.loads(data)
            if saved["format"] != FORMAT or saved["version"] != VERSION:
                found = f"{saved['format']} of version {saved['version']}"
                raise StateError(f"expected {FORMAT} of version {VERSION}, found {found}")
            if fresh is not None and all(saved[name] == one for name, one in fresh._settings().items()):
                learner = fresh.twin()
            else:
                options = {name: saved[name] for name in ("horizon", "low", "high", "clip")}
                learner = cls(labels_of(saved["arms"]), policies.from_dict(saved["policy"]), **options)
            bandit = learner._bandit
            for name in ("disabled", "retired"):
                for number in statefile.arms(saved, name, len(bandit._arms)):
                    getattr(bandit._roster, name[:-1])(bandit._arms[number])
            bandit._restarts = int(saved["restarts"])
            if isinstance(bandit._range, LearnedRange):
                bandit._range.restore(saved["range"])
            layout = saved.get("layout", FIRST_LAYOUT)
            bandit._state = statefile.unpack(bandit._state, saved["state"], version=layout)
            learner.frozen = bool(saved["frozen"])
        except (KeyError, TypeError, ValueError, PartError) as error:
            raise StateError(f"the saved learner cannot be restored: {error}") from error
        return learner


def _columns(rows: Any) -> tuple[IntArray, FloatArray, FloatArray]:
    """What kernels need of tickets: observed arms, weights, memos."""
    return (
        np.ascontiguousarray(rows["observe"], np.int64),
        np.ascontiguousarray(rows["weight"]),
        np.ascontiguousarray(rows["memo"]),
    )


def learn_all(
    learners: Sequence[Learner], which: Sequence[int], tickets: Sequence[bytes], feedback: Sequence[float]
) -> None:
    """What :meth:`Learner.learn` does, for many learners at once: tickets are of ``learners[which]``.

    Each learns its own in their order. What all need is done once, for all rows.
    """
    owners = np.asarray(which, np.int64)
    order = np.argsort(owners, kind="stable")
    joined = b"".join(tickets)
    ends = np.cumsum(np.bincount(owners, minlength=len(learners))).tolist()
    if len(joined) > TICKET.size * len(tickets):  # some arms were asleep
        begin = 0
        for learner, end in zip(learners, ends, strict=True):
            own = order[begin:end].tolist()
            learner.learn([tickets[i] for i in own], [feedback[i] for i in own])
            begin = end
        return
    rows, values = np.frombuffer(joined, COLUMNS)[order], np.array(feedback, np.float64)[order]
    observe, weights, memos = _columns(rows)
    first = rows[0]["n_arms"], rows[0]["restarts"]
    alike = (rows["n_arms"] == first[0]).all() and (rows["restarts"] == first[1]).all()
    begin = 0
    for learner, end in zip(learners, ends, strict=True):
        part, bandit = slice(begin, end), learner._bandit
        begin = end
        if learner.frozen or part.start == end:
            continue
        if alike and len(bandit._arms) == first[0] and bandit._restarts == first[1]:
            learner._learn_known(observe[part], weights[part], memos[part], values[part])
        else:
            learner._learn_rows(rows[part], values[part])


# --- policies that are functions of their feedback ------------------------------------------------------

EVERYONE = np.empty(0)  # to kernels: all arms are awake


def forget_draws(bandit: Bandit) -> None:
    """Put back what ``before_draw`` notes for the draw that follows it, and nobody reads later."""
    before_draw(bandit._params, bandit._state, 0, EVERYONE)


def require_no_memory_of_draws(bandit: Bandit) -> None:
    """Refuse a policy that its draws change, or the number of those that are open."""
    if bandit._policy.notes_draws or _notes_unsaid(bandit):
        raise InvalidArgumentError(
            "policy",
            bandit._policy,
            "a function of its feedback",
            got=f"{bandit._policy!r}, which takes note of its draws",
            fix="the log has an order of feedback, and none of draws: use another policy, or a Bandit",
        )


def _notes_unsaid(bandit: Bandit) -> bool:
    """Does ``before_draw`` change a policy of others that does not say ``notes_draws``? Logs stand on it."""
    one, other = (statefile.clone_state(bandit._state) for _ in range(2))
    half = np.zeros(bandit._n_played)
    half[0] = 1.0
    for outstanding, awake in ((7, EVERYONE), (3, half)):
        before_draw(bandit._params, one, outstanding, awake)
    for state in (one, other):
        before_draw(bandit._params, state, 0, EVERYONE)
    counted = statefile.clone_state(other)
    before_draw(bandit._params, counted, 7, EVERYONE)
    return not (_equal(one, other) and _equal(counted, other))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(one.tobytes() == other.tobytes())
    return all(_equal(a, b) for a, b in zip(one, other, strict=True))


# --- what computes --------------------------------------------------------------------------------------


@functools.cache
def engine() -> str:
    """What decides numbers to the bit: versions, sources, processor; JSON."""
    found = {"bothworlds": __version__, "sources": source_hash()}
    for name in ("numpy", "numba", "llvmlite"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    found["machine"] = platform.machine()
    found["libc"] = " ".join(platform.libc_ver())
    found["features"] = hashlib.sha256(_features().encode()).hexdigest()[:16]
    return json.dumps(found, sort_keys=True)


def _features() -> str:
    """What the processor can do, on which the choice of instructions depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    words = {line for line in lines if line.startswith(("flags", "Features", "model name"))}
    return "\n".join(sorted(words))
