"""How far the numbers of a report can be trusted, and how long a thousand cells take.

Prints how often a 95% band covers the mean, how often the growth of made-up curves with a known law is named
rightly, wrongly or not at all, and the seconds that the tables of a sweep of 1000 cells take.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from bothworlds.report.numbers.statistics import UNDECIDED, fit_growth, last_decade, mean_band
from bothworlds.report.study import Study

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from lab_store import LAWS, many, write_store

ROUNDS = np.unique(np.geomspace(1, 100_000, 100).round().astype(np.int64))
LATE = last_decade(ROUNDS)


def coverage() -> None:
    rng = np.random.default_rng(0)
    print("95% bands: how often they cover the mean (20,000 times)")
    print(f"{'replications':>14}  {'normal':>8}  {'skewed':>8}  {'one run in 20 fails':>20}")
    for n in (4, 8, 16, 32, 64, 256):
        shares = []
        for values, mean in (
            (rng.normal(size=(n, 20_000)), 0.0),
            (rng.gamma(4.0, 0.25, size=(n, 20_000)), 1.0),
            (1.0 + 20.0 * (rng.random((n, 20_000)) < 0.05) + 0.1 * rng.normal(size=(n, 20_000)), 2.0),
        ):
            low, high = mean_band(values)
            shares.append(np.mean((low <= mean) & (mean <= high)))
        print(f"{n:>14}  {shares[0]:>8.1%}  {shares[1]:>8.1%}  {shares[2]:>20.1%}")


def curves(law: str, scale: float, walk: float, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    f = LAWS[law]
    increments = scale * np.diff(f(1.0 * ROUNDS), prepend=f(0.0))
    clean = np.cumsum(rng.gamma(np.tile(increments / 0.5, (n, 1)), 0.5), axis=1)
    noise = walk * np.cumsum(rng.normal(size=clean.shape) * np.sqrt(np.diff(ROUNDS, prepend=0)), axis=1)
    return (rng.gamma(50.0, 0.02, size=(n, 1)) * clean + noise)[:, LATE]


def laws() -> None:
    print("\nGrowth: made-up curves up to round 100,000, 200 studies each")
    print(f"{'replications':>14}  {'curve':<34}  {'right':>7}  {'wrong':>7}  {'undecided':>9}")
    for n in (8, 16, 64):
        for law, scale, walk in (
            ("bounded", 2000.0, 0.0),
            ("log T", 8.0, 0.0),
            ("√T", 1.0, 0.0),
            ("T", 0.05, 0.0),
            ("log T", 8.0, 0.1),
            ("√T", 1.0, 0.3),
            ("T", 0.05, 0.3),
            ("bounded", 1.0, 1.0),
        ):
            found = Counter(
                fit_growth(ROUNDS[LATE], curves(law, scale, walk, n, seed)).law for seed in range(200)
            )
            right, undecided = found[law] / 200, found[UNDECIDED] / 200
            name = f"{scale:g} × {law}" + (f" + random walk of {walk:g}" if walk else "")
            print(
                f"{n:>14}  {name:<34}  {right:>7.1%}  {abs(1 - right - undecided):>7.1%}  {undecided:>9.1%}"
            )


def sweep() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = write_store(
            Path(folder) / "out", many(1000), horizons=(100_000,), checkpoints=110, replications=16
        )
        start, processor = time.perf_counter(), time.process_time()
        study = Study.load(out)
        loaded = time.perf_counter()
        files = study.write_tables()
        done, used = time.perf_counter(), time.process_time() - processor
    print("\n1000 cells, 16 replications, 97 checkpoints")
    print(f"read and check the store: {loaded - start:.1f} s")
    print(f"all tables, {len(files)} files: {done - loaded:.1f} s; processor time of both: {used:.1f} s")


if __name__ == "__main__":
    coverage()
    laws()
    sweep()
