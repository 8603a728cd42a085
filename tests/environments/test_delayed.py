"""Late feedback against a naive queue."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.environments.delay import empty_queue, sample_delay
from bothworlds.policies.base import init, pull_once, read_distribution, update_once
from interpreting import plain_python  # noqa: F401 - a fixture
from oracle import worlds as oracle
from worlds import TABLE, two_best, two_best_rows

pytestmark = pytest.mark.usefixtures("plain_python")  # compiled they are the same: see the contract

POLICY = bw.TsallisINF()
T = 200


@pytest.mark.parametrize(
    "world",
    [
        en.Delayed(two_best, 0),
        en.Delayed(two_best, 7),
        en.Delayed(two_best, 500),
        en.Delayed(two_best, 4.5, law="geometric"),
        en.Delayed(two_best, 20.0, law="geometric", longest=20),
        en.Delayed(two_best, 3.0, law="heavy", longest=25),
        en.Delayed(two_best, 50.0, law="heavy"),
    ],
    ids=repr,
)
def test_every_observation_arrives_once_when_due_oldest_first(world):
    run = bw.simulate(POLICY, world, horizon=T, replications=2, seed=4, trace=True, block=37)
    for replication, trace in enumerate(run.traces[0]):
        ours, theirs, late = (bw.rng.stream(4, stream, replication) for stream in (0, 1, 3))
        draws, delays = ours.random((T, 1)), late.random(T)
        losses = two_best_rows(T, theirs.random((T, 1)), None).losses
        params = POLICY.resolve(4, T)
        state, queue, p = init(params), oracle.Queue(), np.empty(4)
        for t in range(T):
            read_distribution(params, state, p)
            assert np.array_equal(trace.p[t], p)
            arm, shown, _, weight, memo = pull_once(params, state, draws[t], 0)
            assert arm == trace.played[t]
            assert trace.losses[t] == losses[t, arm]
            delay = oracle.delay(world.law, world.mean, min(world.longest, T), delays[t])
            queue.send(t, delay, (shown, losses[t, arm], weight, memo))
            for observation in queue.arrive(t):
                update_once(params, state, *observation)
        # Tsallis-INF adds up loss/p of what has arrived, and of nothing else
        lost = [t for letters in queue.due.values() for t, _ in letters]
        arrived = np.setdiff1d(np.arange(T), lost)
        expected = np.zeros(4)
        for t in arrived:
            expected[trace.arms[t]] += trace.losses[t] / trace.p[t, trace.arms[t]]
        np.testing.assert_allclose(trace.estimates[-1], expected, rtol=1e-11)


@pytest.mark.parametrize("kind", ["fixed", "geometric", "heavy"])
@pytest.mark.parametrize("base", [two_best, en.LossTable(TABLE)], ids=repr)
def test_no_delay_is_no_delay(base, kind):
    options = {"horizon": T, "replications": 2, "seed": 3}
    plain = bw.simulate(POLICY, base, **options)
    assert np.array_equal(
        bw.simulate(POLICY, en.Delayed(base, 0, law=kind), **options).measured, plain.measured
    )


def test_what_never_arrives_teaches_nothing():
    run = bw.simulate(POLICY, en.Delayed(en.LossTable(TABLE), 300), horizon=300, trace=True)
    trace, t = run.traces[0][0], np.arange(300)
    assert (trace.p == 1 / 3).all()
    assert np.array_equal(trace.losses, TABLE[t, trace.played])
    assert run.regret[0, 0, -1] == pytest.approx(trace.losses.sum() - TABLE[:300].sum(axis=0).min())


def sampled(world, horizon=10**7, n=5000):
    """Delays at n even quantiles: how many of them are of any one kind is known up to a rounding."""
    delay = world.delay(horizon)
    return np.array([sample_delay(delay, (k + 0.5) / n) for k in range(n)])


@pytest.mark.parametrize("mean", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("kind", ["geometric", "heavy"])
def test_delays_follow_their_law(kind, mean):
    delays = sampled(en.Delayed(two_best, mean, law=kind, longest=10**6))
    n = np.arange(1000)
    # ⌊X⌋ ≤ n where X < n+1
    law = stats.geom(1 / (1 + mean), loc=-1) if kind == "geometric" else stats.lomax(2, scale=mean)
    assert law.mean() == pytest.approx(mean)
    cdf = law.cdf(n) if kind == "geometric" else law.cdf(n + 1)
    reached = np.searchsorted(np.sort(delays), n, side="right")
    np.testing.assert_allclose(reached, cdf * delays.size, rtol=0, atol=0.5 + 1e-6)
    assert (np.diff(delays) >= 0).all()


def test_long_delays_are_cut():
    delays = sampled(en.Delayed(two_best, 3.0, law="heavy", longest=10))
    assert delays.max() == 10
    assert np.mean(delays == 10) == pytest.approx((1 + 10 / 3) ** -2, abs=1e-4)
    assert set(sampled(en.Delayed(two_best, 5), n=10)) == {5}


def test_memory_is_bounded():
    def slots(world, horizon):
        return len(empty_queue(world.delay(horizon)).observations)

    assert slots(en.Delayed(two_best, 3.0, law="heavy"), 10**12) == 100_001
    assert slots(en.Delayed(two_best, 3.0, law="heavy", longest=9), 10**12) == 10
    assert slots(en.Delayed(two_best, 3.0, law="geometric"), 50) == 51
    assert slots(en.Delayed(two_best, 3), 10**12) == 4


def test_it_describes_itself_by_its_base():
    world = en.Delayed(en.LossTable(TABLE), 3)
    assert world.n_arms == 3
    assert world.regret_kind == en.LossTable.regret_kind
    assert world.gaps is None
    corrupted = en.Delayed(en.Corrupted(two_best, 5.0), 3)
    assert corrupted.gaps.tolist() == two_best.gaps.tolist()
    assert corrupted.corruption(100) == corrupted.spread(100) == 10.0
