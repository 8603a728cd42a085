"""The fast steps against the general solver and 60-digit arithmetic, round by round.

Trajectories without a barrier are chaotic, so the comparison is of p for the same estimates and rates, in
every round: with the general solver started from scratch, with the KKT conditions, and with Σp = 1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds._jit import entry, kernel
from bothworlds.policies.base import init, learn, pull, step, update_once, weight_of
from bothworlds.policies.ftrl.rates import same_for_all
from bothworlds.simplex.kernel import kkt_residual, solve_step
from bothworlds.simplex.steps import MULTIPLIER, TAKEN_OVER, TOTAL, GeneralStep
from oracle import step as oracle

# policy, the oracle's name of its regularizer
FAST = {
    "TsallisINF": (bw.TsallisINF(), [(1, "tsallis", 0.5)]),
    "TsallisINF, rv": (bw.TsallisINF("rv"), [(1, "tsallis", 0.5)]),
    "⅔-Tsallis": (
        bw.FTRL(bw.Tsallis(2 / 3), log_barrier=0.0, theta=1.0, alpha=0.5),
        [(1, "tsallis", 2 / 3)],
    ),
    "Tsallis, light": (bw.FTRL(bw.Tsallis(0.7), constants="light"), [(1, "tsallis", 0.7)]),
    "Tsallis, paper": (bw.FTRL(bw.Tsallis(0.3), constants="paper"), [(1, "tsallis", 0.3)]),
    "Tsallis, bare": (
        bw.FTRL(bw.Tsallis(0.3), log_barrier=0.0, theta=1.0, alpha=0.3),
        [(1, "tsallis", 0.3)],
    ),
    "EXP3": (bw.EXP3(), [(1, "shannon", None)]),
    "Shannon, light": (bw.FTRL(bw.Shannon(), constants="light"), [(1, "shannon", None)]),
    "LightBarrier": (bw.LightBarrier(), [(1, "log", None)]),
    "log-barrier, paper": (bw.FTRL(bw.LogBarrier(), constants="paper"), [(1, "log", None)]),
    "log-barrier, bare": (
        bw.FTRL(bw.LogBarrier(), log_barrier=0.0, theta=1.0, alpha=0.0),
        [(1, "log", None)],
    ),
}
DRAWN, ALL_ONES, ALTERNATING, RAREST, NOTHING = range(5)
HISTORIES = {
    "drawn": DRAWN,
    "all losses 1": ALL_ONES,
    "best arms take turns": ALTERNATING,
    "the rarest arm is forced": RAREST,
    "all losses 0": NOTHING,
}


@kernel
def choose(params, state, uniforms, history, t):
    """An arm, its loss, weight and memo."""
    n = params.n_arms
    arm, _, weight, memo = pull(params, state, uniforms)
    if history == RAREST and t % 5 == 0:
        for i in range(n):
            if 1e-9 < state.p[i] < state.p[arm]:
                arm = i
        weight = weight_of(params, state, arm)
    loss = 1.0 if uniforms[1] < (0.4 if arm == 0 else 0.6) else 0.0
    if history == ALTERNATING:
        loss = 1.0 if arm == (t // 1000) % n else 0.0
    elif history != DRAWN:
        loss = 0.0 if history == NOTHING else 1.0
    return arm, loss, weight, memo


@kernel
def difference(params, state, scratch):
    """The largest |Δp|/p against the general solver from scratch, relative to the condition 1 − log p.

    (A rounding error of y changes log p = −y/γ of Shannon entropy in proportion to log p.)
    """
    scratch[:] = 0.0
    solve_step(params.regularizer, state.losses, state.rates, params.log_barrier, 1.0, math.nan, scratch)
    largest = 0.0
    for i in range(scratch.size):
        if scratch[i] > 1e-290:
            change = abs(state.p[i] - scratch[i]) / scratch[i]
            largest = max(largest, change / (1.0 - math.log(scratch[i])))
    return largest


@entry
def audit(params, state, uniforms, history, first, every, scratch, worst):
    """Play; note the worst sum, KKT residual and (every so many rounds) difference of all rounds."""
    for t in range(first, first + uniforms.shape[0]):
        arm, loss, weight, memo = choose(params, state, uniforms[t - first], history, t)
        learn(params, state, arm, loss, weight, memo)
        if step(params, state) != 0:
            return t
        total = 0.0
        base = state.losses[0]
        for i in range(params.n_arms):
            total += state.p[i]
            base = min(base, state.losses[i])
            if same_for_all(params.rate):
                state.rates[i] = state.rates[0]
        worst[0] = max(worst[0], abs(total - 1.0))
        worst[1] = max(worst[1], abs(state.carried[TOTAL] - total))
        shift = base - state.carried[MULTIPLIER]
        defect = kkt_residual(
            params.regularizer, state.losses, state.rates, params.log_barrier, base, shift, state.p
        )
        worst[2] = max(worst[2], defect)
        if t % every == 0:
            worst[3] = max(worst[3], difference(params, state, scratch))
    return -1


def audited(policy, n_arms, history, rounds, every=1, seed=0):
    """The worst of all rounds, and the share of rounds in which the general solver had to take over."""
    params = policy.resolve(n_arms, None)
    assert not isinstance(params.step, GeneralStep)
    state = init(params)
    rng = np.random.default_rng(seed)
    worst = np.zeros(4)
    for first in range(1, rounds + 1, 10_000):
        uniforms = rng.random((min(10_000, rounds + 1 - first), 2))
        assert audit(params, state, uniforms, HISTORIES[history], first, every, np.empty(n_arms), worst) == -1
    return worst, state.carried[TAKEN_OVER] / rounds


@pytest.mark.slow  # hostile histories, below, are shorter
@pytest.mark.compiled
@pytest.mark.parametrize("name", FAST)
def test_a_million_rounds_are_exact(name):
    (total, kept, defect, difference), taken_over = audited(FAST[name][0], 10, "drawn", 1_000_000, every=20)
    assert total < 1e-13
    assert kept < 1e-14
    assert defect < 1e-13
    assert difference < 1e-13
    assert taken_over < 1e-4


@pytest.mark.parametrize("name", FAST)
def test_agree_with_60_digits(name):
    policy, parts = FAST[name]
    params = policy.resolve(6, None)
    state = init(params)
    rng = np.random.default_rng(5)
    for t in range(1, 301):
        arm, loss, weight, memo = choose(params, state, rng.random(2), DRAWN, t)
        assert update_once(params, state, arm, loss, weight, memo) == 0
        if t in (3, 30, 300):
            rates = np.full(6, state.rates[0]) if same_for_all(params.rate) else state.rates
            exact, _ = oracle.solve(state.losses, rates, parts, params.log_barrier)
            # policies hold p at e^-700, where Shannon entropy without a barrier would let it underflow
            np.testing.assert_allclose(state.p, np.array(exact, dtype=float), rtol=1e-13, atol=1e-304)


def test_what_a_fast_step_cannot_confirm_goes_to_the_general_solver():
    # one loss so large that L − λ loses its digits where λ ends up: only the general solver is exact
    params = bw.TsallisINF().resolve(2, None)
    state = init(params)
    for arm in (0, 1):
        assert update_once(params, state, arm, 1.0, 1e-12, 0) == 0
    assert state.carried[TAKEN_OVER] == 1.0
    exact, _ = oracle.solve(state.losses, np.full(2, math.sqrt(3.0)), [(1, "tsallis", 0.5)])
    np.testing.assert_allclose(state.p, np.array(exact, dtype=float), rtol=1e-13)


# they have the step of TsallisINF or LightBarrier, with other estimates or rates; 60 digits are for all
SAME_STEP = ("TsallisINF, rv", "log-barrier, paper", "log-barrier, bare")


@pytest.mark.parametrize("n_arms", [*(pytest.param(n, marks=pytest.mark.slow) for n in (2, 100)), 7])
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SAME_STEP else ()) for name in FAST]
)
def test_hostile_histories_are_exact(name, history, n_arms):
    rounds = 20 if audit.compiled is audit.python else 400_000 // (20 + n_arms)
    (total, kept, defect, difference), _ = audited(FAST[name][0], n_arms, history, rounds)
    assert total < 1e-13
    assert kept < 1e-14
    assert defect < 1e-13
    assert difference < 1e-13
