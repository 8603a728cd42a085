"""The fast way to the smallest index against the plain one."""

from __future__ import annotations

import numpy as np
import pytest

from bothworlds.policies.shared.index import IndexState, next_arm, smallest_index
from bothworlds.policies.ucb1 import UCB1Parameters


@pytest.mark.parametrize("n_arms", [1, 2, 3, 4, 5, 8, 10])
def test_ucb1_compares_four_at_a_time(n_arms):
    """The same arm to the bit: with ties, where the first is played, and with unseen arms."""
    random = np.random.default_rng(n_arms)
    params = UCB1Parameters(2.0, n_arms)
    for highest in (2, 3, 1000):
        for _ in range(30):
            counts = np.floor(random.uniform(0.5, highest, n_arms))
            sums = np.floor(counts * random.uniform(size=n_arms))
            state = IndexState(counts, sums, np.zeros(1))
            assert next_arm(params, state) == smallest_index(params, state, np.empty(0))
