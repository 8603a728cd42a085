"""A bandit for each of ten thousand segments, and what evidence adds to a round."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import bothworlds as bw

os.environ.setdefault("BOTHWORLDS_COMPILE", "wait")  # machine code is there, and in memory, before the first
SEGMENTS = 10_000
ROUNDS = 20_000
REPEATS = 7


def resident() -> float:
    """Megabytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def segment_table() -> list[str]:
    bandits = bw.Bandits(5, seed=1)
    bandits["first"].update(bandits["first"].pull(), reward=1.0)  # compiles
    before, began = resident(), time.perf_counter()
    for segment in range(SEGMENTS):
        bandit = bandits[segment]
        bandit.update(bandit.pull(), reward=1.0)
    made, size = time.perf_counter() - began, resident() - before
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bandits.json"
        began = time.perf_counter()
        bandits.save(path)
        saved, length = time.perf_counter() - began, path.stat().st_size / 1e6
        began = time.perf_counter()
        bw.Bandits.load(path)
        loaded = time.perf_counter() - began
    return [
        f"| {SEGMENTS:,} bandits of 5 arms, a round each | |",
        "|---|---|",
        f"| made and played | {made:.2f} s |",
        f"| memory | {size:.0f} MB |",
        f"| saved, {length:.0f} MB | {saved:.2f} s |",
        f"| loaded | {loaded:.2f} s |",
    ]


def evidence_table() -> list[str]:
    bandits = {
        kind: bw.Bandit(10, bw.LightBarrier(), seed=1, evidence=kind) for kind in (None, "arms", "full")
    }
    best = dict.fromkeys(bandits, float("inf"))
    for _ in range(REPEATS):
        for kind, bandit in bandits.items():
            began = time.perf_counter()
            for _ in range(ROUNDS):
                bandit.update(bandit.pull(), reward=0.37)
            best[kind] = min(best[kind], (time.perf_counter() - began) / ROUNDS * 1e6)
    lines = ["| evidence | a pull and its update, µs | over none |", "|---|---|---|"]
    lines += [f"| {kind} | {value:.2f} | {value / best[None]:.2f}x |" for kind, value in best.items()]
    return lines


if __name__ == "__main__":
    print("\n".join([*segment_table(), "", *evidence_table()]))
