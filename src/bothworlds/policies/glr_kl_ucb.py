"""GLR-klUCB: KL-UCB that restarts when an arm's losses have changed."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, init, is_awake, learn, memo_of, restrict, step
from bothworlds.policies.shared.change_test import Streams, append, forget, has_changed, new_streams
from bothworlds.policies.shared.confidence import Delta, require_horizon
from bothworlds.policies.shared.index import plays_its_choice
from bothworlds.policies.shared.kl import kl_lower
from bothworlds.settings import UnitInterval
from bothworlds.simplex.kernel import CONVERGED

# Splits for each power of two. A change is placed to 1/62 of its age, and found up to 4% later than with all
# splits; with 8 it is 11%, at two thirds of the time per round (tests/policies/test_tracking.py: delays).
BLOCKS = 32
PRACTICAL = (0.005, 0.003)  # α, δ


class GLRParameters(NamedTuple):
    """α and whether it grows with restarts, log(1/δ), whether restarts are local, sizes."""

    explore: float
    growing: bool
    log_inverse_delta: float
    local: bool
    n_blocks: int
    n_arms: int


class GLRState(NamedTuple):
    """What was seen since the last restart, by arm, and the arm of the round to come."""

    counts: FloatArray
    sums: FloatArray
    streams: Streams
    begun: FloatArray
    """The number of losses (of all arms) before the last restart of the arm."""
    restarts: FloatArray
    """How often the arm was restarted."""
    scalars: FloatArray
    chosen: FloatArray


ROUND, DETECTED = 0, 1  # the number of losses seen, and of changes
N_SCALARS = 2


@dataclass(frozen=True, repr=False)
class GLRKLUCB(Policy, name="glr-kl-ucb"):
    """GLR-klUCB: :class:`KLUCB` with a test for changes on each arm, and restarts when one is found.

    After each loss of arm i, its n losses since the last restart are split in two in every way that is
    remembered; if for some split

        n₁·kl(m₁, m) + n₂·kl(m₂, m) > log(n^{3/2}/δ),   m₁, m₂, m the means of both parts and of all,

    the statistics of all arms (``restart="global"``) or of this arm (``"local"``) are forgotten. So that
    changes of arms that look bad are noticed, in K rounds out of ⌊K/α⌋ the arms are played in turn. In all
    others the arm with the smallest  min{q ≤ m_i : n_i·kl(m_i, q) ≤ log t_i}  is played, t_i the rounds since
    its restart.

    Regret O(√(S·K·T·log T)) in worlds of S changes that are far enough apart and large enough to be found,
    with the authors' α and δ for known S. Deterministic: an adversary makes it linear, and a season that
    moves all arms together restarts it again and again.

    Parameters
    ----------
    explore:
        α in [0, 1]; None is what ``constants`` says.
    delta:
        δ in (0, 1]; None is what ``constants`` says.
    restart:
        ``"global"`` or ``"local"``.
    constants:
        ``"practical"``: α = 0.005 and δ = 0.003. ``"paper"``: the authors' α = √(j·K·log T/T) in the j-th
        episode, and δ = 1/√T, which need the horizon.

    Notes
    -----
    The threshold is that of the authors' experiments; their theorem has a larger one. To save time they test
    every tenth round, at every fifth split, and keep all losses. Here every loss is tested, at splits whose
    age grows geometrically, so that a change is placed to 2% of its age: memory O(K), time O(K + log n).
    Losses of arms drawn before a restart are not used.

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> world = E.ChangePoints(means=[[0.4, 0.6], [0.8, 0.6]], changes=[2000])
    >>> run = bw.simulate([bw.KLUCB(), bw.GLRKLUCB()], world, horizon=4000, replications=16, seed=1)
    >>> old, new = run.regret[:, :, -1].mean(axis=1)
    >>> bool(new < old)
    True

    References
    ----------
    L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec: Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits. JMLR 2022.
    """

    explicit: ClassVar[bool] = False
    fixed_arms: ClassVar[str | None] = None

    explore: UnitInterval | None = None
    _: KW_ONLY
    delta: Delta | None = None
    restart: Literal["global", "local"] = "global"
    constants: Literal["practical", "paper"] = "practical"

    def parameters(self, n_arms: int, horizon: int | None) -> GLRParameters:
        """α and δ in numbers."""
        explore, delta = PRACTICAL
        if self.constants == "paper":
            horizon = require_horizon(self, horizon, "GLRKLUCB()")
            explore = min(1.0, math.sqrt(n_arms * math.log(max(2, horizon)) / horizon))
            delta = 1.0 / math.sqrt(horizon)
        return GLRParameters(
            explore=explore if self.explore is None else self.explore,
            growing=self.constants == "paper" and self.explore is None,
            log_inverse_delta=-math.log(delta if self.delta is None else self.delta),
            local=self.restart == "local",
            n_blocks=BLOCKS,
            n_arms=n_arms,
        )


plays_its_choice(GLRParameters)


@init.register(GLRParameters)
def _(params: GLRParameters) -> GLRState:
    n = params.n_arms
    return GLRState(
        counts=np.zeros(n),
        sums=np.zeros(n),
        streams=new_streams(n, params.n_blocks),
        begun=np.zeros(n),
        restarts=np.zeros(n),
        scalars=np.zeros(N_SCALARS),
        chosen=np.zeros(1),
    )


@memo_of.register(GLRParameters)
def _(params: GLRParameters, state: GLRState, arm: int, uniforms: FloatArray) -> float:
    return float(state.restarts[arm])


@learn.register(GLRParameters)
def _(params: GLRParameters, state: GLRState, arm: int, loss: float, weight: float, memo: float) -> None:
    if memo != state.restarts[arm]:
        return  # drawn before the arm's last restart
    state.scalars[ROUND] += 1.0
    state.counts[arm] += 1.0
    state.sums[arm] += loss
    append(state.streams, params.n_blocks, arm, loss)
    count = state.counts[arm]
    threshold = 1.5 * math.log(count) + params.log_inverse_delta
    if has_changed(state.streams, params.n_blocks, arm, count, state.sums[arm], threshold):
        state.scalars[DETECTED] += 1.0
        for i in range(params.n_arms):
            if i == arm or not params.local:
                restart_arm(state, i)


@kernel
def restart_arm(state: GLRState, arm: int) -> None:
    """Forget what was seen of an arm."""
    state.counts[arm] = 0.0
    state.sums[arm] = 0.0
    forget(state.streams, arm)
    state.begun[arm] = state.scalars[ROUND]
    state.restarts[arm] += 1.0


@step.register(GLRParameters)
def _(params: GLRParameters, state: GLRState) -> int:
    state.chosen[0] = choose(params, state, state.chosen[:0])
    return CONVERGED


@restrict.register(GLRParameters)
def _(params: GLRParameters, state: GLRState, awake: FloatArray, out: FloatArray) -> None:
    out[:] = 0.0
    out[choose(params, state, awake)] = 1.0


@kernel
def choose(params: GLRParameters, state: GLRState, awake: FloatArray) -> int:
    """The arm whose turn it is, else the first unseen one, else that with the smallest index."""
    n = params.n_arms
    t = state.scalars[ROUND]
    alpha = params.explore * (math.sqrt(state.scalars[DETECTED] + 1.0) if params.growing else 1.0)
    if alpha > 0.0:
        turn = t % max(float(n), math.floor(n / alpha))
        if turn < n and is_awake(awake, int(turn)):
            return int(turn)
    best = 0
    smallest = math.inf
    for i in range(n):
        if not is_awake(awake, i):
            continue
        count = state.counts[i]
        if count == 0.0:
            return i
        value = kl_lower(state.sums[i] / count, math.log(t - state.begun[i] + 1.0) / count)
        if value < smallest:
            smallest = value
            best = i
    return best
