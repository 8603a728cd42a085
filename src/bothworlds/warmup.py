"""Filling the cache of compiled kernels, so that later processes need not compile.

A kernel is compiled on its first use for each combination of policy type and environment type, which takes
seconds, and kept on disk. After an installation, in an image for a cluster, or before a demonstration, do it
all at once:

>>> import bothworlds as bw
>>> from bothworlds.warmup import fill_cache
>>> seconds = fill_cache([bw.UCB1()], [bw.environments.Bernoulli(n_arms=2, gap=0.1)])
>>> list(seconds)
['Bandit with UCB1()', 'UCB1() in Bernoulli(n_arms=2, gap=0.1)']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from bothworlds import policies as policy_table
from bothworlds._code_cache import cache_directory
from bothworlds._lock import exclusive
from bothworlds._progress import Progress
from bothworlds.bandit import Bandit
from bothworlds.bandit.saving import problem_options
from bothworlds.environments import Bernoulli, Environment
from bothworlds.errors import StateError, UnknownNameError
from bothworlds.inference import Evidence
from bothworlds.inference import state as evidence_state
from bothworlds.policies import UCB1, Uniform
from bothworlds.policies.base import Policy
from bothworlds.policies.ftrl.ftrl import FTRL
from bothworlds.policies.ftrl.many.state import MANY_ARMS
from bothworlds.simplex.regularizers import LogBarrier, Shannon, Tsallis
from bothworlds.simulation import simulate

FEW_ARMS = 3


def every_policy() -> list[Policy]:
    """One policy of each kind; those that must be told something of the world are left out."""
    listed: list[Policy] = [
        FTRL(regularizer, constants="light")
        for regularizer in (LogBarrier(), Tsallis(0.5), Tsallis(0.7), Shannon())
    ]
    for name in policy_table.names():
        kind = policy_table.get(name)
        if kind is not FTRL:
            try:
                listed.append(kind())
            except TypeError:
                continue  # a required argument, such as the gaps of the world
    return listed


def _sizes(policy: Policy) -> list[int]:
    """Numbers of arms, one for each set of kernels that the policy chooses by it."""
    kinds = {type(policy.resolve(n_arms, 2 * MANY_ARMS)): n_arms for n_arms in (MANY_ARMS, FEW_ARMS)}
    return sorted(kinds.values())


def _use(
    policy: Policy,
    n_arms: int,
    horizon: int | None,
    part: str = "single",
    problem: dict[str, Any] | None = None,
) -> None:
    evidence = part.removeprefix("evidence ") if part.startswith("evidence") else None
    arms, options = problem_options(range(n_arms), problem or {})
    low = 0.0 if isinstance(options.get("choose", 1), int) else -1.0
    options |= {"evidence": evidence, "low": low}
    bandit = Bandit(arms, policy, horizon=horizon, **options)  # or refused
    if bandit._record is not None:
        kernels = bandit._record.kernels()
    elif part == "single":
        kernels = bandit._kernels()
    else:
        kernels = (bandit._among() if part == "among" else bandit._batch()).kernels
    for entry, arguments in kernels.values():
        entry.bind(*arguments)


def compile_bandit(
    policy: dict[str, Any], n_arms: int, horizon: int | None, part: str, problem: dict[str, Any]
) -> None:
    """What the process does that a bandit starts (see ``_changeover``): one at a time on a machine."""
    try:
        built = policy_table.from_dict(policy)
    except StateError as error:
        unknown = getattr(error.__cause__, "error", None)
        if not isinstance(unknown, UnknownNameError):
            raise
        init = "policies/__init__.py" if unknown.kind == "policy" else "the __init__.py of its folder"
        raise StateError(
            f"no {unknown.kind} is called {unknown.name!r} after import bothworlds: "
            f"add its import to {init}, or, for one outside the package, set BOTHWORLDS_COMPILE=wait"
        ) from error
    with exclusive(cache_directory() / "compiling"):
        _use(built, n_arms, horizon, part, problem)


def _conclude() -> None:
    """What ``Bandit(evidence=…)`` keeps, and what its evidence is asked."""
    for kind in ("arms", "full"):
        _use(UCB1() if kind == "arms" else Uniform(), FEW_ARMS, None, f"evidence {kind}")
        state = evidence_state.init_evidence(FEW_ARMS, kind == "full")
        evidence_state.take_in(state, np.arange(FEW_ARMS), np.ones(FEW_ARMS), np.ones(FEW_ARMS))
        for world in (None, "any") if kind == "full" else (None,):
            evidence = Evidence(state, tuple(range(FEW_ARMS)), world=world)
            evidence.table()
            evidence.compare(0, 1)
            evidence.more(0)
            evidence.regret_band(tight=True)


def _play(policy: Policy, environment: Environment) -> None:
    simulate(policy, environment, horizon=max(2, environment.n_arms), jobs=1)


def _tasks(
    policies: Iterable[Policy], environments: Iterable[Environment] | None
) -> dict[str, Callable[[], None]]:
    tasks: dict[str, Callable[[], None]] = {}
    given = None if environments is None else list(environments)
    for policy in policies:
        for n_arms in _sizes(policy):
            many = " and many arms" if n_arms >= MANY_ARMS else ""
            tasks[f"Bandit with {policy!r}{many}"] = partial(_use, policy, n_arms, max(2, n_arms))
            if given is None:
                tasks[f"{policy!r} in Bernoulli{many}"] = partial(
                    _play, policy, Bernoulli(n_arms=n_arms, gap=0.1)
                )
        for environment in given or ():
            tasks[f"{policy!r} in {environment!r}"] = partial(_play, policy, environment)
    return tasks


def fill_cache(
    policies: Iterable[Policy] | None = None,
    environments: Iterable[Environment] | None = None,
    *,
    say: Callable[[str], None] | None = None,
) -> dict[str, float]:
    """Compile, and keep on disk, what :class:`Bandit` and :func:`simulate` need.

    Parameters
    ----------
    policies:
        Those to prepare; None is one of each kind, and evidence, which has the same kernels for all.
    environments:
        The worlds in which they will be simulated; None is ``Bernoulli`` alone. What counts is the type of an
        environment, not its numbers.
    say:
        Called with a line of text after each step, for a log; a terminal gets a progress bar in any case.

    Returns
    -------
    dict
        Seconds by what was prepared: some seconds where it had to be compiled, hundredths where it was there.
    """
    tasks = _tasks(every_policy() if policies is None else policies, environments)
    if policies is None:
        tasks["evidence of a Bandit"] = _conclude
    seconds: dict[str, float] = {}
    with Progress("compiling kernels", len(tasks)) as progress:
        for label, run in tasks.items():
            began = time.perf_counter()
            run()
            seconds[label] = time.perf_counter() - began
            if say is not None:
                say(f"{label}: {seconds[label]:.2f} s")
            progress.advance(1)
    return seconds
