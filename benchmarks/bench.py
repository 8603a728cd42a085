"""`make bench`: this package, its peers, NumPy and C in one run, µs per round, and how wrong p is.

Everything is measured in turns, several times, and the smallest time counts: other programs on the machine
disturb all alike. The error of p is against arithmetic with 50 digits or more, on each contestant's own
cumulative losses. The tables are printed, and pasted into docs/benchmarks.md unless ``--print`` is given.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path

import mpmath as mp
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
os.environ["BOTHWORLDS_COMPILE"] = "wait"  # what is measured is machine code

from batches import batch_table  # noqa: E402
from contestants import Contestant, Step, everyone  # noqa: E402
from every_policy import policy_table  # noqa: E402
from memory import memory_table  # noqa: E402
from oracle import step as oracle  # type: ignore[import-not-found]  # noqa: E402
from segments import evidence_table, segment_table  # noqa: E402
from startup import simulations_table, startup_table  # noqa: E402

PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end: written by make bench -->"
ARMS = (10, 100, 1000, 100_000, 1_000_000)
SLICE = 0.15  # seconds that one measurement takes, about
REPEATS = 5
FEW = 20  # rounds that only set up


def seconds(contestant: Contestant, n_arms: int, rounds: int) -> float:
    """Of so many rounds; from 100,000 arms on without setting up, which takes as long as many rounds."""
    whole = contestant.play(n_arms, rounds)
    return (
        whole if n_arms < 10**5 else max(whole - contestant.play(n_arms, FEW), 1e-9) * rounds / (rounds - FEW)
    )


def rounds_for(contestant: Contestant, n_arms: int) -> int:
    """As many rounds as fill a slice; the first trial also compiles."""
    rounds = 2 * FEW
    contestant.play(n_arms, FEW)
    if n_arms >= 10**5:
        return 10**6 if contestant.many_arms else 3 * 10**8 // n_arms
    while True:
        took = min(contestant.play(n_arms, rounds) for _ in range(2))  # one may have been held up
        if took > SLICE / 4 or rounds > 10**7:
            return max(2 * FEW, int(rounds * SLICE / took))
        rounds *= 4


def measure(contestants: list[Contestant], repeats: int) -> dict[tuple[str, int], float]:
    """µs per round of everyone at every number of arms, in turns."""
    todo = []
    for contestant in contestants:
        for n_arms in ARMS:
            if n_arms <= contestant.most:
                say(f"{contestant.name}, K={n_arms}")
                todo.append((contestant, n_arms, rounds_for(contestant, n_arms)))
    best: dict[tuple[str, int], float] = {}
    for turn in range(repeats):
        say(f"turn {turn + 1} of {repeats}")
        for contestant, n_arms, rounds in todo:
            key = contestant.name, n_arms
            best[key] = min(best.get(key, math.inf), 1e6 * seconds(contestant, n_arms, rounds) / rounds)
    return best


def say(text: str) -> None:
    """What is going on, on one line."""
    print(f"\r{text}".ljust(90), end="", file=sys.stderr, flush=True)


def exact(at: Step) -> np.ndarray:
    """p in high precision. Where p has a closed form, one monotone Newton search in 50 digits will do."""
    (_, kind, beta) = at.parts[0]
    if kind == "shannon" or (kind, beta) == ("tsallis", 0.7):
        return np.array([float(p) for p in oracle.solve(at.losses, at.rates, at.parts, at.barrier)[0]])
    with mp.workdps(50):
        power = 2 if kind == "tsallis" else 1
        losses, weights = [mp.mpf(v) for v in at.losses], [mp.mpf(v) + at.barrier for v in at.rates]
        x = min(loss - weight for loss, weight in zip(losses, weights, strict=True))  # some p is 1: Σp ≥ 1
        while True:
            ratios = [weight / (loss - x) for loss, weight in zip(losses, weights, strict=True)]
            p = [ratio**power for ratio in ratios]
            slopes = [
                power * value * ratio / weight
                for value, ratio, weight in zip(p, ratios, weights, strict=True)
            ]
            step = (mp.fsum(p) - 1) / mp.fsum(slopes)
            x -= step
            if abs(step) < mp.mpf(10) ** -40 * abs(x):
                return np.array([float(value) for value in p])


def worst_error(contestant: Contestant, n_arms: int) -> str:
    """The largest relative error of any p, and in how many of the distributions it exceeds 1e-6."""
    if contestant.steps is None:
        return "–"
    worst, wrong, seen = 0.0, 0, 0
    for at in contestant.steps(n_arms):
        error = float(np.max(np.abs(at.p / exact(at) - 1.0)))
        worst, wrong, seen = max(worst, error), wrong + (error > 1e-6), seen + 1
    return f"{worst:.0e}" + (f", wrong in {100 * wrong / seen:.0f}% of rounds" if wrong else "")


def number(value: float | None, base: float | None) -> str:
    if value is None:
        return " | "
    text = f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return f"{text} | " + ("" if base is None else f"{three_digits(value / base)}×")


def three_digits(value: float) -> str:
    """Without an exponent where it is large."""
    return f"{value:.3g}" if value < 1000 else f"{float(f'{value:.3g}'):,.0f}"


def speed_table(contestants: list[Contestant], best: dict[tuple[str, int], float]) -> list[str]:
    reference = contestants[0].name
    heads = " | ".join(f"K={n_arms:,} | ratio" for n_arms in ARMS)
    lines = [f"| µs per round | {heads} | error of p, K=10 | K=100 |", "|---|" + "---|" * (2 * len(ARMS) + 2)]
    for contestant in contestants:
        cells = [number(best.get((contestant.name, n)), best.get((reference, n))) for n in ARMS]
        say(f"error of {contestant.name}")
        errors = [worst_error(contestant, n_arms) for n_arms in (10, 100)]
        lines.append(f"| {contestant.name} | " + " | ".join([*cells, *errors]) + " |")
    return lines


OURS = "bothworlds TsallisINF, whole run"
PASSES = "bothworlds TsallisINF by passes over all arms"
QUOTIENTS = {  # what the first takes in units of the second
    "SMPyBandits / TsallisINF": ("SMPyBandits TsallisInf (its file alone)", OURS),
    "NumPy warm Newton / TsallisINF": ("NumPy Tsallis-INF, warm Newton", OURS),
    "NumPy warm Newton / TsallisINF, one call at a time": (
        "NumPy Tsallis-INF, warm Newton",
        "bothworlds TsallisINF, one call at a time",
    ),
    "TsallisINF / C": (OURS, "C Tsallis-INF"),
    "TsallisINF by passes / C": (PASSES, "C Tsallis-INF"),
    **{
        f"{name} / C": (f"bothworlds {name}, whole run", f"C {name}")
        for name in ("log-barrier, C=1", "Tsallis 0.7, C=1", "Shannon, C=1")
    },
    "log-barrier, C=1 / TsallisINF": ("bothworlds log-barrier, C=1, whole run", OURS),
    "LightBarrier / TsallisINF": ("bothworlds LightBarrier, whole run", OURS),
    "one replication / one of 64": (OURS, "bothworlds TsallisINF, 64 replications"),
    "one thread / two": (
        "bothworlds TsallisINF, 64 replications",
        "bothworlds TsallisINF, 64 replications, two threads",
    ),
    "TsallisINF by passes / TsallisINF": (PASSES, OURS),
}


def quotient_table(best: dict[tuple[str, int], float]) -> list[str]:
    lines = [
        "| quotient of times | " + " | ".join(f"K={n:,}" for n in ARMS) + " |",
        "|---|" + "---|" * len(ARMS),
    ]
    for label, (slow, fast) in QUOTIENTS.items():
        both = [(best.get((slow, n)), best.get((fast, n))) for n in ARMS]
        cells = [three_digits(a / b) if a and b else "" for a, b in both]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def machine() -> str:
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    versions = [f"Python {platform.python_version()}"]
    for package in ("bothworlds", "numpy", "numba", "scipy", "SMPyBandits", "river", "mabwiser"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    try:
        gcc = subprocess.run(
            ["gcc", "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        gcc = "no gcc"
    cores = f"{len(names)} × {names[0]}" if names else platform.machine()
    return f"{cores}, {platform.system()}; {', '.join(versions)}; {gcc}; {time.strftime('%Y-%m-%d')}."


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def paste(lines: list[str]) -> None:
    """Put the tables between the markers of the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--print", action="store_true", help="print only: leave docs/benchmarks.md as it is")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    contestants, absent = everyone()
    lines = [machine(), ""]
    best = measure(contestants, options.repeats)
    lines += speed_table(contestants, best)
    lines += ["", *(f"- {reason}" for reason in absent)]
    parts = {
        "Quotients": lambda: quotient_table(best),
        "Every policy, whole runs": policy_table,
        "Memory": memory_table,
        "Start-up": startup_table,
        "First simulations": simulations_table,
        "Batches, decisions a second at K = 10": batch_table,
        "Segments": segment_table,
        "Evidence, LightBarrier at K = 10": evidence_table,
    }
    for title, table in parts.items():
        say(title)
        lines += ["", f"**{title}**", "", *table()]
    say("")
    print("\n" + "\n".join(lines))
    if not options.print:
        paste(lines)


if __name__ == "__main__":
    main()
