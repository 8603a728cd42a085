"""What the lab adds to the kernels: a study of about a minute, as a program of its own, import included.

Kernel seconds are processor time of the threads that played, compilation excluded. Overhead is what is
missing to (wall time × workers), workers that idle at the end included: only meaningful if nothing else
runs on the machine. The share of the processor time that was not spent in kernels does not depend on that.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bothworlds.experiments.store import Store
from bothworlds.experiments.store.provenance import cores

STUDY = """
horizon = {horizon}
replications = {replications}
[[policy]]
kind = "light-barrier"
[[policy]]
kind = "tsallis-inf"
[[policy]]
kind = "exp3"
[[policy]]
kind = "ucb1"
[[policy]]
kind = "thompson"
[[environment]]
kind = "bernoulli"
n_arms = 10
gap = [0.05, 0.1, 0.2]
[[environment]]
kind = "stochastically-constrained"
n_arms = 10
gap = 0.125
"""

PROGRAM = """
import sys
from bothworlds.experiments.run import run_study
from bothworlds.experiments.spec import read
if __name__ == "__main__":
    run_study(read(sys.argv[1]), sys.argv[2], jobs=int(sys.argv[3]), executor=sys.argv[4], progress=False)
"""


def measure(folder: Path, horizon: int, replications: int, jobs: int, executor: str) -> None:
    """One program, from its start to its end."""
    (folder / "study.toml").write_text(STUDY.format(horizon=horizon, replications=replications))
    (folder / "program.py").write_text(PROGRAM)
    out = folder / f"{executor}-{jobs}-{horizon}"
    command = [sys.executable, folder / "program.py", folder / "study.toml", out, str(jobs), executor]
    began, before = time.perf_counter(), _children()
    subprocess.run(command, check=True)
    wall, used = time.perf_counter() - began, _children() - before
    store = Store(out)
    kernels = sum(timing.seconds for timing in store.timings())
    size = sum(path.stat().st_size for path in store.chunks.values())
    print(
        f"{jobs} {executor}, {len(store.plan)} chunks: {wall:.1f} s wall, {used:.1f} s of processor time, "
        f"{kernels:.1f} s in kernels; overhead {100 * (1 - kernels / (wall * jobs)):.1f}% of wall time, "
        f"{100 * (1 - kernels / used):.1f}% of processor time; {size / 1e6:.2f} MB",
        flush=True,
    )


def _children() -> float:
    """Processor time of the processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--replications", type=int, default=150)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("to compile, or to read from disk:")
        measure(folder, 100, 2, 1, "threads")
        print("\nand then:")
        for executor in ("threads", "processes"):
            measure(folder, options.horizon, options.replications, cores(), executor)


if __name__ == "__main__":
    main()
