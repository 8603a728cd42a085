"""Regret as the theory and the literature have it: fixed seeds, wide margins, few replications."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en

pytestmark = [pytest.mark.compiled, pytest.mark.slow]  # small studies

K, GAP = 8, 0.125


def mean_regret(policy, world, horizon, replications=16, **options):
    run = bw.simulate(policy, world, horizon=horizon, replications=replications, seed=1, **options)
    return run.regret[0].mean(axis=0)


@pytest.mark.parametrize("policy", [bw.UCB1(), bw.Thompson()], ids=repr)
def test_the_constrained_adversary_misleads_stochastic_policies(policy):
    world = en.StochasticallyConstrained(n_arms=K, gap=GAP)
    early, late = mean_regret(policy, world, 10**5, checkpoints=[10**4, 10**5])
    assert late / early > 4


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.LightBarrier()], ids=repr)
def test_the_constrained_adversary_does_not_mislead_those_of_both_worlds(policy):
    world = en.StochasticallyConstrained(n_arms=K, gap=GAP)
    early, late = mean_regret(policy, world, 10**5, checkpoints=[10**4, 10**5])
    assert late / early < 3


@pytest.mark.parametrize(
    ("policy", "low", "high"), [(bw.UCB1(), 450, 540), (bw.TsallisINF(), 230, 340)], ids=repr
)
def test_regret_on_iid_losses_is_what_a_prototype_measured(policy, low, high):
    # 495 ± 11 and 285 ± 20 (two standard errors of 64 runs) at K = 8, gap 1/8, T = 10⁴
    (regret,) = mean_regret(policy, en.Bernoulli(n_arms=K, gap=GAP), 10**4, 32, checkpoints=[10**4])
    assert low < regret < high


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.LightBarrier()], ids=repr)
def test_regret_does_not_grow_with_the_number_of_optimal_arms(policy):
    regrets = [
        mean_regret(policy, en.Bernoulli(n_arms=K, gap=GAP, optimal=u), 10**4, checkpoints=[10**4])[0]
        for u in (1, 2, 4, 7)
    ]
    assert np.all(np.diff(regrets) < 0)
    assert regrets[-1] < 0.4 * regrets[0]


def test_minimax_regret_is_flat_over_the_root_of_the_horizon():
    scaled = [
        mean_regret(bw.TsallisINF(), en.Minimax(n_arms=K), horizon, checkpoints=[horizon])[0]
        / np.sqrt(K * horizon)
        for horizon in (10**3, 10**4, 10**5)
    ]
    assert max(scaled) < 1.4 * min(scaled)
    assert min(scaled) > 0.3
    assert max(scaled) < 4.0  # the bound 4√(KT) + 1


@pytest.mark.parametrize("optimal", [1, 4])
def test_uniform_play_has_its_closed_form(optimal):
    horizon, replications = 10**4, 64
    world = en.Bernoulli(n_arms=K, gap=GAP, optimal=optimal)
    run = bw.simulate(bw.Uniform(), world, horizon=horizon, replications=replications, seed=1)
    bad = (K - optimal) / K
    expected = bad * GAP * run.checkpoints  # 1093.75 or 625 at the end
    error = GAP * np.sqrt(run.checkpoints * bad * (1 - bad) / replications)
    assert (np.abs(run.regret[0].mean(axis=0) - expected) < 4.5 * error).all()
    assert run.regret[0, :, -1].std(ddof=1) == pytest.approx(
        GAP * np.sqrt(horizon * bad * (1 - bad)), rel=0.35
    )


def test_delay_costs_and_corruption_costs():
    base = en.Bernoulli(n_arms=K, gap=GAP)
    plain = bw.simulate(bw.TsallisINF(), base, horizon=10**4, replications=16, seed=1)
    late = bw.simulate(bw.TsallisINF(), en.Delayed(base, 1000), horizon=10**4, replications=16, seed=1)
    flipped = bw.simulate(bw.TsallisINF(), en.Corrupted(base, 500), horizon=10**4, replications=16, seed=1)
    before, delayed, corrupted = (run.clean_regret[0, :, -1].mean() for run in (plain, late, flipped))
    assert before + 50 < delayed < before + 1000
    assert before + 50 < corrupted < before + 2 * 500


def test_exp3_regret_grows_like_the_root_of_the_horizon_on_the_hardest_world():
    # its bound is 2·√(K·T·log K); on the minimax world a logarithm or a linear rate would show at once
    ratios = []
    for horizon in (1_000, 100_000):
        run = bw.simulate(bw.EXP3(), en.Minimax(n_arms=4), horizon=horizon, replications=32, seed=4)
        ratios.append(run.regret[0, :, -1].mean() / np.sqrt(4 * horizon * np.log(4)))
    assert max(ratios) < 2.0
    assert 0.7 < ratios[1] / ratios[0] < 1.4
