"""Evidence of simulated runs: what a bandit that plays the same rounds says, at every checkpoint."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import rng
from bothworlds.environments.base import add_to_totals, open_world, prepare
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.checkpoints import CheckpointEvidence, Truth, evidence_at_checkpoint
from bothworlds.inference.statements import Evidence
from bothworlds.simulation.job import POLICY_STREAM
from bothworlds.simulation.series import play_series

E = bw.environments
ROUNDS, MARKS = 600, np.array([1, 7, 40, 150, 151, 420, 600])
WORLD = E.Bernoulli(means=[0.2, 0.55, 0.6])


def told(bandit, means, full):
    """The numbers of a look, from what the bandit says to its user, who reports losses."""
    found = []
    leader = int(np.argmax([bandit.evidence().state.sums.pulls[i] for i in range(3)]))
    for world in ("stationary", "any"):
        if world == "any" and not full:
            found += [math.nan] * 4
            continue
        evidence = bandit.evidence(world=world, joint=True)
        intervals = [evidence[arm] for arm in range(3)]
        missed = any(mean not in interval for mean, interval in zip(means, intervals, strict=True))
        found += [len(evidence.standing), 0 in evidence.ruled_out, missed, intervals[leader].width]
    return [*map(float, found), float(bool(bandit.evidence().drift))]


@pytest.mark.compiled
@pytest.mark.parametrize("delay", [0, 23])
@pytest.mark.parametrize(("policy", "kind"), [(bw.TsallisINF(), "full"), (bw.UCB1(), "arms")], ids=repr)
def test_the_bandit_of_the_same_rounds_says_the_same(policy, kind, delay, monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")  # the bandit
    world = E.Delayed(WORLD, delay) if delay else WORLD
    how = {"horizon": ROUNDS, "seed": 4, "replications": range(3, 5)}
    looks = play_series(policy, world, marks=MARKS, evidence=True, **how).looks
    run = bw.simulate(policy, world, trace=True, **how)
    assert looks.shape == (2, MARKS.size, len(CheckpointEvidence._fields))
    for replication, trace, seen in zip(how["replications"], run.traces[0], looks, strict=True):
        bandit = bw.Bandit(3, policy, horizon=ROUNDS, evidence=kind)
        bandit._set_stream(rng.stream(4, POLICY_STREAM, replication))
        pulls = []
        for t in range(1, ROUNDS + 1):
            pulls.append(bandit.pull())
            assert pulls[-1].arm == trace.arms[t - 1]
            if t > delay:
                bandit.update(pulls[t - 1 - delay], loss=trace.losses[t - 1 - delay])
            if t in MARKS:
                wanted = told(bandit, WORLD.means, kind == "full")
                np.testing.assert_allclose(seen[t == MARKS][0], wanted, rtol=1e-12, err_msg=str(t))
    assert looks[:, -1, 0].max() < 3.0  # something is known
    assert np.isnan(looks[..., 4]).all() == (kind == "arms")


@pytest.mark.compiled
def test_watching_changes_nothing():
    how = {"horizon": ROUNDS, "seed": 4, "replications": range(6), "marks": MARKS}
    alone, watched = (play_series(bw.TsallisINF(), WORLD, evidence=seen, **how) for seen in (False, True))
    assert alone.looks is None
    np.testing.assert_array_equal(alone.measured, watched.measured)


@pytest.mark.compiled
def test_after_the_end_of_a_log_nobody_looks():
    random = np.random.default_rng(1)
    arms = random.integers(0, 2, 300)
    log = E.Logged(arms, (random.random(300) < 0.5).astype(float), np.full(300, 0.5))
    seen = play_series(
        bw.TsallisINF(),
        log,
        horizon=400,
        replications=range(2),
        seed=1,
        marks=np.array([50, 400]),
        evidence=True,
    )
    assert (seen.looks[:, 0, 0] == 2.0).all()
    assert np.isnan(seen.looks[:, 1]).all()
    assert np.isnan(seen.measured[:, 1]).all()


def test_policies_that_look_elsewhere_are_refused():
    with pytest.raises(InvalidArgumentError, match="observes the arm it plays"):
        play_series(
            bw.DecoupledTsallisINF(),
            WORLD,
            horizon=9,
            replications=range(1),
            seed=1,
            marks=MARKS,
            evidence=True,
        )


def kept_of(means, n=900):
    from bothworlds.inference import state as evidence_state

    random = np.random.default_rng(3)
    kept = evidence_state.init_evidence(len(means), True)
    arms = random.integers(0, len(means), n)
    rewards = (random.random(n) < np.array(means)[arms]).astype(float)
    evidence_state.take_in(kept, arms, rewards, np.full(n, 1.0 / len(means)))
    return kept


def test_what_a_look_knows_depends_on_the_truth():
    kept = kept_of([0.9, 0.3])
    right = Truth([0], np.array([0.9, 0.3]), still=True)
    seen = evidence_at_checkpoint(kept, right)
    assert (seen.standing, seen.wrong, seen.missed) == (1.0, 0.0, 0.0)
    assert (seen.any_standing, seen.any_wrong, seen.any_missed) == (1.0, 0.0, 0.0)
    assert seen.width == Evidence(kept, (0, 1), joint=True)[int(kept.sums.pulls.argmax())].width
    mistaken = evidence_at_checkpoint(kept, Truth([1], np.array([0.9, 0.5]), still=True))
    assert (mistaken.wrong, mistaken.missed, mistaken.any_wrong, mistaken.any_missed) == (1.0,) * 4
    moving = evidence_at_checkpoint(
        kept, right._replace(still=False)
    )  # nothing is promised of a mean that moves
    assert np.isnan(moving.missed)
    assert moving.any_missed == 0.0
    nobody = evidence_at_checkpoint(kept, Truth(None, None, still=False))
    assert np.isnan([nobody.wrong, nobody.missed, nobody.any_wrong, nobody.any_missed]).all()
    certain = evidence_at_checkpoint(kept, right, error=1e-300)
    assert (certain.standing, certain.any_standing) == (2.0, 2.0)
    assert certain.width > seen.width


def test_worlds_know_what_their_arms_have_shown():
    moving = E.Drifting(n_arms=3, period=50)
    params = moving.parameters(100)
    world = open_world(params)
    for t in range(1, 41):
        prepare(params, world, t, np.empty(3), np.empty(1))
        add_to_totals(params, world)
    t, i = np.arange(1, 41)[:, None], np.arange(3)
    means = moving.level + moving.amplitude * np.sin(2 * np.pi * (t / 50 + i / 3))
    np.testing.assert_allclose(moving.mean_losses_so_far(world, 40), means.mean(axis=0), rtol=1e-12)
    assert not moving.stationary
    assert E.Delayed(moving, 3).mean_losses_so_far(world, 40) is not None
    still = E.Delayed(WORLD, 3)
    assert still.stationary
    np.testing.assert_array_equal(still.mean_losses_so_far(None, 9), [0.2, 0.55, 0.6])
    faked = E.Faked(moving, arm=1, first=2, last=5)
    assert faked.mean_losses_so_far(world, 40) is None
    assert not E.Faked(WORLD, arm=1, first=2, last=5).stationary
    constrained = E.StochasticallyConstrained(n_arms=2, gap=0.2)
    assert constrained.mean_losses_so_far(open_world(constrained.parameters(9)), 9) is None
