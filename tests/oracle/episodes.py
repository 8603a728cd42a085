"""Episodic MDPs by enumeration: every trajectory with its probability, every deterministic policy."""

from __future__ import annotations

import math
from itertools import product

import numpy as np


def trajectories(transitions, start, policy):
    """All paths ((s_0, a_0), …, (s_{H−1}, a_{H−1})), each with its probability."""
    paths = [
        (((s, a),), start[s] * policy[0][s][a]) for s in range(len(start)) for a in range(len(policy[0][s]))
    ]
    for h, table in enumerate(transitions):
        paths = [
            ((*path, (s, a)), chance * table[path[-1][0]][path[-1][1]][s] * policy[h + 1][s][a])
            for path, chance in paths
            for s in range(len(policy[h + 1]))
            for a in range(len(policy[h + 1][s]))
        ]
    return [(path, chance) for path, chance in paths if chance > 0]


def visits(paths, h, s):
    """The probability of passing through state s of layer h."""
    return sum(chance for path, chance in paths if path[h][0] == s)


def conditional(paths, h, s, a, total):
    """E[total(path) | s_h = s, a_h = a]."""
    chosen = [(path, chance) for path, chance in paths if path[h] == (s, a)]
    return sum(chance * total(path) for path, chance in chosen) / sum(chance for _, chance in chosen)


def value(paths, losses):
    """The mean loss of an episode."""
    return sum(chance * sum(losses[h][s][a] for h, (s, a) in enumerate(path)) for path, chance in paths)


def best_value(transitions, start, losses):
    """The least over all deterministic policies, one by one."""
    shapes = [np.shape(table) for table in losses]
    cells = [(h, s) for h, (states, _) in enumerate(shapes) for s in range(states)]
    least = math.inf
    for choice in product(*(range(shapes[h][1]) for h, _ in cells)):
        policy = [np.zeros(shape) for shape in shapes]
        for (h, s), a in zip(cells, choice, strict=True):
            policy[h][s, a] = 1
        least = min(least, value(trajectories(transitions, start, policy), losses))
    return least


def bonuses(paths, sizes, n_actions, policy, seen, rates, before, gamma):
    """B and C of Dann, Wei and Zimmert 2023, Algorithm 1, as expectations over whole trajectories.

    B(s, a) = E[Σ_{k≥h} (1 + 1/H)^{k−h} b(s_k)] and C(s, a) = E[Σ_{k>h} c(s_k)], given s_h = s and a_h = a.
    """
    H = len(sizes)

    def c(h, s):
        return H * gamma / seen[h][s]

    C = [
        [
            [
                conditional(paths, h, s, a, lambda path, h=h: sum(c(k, path[k][0]) for k in range(h + 1, H)))
                for a in range(n_actions)
            ]
            for s in range(sizes[h])
        ]
        for h in range(H)
    ]

    def b(h, s):
        pi, eta = policy[h][s], 1 / rates[h][s]
        xi = sum(math.sqrt(x) * (1 - x) for x in pi)
        extra = math.sqrt(n_actions) if eta / seen[h][s] > 1 / (8 * H) else 0
        nu = 8 * eta * sum(x * y**2 for x, y in zip(pi, C[h][s], strict=True))
        return 4 * (rates[h][s] - before[h][s]) * (xi + extra) + nu

    B = [
        [
            [
                conditional(
                    paths,
                    h,
                    s,
                    a,
                    lambda path, h=h: sum((1 + 1 / H) ** (k - h) * b(k, path[k][0]) for k in range(h, H)),
                )
                for a in range(n_actions)
            ]
            for s in range(sizes[h])
        ]
        for h in range(H)
    ]
    return B, C
