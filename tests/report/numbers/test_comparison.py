"""Two studies side by side, against scipy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.report.study import Study
from bothworlds.report.text import comparison_table
from bothworlds.report.text.formats import as_text
from lab_store import POLICIES, WORLDS, FakeStudy, write_store

SMALL = FakeStudy(POLICIES[:2], WORLDS[:2])


def load(folder, study=SMALL, **options):
    settings = {"horizons": (100,), "replications": 6, "checkpoints": 10} | options
    return Study.load(write_store(folder, study, **settings))


def test_nothing_has_changed(tmp_path):
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    found = a.compare(b)
    assert len(found) == 4
    assert (found[["difference", "low", "high"]] == 0.0).all(axis=None)
    assert found["paired"].all()
    assert as_text(comparison_table(a, b)).count(" same") == 4


def test_paired_where_random_numbers_are_shared(tmp_path):
    a, b = load(tmp_path / "a", replications=6), load(tmp_path / "b", replications=9)
    found = a.compare(b).iloc[0]
    assert found["paired"]
    assert found["difference"] == 0.0  # of the six replications that both have
    assert found["mean_a"] != found["mean_b"]


def test_other_seeds_are_independent_samples(tmp_path):
    a, b = load(tmp_path / "a", seed=1), load(tmp_path / "b", seed=2)
    found = a.compare(b)
    assert not found["paired"].any()
    x, y = (study.runs(0).regret[:, -1] for study in (a, b))
    expected = stats.ttest_ind(y, x, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(found.loc[0, ["low", "high"]].astype(float), [expected.low, expected.high])
    assert found.loc[0, "difference"] == pytest.approx(y.mean() - x.mean())
    assert "independent samples" in as_text(comparison_table(a, b))


def test_what_is_in_one_only_is_left_out(tmp_path):
    renamed = FakeStudy((POLICIES[0], replace(POLICIES[1], label="another")), WORLDS[:2])
    a, b = load(tmp_path / "a"), load(tmp_path / "b", renamed, missing={0, 1})
    found = a.compare(b)
    assert found["policy"].tolist() == [POLICIES[0].label]
    assert "b is not complete" in as_text(comparison_table(a, b))
    other = load(tmp_path / "c", replace(SMALL, policies=(replace(POLICIES[0], label="else"),)))
    with pytest.raises(StoreError, match=r"no cell in common: the labels .* “else” there"):
        a.compare(other)
    with pytest.raises(InvalidArgumentError, match="other must be a Study"):
        a.compare("b")
