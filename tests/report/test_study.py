"""DataFrames of a study against NumPy and scipy on the numbers that went into the store."""

from __future__ import annotations

import io
import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.report import numbers
from bothworlds.report.figures.figure import every_panel
from bothworlds.report.numbers import statistics
from bothworlds.report.page import page
from bothworlds.report.study import Study
from lab_store import LOGGED, POLICIES, STANDARD, WORLDS, FakeStudy, draw, many, marks_of, write_store

NAMES = (
    "cells",
    "final",
    "curves",
    "summary",
    "growth",
    "scaling",
    "pairs",
    "scores",
    "ranking",
    "scorecard",
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study.load(write_store(tmp_path_factory.mktemp("standard") / "out"))


def raw(study: Study, cell: int, world: FakeStudy = STANDARD) -> np.ndarray:
    """Regret of all replications of a cell, made anew."""
    about = study.manifest["cells"][cell]
    rounds = marks_of(about["horizon"], 60)
    return np.array([draw(world, about, r, rounds, 1)[0] for r in range(study.manifest["replications"])])


def test_cells_follow_the_file_and_name_what_was_swept(study):
    cells = study.cells
    assert cells["cell"].tolist() == list(range(40))
    assert cells["environment"].unique().tolist() == [world.label for world in WORLDS]
    assert cells["policy"].unique().tolist() == [policy.label for policy in POLICIES]
    assert cells["policy.beta"].tolist()[:3] == [0.3, 0.5, pytest.approx(np.nan, nan_ok=True)]
    assert cells.loc[cells["environment"] == "Switching", "environment.gap"].isna().all()
    assert cells.groupby("environment")["gaps"].first().to_dict() == {
        "Bernoulli gap=0.1": "fixed",
        "Bernoulli gap=0.2": "fixed",
        "Corrupted": "fixed",
        "Switching": "not fixed",
    }
    assert cells.groupby("environment")["optimal"].first()["Corrupted"] == 2
    assert cells.loc[cells["gaps"] == "not fixed", "optimal"].isna().all()
    for table in (study.summary, study.growth, study.scores, study.timing):
        assert {"policy.beta", "environment.gap"} <= set(table.columns)


def test_means_and_quantiles_are_those_of_the_raw_numbers(study):
    curves, summary, final = study.curves, study.summary, study.final
    for cell in (0, 7, 23, 34):
        regret = raw(study, cell)
        mine = curves[curves["cell"] == cell]
        np.testing.assert_allclose(mine["mean"], regret.mean(axis=0), rtol=1e-12)
        for name, q in numbers.QUANTILES.items():
            np.testing.assert_allclose(mine[name], np.quantile(regret, q, axis=0), rtol=1e-12)
        np.testing.assert_array_equal(mine["worst"], regret.max(axis=0))
        np.testing.assert_array_equal(final[final["cell"] == cell]["regret"], regret[:, -1])
        row = summary.loc[summary["cell"] == cell].iloc[0]
        assert row["sd"] == pytest.approx(regret[:, -1].std(ddof=1), rel=1e-12)
        assert row["worst_replication"] == regret[:, -1].argmax()
        assert row["high"] == mine["high"].iloc[-1]


def test_a_band_is_scipys_percentile_bootstrap(study):
    regret = raw(study, 3)
    theirs = stats.bootstrap(
        (regret,),
        np.mean,
        n_resamples=statistics.RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(statistics.SEED),
    ).confidence_interval
    mine = study.curves.query("cell == 3")
    np.testing.assert_allclose(mine["low"], theirs.low, rtol=1e-12)
    np.testing.assert_allclose(mine["high"], theirs.high, rtol=1e-12)


@pytest.mark.parametrize(("n", "least", "most"), [(16, 0.90, 0.95), (64, 0.93, 0.965)])
def test_a_band_covers_about_as_often_as_it_says(n, least, most):
    """Skewed values with mean 1, 2000 times: somewhat less than 95% for few replications, as documented."""
    values = np.random.default_rng(4).gamma(4.0, 0.25, size=(n, 2000))
    low, high = statistics.mean_band(values)
    assert least < np.mean((low < 1.0) & (high > 1.0)) < most


def test_corruption_is_told_apart(study):
    final = study.final.set_index("environment")
    corrupted = final.loc["Corrupted"]
    assert corrupted["regret"].to_numpy() == pytest.approx(corrupted["clean_regret"].to_numpy() + 100.0)
    assert (final.loc["Switching", "regret"] == final.loc["Switching", "clean_regret"]).all()


def test_probabilities_are_those_of_replication_0(study):
    frame = study.probabilities(20)
    assert frame.columns.tolist() == ["round", "arm", "probability"]
    assert frame["arm"].unique().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(frame["round"].unique(), marks_of(1000, 60))
    np.testing.assert_allclose(frame.groupby("round")["probability"].sum(), 1.0, rtol=1e-6)


def test_timing_comes_from_the_chunks(study):
    timing = study.timing
    assert timing["rounds"].tolist() == (16 * timing["horizon"]).tolist()
    np.testing.assert_allclose(timing["nanoseconds_per_round"], 10.0)


def test_pairs_are_paired_tests_with_holms_correction(study):
    pairs = study.pairs
    first = pairs.query("environment == 'Switching' and horizon == 1000")
    assert len(first) == 10
    regret = [raw(study, cell)[:, -1] for cell in range(20, 25)]
    expected = [stats.ttest_rel(regret[a], regret[b]).pvalue for a, b in combinations(range(5), 2)]
    np.testing.assert_allclose(first["p_value"], expected, rtol=1e-9)
    differences = np.array([regret[a] - regret[b] for a, b in combinations(range(5), 2)])
    np.testing.assert_allclose(first["difference"], differences.mean(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(first["wins"], (differences < 0).sum(axis=1))
    assert (first["p_holm"] >= first["p_value"]).all()
    assert (first["p_holm"] <= np.minimum(1.0, 10 * first["p_value"] * (1 + 1e-12))).all()


def test_scores_and_ranking(study):
    mean = study.summary.set_index(["environment", "horizon", "policy"])["mean"].sort_index()
    scores = study.scores.set_index(["environment", "horizon", "policy"]).sort_index()
    here = mean["Bernoulli gap=0.1", 10_000]
    row = scores.loc[("Bernoulli gap=0.1", 10_000, "UCB1")]
    assert row["kind"] == "(R+K)/(best+K)"
    assert row["score"] == row["ratio"] == pytest.approx((here["UCB1"] + 4) / (here.min() + 4))
    there = mean["Switching", 10_000]
    row, unit = scores.loc[("Switching", 10_000, "UCB1")], np.sqrt(3 * 10_000)
    assert row["kind"] == "R/√(KT)"
    assert row["score"] == pytest.approx(there["UCB1"] / unit)
    assert row["ratio"] == pytest.approx((there["UCB1"] + unit) / (there.min() + unit))
    ratios = study.scores.query("horizon == 10000 and policy == 'UCB1'")["ratio"]
    ranked = study.ranking.set_index("policy").loc["UCB1"]
    assert ranked["geometric_mean"] == pytest.approx(stats.gmean(ratios))
    assert (ranked["worst"], ranked["worst_environment"]) == (ratios.max(), "Switching")
    assert study.ranking["geometric_mean"].is_monotonic_increasing
    assert study.scorecard.shape == (5, 4)
    assert study.scorecard.loc["UCB1", "Switching"] == row["score"]


def test_growth_names_the_laws_that_went_in(study):
    law = study.growth.query("horizon == 10000").set_index(["environment", "policy"])["law"]
    assert law["Bernoulli gap=0.2", "UCB1"] == "log T"
    assert law["Bernoulli gap=0.2", "Decoupled"] == "bounded"
    assert law["Switching", "FTRL Tsallis β=0.5"] == "√T"
    assert law["Switching", "UCB1"] == "T"
    scaling = study.scaling.set_index(["environment", "policy"]).loc[("Switching", "UCB1")]
    assert scaling["law"] == "undecided"  # two horizons fit any law
    assert scaling["exponent_low"] < 1.0 < scaling["exponent_high"]


def test_the_same_store_gives_the_same_bits_and_a_copy(study, tmp_path):
    again = Study.load(write_store(tmp_path / "out", per_chunk=7, backwards=True))
    for name in NAMES:
        pd.testing.assert_frame_equal(getattr(study, name), getattr(again, name), check_exact=True)
    mine = study.summary
    mine["mean"] = 0.0
    assert (study.summary["mean"] != 0.0).all()


def test_one_replication_has_no_band(tmp_path):
    alone = Study.load(write_store(tmp_path / "out", replications=1))
    assert alone.curves[["low", "high"]].isna().all(axis=None)
    assert alone.summary[["low", "high", "sd"]].isna().all(axis=None)
    assert alone.summary["mean"].notna().all()
    assert (alone.growth["law"] == "undecided").all()
    assert alone.growth["exponent"].notna().any()
    assert alone.pairs[["p_value", "p_holm", "low"]].isna().all(axis=None)
    assert "±" not in alone.table("summary").splitlines()[-1]
    assert alone.ranking["geometric_mean"].notna().all()


def test_a_log_that_ended_says_so(tmp_path):
    study = Study.load(
        write_store(tmp_path / "out", FakeStudy(POLICIES, (*WORLDS, LOGGED)), horizons=(1000,))
    )
    logged = study.summary.query("environment == 'Log'")
    assert logged["mean"].isna().all()
    assert logged["worst_replication"].isna().all()
    assert (logged["ended"] == 16).all()
    curves = study.curves.query("environment == 'Log'")
    assert curves.loc[curves["round"] <= 500, "mean"].notna().all()
    assert curves.loc[curves["round"] > 500, ["mean", "low", "median", "worst"]].isna().all(axis=None)
    assert (study.growth.query("environment == 'Log'")["law"] == "undecided").all()
    assert study.pairs.query("environment == 'Log'")["p_value"].isna().all()
    assert (study.ranking["environments"] == 4).all()
    assert study.table("summary").count("log ended") == 5
    assert study.table("scorecard").count("log ended") == 5


def test_part_of_a_study_is_usable_and_says_how_much_is_there(tmp_path):
    part = Study.load(write_store(tmp_path / "out", missing={1, 3, 4}))
    assert not part.complete
    assert 0.0 < part.progress < 1.0
    assert part.status.endswith("536 of 640 replications")
    assert part.cells["replications"].tolist()[:8] == [8, 16, 16, 16, 0, 0, 0, 0]
    assert part.summary.set_index("cell").loc[0, "replications"] == 8
    pairs = part.pairs.query("environment == 'Bernoulli gap=0.1' and horizon == 1000")
    assert pairs["replications"].tolist() == [8, 8, 8, 16, 16, 16]  # cell 4 is not there
    expected = stats.ttest_rel(raw(part, 0)[:8, -1], raw(part, 1)[:8, -1]).pvalue
    assert pairs["p_value"].iloc[0] == pytest.approx(expected)
    assert f"Not complete: {part.status}" in part.table("summary")
    assert "not complete" in repr(part)
    with pytest.raises(StoreError, match="no results of cell 5 yet"):
        part.runs(5)


def test_a_horizon_that_is_missing_leaves_nothing_to_scale(tmp_path):
    alone = FakeStudy(POLICIES[:1], WORLDS[:1])
    part = Study.load(write_store(tmp_path / "out", alone, per_chunk=1, missing={2}))
    assert part.scaling.empty
    assert part.pairs.empty  # one policy
    assert "policy a" in part.table("pairs")
    halves = Study.load(write_store(tmp_path / "half", alone, per_chunk=1, missing={0}))
    assert halves.scaling["horizons"].tolist() == [2]  # on the replications that both have


def test_replications_that_do_not_fit_together_are_refused(tmp_path, monkeypatch):
    sizes = iter((5, 6))  # the first half of the replications, and the second
    monkeypatch.setattr("lab_store.marks_of", lambda *_: np.arange(1, next(sizes)))
    folder = write_store(tmp_path / "out", FakeStudy(POLICIES[:1], WORLDS[:1]), horizons=(100,))
    with pytest.raises(StoreError, match="cell 0 have different checkpoints"):
        Study.load(folder)


def test_only_worlds_that_all_policies_have_played_are_ranked(tmp_path):
    part = Study.load(write_store(tmp_path / "out", horizons=(1000,), per_chunk=1, missing={4, 9}))
    # chunks 0 and 1 are cell 0; chunks 4 and 9 are cells 3 and 8: Decoupled in both Bernoulli worlds
    assert part.ranking["environments"].tolist() == [2] * 5
    ratios = part.scores.query("policy == 'UCB1' and environment in ('Switching', 'Corrupted')")["ratio"]
    assert part.ranking.set_index("policy")["geometric_mean"]["UCB1"] == pytest.approx(stats.gmean(ratios))
    assert np.isnan(part.scorecard.loc["Decoupled", "Bernoulli gap=0.1"])
    assert "–" in part.table("scorecard")


def test_who_has_played_alone_is_not_ranked(tmp_path):
    alone = set(range(3, 22))  # all but chunks 0 to 2: cells 0 and 1
    part = Study.load(write_store(tmp_path / "out", horizons=(1000,), per_chunk=1, missing=alone))
    assert set(part.ranking["policy"]) == set(part.policies)
    assert part.ranking[["geometric_mean", "by_median", "worst"]].isna().all(axis=None)
    assert (part.ranking["environments"] == 0).all()
    for form in ("text", "latex", "markdown", "csv"):
        assert "1.00" not in part.table("ranking", format=form)
    assert "No policy is called best" in page(part)
    assert part.plot("probabilities", environment=1).axes
    with pytest.raises(InvalidArgumentError, match=r"“Switching”: no result of .* yet"):
        part.plot("probabilities", environment="Switching")
    drawn = [name for name, _ in every_panel(part)]
    assert [name for name in drawn if name.startswith("prob")] == ["probabilities-01-bernoulli-gap-0-1"]


def test_a_folder_that_is_no_study_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere.*bothworlds run"):
        Study.load(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"manifest\.json.*bothworlds run"):
        Study.load(tmp_path)
    empty = write_store(tmp_path / "empty", horizons=(100,), missing=range(100))
    with pytest.raises(StoreError, match=r"no results yet.*experiment\.toml --out"):
        Study.load(empty)
    manifest = json.loads((empty / "manifest.json").read_text())
    (empty / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(StoreError, match="format 2"):
        Study.load(empty)
    (empty / "manifest.json").write_text('{"title"')
    with pytest.raises(StoreError, match=r"manifest\.json"):
        Study.load(empty)


def test_a_damaged_chunk_is_named_with_the_way_to_repair_it(tmp_path):
    folder = write_store(tmp_path / "out", horizons=(100,))
    chunk = sorted((folder / "chunks").iterdir())[2]
    content = chunk.read_bytes()
    chunk.write_bytes(content[:100] + b"?" + content[101:])
    with pytest.raises(StoreError, match=rf"{chunk.name}.*checksum.*run `bothworlds run .*again"):
        Study.load(folder)
    chunk.write_bytes(content)
    (folder / "chunks" / ".00002.parquet.tmp").write_bytes(b"half")  # a run that is writing
    assert Study.load(folder).complete


def test_bad_arguments(study):
    with pytest.raises(InvalidArgumentError, match=r"cell must be in 0\.\.39, got 40"):
        study.probabilities(40)
    with pytest.raises(InvalidArgumentError, match="did you mean 'summary'"):
        study.table("sumary")
    with pytest.raises(InvalidArgumentError, match="format must be one of"):
        study.table("summary", format="html")
    with pytest.raises(InvalidArgumentError, match="name must be one of"):
        study.table("curves", format="latex")


def test_many_policies_are_compared_with_the_best(tmp_path):
    study = Study.load(
        write_store(tmp_path / "out", many(40, 40), horizons=(100,), checkpoints=5, replications=4)
    )
    pairs = study.pairs
    best = study.summary.loc[study.summary["mean"].idxmin(), "policy"]
    assert len(pairs) == 39
    assert set(pairs["policy_b"]) == {best}
    smallest = pairs["p_value"].min()
    assert pairs["p_holm"].min() == pytest.approx(min(1.0, smallest * 40 * 39 / 2))
    assert pd.read_csv(io.StringIO(study.table("pairs", format="csv")))["policy_a"].tolist() == list(
        pairs["policy_a"]
    )
