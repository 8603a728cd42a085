"""What a run shows: the numbers of its table and chart."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en

WORLD = en.Bernoulli(n_arms=3, gap=0.5)


def made_up(regret, labels=None, horizon=1000):
    """A run with these regrets: policies × replications × checkpoints."""
    regret = np.asarray(regret, dtype=float)
    labels = labels or tuple("abcdefg"[: len(regret)])
    kept = np.stack([regret, regret + 1, regret + 2], axis=-1)
    marks = np.array([10, horizon])[-regret.shape[2] :]
    return bw.Run(labels, (bw.UCB1(),) * len(labels), WORLD, horizon, 5, marks, kept)


RUN = made_up(
    [
        [[1, 4], [1, 6], [1, 11]],  # mean 7, median 6, variance 13
        [[0, 2], [0, 2], [3, 2]],
        [[9, 100], [9, 200], [9, 300]],
    ],
    labels=("middle", "best", "worst of all"),
)


def test_the_three_accounts():
    assert RUN.regret[0, :, 1].tolist() == [4, 6, 11]
    assert RUN.clean_regret[0, :, 1].tolist() == [5, 7, 12]
    assert RUN.losses[0, :, 1].tolist() == [6, 8, 13]
    assert RUN.replications == 3


def test_summary_best_first():
    rows = RUN.summary()
    assert [row[0] for row in rows] == ["best", "middle", "worst of all"]
    assert rows[0][1:] == (2.0, 0.0, 2.0, 2.0)
    assert rows[1][1:] == pytest.approx((7.0, 2 * np.sqrt(13 / 3), 6.0, 11.0))
    assert rows[2][1:] == pytest.approx((200.0, 2 * 100 / np.sqrt(3), 200.0, 300.0))


def test_summary_of_a_single_replication_has_no_error():
    ((_, mean, error, median, largest),) = made_up([[[3.0]]]).summary()
    assert (mean, median, largest) == (3.0, 3.0, 3.0)
    assert np.isnan(error)


def test_policies_whose_log_ended_come_last():
    run = made_up([[[np.nan]], [[2.0]], [[np.nan]], [[1.0]]])
    assert [row[0] for row in run.summary()] == ["d", "b", "a", "c"]


def test_table():
    assert RUN.table().splitlines() == [
        "Regret after 1,000 rounds in Bernoulli(n_arms=3, gap=0.5), 3 replications",
        "policy              mean    ± 2 SE      median     largest",
        "best                 2.0       0.0         2.0         2.0",
        "middle               7.0       4.2         6.0        11.0",
        "worst of all       200.0     115.5       200.0       300.0",
    ]


def test_table_of_long_and_short_labels_stays_aligned():
    for labels in (("x",), ("a label that is rather long",)):
        lines = made_up([[[1.0], [2.0]]], labels=labels).table().splitlines()
        assert len(lines[1]) == len(lines[2])
        assert lines[1].index("mean") + 4 == lines[2].index("1.5") + 3


def test_repr():
    assert repr(RUN) == "Run(3 policies, Bernoulli(n_arms=3, gap=0.5), horizon=1000, replications=3, seed=5)"


def test_curves():
    rows = RUN.curves()
    assert len(rows) == 3 * 2
    error = 2 * np.sqrt(13 / 3)
    assert rows[1] == pytest.approx(
        {"policy": "middle", "round": 1000, "regret": 7.0, "low": 7.0 - error, "high": 7.0 + error}
    )
    assert rows[2] == pytest.approx({"policy": "best", "round": 10, "regret": 1.0, "low": -1.0, "high": 3.0})
    single = made_up([[[3.0, 4.0]]]).curves()
    assert [(row["low"], row["regret"], row["high"]) for row in single] == [(3.0,) * 3, (4.0,) * 3]


@pytest.mark.parametrize("log", [False, True])
def test_the_chart_shows_the_curves(log):
    pytest.importorskip("altair")
    chart = RUN.plot(log=log).to_dict()
    (values,) = json.loads(json.dumps(chart))["datasets"].values()
    assert values == RUN.curves()
    band, line = chart["layer"]
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("low", "high")
    assert line["encoding"]["y"]["field"] == "regret"
    for layer in (band, line):
        assert layer["encoding"]["x"]["field"] == "round"
        assert layer["encoding"]["color"]["field"] == "policy"
        assert (layer["encoding"]["x"].get("scale", {}).get("type") == "log") == log
    assert chart["title"] == repr(WORLD)


def test_charts_are_written(tmp_path):
    pytest.importorskip("vl_convert")
    RUN.plot(tmp_path / "regret.svg")
    text = (tmp_path / "regret.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "worst of all" in text
    assert "regret" in text


def test_a_run_whose_log_ended_can_still_be_drawn(tmp_path):
    pytest.importorskip("vl_convert")
    made_up([[[1.0, np.nan], [2.0, np.nan]]]).plot(tmp_path / "regret.svg")
    assert (tmp_path / "regret.svg").read_text(encoding="utf-8").startswith("<svg")
