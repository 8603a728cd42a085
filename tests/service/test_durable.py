"""``bw.open``: a bandit in a file, with the words of a bandit."""

from __future__ import annotations

import ast
import os
from datetime import timedelta
from pathlib import Path

import pytest

import bothworlds as bw
import bothworlds.service
from bothworlds.errors import InvalidArgumentError, RepeatedPullError, UnknownPullError
from bothworlds.service import problems
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify


def test_the_loop(fast_folder):
    path = fast_folder / "prices.db"
    with bw.open(path, "button", arms=["blue", "green"]) as bandit:
        pull = bandit.pull()
        assert bandit.probabilities[pull.arm] == pull.probability == 0.5
        assert bandit.update(pull, reward=1.0).learned
        open_one = bandit.pull(unit="ann", context=b"{}").id
        before = bandit.probabilities
        assert repr(bandit) == "DurableBandit('button')"
        assert repr(pull) == f"Decision(id={pull.id!r}, arm={pull.arm!r}, probability=0.5)"
    with bw.open(path, "button", arms=["blue", "green"]) as bandit:
        assert bandit.probabilities == before
        bandit.update(open_one, loss=1.0)  # in another process, by its id
        with pytest.raises(RepeatedPullError):
            bandit.update(open_one, reward=1.0)
        with pytest.raises(UnknownPullError):
            bandit.update("00000000-0000-7000-8000-000000000000", reward=1.0)
        with pytest.raises(InvalidArgumentError, match=r"what pull\(\) returned"):
            bandit.update(7, reward=1.0)
        bandit.forget(bandit.pull(among=["blue"]))
        assert bandit.position == 3


def test_many_in_one_commit(fast_folder):
    with bw.open(fast_folder / "a.db", "x", arms=3) as bandit:
        pulls = bandit.pull(20)
        assert len({pull.id for pull in pulls}) == 20
        assert all(each.learned for each in bandit.update(pulls[:10], rewards=[1.0] * 10))
        assert all(each.learned for each in bandit.update(pulls[10:], losses=[1.0] * 10))
        with pytest.raises(problems.OutcomeExistsError):
            bandit.update(pulls, rewards=[0.5] * 20)
        for match, call in [
            ("of length 20", lambda: bandit.update(pulls, rewards=[1.0])),
            ("for several write rewards", lambda: bandit.update(pulls, reward=1.0)),
            ("for a single pull", lambda: bandit.pull(2, unit="ann")),
            ("at least 0", lambda: bandit.pull(-1)),
        ]:
            with pytest.raises(InvalidArgumentError, match=match):
                call()
        assert bandit.position == 20


def test_arms_and_segments(fast_folder):
    with bw.open(fast_folder / "a.db", "x", arms=["a", "b", "c"], wait=timedelta(hours=1)) as bandit:
        bandit.add("d")
        bandit.retire("a")
        bandit.disable("b")
        assert (bandit.arms, bandit.disabled, bandit.retired) == (("b", "c", "d"), ("b",), ("a",))
        bandit.enable("b")
        bandit.restart()
        assert bandit.policy == bw.Watched(bw.InsuredSampler())
        assert bandit.range == (0.0, 1.0)
        segment = bandit.segment("nl")
        segment.update(segment.pull(), reward=0.0)
        assert segment.probabilities != bandit.probabilities  # which has learned nothing
        assert repr(segment) == "DurableBandit('x', segment='nl')"


def test_other_settings_are_refused_and_leave_the_file_free(fast_folder):
    with bw.open(fast_folder / "a.db", "x", arms=2):
        pass
    with pytest.raises(problems.ExperimentExistsError, match="other settings: arms"):
        bw.open(fast_folder / "a.db", "x", arms=3)
    with pytest.raises(InvalidArgumentError):
        bw.open(fast_folder / "b.db", "x", arms=2, wait=0)
    assert not (fast_folder / "b.db").exists()


@pytest.mark.compiled
def test_machine_code_recomputes_what_python_decided(fast_folder, monkeypatch):
    """So a process may change over at any time."""
    with bw.open(fast_folder / "a.db", "x", arms=3, policy="tsallis-inf") as bandit:
        for i in range(60):
            bandit.update(bandit.pull(), reward=i % 3 / 2)
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "wait")
    store = open_store(fast_folder / "a.db")
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences
    assert (verdict.decisions, verdict.foreign, verdict.snapshots) == (60, 0, 1)


def test_verify_finds_what_was_altered(fast_folder):
    path = fast_folder / "a.db"
    with bw.open(path, "x", arms=3, policy="tsallis-inf") as bandit:
        for _ in range(10):
            bandit.update(bandit.pull(), reward=0.5)
    for place, (change, back, found) in {
        "p": ("probability = probability + 1e-15", "probability = probability - 1e-15", "with"),
        "arm": ("arm = (arm + 1) % 3", "arm = (arm + 2) % 3", "is arm"),
        "seen": ("seen = seen + 10", "seen = seen - 10", "the log ends at 10"),
    }.items():
        store = open_store(path)
        store._all(f"UPDATE decision SET {change} WHERE seen = 5")
        verdict = verify(store)
        assert verdict.n_differences == 1, place
        assert found in verdict.differences[0]
        store._all(f"UPDATE decision SET {back} WHERE seen = {15 if place == 'seen' else 5}")
        store.close()
    store = open_store(path)
    store._all("UPDATE entry SET kept = 0.25 WHERE pos = 3")
    assert verify(store).n_differences >= 6  # what was decided after it, and the snapshot
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_must_open_it_again(fast_folder):
    with bw.open(fast_folder / "a.db", "x", arms=2) as bandit:
        child = os.fork()
        if child == 0:
            try:
                bandit.pull()
            except problems.ClosedError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert bandit.pull().arm in (0, 1)


def test_no_pickle_and_no_exec_on_the_path():
    files = [*Path(bothworlds.service.__file__).parent.rglob("*.py"), Path(bw.bandit.learner.__file__)]
    assert len(files) > 10
    forbidden = {
        "pickle",
        "marshal",
        "shelve",
        "dill",
        "cloudpickle",
        "exec",
        "eval",
        "compile",
        "__import__",
    }
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").partition(".")[0])
        assert not names & forbidden, path
