"""What a bandit says of its past: notes of the distribution, and why a pull was drawn."""

from __future__ import annotations

import copy
import json
from xml.etree import ElementTree

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit.history import NOTES, History, Notes
from bothworlds.errors import InvalidArgumentError, PullError, StateError

ARMS = ["blue", "green", "<red>"]


def play(n: int, **options) -> tuple[bw.Bandit, list[list[float]]]:
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, **options)
    seen = []
    for _ in range(n):
        seen.append(list(bandit.probabilities.values()))
        pull = bandit.pull()
        bandit.update(pull, reward=float(pull.arm == "green"))
    return bandit, seen


@pytest.mark.parametrize("n", [0, 1, NOTES - 1, NOTES, NOTES + 1, 1000])
def test_notes_are_the_distribution_before_rounds_evenly_spread(n):
    bandit, seen = play(n)
    history = bandit.history
    assert len(history) < NOTES
    assert len(history) >= min(n, NOTES // 2)
    assert history.rounds.tolist() == list(range(1, n + 1, history.rounds[1] - 1 if len(history) > 1 else 1))
    for number, row in zip(history.rounds, history.probabilities, strict=True):
        np.testing.assert_allclose(row, seen[number - 1], atol=0.5001e-4)
    assert repr(history) == (
        f"History({len(history)} rounds, 1 … {history.rounds[-1]})" if n else "History(no rounds)"
    )


def test_it_is_saved_and_copied():
    bandit, _ = play(200)
    twins = [bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))), copy.deepcopy(bandit)]
    for each in (bandit, *twins):
        each.pull(300)
    assert [twin.to_dict()["history"] for twin in twins] == [bandit.to_dict()["history"]] * 2


def test_files_without_a_history_begin_one():
    bandit, _ = play(100)
    data = bandit.to_dict()
    del data["history"]
    again = bw.Bandit.from_dict(data)
    assert len(again.history) == 0
    again.pull()
    assert again.history.rounds.tolist() == [101]


@pytest.mark.parametrize(
    "spoil",
    [
        {"stride": 0},
        {"rounds": [1]},
        {"probabilities": [[0.25] * 4] * 3, "rounds": [1, 2, 3]},
        {"probabilities": [[2.0]], "rounds": [1]},
    ],
)
def test_a_spoilt_history_is_refused(spoil):
    data = play(3)[0].to_dict()
    data["history"] |= spoil
    with pytest.raises(StateError):
        bw.Bandit.from_dict(data)


def test_columns_for_a_data_frame():
    history = play(5)[0].history
    columns = history.to_dict()
    assert columns["round"] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]
    assert columns["arm"] == ARMS * 5
    assert columns["probability"][::3] == history["blue"].tolist()
    with pytest.raises(KeyError):
        history["gray"]


def test_arms_that_come_later_had_no_probability():
    bandit, _ = play(4)
    bandit.add("gray")
    bandit.pull()
    assert bandit.history["gray"].tolist()[:4] == [0.0] * 4
    assert bandit.history["gray"][4] > 0.0


def test_of_thousands_of_arms_nothing_is_noted():
    bandit = bw.Bandit(1000, bw.UCB1(), seed=1)
    bandit.pull()
    assert len(bandit.history) == 0
    assert len(bw.Bandit.from_dict(bandit.to_dict()).history) == 0


def test_a_line_and_a_chart():
    bandit, _ = play(500)
    line = bandit.history.line("green")
    assert len(line) == 16
    assert (line[0], line[-1]) == ("▃", "█")
    assert str(bandit).splitlines()[2].endswith(line)
    root = ElementTree.fromstring(bandit.history.svg())
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ARMS
    assert bandit.history._repr_html_() in bandit._repr_html_()
    assert play(1)[0].history.svg() == ""


def test_what_is_not_known_is_a_dot():
    history = History(("a", "b"), np.array([1, 2]), np.array([[np.nan, np.nan], [0.0, 1.0]]))
    assert (history.line("a"), history.line("b")) == ("·▁", "·█")
    assert history.svg() == ""
    assert "so far" not in str(play(1)[0])


def test_notes_never_grow():
    notes = Notes(3)
    for number in range(1, 100_000):
        if number == notes.due:
            notes.note([1.0, 0.0, 0.0])
    assert NOTES // 2 <= len(notes.history(ARMS)) < NOTES


# --- explain --------------------------------------------------------------------------------------------


def test_an_open_pull_by_its_id():
    bandit, _ = play(30)
    pull = bandit.pull()
    told = bandit.explain(pull.id)
    assert told.pull == pull
    assert told.noted == 31
    assert told.distribution[pull.arm] == pytest.approx(pull.probability, abs=1e-4)
    assert sum(n for n, _ in told.seen.values()) == 30
    assert f"Round 31: {pull.arm} was drawn by LightBarrier()" in str(told)
    assert "has not come" in str(told)
    assert json.loads(json.dumps(told.to_dict()))["pull"]["id"] == pull.id


def test_a_rare_draw_says_who_was_likelier():
    bandit, _ = play(200)
    pull = next(pull for pull in iter(bandit.pull, None) if pull.arm != "green")
    assert "green was likelier" in str(bandit.explain(pull))


def test_a_closed_pull_must_be_given_itself():
    bandit, _ = play(5)
    pull = bandit.pull()
    bandit.update(pull, reward=1.0)
    assert "It is closed" in str(bandit.explain(pull))
    with pytest.raises(InvalidArgumentError, match="give the Pull itself"):
        bandit.explain(pull.id)


def test_shares_sleep_and_deadlines_are_told():
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, floor=0.1)
    assert "Of that, 0.1 is its share whatever was learned." in str(bandit.explain(bandit.pull()))
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=7, wait=5, learn_at="deadline")
    bandit.disable("blue")
    pull = bandit.pull()
    bandit.update(pull, reward=1.0)
    told = str(bandit.explain(pull))
    assert "It could not draw blue." in told
    assert "waits for its deadline" in told
    bandit = bw.Bandit(ARMS, bw.DecoupledTsallisINF(), seed=7)
    pull = next(pull for pull in iter(bandit.pull, None) if pull.observe != pull.arm)
    assert f"shows the outcome of {pull.observe}" in str(bandit.explain(pull))


def test_pulls_of_others_are_not_explained():
    with pytest.raises(PullError, match="another bandit"):
        bw.Bandit(3).explain(bw.Bandit(3).pull())
