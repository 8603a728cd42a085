"""Scores by hand, the steps of the ratio, and the one scorecard that everything shows."""

from __future__ import annotations

import numpy as np
import pytest

from bothworlds.report.numbers import scores
from bothworlds.report.page import page
from bothworlds.report.page.sections import findings
from bothworlds.report.study import Study
from bothworlds.report.styles import ratio_colors
from lab_store import POLICIES, WORLDS, FakeStudy, write_store


def test_ratios_of_negative_regret():
    found = scores.ratios_to_best(np.array([-20.0, -1.0, 10.0]), unit=10.0)
    assert found.tolist() == [1.0, 1.0, 2.0]
    assert np.isnan(scores.ratios_to_best(np.array([np.nan, np.nan]), unit=3.0)).all()
    assert scores.regret_unit(4, 100, gaps=False) == 20.0
    assert scores.regret_unit(4, 100, gaps=True) == 4.0


def test_steps_of_the_ratio_scale():
    assert [scores.ratio_step(r) for r in (1.0, 1.1, 1.11, 2.0, 9.9, 11.0, float("inf"))] == [
        0,
        1,
        2,
        4,
        7,
        8,
        8,
    ]
    assert scores.ratio_step(float("nan")) is None
    assert len(scores.ratio_names()) == len(ratio_colors()) == len(scores.RATIO_STEPS)


def test_only_the_best_is_called_best():
    assert scores.ratio_step(np.nextafter(1.0, 2.0)) == 1


def test_the_scorecard_is_that_of_the_largest_horizon(study):
    card = scores.scorecard(study)
    assert card.horizons == (10_000, 10_000)
    assert card.policies == list(study.ranking["policy"])
    assert card.rounds == "10,000 rounds"
    best = [entry for entry in card.entries.values() if entry.ratio == 1.0]
    assert {entry.step for entry in best} == {0}
    ended = {environment for (_, environment), entry in card.entries.items() if entry.ended}
    assert [name.startswith("Log") for name in ended] == [True]


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """The first world at both horizons, the second at the smaller one only."""
    fake = FakeStudy(POLICIES[:3], WORLDS[:2])
    folder = tmp_path_factory.mktemp("uneven") / "out"
    write_store(folder, fake, replications=4, checkpoints=20, per_chunk=1, missing={10, 11, 12})
    return Study.load(folder)


def test_a_world_that_lacks_the_largest_horizon_counts_everywhere_alike(uneven):
    card = scores.scorecard(uneven)
    assert (card.horizons, len(card.entries)) == ((1000, 10_000), 6)
    assert uneven.scorecard.notna().all(axis=None)
    assert "after 1,000 to 10,000 rounds" in uneven.table("scorecard")
    assert "Scores after 1,000 to 10,000 rounds" in page(uneven)
    assert (
        "on average over 2 worlds"
        in findings(uneven.scores, uneven.ranking, uneven.pairs, uneven.tails).sentences[0]
    )
