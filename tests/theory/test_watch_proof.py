"""What a watch may cost: each step of docs/watch-proof.md, on games with trials and restarts."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.policies.base import pull_once, read_distribution, update_once
from bothworlds.policies.watched.state import FAVORITE, NONE, RESTARTS, TRIALS
from playing import Player, bernoulli, interpret

ROUNDING = 1e-9
EXPLORE = 0.4
B = 1.0 / (1.0 - EXPLORE)


class Game(NamedTuple):
    """Round by round: p of the policy inside, P in force, the arm drawn, all losses, and after the round."""

    p: np.ndarray
    mixed: np.ndarray
    arm: np.ndarray
    losses: np.ndarray
    restarts: np.ndarray
    """How often the policy inside was restarted, after each round."""
    trials: np.ndarray
    """What trials have cost, as the watch has it after each round."""
    in_trial: np.ndarray

    @property
    def drawn(self):
        return np.arange(len(self.arm)), self.arm

    @property
    def estimates(self):
        found = np.zeros_like(self.losses)
        found[self.drawn] = self.losses[self.drawn] / self.mixed[self.drawn]
        return found

    @property
    def costs(self):
        """(1 − p_a/P_a)·ℓ_a."""
        return (1.0 - self.p[self.drawn] / self.mixed[self.drawn]) * self.losses[self.drawn]

    @property
    def epochs(self):
        """First and last + 1 of the rounds between restarts."""
        last = np.flatnonzero(np.diff(self.restarts, prepend=0.0)) + 1
        return list(itertools.pairwise([0, *last, len(self.arm)]))

    @property
    def rates(self):
        return np.concatenate([np.sqrt(np.arange(1, end - first + 1)) for first, end in self.epochs])


def play(losses, seed):
    policy = bw.Watched(bw.TsallisINF(), explore=EXPLORE, budget=1.0)
    n_arms = losses.shape[1]
    player, rows = Player(policy, n_arms), []
    inside = np.empty(n_arms)
    for row, uniform in zip(losses, np.random.default_rng(seed).random(len(losses)), strict=True):
        read_distribution(player.params.policy, player.state.policy, inside)
        scalars, mixed = player.state.scalars, player.p
        in_trial = scalars[FAVORITE] != NONE
        arm, _, weight, memo = player.act(uniform)
        assert weight == mixed[arm]
        player.update(arm, row[arm], weight, memo)
        rows.append((inside.copy(), mixed, arm, row, scalars[RESTARTS], scalars[TRIALS], in_trial))
    return Game(*(np.array(column) for column in zip(*rows, strict=True)))


def swaps(n_arms, every, rounds, low, high, seed):
    """The best arm falls every so many rounds, and the next one rises."""
    means = [
        [low if i == block % n_arms else high for i in range(n_arms)] for block in range(rounds // every)
    ]
    return np.vstack([bernoulli(row, every, seed + block) for block, row in enumerate(means)])


@pytest.fixture(scope="module")
def games():
    """Restarts and trials in plenty; and all arms together up and down, where trials find nothing."""
    seasons = [
        bernoulli(np.array([0.1, 0.3, 0.3, 0.3]) + 0.5 * (block % 2), 200, block) for block in range(10)
    ]
    with pytest.MonkeyPatch.context() as patch:
        interpret(patch, pull_once, update_once, read_distribution)
        played = [play(swaps(3, 300, 2400, 0.1, 0.8, 1), 2), play(np.vstack(seasons), 3)]
    assert played[0].restarts[-1] >= 3
    assert played[1].in_trial.sum() >= 50
    return played


def test_what_a_trial_costs_is_estimated_without_bias_in_steps_of_at_most_one(games):
    """E[(1 − p_a/P_a)(ℓ_a − g)] = <P − p, ℓ> for every g, enumerating the draw."""
    for game in games:
        assert (game.mixed >= (1.0 - EXPLORE) * game.p).all()
        share = 1.0 - game.p / game.mixed
        assert (share[~game.in_trial] == 0.0).all()
        cost = ((game.mixed - game.p) * game.losses).sum(axis=1)
        for g in (0.0, 0.3, 1.0):
            mean = (game.mixed * share * (game.losses - g)).sum(axis=1)
            np.testing.assert_allclose(mean, cost, atol=1e-13)
        assert (share * game.losses).max() <= 1.0


def test_the_watch_counts_it_and_no_interval_costs_more(games):
    for game in games:
        reached, found = 0.0, []
        for cost in game.costs:
            reached = max(0.0, reached + cost)
            found.append(reached)
        np.testing.assert_allclose(game.trials, found, atol=ROUNDING)
        sums = np.concatenate([[0.0], np.cumsum(game.costs)])
        dearest = sums[1:] - np.minimum.accumulate(sums)[:-1]  # of all intervals that end there
        assert (dearest <= game.trials + ROUNDING).all()
        rounds = np.arange(1, len(game.arm) + 1)
        limit = np.sqrt(game.losses.shape[1] * rounds)
        assert (game.trials <= limit + 1.0).all()
        assert not (game.in_trial[1:] & (game.trials > limit)[:-1]).any()


def stability(game):
    """γ·√p_a·y²/(1 + y) at every arm that could have been drawn, y = ℓ_a·√p_a/(P_a·γ)."""
    gamma = game.rates[:, None]
    y = game.losses * np.sqrt(game.p) / (game.mixed * gamma)
    return gamma * np.sqrt(game.p) * y**2 / (1.0 + y)


def test_regret_on_estimates_is_bounded_on_every_path(games):
    """Σ <p − e_i, ℓ̂> ≤ 2(√K − 1)√n + Σ stability after every round n of every epoch, for every arm i."""
    for game in games:
        root = np.sqrt(game.losses.shape[1])
        estimates, paid = game.estimates, stability(game)[game.drawn]
        tightest = np.inf
        for first, end in game.epochs:
            n = np.arange(1, end - first + 1)
            own = (game.p * estimates).sum(axis=1)[first:end].cumsum()
            best = estimates[first:end].cumsum(axis=0).min(axis=1)
            slack = 2.0 * (root - 1.0) * np.sqrt(n) + paid[first:end].cumsum() - (own - best)
            assert slack.min() >= -ROUNDING
            tightest = min(tightest, (slack / np.sqrt(n)).min())
        assert tightest < 2.0 * root  # it is a bound of the right size


def test_stability_is_the_supremum_that_it_stands_for():
    """sup_x (p − x)ℓ̂ − γ·D(x, p), D the Bregman divergence of −2√x, on a fine grid."""
    x = np.linspace(1e-6, 1.0, 200_001)
    for p, estimate, gamma in ((0.3, 2.0, 1.0), (0.01, 50.0, 7.0), (0.9, 1.1, 30.0)):
        divergence = -2.0 * np.sqrt(x) + 2.0 * np.sqrt(p) + (x - p) / np.sqrt(p)
        y = estimate * np.sqrt(p) / gamma
        closed = gamma * np.sqrt(p) * y**2 / (1.0 + y)
        assert ((p - x) * estimate - gamma * divergence).max() == pytest.approx(closed, rel=1e-4)


def test_stability_is_bounded_with_its_mean_and_its_square(games):
    """At most B; in the mean at most B√K/γ, its square at most B²√K/γ, enumerating the draw."""
    for game in games:
        values, root = stability(game), np.sqrt(game.losses.shape[1])
        assert values.max() <= B
        assert ((game.mixed * values).sum(axis=1) <= B * root / game.rates).all()
        assert ((game.mixed * values**2).sum(axis=1) <= B**2 * root / game.rates).all()


def test_the_largest_value_of_a_martingale_is_at_most_its_deviation_at_the_end():
    """E max_t M_t ≤ √E M_n², over all paths of random trees whose steps depend on the path."""
    random, depth, closest = np.random.default_rng(4), 10, 0.0
    for trial in range(30):
        steps = {}
        likely, highest, end = [], [], []
        for path in itertools.product((0, 1), repeat=depth):
            chance, at, largest = 1.0, 0.0, 0.0
            for t in range(depth):
                q, size = steps.setdefault(
                    path[:t],
                    (random.uniform(0.02, 0.98), random.exponential() * (largest == at or trial % 2)),
                )
                chance *= q if path[t] else 1.0 - q
                at += size * (1.0 - q if path[t] else -q)
                largest = max(largest, at)
            likely.append(chance)
            highest.append(largest)
            end.append(at)
        assert np.dot(likely, end) == pytest.approx(0.0, abs=1e-12)
        mean, deviation = np.dot(likely, highest), np.sqrt(np.dot(likely, np.square(end)))
        assert mean <= deviation
        closest = max(closest, mean / deviation)
    assert closest > 0.6  # and not by far


def test_restarts_come_only_while_little_is_lost_and_the_parts_add_up(games):
    """H − L̂_i = (up to the last restart) + trials since + (regret of p on estimates since), for every arm."""
    for game in games:
        seen, estimates = game.losses[game.drawn], game.estimates
        behind = seen.cumsum()[:, None] - estimates.cumsum(axis=0)
        k = game.losses.shape[1]
        for first, end in game.epochs:
            before = behind[first - 1] if first else np.zeros(k)
            assert (before <= np.sqrt(k * first) + ROUNDING).all()
            own = (game.p * estimates).sum(axis=1)[first:end].sum() - estimates[first:end].sum(axis=0)
            np.testing.assert_allclose(behind[end - 1], before + game.costs[first:end].sum() + own, atol=1e-8)


def test_regret_is_below_the_bound(games):
    for game in games:
        rounds, k = len(game.arm), game.losses.shape[1]
        regret = (game.mixed * game.losses).sum() - game.losses.sum(axis=0).min()
        bound = bw.theory.bound(bw.Watched(bw.TsallisINF(), explore=EXPLORE), n_arms=k, horizon=rounds)
        assert bound.adversarial.value >= regret
        assert bound.adversarial.value == pytest.approx(
            (np.sqrt(1.0 + (2.0 + 2.0 * B) ** 2) + 1.0) * np.sqrt(k * rounds)
            + B * k**0.25 * rounds**0.5
            + 1.0
        )
