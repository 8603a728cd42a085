"""The policies that a log is asked about, as probabilities of its arms, row by row or once for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds._words import did_you_mean
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.log import LogBatch, LogReader

LOGGED = "logged"  # the policy that made the log


class History(NamedTuple):
    """The decisions before one, in arrays: what a policy may be a function of."""

    actions: Any
    """Numbers of arms."""
    rewards: FloatArray
    """In the range of the log; NaN where no answer came."""
    propensities: FloatArray


class Targets:
    """The policies that are evaluated, as probabilities of the arms."""

    def __init__(self, policies: Mapping[Any, Any], reader: LogReader) -> None:
        self.policies = list(policies.values())
        self.reader = reader
        self.moving = False
        self.table: FloatArray | None = None
        self.function: Callable[[History], Any] | None = None
        self._seen: list[LogBatch] = []
        first = self.policies[0] if len(self.policies) == 1 else None
        if callable(first):
            self.moving, self.function = True, first
        elif first is not None and not isinstance(first, (str, Mapping)) and np.ndim(first) == 2:
            self.moving, self.table = True, _rows_of(first)
            self._expect(self.table.shape[1])
        else:
            for policy in self.policies:
                if not isinstance(policy, (str, Mapping)) and np.ndim(policy) == 1:
                    self._expect(np.size(policy))

    def _expect(self, n_arms: int) -> None:
        """Numbered arms are those of the array."""
        if not self.reader.fixed and not self.reader.labels:
            for number in range(n_arms):
                self.reader.append(number)

    def of(self, batch: LogBatch, before: int) -> FloatArray:
        """Policies × arms, or rows × arms."""
        if self.function is not None:
            return self._called(batch)
        n_arms = len(self.reader.labels)
        if self.table is not None:
            rows = self.table[before : before + batch.actions.size]
            if len(rows) < batch.actions.size:
                self._lengths(f"more than {before + len(rows)}")
            if rows.shape[1] != n_arms:
                self._size(rows, n_arms)
            return np.ascontiguousarray(rows)
        return np.stack([self._vector(policy, n_arms) for policy in self.policies])

    def finish(self, decisions: int) -> None:
        """Refuse, at the end of the log, tables of another length and arms that it does not have."""
        if self.table is not None and len(self.table) != decisions:
            self._lengths(str(decisions))
        named = [label for policy in self.policies for label in _named(policy)]
        for label in [label for label in named if label not in self.reader.places]:
            labels = [str(known) for known in self.reader.labels]
            raise InvalidArgumentError(
                "policy",
                label,
                f"over arms of the log: {', '.join(labels)}",
                fix=did_you_mean(str(label), labels),
            )

    def _lengths(self, rows: str) -> None:
        assert self.table is not None
        wanted = f"an array with a row for each of the {rows} decisions"
        raise InvalidArgumentError("policy", self.table, wanted, got=f"shape {self.table.shape}")

    def _size(self, given: Any, n_arms: int) -> None:
        raise InvalidArgumentError(
            "policy",
            given,
            f"of length {n_arms}, the number of arms in the log",
            got=f"length {np.shape(given)[-1]}",
            fix="give the labels of all arms as arms=...",
        )

    def _vector(self, policy: Any, n_arms: int) -> FloatArray:
        if isinstance(policy, str) and policy == LOGGED and LOGGED not in self.reader.places:
            return np.full(n_arms, math.nan)
        if isinstance(policy, Mapping):
            if len(policy) == 0:
                raise InvalidArgumentError("policy", policy, "probabilities of arms")
            _sums_to_one(np.array([_check.number(f"policy[{k!r}]", p) for k, p in policy.items()]))
            vector = np.zeros(n_arms)
            for label, p in policy.items():
                if label in self.reader.places:
                    vector[self.reader.places[label]] = p
            return vector
        if np.ndim(policy) == 0:
            return self._always(policy, n_arms)
        given = _sums_to_one(_check.vector("policy", policy))
        if given.size != n_arms:
            self._size(given, n_arms)
        return given

    def _always(self, label: Any, n_arms: int) -> FloatArray:
        vector = np.zeros(n_arms)
        if label in self.reader.places:
            vector[self.reader.places[label]] = 1.0
        return vector

    def _called(self, batch: LogBatch) -> FloatArray:
        """One row for every decision, each from the history before it."""
        assert self.function is not None
        self._seen.append(batch)
        scale = self.reader.scale
        actions = np.concatenate([part.actions for part in self._seen])
        rewards = scale.low + scale.span * np.concatenate([part.rewards for part in self._seen])
        propensities = np.concatenate([part.propensities for part in self._seen])
        rows: list[FloatArray] = []
        for i in range(actions.size - batch.actions.size, actions.size):
            given = self.function(History(actions[:i], rewards[:i], propensities[:i]))
            if not rows:
                self._expect(np.size(given))
            rows.append(_sums_to_one(_check.vector("policy(history)", given, size=len(self.reader.labels))))
        return np.array(rows)


def _named(policy: Any) -> list[Any]:
    """The arms that a policy names, of which the log must know."""
    if isinstance(policy, Mapping):
        return [label for label, p in policy.items() if p]
    return [policy] if np.ndim(policy) == 0 and not callable(policy) and policy != LOGGED else []


def _sums_to_one(given: FloatArray) -> FloatArray:
    if given.min(initial=0.0) < 0.0 or abs(given.sum() - 1.0) > 1e-9:
        raise InvalidArgumentError(
            "policy",
            given.tolist(),
            "probabilities that sum to 1",
            got=f"{given.tolist()}, sum {given.sum():g}",
        )
    return given


def _rows_of(policy: Any) -> FloatArray:
    table = np.ascontiguousarray(policy, dtype=np.float64)
    bad = ~((table >= 0.0).all(axis=1) & (np.abs(table.sum(axis=1) - 1.0) <= 1e-9))
    if bad.any():
        at = int(np.argmax(bad))
        raise InvalidArgumentError(
            "policy", table[at].tolist(), "probabilities that sum to 1 in every row", index=(at,)
        )
    return table
