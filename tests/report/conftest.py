"""A small study with a hostile label, and its page: made once for all tests of this folder that need them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab_store import LOGGED, POLICIES, WORLDS, FakeStudy, write_store

HOSTILE = "</script><script>window.hacked=1</script><b>&\"'"
STUDY = FakeStudy(
    (*POLICIES[:4], replace(POLICIES[4], label=HOSTILE)),
    (*WORLDS[:3], replace(LOGGED, label=f"Log {HOSTILE}", ends=0.5)),
)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("lab") / "out", STUDY, replications=12, checkpoints=40)


@pytest.fixture(scope="session")
def study(store: Path):
    from bothworlds.report.study import Study

    return Study.load(store)


@pytest.fixture(scope="session")
def bounds(study):
    """Made-up bounds, for the worlds with gaps."""
    curves = study.curves[study.curves["environment"].str.startswith("Bernoulli")]
    frame = curves[["cell", "round"]].assign(bound=3.0 * curves["mean"] + 1.0, name="Theorem 1")
    return frame


@pytest.fixture(scope="session")
def report(study, bounds, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import altair as alt
    import pandas as pd

    from bothworlds.report.page import Section, write_report

    chart = alt.Chart(pd.DataFrame({"x": [1, 2], "y": [3, 4]})).mark_bar().encode(x="x:Q", y="y:N")
    table = pd.DataFrame({"term": ["penalty", HOSTILE], "share": [0.25, 0.75]})
    extra = Section(
        "Where did the regret go?", f"Two parts.\n\nOf {HOSTILE}", [("Its parts", chart)], [("Shares", table)]
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(study, path, bounds=bounds, sections=[extra])
