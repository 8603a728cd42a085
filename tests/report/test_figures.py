"""Figures for papers: which files, of which kind, with which content."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bothworlds.errors import InvalidArgument
from bothworlds.report.figures import charts, write_figures
from bothworlds.report.study import Study
from lab_store import POLICIES, WORLDS, FakeStudy, write_store


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


def test_names_and_titles_of_a_study_with_sweeps_and_hostile_labels(study, bounds):
    found = dict(charts(study, bounds=bounds))
    assert all(re.fullmatch("[a-z0-9-]+", name) for name in found)
    assert {name.partition("-")[0] for name in found} == {
        "scorecard", "curves", "final", "pairs", "probabilities", "sweep", "timing",
    }  # fmt: skip
    assert sum(name.startswith("curves") for name in found) == 8
    assert not [name for name in found if name.startswith("final-08")]  # that log ended: nothing to draw


def test_unknown_formats_are_refused(small, tmp_path):
    with pytest.raises(InvalidArgument, match=r"formats must be some of svg, pdf, png; got \('gif',\)"):
        write_figures(small, tmp_path / "figures", formats=("gif",))
    assert not (tmp_path / "figures").exists()
