"""What an experiment is, as it is kept: in JSON, checked when it is made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import msgspec

from bothworlds import _check, policies
from bothworlds.bandit.deadlines import LEARN_AT
from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import Label, labels_of
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.policies.base import Policy

POOL = "*"  # the segment of all those that came after the last one that was allowed
LENGTH = 200  # characters of a name, a segment, a unit


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of an experiment in plain JSON types. Make them with :func:`checked_settings`."""

    arms: list[Any]
    policy: dict[str, Any]
    horizon: int | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    clip: bool = False
    wait: float | None = None
    """Seconds that a decision waits for its outcome; None: for ever."""
    missing: float | None = None
    """The reward that is learned when the wait is over; None: nothing is."""
    learn_at: Literal["arrival", "deadline"] = "arrival"
    sticky: bool = False
    """Does a unit keep its first decision?"""
    max_segments: int = 1000

    def learner(self) -> Learner:
        """A fresh learner."""
        policy = policies.from_dict(self.policy)
        options: dict[str, Any] = {name: getattr(self, name) for name in ("horizon", "low", "high", "clip")}
        return Learner(labels_of(self.arms), policy, **options)

    def to_json(self) -> str:
        """As it is kept: equal settings have equal text."""
        return json.dumps(msgspec.to_builtins(self), sort_keys=True, allow_nan=False)


def checked_settings(
    arms: int | Sequence[Label],
    policy: Policy | str | None = None,
    *,
    horizon: int | None = None,
    low: float | None = 0.0,
    high: float | None = 1.0,
    clip: bool = False,
    wait: timedelta | float | None = None,
    missing: float | None = None,
    learn_at: Literal["arrival", "deadline"] | None = None,
    sticky: bool = False,
    max_segments: int = 1000,
) -> Settings:
    """Checked settings; ``bothworlds.open`` says what they mean."""
    if isinstance(wait, timedelta):
        wait = wait.total_seconds()
    if wait is not None:
        fix = "give seconds, or a datetime.timedelta"
        wait = _check.number("wait", wait, above=0.0, fix=fix)
    elif missing is not None or learn_at == "deadline":
        name, given = ("missing", missing) if missing is not None else ("learn_at", learn_at)
        raise InvalidArgumentError(name, given, "given with a wait", fix="give wait=... too")
    if learn_at is None:
        learn_at = "arrival" if missing is None else "deadline"
    _check.one_of("learn_at", learn_at, LEARN_AT)
    _check.one_of("sticky", sticky, (False, True))
    settings = Settings(
        arms=list(labels_of(arms)),
        policy=policies.to_dict(policies.DEFAULT if policy is None else Policy.require(policy)),
        horizon=None if horizon is None else int(horizon),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        clip=bool(clip),
        wait=wait,
        missing=None if missing is None else float(missing),
        learn_at=learn_at,
        sticky=bool(sticky),
        max_segments=_check.integer("max_segments", max_segments, at_least=1),
    )
    learner = settings.learner()  # refuses what it cannot be made of
    if settings.missing is not None:
        try:
            learner.take("reward", settings.missing)
        except InvalidArgumentError as error:
            fix = "it is a reward, between low and high; clip=True cuts off what is beyond"
            raise type(error)("missing", missing, error.allowed, fix=fix) from None
    return msgspec.json.decode(settings.to_json(), type=Settings)


ALTERABLE = ("wait", "missing", "learn_at", "sticky", "max_segments")


def altered_settings(settings: Settings, changes: dict[str, Any]) -> Settings:
    """Checked settings of which some are others; ``archived``, which is none of them, may be among them."""
    for name in changes:
        _check.one_of("settings", name, (*ALTERABLE, "archived"))
    given = {name: getattr(settings, name) for name in settings.__struct_fields__}
    policy = policies.from_dict(given.pop("policy"))
    named = {name: value for name, value in changes.items() if name != "archived"}
    return checked_settings(given.pop("arms"), policy, **(given | named))


def name_of(argument: str, value: Any, *, empty: bool = False) -> str:
    """A name, a segment or a unit, or an error."""
    wanted = f"a string of {0 if empty else 1} to {LENGTH} characters"
    if not isinstance(value, str) or "\0" in value or has_surrogates(value):
        raise InvalidArgumentError(argument, value, wanted)
    if not (empty or value) or len(value) > LENGTH:
        raise OutOfRangeError(argument, value, wanted, fix="hash what is longer")
    return value


def has_surrogates(text: str) -> bool:
    """Is it no Unicode text? Databases refuse it."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
