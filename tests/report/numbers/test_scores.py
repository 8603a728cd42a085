"""Scores by hand, the steps of the ratio, and the one scorecard that everything shows."""

from __future__ import annotations

import numpy as np
import pytest

from bothworlds.report.numbers import scores
from bothworlds.report.page import page
from bothworlds.report.page.sections import findings
from bothworlds.report.study import Study
from bothworlds.report.styles import ratio_colors
from lab_store import POLICIES, WORLDS, FakePolicy, FakeStudy, FakeWorld, write_store


def test_ratios_of_negative_regret():
    found = scores.ratios_to_best(np.array([-20.0, -1.0, 10.0]), unit=10.0)
    assert found.tolist() == [1.0, 1.0, 2.0]
    assert np.isnan(scores.ratios_to_best(np.array([np.nan, np.nan]), unit=3.0)).all()
    assert scores.regret_unit(4, 100, gaps=False) == 20.0
    assert scores.regret_unit(4, 100, gaps=True) == 4.0


def test_steps_of_the_ratio_scale():
    ratios = (1.0, 1.1, 1.11, 2.0, 9.9, 11.0, float("inf"))
    assert [scores.ratio_step(r, best=False) for r in ratios] == [1, 1, 2, 4, 7, 8, 8]
    assert scores.ratio_step(1.0, best=True) == 0
    assert scores.ratio_step(float("nan"), best=False) is None
    assert len(scores.ratio_names()) == len(ratio_colors()) == len(scores.RATIO_STEPS)


def test_only_the_best_is_called_best():
    assert scores.is_best(np.array([3.0, np.nextafter(3.0, 2.0)])).tolist() == [False, True]
    assert scores.is_best(np.array([-7.0, -9.0, np.nan, -9.0])).tolist() == [False, True, False, True]
    assert not scores.is_best(np.array([np.nan, np.nan])).any()


@pytest.fixture(scope="module")
def beaten(tmp_path_factory):
    """Two worlds in which all but two policies beat the best fixed arm."""
    worlds = [FakeWorld(name, "switching", n_arms=3, beaten=0.2) for name in ("First", "Second")]
    folder = tmp_path_factory.mktemp("beaten") / "out"
    write_store(folder, FakeStudy(POLICIES, tuple(worlds)), replications=6, checkpoints=20)
    return Study.load(folder)


def test_where_regret_is_negative_the_smallest_mean_is_best(beaten):
    """Ratios do not tell, for what is below zero counts as zero."""
    last = beaten.summary.query("horizon == 10000").set_index(["environment", "policy"])["mean"].unstack()
    assert (last < 0.0).sum(axis=1).tolist() == [3, 3]
    assert last.idxmin(axis=1).tolist() == ["Decoupled", "Decoupled"]
    ratios = beaten.scores.query("horizon == 10000").groupby("policy")["ratio"].max()
    assert (ratios == 1.0).sum() == 3
    card = scores.scorecard(beaten)
    assert card.policies[0] == "Decoupled"  # of equal geometric means
    for (policy, _), entry in card.entries.items():
        assert entry.best == (policy == "Decoupled")
        assert (entry.step == 0) == entry.best

    rows = [line for line in beaten.table("scorecard").splitlines() if "★" in line]
    assert [row.split()[0] for row in rows] == ["Decoupled", "★"]  # the other is the legend
    assert rows[0].count("★") == 2
    for name, bold in (("scorecard", 2), ("scores", 4), ("summary", 4)):
        lines = beaten.table(name, format="markdown").splitlines()[2:]
        assert sum(line.count("**") for line in lines if "Decoupled" in line) == 2 * bold
        assert not any("**" in line for line in lines if "Decoupled" not in line)
        assert beaten.table(name, format="latex").count(r"\mathbf") == bold
    assert "Regret below zero counts as zero in ratios." in beaten.table("scorecard")

    told = page(beaten)
    assert told.count("★</b>") == 2
    assert "Regret below zero counts as zero in ratios." in told
    found = findings(beaten.scores, beaten.ranking, beaten.pairs, beaten.tails)
    assert (found.best, found.safest) == ("Decoupled", "Decoupled")
    assert found.sentences[0].startswith(
        "Decoupled, FTRL Tsallis β=0.3 and FTRL Tsallis β=0.5 are equal overall: on average over 2 worlds "
        "(geometric mean) they are 1.00× the best of each world; next comes UCB1 with "
    )
    assert found.sentences[1].startswith("They also have the best worst case: never more than 1.00×")
    assert found.sentences[2].startswith("Decoupled has the lowest mean regret in 2 of 2 worlds, and in none")


def test_policies_with_the_same_mean_share_the_best_place(tmp_path):
    """Nothing is said of negative regret where there is none."""
    twins = tuple(FakePolicy(name, "ucb1", ("T", 0.0), ("T", 0.0)) for name in ("one", "two"))
    write_store(tmp_path / "out", FakeStudy(twins, WORLDS[:1]), replications=4, checkpoints=20)
    study = Study.load(tmp_path / "out")
    assert study.table("scorecard", format="markdown").count("★**") == 2
    assert "below zero" not in study.table("scorecard")
    found = findings(study.scores, study.ranking, study.pairs, study.tails)
    assert found.sentences[0].startswith("one and two are equal overall")
    assert found.sentences[2].startswith("one has the lowest mean regret in 1 of 1 world,")


def test_the_scorecard_is_that_of_the_largest_horizon(study):
    card = scores.scorecard(study)
    assert card.horizons == (10_000, 10_000)
    assert card.policies == list(study.ranking["policy"])
    assert card.rounds == "10,000 rounds"
    best = [entry for entry in card.entries.values() if entry.best]
    assert {(entry.ratio, entry.step) for entry in best} == {(1.0, 0)}
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
