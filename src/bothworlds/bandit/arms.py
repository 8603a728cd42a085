"""Which arms are there and awake: those that sleep, arrive and retire."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray
from bothworlds._words import did_you_mean
from bothworlds.bandit.pull import Label, label_of, labels_of
from bothworlds.bandit.shares import Shares
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy, pull_among, read_among, require_sleeping, update_among
from bothworlds.problem import PLAIN, Problem
from bothworlds.statefile import clone_state


class RestrictedKernels:
    """Draws among some arms: the kernels, which are attributes, and the buffers they need."""

    act: Callable[..., tuple[int, float, float]]
    learn: Callable[..., int]
    read: Callable[..., None]

    def __init__(self, n_arms: int, params: Any, state: Any, draws: int) -> None:
        self.p = p = np.empty(n_arms)
        self.before = clone_state(state)
        self.kernels: Kernels = {
            "act": (pull_among, (params, state, np.empty(draws), 0, p, p)),
            "learn": (update_among, (params, state, self.before, 0, 0.0, 1.0, 0.0, p)),
            "read": (read_among, (params, state, p, p)),
        }


def require_changing_arms(policy: Policy, shares: Shares | None, problem: Problem = PLAIN) -> None:
    """Refuse where the arms of a bandit cannot change."""
    if problem.several:
        raise InvalidArgumentError(
            "arms", problem, "those of the beginning where a round has several", got=str(problem)
        )
    if shares is not None:
        raise InvalidArgumentError(
            "fixed" if shares.fixed else "floor",
            shares.fixed or shares.floor,
            "left out where arms change",
            fix="make a bandit without it",
        )
    require_sleeping(policy)


class Roster:
    """The arms of a bandit by their labels, and who of them is disabled or has retired, by their numbers."""

    def __init__(
        self,
        arms: tuple[Label, ...],
        disabled: frozenset[int] = frozenset(),
        retired: frozenset[int] = frozenset(),
    ) -> None:
        self._arms = arms
        self._numbers: dict[Label, int] = {}  # of each label, made when it is first needed
        self._set(disabled, retired)

    def with_arms(self, arms: tuple[Label, ...]) -> Roster:
        """A copy with these arms, of which the first are the same."""
        return Roster(arms, self.disabled, self.retired)

    @property
    def there(self) -> tuple[Label, ...]:
        """All arms but those that have retired."""
        if not self.retired:
            return self._arms
        return tuple(arm for i, arm in enumerate(self._arms) if i not in self.retired)

    def labels(self, numbers: Iterable[int]) -> tuple[Label, ...]:
        """The labels of these arms, in the order of the arms."""
        return tuple(self._arms[number] for number in sorted(numbers))

    def disable(self, arm: Label) -> None:
        """Let an arm not be drawn until it is enabled."""
        number = self._number("arm", arm)
        self._require_another(self.disabled | self.retired | {number}, arm)
        self._set(self.disabled | {number}, self.retired)

    def enable(self, arm: Label) -> None:
        """Let a disabled arm be drawn again."""
        self._set(self.disabled - {self._number("arm", arm)}, self.retired)

    def retire(self, arm: Label) -> int:
        """Let an arm go for good; return its number."""
        number = self._number("arm", arm)
        self._require_another(self.disabled | self.retired | {number}, arm)
        self._set(self.disabled - {number}, self.retired | {number})
        return number

    def new_label(self, arm: Label) -> Label:
        """The label of an arm that is to be added."""
        (label,) = labels_of([arm])
        if label in self._arms:
            there = "has retired" if self._arms.index(label) in self.retired else "is there"
            raise InvalidArgumentError(
                "arm", arm, "a new label", got=f"{arm!r}, which {there}", fix="choose another one"
            )
        return label

    def among(self, arms: Iterable[Label]) -> FloatArray | None:
        """1 for those of these arms that are enabled, 0 for others; None if all arms are."""
        if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable):
            raise InvalidArgumentError("among", arms, "a sequence of arms", fix=f"write [{arms!r}]")
        chosen = {self._number("among", arm) for arm in arms} - self.disabled
        if len(chosen) == len(self._arms):
            return None
        if not chosen:
            raise InvalidArgumentError(
                "among",
                [],
                "at least one arm that is enabled",
                got="none",
                fix="enable one, or ask for others",
            )
        return self._mask(chosen)

    def _set(self, disabled: frozenset[int], retired: frozenset[int]) -> None:
        self.disabled, self.retired = disabled, retired
        asleep = disabled | retired
        # 1 for arms that can be drawn, 0 for others; None if all can
        self.awake = self._mask(set(range(len(self._arms))) - asleep) if asleep else None

    def _mask(self, numbers: set[int]) -> FloatArray:
        awake = np.zeros(len(self._arms))
        awake[list(numbers)] = 1.0
        return awake

    def _require_another(self, asleep: frozenset[int], arm: Label) -> None:
        if len(asleep) == len(self._arms):
            raise InvalidArgumentError(
                "arm",
                arm,
                "an arm beside which another is enabled",
                got=f"{arm!r}, the last one",
                fix="enable or add another first",
            )

    def _number(self, name: str, arm: Label) -> int:
        """The number of an arm that has not retired."""
        if not self._numbers:
            self._numbers = {label: i for i, label in enumerate(self._arms)}
        try:
            number = self._numbers.get(label_of(arm))
        except TypeError:  # what cannot be a label
            number = None
        if number is None or number in self.retired:
            fix = "it has retired" if number is not None else did_you_mean(str(arm), map(str, self.there))
            raise InvalidArgumentError(name, arm, "an arm of this bandit", fix=fix)
        return number
