"""Losses of every environment, from its description, as plain loops over the same uniforms.

Each function gives one row per round: the losses, what playing an arm costs, and what it costs without
corruption. Regret is then the cost of the arms played minus that of the best fixed arm (`regret`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import special

from oracle import draws


class Rows(NamedTuple):
    losses: np.ndarray
    cost: np.ndarray
    clean: np.ndarray


def regret(cost, played):
    """After every round: Σ cost of the arms played, minus that of the best fixed arm so far."""
    suffered = np.cumsum(cost[np.arange(len(played)), played])
    totals = np.cumsum(cost[: len(played)], axis=0)
    return suffered - totals.min(axis=1)


def stationary(draw, means):
    """iid: ``draw(arm, uniform)`` with these means."""

    def world(horizon, uniforms, p):
        losses = np.array([[draw(i, u[0]) for i in range(len(means))] for u in uniforms])
        cost = np.tile(np.asarray(means, dtype=float), (horizon, 1))
        return Rows(losses, cost, cost)

    return world


def bernoulli(means):
    return stationary(lambda i, u: float(u < means[i]), means)


def beta(means, concentration):
    return stationary(
        lambda i, u: draws.beta(concentration * means[i], concentration * (1 - means[i]), u, 0), means
    )


def truncated_normal(locations, scale, means):
    """Box–Muller pairs until one falls into [0, 1]."""

    def draw(i, u):
        for n in range(0, 10**6, 2):
            radius = math.sqrt(-2 * math.log(draws.expand(u, n)))
            angle = 2 * math.pi * draws.expand(u, n + 1)
            for wave in (math.cos, math.sin):
                value = locations[i] + scale * radius * wave(angle)
                if 0 <= value <= 1:
                    return value
        raise AssertionError

    return stationary(draw, means)


def discrete(values, probabilities):
    """By inversion."""

    def draw(i, u):
        for value, reached in zip(values, np.cumsum(probabilities[i]), strict=True):
            if u < reached:
                return value
        return values[-1]

    return stationary(draw, [sum(v * q for v, q in zip(values, row, strict=True)) for row in probabilities])


def minimax(n_arms):
    def world(horizon, uniforms, p):
        gap = min(0.25, math.sqrt(n_arms / horizon))
        return bernoulli([0.5 - gap / 2] + [0.5 + gap / 2] * (n_arms - 1))(horizon, uniforms, p)

    return world


def phase_ends(growth, horizon):
    """Last rounds of the phases ⌈growth^n⌉, n = 0, 1, …, in exact arithmetic."""
    ends, n, growth = [], 0, Fraction(str(growth))
    while not ends or ends[-1] < horizon:
        ends.append((ends[-1] if ends else 0) + math.ceil(growth**n))
        n += 1
    return ends


def constrained(n_arms, gap, optimal, growth=1.6):
    """Means (0, gap) and (1−gap, 1) in turn."""

    def world(horizon, uniforms, p):
        ends = phase_ends(growth, horizon)
        means = np.empty((horizon, n_arms))
        for t in range(1, horizon + 1):
            phase = sum(end < t for end in ends)
            means[t - 1] = 0.0 if phase % 2 == 0 else 1.0 - gap
            means[t - 1, optimal:] += gap
        losses = (uniforms[:, :1] < means).astype(float)
        return Rows(losses, means, means)

    return world


def switching(n_arms, gap, period=None):
    def world(horizon, uniforms, p):
        means = np.full((horizon, n_arms), (1 + gap) / 2)
        for t in range(horizon):
            best = (t >= math.ceil(horizon / 2)) if period is None else t // period
            means[t, int(best) % n_arms] = (1 - gap) / 2
        return Rows((uniforms[:, :1] < means).astype(float), means, means)

    return world


def alternating(n_arms, block, offset, other):
    def world(horizon, uniforms, p):
        means = np.full((horizon, n_arms), other)
        for t in range(horizon):
            odd = math.floor((t + offset) / block) % 2 == 1
            means[t, :2] = (0, 1) if odd else (1, 0)
        return Rows((uniforms[:, :1] < means).astype(float), means, means)

    return world


def drifting(n_arms, period, level=0.5, amplitude=0.4):
    def world(horizon, uniforms, p):
        t, i = np.arange(1, horizon + 1)[:, None], np.arange(n_arms)
        means = level + amplitude * np.sin(2 * np.pi * (t / period + i / n_arms))
        return Rows((uniforms[:, :1] < means).astype(float), means, means)

    return world


def dynamic(base):
    """Dynamic regret: a last column for whoever plays the best arm of each round, at no cost."""

    def world(horizon, uniforms, p):
        rows = base(horizon, uniforms, p)
        gaps = rows.cost - rows.cost.min(axis=1, keepdims=True)
        cost = np.hstack([gaps, np.zeros((horizon, 1))])
        return Rows(rows.losses, cost, cost)

    return world


def change_points(means, changes):
    def world(horizon, uniforms, p):
        rows = np.array([means[sum(t > change for change in changes)] for t in range(1, horizon + 1)])
        return Rows((uniforms[:, :1] < rows).astype(float), rows, rows)

    return world


def random_walk(start, step, low, high):
    """Uniform steps of this standard deviation, folded back by the triangle wave."""

    def world(horizon, uniforms, p):
        rows = [list(start)]
        for u in uniforms[1:]:
            moved = [
                mean + step * math.sqrt(3) * (2 * draws.expand(u[1], i) - 1)
                for i, mean in enumerate(rows[-1])
            ]
            span = high - low
            rows.append([low + span - abs((x - low) % (2 * span) - span) for x in moved])
        means = np.array(rows)
        return Rows((uniforms[:, :1] < means).astype(float), means, means)

    return world


def seasonal(means, period, amplitude, *, logit):
    def world(horizon, uniforms, p):
        season = amplitude * np.sin(2 * np.pi * np.arange(1, horizon + 1) / period)[:, None]
        rows = special.expit(special.logit(means) + season) if logit else np.array(means) + season
        return Rows((uniforms[:, :1] < rows).astype(float), rows, rows)

    return world


def faked(base, arm, first, last, mean):
    def world(horizon, uniforms, p):
        rows = base(horizon, uniforms, p)
        losses = rows.losses.copy()
        losses[first - 1 : last, arm] = uniforms[first - 1 : min(last, horizon), 0] < mean
        return rows._replace(losses=losses)

    return world


def adversary(rule):
    """Losses from the distribution of the policy, round by round."""

    def world(horizon, uniforms, p):
        losses = np.array([rule(row) for row in p[:horizon]], dtype=float)
        return Rows(losses, losses, losses)

    return world


threshold = adversary(lambda p: p * len(p) >= 1 - 1e-9)
favorite = adversary(lambda p: np.arange(len(p)) == np.argmax(p))
killer = adversary(lambda p: p > 1 - 1e-9)


def gem(threshold):
    return adversary(lambda p: [float(p[0] >= threshold)] + [0.5] * (len(p) - 1))


def table(losses):
    return lambda horizon, uniforms, p: Rows(losses[:horizon], losses[:horizon], losses[:horizon])


def corrupted(base, optimal, budget, strategy):
    """Change losses in a list of rounds until the coins are gone; the last change may be a partial one."""

    def world(horizon, uniforms, p):
        rows = base(horizon, uniforms, p)
        losses, left = rows.losses.copy(), budget
        n = losses.shape[1]
        for t in range(horizon):
            wanted = losses[t].copy()
            if strategy == "front":
                wanted = 1 - wanted
            elif strategy == "inside":
                wanted[optimal[t % 2]] = 1.0
            elif strategy == "targeted" or p[t, optimal].sum() >= len(optimal) / n - 1e-12:
                wanted = np.array([float(i in optimal) for i in range(n)])
            price = abs(wanted - losses[t]).max()
            if price > 0 and left > 0:
                share = min(1.0, left / price)
                losses[t] += share * (wanted - losses[t])
                left -= share * price
        change = losses - rows.losses
        return Rows(losses, rows.cost + change, rows.clean)

    return world


class Queue:
    """Letters by the round in which they are due, oldest first."""

    def __init__(self):
        self.due = {}

    def send(self, t, delay, letter):
        self.due.setdefault(t + delay, []).append((t, letter))

    def arrive(self, t):
        return [letter for _, letter in sorted(self.due.pop(t, []), key=lambda pair: pair[0])]


def delay(kind, mean, longest, uniform):
    """By inversion of the distribution function of the docstring."""
    if kind == "fixed" or mean == 0:
        return int(mean)
    if kind == "geometric":
        q, n = mean / (1 + mean), 0
        while 1 - q ** (n + 1) <= uniform and n < longest:
            n += 1
        return n
    return min(longest, math.floor(mean * ((1 - uniform) ** -0.5 - 1)))


def logged(actions, propensities, arms, uniforms):
    """The rows that answer these arms: read on, keep a match with probability (smallest)/(its own)."""
    n, smallest = len(actions), min(propensities)
    position = int(uniforms[0][1] * n)
    left, rows = n, []
    for arm, u in zip(arms, uniforms, strict=True):
        for tries in range(1, n + 2):
            if left == 0:
                return rows
            row, position, left = position % n, position + 1, left - 1
            if actions[row] == arm and draws.expand(u[0], tries) < smallest / propensities[row]:
                rows.append(row)
                break
    return rows
