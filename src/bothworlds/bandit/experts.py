"""Experts: whatever recommends arms, asked for a distribution over them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds._words import did_you_mean
from bothworlds.bandit.bandit import Bandit
from bothworlds.bandit.pull import Label, label_of, labels_of
from bothworlds.errors import InvalidArgumentError

ROUNDING = (
    1e-6  # how far from 1 the probabilities of an expert may sum: float32 of a model; they are rescaled
)


class Experts:
    """Experts by their names, and the arms that they recommend."""

    def __init__(self, experts: Mapping[Label, Any] | Sequence[Any], arms: tuple[Label, ...]) -> None:
        if isinstance(experts, (str, bytes)) or not isinstance(experts, (Mapping, Sequence)):
            wanted = "a dict of experts by their names, or a list of experts"
            raise InvalidArgumentError("experts", experts, wanted)
        if not experts:
            raise InvalidArgumentError("experts", experts, "at least one expert", got="none")
        named = experts if isinstance(experts, Mapping) else dict(enumerate(experts))
        self.names = labels_of(list(named))
        self._arms = arms
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        self._experts = tuple(named.values())
        for name, expert in zip(self.names, self._experts, strict=True):
            require_expert(f"experts[{name!r}]", expert)

    def __len__(self) -> int:
        return len(self.names)

    def ask(self, context: Any) -> FloatArray:
        """Their advice, a row for each: a distribution over the arms."""
        advice = np.empty((len(self.names), len(self._arms)))
        for row, name, expert in zip(advice, self.names, self._experts, strict=True):
            argument = f"the advice of experts[{name!r}]"
            try:
                recommended = recommendation(argument, expert, context)
            except Exception as error:
                error.add_note(f"raised by the expert {name!r}, asked about {context!r}")
                raise
            row[:] = self._distribution(argument, recommended)
        return advice

    def _distribution(self, argument: str, recommended: Any) -> FloatArray:
        """What an expert recommended, an arm or a distribution, as a distribution."""
        n = len(self._arms)
        value = recommended.item() if isinstance(recommended, np.generic) else recommended
        if isinstance(value, Hashable) and self._number(value) is not None:
            certain = np.zeros(n)
            certain[self._number(value)] = 1.0
            return certain
        fix = "an expert recommends an arm, {arm: probability}, or a probability for each arm in their order"
        if isinstance(value, Mapping):
            value = self._in_order(argument, value)
        elif value is None or np.ndim(value) == 0:
            close = did_you_mean(str(value), map(str, self._arms))
            allowed = "an arm or a distribution over the arms"
            raise InvalidArgumentError(argument, value, allowed, fix=close or fix)
        p = _check.vector(argument, value, size=n, at_least=0.0, fix=fix)
        total = float(p.sum())
        if abs(total - 1.0) > ROUNDING:
            allowed = "a distribution over the arms"
            got = f"probabilities that sum to {total:.6g}"
            raise InvalidArgumentError(argument, recommended, allowed, got=got, fix="they must sum to 1")
        return p / total

    def _number(self, arm: Any) -> int | None:
        try:
            return self._numbers.get(arm)
        except TypeError:  # a tuple of what cannot be a label
            return None

    def _in_order(self, argument: str, shares: Mapping[Any, Any]) -> list[Any]:
        """Probabilities by arms in the order of the arms; 0 for those not named."""
        value: list[Any] = [0.0] * len(self._arms)
        for arm, share in shares.items():
            number = self._number(label_of(arm))
            if number is None:
                close = did_you_mean(str(arm), map(str, self._arms))
                allowed = "a distribution over the arms"
                got = f"a probability of {arm!r}, which is no arm"
                raise InvalidArgumentError(argument, shares, allowed, got=got, fix=close)
            value[number] = share
        return value


def require_expert(argument: str, expert: Any) -> None:
    """Refuse an expert that is no function, model, mapping or bandit."""
    can_be_asked = isinstance(expert, (Bandit, Mapping)) or hasattr(expert, "predict") or callable(expert)
    if isinstance(expert, type) or not (can_be_asked or hasattr(expert, "predict_proba")):
        fix = f"write {expert.__name__}(...)" if isinstance(expert, type) else ""
        wanted = "a function of the context, a model with predict_proba or predict, a mapping, or a bandit"
        raise InvalidArgumentError(argument, expert, wanted, fix=fix)


def recommendation(argument: str, expert: Any, context: Any) -> Any:
    """What an expert says about a context, in its own form."""
    if isinstance(expert, Bandit):
        return expert.probabilities
    if hasattr(expert, "predict_proba"):
        probabilities = expert.predict_proba([context])[0]
        if not hasattr(expert, "classes_"):
            return probabilities
        return dict(zip(map(label_of, expert.classes_), probabilities, strict=True))
    if hasattr(expert, "predict"):
        return label_of(expert.predict([context])[0])
    if not isinstance(expert, Mapping):
        return expert(context)
    try:
        return expert[context]
    except (KeyError, TypeError):  # not there, or nothing that a mapping could have
        got = f"none for {context!r}"
        fix = "add it to the mapping"
        raise InvalidArgumentError(argument, context, "there for every context", got=got, fix=fix) from None
