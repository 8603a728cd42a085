"""What each part of the watch does: the default without it, in the tuned worlds of the tournament.

Each part gets a switch in a copy of the package, by a change of its text, so that all are compiled together;
the copy plays with all parts and without each of them, on the same seeds. Given is the mean regret (after the
first change, where there is one) of the whole, and the ratio of the regret without the part to it, ± one
standard error by bootstrap over runs: above 1 the part helps; "=" are runs that are the same to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bothworlds as bw
from bothworlds._progress import Progress
from tournament import TO_THOMPSON, World, worlds

PACKAGE = Path(bw.__file__).parent
WATCH = "policies/watched/"
# part: file, its text, and the text in which OUT takes the part out
PARTS = {
    "budget": [
        (
            "alarm.py",
            "= params.budget * scalars[EXPLORED] +",
            "= (1e9 if OUT else params.budget) * scalars[EXPLORED] +",
        ),
        (
            "trial.py",
            "= params.budget * scalars[EXPLORED] +",
            "= (1e9 if OUT else params.budget) * scalars[EXPLORED] +",
        ),
    ],
    "rare trials": [
        ("watched.py", "[GAP] = SHORT_GAP", "[GAP] = 1e18 if OUT else SHORT_GAP"),
        ("trial.py", "[GAP] = SHORT_GAP", "[GAP] = 1e18 if OUT else SHORT_GAP"),
    ],
    "doubt": [("trial.py", "scalars[DOUBT] += 1.0", "scalars[DOUBT] += 0.0 if OUT else 1.0")],
    "stayed or moved": [
        ("trial.py", "evidence.together >= AT_LEAST", "evidence.together >= (math.inf if OUT else AT_LEAST)")
    ],
    "better side": [
        ("alarm.py", "bet(state, n, sums[arm] / n, loss)", "bet(state, n, sums[arm] / n, loss, OUT)"),
        ("alarm.py", "level: float, loss: float)", "level: float, loss: float, blind: bool)"),
        ("alarm.py", "highest = most(grown, shrunk)", "highest = grown if blind else most(grown, shrunk)"),
    ],
    "share of gain": [("alarm.py", "+ SHARE_OF_GAIN * gain", "+ (0.0 if OUT else SHARE_OF_GAIN) * gain")],
    "cap on restarts": [
        ("trial.py", "return UNRESOLVED if capped", "return UNRESOLVED if capped and not OUT")
    ],
    "cap on trials": [
        (
            "alarm.py",
            "if scalars[TRIALS] > cap(params, state)",
            "if not OUT and scalars[TRIALS] > cap(params, state)",
        ),
        (
            "trial.py",
            "or scalars[TRIALS] > cap(params, state)",
            "or (not OUT and scalars[TRIALS] > cap(params, state))",
        ),
    ],
}
SWITCH = [
    ("state.py", "    n_arms: int\n", "    n_arms: int\n    out: float\n"),
    ("watched.py", "    budget: float = 0.15\n", "    budget: float = 0.15\n    out: float = -1.0\n"),
    ("watched.py", "self.budget, n_arms, ", "self.budget, n_arms, self.out, "),
]


def chosen(families: list[str] | None) -> list[World]:
    """The tuned worlds in which something moves, and one of each family in which nothing does."""
    tuned = [world for world in worlds() if world.tuned]
    still = {world.family: world for world in tuned if world.family in TO_THOMPSON}
    all_of_them = [*still.values(), *(world for world in tuned if world.family not in TO_THOMPSON)]
    return [world for world in all_of_them if not families or world.family in families]


def title(world: World) -> str:
    """Its name, which alone is not unique."""
    return f"{world.family}: {world.name}"


def switchable(folder: Path) -> None:
    """Write a copy of the package whose watch has a number more, that of the part which is out."""
    shutil.copytree(PACKAGE, folder / "bothworlds", ignore=shutil.ignore_patterns("__pycache__"))
    changes = list(SWITCH)
    for k, part in enumerate(PARTS.values()):
        changes += [(name, old, new.replace("OUT", f"(params.out == {k}.0)")) for name, old, new in part]
    for name, old, new in changes:
        path = folder / "bothworlds" / WATCH / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{name} no longer has {old!r}, once: say in PARTS what it is now")
        path.write_text(text.replace(old, new), encoding="utf-8")


def play(world: World, runs: int) -> list[list[float]]:
    """Regrets of the whole, and without each part."""
    checkpoints = [world.change, world.horizon] if world.change else [world.horizon]
    watched: Any = bw.Watched  # which in the copy has a switch
    run = bw.simulate(
        [watched(bw.InsuredSampler(), out=float(k)) for k in range(-1, len(PARTS))],
        world.environment,
        horizon=world.horizon,
        replications=runs,
        seed=5,
        checkpoints=checkpoints,
        tell_horizon=False,
    )
    regret = run.clean_regret if world.family in ("corrupted", "faked") else run.regret
    final = regret[:, :, -1] - (regret[:, :, 0] if world.change else 0.0)
    return [[float(value) for value in row] for row in final]


def ratio(part: list[float], whole: list[float]) -> str:
    """Of means, with its standard error: runs have the same seeds, so they are drawn in pairs."""
    if part == whole:
        return "="
    both = np.array([part, whole])
    picks = np.random.default_rng(1).integers(both.shape[1], size=(400, both.shape[1]))
    means = both[:, picks].mean(axis=2)
    return f"{both[0].mean() / both[1].mean():.2f} ± {np.std(means[0] / means[1]):.2f}"


def row(world: World, regrets: list[list[float]]) -> str:
    """A line of the table."""
    cells = [ratio(part, regrets[0]) for part in regrets[1:]]
    return f"| {title(world)} | {np.mean(regrets[0]):.0f} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=60)
    parser.add_argument("--families", nargs="*", help="only worlds of these (all)")
    parser.add_argument(
        "--play", action="store_true", help="regrets in a world per line, by the switchable copy"
    )
    options = parser.parse_args()
    among = chosen(options.families)
    if options.play:
        for world in among:
            print(json.dumps(play(world, options.replications)), flush=True)
        return
    print(f"{bw.policies.DEFAULT!r}, {options.replications} runs\n")
    print("| world | whole | " + " | ".join(f"no {part}" for part in PARTS) + " |")
    print("|---|---|" + "---|" * len(PARTS), flush=True)
    with tempfile.TemporaryDirectory() as folder, Progress("ablation", len(among)) as progress:
        switchable(Path(folder))
        environment = os.environ | {"PYTHONPATH": folder, "NUMBA_CACHE_DIR": f"{folder}/cache"}
        command = [sys.executable, __file__, "--play", *sys.argv[1:]]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as playing:
            assert playing.stdout is not None
            for world, line in zip(among, playing.stdout, strict=True):
                print(row(world, json.loads(line)), flush=True)
                progress.advance(1)
        if playing.returncode:
            raise SystemExit(playing.returncode)


if __name__ == "__main__":
    main()
