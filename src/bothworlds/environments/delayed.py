"""Feedback that arrives late."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds.environments.base import Environment
from bothworlds.errors import InvalidArgumentError

FIXED, GEOMETRIC, HEAVY = range(3)
KINDS = ("fixed", "geometric", "heavy")


class DelayParameters(NamedTuple):
    """Kind of delay, its mean, and the longest that occurs."""

    kind: int
    mean: float
    longest: int


AT_ONCE = DelayParameters(FIXED, 0.0, 0)


@dataclass(frozen=True, repr=False)
class Delayed(Environment):
    """Another environment whose feedback arrives after a random number of rounds.

    The loss of a pull made in round t becomes known at the end of round t + d. Kinds of delay:

    * ``"fixed"``: d = mean;
    * ``"geometric"``: P(d = n) = (1−q)q^n with that mean;
    * ``"heavy"``: d = ⌊X⌋ with P(X > x) = (1 + x/mean)^{−2}: a Pareto tail with infinite variance.

    Delays beyond ``longest`` are cut there. Feedback that has not arrived at the end is lost.

    Parameters
    ----------
    base:
        Any environment but another Delayed.
    mean:
        The mean delay in rounds; a whole number for ``"fixed"``, and the mean of X for ``"heavy"``.
    kind:
        One of the above. (In an experiment file it is called ``law``: there, the kind is ``"delayed"``.)
    longest:
        Bounds the memory of a run: so many pulls are kept at most.
    """

    base: Environment
    mean: float
    kind: Literal["fixed", "geometric", "heavy"] = field(default="fixed", metadata={"key": "law"})
    longest: int = 100_000

    regret_kind: ClassVar[str] = "as in the base environment"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Environment) or isinstance(self.base, Delayed):
            raise InvalidArgumentError("base", self.base, "an environment that is not Delayed itself")
        _check.one_of("kind", self.kind, KINDS)
        _check.integer("longest", self.longest, at_least=0)
        _check.number("mean", self.mean, at_least=0.0, at_most=self.longest)
        if self.kind == "fixed" and self.mean != int(self.mean):
            raise InvalidArgumentError("mean", self.mean, "a whole number for kind='fixed'")
        object.__setattr__(self, "regret_kind", self.base.regret_kind)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.base.n_arms

    @property
    def gaps(self) -> FloatArray | None:
        """Those of the base."""
        return self.base.gaps

    def corruption(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.corruption(horizon)

    def spread(self, horizon: int) -> float | None:
        """That of the base."""
        return self.base.spread(horizon)

    def parameters(self, horizon: int) -> Any:
        """Those of the base; the engine takes the delay from :meth:`delay`."""
        return self.base.parameters(horizon)

    def delay(self, horizon: int) -> DelayParameters:
        """The delay in numbers."""
        longest = int(self.mean) if self.kind == "fixed" else min(self.longest, horizon)
        return DelayParameters(KINDS.index(self.kind), float(self.mean), longest)


@kernel
def sample_delay(delay: DelayParameters, uniform: float) -> int:
    """A delay, by inversion."""
    if delay.kind == FIXED or delay.mean == 0.0:
        return int(delay.mean)
    tail = 1.0 - uniform  # in (0, 1]
    if delay.kind == GEOMETRIC:
        value = math.log(tail) / math.log(delay.mean / (1.0 + delay.mean))
    else:
        value = delay.mean * (1.0 / math.sqrt(tail) - 1.0)
    return int(min(value, float(delay.longest)))


class Mailbox(NamedTuple):
    """Feedback on its way. Slot s belongs to the pull of round t with t ≡ s modulo the number of slots."""

    contents: FloatArray
    """Observed arm, loss, weight, epoch of every slot."""
    first: FloatArray
    """For every due round (modulo), the slot of the oldest letter, or −1."""
    last: FloatArray
    """… of the youngest."""
    following: FloatArray
    """For every slot, the next one due in the same round, or −1."""


def open_mailbox(delay: DelayParameters) -> Mailbox:
    """An empty mailbox with one slot more than the longest delay: a slot is always free again in time."""
    n = delay.longest + 1
    return Mailbox(np.zeros((n, 4)), np.full(n, -1.0), np.full(n, -1.0), np.full(n, -1.0))


@kernel
def post(delay: DelayParameters, box: Mailbox, t: int, uniform: float) -> int:
    """Reserve the slot of round t and queue it behind others due in the same round."""
    n = box.first.size
    slot = t % n
    due = (t + sample_delay(delay, uniform)) % n
    box.following[slot] = -1.0
    if box.first[due] < 0.0:
        box.first[due] = slot
    else:
        box.following[int(box.last[due])] = slot
    box.last[due] = slot
    return slot
