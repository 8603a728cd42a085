"""Ten minutes of service at half load: what must not grow.

``python benchmarks/soak.py [--folder DIR] [--minutes 10] [--load R]`` starts ``bothworlds serve``, finds by
a closed loop how many pairs of decision and outcome it takes per second (``--load`` gives half of it
instead), and then sends half as many, at random moments, whether or not it has answered. Each minute has a
line: latency of requests, from when they were due, resident memory, the file and its write-ahead log. The
verdict compares the last minute with the second (the first fills caches): memory within 5%, p99 within 1.2
times, the write-ahead log within 4 times its 1,000 pages and what it is filled with. It ends with status 1
if something has grown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil

from serving import keep_asking, play, prepare, serving

WARM = 5.0  # seconds
FILLED = 8 << 20
WAL = FILLED + 4 * 1000 * 4096  # bytes


async def soak(
    port: int, key: str, process: psutil.Process, path: Path, minutes: float, load: float | None
) -> bool:
    """Find the load, keep it up, print and judge."""
    await prepare(port, key)
    await play(port, key, 2.0, 1)  # machine code, segments
    if load is None:
        load = 0.5 * await play(port, key, WARM, 1) / WARM / 2.0
    print(
        f"{load:.0f} pairs/s for {minutes:g} minutes; load of the machine {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    print("minute  requests/s  p50 ms  p99 ms  resident MB  file MB  log MB", flush=True)
    took: list[tuple[float, str, float]] = []
    asking = asyncio.create_task(keep_asking(port, key, load, 60.0 * minutes, took))
    lines: list[tuple[float, float, float]] = []
    biggest = 0
    for minute in range(1, int(minutes) + 1):
        resident = []
        for _ in range(60):
            await asyncio.sleep(1.0)
            resident.append(process.memory_info().rss)
            biggest = max(biggest, Path(f"{path}-wal").stat().st_size)
        recent = np.array([seconds for at, _, seconds in took if at >= 60.0 * (minute - 1)])
        low, high = 1e3 * np.quantile(recent, [0.5, 0.99])
        memory = float(np.median(resident))
        lines.append((memory, high, len(recent) / 60.0))
        sizes = path.stat().st_size / 1e6, biggest / 1e6
        print(
            f"{minute:6}  {lines[-1][2]:10.0f}  {low:6.2f}  {high:6.1f}  {memory / 1e6:11.1f}  "
            f"{sizes[0]:7.1f}  {sizes[1]:6.1f}",
            flush=True,
        )
    dropped = await asking
    first, last = lines[min(1, len(lines) - 1)], lines[-1]
    checks = {
        f"resident memory, last minute / second: {last[0] / first[0]:.3f} (goal: 0.95 to 1.05)": (
            0.95 <= last[0] / first[0] <= 1.05
        ),
        f"p99, last minute / second: {last[1] / first[1]:.2f} (goal: 1.2)": last[1] <= 1.2 * first[1],
        f"largest write-ahead log: {biggest / 1e6:.1f} MB (goal: {WAL / 1e6:.1f})": biggest <= WAL,
        f"requests that were never sent: {dropped} (goal: 0)": dropped == 0,
    }
    for text, good in checks.items():
        print(f"{'reached' if good else 'NOT reached'}: {text}")
    return all(checks.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=".", help="on the disk to be used")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--load", type=float, help="pairs per second; by default half of what it takes")
    options = parser.parse_args()
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path = Path(name).absolute() / "soak.db"
        with serving(path) as (port, key, process):
            good = asyncio.run(soak(port, key, process, path, options.minutes, options.load))
    sys.exit(not good)


if __name__ == "__main__":
    main()
