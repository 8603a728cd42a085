"""The watch: against its oracle round by round, its promises, what it refuses, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds._jit import entry
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.policies.base import init, memo_of, outdated, pull_once, read_distribution, update_once
from bothworlds.policies.ftrl.state import LOSS_COUNT, LOSS_SUM
from bothworlds.policies.watched.state import DOUBT, FAVORITE, NONE, RESTARTS, SEEN, TRIALS
from bothworlds.policies.watched.trial import restart_inside
from bothworlds.statefile import pack
from oracle import watched
from playing import Player, agree, bernoulli, interpret, play, quantile


class Base:
    """A policy for the oracle to watch over: the package's own, which has an oracle of its own."""

    def __init__(self, policy, n_arms):
        self.policy, self.n_arms = policy, n_arms
        self.player = Player(policy, n_arms)

    @property
    def p(self):
        return self.player.p

    def update(self, arm, loss, weight):
        self.player.update(arm, loss, weight, 0.0)

    def restart(self, total, count):
        self.player = Player(self.policy, self.n_arms)
        if hasattr(self.player.state, "carried"):
            self.player.state.scalars[LOSS_SUM] = total
            self.player.state.scalars[LOSS_COUNT] = count


def compare(policy, losses, seed, trials=0.0):
    """Same distribution in every round, same verdicts; return the oracle and the player.

    ``trials`` is what earlier ones have cost.
    """
    n_arms = losses.shape[1]
    player = Player(policy, n_arms)
    centered = policy.policy != bw.TsallisINF()
    base = Base(policy.policy, n_arms)
    oracle = watched.Watched(base, n_arms, policy.explore, policy.budget, centered=centered)
    oracle.trials = player.state.scalars[TRIALS] = trials
    for t, uniform in enumerate(np.random.default_rng(seed).random(len(losses))):
        p = np.array(oracle.p)
        agree(player.p, p, 1e-9, t)
        arm, shown, weight, memo = player.act(uniform)
        assert arm == shown == quantile(p, uniform)
        agree(weight, p[arm], 1e-9, t)
        assert player.update(arm, losses[t, arm], weight, memo) == 0
        oracle.update(arm, losses[t, arm], weight)
        assert player.state.scalars[TRIALS] == pytest.approx(oracle.trials, rel=1e-9)
    return oracle, player


def change(before, after, rounds, seed):
    return np.vstack([bernoulli(before, rounds, seed), bernoulli(after, rounds, seed + 1)])


# success rates 10% and 5%, of which the best falls to 2% and another rises to 10%; and 60% and 40% likewise
WORLDS = {
    "A": ([0.9, 0.95, 0.95, 0.95, 0.95], [0.98, 0.9, 0.95, 0.95, 0.95]),
    "B": ([0.4, 0.6, 0.6, 0.6, 0.6], [0.8, 0.4, 0.6, 0.6, 0.6]),
    "iid": ([0.4, 0.6, 0.6, 0.6, 0.6], [0.4, 0.6, 0.6, 0.6, 0.6]),
    "season": ([0.3, 0.5, 0.5, 0.5, 0.5], [0.6, 0.78, 0.78, 0.78, 0.78]),
    "faller": ([0.3, 0.5, 0.5, 0.5, 0.5], [0.6, 0.5, 0.5, 0.5, 0.5]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_is_its_oracle_round_by_round(world):
    for seed in range(2):
        oracle, player = compare(bw.Watched(bw.LightBarrier()), change(*WORLDS[world], 2000, seed), seed)
        assert player.state.scalars[RESTARTS] == sum(verdict == "confirm" for _, verdict in oracle.verdicts)
        assert player.state.scalars[DOUBT] == oracle.q
        if world in ("B", "faller"):
            assert oracle.verdicts[0][1] == "confirm"
        if world == "season":
            assert "reject" in {verdict for _, verdict in oracle.verdicts}
        if world == "iid":
            assert not oracle.verdicts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "n_arms"),
    [
        (bw.Watched(bw.TsallisINF("rv")), 3),
        (bw.Watched(bw.EpsilonGreedy(0.1), explore=0.2, budget=1.0), 2),
    ],
    ids=repr,
)
def test_is_its_oracle_over_other_policies_and_losses(policy, n_arms):
    """Back and forth, with losses between 0 and 1."""
    random = np.random.default_rng(7)
    means = np.full(n_arms, 0.6)
    blocks = []
    for block in range(8):
        means = np.roll(means, 1) if block % 3 else np.clip(1.3 * means, 0.1, 0.9)
        means[0] = 0.2 if block % 2 else 0.5
        blocks.append(random.beta(2 * means, 2 * (1 - means), (500, n_arms)))
    oracle, player = compare(policy, np.vstack(blocks), 3)
    assert oracle.verdicts
    assert player.state.scalars[RESTARTS] == sum(verdict == "confirm" for _, verdict in oracle.verdicts)


@pytest.mark.parametrize("base", [bw.TsallisINF(), bw.LightBarrier()], ids=repr)
def test_no_trial_while_trials_have_cost_more_than_the_cap(base, monkeypatch):
    """All arms become worse: a trial is in vain. Where trials have cost much, it is cut short, or none."""
    interpret(monkeypatch, pull_once, update_once, read_distribution)
    losses = np.vstack([bernoulli([0.1, 0.5, 0.5], 200, 1), bernoulli([0.5, 0.9, 0.9], 200, 2)])
    lengths = []
    for trials in (0.0, 25.5, 1e3):
        oracle, player = compare(bw.Watched(base, budget=1.0), losses, 4, trials)
        lengths.append(sum(player.state.trial_counts) if oracle.verdicts else 0)
        assert player.state.scalars[RESTARTS] == 0.0
    assert lengths[0] > lengths[1] > lengths[2] == 0


def test_verdicts_are_all_met():
    """All arms move together every 150 rounds, and no money but 2√K."""
    met = set()
    for gap, seed in ((0.05, 0), (0.05, 1), (0.1, 0)):
        means = np.array([0.5 - gap, 0.5, 0.5, 0.5, 0.5, 0.5])
        blocks = [bernoulli(means + 0.3 * (block % 2), 150, 100 * seed + block) for block in range(32)]
        oracle, _ = compare(bw.Watched(bw.LightBarrier(), budget=0.0), np.vstack(blocks), seed)
        met |= {verdict for _, verdict in oracle.verdicts}
    assert met == {"confirm", "reject", "back", "unresolved"}


def in_a_trial(policy=None, rounds=3000):
    """A player in the midst of a trial."""
    before, after = WORLDS["B"]
    losses = change(before, after, rounds, 5)
    player = Player(policy or bw.Watched(bw.LightBarrier()), 5)
    for row, uniform in zip(losses, np.random.default_rng(6).random(len(losses)), strict=True):
        arm, _, weight, memo = player.act(uniform)
        player.update(arm, row[arm], weight, memo)
        if player.state.scalars[FAVORITE] != NONE and player.state.trial_counts.sum() >= 5:
            return player
    raise AssertionError("no trial")


def test_draws_from_the_mixture_in_a_trial():
    player = in_a_trial()
    inside, shares = np.array(player.state.policy.p), np.array(player.state.shares)
    assert shares[int(player.state.scalars[FAVORITE])] == 0.0
    expected = 0.6 * inside + 0.4 * shares / shares.sum()
    np.testing.assert_allclose(player.p, expected, rtol=1e-14)
    count = 20_000
    pulls = [player.act(uniform) for uniform in (np.arange(count) + 0.5) / count]
    np.testing.assert_allclose(np.bincount([pull[0] for pull in pulls]), count * expected, atol=1.01)
    assert all(pull[2] == player.p[pull[0]] for pull in pulls)


def test_late_feedback_from_before_a_restart_does_not_reach_the_policy():
    player = in_a_trial()
    late = [player.act(uniform) for uniform in (0.1, 0.5, 0.9)]
    random = np.random.default_rng(8)
    after = WORLDS["B"][1]
    while player.state.scalars[RESTARTS] == 0.0:
        arm, _, weight, memo = player.act(random.random())
        player.update(arm, float(random.random() < after[arm]), weight, memo)
    p, seen = player.p, player.state.scalars[SEEN]
    np.testing.assert_allclose(p, 0.2, rtol=1e-14)
    assert player.state.policy.scalars[LOSS_COUNT] == player.state.trial_counts.sum()
    for arm, _, weight, memo in late:
        player.update(arm, 1.0, weight, memo)
    np.testing.assert_array_equal(player.p, p)
    assert player.state.scalars[SEEN] == seen + 3
    arm, _, weight, memo = player.act(0.5)
    player.update(arm, 1.0, weight, memo)
    assert player.p[arm] < p[arm]


def test_saves_replays_and_survives_trials_and_restarts():
    """A bandit that is saved every hundred rounds plays as one that is not, and as its replay."""
    losses = change(*WORLDS["B"], 1500, 5)
    arms, p = [[], []], [[], []]
    bandits = [bw.Bandit(5, bw.Watched(bw.LightBarrier()), seed=6) for _ in range(2)]
    states = set()
    for t, row in enumerate(losses):
        for k in range(2):
            p[k].append(list(bandits[k].probabilities.values()))
            pull = bandits[k].pull()
            arms[k].append(pull.arm)
            bandits[k].update(pull, loss=row[pull.arm])
        if t % 10 == 0:
            bandits[1] = bw.Bandit.from_dict(bandits[1].to_dict())
            scalars = bandits[1].to_dict()["state"]["scalars"]
            states.add((scalars[FAVORITE] != NONE, scalars[RESTARTS]))
    assert states >= {(False, 0.0), (True, 0.0), (False, 1.0)}
    assert arms[0] == arms[1]
    assert p[0] == p[1]
    seen = losses[np.arange(len(losses)), arms[0]]
    trace = bw.replay(bw.Watched(bw.LightBarrier()), n_arms=5, arms=arms[0], losses=seen, seed=6)
    np.testing.assert_array_equal(trace.p[:-1], p[0])


@pytest.mark.parametrize(
    "policy",
    [
        bw.BroadOMD(),
        bw.Ito21(),
        bw.LBINFV(),
        bw.CountedBarrier(),
        bw.EXP3P(),
        bw.EXP3PlusPlus(),
        bw.SAO(),
        bw.BARBAR(),
        bw.EliminationRace(),
        bw.Uniform(),
        bw.FTRL(bw.Shannon(), constants="light"),
    ],
    ids=repr,
)
def test_starts_any_policy_again_as_it_was(policy):
    """Whatever is inside, a restart is what ``init`` gave. Not compiled: that takes longer than all else."""
    params = bw.Watched(policy).resolve(3, 1000)
    state, other = init(params), init(params)
    random = np.random.default_rng(9)
    for uniform in random.random((60, 1)):
        arm, _, _, weight, memo = pull_once.py_func(params, state, uniform, 0)
        update_once.py_func(params, state, arm, float(random.random() < 0.3 + 0.2 * arm), weight, memo)
    restart_inside(params, state, 0)
    assert pack(state.policy) == pack(other.policy) == pack(state.fresh)
    assert outdated(memo, state.scalars[RESTARTS])
    assert not outdated(memo_of(params, state, 0, np.zeros(1)), state.scalars[RESTARTS])


@entry
def restart_once(params, state):
    """``restart``, compiled."""
    restart_inside(params, state, 0)


def spoil(state):
    for part in state:
        if isinstance(part, tuple):
            spoil(part)
        else:
            part[:] += 1.0


@pytest.mark.parametrize(("policy", "n_arms"), [(bw.TsallisINF(), 500), (bw.Ito21(), 3)], ids=repr)
def test_compiled_code_copies_states_of_any_shape(policy, n_arms):
    params = bw.Watched(policy).resolve(n_arms, None)
    state, fresh = init(params), pack(init(params))
    spoil(state.policy)
    assert pack(state.policy) != fresh["policy"]
    restart_once(params, state)
    assert pack(state.policy) == fresh["policy"]


def test_recovers_from_a_change_of_the_best_arm():
    """What it is for: a fifth of the regret after the change, at most."""
    regret = []
    before, after = WORLDS["B"]
    losses = change(before, after, 4000, 11)
    for policy in (bw.Watched(bw.LightBarrier()), bw.LightBarrier()):
        _, arms = play(policy, losses, seed=12)
        regret.append(sum(after[arm] - min(after) for arm in arms[4000:]))
    assert regret[0] < 0.2 * regret[1]


@pytest.mark.parametrize(
    "policy",
    [bw.Thompson(), bw.UCB1(), bw.KLUCB(), bw.DecoupledTsallisINF(), bw.Watched(bw.TsallisINF())],
    ids=repr,
)
def test_refuses_what_does_not_draw_from_explicit_probabilities(policy):
    with pytest.raises(
        InvalidArgumentError, match=r"explicit probabilities.*these do: .*LightBarrier"
    ) as info:
        bw.Watched(policy)
    assert "Thompson" not in str(info.value).split("these do:")[1]


def test_refuses_bad_options():
    for options in ({"budget": -0.1}, {"explore": 0.0}, {"explore": 1.0}):
        with pytest.raises(OutOfRangeError, match=next(iter(options))):
            bw.Watched(bw.LightBarrier(), **options)
    with pytest.raises(InvalidArgumentError, match=r"write LightBarrier\(\)"):
        bw.Watched(bw.LightBarrier)
