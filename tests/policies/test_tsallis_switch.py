"""TsallisSwitch against its pseudocode, and what a switch costs."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from oracle import delayed
from playing import Given


def play(cost, uniforms, losses, delays):
    """A bandit whose answers come so late, on given uniforms: pulls, and the distributions before them."""
    rounds, n = losses.shape
    bandit = bw.Bandit(n, bw.TsallisSwitch(cost))
    pulls, waiting = [], {}
    for t in range(rounds):
        bandit._random = Given([uniforms[t]])
        pulls.append(bandit.pull())
        waiting[t] = pulls[-1]
        for s in [s for s in waiting if s + delays[s] <= t]:
            bandit.update(waiting.pop(s), loss=losses[s, pulls[s].arm])
    return pulls, bandit


@pytest.mark.parametrize(("cost", "late"), [(0.0, False), (1.0, False), (1.0, True), (5.0, True)])
def test_plays_the_published_pseudocode(monkeypatch, cost, late):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    rng = np.random.default_rng(3)
    rounds, n = 40, 3
    uniforms, losses = rng.random(rounds), rng.random((rounds, n))
    delays = rng.integers(0, 12, rounds).tolist() if late else [0] * rounds
    expected, arms = delayed.tsallis_switch(uniforms, losses, delays, cost)
    pulls, bandit = play(cost, uniforms, losses, delays)
    assert [pull.arm for pull in pulls] == arms
    first = [t for t in range(rounds) if t == 0 or expected[t] is not expected[t - 1]]
    for t in range(rounds):
        chance = float(expected[t][arms[t]]) if t in first else 1.0  # within a block the arm is known
        assert pulls[t].probability == pytest.approx(chance, rel=1e-10)
    assert len(first) == bandit._state.scalars[0]


def test_cannot_be_mixed_with_draws_of_others():
    for share in ({"floor": 0.1}, {"fixed": {0: 0.2}}):
        with pytest.raises(InvalidArgumentError, match="one that draws an arm in every round"):
            bw.Bandit(3, bw.TsallisSwitch(), **share)
    with pytest.raises(InvalidArgumentError, match=r"these do: .*DelayedTsallisINF"):
        bw.Watched(bw.TsallisSwitch())
    with pytest.raises(InvalidArgumentError, match=r"cost must be a finite number at least 0, got -1"):
        bw.TsallisSwitch(-1)
    assert bw.Restarting(bw.TsallisSwitch(), every=100).in_blocks
