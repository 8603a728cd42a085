"""A study that asks for evidence: the same numbers however it is cut, and nothing else has changed."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from bothworlds.errors import SpecError, StoreError
from bothworlds.experiments.spec import parse
from bothworlds.experiments.store import chunk
from bothworlds.inference.checkpoints import CheckpointEvidence
from bothworlds.report.page import page
from bothworlds.report.page.sections import evidence_section
from bothworlds.report.study import Study
from studies import chunk_names, manifest, rows, run_here, small_chunks, text
from toml import study as study_text

ASKED = text(horizon=1500, before="evidence = true\ncheckpoints = 20\n", n_arms="2\nlevel = 0.5")
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("evidence") / "study"
    run_here(parse(ASKED), path)
    return path


def test_the_cut_does_not_matter(folder, tmp_path, monkeypatch):
    small_chunks(monkeypatch, 0.001)
    run_here(parse(ASKED), tmp_path / "cut")
    assert len(chunk_names(tmp_path / "cut")) > len(chunk_names(folder))
    assert rows(tmp_path / "cut") == rows(folder)


def test_columns_are_those_of_a_look(folder):
    for path in (folder / "chunks").glob("*.parquet"):
        assert pq.read_table(path).column_names == [*chunk.SCHEMA.names, *CheckpointEvidence._fields]
    assert manifest(folder)["record"] == ["regret", "probabilities", "evidence"]


def test_without_evidence_nothing_is_different(tmp_path):
    plain, refused = parse(text()), parse("evidence = false\n" + text())
    assert plain.meaning() == refused.meaning()
    assert plain.record == ("regret", "probabilities")
    run_here(plain, tmp_path / "plain")
    for path in (tmp_path / "plain" / "chunks").glob("*.parquet"):
        assert pq.read_table(path).schema.remove_metadata() == chunk.SCHEMA
    study = Study.load(tmp_path / "plain")
    assert evidence_section(study) is None
    assert not any(path.stem == "evidence" for path in study.write_tables())
    for ask in (lambda: study.evidence, lambda: study.certainty, lambda: study.table("evidence")):
        with pytest.raises(StoreError, match="evidence = true"):
            ask()


def test_the_table_counted_by_hand(folder):
    study = Study.load(folder)
    frame = study.evidence
    assert list(frame["world"]) == ["stationary", "any", "stationary"]  # UCB1 draws from no probabilities
    stored = pd.concat(pq.read_table(path).to_pandas() for path in (folder / "chunks").glob("*.parquet"))
    for row in frame.to_dict("records"):
        prefix = "" if row["world"] == "stationary" else "any_"
        found = []
        for _, run in stored[stored["cell"] == row["cell"]].sort_values("round").groupby("replication"):
            decided = run[run[f"{prefix}standing"] <= 1]
            found.append(
                {
                    "round": decided["round"].iloc[0] if len(decided) else math.inf,
                    "then": decided["regret"].iloc[0] if len(decided) else None,
                    "wrong": run[f"{prefix}wrong"].max(),
                    "held": 1.0 - run[f"{prefix}missed"].max(),
                    "width": run[f"{prefix}width"].iloc[-1],
                    "drift": run["drift"].iloc[-1],
                }
            )
        known = [one["then"] for one in found if one["then"] is not None]
        middle = statistics.median(one["round"] for one in found)
        assert row["decided"] == len(known) / len(found)
        assert row["median_round"] == middle or (math.isnan(row["median_round"]) and middle == math.inf)
        assert row["regret_then"] == pytest.approx(statistics.median(known)) if known else True
        for name, key in (("wrong", "wrong"), ("coverage", "held"), ("width", "width"), ("drift", "drift")):
            assert row[name] == pytest.approx(np.mean([one[key] for one in found])), name
    assert frame["decided"].iloc[0] > 0.0
    curve = study.certainty
    last = curve[curve["cell"] == 0].iloc[-1]
    assert (last["round"], last["decided"]) == (1500, frame["decided"].iloc[0])
    assert (curve.groupby("cell")["decided"].diff().dropna() >= 0.0).all()


def test_tables_and_report_show_it(folder):
    study = Study.load(folder)
    table = study.table("evidence", format="markdown")
    assert "| assumed world | decided | median round | regret then | wrong | coverage |" in table
    assert {path.name for path in study.write_tables()} >= {"evidence.csv", "evidence.md", "evidence.tex"}
    section = evidence_section(study)
    assert "lets you know soonest" in section.text
    assert [chart.to_dict()["mark"]["type"] for _, chart in section.charts] == ["line", "point"]
    assert "What could be known?" in page(study, sections=[section])


def test_worlds_without_evidence_are_refused_before_anything_runs():
    base = {"kind": "bernoulli", "n_arms": 4, "gap": 0.2}
    sets = {"kind": "semi-bandit", "base": base, "choose": 2}
    with pytest.raises(SpecError, match=r"environment\[0\].*evidence must be False for choose=2") as caught:
        parse(study_text(policy={"kind": "uniform"}, environment=sets, evidence=True))
    assert len(caught.value.mistakes) == 1
    sleeping = {"kind": "sleeping", "base": base, "awake": 0.5}
    with pytest.raises(SpecError, match="evidence must be False where arms sleep"):
        parse(study_text(environment=sleeping, evidence=True))


def test_policies_that_look_elsewhere_are_refused():
    with pytest.raises(SpecError, match="observes the arm it plays"):
        parse("evidence = true\n" + text(after='[[policy]]\nkind = "decoupled-tsallis-inf"\n'))
    with pytest.raises(SpecError, match="evidence"):
        parse('evidence = "yes"\n' + text())
