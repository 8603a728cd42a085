"""What a switch costs."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from worlds import two_best


@pytest.mark.compiled
@pytest.mark.parametrize("cost", [0.0, 2.5])
def test_a_switch_enters_the_regret(cost):
    how = {"horizon": 120, "replications": 2, "seed": 4, "trace": True, "checkpoints": range(1, 121)}
    run = bw.simulate(bw.TsallisINF(), en.SwitchingCost(two_best, cost=cost), **how)
    for trace, regret in zip(run.traces[0], run.regret[0], strict=True):
        switches = np.concatenate([[0], np.cumsum(np.diff(trace.played) != 0)])
        assert switches[-1] > 20
        np.testing.assert_allclose(
            regret, np.cumsum(two_best.gaps[trace.played]) + cost * switches, rtol=1e-12
        )
    assert np.array_equal(run.clean_regret, run.regret)


def test_a_switching_cost_describes_itself_by_its_base():
    world = en.SwitchingCost(en.Corrupted(en.Bernoulli(n_arms=3, gap=0.2, optimal=2), 5.0), cost=1.0)
    assert world.n_arms == 3
    assert np.array_equal(world.gaps, world.base.gaps)
    assert world.corruption(100) == world.spread(100) == 10.0
    assert world.regret_kind.endswith("; and the cost of every switch")
    assert en.from_dict(en.to_dict(world)) == world
