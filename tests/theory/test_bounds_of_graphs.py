"""Bounds of policies for feedback graphs."""

from __future__ import annotations

import math

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
    assert ada.value == pytest.approx(math.sqrt(10_000 * math.log(4)) + 4 / 3 * math.log(4) + 2)
    assert ada.self_bounding is None


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
