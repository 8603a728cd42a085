"""Are the promises of bw.inference kept, how wide are its intervals, and what do they cost?

python benchmarks/evidence.py [coverage widths costs drift peeking certainty] [--runs 400]
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

import bothworlds as bw
from bothworlds._jit import entry
from bothworlds.inference import state as evidence_state
from bothworlds.inference.alarm import alarm_of
from bothworlds.inference.checkpoints import Truth, evidence_at_checkpoint
from bothworlds.inference.comparisons import AnyWorld, StationaryWorld
from bothworlds.inference.coverage import ever_missed
from bothworlds.inference.engine import bounds
from bothworlds.inference.sums import logs_by_arm
from bothworlds.policies.base import before_draw, distribution, init, learn, pull, step

ERROR = 0.05


# --- runs whose means are known ----------------------------------------------------------------------------


@entry
def _play(params, state, uniforms, means, noise, given, attack, known, arms, rewards, table):
    """Rewards are ``given``, or 1 if the noise is below the mean; an attack lowers the favorite's."""
    n_arms = means.shape[1]
    for t in range(arms.size):
        before_draw(params, state, 0, uniforms[t, :0])
        if known:
            distribution(params, state, table[t])
        if attack > 0.0:
            favorite = 0
            for a in range(1, n_arms):
                if table[t, a] > table[t, favorite]:
                    favorite = a
            means[t, favorite] -= attack
        arm, _, weight, memo = pull(params, state, uniforms[t])
        reward = 1.0 if noise[t, arm] < means[t, arm] else 0.0
        if given.shape[0]:
            reward = given[t, arm]
        arms[t], rewards[t] = arm, reward
        learn(params, state, arm, 1.0 - reward, weight, memo)
        step(params, state)


class Played:
    """One run."""

    def __init__(
        self, policy: Any, means: Any, seed: int, *, law="bernoulli", attack=0.0, known=True
    ) -> None:
        rng = np.random.default_rng(seed)
        self.means = np.array(means)
        horizon, n_arms = self.means.shape
        params = policy.resolve(n_arms, horizon)
        given = np.empty((0, n_arms))
        if law == "beta":
            given = rng.beta(10.0 * self.means, 10.0 * (1.0 - self.means))
        self.arms, self.rewards = np.empty(horizon, dtype=np.int64), np.empty(horizon)
        self.table = np.ones((horizon, n_arms))
        _play(
            params,
            init(params),
            rng.random((horizon, policy.draws)),
            self.means,
            rng.random((horizon, n_arms)),
            given,
            attack,
            known,
            self.arms,
            self.rewards,
            self.table,
        )

    def looks(self, count=70):
        """What is kept at so many times, evenly on a log scale from round 50."""
        horizon, n_arms = self.means.shape
        kept, before = evidence_state.init_evidence(n_arms, True), 0
        p = self.table[np.arange(horizon), self.arms]
        for t in np.unique(np.geomspace(50, horizon, count).astype(int)):
            evidence_state.take_in(kept, self.arms[before:t], self.rewards[before:t], p[before:t])
            before = t
            yield int(t), kept


def constant(values, horizon):
    return np.tile(values, (horizon, 1)).astype(float)


# --- coverage ----------------------------------------------------------------------------------------------


def coverage(runs):
    horizon, t = 4000, np.arange(4000)
    sine = 0.5 + 0.3 * np.sin(2 * np.pi * (t[:, None] / 1300 + np.arange(3) / 3))
    turned = constant([0.6, 0.5, 0.4], horizon)
    turned[(t // 1000) % 2 == 1] = [0.4, 0.5, 0.6]
    worlds = {
        "Bernoulli .5/.4/.4": {"means": constant([0.5, 0.4, 0.4], horizon)},
        "Beta .5/.4/.4": {"means": constant([0.5, 0.4, 0.4], horizon), "law": "beta"},
        "sine ±.3": {"means": sine},
        "reversed every 1000": {"means": turned},
        "adversary reads p": {"means": constant([0.6, 0.5, 0.4], horizon), "attack": 0.2},
    }
    print(f"Ever wrong in T={horizon}, {runs} runs, looked at every 4 rounds, error {ERROR}: at most")
    print("0.05 + 3 SE =", round(ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / runs), 4), "allowed\n")
    print("| policy | world | arms (largest) | any world (largest) | own value | uniform play |")
    print("|---|---|---|---|---|---|")
    for policy in (bw.LightBarrier(), bw.TsallisINF()):
        for name, world in worlds.items():
            found = []
            for seed in range(runs):
                run = Played(policy, seed=seed, **world)
                found.append(ever_missed(run.arms, run.rewards, run.table, run.means, error=ERROR, every=4))
            rates = [
                np.mean([getattr(one, field) for one in found], axis=0).max() for field in found[0]._fields
            ]
            print(
                f"| {policy!r} | {name} | " + " | ".join(f"{rate:.4f}" for rate in rates) + " |", flush=True
            )


# --- widths ------------------------------------------------------------------------------------------------


def widths(runs):
    laws = {
        "Bernoulli .5": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
        "Bernoulli .1": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.3),
        "Bernoulli .01": (lambda rng, n: (rng.random(n) < 0.01).astype(float), math.sqrt(0.0099)),
        "Beta(10,10)": (lambda rng, n: rng.beta(10, 10, n), math.sqrt(0.25 / 21)),
        "uniform": (lambda rng, n: rng.random(n), math.sqrt(1 / 12)),
    }
    print("\nMean width of an interval for one arm (20 runs), and over that of a normal one for fixed n\n")
    print("| law | n | width | ratio | n·σ² |\n|---|---|---|---|---|")
    for name, (draw, sigma) in laws.items():
        for n in (100, 1000, 10_000, 100_000):
            found = []
            for seed in range(20):
                sequence = bw.inference.ConfidenceSequence()
                sequence.update(draw(np.random.default_rng(seed), n))
                found.append(sequence.interval().width)
            normal = 2 * 1.959964 * sigma / math.sqrt(n)
            width = np.mean(found)
            print(f"| {name} | {n} | {width:.4f} | {width / normal:.2f} | {n * sigma**2:.1f} |", flush=True)


# --- costs -------------------------------------------------------------------------------------------------


def best_of(repeat, run):
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def costs(runs):
    rng, n = np.random.default_rng(0), 100_000
    arms, rewards, p = (
        rng.integers(0, 10, n).tolist(),
        rng.random(n).tolist(),
        (0.1 + 0.9 * rng.random(n)).tolist(),
    )
    print("\nCosts of calls from Python, best of 5\n\n| what | µs |\n|---|---|")
    for name, full in (("arms", False), ("full", True)):
        kept = evidence_state.init_evidence(10, full)
        answered = evidence_state.answered.bind(kept, 0, 0.5, 0.5)

        def answer(kept=kept, answered=answered):
            for arm, reward, one in zip(arms, rewards, p, strict=True):
                answered(kept, arm, reward, one)

        columns = np.array(arms), np.array(rewards), np.array(p)
        evidence_state.take_in(kept, *columns)
        inside = best_of(5, lambda kept=kept, columns=columns: evidence_state.take_in(kept, *columns))
        spent = best_of(5, answer) / n * 1e6
        print(f"| {name!r}: an answer, with the drift alarm | {spent:.2f} |")
        print(f"| {name!r}: both, inside a kernel | {inside / n * 1e6:.2f} |")
    logs = np.tile(logs_by_arm(kept.sums)[:, 0], (100, 1))
    counts = np.tile(kept.sums.pulls, 100)
    bounds(logs, counts, 0.025)
    print(f"| a bound | {best_of(5, lambda: bounds(logs, counts, 0.025)) / len(logs) * 1e6:.1f} |")
    labels, nobody = tuple(range(10)), Truth(None, None, still=False)

    def everything():
        return str(bw.inference.Evidence(kept, labels))

    everything()
    evidence_at_checkpoint(kept, nobody)
    seconds = best_of(5, lambda: evidence_at_checkpoint(kept, nobody))
    print(f"| a look of a study, 10 arms | {seconds * 1e6:.0f} |")
    print(f"| a whole table of evidence, 10 arms | {best_of(5, everything) * 1e6:.0f} |")
    rows = 10**7
    action = (rng.random(rows) < 0.3).astype(np.int64)
    log = {
        "action": action,
        "reward": rng.random(rows),
        "propensity": np.where(action == 1, 0.3, 0.7),
    }
    bw.inference.evaluate({name: column[:10] for name, column in log.items()}, [0.5, 0.5])
    seconds = best_of(3, lambda: bw.inference.evaluate(log, [0.5, 0.5]))
    print(f"| evaluate: a log of 10^7 rows in memory | {seconds * 1e6:,.0f} |", flush=True)


# --- drift -------------------------------------------------------------------------------------------------


def moved_worlds(horizon):
    still, t = constant([0.5, 0.4, 0.4, 0.4, 0.4], horizon), np.arange(horizon)
    worlds = {}

    def world(name, means):
        worlds[name] = np.clip(means, 0.0, 1.0)

    swapped = still.copy()
    swapped[horizon // 2 :, [0, 1]] = [0.4, 0.5]
    world("best arms swap at T/2", swapped)
    world("best −.2 at T/2", still - 0.2 * ((t >= horizon // 2)[:, None] & (np.arange(5) == 0)))
    world("all −.1 at ¾T", still - 0.1 * (t >= 3 * horizon // 4)[:, None])
    world("all +.1 at T/10", still + 0.1 * (t >= horizon // 10)[:, None])
    world("sine ±.1", still + 0.1 * np.sin(2 * np.pi * t / 4000)[:, None])
    world("sine ±.05", still + 0.05 * np.sin(2 * np.pi * t / 4000)[:, None])
    world("linear +.2", still + 0.2 * (t / horizon)[:, None])
    phase = np.floor(np.log1p(t) / math.log(1.6)) % 2
    world("SCA ±.05, phases growing by 1.6", still + (0.1 * phase - 0.05)[:, None])
    gaps = np.array([0.0, 1.0, 1.0, 1.0, 1.0]) / 8
    world("SCA of Zimmert and Seldin, gap ⅛", np.where(phase[:, None] == 0, 1.0 - gaps, 0.125 - gaps))
    hit = ((t >= horizon // 2) & (t < horizon // 2 + 500))[:, None]
    world("attack on the best, 500 rounds −.4", still - 0.4 * (hit & (np.arange(5) == 0)))
    out = ((t >= horizon // 2) & (t < horizon // 2 + 200))[:, None]
    world("outage, 200 rounds", np.where(out, 0.0, still))
    risen = still.copy()
    risen[horizon // 2 :, 1] = 0.7
    world("a starved arm becomes the best (.7)", risen)
    return worlds


def drift(runs):
    horizon, runs = 20_000, max(10, runs // 4)
    worlds = moved_worlds(horizon)
    print(f"\nThe drift alarm at 1/20: K=5, .5/.4×4, T={horizon:,}\n")
    false = 0
    many = 10 * runs
    for seed in range(many):
        run = Played(bw.LightBarrier(), constant([0.5, 0.4, 0.4], 5000), seed, known=False)
        false += bool(bw.inference.drift({"action": run.arms, "reward": run.rewards}))
    print(f"false alarms in iid worlds (T=5000): {false} of {many}\n")
    print(f"| world, {runs} runs of LightBarrier | found | median answer |\n|---|---|---|")
    for name, means in worlds.items():
        since = []
        for seed in range(runs):
            run = Played(bw.LightBarrier(), means, seed, known=False)
            kept = evidence_state.init_evidence(5, False)
            evidence_state.take_in(kept, run.arms, run.rewards, np.ones(horizon))
            alarm = alarm_of(kept.drift, range(5))
            since += [alarm.since] if alarm else []
        median = f"{np.median(since):,.0f}" if since else "–"
        print(f"| {name} | {len(since) / runs:.2f} | {median} |", flush=True)


# --- peeking, and a common trend ---------------------------------------------------------------------------


def z_test(sums):
    n, mean = sums.answers, sums.rewards / np.maximum(sums.answers, 1.0)
    if n.min() < 30:
        return False
    deviation = math.sqrt(float(np.sum(mean * (1 - mean) / n)))
    return deviation > 0 and abs(mean[0] - mean[1]) > 1.96 * deviation


def decided(compared):
    return bool((compared.not_best() >= compared.threshold(ERROR)).any())


def peeking(runs):
    horizon, runs = 20_000, max(10, runs // 4)
    t = np.arange(horizon)
    level = {
        "equal arms, .5": np.full(horizon, 0.5),
        "equal arms, trend .3 → .7": 0.3 + 0.4 * t / horizon,
        "equal arms, sine ±.15": 0.5 + 0.15 * np.sin(2 * np.pi * t / 4000),
    }
    print(f"\nTwo arms that are equal in every round, LightBarrier, T={horizon:,}, 70 looks, {runs} runs:")
    print("how often is one said to be better, ever?\n")
    print("| world | naive z-test | stationary | the same, before the drift alarm | any world |")
    print("|---|---|---|---|---|")
    for name, line in level.items():
        found = np.zeros((runs, 4))
        for seed in range(runs):
            run = Played(bw.LightBarrier(), np.stack([line, line], axis=1), seed)
            alarmed = False
            for _, kept in run.looks():
                alarmed = alarmed or bool(alarm_of(kept.drift, range(2)))
                stationary = decided(StationaryWorld(kept.sums))
                now = z_test(kept.sums), stationary, stationary and not alarmed, decided(AnyWorld(kept.sums))
                found[seed] = np.maximum(found[seed], now)
        print(f"| {name} | " + " | ".join(f"{share:.2f}" for share in found.mean(axis=0)) + " |", flush=True)


def certainty(runs):
    horizon, runs = 20_000, max(10, runs // 4)
    means = constant([0.5, 0.4], horizon)
    print(f"\nMeans .5/.4, T={horizon:,}, {runs} runs: when is the loser ruled out, and at which regret?\n")
    print("| policy | ruled out by T | median round | wrong | regret at T |\n|---|---|---|---|---|")
    for policy in (
        bw.Uniform(),
        bw.TsallisINF(),
        bw.LightBarrier(),
        bw.policies.DEFAULT,
        bw.UCB1(),
        bw.Thompson(),
    ):
        rounds, wrong, regret = [], 0, []
        for seed in range(runs):
            run = Played(policy, means, seed, known=False)
            regret.append(0.1 * np.sum(run.arms == 1))
            when = math.inf
            for t, kept in run.looks():
                out = StationaryWorld(kept.sums).not_best() >= -math.log(ERROR)
                wrong += bool(out[0])
                if out[1]:
                    when = t
                    break
            rounds.append(when)
        share = np.mean(np.isfinite(rounds))
        median = f"{np.median(rounds):,.0f}" if np.isfinite(np.median(rounds)) else "–"
        print(f"| {policy!r} | {share:.2f} | {median} | {wrong} | {np.mean(regret):.0f} |", flush=True)


SECTIONS = {
    "coverage": coverage,
    "widths": widths,
    "costs": costs,
    "drift": drift,
    "peeking": peeking,
    "certainty": certainty,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all, if none is named")
    parser.add_argument("--runs", type=int, default=400)
    options = parser.parse_args()
    for name in options.sections or SECTIONS:
        SECTIONS[name](options.runs)


if __name__ == "__main__":
    main()
