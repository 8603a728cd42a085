"""What each part of the watch does: the default without it, in the tuned worlds of the tournament.

A part is taken out of a copy of the package, by a change of its text, and the copy plays the same worlds on
the same seeds. Given is the mean regret (after the first change, where there is one) of the whole, and the
ratio of the regret without the part to it, ± one standard error by bootstrap over runs: above 1 it helps.
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

import numpy as np

import bothworlds as bw
from bothworlds._progress import Progress
from tournament import TO_THOMPSON, World, worlds

PACKAGE = Path(bw.__file__).parent
WATCH = "policies/watched/"
# part: file, its text, the text without the part
PARTS = {
    "budget": ("watched.py", "budget: float = 0.15", "budget: float = 1e9"),
    "rare trials": ("state.py", "SHORT_GAP = 500.0", "SHORT_GAP = 1e18"),
    "doubt": ("trial.py", "scalars[DOUBT] += 1.0", "scalars[DOUBT] += 0.0"),
    "stayed or moved": ("trial.py", "AT_LEAST = 1.0", "AT_LEAST = math.inf"),
    "better side": ("alarm.py", "highest = most(grown, shrunk)", "highest = grown"),
    "share of gain": ("alarm.py", "SHARE_OF_GAIN = 0.25", "SHARE_OF_GAIN = 0.0"),
    "cap": ("trial.py", "return UNRESOLVED if capped else CONFIRMED", "return CONFIRMED"),
}


def chosen() -> list[World]:
    """The tuned worlds in which something moves, and one of each family in which nothing does."""
    tuned = [world for world in worlds() if world.tuned]
    still = {world.family: world for world in tuned if world.family in TO_THOMPSON}
    return [*still.values(), *(world for world in tuned if world.family not in TO_THOMPSON)]


def title(world: World) -> str:
    """Its name, which alone is not unique."""
    return f"{world.family}: {world.name}"


def play(world: World, runs: int) -> list[float]:
    """Regrets of the default."""
    checkpoints = [world.change, world.horizon] if world.change else [world.horizon]
    run = bw.simulate(
        bw.policies.DEFAULT,
        world.environment,
        horizon=world.horizon,
        replications=runs,
        seed=5,
        checkpoints=checkpoints,
        tell_horizon=False,
    )
    regret = run.clean_regret if world.family in ("corrupted", "faked") else run.regret
    final = regret[0, :, -1] - (regret[0, :, 0] if world.change else 0.0)
    return [float(value) for value in final]


def without(part: str | None, runs: int) -> dict[str, list[float]]:
    """Regrets by world, played by a copy of the package that lacks a part."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder) / "bothworlds", ignore=shutil.ignore_patterns("__pycache__"))
        if part is not None:
            name, old, new = PARTS[part]
            path = Path(folder) / "bothworlds" / WATCH / name
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise SystemExit(f"{name} no longer has {old!r}, once: say in PARTS what {part!r} is now")
            path.write_text(text.replace(old, new), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": folder, "NUMBA_CACHE_DIR": f"{folder}/cache"}
        command = [sys.executable, __file__, "--play", "--replications", str(runs)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def ratio(part: list[float], whole: list[float]) -> str:
    """Of means, with its standard error: runs have the same seeds, so they are drawn in pairs."""
    both = np.array([part, whole])
    picks = np.random.default_rng(1).integers(both.shape[1], size=(400, both.shape[1]))
    means = both[:, picks].mean(axis=2)
    return f"{both[0].mean() / both[1].mean():.2f} ± {np.std(means[0] / means[1]):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=60)
    parser.add_argument("--play", action="store_true", help="regrets of this package, as JSON")
    options = parser.parse_args()
    if options.play:
        json.dump({title(world): play(world, options.replications) for world in chosen()}, sys.stdout)
        return
    found = {}
    with Progress("ablation", 1 + len(PARTS)) as progress:
        for part in (None, *PARTS):
            found[part] = without(part, options.replications)
            progress.advance(1)
    print(f"{bw.policies.DEFAULT!r}, {options.replications} runs\n")
    print("| world | whole | " + " | ".join(f"no {part}" for part in PARTS) + " |")
    print("|---|---|" + "---|" * len(PARTS))
    for world in chosen():
        whole = found[None][title(world)]
        cells = [ratio(found[part][title(world)], whole) for part in PARTS]
        print(f"| {title(world)} | {np.mean(whole):.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
