"""Simulated runs, taken apart."""

from __future__ import annotations

from numpy.typing import ArrayLike

from bothworlds.environments import Environment
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.simulation import simulate
from bothworlds.theory.accounts import Account, account


def account_run(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    seed: int = 0,
    replication: int = 0,
    tell_horizon: bool = True,
    optimal: ArrayLike | None = None,
) -> Account:
    """Play one replication of :func:`simulate` and take its regret apart.

    Parameters
    ----------
    policy, environment, horizon, seed, tell_horizon:
        As for :func:`simulate`.
    replication:
        Which of the series.
    optimal:
        U; by default the environment's optimal arms.

    Returns
    -------
    Account
        As of :func:`account`.

    Examples
    --------
    >>> import bothworlds as bw
    >>> world = bw.environments.Bernoulli(n_arms=4, gap=0.2, optimal=2)
    >>> a = bw.theory.account_run(bw.TsallisINF(), world, horizon=200, seed=1)
    >>> len(a), [int(arm) for arm in a.optimal]
    (200, [0, 1])
    """
    if optimal is None:
        optimal = environment.optimal_arms
    if optimal is None:
        raise InvalidArgumentError(
            "optimal",
            None,
            f"given for {environment!r}, whose arms have no fixed gaps",
            fix="say which arms are U",
        )
    run = simulate(
        policy,
        environment,
        horizon=horizon,
        replications=range(replication, replication + 1),
        seed=seed,
        jobs=1,
        trace=True,
        tell_horizon=tell_horizon,
    )
    return account(run.traces[0][0], optimal=optimal)
