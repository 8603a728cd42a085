"""Arms that sleep, arrive and retire: regret to the best arm that was awake, round by round.

``naive`` is Tsallis-INF restricted in the obvious way: absent arms keep their estimated loss while that of
others grows, and a new arm starts at zero. It flatters whoever slept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

import bothworlds as bw
from bothworlds._jit import FloatArray
from bothworlds.policies.base import act, distribution, grow, init, learn, memo_of, step, weight_of
from bothworlds.policies.ftrl.kernel import FTRLParameters, solve_anew
from bothworlds.policies.ftrl.state import OFFSET, FTRLState

MEANS = np.linspace(0.30, 0.65, 8)
BEST, WORST = 0, 7
PERIOD = 500  # rounds awake, rounds asleep
SEASON = 97  # rounds with low means, rounds with high ones


class NaiveParameters(NamedTuple):
    """The FTRL that is restricted."""

    ftrl: FTRLParameters


@dataclass(frozen=True, repr=False)
class Naive(bw.Policy):
    """Tsallis-INF that does not mind who is awake."""

    fixed_arms: ClassVar[str | None] = None

    def parameters(self, n_arms: int, horizon: int | None) -> NaiveParameters:
        """Those of Tsallis-INF."""
        return NaiveParameters(bw.TsallisINF().parameters(n_arms, horizon))


@init.register(NaiveParameters)
def _(params: NaiveParameters) -> FTRLState:
    state: FTRLState = init(params.ftrl)
    return state


@act.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState, uniforms: FloatArray) -> int:
    return act(params.ftrl, state, uniforms)


@weight_of.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState, arm: int) -> float:
    return weight_of(params.ftrl, state, arm)


@memo_of.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState, arm: int, uniforms: FloatArray) -> float:
    return memo_of(params.ftrl, state, arm, uniforms)


@learn.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState, arm: int, loss: float, weight: float, memo: float) -> None:
    learn(params.ftrl, state, arm, loss, weight, memo)


@step.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState) -> int:
    return step(params.ftrl, state)


@distribution.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState, out: FloatArray) -> None:
    distribution(params.ftrl, state, out)


@grow.register(NaiveParameters)
def _(params: NaiveParameters, state: FTRLState) -> FTRLState:
    grown: FTRLState = grow(params.ftrl, state)
    grown.losses[-1] = -grown.scalars[OFFSET]
    solve_anew(params.ftrl, grown)
    return grown


POLICIES = {
    "naive": Naive(),
    "TsallisINF": bw.TsallisINF(),
    "EXP3": bw.EXP3(),
    "LightBarrier": bw.LightBarrier(),
    "UCB1": bw.UCB1(),
    "Thompson": bw.Thompson(),
}

Change = Callable[[bw.Bandit, int, int, np.random.Generator], Iterable[int] | None]


def some_awake(bandit: bw.Bandit, t: int, horizon: int, random: np.random.Generator) -> Iterable[int]:
    """Each arm is awake with probability 0.7."""
    awake = np.flatnonzero(random.random(len(MEANS)) < 0.7)
    return awake.tolist() or [int(random.integers(len(MEANS)))]


def sleeps(arm: int) -> Change:
    """One arm is asleep every other while."""

    def change(bandit: bw.Bandit, t: int, horizon: int, random: np.random.Generator) -> None:
        if t % PERIOD == 0:
            (bandit.enable if t // PERIOD % 2 else bandit.disable)(arm)

    return change


def leaves(how: str) -> Change:
    """The best arm goes to sleep, or retires, in the middle."""

    def change(bandit: bw.Bandit, t: int, horizon: int, random: np.random.Generator) -> None:
        if t == horizon // 2:
            getattr(bandit, how)(BEST)

    return change


def arrives(arm: int) -> Change:
    """One arm is added in the middle."""

    def change(bandit: bw.Bandit, t: int, horizon: int, random: np.random.Generator) -> None:
        if t == horizon // 2:
            bandit.add(arm)

    return change


class Row(NamedTuple):
    """What changes, which arm is not there at first, and whether all means shift together."""

    name: str
    change: Change
    missing: int | None = None
    shifting: bool = False


ROWS = (
    Row("each arm awake with probability 0.7", some_awake),
    Row("best arm asleep every other 500 rounds", sleeps(BEST)),
    Row("worst arm asleep every other 500", sleeps(WORST)),
    Row("best arm added at T/2", arrives(BEST), missing=BEST),
    Row("worst arm added at T/2", arrives(WORST), missing=WORST),
    Row("the same, all means shifting", arrives(WORST), missing=WORST, shifting=True),
    Row("best arm disabled at T/2", leaves("disable")),
    Row("best arm retired at T/2", leaves("retire")),
)


def regret(row: Row, policy: bw.Policy, horizon: int, seed: int) -> float:
    """Regret to the best arm awake, of one run."""
    random = np.random.default_rng(seed)
    bandit = bw.Bandit([arm for arm in range(len(MEANS)) if arm != row.missing], policy, seed=seed)
    total = 0.0
    best = MEANS[list(bandit.arms)].min()
    for t in range(horizon):
        asked = row.change(bandit, t, horizon, random)
        if asked is not None or t % PERIOD == 0 or t == horizon // 2:
            awake = [arm for arm in asked or bandit.arms if arm not in bandit.disabled]
            best = MEANS[awake].min()
        pull = bandit.pull(among=asked)
        mean = MEANS[pull.arm]
        total += mean - best
        if row.shifting:
            mean = 0.5 * mean + 0.5 * (t // SEASON % 2)
        bandit.update(pull, loss=float(random.random() < mean))
    return float(total)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--policies", nargs="*", default=list(POLICIES), choices=list(POLICIES))
    parser.add_argument("--rows", nargs="*", type=int, default=list(range(1, len(ROWS) + 1)))
    options = parser.parse_args(arguments)
    print(f"K = {len(MEANS)}, T = {options.horizon}, {options.runs} runs: mean regret ± standard error")
    print("| availability | " + " | ".join(options.policies) + " |")
    print("|---|" + "---|" * len(options.policies))
    began = time.perf_counter()
    found: dict[str, Any] = {}
    for number in options.rows:
        row = ROWS[number - 1]
        cells = []
        for name in options.policies:
            runs = [regret(row, POLICIES[name], options.horizon, seed) for seed in range(options.runs)]
            error = np.std(runs, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else 0.0
            found[row.name, name] = np.mean(runs)
            cells.append(f"{np.mean(runs):.0f} ± {error:.0f}")
        print(f"| {row.name} | " + " | ".join(cells) + " |", flush=True)
    print(f"{time.perf_counter() - began:.0f} s")
    return found


if __name__ == "__main__":
    main()
