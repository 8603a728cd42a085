"""Bounds beside the curves of a study: which ones, and that they are those of bw.theory."""

from __future__ import annotations

import pytest

import bothworlds as bw
from bothworlds.experiments import parse, run_study
from bothworlds.report.numbers import upper_bounds
from bothworlds.report.page import page
from interpreting import plain_python  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("plain_python")

FILE = """
horizon = 50
replications = 2
[[policy]]
kind = "tsallis-inf"
[[policy]]
kind = "ucb1"
[[policy]]
kind = "decoupled-tsallis-inf"
[[policy]]
kind = "uniform"
[[environment]]
kind = "bernoulli"
n_arms = 3
gap = 0.25
[[environment]]
kind = "switching"
n_arms = 3
gap = 0.25
"""


@pytest.fixture(scope="module")
def study(plain_python, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("theory") / "study"
    run_study(parse(FILE), folder, jobs=1, progress=False)
    return bw.Study.load(folder)


def test_one_bound_of_each_kind_under_its_own_name(study):
    found = upper_bounds(study)
    names = {cell: set(frame["name"]) for cell, frame in found.groupby("cell")}
    stated = bw.theory.bound(bw.TsallisINF(), n_arms=3, horizon=50, gaps=[0.0, 0.25, 0.25])
    least = (stated.adversarial, stated.self_bounding)
    assert names[0] == {bound.label for bound in least}  # Tsallis-INF, iid: of three, two
    last = found[(found["cell"] == 0) & (found["round"] == 50)].set_index("name")["bound"]
    assert last.to_dict() == pytest.approx({bound.label: bound.value for bound in least})
    assert len(names[1]) == 1  # UCB1 is covered where losses are iid …
    assert 5 not in names  # … and nowhere else
    assert all("O(·) with constant 1" in name for name in names[2])
    assert 3 not in names  # nothing is stated about uniform play
    assert found["round"].max() == 50
    assert set(upper_bounds(study, cells=[1, 3])["cell"]) == {1}
    assert "bounds of theory" in page(study, bounds=found)


def test_how_far_from_optimal(study):
    table = study.summary.set_index("cell")
    optimal = bw.theory.lower_bound(bw.environments.Bernoulli(n_arms=3, gap=0.25), horizon=50)
    assert table["lower_bound"][0] == pytest.approx(optimal.asymptotic)
    assert table["within"][0] == pytest.approx(table["mean"][0] / optimal.asymptotic)
    assert table["within"][4:].isna().all()  # a world that switches has no such bound
    assert "within × of optimal" in study.table("summary")


def test_no_bound_is_claimed_for_late_feedback(tmp_path):
    late = 'kind = "delayed"\nmean = 3\nbase = { kind = "bernoulli", n_arms = 3, gap = 0.25 }\n'
    text = FILE[: FILE.index("[[environment]]")] + "[[environment]]\n" + late
    run_study(parse(text), tmp_path / "s", jobs=1, progress=False)
    assert upper_bounds(bw.Study.load(tmp_path / "s")) is None


def test_a_study_without_theorems_has_no_bounds(tmp_path):
    text = FILE.replace("tsallis-inf", "epsilon-greedy").replace(
        "decoupled-epsilon-greedy", "discounted-thompson"
    )
    run_study(parse(text.replace('"ucb1"', '"light-barrier"')), tmp_path / "s", jobs=1, progress=False)
    assert upper_bounds(bw.Study.load(tmp_path / "s")) is None
