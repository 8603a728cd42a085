"""``bw.simulate``: policies in a world, many times over."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import IntArray, advise_numba
from bothworlds._progress import Progress
from bothworlds._words import short
from bothworlds.environments import Environment
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.simulation.engine import N_MEASURED, RoundRecord
from bothworlds.simulation.job import BatchJob, Job, ReplicationResult, check_fit, make_jobs
from bothworlds.simulation.result import Run
from bothworlds.simulation.trace import Trace


def default_checkpoints(horizon: int, count: int = 100) -> IntArray:
    """At most ``count`` rounds, evenly spaced on a log scale, the last one included."""
    start = 1 if count > 1 else horizon
    return np.unique(np.geomspace(start, horizon, count).round().astype(np.int64))


def simulate(
    policies: Policy | str | Sequence[Policy | str] | Mapping[str, Policy | str],
    environment: Environment,
    *,
    horizon: int,
    replications: int | range = 1,
    seed: int = 0,
    jobs: int | None = None,
    checkpoints: ArrayLike | None = None,
    trace: bool = False,
    probabilities: bool = False,
    block: int | None = None,
    tell_horizon: bool = True,
) -> Run:
    """Play policies in an environment, many times over, and account for their regret.

    All policies of a replication meet the same randomness of the world; replications are independent. The
    same seed gives the same bits for any ``jobs`` and ``block``, and for any other policies and
    replications beside.

    Parameters
    ----------
    policies:
        One policy, several, or a mapping from labels to policies; a name such as "ucb1" is the policy of
        that name with its usual settings.
    environment:
        The world; how regret is measured in it is ``environment.regret_kind``.
    horizon:
        The number of rounds.
    replications:
        How many independent runs of each policy; or a range, to play only some of a longer series:
        ``range(8, 16)`` is the second half of ``16``.
    seed:
        A non-negative integer.
    jobs:
        Threads; by default one per processor.
    checkpoints:
        Rounds at which regret is kept, increasing; by default about 100 on a log scale.
    trace:
        Keep the distribution, rates, estimates, arms and losses of every round.
    probabilities:
        Keep the policy's distribution at the checkpoints: that of the round after.
    block:
        Rounds between two looks at the clock; memory does not depend on the horizon, only on this. By
        default a number that takes well under a second.
    tell_horizon:
        Whether policies are told the horizon. If not, they play as ``Bandit`` does without one.

    Returns
    -------
    Run
        With ``regret`` (policies × replications × checkpoints), ``table()`` and ``plot()``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.3)
    >>> run = bw.simulate([bw.LightBarrier(), bw.Uniform()], world, horizon=2000, replications=8, seed=1)
    >>> run.regret.shape == (2, 8, len(run.checkpoints))
    True
    >>> bool(run.regret[0, :, -1].mean() < 0.2 * run.regret[1, :, -1].mean())
    True
    """
    require_environment(environment)
    advise_numba()
    labeled = _label(policies)
    horizon = _check.integer("horizon", horizon, at_least=1)
    numbers = _numbers(replications)
    repeats = len(numbers)
    seed = _check.integer("seed", seed, at_least=0)
    jobs = os.cpu_count() or 1 if jobs is None else _check.integer("jobs", jobs, at_least=1)
    marks = _marks(checkpoints, horizon)
    how: dict[str, Any] = {"horizon": horizon, "tell_horizon": tell_horizon}
    check_fit(list(labeled.values()), environment, replications=repeats, trace=trace, **how)
    distributions = repeats if probabilities else 0
    how |= {
        "seed": seed,
        "replications": numbers,
        "marks": marks,
        "trace": trace,
        "distributions": distributions,
    }
    todo = [
        job
        for policy in labeled.values()
        for job in make_jobs(policy, environment, block=block, threads=jobs, **how)
    ]
    many = f"{len(labeled)} policies" if len(labeled) > 1 else next(iter(labeled))
    total = horizon * repeats * len(labeled)
    results = _run_all(todo, jobs, f"{many} in {environment!r}"[:60], total)
    shape = (len(labeled), repeats, marks.size)
    players = [policy for policy in labeled.values() for _ in numbers]
    traces = [
        _trace(policy, environment.n_arms, horizon if tell_horizon else None, result.record)
        for policy, result in zip(players, results, strict=True)
        if result.record is not None
    ]
    return Run(
        tuple(labeled),
        tuple(labeled.values()),
        environment,
        horizon,
        seed,
        marks,
        np.array([result.measured for result in results]).reshape(*shape, N_MEASURED),
        tuple(tuple(traces[i : i + repeats]) for i in range(0, len(traces), repeats)),
        np.array([result.distributions for result in results]).reshape(*shape, environment.n_arms)
        if probabilities
        else None,
        numbers,
        tell_horizon,
    )


def require_environment(environment: Any) -> Environment:
    """``environment`` itself, or an error that says what one looks like."""
    world: Environment = Environment.require(environment, name="environment")
    if not hasattr(world, "n_arms"):
        raise InvalidArgumentError(
            "environment", world, "an environment with n_arms", fix="set it in the class"
        )
    return world


def _numbers(replications: Any) -> range:
    """The numbers of the replications to play."""
    if not isinstance(replications, range):
        return range(_check.integer("replications", replications, at_least=1))
    if not replications or replications[0] < 0 or replications.step < 1:
        raise InvalidArgumentError(
            "replications", replications, "a number or an increasing range from 0 or more"
        )
    return replications


def _run_all(todo: Sequence[Job | BatchJob], jobs: int, title: str, total: int) -> list[ReplicationResult]:
    """All jobs in threads, results in order. Ctrl-C, or the first error, stops the rest within a block."""
    stop = threading.Event()
    with Progress(title, total) as progress, ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(job.run, stop, progress) for job in todo]
        try:
            pending = set(futures)
            while pending:  # short waits, so that Ctrl-C is heard at once
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [outcome for future in futures for outcome in future.result()]


def _label(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, (Policy, str)):
        policies = [Policy.require(policies, name="policies")]
    if isinstance(policies, Mapping):
        labeled = {str(name): Policy.require(policy) for name, policy in policies.items()}
        if len(labeled) < len(policies):
            raise InvalidArgumentError("policies", policies, "labeled distinctly", got=short(list(policies)))
    elif isinstance(policies, bytes) or not hasattr(policies, "__iter__"):
        fix = f"write {policies.__name__}()" if isinstance(policies, type) else ""
        raise InvalidArgumentError("policies", policies, "a policy, a list of them, or a mapping", fix=fix)
    else:
        listed = [Policy.require(policy, name="policies", index=(i,)) for i, policy in enumerate(policies)]
        labeled = {repr(policy): policy for policy in listed}
        if len(labeled) < len(listed):
            raise InvalidArgumentError(
                "policies", listed, "distinct", fix="give a mapping with labels to repeat one"
            )
    if not labeled:
        raise InvalidArgumentError("policies", policies, "at least one policy", got="none")
    return labeled


def _marks(checkpoints: Any, horizon: int) -> IntArray:
    if checkpoints is None:
        return default_checkpoints(horizon)
    marks = _check.indices("checkpoints", checkpoints, below=horizon + 1)
    if marks.size == 0 or marks[0] < 1 or (np.diff(marks) <= 0).any():
        raise InvalidArgumentError("checkpoints", checkpoints, f"increasing rounds in 1..{horizon}")
    return marks


def _trace(policy: Policy, n_arms: int, known_horizon: int | None, record: RoundRecord) -> Trace:
    return Trace(
        policy,
        n_arms,
        known_horizon,
        record.observed,
        record.losses,
        record.p,
        record.rates,
        record.estimates,
        record.arms,
    )
