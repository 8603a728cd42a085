"""A decision, its id, and the labels of arms."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError, UnknownPullError

Label: TypeAlias = str | int | float | tuple[Any, ...]
Entry = TypeVar("Entry")


class Pull(NamedTuple):
    """One decision of a bandit.

    ``arm`` is to be played and ``observe`` is the arm whose loss or reward to give back; they differ only
    for decoupled policies. ``probability`` is that of ``arm`` at the moment of the draw.

    A pull can wait elsewhere for its feedback: keep ``id``, a short string, and give it to
    :meth:`Bandit.update`, or send :meth:`to_dict` through JSON or a database. The id alone says which pull
    it is, so that a probability rounded on the way does no harm. No id is given twice, whatever is copied,
    loaded from an older file or forked.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
    >>> pull = bandit.pull()
    >>> record = pull.to_dict()
    >>> record["arm"], round(record["probability"], 3), record["id"] == pull.id
    ('green', 0.333, True)
    >>> bw.Pull.from_dict(record) == pull
    True
    >>> bandit.update(pull.id, reward=1.0)
    """

    round: int
    arm: Label
    observe: Label
    probability: float
    bandit: str
    """The instance that made it: its bandit, and which copy of it. One that is copied, loaded or forked is
    another instance of the same bandit."""

    @property
    def id(self) -> str:
        """What names this pull among all pulls of all bandits."""
        return f"{self.bandit}-{self.round}"

    @property
    def arms(self) -> tuple[Label, ...]:
        """All arms to be played, where a bandit chooses several; here one."""
        return (self.arm,)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """For each of ``arms``, the probability of being chosen."""
        return (self.probability,)

    def to_dict(self) -> dict[str, Any]:
        """Id, arm, observe and probability, in plain JSON types."""
        return {
            "id": self.id,
            "arm": self.arm,
            "observe": self.observe,
            "probability": self.probability,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pull:
        """The pull that :meth:`to_dict` described."""
        try:
            bandit, number = parts_of(data["id"])
            if "arms" in data:
                labels = tuple(map(label_of, data["arms"])), tuple(map(label_of, data["observe"]))
                return PullOfSeveral.of(number, *labels, tuple(map(float, data["probabilities"])), bandit)
            arm, observe = label_of(data["arm"]), label_of(data["observe"])
            return cls(number, arm, observe, float(data["probability"]), bandit)
        except (AttributeError, KeyError, TypeError, ValueError):
            wanted = "what Pull.to_dict() gave: a dict with id, arm, observe and probability"
            raise InvalidArgumentError("data", data, wanted) from None

    def __repr__(self) -> str:
        return (
            f"Pull(round={self.round}, arm={self.arm!r}, observe={self.observe!r}, "
            f"probability={self.probability:.4g})"
        )


class PullOfSeveral(Pull):
    """One decision of a bandit that chooses several arms, or is shown several outcomes.

    ``arms`` are to be played, with ``probabilities`` of being chosen; ``observe`` are the arms whose losses
    or rewards to give back, in that order or by their labels.
    """

    __slots__ = ()

    @classmethod
    def of(
        cls,
        number: int,
        arms: tuple[Label, ...],
        observe: tuple[Label, ...],
        probabilities: tuple[float, ...],
        bandit: str,
    ) -> PullOfSeveral:
        """Tuples in the places of an arm and of its probability."""
        return cls._make((number, arms, observe, probabilities, bandit))

    @property
    def arms(self) -> tuple[Label, ...]:
        """The arms to be played, in the order of the bandit's."""
        return self[1]  # type: ignore[return-value]  # the place of ``arm``

    @property
    def probabilities(self) -> tuple[float, ...]:
        """For each of ``arms``, the probability of being chosen."""
        return self[3]  # type: ignore[return-value]  # the place of ``probability``

    @property
    def arm(self) -> Label:
        """The arm, where there is one."""
        return self._only("arm", self.arms)

    @property
    def probability(self) -> float:
        """The probability of the arm, where there is one."""
        return self._only("probability", self.probabilities, "probabilities")

    def _only(self, name: str, values: tuple[Entry, ...], all_of_them: str = "arms") -> Entry:
        if len(values) != 1:
            raise AttributeError(f"a pull of {len(values)} arms has no {name}: see pull.{all_of_them}")
        return values[0]

    def to_dict(self) -> dict[str, Any]:
        """Id, arms, observe and probabilities, in plain JSON types."""
        _, arms, observe, probabilities, _ = tuple[Any, ...](self)
        return {
            "id": self.id,
            "arms": list(arms),
            "observe": list(observe),
            "probabilities": list(probabilities),
        }

    def __repr__(self) -> str:
        shown = "" if self.observe == self.arms else f"observe={self.observe!r}, "
        p = ", ".join(f"{value:.4g}" for value in self.probabilities)
        return f"Pull(round={self.round}, arms={self.arms!r}, {shown}probabilities=({p}))"


# --- ids: <bandit>-<instance>-<round> -------------------------------------------------------------------

NO_INSTANCE = "000000000000"  # of pulls that version 0.1 saved, whose ids have no such part


def bandit_prefix(bandit: str) -> str:
    """What the ids of all pulls of one bandit begin with, whichever instance made them."""
    return bandit[:8]


def new_instance_id(bandit: str) -> str:
    """An id for a new instance of a bandit: 48 random bits from the system, which no copy or fork shares."""
    return f"{bandit_prefix(bandit)}-{secrets.token_hex(6)}"


def parts_of(pull_id: str) -> tuple[str, int]:
    """The id of the instance and the round, of which the id of a pull is made."""
    bandit, _, number = pull_id.rpartition("-")
    if not bandit or not number.isdecimal():
        raise ValueError(pull_id)
    return bandit, int(number)


def instance_and_round(pull: Any) -> tuple[str, int]:
    """The id of the instance that made a pull, and its round; from the pull or its id."""
    if isinstance(pull, (Pull, str)):
        try:
            return parts_of(pull.id if isinstance(pull, Pull) else pull)
        except ValueError:
            raise UnknownPullError(f"{pull!r} is not a pull of a bandit, nor the id of one") from None
    fix = "for several pulls write rewards=... or losses=..." if isinstance(pull, Sequence) else ""
    raise InvalidArgumentError("pull", pull, "what Bandit.pull() returned, or its id", fix=fix)


# --- labels ---------------------------------------------------------------------------------------------


def label_of(value: Any) -> Any:
    """NumPy's strings and numbers as Python's, and JSON's lists as the tuples that they were."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(label_of(item) for item in value) if isinstance(value, (tuple, list)) else value


def _is_label(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(_is_label(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) or (isinstance(value, str) and value != "")


def labels_of(arms: int | Sequence[Label]) -> tuple[Label, ...]:
    """The labels of ``arms``, a number of arms or their labels."""
    allowed = "a number or a list of labels"
    if isinstance(arms, (str, bytes)):
        raise InvalidArgumentError("arms", arms, allowed, fix=f"write [{arms!r}, ...]")
    if isinstance(arms, (Mapping, Set)):
        fix = "write list(arms)" if isinstance(arms, Mapping) else "a set has no order: write sorted(arms)"
        raise InvalidArgumentError("arms", arms, allowed, fix=fix)
    if not isinstance(arms, Iterable) or (isinstance(arms, np.ndarray) and arms.ndim == 0):
        fix = "give at least one arm, or a list of labels"
        return tuple(range(_check.integer("arms", arms, at_least=1, fix=fix)))
    labels = [label_of(label) for label in arms]
    if not labels:
        raise InvalidArgumentError("arms", arms, "at least one label", got="an empty sequence")
    seen: dict[Label, Label] = {}
    for i, label in enumerate(labels):
        if not _is_label(label):
            wanted = "a non-empty string, a finite number, or a tuple of those"
            raise InvalidArgumentError("arms", label, wanted, index=(i,))
        if label in seen:
            other = seen[label]
            same = repr(label) == repr(other)
            got = f"{label!r} twice" if same else f"{other!r} and {label!r}, which are equal"
            raise InvalidArgumentError("arms", arms, "distinct", got=got)
        seen[label] = label
    return tuple(labels)
