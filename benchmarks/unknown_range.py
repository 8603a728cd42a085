"""Rewards whose range nobody knows: regret with the best known range, with the widest, and with learned ones.

``python benchmarks/unknown_range.py [--runs 200] [--horizon 20000]`` prints a table: regret divided by that
with the best of the ranges [0, largest·2^−j] (chosen in hindsight, world by world), means over runs, ± one
standard error, and the ratio of medians. All columns see the same rewards and the same uniform numbers; units
are random, so that no rule profits from round numbers. The rules:

``largest``  up to the largest reward so far, in powers of two; the policy starts again when it grows
``half``     up to the power of two at which half of all that was earned lies below
``learned``  ``Bandit(high=None)``: 1.5 times what is usual for the arm with the largest rewards

``learned`` is a transcription for compiled code; the first run of each world is held to a real Bandit.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import bothworlds as bw
from bothworlds import rng
from bothworlds._jit import FloatArray, copy_state, entry
from bothworlds.policies.base import before_draw, init, learn, pull, step

FIXED, LARGEST, HALF, LEARNED = range(4)
RULES = {"largest": LARGEST, "half": HALF, "learned": LEARNED}
OCTAVES = 2200  # room for the exponents of all rewards
ZERO = 1100  # that of 1
N_GRID = 10

Table = tuple[FloatArray, FloatArray]
"""Rewards, rounds × arms, and the means of the two halves of the run."""


# --- a run ----------------------------------------------------------------------------------------------


class Room(NamedTuple):
    """What the rules remember: per arm, and per octave."""

    counts: FloatArray
    logs: FloatArray
    earned: FloatArray

    @classmethod
    def new(cls, n_arms: int) -> Room:
        """Nothing yet."""
        return cls(np.zeros(n_arms), np.full(n_arms, -math.inf), np.zeros(OCTAVES))


@entry
def play(
    params: Any,
    state: Any,
    fresh: Any,
    room: Room,
    rewards: FloatArray,
    means: FloatArray,
    uniforms: FloatArray,
    rule: int,
    width: float,
    arms: FloatArray,
) -> float:
    """Play a table of rewards; return the regret, and the arms in ``arms``."""
    regret, total = 0.0, 0.0
    for t in range(rewards.shape[0]):
        before_draw(params, state, 0, uniforms[t, :0])
        arm, _, weight, memo = pull(params, state, uniforms[t])
        arms[t] = arm
        mean = means[2 * t // rewards.shape[0]]
        regret += mean.max() - mean[arm]
        reward = rewards[t, arm]
        share = reward / width if reward < width else (1.0 if reward > 0.0 else 0.0)
        learn(params, state, arm, 1.0 - share, weight, memo)
        step(params, state)
        if rule == FIXED or reward == 0.0:
            continue
        if rule == LARGEST:
            if reward > width:
                width = 2.0 ** math.ceil(math.log2(reward))
                copy_state(fresh, state)
        elif rule == HALF:
            total += reward
            room.earned[math.ceil(math.log2(reward)) + ZERO] += reward
            octave, above = OCTAVES - 1, 0.0
            while above + room.earned[octave] <= 0.5 * total:
                above += room.earned[octave]
                octave -= 1
            half = 2.0 ** (octave - ZERO)
            if half > width or half < 0.3 * width:
                width = half
        else:
            log = math.log(min(reward, 8.0 * width) if width > 0.0 else reward)
            room.counts[arm] += 1.0
            if room.counts[arm] == 1.0:
                room.logs[arm] = log
            else:
                room.logs[arm] += (log - room.logs[arm]) / min(room.counts[arm], 64.0)
            wanted = 1.5 * math.exp(room.logs.max())
            if wanted > 1.5 * width or wanted < 0.5 * width:
                width = wanted
    return regret


# --- worlds ---------------------------------------------------------------------------------------------


def baskets(
    conversions: list[float], means: list[float], draw: Callable[[np.random.Generator, Any], FloatArray]
) -> Callable[[np.random.Generator, int], Table]:
    """Visitors who buy with these probabilities; ``draw`` gives baskets with mean 1."""

    def table(random: np.random.Generator, horizon: int) -> Table:
        shape = horizon, len(conversions)
        rewards = np.where(random.random(shape) < conversions, draw(random, shape) * means, 0.0)
        return rewards, np.tile(np.multiply(conversions, means), (2, 1))

    return table


def lognormal(sigma: float) -> Callable[[np.random.Generator, Any], FloatArray]:
    """Lognormal baskets with mean 1."""
    return lambda random, shape: np.exp(sigma * random.standard_normal(shape) - 0.5 * sigma * sigma)


def gamma(k: float) -> Callable[[np.random.Generator, Any], FloatArray]:
    """Gamma baskets with mean 1."""
    return lambda random, shape: random.gamma(k, 1.0 / k, shape)


def pareto(alpha: float) -> Callable[[np.random.Generator, Any], FloatArray]:
    """Pareto baskets with mean 1."""
    return lambda random, shape: (1.0 + random.pareto(alpha, shape)) * (alpha - 1.0) / alpha


def later(
    world: Callable[[np.random.Generator, int], Table], factor: float = 1.0, turned: bool = False
) -> Callable[[np.random.Generator, int], Table]:
    """A world in whose second half rewards are multiplied, or arms change places."""

    def table(random: np.random.Generator, horizon: int) -> Table:
        rewards, means = world(random, horizon)
        half = -(-horizon // 2)
        rewards[half:] *= factor
        means[1] *= factor
        if turned:
            rewards[half:], means[1] = rewards[half:, ::-1].copy(), means[1, ::-1].copy()
        return rewards, means

    return table


def around(levels: list[float], deviation: float) -> Callable[[np.random.Generator, int], Table]:
    """A reward in every round, normal around a level."""

    def table(random: np.random.Generator, horizon: int) -> Table:
        noise = deviation * random.standard_normal((horizon, len(levels)))
        return np.maximum(0.0, levels + noise), np.tile(levels, (2, 1))

    return table


def bonus(chances: list[float]) -> Callable[[np.random.Generator, int], Table]:
    """5 in most rounds, 500 with these chances."""

    def table(random: np.random.Generator, horizon: int) -> Table:
        rewards = np.where(random.random((horizon, len(chances))) < chances, 500.0, 5.0)
        return rewards, np.tile(5.0 + 495.0 * np.array(chances), (2, 1))

    return table


def whales(random: np.random.Generator, horizon: int) -> Table:
    """One arm earns half of its money with two orders in a thousand, fifteen times as large as others."""
    rewards, means = baskets([0.03] * 5, [20.0, 18.0, 20.0, 20.0, 20.0], lognormal(0.5))(random, horizon)
    large = 300.0 * lognormal(0.3)(random, horizon)
    rewards[:, 0] = np.where(random.random(horizon) < 0.002, large, rewards[:, 0])
    means[:, 0] = 0.998 * means[:, 0] + 0.6
    return rewards, means


def mistake(random: np.random.Generator, horizon: int) -> Table:
    """Revenue, and one number that is wrong by far."""
    rewards, means = REVENUE(random, horizon)
    rewards[100] = 1e9
    return rewards, means


CONVERSIONS = [0.05, 0.035, 0.03, 0.025, 0.02]
REVENUE = baskets(CONVERSIONS, [40.0] * 5, lognormal(0.8))
WORLDS = {  # the constants were chosen on these
    "revenue": REVENUE,
    "gamma baskets": baskets([0.04] * 5, [60.0, 50.0, 45.0, 40.0, 30.0], gamma(2.0)),
    "heavy baskets": baskets(CONVERSIONS, [40.0] * 5, lognormal(1.5)),
    "plans, 10 and 130": baskets([0.1, 0.09, 0.01, 0.004], [10.0, 10.0, 130.0, 130.0], lognormal(0.1)),
    "clicks": baskets([0.1, 0.08, 0.07, 0.06, 0.05], [1.0] * 5, lognormal(0.0)),
    "every round": around([1000.0, 980.0, 960.0, 940.0, 900.0], 60.0),
    "prices double": later(REVENUE, factor=2.0),
    "another currency": later(REVENUE, factor=100.0),
    "prices fall": later(REVENUE, factor=0.05),
    "order turns": later(REVENUE, turned=True),
    "whales": whales,
    "rare bonus": bonus([0.02, 0.014, 0.012, 0.01, 0.008]),
    "rare and large": baskets([0.05, 0.0475, 0.002], [20.0, 20.0, 650.0], lognormal(0.3)),
    "a mistake": mistake,
}
UNSEEN = {  # no constant was changed after these had been measured
    "two arms": baskets([0.03, 0.024], [70.0, 70.0], lognormal(0.6)),
    "twenty arms": baskets([0.06] + [0.04] * 19, [25.0] * 20, gamma(1.0)),
    "Pareto baskets": baskets([0.06, 0.05, 0.04, 0.03], [30.0] * 4, pareto(2.2)),
    "price test": baskets([0.08, 0.07, 0.055, 0.035, 0.02], [9.0, 13.0, 19.0, 25.0, 39.0], lognormal(0.2)),
    "upsell": baskets([0.05] * 4, [50.0, 42.0, 40.0, 38.0], lognormal(0.5)),
    "minutes watched": baskets([0.6, 0.55, 0.5, 0.45], [12.0, 12.0, 13.0, 11.0], gamma(0.8)),
    "tips in cents": later(baskets([0.3, 0.27, 0.24], [250.0] * 3, gamma(3.0)), factor=1.3),
    "delivery fees": around([4.2, 4.0, 3.9, 3.8], 0.9),
}


# --- the table ------------------------------------------------------------------------------------------


def hold_to_a_bandit(rewards: FloatArray, arms: FloatArray, seed: int) -> None:
    """The transcription plays what ``Bandit(high=None)`` plays."""
    bandit = bw.Bandit(rewards.shape[1], high=None, seed=seed)
    for t, arm in enumerate(arms):
        made = bandit.pull()
        if made.arm != arm:
            raise AssertionError(f"round {t}: the bandit plays {made.arm}, the transcription {arm:.0f}")
        bandit.update(made, reward=float(rewards[t, made.arm]))


def measure(
    world: Callable[..., Table], horizon: int, runs: int, first: int
) -> tuple[FloatArray, FloatArray]:
    """Regret, runs × columns (the grid of ranges, widest first, then the rules), and that of uniform play."""
    policy = bw.policies.DEFAULT
    largest = world(rng.stream(first), 10 * horizon)[0]
    grid = largest[largest < 1e8].max() * 2.0 ** -np.arange(N_GRID)
    columns = [(FIXED, width) for width in grid] + [(rule, 0.0) for rule in RULES.values()]
    regret, uniform = np.empty((runs, len(columns))), np.empty(runs)
    for run in range(runs):
        seed = first + 1 + run
        random = rng.stream(seed, 1)
        rewards, means = world(random, horizon)
        unit = 2.0 ** random.random()
        rewards *= unit
        n_arms = rewards.shape[1]
        uniforms = rng.stream(seed).random((horizon, policy.draws))
        params = policy.resolve(n_arms, None)
        arms = np.empty(horizon)
        for column, (rule, width) in enumerate(columns):
            states = init(params), init(params), Room.new(n_arms)
            regret[run, column] = play(
                params, *states, rewards, means, uniforms, rule, float(width * unit), arms
            )
        if run == 0:
            hold_to_a_bandit(rewards, arms, seed)
        uniform[run] = 0.5 * horizon * (means.max(axis=1) - means.mean(axis=1)).sum()
    return regret, uniform


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--worlds", nargs="*", help="some of them, by the beginning of their names")
    options = parser.parse_args()
    names = ["widest", *RULES, "uniform"]
    print(f"T = {options.horizon}, {options.runs} runs; regret over that with the best known range\n")
    print("| world | best known | " + " | ".join(names) + " | learned, medians |")
    print("|---|---|" + "---|" * (len(names) + 1))
    for title, worlds, first in (("tuned on", WORLDS, 0), ("unseen", UNSEEN, 500_000)):
        ratios = []
        for name, world in worlds.items():
            if options.worlds and not name.startswith(tuple(options.worlds)):
                continue
            regret, uniform = measure(world, options.horizon, options.runs, first)
            best = int(regret[:, :N_GRID].mean(axis=0).argmin())
            scale = regret[:, best].mean()
            chosen = np.column_stack([regret[:, 0], regret[:, N_GRID:], uniform]) / scale
            errors = (chosen - chosen.mean(axis=0) * regret[:, [best]] / scale).std(axis=0) / math.sqrt(
                options.runs
            )
            cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(chosen.mean(axis=0), errors, strict=True)]
            median = np.median(regret[:, -1]) / np.median(regret[:, best])
            cells[-1] = f"{chosen[:, -1].mean():.2f}"
            print(f"| {name} | {scale:.4g} | {' | '.join(cells)} | {median:.2f} |", flush=True)
            ratios.append(chosen.mean(axis=0))
        if ratios:
            means = np.exp(np.log(ratios).mean(axis=0))
            print(f"| *{title}: geometric mean* | | {' | '.join(f'{m:.2f}' for m in means)} | |")


if __name__ == "__main__":
    main()
