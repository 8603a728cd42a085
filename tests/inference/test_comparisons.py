"""Comparisons, contrasts, regret and forecasts, held to 40 digits and to brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import OutOfRangeError
from bothworlds.inference import comparisons
from bothworlds.inference import state as evidence_state
from bothworlds.inference.comparisons import AnyWorld, StationaryWorld
from bothworlds.inference.forecast import how_many_more, two_digits
from bothworlds.inference.intervals import arm_ends
from bothworlds.inference.regret import any_regret, stationary_regret
from bothworlds.inference.sums import logs_by_arm
from oracle import inference as oracle
from oracle.inference import mp, mpf

MEANS = (0.7, 0.45, 0.4)


def played(n=150, means=MEANS, seed=0, shares=None):
    rng = np.random.default_rng(seed)
    p = np.full(len(means), 1.0 / len(means)) if shares is None else np.array(shares)
    arms = rng.choice(len(means), n, p=p)
    rewards = (rng.random(n) < np.array(means)[arms]).astype(float)
    kept = evidence_state.init_evidence(len(means), True)
    evidence_state.take_in(kept, arms, rewards, p[arms])
    return kept.sums, arms, rewards, p


def exact(arms, rewards, p):
    """Sums of each arm, in 40 digits: of r, 1 − r, w·r, w·(1 − r)."""
    rows = []
    for arm in range(p.size):
        mine = [float(r) for a, r in zip(arms, rewards, strict=True) if a == arm]
        weight = 1 / mpf(float(p[arm]))
        flipped = [1.0 - r for r in mine]
        rows.append(
            [
                oracle.sums(mine),
                oracle.sums(flipped),
                oracle.sums([weight * mpf(r) for r in mine]),
                oracle.sums([weight * mpf(r) for r in flipped]),
            ]
        )
    return rows


def test_which_arms_are_ruled_out_in_a_stationary_world():
    sums, arms, rewards, p = played()
    rows, n = exact(arms, rewards, p), [int(value) for value in sums.pulls]
    gains, losses = [row[0] for row in rows], [row[1] for row in rows]
    found = StationaryWorld(sums).not_best()
    for arm in range(3):
        wanted = float(oracle.not_best(gains, losses, n, arm))
        assert found[arm] == pytest.approx(wanted, abs=2e-10)
        assert StationaryWorld(sums).not_best_of(arm) == found[arm]


def test_which_arms_are_ruled_out_in_any_world():
    sums, arms, rewards, p = played(seed=1)
    rows, t = exact(arms, rewards, p), len(arms)
    found = AnyWorld(sums).not_best()
    for a in range(3):
        pairs = [[x + y for x, y in zip(rows[b][2], rows[a][3], strict=True)] for b in range(3) if b != a]
        wanted = mp.log(mp.fsum(oracle.e_value(pair, t, 1) for pair in pairs) / 2)
        assert found[a] == pytest.approx(float(wanted), abs=1e-10)
    assert AnyWorld(sums).threshold(0.05) == pytest.approx(math.log(60.0))


def test_differences_of_two_arms():
    sums, arms, rewards, p = played(seed=2)
    rows, n, t = exact(arms, rewards, p), [int(value) for value in sums.pulls], len(arms)
    for a, b in ((0, 1), (1, 0), (2, 1)):
        found = StationaryWorld(sums).difference(a, b, 0.025)
        evidence = oracle.difference_evidence(rows[a][0], n[a], rows[b][1], n[b], mpf(found))
        assert float(evidence) == pytest.approx(math.log(40.0), abs=1e-7)
        pair = [x + y for x, y in zip(rows[a][2], rows[b][3], strict=True)]
        wanted = oracle.lower(pair, t, 0.025, top=2) - 1
        assert AnyWorld(sums).difference(a, b, 0.025) == pytest.approx(float(wanted), abs=1e-11)


def test_a_claim_and_its_bound_agree():
    """The evidence that a is better is 1/level exactly if the lower bound of the difference is 0."""
    for seed in range(5):
        sums, *_ = played(400, seed=seed)
        for world in (StationaryWorld(sums), AnyWorld(sums)):
            level = math.exp(-world.better(0, 1))
            if level < 0.9:
                assert world.difference(0, 1, level) == pytest.approx(0.0, abs=1e-7)


def test_contrasts_against_brute_force():
    """The smallest Σ c·m on a grid of the set that holds the means: not below the bound, nor far away."""
    sums, *_ = played(300, means=(0.8, 0.3), seed=3)
    world, level = StationaryWorld(sums), 0.05
    grid = np.linspace(0.0, 1.0, 1001)

    def evidence(logs, n, means):
        return comparisons.e_values(np.tile(logs, (means.size, 1)), n, means)

    for weights in ([1.0, 1.0], [1.0, -1.0], [-2.0, 0.5], [0.3, 0.7], [-1.0, -1.0]):
        sides = [
            evidence(world.gains[k] if c > 0 else world.losses[k], world.n[k], grid if c > 0 else 1.0 - grid)
            for k, c in enumerate(weights)
        ]
        inside = sides[0][:, None] + sides[1][None, :] <= -math.log(level)
        values = weights[0] * grid[:, None] + weights[1] * grid[None, :]
        best = values[inside].min()
        found = world.contrast(np.array(weights), level)
        assert found <= best + 1e-12
        assert found >= best - 0.002 * np.abs(weights).sum()


def test_contrast_of_one_arm_is_its_bound_and_scales():
    sums, *_ = played(300, seed=4)
    world = StationaryWorld(sums)
    low = arm_ends(sums, "stationary", 0.1).low
    for arm in range(3):
        weights = np.zeros(3)
        weights[arm] = 1e6
        assert world.contrast(weights, 0.05) == pytest.approx(1e6 * low[arm], rel=1e-9)
    assert world.contrast(np.zeros(3), 0.05) == 0.0
    empty = StationaryWorld(evidence_state.init_evidence(3, False).sums)
    assert empty.contrast(np.array([1.0, -2.0, 0.0]), 0.05) == -2.0


def test_many_rivals_are_cut_on_the_safe_side(monkeypatch):
    sums, *_ = played(3000, means=np.linspace(0.2, 0.9, 12), seed=5)
    every = StationaryWorld(sums).not_best()
    monkeypatch.setattr(comparisons, "RIVALS", 4)
    few = StationaryWorld(sums).not_best()
    assert np.all(few <= every + 1e-9)
    losers = every > 0.0
    assert losers.sum() > 5
    assert few[losers] == pytest.approx(every[losers], abs=0.1)


def test_regret_of_a_stationary_world():
    sums, *_ = played(2000, seed=6, shares=(0.6, 0.3, 0.1))
    low, high = arm_ends(sums, "stationary", 0.05 / 3).low, arm_ends(sums, "stationary", 0.05 / 3).high
    n, best = sums.pulls, low.max()
    least = sum(n[a] * max(0.0, best - high[a]) for a in range(3))
    most = max(
        sum(n[a] * max(0.0, high[b] - low[a]) for a in range(3) if a != b)
        for b in range(3)
        if high[b] >= best
    )
    assert stationary_regret(sums, 0.05)[::2] == pytest.approx((least, most))
    tight = stationary_regret(sums, 0.05, tight=True)
    truth = float(n @ (0.7 - np.array(MEANS)))
    assert least < tight[0] < truth < most
    assert tight[2] == pytest.approx(most)


def test_regret_of_any_world():
    sums, arms, rewards, p = played(120, seed=7, shares=(0.5, 0.3, 0.2))
    found, t = any_regret(sums, 0.05), len(arms)
    lows, highs = [], []
    for b in range(3):
        up = [r / p[b] + 1.0 - r if a == b else 1.0 - r for a, r in zip(arms, rewards, strict=True)]
        down = [(1.0 - r) / p[b] + r if a == b else r for a, r in zip(arms, rewards, strict=True)]
        lows.append(oracle.lower(oracle.sums(up), t, 0.05 / 6, top=2) - 1)
        highs.append(1 - oracle.lower(oracle.sums(down), t, 0.05 / 6, top=2))
    assert found[0] == pytest.approx(float(max(lows)), abs=1e-11)
    assert found[2] == pytest.approx(float(max(highs)), abs=1e-11)
    assert found[0] <= found[1] <= found[2]


def test_how_much_longer():
    sums, *_ = played(600, seed=8)
    for world in ("stationary", "any"):
        assert how_many_more(sums, 0, world, 0.05) is None  # the best: not in sight
        more = how_many_more(sums, 1, world, 1e-12)
        assert more.if_they_fall >= more.if_propensities_hold > 0
        later, *_ = played(600, seed=8)
        factor = 1.0 + more.if_propensities_hold / 600
        compared = (
            StationaryWorld(later, np.full(3, factor)) if world == "stationary" else AnyWorld(later, factor)
        )
        assert compared.not_best_of(1) >= compared.threshold(1e-12)
        assert how_many_more(sums, 1, world, 0.5).if_propensities_hold == 0
    assert how_many_more(evidence_state.init_evidence(3, False).sums, 1, "stationary", 0.05) is None
    assert [two_digits(value) for value in (0.0, 3.2, 99.5, 1234.0, 1e9)] == [0, 4, 100, 1300, 10**9]


def test_many_claims():
    assert bw.inference.e_bh([math.log(100.0), 0.0, math.log(45.0), math.log(41.0)]).tolist() == [0, 2, 3]
    assert bw.inference.e_bh([math.log(79.0), 0.0, math.log(39.0), 0.0]).tolist() == []
    assert bw.inference.e_bh([]).tolist() == []
    with pytest.raises(OutOfRangeError, match="error"):
        bw.inference.e_bh([1.0], error=1.5)


def test_equal_arms_are_seldom_told_apart():
    wrong = 0
    for seed in range(200):
        sums, *_ = played(400, means=(0.5, 0.5), seed=seed)
        wrong += bool((StationaryWorld(sums).not_best() >= math.log(20.0)).any())
    assert wrong <= 200 * 0.05


def test_logs_are_what_comparisons_use():
    sums, *_ = played(50)
    assert np.array_equal(StationaryWorld(sums).gains, logs_by_arm(sums)[:, 0])
