"""The decomposition over replications, against single accounts and the appendix's table."""

from __future__ import annotations

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.report.decomposition import TERMS
from bothworlds.report.figures.figure import contents
from interpreting import plain_python  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("plain_python")
WORLD = bw.environments.Bernoulli(n_arms=3, gap=0.3)
PAPER = bw.FTRL(bw.LogBarrier(), constants="paper")
POLICIES = {
    "paper": PAPER,
    "Tsallis": bw.TsallisINF(),
    "UCB1": bw.UCB1(),
}
HORIZON, SEED = 60, 4


@pytest.fixture(scope="module")
def study(plain_python):  # noqa: F811
    return bw.simulate(POLICIES, WORLD, horizon=HORIZON, replications=3, seed=SEED, jobs=1).study()


@pytest.fixture(scope="module")
def taken(study):
    return study.decompose("paper", progress=False)


@pytest.fixture(scope="module")
def accounts(plain_python):  # noqa: F811
    play = bw.theory.account_run
    return [play(PAPER, WORLD, horizon=HORIZON, seed=SEED, replication=r) for r in range(3)]


def test_terms_are_means_of_the_accounts(taken, accounts):
    assert (taken.replications, taken.rounds[-1]) == (3, HORIZON)
    parts = {"RegSub": "suboptimal", "PreCost": "preprocessing", "RegOpt": "optimal", "Reg": "regret"}
    for term, part in parts.items():
        sums = np.mean([np.cumsum(account.terms[part]) for account in accounts], axis=0)
        assert taken.mean[term] == pytest.approx(sums[taken.rounds - 1])
    whole = sum(taken.mean[term] for term in TERMS if term != "Reg")
    assert whole == pytest.approx(taken.mean["Reg"], abs=1e-9)
    assert (taken.low["Reg"] <= taken.mean["Reg"]).all()


def test_bounds_are_the_lines_of_the_table_at_the_mean_plays(taken, accounts):
    table = bw.theory.term_table(PAPER, n_arms=3, horizon=HORIZON, n_optimal=1)
    for at in (0, -1):
        t = taken.rounds[at]
        plays = np.mean([account.p[:t, account.suboptimal].sum(axis=0) for account in accounts], axis=0)
        for term in TERMS:
            assert taken.bounds[term][at] == pytest.approx(table[term].value(plays))
    assert taken.formulas["RegSub"] == table["RegSub"].formula


def test_as_tables_and_as_a_panel(study, taken):
    frame = taken.frame
    last = frame[frame["round"] == HORIZON].set_index("term")
    assert last["mean"].to_dict() == {term: taken.mean[term][-1] for term in TERMS}
    assert r"RegSub & suboptimal arms" in taken.table(format="latex")
    assert "PreCost" in taken._repr_html_()
    other = study.decompose("Tsallis", replications=1, progress=False)
    assert not other.bounds  # no theorem of the paper covers it
    assert np.isnan(other.frame["bound"]).all()
    made = study.plot("decomposition", policy="paper", bounds=True, replications=1)
    labels = made.axes[0].get_legend_handles_labels()[1]
    assert [label for label in labels if label.endswith("bound")] == [
        "RegSub: bound",
        "ResReg: bound",
        "PreCost: bound",
        "Reg: bound",
    ]
    assert {f"{term}: {meaning}" for term, meaning in TERMS.items()} <= set(labels)


def test_what_cannot_be_taken_apart_is_refused(study):
    with pytest.raises(InvalidArgumentError, match="one that plays an FTRL minimizer"):
        study.decompose("UCB1")
    with pytest.raises(InvalidArgumentError, match="at most the 3 of the study"):
        study.decompose("paper", replications=4)
    with pytest.raises(InvalidArgumentError, match="a policy of the study"):
        study.decompose("papper")


def test_without_a_policy_the_best_that_can_be_taken_apart(plain_python):  # noqa: F811
    predicting = bw.FTRL(
        bw.LogBarrier(), rates=bw.rates.RootRate(1.0), predictions=bw.predictions.MeanPredictions()
    )
    played = {"watched": bw.Watched(bw.InsuredSampler()), "FTRL": predicting, "Tsallis": bw.TsallisINF()}
    study = bw.simulate(played, WORLD, horizon=20, replications=2, seed=SEED, jobs=1).study()
    (panel,) = contents(study, "decomposition")
    assert "of Tsallis in" in panel.caption
    for options in ({"policies": ["FTRL"]}, {"policy": "watched"}):
        with pytest.raises(InvalidArgumentError, match="here: 'Tsallis'; choose one with policy=… in Python"):
            contents(study, "decomposition", **options)
    others = bw.simulate(bw.UCB1(), WORLD, horizon=20, replications=2, seed=SEED, jobs=1).study()
    with pytest.raises(InvalidArgumentError, match="this study has none; kinds that are: "):
        contents(others, "decomposition")


def test_what_is_being_done_is_said_before_it_is_done(study, capfd):
    study.decompose("Tsallis", replications=2)
    assert (
        capfd.readouterr().err
        == "Tsallis in Bernoulli(n_arms=3, gap=0.3): 2 replications played again and taken apart\n"
    )
    study.decompose("Tsallis", replications=1, progress=False)
    assert capfd.readouterr().err == ""
