"""``bw.Bandit``: the friendly, stateful face of a policy."""

from __future__ import annotations

import copy
import html
import math
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check, policies, rng, statefile
from bothworlds._jit import FloatArray
from bothworlds._version import __version__
from bothworlds._words import counted, did_you_mean, plural
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    RepeatedPullError,
    SolverError,
    StateError,
    UnknownPullError,
)
from bothworlds.policies.base import (
    Policy,
    grow,
    init,
    pull_among,
    pull_once,
    read_among,
    read_distribution,
    require_policy,
    retire,
    step,
    update_among,
    update_once,
)
from bothworlds.policies.ftrl.aliases import LightBarrier
from bothworlds.simplex.kernel import FAILED

Label = str | int
SHOWN_ARMS = 20


class Pull(NamedTuple):
    """One decision of a bandit.

    ``arm`` is to be played and ``observe`` is the arm whose loss or reward to give back; they differ only
    for decoupled policies. ``probability`` is that of ``arm`` at the moment of the draw.
    """

    round: int
    arm: Label
    observe: Label
    probability: float
    bandit: str

    def __repr__(self) -> str:
        return (
            f"Pull(round={self.round}, arm={self.arm!r}, observe={self.observe!r}, "
            f"probability={self.probability:.4g})"
        )


class _Open(NamedTuple):
    """What a bandit remembers of a pull until its feedback arrives; arms by their numbers."""

    pull: Pull
    arm: int
    observe: int
    weight: float
    memo: float
    restarts: int


class _Restricted(NamedTuple):
    """The kernels for draws among some arms, and the room they need."""

    act: Callable[..., Any]
    learn: Callable[..., Any]
    before: Any
    p: FloatArray


class Bandit:
    """Choose among arms, learn from what comes back, whatever the world is like.

    Parameters
    ----------
    arms:
        The number of arms (labeled 0, 1, …), or their labels: distinct strings or integers.
    policy:
        Any policy; None is :class:`LightBarrier`, the recommended one.
    horizon:
        How many pulls there will be, if known; None if not. Pulling on beyond it is allowed, but what a
        policy promises then ends at the horizon.
    seed:
        A non-negative integer for a reproducible bandit; None for fresh randomness.
    low, high:
        The range of the losses or rewards that you will report.

    Notes
    -----
    Feedback may be late, out of order, or never come. Each pull keeps the probability it was drawn with and
    may be updated once. A bandit learns only from updates: two pulls in a row without feedback are two
    draws from the same distribution. All methods may be called from several threads.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
    >>> pull = bandit.pull()
    >>> pull
    Pull(round=1, arm='green', observe='green', probability=0.3333)
    >>> bandit.update(pull, reward=1.0)
    >>> {arm: round(p, 3) for arm, p in bandit.probabilities.items()}
    {'blue': 0.288, 'green': 0.425, 'red': 0.288}
    """

    def __init__(
        self,
        arms: int | Sequence[Label],
        policy: Policy | None = None,
        *,
        horizon: int | None = None,
        seed: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        self._arms = _labels(arms)
        self._policy = LightBarrier() if policy is None else require_policy(policy)
        self._params = self._policy.resolve(len(self._arms), horizon)
        self._horizon = None if horizon is None else int(horizon)
        self._low = _check.number("low", low)
        self._high = _check.number("high", high, above=self._low, fix="high must exceed low")
        _check.number("high - low", self._high - self._low, fix="give a narrower range")
        self._random = rng.stream(seed)
        self._state = init(self._params)
        self._id = secrets.token_hex(8)
        self._rounds = 0
        self._restarts = 0
        self._open: dict[int, _Open] = {}
        self._disabled: set[int] = set()
        self._retired: set[int] = set()
        self._awake_at: dict[int, FloatArray] = {}  # of open pulls at which not all of today's arms were
        self._pulls = [0] * len(self._arms)
        self._seen = [0] * len(self._arms)
        self._loss_sums = [0.0] * len(self._arms)
        self._word = "reward"  # the user's own: the word of the last update
        self._ready()

    def _ready(self) -> None:
        """What is not part of the state: lock, buffers, compiled kernels, who is awake."""
        self._lock = threading.RLock()
        self._bind()
        self._awake = self._enabled()

    def _bind(self) -> None:
        """The kernels for this number of arms, and their buffers."""
        self._uniforms = np.empty(self._policy.draws)
        self._act = pull_once.bind(self._params, self._state, self._uniforms, 0)
        self._learn = update_once.bind(self._params, self._state, 0, 0.0, 1.0, 0.0)
        self._restricted: _Restricted | None = None  # made when it is first needed
        self._number: dict[Label, int] = {}  # likewise: of each label

    # --- the loop: pull, update ---------------------------------------------------------------------

    def pull(self, *, among: Iterable[Label] | None = None) -> Pull:
        """Draw the next arm.

        Parameters
        ----------
        among:
            The arms that can be played this time, of which those disabled are left out; None: all. See
            :meth:`disable` for what is promised.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
        >>> bandit.pull(among=["blue", "red"])
        Pull(round=1, arm='blue', observe='blue', probability=0.5)
        """
        with self._lock:
            awake = self._awake if among is None else self._mask(self._numbers("among", among))
            self._random.random(out=self._uniforms)
            if awake is None:
                arm, shown, probability, weight, memo = self._act(
                    self._params, self._state, self._uniforms, len(self._open)
                )
            else:
                kernels = self._among()
                arm, probability, memo = kernels.act(
                    self._params, self._state, self._uniforms, len(self._open), awake, kernels.p
                )
                shown, weight = arm, probability
            if math.isnan(probability):  # dear to compute, and not needed to learn
                probability = weight = self._distribution()[arm]
            self._rounds = number = self._rounds + 1
            pull = Pull(number, self._arms[arm], self._arms[shown], probability, self._id)
            self._open[number] = _Open(pull, arm, shown, weight, memo, self._restarts)
            if awake is not None:
                self._awake_at[number] = awake
            self._pulls[arm] += 1
            return pull

    def update(self, pull: Pull, *, reward: float | None = None, loss: float | None = None) -> None:
        """Report the reward or the loss of ``pull.observe``; any outstanding pull, in any order, once."""
        if (reward is None) == (loss is None):
            got = "neither" if reward is None else "both"
            raise InvalidArgumentError("reward", reward, "given, or loss, and not both", got=got)
        with self._lock:
            record = self._find(pull)
            if loss is None:
                word, unit = "reward", (self._high - self._value("reward", reward)) / (self._high - self._low)
            else:
                word, unit = "loss", (self._value("loss", loss) - self._low) / (self._high - self._low)
            if record.restarts == self._restarts:
                self._teach(record, unit)
            del self._open[pull.round]
            self._awake_at.pop(pull.round, None)
            self._seen[record.observe] += 1
            self._loss_sums[record.observe] += unit
            self._word = word

    def _teach(self, record: _Open, unit: float) -> None:
        feedback = record.observe, unit, record.weight, record.memo
        awake = self._awake_at.get(record.pull.round) if self._awake_at else None
        if awake is None:
            status = self._learn(self._params, self._state, *feedback)
        else:
            kernels = self._among()
            status = kernels.learn(self._params, self._state, kernels.before, *feedback, awake)
        if status == FAILED:
            raise SolverError(
                f"{self._policy!r} found no solution after {record.pull!r}; go back to a saved state, "
                "and please report this"
            )

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
            for number in self._retired:
                retire(self._params, self._state, number)
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
            (number,) = self._numbers("arm", [arm])
            self._set_asleep(self._disabled | {number}, self._retired, arm)

    def enable(self, arm: Label) -> None:
        """Wake an arm that was disabled, with all that is known of it; harmless for one that is awake.

        Parameters
        ----------
        arm:
            One of ``bandit.arms``.
        """
        with self._lock:
            (number,) = self._numbers("arm", [arm])
            self._set_asleep(self._disabled - {number}, self._retired, arm)

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
            self._require_changing_arms()
            (label,) = _labels([arm])
            if label in self._arms:
                got = f"{arm!r}, which has retired" if label in self.retired else f"{arm!r}, which is there"
                raise InvalidArgumentError("arm", arm, "a new label", got=got, fix="choose another one")
            params = self._policy.resolve(len(self._arms) + 1, self._horizon)
            self._state = grow(params, self._state)
            self._params = params
            everyone = np.ones(len(self._arms))
            self._awake_at = {
                number: np.append(self._awake_at.get(number, everyone), 0.0) for number in self._open
            }
            self._arms = (*self._arms, label)
            self._pulls.append(0)
            self._seen.append(0)
            self._loss_sums.append(0.0)
            self._bind()
            self._awake = self._enabled()

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
            (number,) = self._numbers("arm", [arm])
            self._set_asleep(self._disabled - {number}, self._retired | {number}, arm)
            retire(self._params, self._state, number)

    def _set_asleep(self, disabled: set[int], retired: set[int], arm: Label) -> None:
        self._require_changing_arms()
        if len(disabled) + len(retired) == len(self._arms):
            raise InvalidArgumentError(
                "arm",
                arm,
                "an arm beside which another is enabled",
                got=f"{arm!r}, the last one",
                fix="enable or add another first",
            )
        self._disabled, self._retired = disabled, retired
        self._awake = self._enabled()

    def _enabled(self) -> FloatArray | None:
        """Who is awake when nothing else is asked for."""
        return self._mask(range(len(self._arms))) if self._disabled or self._retired else None

    def _numbers(self, name: str, arms: Iterable[Label]) -> list[int]:
        """The numbers of these arms, none of them retired."""
        if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable):
            fix = f"write [{arms!r}]"
            raise InvalidArgumentError(name, arms, "a sequence of arms", fix=fix)
        found = []
        for arm in arms:
            number = self._number_of(arm)
            if number is None or number in self._retired:
                fix = "it has retired" if number is not None else did_you_mean(str(arm), map(str, self.arms))
                raise InvalidArgumentError(name, arm, "an arm of this bandit", fix=fix)
            found.append(number)
        return found

    def _number_of(self, arm: Label) -> int | None:
        if not self._number:
            self._number = {label: i for i, label in enumerate(self._arms)}
        try:
            return self._number.get(arm)
        except TypeError:
            return None  # what cannot be a label

    def _mask(self, numbers: Iterable[int]) -> FloatArray | None:
        """1 for those of these arms that are enabled, 0 for others; None if all arms are awake."""
        chosen = set(numbers) - self._disabled - self._retired
        if len(chosen) == len(self._arms):
            return None
        self._require_changing_arms()
        if not chosen:
            raise InvalidArgumentError(
                "among",
                [],
                "at least one arm that is enabled",
                got="none",
                fix="enable one, or ask for others",
            )
        awake = np.zeros(len(self._arms))
        awake[list(chosen)] = 1.0
        return awake

    def _require_changing_arms(self) -> None:
        if self._policy.fixed_arms is not None:
            able = sorted(kind.__name__ for kind in Policy.registry.values() if kind.fixed_arms is None)
            raise InvalidArgumentError(
                "policy",
                self._policy,
                "one whose arms can change",
                got=f"{self._policy!r}: {self._policy.fixed_arms}",
                fix=f"these can: {', '.join(able)}",
            )

    def _among(self) -> _Restricted:
        """What is needed where not all arms are awake."""
        if self._restricted is None:
            p, before = np.empty(len(self._arms)), statefile.copy_state(self._state)
            self._restricted = _Restricted(
                pull_among.bind(self._params, self._state, self._uniforms, 0, p, p),
                update_among.bind(self._params, self._state, before, 0, 0.0, 1.0, 0.0, p),
                before,
                p,
            )
        return self._restricted

    def _asleep_at(self, number: int) -> list[int]:
        """The numbers of the arms that were asleep at an open pull."""
        awake = self._awake_at.get(number)
        return [] if awake is None else [int(i) for i in np.flatnonzero(awake == 0.0)]

    @property
    def disabled(self) -> tuple[Label, ...]:
        """The labels of the arms that are disabled."""
        return tuple(self._arms[number] for number in sorted(self._disabled))

    @property
    def retired(self) -> tuple[Label, ...]:
        """The labels of the arms that have retired."""
        return tuple(self._arms[number] for number in sorted(self._retired))

    def _value(self, name: str, value: Any) -> float:
        if type(value) is float and self._low <= value <= self._high:  # the common case, without ceremony
            return value
        fix = "give the range as Bandit(..., low=..., high=...)"
        return _check.number(name, value, at_least=self._low, at_most=self._high, fix=fix)

    def _find(self, pull: Pull) -> _Open:
        if not isinstance(pull, Pull):
            raise InvalidArgumentError("pull", pull, "what Bandit.pull() returned")
        if pull.bandit != self._id:
            raise ForeignPullError(f"{pull!r} was made by another bandit; update that one")
        record = self._open.get(pull.round)
        if record is not None and record.pull == pull:
            return record
        if record is None and isinstance(pull.round, int) and 1 <= pull.round <= self._rounds:
            raise RepeatedPullError(f"{pull!r} has had its feedback; each pull is updated once")
        raise UnknownPullError(
            f"{pull!r} was never made by this bandit, which has made {counted(self._rounds, 'pull')}; "
            "a copy, or one that was loaded from an older state, makes pulls of its own"
        )

    # --- what it knows ------------------------------------------------------------------------------

    @property
    def probabilities(self) -> dict[Label, float]:
        """The distribution that the next pull is drawn from."""
        with self._lock:
            p = self._distribution()
            return {label: p[i] for i, label in enumerate(self._arms) if i not in self._retired}

    def _distribution(self) -> list[float]:
        out = np.empty(len(self._arms))
        if self._awake is None:
            read_distribution(self._params, self._state, out)
        else:
            read_among(self._params, self._state, self._awake, out)
        return out.tolist()

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms, without those that have retired."""
        if not self._retired:
            return self._arms
        return tuple(label for i, label in enumerate(self._arms) if i not in self._retired)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def horizon(self) -> int | None:
        """The horizon that was given."""
        return self._horizon

    @property
    def rounds(self) -> int:
        """How many pulls have been made."""
        return self._rounds

    @property
    def outstanding(self) -> tuple[Pull, ...]:
        """The pulls that wait for feedback, oldest first."""
        with self._lock:
            return tuple(record.pull for record in self._open.values())

    def _rows(self) -> list[tuple[str, float, int, str]]:
        """Label, probability, pulls and mean of what was seen, likeliest arms first."""
        rows = []
        span = self._high - self._low
        with self._lock:
            probabilities = self.probabilities
            for i, label in enumerate(self._arms):
                if i in self._retired:
                    continue
                p = probabilities[label]
                mean = "–"
                if self._seen[i]:
                    unit = self._loss_sums[i] / self._seen[i]
                    value = self._high - span * unit if self._word == "reward" else self._low + span * unit
                    mean = f"{value:.4g}"
                rows.append((str(label), p, self._pulls[i], mean))
        return sorted(rows, key=lambda row: -row[1])

    def _headline(self) -> str:
        of = f" of {self._horizon}" if self._horizon is not None else ""
        waiting = f", {len(self._open)} outstanding" if self._open else ""
        pulls = plural(self._horizon or self._rounds, "pull")
        return f"{len(self.arms)} arms, {self._policy!r}, {self._rounds}{of} {pulls}{waiting}"

    def __repr__(self) -> str:
        label, p, *_ = self._rows()[0]
        return f"<Bandit: {self._headline()}; likeliest next: {label} ({p:.1%})>"

    def __str__(self) -> str:
        rows = self._rows()
        width = max(3, *(len(row[0]) for row in rows[:SHOWN_ARMS]))
        lines = [f"Bandit: {self._headline()}", f"{'arm':<{width}}  next pull    pulls  mean {self._word}"]
        for label, p, pulls, mean in rows[:SHOWN_ARMS]:
            lines.append(f"{label:<{width}}  {p:>9.2%}  {pulls:>7}  {mean:>{5 + len(self._word)}}")
        if len(rows) > SHOWN_ARMS:
            lines.append(f"… and {counted(len(rows) - SHOWN_ARMS, 'more arm')}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self._rows()
        body = "".join(
            f"<tr><td>{html.escape(label)}</td><td>{p:.2%}</td><td>{pulls}</td><td>{mean}</td></tr>"
            for label, p, pulls, mean in rows[:SHOWN_ARMS]
        )
        more = f"<p>… and {counted(len(rows) - SHOWN_ARMS, 'more arm')}</p>" if len(rows) > SHOWN_ARMS else ""
        return (
            f"<p><b>Bandit</b>: {html.escape(self._headline())}</p>"
            f"<table><thead><tr><th>arm</th><th>next pull</th><th>pulls</th><th>mean {self._word}</th></tr>"
            f"</thead><tbody>{body}</tbody></table>{more}"
        )

    # --- keeping it ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, in plain JSON types, exact to the bit: state, random stream, outstanding pulls."""
        with self._lock:
            return {
                "format": statefile.FORMAT,
                "version": statefile.VERSION,
                "bothworlds": __version__,
                "bandit": self._id,
                "arms": list(self._arms),
                "disabled": sorted(self._disabled),
                "retired": sorted(self._retired),
                "policy": policies.to_dict(self._policy),
                "horizon": self._horizon,
                "low": self._low,
                "high": self._high,
                "word": self._word,
                "rounds": self._rounds,
                "restarts": self._restarts,
                "pulls": list(self._pulls),
                "seen": list(self._seen),
                "loss_sums": list(self._loss_sums),
                "outstanding": [
                    {
                        "round": number,
                        "arm": record.arm,
                        "probability": record.pull.probability,
                        "observe": record.observe,
                        "weight": record.weight,
                        "memo": record.memo,
                        "restarts": record.restarts,
                        "asleep": self._asleep_at(number),
                    }
                    for number, record in self._open.items()
                ],
                "random": rng.to_dict(self._random),
                "state": statefile.pack(self._state),
            }

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, policy: Policy | None = None) -> Bandit:
        """The bandit that :meth:`to_dict` described. ``policy``, where given, must be the saved one."""
        statefile.check_header(data)
        try:
            saved = policies.from_dict(data["policy"])
            if policy is not None and require_policy(policy) != saved:
                raise StateError(f"the saved bandit plays {saved!r}, not {policy!r}")
            bandit = cls(data["arms"], saved, horizon=data["horizon"], low=data["low"], high=data["high"])
            n = len(bandit._arms)
            bandit._id = statefile.text(data, "bandit")
            bandit._word = statefile.text(data, "word")
            _check.one_of("word", bandit._word, ("reward", "loss"))
            bandit._rounds = _check.integer("rounds", data["rounds"], at_least=0)
            bandit._restarts = _restarts(data)
            bandit._pulls = statefile.counts(data, "pulls", n)
            bandit._seen = statefile.counts(data, "seen", n)
            bandit._loss_sums = _check.vector("loss_sums", data["loss_sums"], size=n, at_least=0.0).tolist()
            asleep = {name: set(_numbers(name, data.get(name, []), n)) for name in ("disabled", "retired")}
            if any(asleep.values()):
                bandit._set_asleep(asleep["disabled"] - asleep["retired"], asleep["retired"], "")
            bandit._random = rng.from_dict(data["random"])
            bandit._state = statefile.unpack(bandit._state, data["state"], version=data["version"])
            if data["version"] == 1:
                step(bandit._params, bandit._state)
            p = list(bandit.probabilities.values())
            if not (min(p) >= 0.0 and abs(sum(p) - 1.0) < 1e-6):
                raise StateError("the saved state holds no distribution: probabilities must sum to 1")
            for item in data["outstanding"]:
                arm, observe = _check.indices("outstanding", [item["arm"], item["observe"]], below=n).tolist()
                number = _check.integer("outstanding round", item["round"], at_least=1)
                if number > bandit._rounds or number in bandit._open:
                    raise StateError(
                        f"outstanding round {number} is beyond pull {bandit._rounds}, the last one, or twice"
                    )
                probability = _check.number("probability", item["probability"], above=0.0, at_most=1.0)
                weight = _check.number("weight", item["weight"], above=0.0, at_most=1.0)
                pull = Pull(number, bandit._arms[arm], bandit._arms[observe], probability, bandit._id)
                memo = _check.number("memo", item["memo" if data["version"] > 1 else "epoch"], at_least=0.0)
                awake = np.ones(n)
                awake[_numbers("asleep", item.get("asleep", []), n)] = 0.0
                if awake[observe] == 0.0:
                    raise StateError(f"outstanding round {number} has an arm that was asleep")
                bandit._open[number] = _Open(pull, arm, observe, weight, memo, _restarts(item))
                if not awake.all():
                    bandit._awake_at[number] = awake
        except KeyError as error:
            raise StateError(f"the saved state lacks {error}; it is incomplete") from None
        except (InvalidArgumentError, TypeError) as error:
            raise StateError(f"the saved state cannot be restored: {error}") from error
        return bandit

    def save(self, path: str | PathLike[str]) -> None:
        """Write the bandit to a JSON file, whole or not at all."""
        statefile.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | PathLike[str], *, policy: Policy | None = None) -> Bandit:
        """Read a bandit that :meth:`save` wrote. ``policy``, where given, must be the saved one."""
        return cls.from_dict(statefile.read(path), policy=policy)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            private = {"_lock", "_uniforms", "_act", "_learn", "_restricted", "_number", "_awake"}
            kept = {name: value for name, value in self.__dict__.items() if name not in private}
            # copies, so that a pickle taken while another thread plays is one moment, not two
            return kept | {
                "_open": dict(self._open),
                "_awake_at": dict(self._awake_at),
                "_disabled": set(self._disabled),
                "_retired": set(self._retired),
                "_state": statefile.copy_state(self._state),
                "_random": copy.deepcopy(self._random),
                "_pulls": list(self._pulls),
                "_seen": list(self._seen),
                "_loss_sums": list(self._loss_sums),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()


def _numbers(name: str, values: Any, n_arms: int) -> list[int]:
    """The numbers of arms in a saved state."""
    return [int(number) for number in _check.indices(name, values, below=n_arms)]


def _restarts(data: dict[str, Any]) -> int:
    """How often the bandit, or that of a pull, had been restarted; older files know of no restarts."""
    return _check.integer("restarts", data.get("restarts", 0), at_least=0)


def _labels(arms: int | Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(arms, (str, bytes)):
        raise InvalidArgumentError(
            "arms", arms, "a number or a sequence of labels", fix=f"write [{arms!r}, ...]"
        )
    if isinstance(arms, (int, np.integer)) or np.ndim(arms) == 0:
        return tuple(
            range(_check.integer("arms", arms, at_least=1, fix="give at least one arm, or a list of labels"))
        )
    labels = [int(label) if isinstance(label, np.integer) else label for label in arms]
    if not labels:
        raise InvalidArgumentError("arms", arms, "at least one label", got="an empty sequence")
    seen: set[Label] = set()
    for i, label in enumerate(labels):
        if not isinstance(label, (str, int)) or isinstance(label, bool) or label == "":
            raise InvalidArgumentError("arms", label, "a non-empty string or an integer", index=(i,))
        if label in seen:
            raise InvalidArgumentError("arms", arms, "distinct", got=f"{label!r} twice")
        seen.add(label)
    return tuple(labels)
