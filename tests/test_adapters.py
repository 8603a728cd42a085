"""Worlds, policies and logs of other packages: gymnasium's own checker, and a policy written twice."""

from __future__ import annotations

import csv
import math
import random

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.adapters import from_gymnasium, to_gymnasium, write_open_bandit
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments import parse, run_study
from bothworlds.simulation.trace import Trace

gymnasium = pytest.importorskip("gymnasium")
E = bw.environments


class Index:
    """UCB1 of rewards, transcribed: Auer, Cesa-Bianchi and Fischer 2002."""

    def __init__(self, n_arms):
        self.sums, self.counts = np.zeros(n_arms), np.zeros(n_arms)

    def select(self):
        if (self.counts == 0).any():
            return int(np.argmin(self.counts))
        width = np.sqrt(2.0 * math.log(self.counts.sum() + 1) / self.counts)
        return int(np.argmax(self.sums / self.counts + width))

    def update(self, arm, reward):
        self.sums[arm] += reward
        self.counts[arm] += 1


class TheirUCB(bw.policies.PythonPolicy, name="their-ucb"):
    def make(self, n_arms, horizon, seed):
        return Index(n_arms)


class Random(bw.policies.PythonPolicy, name="their-random"):
    def make(self, n_arms, horizon, seed):
        return random.Random(seed), n_arms

    def select(self, player):
        return player[0].randrange(player[1])

    def update(self, player, arm, reward):
        assert 0.0 <= reward <= 1.0


def test_a_policy_in_python_plays_as_its_twin():
    world = E.Bernoulli(n_arms=3, gap=0.3)
    how = {"horizon": 200, "replications": 2, "seed": 3, "jobs": 1}
    theirs, ours = (bw.simulate(policy, world, **how).regret for policy in (TheirUCB(), bw.UCB1()))
    np.testing.assert_allclose(theirs, ours, atol=1e-9)


def test_replications_are_independent_and_can_be_repeated():
    world = E.Bernoulli(n_arms=4, gap=0.3)
    one, two = (bw.simulate(Random(), world, horizon=100, replications=3, seed=1).regret for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert len(set(one[0, :, -1])) > 1
    rest = bw.simulate(Random(), world, horizon=100, replications=range(1, 3), seed=1).regret
    np.testing.assert_array_equal(rest, one[:, 1:])


def test_in_a_study_and_its_report(tmp_path):
    text = """
    horizon = 60
    replications = 2
    [[policy]]
    kind = "their-random"
    [[policy]]
    kind = "their-ucb"
    [[environment]]
    kind = "bernoulli"
    n_arms = 3
    gap = 0.2
    """
    run_study(parse(text), tmp_path / "s", jobs=1, executor="threads", progress=False)
    study = bw.Study.load(tmp_path / "s")
    assert study.complete
    assert study.summary["policy"].tolist() == ["Random", "TheirUCB"]
    shares = study.probabilities(0)
    last = shares[shares["round"] == 60]["probability"]
    assert last.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(last * 60, np.round(last * 60))  # pulls, of sixty


class Wrong(bw.policies.PythonPolicy, name="their-mistake"):
    def make(self, n_arms, horizon, seed):
        return None

    def select(self, player):
        return 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bw.simulate(Wrong(), E.Bernoulli(n_arms=3, gap=0.1), horizon=5),
            r"select\(\) must be an arm in 0\.\.2, got 7",
        ),
        (
            lambda: bw.simulate(Random(), E.FavoriteAttack(n_arms=3), horizon=5),
            r"policy must be one that tells its distribution: FavoriteAttack\(n_arms=3\) reads it",
        ),
        (
            lambda: bw.Bandit(3, Random()),
            "policy must be one that tells its probabilities, .* studies play it",
        ),
        (
            lambda: to_gymnasium(E.FavoriteAttack(n_arms=3), horizon=5),
            "does not read the policy's distribution",
        ),
        (
            lambda: to_gymnasium(E.Delayed(E.Bernoulli(n_arms=3, gap=0.1), mean=2.0), horizon=5),
            "feedback comes at once",
        ),
        (lambda: to_gymnasium(E.Bernoulli(n_arms=3, gap=0.1), horizon=0), "horizon must be at least 1"),
        (lambda: to_gymnasium("world", horizon=3), "environment must be an environment"),
        (lambda: from_gymnasium(lambda: gymnasium.make("Pendulum-v1")), "with discrete actions"),
        (lambda: write_open_bandit("log", "x.csv"), "trace must be a Trace"),
    ],
)
def test_what_is_refused(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=message):
        call()
    assert not list(tmp_path.iterdir())


WORLDS = [
    E.Bernoulli(n_arms=3, gap=0.3),
    E.Switching(n_arms=3, gap=0.3),
    E.Logged([0, 1, 0, 1], [1, 0, 1, 1], [0.5] * 4),
]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the checker, about what it cannot check here
def test_gymnasiums_own_checker(world):
    from gymnasium.utils.env_checker import check_env

    check_env(to_gymnasium(world, horizon=20), skip_render_check=True)


def test_regret_in_gymnasium_is_ours():
    env = to_gymnasium(E.Bernoulli(means=[0.2, 0.7]), horizon=50)
    env.reset(seed=1)
    told = [env.step(arm)[4]["regret"] for arm in (0, 1, 1, 0)]
    assert told == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_there_and_back():
    coins = E.Bernoulli(means=[0.2, 0.8, 0.5])
    world = from_gymnasium(lambda: to_gymnasium(coins, horizon=300))
    losses = world.losses(np.random.default_rng(1), 0, 3000)
    assert losses.shape == (3000, 3)
    assert repr(world) == "GymnasiumWorld(<BanditEnv instance>, n_arms=3, low=0, high=1)"
    np.testing.assert_allclose(losses.mean(axis=0), coins.means, atol=4 * 0.5 / math.sqrt(3000))
    scaled = from_gymnasium(lambda: to_gymnasium(coins, horizon=300), low=-1.0, high=1.0)
    assert set(np.unique(scaled.losses(np.random.default_rng(1), 0, 50))) == {0.0, 0.5}


def trace(policy, losses, played=None):
    arms, p = np.array([0, 2, 2]), np.array([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7], [1 / 3] * 3, [1 / 3] * 3])
    nothing = np.full_like(p, np.nan)
    return Trace(policy, 3, None, arms, np.array(losses), p, nothing, nothing, played)


def test_an_open_bandit_log(tmp_path):
    with write_open_bandit(trace(bw.TsallisINF(), [0.0, 1.0, 0.0]), tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {name: [float(row[name]) for row in rows] for name in rows[0]}
    assert columns == {
        "timestamp": [1, 2, 3],
        "item_id": [0, 2, 2],
        "position": [1, 1, 1],
        "click": [1, 0, 1],
        "propensity_score": [0.5, 0.7, 1 / 3],  # to the bit
    }
    for wrong, message in (
        (trace(bw.TsallisINF(), [0.0, 0.25, 0.0]), r"losses 0 and 1: .*, got a loss of 0\.25"),
        (trace(bw.TsallisINF(), [0.0, 1.0, 0.0], np.array([0, 1, 2])), "observes the arm it plays"),
        (trace(Random(), [0.0, 1.0, 0.0]), "tells its probabilities"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            write_open_bandit(wrong, tmp_path / "no.csv")
    assert not (tmp_path / "no.csv").exists()
