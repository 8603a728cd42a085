"""``bw.theory.verify``: every lemma of the paper, checked on games from benign to hostile."""

from __future__ import annotations

import math
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bothworlds import _check
from bothworlds._progress import PATIENCE, Progress
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies import FTRL, DecoupledTsallisINF, LightBarrier, Policy, TsallisINF
from bothworlds.simplex.regularizers import LogBarrier, Regularizer, Shannon, Tsallis
from bothworlds.theory.verification import lemmas, universal
from bothworlds.theory.verification.games import Game, games, play
from bothworlds.theory.verification.lemmas import ROUNDING, Finding

PAGE = "proof.html"
GRID = tuple(2.0**k for k in range(7, -8, -1))  # values of C tried for the multiplicative relation


def default_policies() -> list[Policy]:
    """The paper's algorithm with the theorems' C and with less, and the decoupled one."""
    theorem = [
        FTRL(part, constants="paper") for part in (LogBarrier(), Shannon(), *map(Tsallis, (0.2, 0.5, 0.8)))
    ]
    practical = [FTRL(part, constants="light") for part in (LogBarrier(), Shannon(), Tsallis(0.8))]
    return [*theorem, *practical, TsallisINF(), DecoupledTsallisINF()]


@dataclass(frozen=True)
class Lemma:
    """A lemma: its name (also its place in the docs), its number, what it says, its check of an account.

    A check that does not apply to an account returns None; ``with_gaps`` are those that need the gaps of the
    game, and a lemma that is not about a run has none. ``tolerance`` is what rounding may take.
    """

    name: str
    paper: str
    statement: str
    check: Callable[..., Finding | None] | None
    tolerance: float = 0.0
    seen: str = ""
    with_gaps: bool = False


LEMMAS = (
    Lemma(
        "decomposition",
        "4.1, B.1.1",
        "total − benchmark = suboptimal + optimal + residual (− gap, decoupled)",
        lemmas.decomposition,
        ROUNDING,
    ),
    Lemma("suboptimal-arms", "A.2", "suboptimal = stability + penalty", lemmas.suboptimal_parts, ROUNDING),
    Lemma(
        "ito-lemma-16", "A.1.2", "<ℓ̂, p − q̃> = D(p, p') + D(q̃, p) − D(q̃, p')", lemmas.ito_lemma_16, ROUNDING
    ),
    Lemma(
        "preprocessing",
        "A.1.1, A.1.3",
        "the cost of preprocessing is the sum of its parts",
        lemmas.preprocessing,
        ROUNDING,
    ),
    Lemma(
        "optimal-arms", "A.3.1", "regret on optimal arms ≤ 0 in every round", lemmas.optimal_arms, ROUNDING
    ),
    Lemma(
        "multiplicative-relation",
        "C.3.2–C.3.5",
        "½ ≤ p'/p ≤ 2, and p̄/p",
        lemmas.multiplicative,
        seen="most extreme ratio",
    ),
    Lemma("multipliers", "C.4.2", "four bounds each on λ_U, λ_V, λ_K", lemmas.multipliers, ROUNDING),
    Lemma(
        "stability", "A.2.1", "stability ≤ B·‖ℓ̂_V‖² in the inverse Hessian", lemmas.stability, seen="B seen"
    ),
    Lemma(
        "penalty",
        "A.2.2–A.2.4",
        "penalty ≤ B·(sum over V); ≤ 0 for the log-barrier",
        lemmas.penalty,
        seen="B seen",
    ),
    Lemma(
        "learning-rates",
        "4.2",
        "learning-rate lemma with constant 2",
        lemmas.learning_rates,
        seen="constant seen",
    ),
    Lemma(
        "self-bounding",
        "A.1",
        "S₁, S₂ ≤ z·R + (…)/z for every z",
        lemmas.self_bounding,
        ROUNDING,
        seen="share of the bound",
        with_gaps=True,
    ),
    Lemma(
        "group-relation",
        "B.5.1, B.5.2",
        "Σ p̄^{4/3} ≤ 2(1+1/t)²·Σ p^{4/3} on U, ≤ 8·Σ p^{4/3} on V",
        lemmas.group_multiplicative,
        seen="factor seen",
    ),
)


@dataclass(frozen=True)
class Row:
    """A line of the verdict: lemma, whether it holds, worst margin, rounds, and the page that explains it.

    ``paper`` is its number there, ``tolerance`` how far below 0 rounding may take the margin.
    """

    lemma: str
    statement: str
    holds: bool
    margin: float
    rounds: int
    page: str
    note: str = ""
    worst: str = ""
    paper: str = ""
    tolerance: float = 0.0


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
    players = default_policies() if policies is None else [Policy.require(policy) for policy in policies]
    if not players:
        raise InvalidArgumentError(
            "policies", policies, "at least one policy", got="none", fix="None takes the paper's"
        )
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
                assert lemma.check is not None
                finding = lemma.check(account, game.gaps) if lemma.with_gaps else lemma.check(account)
                if finding is not None:
                    found[lemma.name].append((finding, f"{policy!r}, {game.name}"))
            bar.advance(1)
    return [_row(lemma, found[lemma.name]) for lemma in LEMMAS if found[lemma.name]]


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
        lemma.paper,
        lemma.tolerance,
    )


def _universal(players: Iterable[Policy], seed: int) -> Iterator[tuple[Lemma, list[tuple[Finding, str]]]]:
    """Lemmas that are not about a run."""
    where = "random functions"
    lemma = Lemma("monotonicity", "4.3", "skewed divergences are monotone under (i), (ii)", None, ROUNDING)
    yield lemma, [(universal.monotonicity(seed=seed), where)]
    lemma = Lemma(
        "conditions", "4.3", "without (i), and without (ii), there are counterexamples", None, -1e-3
    )
    yield lemma, [(universal.conditions_needed(seed=seed), where)]
    lemma = Lemma(
        "learning-rate-sequences", "4.2", "learning-rate lemma, hard sequences", None, seen="constant seen"
    )
    yield lemma, [(universal.learning_rate_sequences(seed=seed), "hard sequences")]
    unbiased: list[Policy] = [*players, LightBarrier(), TsallisINF(estimator="rv")]
    lemma = Lemma("unbiased", "2", "E[ℓ̂] = ℓ, enumerating the draw", None, ROUNDING)
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
    return replace(row, note=f"{row.note}; held down to C: {text}")


# --- as a table ------------------------------------------------------------------------------------------

HEADER = ("lemma", "in the paper", "verdict", "margin", "tolerance", "rounds")


def row_cells(row: Row) -> tuple[str, ...]:
    """One row in words."""
    verdict = "holds" if row.holds else "FAILS"
    tolerance = f"{row.tolerance:.0e}" if row.tolerance else "none"
    return row.lemma, row.paper, verdict, f"{row.margin:.1e}", tolerance, f"{row.rounds:,}"


def notes(rows: list[Row]) -> list[str]:
    """What there is to say beside the numbers, and where lemmas are explained."""
    said = [
        f"{row.lemma}: {row.note if row.holds else f'{row.note}; worst: {row.worst}'.removeprefix('; ')}"
        for row in rows
        if row.note or not row.holds
    ]
    return [*said, f"Each is a section of {PAGE}, such as {rows[0].page}."] if rows else said


def lemma_table(rows: list[Row]) -> str:
    """The rows as plain text, 80 columns wide.

    Examples
    --------
    >>> import bothworlds as bw
    >>> rows = bw.theory.verify(policies=[bw.TsallisINF()], rounds=50, search=False)
    >>> line = bw.theory.lemma_table(rows[:2]).splitlines()[1]
    >>> line.split()[0], "holds" in line
    ('decomposition', True)
    """
    lines = [HEADER, *(row_cells(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADER))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    wrapped = [textwrap.fill(note, 80, subsequent_indent="  ") for note in notes(rows)]
    return "\n".join([*table, "", *wrapped])


def rich_lemma_table(rows: list[Row]) -> Any:
    """The rows as a ``rich`` table with notes below it, to be printed by its console; 80 columns suffice."""
    from rich import box  # noqa: PLC0415 - only needed on a terminal
    from rich.table import Table  # noqa: PLC0415

    below = "\n".join(notes(rows))
    slim: dict[str, Any] = {"box": box.SIMPLE_HEAD, "padding": (0, 1, 0, 0), "show_edge": False}
    result = Table(title="The paper's lemmas on real runs", caption=below, **slim)
    result.caption_justify = "left"
    for name in HEADER:
        result.add_column(name, justify="right" if name in ("margin", "tolerance", "rounds") else "left")
    for row in rows:
        style = None if row.holds else "bold red"
        result.add_row(*row_cells(row), style=style)
    return result
