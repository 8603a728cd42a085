"""Bandits by segment: made on demand, packed when nobody asks, kept in one file."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit import many
from bothworlds.errors import InvalidArgumentError, StateError
from cases import CASES, Case

ARMS = ["blue", "green", "red"]


def play(bandit: bw.Bandit, n: int = 20) -> list[tuple]:
    pulls = []
    for i in range(n):
        pulls.append(bandit.pull())
        bandit.update(pulls[-1], reward=(i % 5) / 4)
    return [pull[:4] for pull in pulls]


def is_packed(bandit: bw.Bandit) -> bool:
    return "_packed" in bandit.__dict__


# --- packed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.policy))
def test_rest_changes_nothing(case: Case):
    n_arms, horizon = case.arms or 4, 200 if case.needs_horizon else None
    plain, packed = (bw.Bandit(n_arms, case.policy, seed=3, horizon=horizon) for _ in range(2))
    open_pull = packed.pull()
    plain.pull()
    for _ in range(3):
        packed._pack()
        packed._pack()  # once is enough
        assert is_packed(packed)
        assert play(packed) == play(plain)
    packed._pack()
    packed.update(open_pull, reward=1.0)
    assert packed.outstanding == ()
    one, other = plain.to_dict(), packed.to_dict()
    assert one["random"] == other["random"]
    assert one["rounds"] == other["rounds"]


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one._twin(5)],
    ids=["copy", "deepcopy", "pickle", "twin"],
)
def test_who_is_copied_or_saved_while_packed_is_a_plain_bandit(again):
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=3)
    play(bandit, 5)
    bandit._pack()
    assert type(bandit) is not bw.Bandit
    twin = again(bandit)
    assert type(twin) is type(bandit) is bw.Bandit
    assert twin.probabilities == bandit.probabilities


def test_a_plain_bandit_has_fast_attributes():
    assert not hasattr(bw.Bandit, "__getattr__")  # with it, they take five times as long


def test_all_that_a_bandit_is_survives_packing():
    bandit = bw.Bandit(ARMS, bw.LightBarrier(), seed=3, wait=50, missing=0.0, low=-1.0, clip=True)
    bandit.disable("red")
    play(bandit, 5)
    bandit.pull(3)
    before = bandit.to_dict()
    bandit._pack()
    assert bandit.to_dict() == before
    bandit._pack()
    assert repr(bandit).startswith("<Bandit: 3 arms")
    bandit._pack()
    assert copy.deepcopy(bandit).rounds == 8
    bandit._pack()
    assert pickle.loads(pickle.dumps(bandit)).rounds == 8
    bandit._pack()
    bandit.add("gray")
    bandit._pack()
    bandit.restart()
    assert bandit.arms == (*ARMS, "gray")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bandit.nothing  # noqa: B018


def test_threads_do_not_notice_that_a_bandit_rests():
    bandit = bw.Bandit(ARMS, seed=3)
    errors = []

    def work():
        try:
            for _ in range(300):
                bandit.update(bandit.pull(), reward=1.0)
                bandit.rounds  # noqa: B018
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        bandit._pack()
    assert not errors
    assert bandit.rounds == 1200
    assert bandit.outstanding == ()


# --- by segment -----------------------------------------------------------------------------------------


def test_a_segment_is_a_bandit_of_its_own():
    bandits = bw.Bandits(ARMS, seed=7)
    assert len(bandits) == 0
    assert "nl" not in bandits
    nl = bandits["nl"]
    assert bandits["nl"] is nl
    assert isinstance(nl, bw.Bandit)
    play(nl)
    assert bandits["be"].rounds == 0
    assert list(bandits) == ["nl", "be"]
    assert dict(bandits) == {"nl": nl, "be": bandits["be"]}
    assert bandits[np.str_("nl")] is nl
    assert bandits["nl", 3] is bandits[np.str_("nl"), np.int64(3)]
    del bandits["nl"]
    assert bandits["nl"].rounds == 0
    assert (bandits.arms, bandits.policy) == (tuple(ARMS), bw.policies.DEFAULT)
    assert repr(bandits).startswith("<Bandits: 3 segments, 3 arms")


def test_seeds_of_segments_do_not_depend_on_the_order():
    one, other = bw.Bandits(ARMS, seed=7), bw.Bandits(ARMS, seed=7)
    first = {name: play(one[name]) for name in ("a", "b", 1)}
    second = {name: play(other[name]) for name in (1, "b", "a")}
    assert first == second
    assert len({str(pulls) for pulls in first.values()}) == 3
    assert play(bw.Bandits(ARMS, seed=8)["a"]) != first["a"]
    fresh = bw.Bandits(ARMS)
    assert play(fresh["a"], 60) != play(fresh["b"], 60)
    ids = {bandit.pull().id.split("-")[0] for bandit in fresh.values()}
    assert len(ids) == 2


def test_options_hold_for_every_segment():
    bandits = bw.Bandits(ARMS, "thompson", seed=1, low=0.0, high=20.0, wait=3)
    for name in ("a", "b"):
        pull = bandits[name].pull()
        bandits[name].update(pull, reward=19.0)
        assert bandits[name].policy == bw.Thompson()


def test_who_is_not_asked_for_rests(monkeypatch):
    monkeypatch.setattr(many, "UNPACKED", 3)
    bandits, other = bw.Bandits(ARMS, seed=7), bw.Bandits(ARMS, seed=7)
    held = bandits["a"]
    for name in "abcdef" * 3:
        assert play(bandits[name], 3) == play(other[name], 3)
    assert [is_packed(bandits._made[name]) for name in "abcdef"] == [True] * 3 + [False] * 3
    assert held is bandits["a"]
    assert held.rounds == 9


def test_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(many, "UNPACKED", 2)
    bandits = bw.Bandits(ARMS, seed=7, high=5.0)
    for name in ("a", "b", ("c", 1), "d"):
        play(bandits[name])
    open_pull = bandits["a"].pull()
    bandits.save(tmp_path / "all.json")
    assert len([name for name in bandits if not is_packed(bandits._made[name])]) <= 2
    again = bw.Bandits.load(tmp_path / "all.json")
    assert list(again) == list(bandits)
    again["a"].update(open_pull, reward=5.0)
    bandits["a"].update(open_pull, reward=5.0)
    again.save(tmp_path / "again.json")  # with segments that nobody has asked for
    again = bw.Bandits.load(tmp_path / "again.json")
    for name in (*bandits, "new"):
        assert play(again[name]) == play(bandits[name])


# --- arms that change -----------------------------------------------------------------------------------


@pytest.fixture(name="several")
def _several(tmp_path, monkeypatch):
    """Segments that are unpacked, packed, and still in a file; and the same again, to be changed by hand."""
    monkeypatch.setattr(many, "UNPACKED", 2)
    bandits = bw.Bandits(ARMS, bw.Thompson(), seed=7)
    for name in "abcd":
        play(bandits[name], 5)
    bandits.save(tmp_path / "all.json")
    bandits, by_hand = (bw.Bandits.load(tmp_path / "all.json") for _ in range(2))
    for name in "abc":
        bandits[name].pull()
        by_hand[name].pull()
    return bandits, by_hand


def test_arms_change_in_every_segment(several, tmp_path):
    bandits, by_hand = several
    bandits.add("gray")
    bandits.retire("blue")
    for bandit in by_hand.values():
        bandit.add("gray")
        bandit.retire("blue")
    assert [is_packed(bandits._made[name]) for name in "abcd"] == [True, False, False, True]
    assert bandits.arms == bandits["new"].arms == ("green", "red", "gray")
    bandits.save(tmp_path / "changed.json")
    again = bw.Bandits.load(tmp_path / "changed.json")
    assert again["newer"].arms == bandits.arms
    for name in "abcd":
        assert play(bandits[name]) == play(by_hand[name]) == play(again[name])
    assert play(bandits["new"]) == play(again["new"])


def test_a_segment_that_has_changed_already_stays_as_it_is(several):
    bandits, _ = several
    bandits["a"].add("gray")
    bandits["b"].retire("blue")
    bandits.add("gray")
    bandits.retire("blue")
    assert {bandit.arms for bandit in bandits.values()} == {("green", "red", "gray")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda bandits: bandits.add("gray"), "got 'gray', which has retired in segment 'c'; choose another"),
        (lambda bandits: bandits.retire("red"), "got 'red', the last one in segment 'c'; enable or add"),
        (lambda bandits: bandits.add("green"), "got 'green', which is there; choose another"),
        (lambda bandits: bandits.retire("geen"), "an arm of this bandit, got 'geen'; did you mean 'green'"),
    ],
)
def test_where_a_segment_refuses_none_is_changed(several, change, message):
    bandits, _ = several
    bandits["c"].add("gray")
    bandits["c"].retire("gray")
    bandits["c"].disable("blue")
    bandits["c"].disable("green")
    before = {name: bandit.to_dict() for name, bandit in bandits.items()}
    with pytest.raises(InvalidArgumentError, match=message):
        change(bandits)
    assert bandits.arms == tuple(ARMS)
    assert {name: bandit.to_dict() for name, bandit in bandits.items()} == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot|not a file"),
        ("{}", "format"),
        ('{"format": "bothworlds-bandit", "version": 3}', "it is 'bothworlds-bandit', version 3"),
        ("[1]\n", "not a file"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(StateError, match=message) as caught:
        bw.Bandits.load(path)
    assert str(path) in str(caught.value)


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "all.json"
    bandits = bw.Bandits(ARMS, seed=7)
    play(bandits["a"])
    bandits.save(path)
    path.write_text(path.read_text()[:-10])
    with pytest.raises(StateError, match="ends within line 2"):
        bw.Bandits.load(path)


@pytest.mark.parametrize("segment", [None, 1.5, True, (), ("a", None), {"a": 1}, b"a"], ids=repr)
def test_names_of_segments(segment):
    bandits = bw.Bandits(ARMS)
    with pytest.raises(InvalidArgumentError, match="segment must be a string, an integer"):
        bandits[segment]
    assert len(bandits) == 0


def test_bad_options_are_refused_at_once():
    with pytest.raises(InvalidArgumentError, match="high must"):
        bw.Bandits(ARMS, high=-1.0)
    with pytest.raises(InvalidArgumentError, match="seed"):
        bw.Bandits(ARMS, seed=-1)


FORK = """
import os, bothworlds as bw
from bothworlds.bandit import many
many.UNPACKED = 1
bandits = bw.Bandits(3, seed=7)
made = bandits["made"]
bandits["awake"]  # so that the other one rests
def arms(): return [[bandits[name].pull().arm for _ in range(40)] for name in ("made", "awake", "new")]
for _ in range(2):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(arms()).encode())
        os._exit(0)
    os.wait()
    print(os.read(read, 10000).decode())
print(arms())
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_children_draw_for_themselves():
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=120
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    for segment in range(3):
        assert len({str(row[segment]) for row in rows}) == 3
    untouched = bw.Bandits(3, seed=7)
    assert rows[2] == [[untouched[name].pull().arm for _ in range(40)] for name in ("made", "awake", "new")]


@pytest.mark.slow
def test_ten_thousand_fit_into_memory():
    """At most 10 kB each: what is counted is what Python allocated."""
    code = (
        "import tracemalloc, bothworlds as bw; bandits = bw.Bandits(5, seed=1); bandits['x'].pull();"
        "tracemalloc.start();"
        "[b.update(b.pull(), reward=1.0) for i in range(3000) for b in [bandits[i]]];"
        "print(tracemalloc.get_traced_memory()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    gc.collect()
    bytes_of_unpacked = 1000 * 16_000
    assert int(done.stdout) < bytes_of_unpacked + 2000 * 6000
