"""``bw.theory.verify``: every lemma of the paper, checked on games from benign to hostile."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds.errors import InvalidArgument
from bothworlds.policies import FTRL, DecoupledTsallisINF, LightBarrier, Policy, TsallisINF
from bothworlds.policies.base import require_policy
from bothworlds.simplex.regularizers import LogBarrier, Regularizer, Shannon, Tsallis
from bothworlds.simulate.progress import PATIENCE, Progress
from bothworlds.theory import lemmas, universal
from bothworlds.theory.accounting.accounts import Account, account_game
from bothworlds.theory.accounting.ledger import DRAWN, LIKELIEST, RAREST
from bothworlds.theory.finding import ROUNDING, Finding

PAGE = "proof.html"
GRID = tuple(2.0**k for k in range(7, -8, -1))  # values of C tried for the multiplicative relation


class Game(NamedTuple):
    """What is played: choices for arms, a table of losses, the arms called optimal, and the gaps."""

    name: str
    choices: IntArray
    table: FloatArray
    uniforms: FloatArray
    optimal: tuple[int, ...]
    gaps: tuple[float, ...]


def games(rounds: int = 1000, seed: int = 0) -> list[Game]:
    """Games from benign to hostile, with 2 to 8 arms and 1 to 3 of them optimal."""
    random = np.random.default_rng(seed)

    def game(
        name: str, choice: Any, table: FloatArray, optimal: tuple[int, ...], gaps: tuple[float, ...]
    ) -> Game:
        choices = np.broadcast_to(np.asarray(choice, dtype=np.int64), rounds).copy()
        return Game(name, choices, table, random.random((rounds, 2)), optimal, gaps)

    def coins(means: Any) -> FloatArray:
        shape = (rounds, np.shape(means)[-1])
        return np.array(random.random(shape) < means, dtype=np.float64)

    gaps = (0.0, 0.1, 0.0, 0.2, 0.4)
    switch = np.where(np.arange(rounds)[:, None] < rounds // 2, [0.2, 0.8, 0.5], [0.8, 0.2, 0.5])
    phase = np.log1p(np.arange(rounds)) // math.log(1.6) % 2
    shifted = np.where(phase[:, None] > 0, 0.8, 0.0) + np.array([0.0, 0.0, 0.2, 0.2, 0.1, 0.2])
    return [
        game("independent coins", DRAWN, coins(0.3 + np.array(gaps)), (0, 2), gaps),
        game("shifting levels", DRAWN, coins(shifted), (0, 1), (0.0, 0.0, 0.2, 0.2, 0.1, 0.2)),
        game("a switch at half-time", DRAWN, coins(switch), (0,), (0.0, 0.6, 0.3)),
        game("no losses at all", DRAWN, np.zeros((rounds, 2)), (1,), (0.5, 0.0)),
        game(
            "the likeliest arm loses",
            LIKELIEST,
            np.ones((rounds, 8)),
            (1, 4, 6),
            (0.1, 0, 0.3, 0.2, 0, 0.1, 0, 1),
        ),
        game("the rarest arm loses", RAREST, np.ones((rounds, 4)), (3,), (0.5, 0.1, 0.2, 0.0)),
        game(
            "erratic",
            random.choice([DRAWN, LIKELIEST, RAREST], rounds),
            random.choice([0.0, 1e-9, 0.5, 1.0], (rounds, 6)),
            (0, 5),
            (0.0, 0.1, 0.1, 0.3, 0.3, 0.0),
        ),
    ]


def default_policies() -> list[Policy]:
    """The paper's algorithm with the theorems' C and with less, and the decoupled one."""
    theorem = [
        FTRL(part, constants="paper") for part in (LogBarrier(), Shannon(), *map(Tsallis, (0.2, 0.5, 0.8)))
    ]
    practical = [FTRL(part, constants="light") for part in (LogBarrier(), Shannon(), Tsallis(0.8))]
    return [*theorem, *practical, TsallisINF(), DecoupledTsallisINF()]


@dataclass(frozen=True)
class Lemma:
    """A lemma: its name (also its place in the docs), what it says, and its check of an account.

    A check that does not apply to an account returns None. ``tolerance`` is what rounding may take.
    """

    name: str
    statement: str
    check: Callable[[Account, Game], Finding | None]
    tolerance: float = 0.0
    seen: str = ""


def _plain(check: Callable[[Account], Finding | None]) -> Callable[[Account, Game], Finding | None]:
    return lambda account, game: check(account)


LEMMAS = (
    Lemma(
        "decomposition",
        "total − benchmark = suboptimal + optimal + residual (− gap, decoupled)",
        _plain(lemmas.decomposition),
        ROUNDING,
    ),
    Lemma("suboptimal-arms", "suboptimal = stability + penalty", _plain(lemmas.suboptimal_parts), ROUNDING),
    Lemma(
        "ito-lemma-16",
        "<ℓ̂, p − q̃> = D(p, p') + D(q̃, p) − D(q̃, p')",
        _plain(lemmas.ito_lemma_16),
        ROUNDING,
    ),
    Lemma(
        "preprocessing",
        "the cost of preprocessing is the sum of its parts",
        _plain(lemmas.preprocessing),
        ROUNDING,
    ),
    Lemma("optimal-arms", "regret on optimal arms ≤ 0 in every round", _plain(lemmas.optimal_arms), ROUNDING),
    Lemma(
        "multiplicative-relation",
        "½ ≤ p'/p ≤ 2, and p̄/p",
        _plain(lemmas.multiplicative),
        seen="most extreme ratio",
    ),
    Lemma("multipliers", "four bounds each on λ_U, λ_V, λ_K", _plain(lemmas.multipliers), ROUNDING),
    Lemma(
        "stability", "stability ≤ B·‖ℓ̂_V‖² in the inverse Hessian", _plain(lemmas.stability), seen="B seen"
    ),
    Lemma(
        "penalty", "penalty ≤ B·(sum over V); ≤ 0 for the log-barrier", _plain(lemmas.penalty), seen="B seen"
    ),
    Lemma(
        "learning-rates",
        "learning-rate lemma with constant 2",
        _plain(lemmas.learning_rates),
        seen="constant seen",
    ),
    Lemma(
        "self-bounding",
        "S₁, S₂ ≤ z·R + (…)/z for every z",
        lambda account, game: lemmas.self_bounding(account, game.gaps),
        ROUNDING,
        seen="share of the bound",
    ),
    Lemma(
        "group-relation",
        "Σ p̄^{4/3} ≤ 2(1+1/t)²·Σ p^{4/3} on U, ≤ 8·Σ p^{4/3} on V",
        _plain(lemmas.group_multiplicative),
        seen="factor seen",
    ),
)


@dataclass(frozen=True)
class Row:
    """A line of the verdict: lemma, whether it holds, worst margin, rounds, and the page that explains it."""

    lemma: str
    statement: str
    holds: bool
    margin: float
    rounds: int
    page: str
    note: str = ""
    worst: str = ""


def verify(
    *,
    policies: Sequence[Policy] | None = None,
    rounds: int = 1000,
    seed: int = 0,
    search: bool = True,
    progress: bool | None = None,
) -> list[Row]:
    """Check the paper's lemmas, one by one, on games from benign to hostile.

    Every policy plays every game; every lemma that is claimed for it is checked in every round. Inequalities
    are checked up to 1e-12 of the size of what is compared, for that is what float64 leaves of them;
    bounds with room to spare, without tolerance.

    Parameters
    ----------
    policies:
        Policies that :func:`account` can take apart; by default the paper's, see the table.
    rounds:
        The length of each game.
    seed:
        A non-negative integer.
    search:
        Whether to look for the smallest C at which the multiplicative relation holds.
    progress:
        Whether to show a bar once two seconds have passed; by default on a terminal.

    Returns
    -------
    list of Row
        ``lemma``, ``holds``, ``margin``, ``rounds``, ``page``, ``note``; :func:`lemma_table` prints them.

    Examples
    --------
    >>> import bothworlds as bw
    >>> rows = bw.theory.verify(policies=[bw.TsallisINF()], rounds=50, search=False)
    >>> all(row.holds for row in rows)
    True
    """
    players = default_policies() if policies is None else [require_policy(policy) for policy in policies]
    if not players:
        raise InvalidArgument("policies must hold at least one policy, got none; None takes the paper's")
    rounds = _check.integer("rounds", rounds, at_least=8, fix="the games have up to 8 arms")
    seed = _check.integer("seed", seed, at_least=0)
    played = games(rounds, seed)
    with Progress("verify", len(players) * len(played) + 3, enabled=progress) as bar, _awake(bar):
        rows = _judge(players, played, bar)
        if search and policies is None:
            rows = [
                _with_smallest(row, min(rounds, 300), seed) if row.lemma == "multiplicative-relation" else row
                for row in rows
            ]
        bar.advance(1)
        rows += [_row(*found) for found in _universal(players, seed)]
        bar.advance(2)
    return rows


@contextmanager
def _awake(bar: Progress) -> Iterator[None]:
    """Show the bar after its two seconds even if the first game is still being compiled."""
    timer = threading.Timer(PATIENCE + 0.1, bar.advance, (0.0,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _judge(players: list[Policy], played: list[Game], bar: Progress) -> list[Row]:
    found: dict[str, list[tuple[Finding, str]]] = {lemma.name: [] for lemma in LEMMAS}
    for policy in players:
        for game in played:
            account = play(policy, game)
            for lemma in LEMMAS:
                finding = lemma.check(account, game)
                if finding is not None:
                    found[lemma.name].append((finding, f"{policy!r}, {game.name}"))
            bar.advance(1)
    return [_row(lemma, found[lemma.name]) for lemma in LEMMAS if found[lemma.name]]


def play(policy: Policy, game: Game) -> Account:
    """The account of a policy in a game."""
    return account_game(
        policy, choices=game.choices, table=game.table, uniforms=game.uniforms, optimal=game.optimal
    )


def _row(lemma: Lemma, found: list[tuple[Finding, str]]) -> Row:
    worst, where = min(
        found, key=lambda pair: pair[0].margin if not math.isnan(pair[0].margin) else -math.inf
    )
    note = ""
    if lemma.seen:
        seen = [finding.seen for finding, _ in found if math.isfinite(finding.seen)]
        ratio = lemma.name == "multiplicative-relation"  # far from 1 on either side is what counts
        worst_seen = max(seen, key=lambda x: abs(math.log(x)) if ratio else x, default=math.nan)
        note = f"{lemma.seen} {worst_seen:.3g}"
    return Row(
        lemma.name,
        lemma.statement,
        bool(worst.margin >= -lemma.tolerance),
        worst.margin,
        sum(finding.rounds for finding, _ in found),
        f"{PAGE}#{lemma.name}",
        note,
        where,
    )


def _universal(players: Iterable[Policy], seed: int) -> Iterator[tuple[Lemma, list[tuple[Finding, str]]]]:
    """Lemmas that are not about a run."""

    def never(account: Account, game: Game) -> None:
        return None

    where = "random functions"
    lemma = Lemma("monotonicity", "skewed divergences are monotone under (i), (ii)", never, ROUNDING)
    yield lemma, [(universal.monotonicity(seed=seed), where)]
    lemma = Lemma("conditions", "without (i), and without (ii), there are counterexamples", never, -1e-3)
    yield lemma, [(universal.conditions_needed(seed=seed), where)]
    lemma = Lemma(
        "learning-rate-sequences", "learning-rate lemma, hard sequences", never, seen="constant seen"
    )
    yield lemma, [(universal.learning_rate_sequences(seed=seed), "hard sequences")]
    unbiased: list[Policy] = [*players, LightBarrier(), TsallisINF(estimator="rv")]
    lemma = Lemma("unbiased", "E[ℓ̂] = ℓ, enumerating the draw", never, ROUNDING)
    yield lemma, [(universal.estimator_bias(policy, seed=seed), repr(policy)) for policy in unbiased]


def smallest_barrier(regularizer: Regularizer, *, rounds: int = 300, seed: int = 0) -> float:
    """The smallest power of 2 for C down to which the multiplicative relation held; inf if it never did.

    All else is as in the theorem. A search, not a proof: another game may need a larger C.
    """
    held = math.inf
    played = games(rounds, seed)
    for barrier in GRID:
        policy = FTRL(regularizer, constants="paper", log_barrier=barrier)
        extremes = [lemmas.ratios(play(policy, game)) for game in played]
        if min(low for low, _ in extremes) < 0.5 or max(high for _, high in extremes) > 2.0:
            break
        held = barrier
    return held


def _with_smallest(row: Row, rounds: int, seed: int) -> Row:
    found = [
        (part, smallest_barrier(part, rounds=rounds, seed=seed))
        for part in (LogBarrier(), Tsallis(0.5), Shannon())
    ]
    text = ", ".join(f"{part!r} {barrier:g}" for part, barrier in found)
    return Row(**{**row.__dict__, "note": f"{row.note}; held down to C: {text}"})
