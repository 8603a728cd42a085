"""The numbers that charts draw, against the frames they come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bothworlds.report.numbers import rows
from bothworlds.report.numbers.rows import families, find_sweeps
from bothworlds.report.page import charts


@pytest.fixture(scope="module")
def panels(study):
    return rows.panels(study.cells)


@pytest.fixture(scope="module")
def policies(study):
    return [entry["label"] for entry in study.manifest["policies"]]


def test_a_panel_is_a_world_at_a_horizon_in_the_order_of_the_file(study, panels, policies):
    assert [(p.environment, p.horizon) for p in panels[:3]] == [
        ("Bernoulli gap=0.1", 1000),
        ("Bernoulli gap=0.1", 10_000),
        ("Bernoulli gap=0.2", 1000),
    ]
    assert panels[1].title == "Bernoulli gap=0.1, T = 10,000"
    assert list(panels[1].cells) == policies
    assert sorted(cell for panel in panels for cell in panel.cells.values()) == list(study.cells["cell"])


def test_curves_hold_the_numbers_of_the_frame(study, panels, policies):
    found = rows.curve_rows(rows.by_cell(study.curves), panels[1], policies)
    found = pd.DataFrame([row for row in found if row["policy"] == "UCB1"])
    truth = study.curves[
        (study.curves["policy"] == "UCB1") & (study.curves["environment"] == "Bernoulli gap=0.1")
    ]
    truth = truth[truth["horizon"] == 10_000]
    for name in ("round", "mean", "low", "high", "q05", "q95"):
        assert found[name].tolist() == truth[name].tolist()
    assert 5 <= found["mark"].sum() <= 9


def test_thinned_curves_keep_both_ends(study, panels, policies):
    curves = rows.by_cell(study.curves)
    found = rows.curve_rows(curves, panels[1], policies, points=7)
    rounds = [row["round"] for row in found if row["policy"] == "UCB1"]
    assert len(rounds) == 7
    assert (rounds[0], rounds[-1]) == (1, 10_000)


def test_markers_of_different_policies_stand_apart(study, panels, policies):
    found = rows.curve_rows(rows.by_cell(study.curves), panels[1], policies)
    places = [{r["round"] for r in found if r["policy"] == p and r["mark"]} for p in policies[:2]]
    assert not places[0] & places[1]


def test_a_log_that_ended_has_a_shorter_curve_and_no_final_regret(study, panels, policies):
    found = rows.curve_rows(rows.by_cell(study.curves), panels[-1], policies)
    assert 0 < max(row["round"] for row in found) <= 5000
    assert rows.final_rows(rows.by_cell(study.final), panels[-1]) == []


def test_finals_are_order_statistics_and_quantiles_of_all_replications(study, panels):
    found = rows.final_rows(rows.by_cell(study.final), panels[0], points=5)
    mine = [row for row in found if row["policy"] == "UCB1"]
    final = study.final[
        (study.final["policy"] == "UCB1") & (study.final["environment"] == panels[0].environment)
    ]
    values = np.sort(final[final["horizon"] == 1000]["regret"])
    box, dots = mine[0], [row["regret"] for row in mine[1:]]
    assert [box[name] for name in rows.BOX_COLUMNS] == np.quantile(
        values, [0.05, 0.25, 0.5, 0.75, 0.95]
    ).tolist()
    assert len(dots) == 5
    assert (dots[0], dots[-1]) == (values[0], values[-1])
    assert set(dots) <= set(values)


def test_probabilities_put_optimal_arms_first_and_add_up():
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.05, 0.6, 0.15, 0.2]])
    frame = pd.DataFrame(
        {"round": np.repeat([1, 10], 4), "arm": np.tile(range(4), 2), "probability": p.ravel()}
    )
    found = rows.probability_rows(frame, gaps=[0.3, 0.0, 0.2, 0.1], optimal=[1], most=3)
    assert [row["arm"] for row in found if row["round"] == 1] == ["arm 1 (optimal)", "arm 3", "2 other arms"]
    assert [row["p"] for row in found if row["round"] == 10] == pytest.approx([0.6, 0.2, 0.2])
    unknown = rows.probability_rows(frame, most=4)
    assert [row["arm"] for row in unknown if row["round"] == 1] == ["arm 1", "arm 3", "arm 2", "arm 0"]


def test_pairs_are_mirrored(study, panels):
    here = rows.by_world(study.pairs)[panels[0].environment, panels[0].horizon]
    found = rows.pair_rows(here)
    assert len(found) == 2 * len(here)
    by_key = {(row["policy"], row["reference"]): row for row in found}
    forth, back = by_key["UCB1", "Decoupled"], by_key["Decoupled", "UCB1"]
    truth = here[(here["policy_a"] == "UCB1") & (here["policy_b"] == "Decoupled")].iloc[0]
    assert (forth["difference"], forth["low"], forth["high"]) == (
        truth["difference"],
        truth["low"],
        truth["high"],
    )
    assert (back["difference"], back["low"], back["high"]) == (
        -forth["difference"],
        -forth["high"],
        -forth["low"],
    )
    assert forth["wins"] + back["wins"] + truth["ties"] / truth["replications"] == pytest.approx(1.0)
    assert {row["reference"] for row in rows.pair_rows(here, reference="UCB1")} == {"UCB1"}


def test_bounds_belong_to_the_policies_of_their_cells(study, bounds, panels):
    found = rows.bound_rows(bounds, panels[1], points=5)
    assert {row["policy"] for row in found} == set(panels[1].cells)
    assert all(row["name"] == "Theorem 1" for row in found)
    assert rows.bound_rows(bounds, panels[-1]) == rows.bound_rows(None, panels[0]) == []


def test_sweeps_of_policies_environments_and_horizons(study):
    found = {sweep.setting: sweep for sweep in find_sweeps(study.summary, study.manifest)}
    assert list(found) == ["policy.beta", "environment.gap", "horizon"]
    beta = [row for row in found["policy.beta"].rows if row["view"] == "Bernoulli gap=0.1, T = 1,000"]
    assert [(row["series"], row["value"]) for row in beta] == [("FTRL Tsallis", 0.3), ("FTRL Tsallis", 0.5)]
    summary = study.summary.set_index(["policy", "environment", "horizon"])["mean"]
    assert beta[0]["mean"] == summary["FTRL Tsallis β=0.3", "Bernoulli gap=0.1", 1000]
    assert found["environment.gap"].views() == ["Bernoulli, T = 1,000", "Bernoulli, T = 10,000"]
    assert found["horizon"].scale() == "linear"
    assert found["horizon"].series() == [entry["label"] for entry in study.manifest["policies"]]


def test_entries_that_differ_in_another_setting_are_other_families():
    entries = [
        {
            "label": f"F {kind} b={b}",
            "kind": "ftrl",
            "swept": {"b": b},
            "settings": {"regularizer": {"kind": kind, "b": b}},
        }
        for kind in ("x", "y")
        for b in (1, 2)
    ]
    assert families(entries, "b") == {"F x b=1": "F x", "F x b=2": "F x", "F y b=1": "F y", "F y b=2": "F y"}
    assert families(entries, "c") == {}


def test_charts_are_valid_and_name_every_policy(policies):
    """Of data that the page hands in by name, bounds among them only where there are some."""
    spec = charts.curves_chart(policies, bounds=True).to_dict()  # Altair checks it
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == policies
    assert [layer.get("name") for layer in spec["layer"]][1] == charts.INTERVALS_LAYER
    assert [layer["data"]["name"] for layer in spec["layer"]] == ["rows"] * 3 + ["bounds", "names", "rows"]
    assert len(charts.curves_chart(policies, bounds=False).to_dict()["layer"]) == 5
