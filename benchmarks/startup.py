"""Start-up: what importing costs, and the first use of a policy whose kernels are on disk."""

from __future__ import annotations

import json
import subprocess
import sys

MEASURE = """
import json, time
def clock(code, names={}):
    start = time.perf_counter(); exec(code, names); return time.perf_counter() - start
names = {}
print(json.dumps([clock(code, names) for code in (
    "import numpy",
    "import bothworlds as bw",
    "import numba",
    "from numba.core.registry import cpu_target as t; t.typing_context.refresh(); t.target_context.refresh()",
    "b = bw.Bandit(5); b.update(b.pull(), loss=0.5)",
    "b = bw.Bandit(5, bw.UCB1()); b.update(b.pull(), loss=0.5)",
)]))
"""
STEPS = (
    "`import numpy`",
    "`import bothworlds`, after NumPy",
    "`import numba`, on the first use of any kernel",
    "numba's own tables, then too",
    "a first `Bandit`: its kernels from the cache",
    "a `Bandit` with another policy",
)
REPEATS = 7


def startup_table() -> list[str]:
    def once() -> list[float]:
        done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    once()  # fills the cache
    best = [min(times) for times in zip(*(once() for _ in range(REPEATS)), strict=True)]
    lines = ["| step, in a new process | seconds |", "|---|---|"]
    return lines + [f"| {step} | {seconds:.3f} |" for step, seconds in zip(STEPS, best, strict=True)]


if __name__ == "__main__":
    print("\n".join(startup_table()))
