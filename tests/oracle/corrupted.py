"""Policies for corrupted stochastic worlds: the elimination race and BARBAR, in exact fractions of gains."""

from __future__ import annotations

import math
from fractions import Fraction

from oracle import draws


def race(layers, arms, losses, width, n_layers):
    """Lykouris et al. 2018, Algorithm 1, on the layers and arms of another run.

    Yields, before every round, the arm that each layer would play, and the layers that are empty.
    """
    k = losses.shape[1]
    pulls = [[0] * k for _ in range(n_layers)]
    totals = [[Fraction(0)] * k for _ in range(n_layers)]
    alive = [set(range(k)) for _ in range(n_layers)]

    def wide(layer, a):
        n = pulls[layer][a]
        return math.sqrt(width / n) + width / n if n else math.inf

    def mean(layer, a):
        n = pulls[layer][a]
        return float(totals[layer][a] / n) if n else 0.0

    for t in range(len(arms) + 1):
        plays = []
        for layer in range(n_layers):
            nearest = next(other for other in range(layer, n_layers) if alive[other])
            plays.append(min(sorted(alive[nearest]), key=lambda a: pulls[nearest][a]))
        yield plays, [layer for layer in range(n_layers) if not alive[layer]]
        if t == len(arms):
            return
        layer, arm, gain = layers[t], arms[t], 1 - Fraction(losses[t, arms[t]])
        if not alive[layer]:
            continue
        totals[layer][arm] += gain
        pulls[layer][arm] += 1
        while True:
            worse = [
                bad
                for good in alive[layer]
                for bad in alive[layer]
                if mean(layer, good) - mean(layer, bad) > wide(layer, good) + wide(layer, bad)
            ]
            if not worse:
                break
            for lower in range(layer + 1):
                alive[lower].discard(worse[0])


def barbar(uniforms, losses, lam):
    """Gupta et al. 2019, Algorithm 1: p, arms and the number of completed epochs."""
    rounds, k = losses.shape
    gaps = [Fraction(1)] * k
    out, arms, m, t = [], [], 0, 0
    while t < rounds:
        m += 1
        quotas = [math.ceil(Fraction(lam) / gap**2) for gap in gaps]
        total, sums = sum(quotas), [Fraction(0)] * k
        for _ in range(total):
            if t == rounds:
                return out, arms, m - 1
            p = [Fraction(n, total) for n in quotas]
            arm = draws.quantile(p, Fraction(uniforms[t]))
            out.append([float(value) for value in p])
            arms.append(arm)
            sums[arm] += 1 - Fraction(losses[t, arm])
            t += 1
        r = [sums[i] / quotas[i] for i in range(k)]
        best = max(r[i] - gaps[i] / 16 for i in range(k))
        gaps = [max(Fraction(1, 2**m), best - r[i]) for i in range(k)]
    return out, arms, m
