"""Figures for papers: which files, of which kind, with which content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.report.charts import figures, write_figures
from bothworlds.report.study import Study
from lab_store import LOGGED, POLICIES, WORLDS, FakeStudy, write_store


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    fake = FakeStudy(POLICIES[1:3], (replace(WORLDS[0], swept={}),))
    folder = write_store(tmp_path_factory.mktemp("figures") / "out", fake, horizons=(500,), replications=4)
    return Study.load(folder)


def test_every_chart_in_every_format(small, tmp_path):
    paths = write_figures(small, tmp_path / "figures")
    world = "01-bernoulli-gap-0-1"
    names = [
        "scorecard",
        f"curves-{world}",
        f"final-{world}",
        f"pairs-{world}",
        f"probabilities-{world}",
        "timing",
    ]
    assert [path.name for path in paths] == [
        f"{name}.{kind}" for name in names for kind in ("svg", "pdf", "png")
    ]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(p.name for p in paths)
    first = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(first[path.suffix[1:]]) for path in paths)
    curves = (tmp_path / "figures" / f"curves-{world}.svg").read_text(encoding="utf-8")
    assert "FTRL Tsallis β=0.5" in curves
    assert "var(--" not in curves


def test_names_of_a_study_with_sweeps_hostile_labels_and_a_log_that_ended(tmp_path):
    policies = (*POLICIES[:2], replace(POLICIES[2], label='<b>"../UCB1"</b>'))
    fake = FakeStudy(policies, (WORLDS[0], replace(LOGGED, label="../../log")))
    study = Study.load(write_store(tmp_path / "out", fake, horizons=(500,), replications=4, checkpoints=20))
    bounds = study.curves[["cell", "round"]].assign(bound=100.0, name="Theorem 1")
    names = [name for name, _ in figures(study, bounds=bounds)]
    first, second = "01-bernoulli-gap-0-1", "02-log"
    assert names == [
        "scorecard",
        *(f"{kind}-{first}" for kind in ("curves", "final", "pairs", "probabilities")),
        *(f"{kind}-{second}" for kind in ("curves", "pairs", "probabilities")),
        "sweep-policy-beta-01-bernoulli-gap-0-1-t-500",
        "timing",
    ]


def test_unknown_formats_are_refused(small, tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"formats must be some of svg, pdf, png, got \('gif',\)"):
        write_figures(small, tmp_path / "figures", formats=("gif",))
    assert not (tmp_path / "figures").exists()


def test_a_folder_that_cannot_be_written_is_named(small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"figures cannot be written to .*file"):
        write_figures(small, tmp_path / "file")
