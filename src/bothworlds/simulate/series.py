"""Some replications of one policy, in the thread of the caller: what a worker of a study does."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, IntArray
from bothworlds.environments import Environment
from bothworlds.policies.base import Policy
from bothworlds.simulate.engine import play_block
from bothworlds.simulate.progress import Progress
from bothworlds.simulate.run import Job, block_of, check_fit


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
    jobs = [
        Job(policy, environment, horizon, told, seed, number, marks, False, probabilities and k == 0, block)
        for k, number in enumerate(replications)
    ]
    jobs[0].compile()
    silent = Progress("", 0.0, enabled=False)
    began = time.thread_time()
    outcomes = []
    for job in jobs:
        outcomes.append(job.run(stop, silent))
        if stop.is_set():
            raise CancelledError
    seconds = time.thread_time() - began
    kept = np.array([outcome.kept for outcome in outcomes])
    return Series(kept, outcomes[0].kept_p if probabilities else None, seconds)


def kernel_of(policy: Policy, environment: Environment, horizon: int) -> tuple[tuple[Any, ...], bool]:
    """The signature of the kernel that plays this policy there, and whether it was compiled before."""
    signature = play_block.signature(*_probe(policy, environment, horizon).empty_arguments())
    return signature, play_block.is_ready(signature)


def compile_kernel(policy: Policy, environment: Environment, horizon: int) -> None:
    """Compile that kernel, and keep it on disk."""
    _probe(policy, environment, horizon).compile()


def _probe(policy: Policy, environment: Environment, horizon: int) -> Job:
    """A job whose arguments have the types of all others."""
    return Job(policy, environment, horizon, horizon, 0, 0, np.empty(0, dtype=np.int64), False, False, 1)
