"""``bw.Bandit``: the friendly, stateful face of a policy."""

from __future__ import annotations

import copy
import html
import math
import secrets
import threading
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _changeover, _check, policies, rng, statefile
from bothworlds._version import __version__
from bothworlds._words import counted, plural
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
    init,
    pull_once,
    read_distribution,
    require_policy,
    step,
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
    A bandit starts at once, as plain Python, and changes over to machine code when it is there, with the same
    bits (see :doc:`kernels`).

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

    # kernels, as Python or as machine code (see _changeover)
    _act: Callable[..., tuple[int, int, float, float, float]]
    _learn: Callable[..., int]
    _read: Callable[..., None]

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
        self._pulls = [0] * len(self._arms)
        self._seen = [0] * len(self._arms)
        self._loss_sums = [0.0] * len(self._arms)
        self._word = "reward"  # the user's own: the word of the last update
        self._ready()

    def _ready(self) -> None:
        """What is not part of the state: lock, buffer, kernels."""
        self._lock = threading.RLock()
        self._uniforms = np.empty(self._policy.draws)
        _changeover.start(self, self._kernels(), n_arms=len(self._arms), recipe=self._recipe)

    def _kernels(self) -> _changeover.Kernels:
        """The attributes that are kernels, Python or machine code, with arguments of the right types."""
        return {
            "_act": (pull_once, (self._params, self._state, self._uniforms, 0)),
            "_learn": (update_once, (self._params, self._state, 0, 0.0, 1.0, 0.0)),
            "_read": (read_distribution, (self._params, self._state, np.empty(len(self._arms)))),
        }

    def _recipe(self) -> dict[str, Any]:
        """For another process that compiles these kernels."""
        return {
            "policy": policies.to_dict(self._policy),
            "n_arms": len(self._arms),
            "horizon": self._horizon,
        }

    # --- the loop: pull, update ---------------------------------------------------------------------

    def pull(self) -> Pull:
        """Draw the next arm."""
        with self._lock:
            self._random.random(out=self._uniforms)
            arm, shown, probability, weight, memo = self._act(
                self._params, self._state, self._uniforms, len(self._open)
            )
            if math.isnan(probability):  # dear to compute, and not needed to learn
                probability = weight = self._distribution()[arm]
            self._rounds = number = self._rounds + 1
            pull = Pull(number, self._arms[arm], self._arms[shown], probability, self._id)
            self._open[number] = _Open(pull, arm, shown, weight, memo, self._restarts)
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
            self._seen[record.observe] += 1
            self._loss_sums[record.observe] += unit
            self._word = word

    def _teach(self, record: _Open, unit: float) -> None:
        status = self._learn(self._params, self._state, record.observe, unit, record.weight, record.memo)
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
            self._restarts += 1

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
            return dict(zip(self._arms, self._distribution(), strict=True))

    def _distribution(self) -> list[float]:
        out = np.empty(len(self._arms))
        self._read(self._params, self._state, out)
        return out.tolist()

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self._arms

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
            for i, (label, p) in enumerate(self.probabilities.items()):
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
        return f"{len(self._arms)} arms, {self._policy!r}, {self._rounds}{of} {pulls}{waiting}"

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
                bandit._open[number] = _Open(pull, arm, observe, weight, memo, _restarts(item))
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
            private = {"_lock", "_uniforms", *self._kernels()}
            kept = {name: value for name, value in self.__dict__.items() if name not in private}
            # copies, so that a pickle taken while another thread plays is one moment, not two
            return kept | {
                "_open": dict(self._open),
                "_state": statefile.copy_state(self._state),
                "_random": copy.deepcopy(self._random),
                "_pulls": list(self._pulls),
                "_seen": list(self._seen),
                "_loss_sums": list(self._loss_sums),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()


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
