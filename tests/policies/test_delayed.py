"""DelayedTsallisINF against its pseudocode, Tsallis-INF, and high precision."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies import delayed_tsallis_inf as kernels
from bothworlds.policies.base import before_draw, init, learn
from oracle import delayed, step
from oracle import worlds as oracle
from playing import Given


@pytest.fixture(autouse=True)
def plain_python(monkeypatch, request):
    if "compiled" not in request.keywords:
        monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")


def some_delays(law, rounds, rng):
    """Of pulls 1, 2, …; ``lost`` stands for feedback that never comes."""
    if law == "fixed":
        return [7] * rounds
    if law == "geometric":
        return (rng.geometric(0.1, rounds) - 1).tolist()
    if law == "heavy":
        return np.floor(5 * rng.pareto(1.1, rounds)).astype(int).tolist()
    if law == "lost":
        return np.where(rng.random(rounds) < 0.1, 10**9, rng.geometric(0.2, rounds) - 1).tolist()
    return np.where(np.arange(rounds) % 40 == 0, 10**9, np.arange(rounds) % 3 * 11).tolist()  # bursts


def play(policy, uniforms, losses, delays, read=lambda bandit: None):
    """A bandit whose answers come so late, on given uniforms: p and arm of every pull."""
    rounds, n = losses.shape
    bandit = bw.Bandit(n, policy)
    open_pulls, p, arms = {}, [], []
    for t in range(1, rounds + 1):
        bandit._random = Given([uniforms[t - 1]])
        pull = bandit.pull()
        p.append(bandit._distribution())  # that of the draw, until something is learned
        assert pull.probability == p[-1][pull.arm]
        arms.append(pull.arm)
        open_pulls[t] = pull
        for s in [s for s in open_pulls if s + delays[s - 1] <= t]:
            bandit.update(open_pulls.pop(s), loss=losses[s - 1, arms[s - 1]])
        read(bandit)
    bandit._set_stream(bw.rng.stream(0))
    return np.array(p), arms, bandit


@pytest.mark.parametrize(
    ("law", "skipping", "weight"),
    [("lost", True, 1.0), ("fixed", True, 0.3), ("fixed", False, 1.0), ("lost", False, 0.1)],
)
def test_plays_the_published_pseudocode(law, skipping, weight):
    rng = np.random.default_rng(3)
    rounds, n = 24, 3
    uniforms, losses = rng.random(rounds), rng.random((rounds, n))
    delays = some_delays(law, rounds, rng)
    expected, arms = delayed.zimmert_seldin(uniforms, losses, delays, weight, skipping)
    p, drawn, _ = play(bw.DelayedTsallisINF(skipping, weight=weight), uniforms, losses, delays)
    assert drawn == arms
    np.testing.assert_allclose(p, np.array(expected, dtype=float), rtol=1e-10)


@pytest.mark.parametrize("law", ["fixed", "geometric", "heavy", "lost", "bursts"])
def test_one_number_tells_which_pulls_are_skipped(law):
    rng = np.random.default_rng(5)
    skipped = 0
    for n_arms in range(2, 20):
        rounds = 120
        delays = some_delays(law, rounds, rng)
        totals, skips = delayed.counted_delays(delays, n_arms)
        params = bw.DelayedTsallisINF().resolve(n_arms, None)
        state = init(params)
        for t in range(1, rounds + 1):
            state.scalars[kernels.SOLVED] = 1.0  # the distribution plays no part in this
            before_draw(params, state, 0, np.empty(0))
            assert state.scalars[kernels.DELAY] == totals[t - 1]
            for s in range(1, t + 1):
                if s + delays[s - 1] == t:
                    learn(params, state, 0, 0.0, 1.0, float(s))
        skipped += skips
    assert skipped > 50 or law == "fixed"


def test_pulls_that_have_waited_for_long_are_skipped_in_any_case(monkeypatch):
    monkeypatch.setattr(kernels, "WINDOW", 64)
    params = bw.DelayedTsallisINF().resolve(2, None)
    state = init(params)
    for t in range(1, 301):
        state.scalars[kernels.SOLVED] = 1.0
        before_draw(params, state, 0, np.empty(0))
        if t % 2:
            learn(params, state, 0, 0.0, 1.0, float(t))
        assert state.scalars[kernels.CUT] >= t - 64
        outstanding = sum(s % 2 == 0 for s in range(int(state.scalars[kernels.CUT]) + 1, t + 1))
        assert state.scalars[kernels.COUNTED] == outstanding


def test_the_weight_of_the_hybrid_lives_in_the_state():
    rng = np.random.default_rng(8)
    params = bw.DelayedTsallisINF(weight=1.0).resolve(6, None)
    worst = 0.0
    for _ in range(8):
        state = init(params)
        losses = rng.exponential(10.0 ** rng.uniform(0, 4), 6)
        drawn, delay = 10.0 ** rng.uniform(0, 6), 10.0 ** rng.uniform(0, 9)
        state.ftrl.losses[:] = losses
        state.scalars[[kernels.DRAWN, kernels.DELAY]] = int(drawn), int(delay)
        assert kernels.solve_ahead(params, state) == 0
        rate = np.sqrt(int(drawn) + 1.0)
        weight = float(np.sqrt(int(delay) / np.log(6)) / rate)
        exact, _ = step.solve(losses, [rate] * 6, [(1, "tsallis", 0.5), (weight, "shannon", None)])
        worst = max(worst, *(abs(float(a / e - 1)) for a, e in zip(state.ftrl.p, exact, strict=True)))
    assert worst < 5e-13


@pytest.mark.parametrize("policy", [bw.DelayedTsallisINF(), bw.DelayedTsallisINF(False, weight=1.0)])
def test_without_delay_it_is_tsallis_inf(policy):
    rng = np.random.default_rng(4)
    uniforms, losses = rng.random(150), rng.random((150, 5))
    one, other = (play(each, uniforms, losses, [0] * 150) for each in (policy, bw.TsallisINF()))
    assert one[1] == other[1]
    assert np.array_equal(one[0], other[0])
    assert one[2].to_dict()["state"]["ftrl"] == other[2].to_dict()["state"]


@pytest.mark.parametrize("n_arms", [5, 1000])
def test_without_weight_it_is_tsallis_inf_whatever_the_delay(n_arms):
    assert bw.DelayedTsallisINF(weight=0.0).resolve(n_arms, None) == bw.TsallisINF().resolve(n_arms, None)


def test_what_is_read_is_what_the_next_pull_is_drawn_from_once_something_was_learned():
    rng = np.random.default_rng(2)
    rounds = 60
    read = []
    p, _, _ = play(
        bw.DelayedTsallisINF(),
        rng.random(rounds),
        rng.random((rounds, 3)),
        [4] * rounds,
        lambda bandit: read.append(bandit._distribution()),
    )
    assert np.array_equal(np.array(read)[4:-1], p[5:])


def test_a_saved_bandit_goes_on():
    rng = np.random.default_rng(1)
    _, _, bandit = play(bw.DelayedTsallisINF(), rng.random(60), rng.random((60, 3)), [9] * 60)
    twin = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    for each in (bandit, twin):
        for pull in each.outstanding[::2]:
            each.update(pull, loss=0.5)
        each.pull()
    assert bandit.to_dict()["state"] == twin.to_dict()["state"]


def test_many_pulls_at_once_are_so_many_pulls():
    bandits = [bw.Bandit(4, bw.DelayedTsallisINF(weight=1.0), seed=3) for _ in range(2)]
    for each in bandits:
        first = each.pull(10)
        each.update(first[:4], losses=[0.0, 1.0, 1.0, 0.5])
    together, single = bandits[0].pull(30), [bandits[1].pull() for _ in range(30)]
    assert together.arms.tolist() == [pull.arm for pull in single]
    assert together.probabilities.tolist() == [pull.probability for pull in single]
    assert len(set(together.probabilities)) > 10  # they move it
    for each, pulls in zip(bandits, (together, single), strict=True):
        each.update(pulls, losses=np.linspace(0, 1, 30))
    assert bandits[0].to_dict()["state"] == bandits[1].to_dict()["state"]


def test_a_restart_forgets_what_is_outstanding():
    bandit = bw.Bandit(3, bw.DelayedTsallisINF(), seed=3)
    old = bandit.pull(20)
    bandit.restart()
    bandit.update(bandit.pull(), loss=1.0)
    bandit.update(old[:5], losses=[1.0] * 5)
    assert bandit._state.scalars[[kernels.COUNTED, kernels.DELAY]].tolist() == [0.0, 0.0]


@pytest.mark.compiled
def test_the_compiled_engine_plays_the_same(monkeypatch):
    rounds, policy = 250, bw.DelayedTsallisINF()
    world = en.Delayed(en.Alternating(n_arms=4, period=60), 30.0, law="geometric", lost=0.1)
    trace = bw.simulate(policy, world, horizon=rounds, seed=2, trace=True).traces[0][0]
    ours, late = (bw.rng.stream(2, stream, 0).random(rounds) for stream in (0, 3))
    delays = [10**9 if u < 0.1 else oracle.delay("geometric", 30.0, rounds, (u - 0.1) / 0.9) for u in late]
    losses = np.zeros((rounds, 4))
    losses[np.arange(rounds), trace.arms] = trace.losses
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    p, arms, _ = play(policy, ours, losses, delays)
    assert arms == trace.played.tolist()
    np.testing.assert_allclose(p, trace.p[:-1], rtol=1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy", [bw.DelayedTsallisINF(False, weight=0.3), bw.DelayedTsallisINF(weight=1.0)]
)
def test_regret_stays_below_the_bound(policy):
    rounds, delay = 5000, 50
    world = en.Delayed(en.Alternating(n_arms=4, period=2 * delay), delay)
    run = bw.simulate(policy, world, horizon=rounds, replications=4, seed=1)
    most = bw.theory.bound(policy, n_arms=4, horizon=rounds, delay=delay * rounds).value
    assert 0.05 * most < run.regret[0, :, -1].mean() < most


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": -0.1}, r"weight must be a finite number at least 0, got -0.1"),
        ({"weight": float("nan")}, r"weight must be a finite number at least 0, got nan"),
        ({"skipping": "yes"}, r"skipping must be one of True, False, got 'yes'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.DelayedTsallisINF(**arguments)
