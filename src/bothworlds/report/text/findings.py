"""What a study found, in sentences computed from its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from bothworlds._words import counted
from bothworlds.report.numbers.frames import at_largest_horizon
from bothworlds.report.text.tables import format_number


@dataclass(frozen=True)
class Findings:
    """Who is best overall and in the worst case; ``sentences`` say it to a reader."""

    best: str | None
    safest: str | None
    sentences: tuple[str, ...]


def findings(
    scores: pd.DataFrame,
    ranking: pd.DataFrame,
    pairs: pd.DataFrame,
    tails: pd.DataFrame,
    unplayed: int = 0,
) -> Findings:
    """What the scorecard says, at the largest horizon of each world, and which means one run makes.

    Nobody is called best while there are ``unplayed`` cells: the missing worlds may be the bad ones.
    """
    if unplayed:
        what = f"{counted(unplayed, 'cell')} {'is' if unplayed == 1 else 'are'} not played to the end"
        return Findings(
            None, None, (f"No policy is called best before all have played every world: {what}.",)
        )
    most = max(1, ranking["environments"].max())  # the others lack worlds
    ranked = ranking[ranking["environments"] == most]
    if ranked.empty:
        return Findings(
            None, None, ("No world has been played to its end by any policy: there is no ranking.",)
        )
    scores = at_largest_horizon(scores).dropna(subset=["ratio"])
    first: dict[Any, Any] = ranked.iloc[0].to_dict()
    best = str(first["policy"])
    if len(ranked) == 1:
        line = f"{best} is alone in this study: nothing to compare it with."
        return Findings(best, best, (line,))
    second: dict[Any, Any] = ranked.iloc[1].to_dict()
    safe: dict[Any, Any] = ranked.sort_values("worst", kind="stable").iloc[0].to_dict()
    sentences = [
        f"{best} is best overall: on average over {counted(first['environments'], 'world')} (geometric mean) "
        f"it is {_times(first['geometric_mean'])} the best of each world; next comes {second['policy']} "
        f"with {_times(second['geometric_mean'])}.",
        _safest(safe, best),
        _lowest(scores, pairs, best),
    ]
    failure = _failure(scores)
    warnings = lifted_sentences(tails)
    return Findings(best, str(safe["policy"]), (*sentences, *([failure] if failure else []), *warnings))


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×"


def _safest(safe: dict[Any, Any], best: str) -> str:
    where = f"never more than {_times(safe['worst'])} the best of a world (in “{safe['worst_environment']}”)"
    if safe["policy"] == best:
        return f"It also has the best worst case: {where}."
    return f"{safe['policy']} has the best worst case: {where}."


def _lowest(scores: pd.DataFrame, pairs: pd.DataFrame, best: str) -> str:
    """In how many worlds it has the lowest regret, and in how many another one is clearly better."""
    mine = scores[scores["policy"] == best]
    lowest = int((mine["ratio"] <= 1.0).sum())
    beaten = 0
    for environment, horizon in zip(mine["environment"], mine["horizon"], strict=True):
        here = pairs[(pairs["environment"] == environment) & (pairs["horizon"] == horizon)]
        lost = ((here["policy_a"] == best) & (here["low"] > 0)) | (
            (here["policy_b"] == best) & (here["high"] < 0)
        )
        beaten += bool(lost.any())
    text = f"{best} has the lowest mean regret in {lowest} of {counted(len(mine), 'world')}"
    if not beaten:
        return f"{text}, and in none is another policy better beyond chance (paired 95% intervals)."
    return f"{text}; in {beaten} another policy is better beyond chance (paired 95% intervals)."


def _failure(scores: pd.DataFrame) -> str | None:
    """The largest ratio of the scorecard, if it is worth a sentence."""
    finite = scores[scores["ratio"] < float("inf")]
    if finite.empty or float(finite["ratio"].max()) < 3.0:
        return None
    worst: dict[Any, Any] = finite.sort_values("ratio", kind="stable").iloc[-1].to_dict()
    return (
        f"The largest failure: {worst['policy']} in “{worst['environment']}”, "
        f"{format_number(float(worst['ratio']))}× the best."
    )


MOST_WARNINGS = 3


def lifted_sentences(tails: pd.DataFrame) -> list[str]:
    """Of every mean that one replication makes, which it is and how to look at it; the largest three."""
    rows = at_largest_horizon(tails)
    rows = rows[rows["lifted"]]
    rows = rows.loc[(rows["mean"] / rows["without_worst"]).sort_values(ascending=False, kind="stable").index]
    said = [
        f"One replication makes the mean of {row['policy']} in “{row['environment']}”: "
        f"{format_number(row['mean'])} with it, {format_number(row['without_worst'])} without "
        f"(number {row['worst_replication']}, regret {format_number(row['worst'])}; "
        f"study.replay({row['cell']}, {row['worst_replication']}) plays it again)."
        for row in rows.head(MOST_WARNINGS).to_dict("records")
    ]
    more = len(rows) - len(said)
    return said + ([f"So it is in {counted(more, 'other cell')}; see Tails."] if more else [])
