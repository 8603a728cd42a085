"""What a study found, in words, from tables made by hand; and where its regret went."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

import bothworlds as bw
from bothworlds.experiments import parse, run_study
from bothworlds.report.page import page
from bothworlds.report.page.sections import findings, regret_section
from interpreting import plain_python  # noqa: F401 - a fixture
from toml import study as study_text

TAIL_COLUMNS = ["cell", "environment", "horizon", "policy", "mean", "without_worst", "worst"]
TAIL_COLUMNS += ["worst_replication", "lifted"]


def table(rows, columns):
    return pd.DataFrame(rows, columns=columns)


def test_the_findings_in_words():
    scores = table(
        [
            ("w", 10, "a", 1.0, True),
            ("w", 10, "b", 4.0, False),
            ("v", 10, "a", 1.5, False),
            ("v", 10, "b", 1.0, True),
            ("v", 5, "a", 9.0, False),
        ],
        ["environment", "horizon", "policy", "ratio", "best"],
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
    scores = table(
        [("w", 10, "a", 1.0, True), ("v", 10, "a", 1.0, True)],
        ["environment", "horizon", "policy", "ratio", "best"],
    )
    pairs = table([], ["environment", "horizon", "policy_a", "policy_b", "low", "high"])
    found = findings(scores, ranking, pairs, table([], TAIL_COLUMNS).astype({"lifted": bool}))
    assert (found.best, found.safest) == ("a", "b")  # c lacks a world
    assert "b has the best worst case" in found.sentences[1]
    assert found.sentences[2].endswith(
        "and in none is another policy better beyond chance (paired 95% intervals)."
    )
    assert len(found.sentences) == 3


@pytest.fixture(scope="module")
def played(plain_python, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("sections") / "study"
    players = [{"kind": kind} for kind in ("tsallis-inf", "ucb1", "decoupled-tsallis-inf", "uniform")]
    worlds = [{"kind": kind, "n_arms": 3, "gap": 0.25} for kind in ("bernoulli", "switching")]
    run_study(parse(study_text(players, worlds, horizon=50)), folder, jobs=1, progress=False)
    return bw.Study.load(folder)


def test_where_the_regret_went(played):
    section = regret_section(played)
    assert section.title == "Where did the regret go?"
    (_, table), *_ = section.tables
    assert list(table["policy"]) == [
        "TsallisINF",
        "DecoupledTsallisINF",
    ]  # no index policy, no world without gaps
    taken = bw.theory.account_run(
        bw.TsallisINF(), bw.environments.Bernoulli(n_arms=3, gap=0.25), horizon=50, seed=0
    )
    assert table["sum"][0] == pytest.approx(taken.total("regret"), rel=1e-12)
    assert table["optimal"][0] <= 1e-12
    assert "Where did the regret go?" in page(played, sections=[section])
    drawn = [chart.to_dict() for _, chart in section.charts]
    assert len(drawn) == 2  # single views fit their place: a row of panels would shrink on a phone
    assert all("facet" not in spec and "width" not in spec for spec in drawn)
    areas = [spec["layer"][0]["encoding"] for spec in drawn]
    assert all("facet" not in encoding for encoding in areas)
    domains = [encoding["y"]["scale"]["domain"] for encoding in areas]
    assert domains[0] == domains[1]  # policies of a world are compared on one scale
    assert domains[0][1] >= max(row["regret"] for _, chart in section.charts for row in chart.data.values)


def test_the_parts_are_as_large_as_the_text_of_the_page(played):
    """Drawn at the width of their place, a view each, so that nothing is shrunk; and no font is small."""
    told = page(played, sections=[regret_section(played)])
    found = re.search(r'id="data"[^>]*>(.*?)</script>', told, re.DOTALL)
    for spec in json.loads(found[1])["extra"]:
        assert "containerSize" in json.dumps(spec["signals"])  # Vega's word for the width of the place
        sizes = [float(size) for size in re.findall(r'"\w*[fF]ontSize": ([\d.]+)', json.dumps(spec))]
        assert sizes
        assert min(sizes) >= 11
