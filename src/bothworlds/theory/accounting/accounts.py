"""``bw.theory.account``: where the regret of a run went, term by term and round by round."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check, policies
from bothworlds._jit import FloatArray, IntArray, what_to_do
from bothworlds._words import html_table
from bothworlds.environments import Environment
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.policies.base import Policy, init
from bothworlds.simplex.divergence import has_divergence
from bothworlds.simulation import simulate
from bothworlds.simulation.trace import Trace
from bothworlds.theory.accounting.decomposition import Terms, blank_round
from bothworlds.theory.accounting.ledger import (
    IMPOSSIBLE,
    RESTARTED,
    UNSOLVED,
    Record,
    ftrl_of,
    keep_ledger,
)

MEMORY = 4e9  # bytes; beyond it the account of a run is refused rather than swapped


@dataclass(frozen=True, repr=False)
class Account:
    """The paper's regret decomposition along a history of n rounds.

    Attributes
    ----------
    policy, n_arms, horizon, arms, losses:
        The run.
    optimal, suboptimal:
        U and V, as sorted indices.
    p, rates, q:
        p^t, γ^t and q^t for t = 1 … n+1, arrays of shape (n+1, n_arms); q^t is 0 on V.
    p_bar:
        p̄^{t+1} for t = 1 … n.
    p_tilde:
        p̃^{t+1} for t = 1 … n if the policy is decoupled, else None.
    estimates:
        ℓ̂^t for t = 1 … n: the estimate of each round, not their sum.
    growths:
        γ^{t+1} − γ^t for t = 1 … n, exact where the difference of rounded rates is not.
    multipliers:
        λ_U, λ_V, λ_K of rounds 1 … n under ``"U"``, ``"V"``, ``"K"``: ∇φ^{t+1}(p̄) = ∇φ^t(p^t) − ℓ̂^t +
        λ_U on U, and so on; λ_K is that of p^{t+1}, for a decoupled policy of p̃^{t+1}.
    terms:
        Arrays of length n by name, see :func:`account`.
    epsilon:
        ε of q̃^t = (1−ε)·q^t + ε/#V on V.
    """

    policy: Policy
    n_arms: int
    horizon: int | None
    arms: IntArray
    losses: FloatArray
    optimal: IntArray
    suboptimal: IntArray
    p: FloatArray
    rates: FloatArray
    q: FloatArray
    p_bar: FloatArray
    p_tilde: FloatArray | None
    estimates: FloatArray
    growths: FloatArray
    multipliers: dict[str, FloatArray]
    terms: dict[str, FloatArray]
    epsilon: float
    parameters: Any = field(repr=False)

    def __len__(self) -> int:
        return int(self.arms.size)

    def __repr__(self) -> str:
        inside = f"{self.policy!r}, n_arms={self.n_arms}, horizon={self.horizon}"
        return f"Account({inside}, rounds={len(self)}, optimal={self.optimal.tolist()})"

    def _repr_html_(self) -> str:
        last = where_did_the_regret_go(self, points=1)
        rows = [(row["part"], f"{row['regret']:,.2f}") for row in last]
        rows.append(("sum", f"{self.total('regret'):,.2f}"))
        return html_table(("part of the estimated regret", "up to the last round"), rows, [repr(self)])

    @property
    def decoupled(self) -> bool:
        """Whether the appendix's variant with p̃ and φ̃ was used."""
        return self.p_tilde is not None

    @property
    def log_barrier(self) -> float:
        """C in numbers."""
        return float(ftrl_of(self.parameters).log_barrier)

    @cached_property
    def q_tilde(self) -> FloatArray:
        """q̃^t for t = 1 … n+1."""
        result = (1.0 - self.epsilon) * self.q
        result[:, self.suboptimal] = self.epsilon / self.suboptimal.size
        return result

    @cached_property
    def s1(self) -> FloatArray:
        """S₁(1) up to each round, √(Σ_τ Σ_V p_i^τ); S₁(x) is √x times that."""
        sums: FloatArray = np.cumsum(self.p[:-1, self.suboptimal].sum(axis=1))
        return np.sqrt(sums)

    @cached_property
    def s2(self) -> FloatArray:
        """S₂(1) up to each round, Σ_V √(Σ_τ p_i^τ); S₂(x) is √x times that."""
        roots = np.sqrt(np.cumsum(self.p[:-1, self.suboptimal], axis=0))
        return np.asarray(roots.sum(axis=1))

    def total(self, name: str) -> float:
        """A term summed over all rounds."""
        return float(self.terms[_check.known("term", name, self.terms)].sum())


def account(
    policy: Policy | Trace,
    *,
    optimal: ArrayLike,
    n_arms: int | None = None,
    horizon: int | None = None,
    arms: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    epsilon: float | None = None,
) -> Account:
    """Take the regret of a run apart as the paper's proof does.

    Let U be the arms called optimal and V the others, q^t the policy's own minimizer restricted to U, and
    p̄^{t+1} what becomes of p^t if weight moves inside U and inside V but not between them. With skewed
    divergences D^{t,t+1}(x, y) = φ^t(x) − φ^{t+1}(y) − <∇φ^{t+1}(y), x − y>, every round satisfies

        D^{t,t+1}(p^t, p^{t+1}) − D_U^{t,t+1}(q^t, q^{t+1})          total − benchmark
            = D_V^{t,t+1}(p^t, p̄^{t+1})                              suboptimal = stability + penalty
            + D_U^{t,t+1}(p^t, p̄^{t+1}) − D_U^{t,t+1}(q^t, q^{t+1})  optimal, never positive
            + D^{t+1}(p̄^{t+1}, p^{t+1})                              residual ,

    and what is left of the estimated regret against q̃^t = (1−ε)q^t + ε·1_V/#V is the cost of preprocessing:

        <ℓ̂^t, p^t − q̃^t> = (total − benchmark) + preprocessing        regret .

    For a decoupled policy the appendix's variant is used: p̄_V with φ^t, p̃^{t+1} with φ̃^t = φ_V^t + φ_U^{t+1},
    suboptimal D_V^t(p^t, p̄) + φ_V^t(p^{t+1}) − φ_V^{t+1}(p^{t+1}), residual D^{t̃}(p̄, p̃). The
    equation is then an inequality ≤ whose slack is exactly ``gap`` = D^{t̃}(p^{t+1}, p̃^{t+1}). For
    other policies gap is 0.

    Parameters
    ----------
    policy:
        A policy that plays an FTRL minimizer: FTRL with any regularizer, rates and estimator,
        TsallisINF, INF, DecoupledTsallisINF, LightBarrier, EXP3, EXP3IX, ITH22, BroadOMD,
        TsallisINFOracle, Avner. Or a :class:`Trace` of one, from ``replay`` or ``simulate(...,
        trace=True)``; then only ``optimal`` is needed. The equations hold for any estimator, since all
        they use is that the sums grow by ℓ̂; that the expectation of ``regret`` is regret needs an
        unbiased one (all but implicit exploration), and that optimal ≤ 0 needs rates that never fall
        (LightBarrier's may).
    optimal:
        U: at least one arm, and not all of them.
    n_arms, horizon, arms, losses:
        The history, as for :func:`replay`.
    epsilon:
        ε in [0, 1); by default the paper's: 1/T (1/n if T is unknown), and 0 for a decoupled policy.

    Returns
    -------
    Account
        ``terms`` holds total, benchmark, suboptimal, stability, penalty, optimal, residual, gap, regret and
        preprocessing; beside it ``q``, ``p_bar``, ``p_tilde``, ``multipliers``, ``s1``, ``s2``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> a = bw.theory.account(
    ...     bw.TsallisINF(), n_arms=3, arms=[0, 2, 2, 1], losses=[1.0, 0.0, 1.0, 1.0], optimal=[0, 1]
    ... )
    >>> t = a.terms
    >>> left, right = t["total"] - t["benchmark"], t["suboptimal"] + t["optimal"] + t["residual"]
    >>> bool(abs(left - right).max() < 1e-12)
    True
    >>> t["optimal"].round(3)
    array([-0.532, -0.198, -0.167, -0.074])

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023.
    """
    trace = None
    if isinstance(policy, Trace):
        trace = policy
        given = {"n_arms": n_arms, "horizon": horizon, "arms": arms, "losses": losses}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise InvalidArgumentError(
                extra[0],
                given[extra[0]],
                "left out with a Trace, which holds its history",
                fix=f"leave out {', '.join(extra)}",
            )
        policy, n_arms, horizon = trace.policy, trace.n_arms, trace.horizon
        arms, losses = trace.arms, trace.losses
    if n_arms is None or arms is None or losses is None:
        missing = "n_arms" if n_arms is None else "arms" if arms is None else "losses"
        allowed = "given, as n_arms, arms and losses all are, or a Trace in place of the policy"
        raise InvalidArgumentError(missing, None, allowed)
    policy, params = _require_accountable(policy, n_arms, horizon)
    arm_array, loss_array = _history(n_arms, horizon, arms, losses)
    found = _account(policy, params, horizon, arm_array, loss_array[:, None], optimal, epsilon)
    if trace is not None and not np.array_equal(trace.p, found.p):
        raise InvalidArgumentError(
            "policy",
            trace,
            "a Trace of feedback that came at once",
            got="one of a policy that did not play what its history, in order, makes it play",
            fix="was the feedback delayed?",
        )
    return found


PARTS = ("stability", "penalty", "optimal", "residual", "preprocessing")


def where_did_the_regret_go(account: Account, *, points: int = 200) -> list[dict[str, Any]]:
    """The estimated regret Σ_τ <ℓ̂^τ, p^τ − q̃^τ> up to some rounds, in the five parts that add up to it.

    For a decoupled policy the gap is taken off the residual part, so that the parts still add up.

    Parameters
    ----------
    account:
        What :func:`account` returned.
    points:
        About how many rounds to keep, evenly spread; the last is always among them.

    Returns
    -------
    list of dict
        ``round``, ``part`` (stability, penalty, optimal, residual, preprocessing) and ``regret``: plain
        rows for a table or a stacked chart.

    Examples
    --------
    >>> import bothworlds as bw
    >>> a = bw.theory.account(bw.TsallisINF(), n_arms=2, arms=[0, 1, 1], losses=[1.0, 0.0, 1.0], optimal=[0])
    >>> rows = bw.theory.where_did_the_regret_go(a)
    >>> last = [row for row in rows if row["round"] == 3]
    >>> [row["part"] for row in last]
    ['stability', 'penalty', 'optimal', 'residual', 'preprocessing']
    >>> abs(sum(row["regret"] for row in last) - a.total("regret")) < 1e-12
    True
    """
    points = _check.integer("points", points, at_least=1)
    n = len(account)
    shown = np.unique(np.ceil(np.linspace(0, n, min(points, n) + 1)[1:]).astype(int))
    terms = {**account.terms, "residual": account.terms["residual"] - account.terms["gap"]}
    sums = {part: np.cumsum(terms[part]) for part in PARTS}
    return [
        {"round": int(t), "part": part, "regret": float(sums[part][t - 1])} for t in shown for part in PARTS
    ]


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


def account_game(
    policy: Policy,
    *,
    choices: IntArray,
    table: FloatArray,
    uniforms: FloatArray,
    optimal: ArrayLike,
    epsilon: float | None = None,
) -> Account:
    """The account of a game whose arms are chosen as it goes: choices are arms or DRAWN, RAREST, LIKELIEST.

    ``table`` holds the losses (rounds × arms) and ``uniforms`` (rounds × 2) what DRAWN draws with; the
    horizon that the policy knows is the length of the table.
    """
    horizon, n_arms = table.shape
    policy, params = _require_accountable(policy, n_arms, horizon)
    return _account(policy, params, horizon, choices.astype(np.int64), table, optimal, epsilon, uniforms)


def accountable() -> list[str]:
    """The kinds of policies whose regret can be accounted for; :func:`has_account` knows it of one."""
    return sorted(name for name, kind in policies.REGISTRY.items() if kind.accountable)


def has_account(policy: Policy, *, n_arms: int, horizon: int | None = None) -> bool:
    """Can the regret of this policy be accounted for? FTRL with predictions, for instance, has no account.

    >>> import bothworlds as bw
    >>> bw.theory.has_account(bw.TsallisINF(), n_arms=3)
    True
    >>> bw.theory.has_account(bw.Ito21(), n_arms=3)
    False
    """
    policy = Policy.require(policy)
    try:
        _require_accountable(policy, n_arms, horizon)
    except InvalidArgumentError:
        return False
    return True


def _require_accountable(policy: Any, n_arms: int, horizon: int | None) -> tuple[Policy, Any]:
    policy = Policy.require(policy)
    policy.resolve(n_arms, horizon)  # checks the numbers
    params = policy.parameters(n_arms, horizon)  # FTRL's own, where many arms are played by other kernels
    if type(params) not in ftrl_of.implementations:
        raise InvalidArgumentError(
            "policy",
            policy,
            "one that plays an FTRL minimizer without predictions: the regret of others has no such "
            "decomposition",
            fix=f"those that do: {', '.join(accountable())}",
        )
    if not has_divergence(ftrl_of(params).regularizer):
        raise InvalidArgumentError(
            "policy",
            policy,
            "one whose regularizer has a divergence",
            fix="register potential, rise and spread for its parameters (see simplex/regularizers/base.py)",
        )
    return policy, params


def _history(n_arms: int, horizon: int | None, arms: Any, losses: Any) -> tuple[IntArray, FloatArray]:
    arm_array = _check.indices("arms", arms, below=n_arms)
    if arm_array.size == 0:
        raise InvalidArgumentError("arms", arms, "those of at least one round", got="an empty history")
    loss_array = _check.vector(
        "losses", losses, size=arm_array.size, at_least=0.0, at_most=1.0, fix="rescale losses to [0, 1]"
    )
    if horizon is not None and arm_array.size > horizon:
        raise InvalidArgumentError("horizon", horizon, f"at least the {arm_array.size} rounds of the history")
    return arm_array, loss_array


def _sides(optimal: Any, n_arms: int) -> tuple[IntArray, int]:
    """All arms, those of U first; and how many those are."""
    inside = _check.indices("optimal", optimal, below=n_arms)
    if np.unique(inside).size != inside.size:
        raise InvalidArgumentError("optimal", inside.tolist(), "distinct arms")
    if inside.size == 0:
        raise InvalidArgumentError(
            "optimal", optimal, "at least one arm", got="none", fix="the benchmark q plays an arm of U"
        )
    if inside.size == n_arms:
        raise InvalidArgumentError(
            "optimal",
            optimal,
            f"fewer than all {n_arms} arms",
            got="all",
            fix="without sub-optimal arms every term is zero",
        )
    inside = np.sort(inside)
    outside = np.setdiff1d(np.arange(n_arms), inside)
    return np.concatenate([inside, outside]), int(inside.size)


def _account(
    policy: Policy,
    params: Any,
    horizon: int | None,
    arms: IntArray,
    losses: FloatArray,
    optimal: Any,
    epsilon: float | None,
    uniforms: FloatArray | None = None,
) -> Account:
    """The account of a history; ``losses`` has one column, or one for each arm, and ``arms`` is changed."""
    ftrl, n = ftrl_of(params), arms.size
    n_arms, decoupled = ftrl.n_arms, ftrl is not params
    order, m = _sides(optimal, n_arms)
    if epsilon is None:
        epsilon = 0.0 if decoupled else 1.0 / (horizon or max(2, n))
    epsilon = _check.number("epsilon", epsilon, at_least=0.0, below=1.0)
    n_tables = len(Record._fields) if decoupled else len(Record._fields) - 1  # all but p_tilde
    size = 8.0 * n * (n_arms * n_tables + len(Terms._fields))
    if size > MEMORY:
        raise InvalidArgumentError(
            "arms",
            arms,
            "a history whose account fits into memory",
            got=f"one that would need {size / 1e9:.0f} GB",
            fix="shorten the history",
        )
    # one block of memory: systems are slow to provide many small ones
    block, values = np.empty((n_tables, n + 1, n_arms)), np.empty((n, len(Terms._fields)))
    tables = [*block] if decoupled else [*block, np.empty((0, n_arms))]
    now, rows, columns = blank_round(order, m, decoupled)
    drawn = np.empty((1, 2)) if uniforms is None else uniforms
    scratch = np.empty((2, n_arms))
    outcome, t = keep_ledger(
        params,
        init(params),
        arms,
        losses,
        drawn,
        epsilon,
        decoupled,
        now,
        rows,
        columns,
        scratch,
        Record(*tables),
        values,
    )
    if outcome == IMPOSSIBLE:
        raise InvalidArgumentError(
            "arms",
            int(arms[t]),
            "possible",
            got=f"{arms[t]}, which {policy!r} observes with probability below 1e-300 in that round: no "
            "estimate can be made from it",
            index=(t,),
        )
    if outcome == RESTARTED:
        raise InvalidArgumentError(
            "horizon",
            None,
            f"given for {policy!r}, which forgets everything in round {t + 1}: no decomposition holds "
            "across a restart",
            fix="give it, or end the history earlier",
        )
    if outcome == UNSOLVED:
        fix = what_to_do(params, "history")
        raise SolverError(f"no account of {policy!r} was found in round {t + 1}; {fix}")
    block.flags.writeable = values.flags.writeable = False
    # p, rates and q are known before every round and after the last; the rest belongs to a round
    parts = {
        name: array if name in ("p", "rates", "q") else array[:-1]
        for name, array in zip(Record._fields, block, strict=False)
    }
    terms = {name: values[:, k] for k, name in enumerate(Terms._fields)}
    return Account(
        policy=policy,
        n_arms=n_arms,
        horizon=horizon,
        arms=arms,
        losses=losses[np.arange(n), np.minimum(arms, losses.shape[1] - 1)],
        optimal=order[:m],
        suboptimal=order[m:],
        multipliers={side: terms.pop(f"lambda_{side.lower()}") for side in "UVK"},
        terms=terms,
        epsilon=epsilon,
        parameters=params,
        p_tilde=parts.pop("p_tilde", None),
        **parts,
    )
