"""Some replications of one policy, in the thread of the caller: what a worker of a study does."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds._lanes import LANES
from bothworlds._progress import Progress
from bothworlds.environments import Environment
from bothworlds.policies.base import Policy
from bothworlds.simulate.job import Job, LaneJob, group, prepare
from bothworlds.simulate.run import block_of, check_fit


class Series(NamedTuple):
    """Replications × checkpoints × what is kept; the distributions of the first one; seconds of work."""

    kept: FloatArray
    probabilities: FloatArray | None
    seconds: float


def play_series(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    replications: range,
    seed: int,
    marks: IntArray,
    tell_horizon: bool = True,
    probabilities: bool = False,
    stop: threading.Event | None = None,
) -> Series:
    """Play replications one after the other, bit by bit those of :func:`simulate`.

    Parameters
    ----------
    policy, environment, horizon, replications, seed, tell_horizon:
        As for :func:`simulate`.
    marks:
        The checkpoints.
    probabilities:
        Keep the distributions at the checkpoints of the first of these replications.
    stop:
        An event that ends the work within a block, by ``concurrent.futures.CancelledError``.

    Returns
    -------
    Series
        ``seconds`` is the processor time of this thread, without compilation: what other threads do, the
        compiler included, does not count.
    """
    stop = stop or threading.Event()
    told = horizon if tell_horizon else None
    check_fit({repr(policy): policy}, environment, horizon, told, len(replications), trace=False)
    block = block_of(environment, None, policy, told)
    jobs = group(
        [
            Job(
                policy,
                environment,
                horizon,
                told,
                seed,
                number,
                marks,
                False,
                probabilities and k == 0,
                block,
            )
            for k, number in enumerate(replications)
        ]
    )
    prepare(jobs)
    silent = Progress("", 0.0, enabled=False)
    began = time.thread_time()
    outcomes = []
    for job in jobs:
        outcomes += job.run(stop, silent)
        if stop.is_set():
            raise CancelledError
    seconds = time.thread_time() - began
    kept = np.array([outcome.kept for outcome in outcomes])
    return Series(kept, outcomes[0].kept_p if probabilities else None, seconds)


def kernels_of(policy: Policy, environment: Environment, horizon: int) -> tuple[tuple[Any, ...], bool]:
    """The signatures of the kernels that play this policy there, and whether all were compiled before."""
    kernels = [job.kernel for job in _probes(policy, environment, horizon)]
    signatures = [entry.signature(*arguments) for entry, arguments in kernels]
    ready = [entry.is_ready(signature) for (entry, _), signature in zip(kernels, signatures, strict=True)]
    return tuple(signatures), all(ready)


def compile_kernels(policy: Policy, environment: Environment, horizon: int) -> None:
    """Compile those kernels, and keep them on disk."""
    prepare(_probes(policy, environment, horizon))


def _probes(policy: Policy, environment: Environment, horizon: int) -> list[Job | LaneJob]:
    """Jobs whose arguments have the types of all others: one alone, and those in lanes, if they can be."""
    marks: IntArray = np.empty(0, dtype=np.int64)
    single = Job(policy, environment, horizon, horizon, 0, 0, marks, False, False, 1)
    return [single, *group([single] * LANES)[:1]]
