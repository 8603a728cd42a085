"""``Trace``: what a policy computed in every round of a history."""

from __future__ import annotations

from dataclasses import dataclass

from bothworlds._jit import FloatArray, IntArray
from bothworlds.policies import Policy


@dataclass(frozen=True, repr=False)
class Trace:
    """A policy's distribution, rates and estimates along a history of n rounds.

    Attributes
    ----------
    p, rates, estimates:
        Arrays of shape (n+1, n_arms): before round 1, …, before round n+1. ``p`` is the distribution of the
        played arm, ``rates`` the learning rates γ, ``estimates`` the cumulative estimated losses (both
        since the last restart, where the policy restarts; NaN where a policy has none).
    arms, losses:
        The observed arms and their losses, of length n; for sets, a row for each round, at whose end there
        are −1 and NaN where sets have different sizes. On a graph, the arms played, and the losses of all
        that they have shown, one after the other.
    played:
        The arms played, where they are known: in a simulation, not in a replay.

    Examples
    --------
    >>> import bothworlds as bw
    >>> trace = bw.replay(bw.TsallisINF(), n_arms=2, arms=[0, 1, 1], losses=[1.0, 0.0, 1.0])
    >>> trace
    Trace(TsallisINF(), n_arms=2, horizon=None, rounds=3)
    >>> trace.p.shape
    (4, 2)
    """

    policy: Policy
    n_arms: int
    horizon: int | None
    arms: IntArray
    losses: FloatArray
    p: FloatArray
    rates: FloatArray
    estimates: FloatArray
    played: IntArray | None = None

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        return f"Trace({self.policy!r}, n_arms={self.n_arms}, horizon={self.horizon}, rounds={len(self)})"
