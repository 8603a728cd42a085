"""Bounds of policies for feedback graphs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError

HOW = {"n_arms": 4, "horizon": 10_000}
GAPS = [0.0, 0.2, 0.3, 0.5]
PAIRS = [[0, 1], [0, 1], [2, 3], [2, 3]]


def test_their_terms():
    matched = bw.theory.bound(bw.MatchedTsallis("paper"), gaps=GAPS, corruption=9.0, shows=PAIRS, **HOW)
    assert matched.adversarial.value == pytest.approx(math.sqrt(2 * 10_000 * (1 + math.log(2))))
    alpha = 1 - 1 / (2 * (1 + math.log(2)))
    omega = 2 * 2 * 2 ** (1 - alpha) / (alpha * (1 - alpha) * 0.2)
    assert matched.self_bounding["gaps"].value == pytest.approx(omega * math.log(10_000))
    assert matched.self_bounding["corruption"].value == pytest.approx(math.sqrt(9 * omega * math.log(10_000)))
    assert bw.theory.bound(bw.MatchedTsallis("paper"), **HOW).adversarial.value == pytest.approx(200)
    hedge = bw.theory.bound(bw.Hedge(), gaps=GAPS, shows="all", **HOW)
    assert hedge.adversarial.value == hedge.value == pytest.approx(math.sqrt(10_000 * math.log(4)))
    assert hedge.self_bounding.value == pytest.approx(math.log(4) / 0.2)
    assert not hedge.self_bounding.explicit
    loops = bw.theory.bound(bw.Hedge(1.0), **HOW).adversarial
    assert loops.value == pytest.approx(2 * math.sqrt(4 * 10_000 * math.log(4)))
    ada = bw.theory.bound(bw.AdaHedge(), gaps=GAPS, corruption=1.0, shows="all", **HOW)
    start = 4 / 3 * math.log(4) + 2
    assert ada.adversarial.value == pytest.approx(math.sqrt(10_000 * math.log(4)) + start)
    a = math.log(4) / 0.2
    assert ada.self_bounding.value == pytest.approx(4 * a + 2 * start + 2 * math.sqrt(a))
    assert ada.self_bounding.explicit
    tied = bw.theory.bound(bw.AdaHedge(), gaps=[0.0, 0.0, 0.3, 0.5], shows="all", **HOW)
    assert tied.self_bounding is None


def test_of_experts_hold(monkeypatch):
    """Against losses that put Hedge where it wavers: two arms in turn, and a fair coin."""
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    for policy in (bw.Hedge(), bw.AdaHedge()):
        for losses in (lambda t: [t % 2, 1 - t % 2], lambda t: [float(t * t % 7 < 3), float(t * t % 7 >= 3)]):
            bandit, regret, totals = bw.Bandit(2, policy, shows="all"), 0.0, [0.0, 0.0]
            for t in range(300):
                row = losses(t)
                regret += sum(p * loss for p, loss in zip(bandit.probabilities.values(), row, strict=True))
                totals = [total + loss for total, loss in zip(totals, row, strict=True)]
                bandit.update(bandit.pull(), losses=row)
            bound = bw.theory.bound(policy, n_arms=2, horizon=300, shows="all").adversarial.value
            assert regret - min(totals) <= bound


def regret_of_experts(policy, losses):
    """Expected regret over the draws to each arm, as plain NumPy: the rates from their definitions."""
    rounds, n = losses.shape
    log_k, sums, gaps, regret = math.log(n), np.zeros(n), 0.0, np.zeros(n)
    for t in range(rounds):
        if isinstance(policy, bw.Hedge):
            eta = policy.rate * math.sqrt(log_k / (t + 1))
        else:
            eta = log_k / gaps if gaps > 0.0 else math.inf
        lead = sums - sums.min()
        p = np.exp(-eta * lead) if math.isfinite(eta) else (lead == 0.0).astype(float)
        p /= p.sum()
        mean, row = p @ losses[t], losses[t]
        if math.isfinite(eta):
            gaps += max(0.0, mean + math.log(p @ np.exp(-eta * row)) / eta)
        else:
            gaps += mean - row[p > 0.0].min()
        sums += row
        regret += mean - row
    return regret


@pytest.mark.parametrize("policy", [bw.Hedge(), bw.Hedge(0.7), bw.AdaHedge()], ids=repr)
@pytest.mark.parametrize("n", [2, 6])
def test_of_experts_hold_against_many_sequences(policy, n):
    """Random, alternating, drifting and greedy sequences; and, for AdaHedge, gaps with corruption."""
    rng = np.random.default_rng(n)
    rounds = 400
    worst = bw.theory.bound(policy, n_arms=n, horizon=rounds, shows="all").adversarial.value
    turns = np.eye(n)[np.arange(rounds) % n]
    walks = (np.cumsum(rng.standard_normal((rounds, n)), axis=0) > 0).astype(float)
    blocks = np.eye(n)[np.arange(rounds) // 20 % n]
    coins = [(rng.random((rounds, n)) < level).astype(float) for level in (0.05, 0.5, 0.95)]
    for losses in (turns, 1.0 - turns, walks, blocks, *coins):
        assert regret_of_experts(policy, losses).max() <= worst
    if not isinstance(policy, bw.AdaHedge):
        return
    means = np.full(n, 0.6)
    means[0] = 0.4
    for flipped in (0, 40):
        runs = []
        for _ in range(40):
            losses = (rng.random((rounds, n)) < means).astype(float)
            losses[:flipped] = 1.0 - losses[:flipped]
            runs.append(regret_of_experts(policy, losses)[0])
        stated = bw.theory.bound(
            policy, n_arms=n, horizon=rounds, shows="all", gaps=means - 0.4, corruption=2.0 * flipped
        )
        assert np.mean(runs) <= stated.self_bounding.value


@pytest.mark.parametrize(
    ("policy", "shows", "message"),
    [
        (bw.MatchedTsallis(), PAIRS, "constants='paper'; the light ones are measured"),
        (bw.MatchedTsallis("paper", alpha=0.9), PAIRS, "the alpha that fits the graph"),
        (
            bw.MatchedTsallis("paper"),
            [[0, 1], [1], [2], [3]],
            "undirected graphs in which each arm shows itself",
        ),
        (bw.Hedge(), PAIRS, "shows='all', and for bandits"),
        (bw.AdaHedge(), None, "shows='all'"),
        (
            bw.TsallisINF(),
            PAIRS,
            "which is not for graphs; these are: AdaHedge, Hedge, MatchedTsallis, Thompson",
        ),
    ],
)
def test_what_no_theorem_covers(policy, shows, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.theory.bound(policy, shows=shows, **HOW)
