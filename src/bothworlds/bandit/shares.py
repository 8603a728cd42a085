"""Shares of the pulls that do not depend on what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from bothworlds import _check
from bothworlds._words import did_you_mean
from bothworlds.bandit.pull import Label, label_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy

ROUNDING = 1e-9  # by so much may sums of shares exceed 1: 0.1 ten times is one


class Shares(NamedTuple):
    """Fixed shares of some arms, and a floor under the others, which the policy plays.

    With fixed shares s_j of total S, a floor f and n arms left to the policy, whose distribution is p, the
    distribution in force is

        q_j = s_j for fixed arms,    q_i = f + (1 − S − n·f)·p_i for the others.

    One more uniform u decides who plays: below S a fixed arm, below S + n·f an arm of the floor, beyond it
    the policy. So q is exact for every policy, also for one that does not know its p beforehand. What the
    policy learns with is q_i, with which its estimates are as unbiased as with p_i alone; of fixed arms it
    knows nothing. The floor costs f·Δ_i of each arm i in every round, f·Σ_i Δ_i together, beside the share
    1 − n·f of what the policy itself loses.
    """

    floor: float
    fixed: dict[int, float]
    """Shares by the numbers of their arms."""
    free: tuple[int, ...]
    """The arms that the policy plays."""
    places: dict[int, int]
    """For each of them, its number as an arm of the policy."""
    left: float
    """What is left to the policy, 1 − S − n·f."""

    @classmethod
    def of(
        cls, floor: Any, fixed: Mapping[Label, Any] | None, arms: Sequence[Label], policy: Policy
    ) -> Shares | None:
        """From the options of a bandit; None where there is nothing to share."""
        floor = _check.number("floor", floor, at_least=0.0, at_most=1.0)
        shares = _numbered(fixed, arms)
        if not shares and floor == 0.0:
            return None
        if policy.decoupled:
            wanted = "one that shows the arm it plays, where there are shares"
            raise InvalidArgumentError("policy", policy, wanted, fix="leave out floor and fixed")
        if policy.in_blocks:
            wanted = "one that draws an arm in every round, where there are shares"
            raise InvalidArgumentError("policy", policy, wanted, fix="leave out floor and fixed")
        free = tuple(i for i in range(len(arms)) if i not in shares)
        if not free:
            raise InvalidArgumentError("fixed", fixed, "given for some arms", fix="leave one to the policy")
        total = sum(shares.values()) + floor * len(free)
        if total > 1.0 + ROUNDING:
            wanted = "such that the floors of all other arms and the fixed shares sum to at most 1"
            fix = f"at most {(1.0 - sum(shares.values())) / len(free):.4g}"
            got = f"{floor:g}, and a sum of {total:.4g}"
            raise InvalidArgumentError("floor", floor, wanted, got=got, fix=fix)
        places = {arm: place for place, arm in enumerate(free)}
        return cls(floor, shares, free, places, max(0.0, 1.0 - total))

    def in_order(self) -> list[float | None]:
        """The fixed share of each arm; None for those that the policy plays."""
        return [self.fixed.get(i) for i in range(len(self.fixed) + len(self.free))]

    def draw(self, uniform: float) -> int | None:
        """The fixed arm, or the arm of the floor, at a quantile; None where the policy plays."""
        for arm, share in self.fixed.items():
            if uniform < share:
                return arm
            uniform -= share
        place = int(uniform / self.floor) if self.floor > 0.0 else len(self.free)
        return self.free[place] if place < len(self.free) else None

    def mixed(self, p: float) -> float:
        """The probability of an arm that has ``p`` in the policy."""
        return min(1.0, self.floor + self.left * p)

    def distribution(self, p: Sequence[float]) -> list[float]:
        """The distribution in force where that of the policy is ``p``."""
        return [
            self.mixed(p[self.places[i]]) if share is None else share
            for i, share in enumerate(self.in_order())
        ]


def _numbered(fixed: Any, arms: Sequence[Label]) -> dict[int, float]:
    """Fixed shares by the numbers of their arms."""
    if not isinstance(fixed, (Mapping, NoneType)):
        raise InvalidArgumentError("fixed", fixed, "a dict of arms and their shares")
    numbers = {label: i for i, label in enumerate(arms)}
    shares = {}
    for key, share in (fixed or {}).items():
        label = label_of(key)
        if label not in numbers:
            hint = did_you_mean(str(label), [str(arm) for arm in arms]) or f"the arms are {list(arms)}"
            raise InvalidArgumentError("fixed", label, "given for arms of the bandit", fix=hint)
        shares[numbers[label]] = _check.number(f"fixed[{label!r}]", share, above=0.0, below=1.0)
    if sum(shares.values()) > 1.0 + ROUNDING:
        raise InvalidArgumentError("fixed", fixed, "shares that sum to at most 1", fix="lower them")
    return shares
