"""Compiling the kernels of a study before it is played, in several processes at once.

numba compiles one kernel at a time in a process. A study of many policies in many worlds needs one for each
pair of types, seconds each; so where several are missing on disk, processes of their own compile them, each
a part. They are plain programs (``python -c``), so that a script which starts a study needs no guard
around its main part. What goes wrong here is not reported: the chunk that needs the kernel will tell.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from bothworlds._words import counted
from bothworlds.experiments.experiment import Cell, Experiment
from bothworlds.simulation.series import compile_kernels, kernels_of

FEW = 3  # kernels that are compiled where they are needed: starting a process takes as long as one of them


def missing_kernels(experiment: Experiment, cells: Iterable[Cell]) -> list[Cell]:
    """One cell for each kernel that is not on disk yet."""
    seen: set[tuple[Any, ...]] = set()
    found: list[Cell] = []
    horizon = experiment.horizons[0]
    alike = [
        [kernel_form(entry.settings) for entry in side]
        for side in (experiment.policies, experiment.environments)
    ]
    pairs = {
        (alike[0][cell.policy], alike[1][cell.environment]): (cell.policy, cell.environment) for cell in cells
    }
    for policy, environment in pairs.values():
        signature, ready = kernels_of(
            experiment.policies[policy].build(), experiment.environments[environment].build(), horizon
        )
        if signature not in seen and not ready:
            found.append(Cell(len(found), policy, environment, horizon))
        seen.add(signature)
    return found


def kernel_form(settings: Any) -> str:
    """Settings without their numbers: entries that differ only by these have, as a rule, the same kernel.

    >>> kernel_form({"kind": "bernoulli", "n_arms": 8, "gap": 0.1, "means": None})
    "{'kind': 'bernoulli', 'n_arms': '#', 'gap': '#', 'means': None}"
    """
    return str(_without_numbers(settings))


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return "[]"
    return "#" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def divide(missing: list[Cell], jobs: int) -> list[list[Cell]]:
    """The kernels of each process: those of a policy stay together, as they share code that is compiled once.

    >>> cells = [Cell(k, policy, k, 10) for k, policy in enumerate([0, 1, 2, 0, 1, 2])]
    >>> [[cell.policy for cell in share] for share in divide(cells, 2)]
    [[0, 0, 2, 2], [1, 1]]
    """
    groups = [
        [cell for cell in missing if cell.policy == k] for k in sorted({cell.policy for cell in missing})
    ]
    found: list[list[Cell]] = [[] for _ in range(min(jobs, len(groups)))]
    for group in sorted(groups, key=len, reverse=True):
        min(found, key=len).extend(group)
    return found


def precompile(
    experiment: Experiment,
    cells: Iterable[Cell],
    jobs: int,
    say: Callable[[str], None],
    *,
    step: Callable[[str], None] | None = None,
    few: int = FEW,
) -> int:
    """Compile what is missing, if it is more than ``few``, and wait for it; returns how many kernels.

    Processes of their own do it, if there is work for two. ``step`` (or ``say``) is told of every kernel that
    is begun: which one it is, and how many of how many.
    """
    missing = missing_kernels(experiment, cells)
    if len(missing) <= few:
        return 0
    parts = divide(missing, jobs) if sys.executable else []
    where = f" in {len(parts)} processes" if len(parts) > 1 else ""
    began = time.monotonic()
    say(f"compiling {counted(len(missing), 'kernel')}{where}, kept for the next time")
    announce = _Announcer(experiment, missing, step or say)
    if len(parts) > 1:
        _compile_in_processes(experiment, parts, announce)
    else:
        with contextlib.suppress(Exception):  # the chunk that needs the kernel raises it
            _compile_here(experiment, missing, announce)
    say(f"compiled in {time.monotonic() - began:.0f} s")
    return len(missing)


class _Announcer:
    """Says which kernel a process has begun to compile."""

    def __init__(self, experiment: Experiment, cells: list[Cell], tell: Callable[[str], None]) -> None:
        self._cells = {str(cell.number): cell for cell in cells}
        self._total, self._begun, self._tell, self._lock = len(cells), 0, tell, threading.Lock()
        self._experiment = experiment

    def __call__(self, number: str) -> None:
        """Say that this one is begun; other lines that a process printed are passed over."""
        cell = self._cells.pop(number, None)
        if cell is None:
            return
        policy = self._experiment.policies[cell.policy].label
        environment = self._experiment.environments[cell.environment].label
        with self._lock:
            self._begun += 1
            self._tell(f"compiling {self._begun} of {self._total}: {policy} in {environment}")


def _compile_here(experiment: Experiment, cells: Iterable[Cell], announce: Callable[[str], None]) -> None:
    for cell in cells:
        announce(str(cell.number))
        policy, environment = experiment.policies[cell.policy], experiment.environments[cell.environment]
        compile_kernels(policy.build(), environment.build(), cell.horizon)


def _compile_in_processes(experiment: Experiment, parts: list[list[Cell]], announce: _Announcer) -> None:
    source = str(Path(__file__).parents[3])
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    sent = dataclasses.replace(experiment, text="", description="")
    processes: list[subprocess.Popen[bytes]] = []
    listeners: list[threading.Thread] = []
    try:
        for share in parts:
            process = subprocess.Popen(
                [sys.executable, "-c", f"import {__name__} as this; this.compile_from_stdin()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
            processes.append(process)
            listeners.append(threading.Thread(target=_listen, args=(process.stdout, announce), daemon=True))
            listeners[-1].start()
            assert process.stdin is not None
            process.stdin.write(pickle.dumps((sent, share)))
            process.stdin.close()
        for process in processes:
            process.wait()
    except OSError:  # no more processes, or one that ended before it read: compile where it is needed
        pass
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for listener in listeners:
            listener.join()


def _listen(stream: IO[bytes], announce: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            announce(line.decode(errors="replace").strip())


def compile_from_stdin() -> None:
    """Compile what the driver has sent, and name each kernel by its number when it is begun."""
    parent = os.getppid()
    experiment, cells = pickle.load(sys.stdin.buffer)
    experiment.load_modules()

    def tell(number: str) -> None:
        if os.getppid() != parent:
            raise SystemExit  # the driver is gone
        print(number, flush=True)

    _compile_here(experiment, cells, tell)
