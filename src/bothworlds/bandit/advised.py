"""``bw.Advised``: a bandit that learns which of several experts to trust."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np

from bothworlds import _check, rng, statefile
from bothworlds._jit import FloatArray
from bothworlds._version import __version__
from bothworlds._words import counted
from bothworlds.bandit.experts import Experts
from bothworlds.bandit.feedback import Range
from bothworlds.bandit.forks import survive_forks
from bothworlds.bandit.pull import Label, Pull, bandit_prefix, instance_and_round, labels_of, new_instance_id
from bothworlds.bandit.trust import METHODS, trust_of
from bothworlds.errors import (
    ForeignPullError,
    InvalidArgumentError,
    PullError,
    RepeatedPullError,
    SolverError,
    StateError,
    UnknownPullError,
)
from bothworlds.policies.base import draw
from bothworlds.simplex.kernel import FAILED

FORMAT = "bothworlds-advised"
VERSION = 1


class OpenAdvice(NamedTuple):
    """What is remembered of a pull until its feedback comes."""

    arm: int
    probability: float
    advice: tuple[float, ...]
    """The probability of this arm in the advice of each expert."""


class Advised:
    """A bandit with experts: each recommends arms for a context, and it learns whom to trust.

    Expert i of N recommends a distribution φ_i over the M arms. With the trust q, one over the experts, arm
    J is drawn from P = Σ_i q_i·φ_i, and its loss ℓ tells what each advice would have cost,

        ℓ̂_i = ℓ·φ_{i,J}/P_J,

    which has mean <φ_i, ℓ>. The sums L of these are all that is learned. Regret is against the best expert.

    - ``method="exp4"``: q_i ∝ exp(−η_t·L_i), η_t = √(log N/(M·t)). *Proved:* adversarial regret of at most
      2√(M·T·log N); nothing better in stochastic worlds.
    - ``method="spm"``: stability–penalty matching, the rule of :class:`MatchedTsallis` with
      z_t = M·q_*^{1−α}/(1−α), q_* = min{max q, 1 − max q} and α = 1 − 1/(4·log N), and with light constants
      (β_1 = 1, β̄ = 0, half of z), for which nothing is proved.
    - ``method="spm-paper"``: the same with β_1 = 8N/(1−α) and β̄ = 32M/((1−α)²·β_1). *Proved:* adversarial
      O(√(M·T·log N)), and O(M·log N·log T/Δ) in stochastic worlds, if one expert alone is best, by Δ.

    Parameters
    ----------
    experts:
        By their names, or a list (they are called 0, 1, … then). An expert is a function of the context; a
        model with ``predict_proba`` or ``predict``, whose classes are arms and which is given ``[context]``;
        a mapping from contexts; or a :class:`Bandit`, which recommends its ``probabilities``. What a function
        or a mapping gives is an arm, ``{arm: probability}``, or a probability for each arm, in their order.
    arms:
        A number of arms, or their labels.
    method:
        As above. EXP4 had less regret in what we measured (docs/advice.md).
    seed:
        For draws that can be repeated.
    low, high, clip:
        The range of rewards, as in :class:`Bandit`.

    Notes
    -----
    Experts are asked once for a pull, and not again when feedback comes, which may be late, out of order, or
    never; the theorems are for feedback that comes before the next pull. Rates follow the trust in force when
    feedback is learned. Experts that learn do so elsewhere: they are told nothing here. Threads can share it;
    experts are asked outside its lock.

    A round takes O(N·M), and the experts' own time.

    Examples
    --------
    >>> import bothworlds as bw
    >>> experts = {
    ...     "by country": {"fr": "wine", "de": "beer"},
    ...     "popular": lambda country: {"wine": 0.3, "beer": 0.7},
    ... }
    >>> bandit = bw.Advised(experts, ["wine", "beer"], seed=7)
    >>> for i in range(200):
    ...     country = ["fr", "de"][i % 2]
    ...     pull = bandit.pull(country)
    ...     bandit.update(pull, reward=pull.arm == {"fr": "wine", "de": "beer"}[country])
    >>> {name: round(q, 2) for name, q in bandit.trust.items()}
    {'by country': 0.95, 'popular': 0.05}

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire: The Nonstochastic Multiarmed Bandit Problem. SIAM
    Journal on Computing 2002 (EXP4).
    S. Ito, T. Tsuchiya, J. Honda: Adaptive Learning Rate for Follow-the-Regularized-Leader: Competitive
    Analysis and Best-of-Both-Worlds. COLT 2024 (Theorem 29).
    """

    def __init__(
        self,
        experts: Mapping[Label, Any] | Sequence[Any],
        arms: int | Sequence[Label],
        *,
        method: Literal["exp4", "spm", "spm-paper"] = "exp4",
        seed: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        clip: bool = False,
    ) -> None:
        self._arms = labels_of(arms)
        self._experts = Experts(experts, self._arms)
        _check.one_of("method", method, METHODS)
        self._method = method
        self._range = Range.of(low, high, clip)
        self._trust = trust_of(method, len(self._experts), len(self._arms))
        self._state = self._trust.begin()
        self._rounds = 0
        self._open: dict[str, OpenAdvice] = {}  # by the ids of pulls
        self._random = rng.stream(seed)
        self._id = secrets.token_hex(8)
        self._ready()

    def _ready(self) -> None:
        """What is not part of the state: lock and id of this instance."""
        self._lock, self._forks = threading.RLock(), 0
        self._instance = new_instance_id(self._id)
        survive_forks(self)

    # --- the loop: pull, update -----------------------------------------------------------------------

    def pull(self, context: Any = None) -> Pull:
        """Ask all experts about ``context``, and draw an arm.

        Advice that is no distribution is refused, by the name of the expert, before anything is drawn.
        """
        advice = self._experts.ask(context)
        with self._lock:
            p = self._mixed(advice)
            arm = draw(p, self._random.random())
            self._rounds += 1
            label = self._arms[arm]
            pull = Pull(self._rounds, label, label, float(p[arm]), self._instance)
            self._open[pull.id] = OpenAdvice(arm, pull.probability, tuple(advice[:, arm].tolist()))
        return pull

    def update(self, pull: Pull | str, *, reward: float | None = None, loss: float | None = None) -> None:
        """Report the reward or the loss of a pull, or of its id; any outstanding pull, in any order, once."""
        if (reward is None) == (loss is None):
            got = "neither" if reward is None else "both"
            raise InvalidArgumentError("reward", reward, "given, or loss, and not both", got=got)
        kind, value = ("reward", reward) if loss is None else ("loss", loss)
        with self._lock:
            name, drawn = self._find(pull)
            estimates = np.array(drawn.advice) * (self._range.take(kind, value) / drawn.probability)
            state = statefile.clone_state(self._state)
            if self._trust.learn(state, estimates) == FAILED:
                raise SolverError(f"no solution was found for {pull!r}, which stays open: please report it")
            self._state = state
            del self._open[name]

    def forget(self, pull: Pull | str) -> None:
        """Close a pull without learning, because its arm was never shown."""
        with self._lock:
            name, _ = self._find(pull)
            del self._open[name]

    def probabilities(self, context: Any = None) -> dict[Label, float]:
        """The distribution that an arm would be drawn from; changes nothing.

        A function of the context, so that it can be an expert in its turn.
        """
        advice = self._experts.ask(context)
        with self._lock:
            return dict(zip(self._arms, self._mixed(advice).tolist(), strict=True))

    def _mixed(self, advice: FloatArray) -> FloatArray:
        p: FloatArray = self._state.q @ advice
        p /= p.sum()
        return p

    def _find(self, pull: Pull | str) -> tuple[str, OpenAdvice]:
        instance, number = instance_and_round(pull)
        name = f"{instance}-{number}"
        if name in self._open:
            return name, self._open[name]
        if instance.rpartition("-")[0] != bandit_prefix(self._id):
            raise ForeignPullError(f"{pull!r} was made by another bandit; update that one")
        if instance == self._instance and 1 <= number <= self._rounds:
            raise RepeatedPullError(
                f"{pull!r} has had its feedback, or was forgotten; each pull is updated once"
            )
        raise UnknownPullError(
            f"{pull!r} is not open in this bandit, which has made {counted(self._rounds, 'pull')}: it has "
            "had its feedback, or it was made by a copy, or by one that was loaded from an older state"
        )

    # --- what it knows --------------------------------------------------------------------------------

    @property
    def trust(self) -> dict[Label, float]:
        """The trust in each expert: probabilities, which sum to 1."""
        return dict(zip(self._experts.names, self._state.q.tolist(), strict=True))

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self._arms

    @property
    def method(self) -> str:
        """How trust is learned."""
        return self._method

    @property
    def rounds(self) -> int:
        """The number of pulls."""
        return self._rounds

    @property
    def outstanding(self) -> tuple[str, ...]:
        """The ids of the pulls that wait for feedback, oldest first."""
        with self._lock:
            return tuple(self._open)

    def __repr__(self) -> str:
        experts, arms = counted(len(self._experts), "expert"), counted(len(self._arms), "arm")
        return f"<Advised: {experts}, {arms}, {self._method}, {counted(self._rounds, 'pull')}>"

    # --- keeping --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All but the experts, of whom it has the names, in plain JSON types; exact to the bit."""
        with self._lock:
            return {
                "format": FORMAT,
                "version": VERSION,
                "bothworlds": __version__,
                "bandit": self._id,
                "experts": list(self._experts.names),
                "arms": list(self._arms),
                "method": self._method,
                **self._range._asdict(),
                "rounds": self._rounds,
                "outstanding": [{"id": name} | drawn._asdict() for name, drawn in self._open.items()],
                "random": rng.to_dict(self._random),
                "state": statefile.pack(self._state),
            }

    @classmethod
    def from_dict(cls, data: dict[str, Any], experts: Mapping[Label, Any] | Sequence[Any]) -> Advised:
        """What :meth:`to_dict` described, with its experts, which must have the same names."""
        if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
            found = (
                f"{data.get('format')!r}, {data.get('version')!r}" if isinstance(data, dict) else repr(data)
            )
            raise StateError(f"expected format {FORMAT!r} of version {VERSION}, found {found}")
        try:
            options = {name: data[name] for name in ("method", "low", "high", "clip")}
            bandit = cls(experts, labels_of(data["arms"]), **options)
            names = labels_of(data["experts"])
            if bandit._experts.names != names:
                raise StateError(f"the saved experts are {names}, in this order, not {bandit._experts.names}")
            bandit._id = statefile.text(data, "bandit")
            bandit._rounds = _check.integer("rounds", data["rounds"], at_least=0)
            bandit._random = rng.from_dict(data["random"])
            bandit._state = statefile.unpack(bandit._state, data["state"])
            q = bandit._state.q
            if not (q.min() >= 0.0 and abs(q.sum() - 1.0) < 1e-6):
                raise StateError("the saved state holds no distribution: trust must sum to 1")
            bandit._open = dict(bandit._reopened(item) for item in data["outstanding"])
            bandit._instance = new_instance_id(bandit._id)
        except KeyError as error:
            raise StateError(f"the saved state lacks {error}; it is incomplete") from None
        except (InvalidArgumentError, PullError, TypeError) as error:
            raise StateError(f"the saved state cannot be restored: {error}") from error
        return bandit

    def _reopened(self, item: dict[str, Any]) -> tuple[str, OpenAdvice]:
        instance, number = instance_and_round(item["id"])
        (arm,) = _check.indices("outstanding", [item["arm"]], below=len(self._arms)).tolist()
        probability = _check.number("probability", item["probability"], above=0.0, at_most=1.0)
        size = len(self._experts)
        advice = _check.vector("advice", item["advice"], size=size, at_least=0.0, at_most=1.0)
        return f"{instance}-{number}", OpenAdvice(arm, probability, tuple(advice.tolist()))

    def save(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_dict` to a JSON file, whole or not at all."""
        statefile.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | PathLike[str], experts: Mapping[Label, Any] | Sequence[Any]) -> Advised:
        """Read what :meth:`save` wrote; ``experts`` as in :meth:`from_dict`."""
        try:
            return cls.from_dict(statefile.read(path), experts)
        except StateError as error:
            raise StateError(f"{path} cannot be loaded: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            private = ("_lock", "_forks")
            attributes = {name: value for name, value in self.__dict__.items() if name not in private}
            return attributes | {
                "_open": dict(self._open),
                "_state": statefile.clone_state(self._state),
                "_random": rng.from_dict(rng.to_dict(self._random)),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def _continue_in_child(self, fork: int) -> None:
        """In the child of a fork: ids and draws that neither the parent has nor its other children."""
        self._random = rng.branch(self._random, fork)
        self._instance = new_instance_id(self._id)
