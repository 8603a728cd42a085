"""Some replications of one policy, in the thread of the caller: what a worker of a study does."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds._progress import Progress
from bothworlds._simd import LANES
from bothworlds.environments import Environment
from bothworlds.policies.base import Policy
from bothworlds.rng import Uniforms
from bothworlds.simulation.job import BatchJob, Job, check_fit, group, make_jobs


class Series(NamedTuple):
    """Replications × checkpoints × what is kept; the distributions of the first one; seconds of work."""

    measured: FloatArray
    probabilities: FloatArray | None
    seconds: float
    looks: FloatArray | None = None
    """Replications × checkpoints × the numbers of a look at the evidence, where it was asked for."""


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
    evidence: bool = False,
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
    evidence:
        Look, at the checkpoints, at what could be concluded from what was played.
    stop:
        An event that ends the work within a block, by ``concurrent.futures.CancelledError``.

    Returns
    -------
    Series
        ``seconds`` is the processor time of this thread, without compilation: what other threads do, the
        compiler included, does not count.
    """
    stop = stop or threading.Event()
    how: dict[str, Any] = {"horizon": horizon, "tell_horizon": tell_horizon}
    check_fit([policy], environment, replications=len(replications), evidence=evidence, **how)
    how |= {"seed": seed, "replications": replications, "marks": marks, "distributions": int(probabilities)}
    jobs = make_jobs(policy, environment, evidence=evidence, **how)
    silent = Progress("", 0.0, enabled=False)
    began = time.thread_time()
    outcomes = []
    for job in jobs:
        outcomes += job.run(stop, silent)
        if stop.is_set():
            raise CancelledError
    seconds = time.thread_time() - began
    measured = np.array([outcome.measured for outcome in outcomes])
    looks = np.array([outcome.looks for outcome in outcomes]) if evidence else None
    return Series(measured, outcomes[0].distributions if probabilities else None, seconds, looks)


def kernels_of(policy: Policy, environment: Environment, horizon: int) -> tuple[tuple[Any, ...], bool]:
    """The signatures of the kernels that play this policy there, and whether all were compiled before."""
    kernels = [job.kernel for job in _probes(policy, environment, horizon)]
    signatures = [entry.signature(*arguments) for entry, arguments in kernels]
    ready = [entry.is_ready(signature) for (entry, _), signature in zip(kernels, signatures, strict=True)]
    return tuple(signatures), all(ready)


def compile_kernels(policy: Policy, environment: Environment, horizon: int) -> None:
    """Compile those kernels, and keep them on disk."""
    for job in _probes(policy, environment, horizon):
        entry, arguments = job.kernel
        entry.bind(*arguments)
    Uniforms(0, ()).draw(4)  # and the kernel that makes random numbers


def _probes(policy: Policy, environment: Environment, horizon: int) -> list[Job | BatchJob]:
    """Jobs whose arguments have the types of all others: one alone, and a batch, if there can be one."""
    if policy.in_python:
        return []
    marks: IntArray = np.empty(0, dtype=np.int64)
    single = Job(
        policy=policy,
        environment=environment,
        horizon=horizon,
        known_horizon=horizon,
        seed=0,
        replication=0,
        marks=marks,
        trace=False,
        probabilities=False,
        block=1,
    )
    return [single, *group([single] * LANES, 1)[:1]]
