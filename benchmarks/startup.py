"""Start-up: what importing costs, the first pull on a new machine, when machine code takes over.

`python benchmarks/startup.py` prints that and what first simulations cost; `--simulations` the latter alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

# Each step is timed in one process, one after the other.
FIRST = """
import json, time
def clock(code):
    start = time.perf_counter(); exec(code, names); return time.perf_counter() - start
names = {}
seconds = [clock(code) for code in (
    "import numpy",
    "import bothworlds as bw",
    "b = bw.Bandit(5); pull = b.pull()",
)]
bw = names["bw"]
bandit = bw.Bandit(10, seed=1)
python, rounds, longest = bandit._act, 0, 0.0
first = began = time.perf_counter()
while bandit._act is python:
    start = time.perf_counter()
    bandit.update(bandit.pull(), loss=(rounds % 7) / 7)
    longest = max(longest, time.perf_counter() - start)
    rounds += 1
    if rounds == 40:  # nothing goes on beside
        first = (time.perf_counter() - began) / 40
changed = time.perf_counter() - began
began = time.perf_counter()
for i in range(10_000):
    bandit.update(bandit.pull(), loss=(i % 7) / 7)
compiled = (time.perf_counter() - began) / 10_000
print(json.dumps([*seconds, seconds[1] + seconds[2], 1e6 * first, changed, 1e3 * longest, 1e6 * compiled]))
"""
STEPS = (
    "`import numpy`, seconds",
    "`import bothworlds`, after NumPy, seconds",
    "`Bandit(5).pull()`, seconds",
    "**`import bothworlds; Bandit(5).pull()` over NumPy, seconds**",
    "a round of 10 arms as Python, µs",
    "until machine code takes over, playing without a pause, seconds",
    "the longest round until then, ms",
    "a round as machine code, µs",
)
REPEATS = 5


def once(folder: str) -> list[float]:
    """The measures, in a new process with this cache."""
    env = os.environ | {"BOTHWORLDS_CACHE_DIR": folder}
    env.pop("BOTHWORLDS_COMPILE", None)
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=env)
    measures: list[float] = json.loads(done.stdout)
    return measures


def startup_table() -> list[str]:
    empty, full = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            empty.append(once(folder))
            full.append(once(folder))
    lines = ["| step, in a new process | empty cache | machine code on disk |", "|---|---|---|"]
    for step, *times in zip(STEPS, zip(*empty, strict=True), zip(*full, strict=True), strict=True):
        lines.append(f"| {step} | {min(times[0]):.3g} | {min(times[1]):.3g} |")
    return lines


SIMULATE = """
import json, time
start = time.perf_counter()
import bothworlds as bw
world = getattr(bw.environments, WORLD)(n_arms=4, gap=0.2)
bw.simulate(bw.POLICY, world, horizon=100, replications=1, jobs=1)
print(json.dumps(time.perf_counter() - start))
"""


def simulations_table() -> list[str]:
    """The first simulation of a policy in a new process: with an empty cache, in another world, and again."""
    lines = ["| seconds, in a new process | empty cache | in a second world | again |", "|---|---|---|---|"]
    for policy in ("TsallisINF()", "LightBarrier()", "Watched(bw.InsuredSampler())"):
        with tempfile.TemporaryDirectory() as folder:
            taken = []
            for world in ("Bernoulli", "StochasticallyConstrained", "StochasticallyConstrained"):
                code = SIMULATE.replace("WORLD", repr(world)).replace("POLICY", policy)
                env = os.environ | {"BOTHWORLDS_CACHE_DIR": folder}
                done = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
                )
                taken.append(json.loads(done.stdout))
        lines.append(f"| `{policy.replace('bw.', '')}` | " + " | ".join(f"{t:.1f}" for t in taken) + " |")
    return lines


if __name__ == "__main__":
    if "--simulations" not in sys.argv[1:]:
        print("\n".join(startup_table()), end="\n\n")
    print("\n".join(simulations_table()))
