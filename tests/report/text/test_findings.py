"""What a study found, in words, from tables made by hand."""

from __future__ import annotations

import re

import pandas as pd

from bothworlds.report.text.findings import findings

TAIL_COLUMNS = ["cell", "environment", "horizon", "policy", "mean", "without_worst", "worst"]
TAIL_COLUMNS += ["worst_replication", "lifted"]


def table(rows, columns):
    return pd.DataFrame(rows, columns=columns)


def test_the_findings_in_words():
    scores = table(
        [
            ("w", 10, "a", 1.0),
            ("w", 10, "b", 4.0),
            ("v", 10, "a", 1.5),
            ("v", 10, "b", 1.0),
            ("v", 5, "a", 9.0),
        ],
        ["environment", "horizon", "policy", "ratio"],
    )
    ranking = table(
        [("a", 1.2247, 1.5, "v", 2), ("b", 2.0, 4.0, "w", 2)],
        ["policy", "geometric_mean", "worst", "worst_environment", "environments"],
    )
    pairs = table(
        [("w", 10, "a", "b", -5.0, -2.0), ("v", 10, "a", "b", 1.0, 3.0)],
        ["environment", "horizon", "policy_a", "policy_b", "low", "high"],
    )
    tails = table(
        [
            (0, "w", 10, "a", 5.0, 4.8, 9.0, 3, False),
            (1, "w", 10, "b", 1520.0, 1139.0, 9999.0, 17, True),
            (2, "v", 5, "a", 9.0, 1.0, 99.0, 1, True),  # at another horizon
        ],
        TAIL_COLUMNS,
    )
    found = findings(scores, ranking, pairs, tails)
    assert (found.best, found.safest) == ("a", "a")
    told = " ".join(found.sentences)
    assert "a is best overall: on average over 2 worlds (geometric mean) it is 1.22× the best" in told
    assert "It also has the best worst case: never more than 1.50× the best of a world (in “v”)." in told
    assert "lowest mean regret in 1 of 2 worlds; in 1 another policy is better beyond chance" in told
    assert "The largest failure: b in “w”, 4.00× the best." in told
    assert "One replication makes the mean of b in “w”: 1,520 with it, 1,139 without" in told
    assert "(number 17, regret 9,999; study.replay(1, 17) plays it again)." in told
    empty = findings(scores[:0], ranking[:0], pairs[:0], tails[:0])
    assert empty.best is None
    assert re.search("no ranking", empty.sentences[0])
    early = findings(scores, ranking, pairs, tails, unplayed=3)
    assert (early.best, early.safest) == (None, None)
    assert early.sentences == (
        "No policy is called best before all have played every world: 3 cells are not played to the end.",
    )


def test_another_policy_may_have_the_best_worst_case():
    columns = ["policy", "geometric_mean", "worst", "worst_environment", "environments"]
    ranking = table([("a", 1.2, 9.0, "v", 2), ("b", 1.5, 1.6, "w", 2), ("c", 1.0, 1.0, "w", 1)], columns)
    scores = table([("w", 10, "a", 1.0), ("v", 10, "a", 1.0)], ["environment", "horizon", "policy", "ratio"])
    pairs = table([], ["environment", "horizon", "policy_a", "policy_b", "low", "high"])
    found = findings(scores, ranking, pairs, table([], TAIL_COLUMNS).astype({"lifted": bool}))
    assert (found.best, found.safest) == ("a", "b")  # c lacks a world
    assert "b has the best worst case" in found.sentences[1]
    assert found.sentences[2].endswith(
        "and in none is another policy better beyond chance (paired 95% intervals)."
    )
    assert len(found.sentences) == 3
