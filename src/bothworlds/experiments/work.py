"""What a worker is sent, and what it does with it: plain values in, the bytes of a Parquet file out."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bothworlds.errors import WorkerError
from bothworlds.experiments import chunk, provenance
from bothworlds.experiments.compare import differences
from bothworlds.experiments.experiment import Cell, Experiment
from bothworlds.experiments.plan import Job
from bothworlds.simulation.series import play_series


@dataclass(frozen=True)
class Work:
    """A chunk to be played, with as much of the experiment as that takes."""

    number: int
    fingerprint: str
    identity: dict[str, str]
    experiment: Experiment
    tasks: tuple[tuple[Cell, Job], ...]
    """The cells are renumbered: their indices are into the experiment that is sent."""


def make_work(
    number: int, jobs: Sequence[Job], experiment: Experiment, cells: Sequence[Cell], fingerprint: str
) -> Work:
    """A chunk, and only those policies and environments that it needs."""
    used = [cells[job.cell] for job in jobs]
    policies = sorted({cell.policy for cell in used})
    environments = sorted({cell.environment for cell in used})
    part = dataclasses.replace(
        experiment,
        policies=tuple(experiment.policies[k] for k in policies),
        environments=tuple(experiment.environments[k] for k in environments),
        text="",
        description="",
    )
    tasks = tuple(
        (
            cell._replace(
                policy=policies.index(cell.policy), environment=environments.index(cell.environment)
            ),
            job,
        )
        for cell, job in zip(used, jobs, strict=True)
    )
    return Work(number, fingerprint, provenance.identity(), part, tasks)


def play(work: Work, stop: threading.Event | None = None) -> bytes:
    """Play a chunk. The same bits in every process, on every machine of the same kind."""
    require_identity(work.identity)
    experiment = work.experiment
    experiment.load_modules()
    played = []
    for cell, job in work.tasks:
        first = job.first == 0 and "probabilities" in experiment.record
        marks = experiment.marks(cell.horizon)
        series = play_series(
            experiment.policies[cell.policy].build(),
            experiment.environments[cell.environment].build(),
            horizon=cell.horizon,
            replications=range(job.first, job.stop),
            seed=experiment.seed,
            marks=marks,
            tell_horizon=experiment.tell_horizon,
            probabilities=first,
            stop=stop,
        )
        played.append(chunk.Played(job, marks, series.kept, series.probabilities, series.seconds))
    return chunk.encode(work.number, work.fingerprint, played, provenance.host())


def require_identity(wanted: dict[str, Any]) -> None:
    """Refuse to play for a program with another version or other sources."""
    different = differences(provenance.identity(), wanted)
    if different:
        raise WorkerError(
            f"the worker on {provenance.host()} has another bothworlds (there: the worker, here: the program "
            f"that runs the study): {'; '.join(different)}; install the same one on every worker"
        )
