"""What a run shows: the numbers of its table and chart."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from interpreting import plain_python  # noqa: F401 - a fixture

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
    rows = RUN._rows()
    assert [row[0] for row in rows] == ["best", "middle", "worst of all"]
    assert rows[0][1:] == (2.0, 0.0, 2.0, 2.0)
    assert rows[1][1:] == pytest.approx((7.0, 2 * np.sqrt(13 / 3), 6.0, 11.0))
    assert rows[2][1:] == pytest.approx((200.0, 2 * 100 / np.sqrt(3), 200.0, 300.0))


def test_summary_of_a_single_replication_has_no_error():
    ((_, mean, error, median, largest),) = made_up([[[3.0]]])._rows()
    assert (mean, median, largest) == (3.0, 3.0, 3.0)
    assert np.isnan(error)


def test_policies_whose_log_ended_come_last():
    run = made_up([[[np.nan]], [[2.0]], [[np.nan]], [[1.0]]])
    assert [row[0] for row in run._rows()] == ["d", "b", "a", "c"]


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


def test_its_frames_are_those_of_a_study():
    curves = RUN.curves
    assert list(curves["policy"].unique()) == ["middle", "best", "worst of all"]
    assert curves.set_index(["policy", "round"]).loc["middle", "mean"].tolist() == [1.0, 7.0]
    summary = RUN.summary.set_index("policy")
    assert summary["median"].to_dict() == {"middle": 6.0, "best": 2.0, "worst of all": 200.0}
    assert RUN.final.query("policy == 'middle'")["regret"].tolist() == [4.0, 6.0, 11.0]
    study = RUN.study()
    assert study.complete
    assert study.ranking["policy"].iloc[0] == "best"
    assert "worst of all" in study.table("summary")


def test_the_chart_shows_the_curves():
    lines = {line.get_label(): line for line in RUN.plot(x="linear").axes[0].get_lines()}
    for label in RUN.labels:
        shown = RUN.curves.query("policy == @label")
        assert lines[label].get_ydata().tolist() == shown["mean"].tolist()
        assert lines[label].get_xdata().tolist() == [10, 1000]


def test_a_run_whose_log_ended_can_still_be_drawn():
    run = made_up([[[1.0, np.nan], [2.0, np.nan]]])
    (line, *_) = run.plot().axes[0].get_lines()
    assert line.get_xdata().tolist() == [10]


def test_in_a_notebook():
    shown = made_up([[[1.0], [2.0]]], labels=("<b>",))._repr_html_()
    assert "<th>&lt;b&gt;</th><td>1.5</td>" in shown
    assert "<table>" in RUN.study()._repr_html_()


@pytest.mark.usefixtures("plain_python")
def test_a_run_of_some_replications_is_played_again_to_the_bit():
    """Number 9 of a series, of a policy that was not told the horizon, with its distributions."""
    how = {"horizon": 60, "seed": 3, "tell_horizon": False}
    run = bw.simulate(bw.TsallisINF(), WORLD, replications=range(8, 11), probabilities=True, **how)
    study = run.study()
    assert study.final["replication"].tolist() == [8, 9, 10]
    again = study.replay(0, 9)
    assert again.regret[0, 0].tolist() == run.regret[0, 1].tolist()
    assert again.traces[0][0].p.shape == (61, 3)
    kept = study.probabilities(0).pivot(index="round", columns="arm", values="probability").to_numpy()
    assert kept.tolist() == run.probabilities[0, 0].tolist()
    assert study.plot("probabilities").axes[0].get_ylabel() == "probability"
    with pytest.raises(bw.errors.InvalidArgumentError, match=r"replication must be in 0\.\.10"):
        study.replay(0, 11)
