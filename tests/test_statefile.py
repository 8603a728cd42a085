"""Saved bandits: exact, atomic, and refused when they are not what they claim to be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import policies
from bothworlds.errors import InvalidArgumentError, StateError


@pytest.fixture
def saved(tmp_path):
    bandit = bw.Bandit(["a", "b", "c"], bw.FTRL(bw.Tsallis(0.7), constants="light"), horizon=100, seed=5)
    for i in range(20):
        pull = bandit.pull()
        if i % 4:
            bandit.update(pull, loss=i / 20)
    path = tmp_path / "bandit.json"
    bandit.save(path)
    return bandit, path


def test_round_trip_is_exact_to_the_bit(saved):
    bandit, path = saved
    twin = bw.Bandit.load(path)
    assert twin.to_dict() == bandit.to_dict()
    assert twin.outstanding == bandit.outstanding
    assert [twin.pull()[:4] for _ in range(50)] == [bandit.pull()[:4] for _ in range(50)]
    for each in (twin, bandit):
        each.update(each.outstanding[0], reward=0.3)
    assert twin.probabilities == bandit.probabilities


def test_a_pull_made_before_saving_is_known_after_loading(saved):
    bandit, path = saved
    twin = bw.Bandit.load(path)
    twin.update(bandit.outstanding[0], loss=0.5)
    assert len(twin.outstanding) == len(bandit.outstanding) - 1


def test_loading_checks_the_policy(saved):
    bandit, path = saved
    assert bw.Bandit.load(path, policy=bandit.policy).policy == bandit.policy
    with pytest.raises(StateError, match=r"the saved bandit plays FTRL\(Tsallis.* not TsallisINF\(\)"):
        bw.Bandit.load(path, policy=bw.TsallisINF())


def test_the_file_that_cannot_be_loaded_is_named(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"debug": true}')
    with pytest.raises(StateError, match=r"settings.json cannot be loaded: this is not a saved bandit"):
        bw.Bandit.load(path)


def test_a_truncated_file(saved):
    _, path = saved
    content = path.read_text()
    for length in (0, 1, len(content) // 2, len(content) - 2):
        path.write_text(content[:length])
        with pytest.raises(StateError, match="is truncated or not JSON"):
            bw.Bandit.load(path)


def tamper(path, **changes):
    data = json.loads(path.read_text())
    for key, value in changes.items():
        if value is ...:
            del data[key]
        else:
            data[key] = value
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 5}, r"has version 5, written by bothworlds .*upgrade bothworlds"),
        ({"version": "1"}, r"has version '1'; this release reads versions 1 to 4"),
        (
            {"format": "something"},
            r"not a saved bandit: expected format 'bothworlds-bandit', found 'something'",
        ),
        (
            {"policy": {"kind": "tsallis-inf", "estimator": "rv", "x": 1}},
            r"the policy 'tsallis-inf' cannot be",
        ),
        ({"policy": {"kind": "ucb1", "alpha": 2.0}}, r"state does not belong to the saved policy"),
        ({"policy": {"kind": "tsallis-imf"}}, r"did you mean 'tsallis-inf'\?"),
        ({"policy": "ucb1"}, r"a policy must be a table with a 'kind', got 'ucb1'"),
        (
            {"state": {}},
            r"state does not belong to the saved policy: expected losses, sums, rates, p, scalars",
        ),
        ({"state": 3}, r"found 3"),
        ({"random": {}}, r"random stream cannot be restored"),
        ({"random": {"bit_generator": "PCG64"}}, r"bit_generator must be 'Philox', got 'PCG64'"),
        ({"rounds": ...}, r"the saved state lacks 'rounds'; it is incomplete"),
        ({"low": ...}, r"the saved state lacks 'low'; it is incomplete"),
        ({"rounds": -1}, r"cannot be restored: rounds must be at least 0, got -1"),
        ({"pulls": [1, 2]}, r"pulls must be a list of length 3, got \[1, 2\]"),
        ({"seen": [1, 2, 0.5]}, r"seen must be an integer, got 0.5"),
        ({"loss_sums": [0.0, 0.0, -1.0]}, r"loss_sums\[2\] must be finite and at least 0, got -1.0"),
        ({"bandit": 7}, r"bandit must be a string, got 7"),
        ({"arms": ["a", "a", "b"]}, r"arms must be distinct"),
        ({"outstanding": [{"round": 1}]}, r"the saved state lacks 'arm'"),
        ({"outstanding": 5}, r"cannot be restored"),
        (
            {"outstanding": [{"id": "first"}]},
            r"cannot be restored: 'first' is not a pull of a bandit, nor the id",
        ),
        ({"word": "<script>"}, r"word must be one of 'reward', 'loss', got '<script>'"),
        ({"secret": "xyz"}, r"secret must be 32 hexadecimal digits, got 'xyz'"),
        ({"secret": 5}, r"secret must be 32 hexadecimal digits, got 5"),
        ({"wait": {"rounds": -1, "seconds": None}}, r"cannot be restored: wait must be at least 1, got -1"),
        ({"wait": {"hours": 1}}, r"cannot be restored"),
        ({"missing": 0.5}, r"cannot be restored: missing must be given with a wait"),
        ({"fixed": [0.5]}, r"fixed must be a list of length 3, got \[0.5\]"),
        ({"fixed": [0.5, 2.0, None]}, r"fixed\['b'\] must be .* below 1, got 2.0"),
        ({"late": -1}, r"late must be at least 0, got -1"),
        ({"version": True}, r"has version True; this release reads"),
    ],
)
def test_tampered_files_are_refused(saved, changes, message):
    _, path = saved
    tamper(path, **changes)
    with pytest.raises(StateError, match=message):
        bw.Bandit.load(path)


def test_wrong_lengths_are_refused(saved):
    bandit, _ = saved
    data = bandit.to_dict()
    data["state"]["p"] = [0.5, 0.5]
    with pytest.raises(StateError, match=r"state.p must be a one-dimensional sequence of length 3"):
        bw.Bandit.from_dict(data)
    with pytest.raises(
        StateError, match="not a saved bandit: expected format 'bothworlds-bandit', found list"
    ):
        bw.Bandit.from_dict([])


def test_what_is_no_distribution_is_refused(saved):
    bandit, _ = saved
    data = bandit.to_dict()
    data["state"]["p"] = [5.0, -3.0, -1.0]
    with pytest.raises(StateError, match="probabilities must sum to 1"):
        bw.Bandit.from_dict(data)


@pytest.mark.parametrize("number", [21, 1])
def test_outstanding_rounds_are_checked(saved, number):
    bandit, _ = saved
    data = bandit.to_dict()
    instance = data["outstanding"][0]["id"].rpartition("-")[0]
    data["outstanding"].append(data["outstanding"][0] | {"id": f"{instance}-{number}"})
    with pytest.raises(StateError, match=f"outstanding round {number} is beyond pull 20"):
        bw.Bandit.from_dict(data)


def test_a_binary_file_and_a_short_random_stream(saved):
    bandit, path = saved
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(StateError, match="is truncated or not JSON"):
        bw.Bandit.load(path)
    data = bandit.to_dict()
    data["random"]["buffer"] = [1]
    with pytest.raises(StateError, match="random stream cannot be restored"):
        bw.Bandit.from_dict(data)


def test_permissions_and_links_survive(saved):
    bandit, path = saved
    assert path.stat().st_mode & 0o044 == 0o044 & ~current_umask()
    path.chmod(0o640)
    link = path.with_name("link.json")
    link.symlink_to(path)
    bandit.pull()
    bandit.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert bw.Bandit.load(path).rounds == bandit.rounds


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_saving_is_all_or_nothing(saved, monkeypatch):
    bandit, path = saved
    before = path.read_bytes()
    bandit.pull()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        bandit.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_saving_into_a_missing_folder_says_so(saved):
    bandit, path = saved
    with pytest.raises(FileNotFoundError, match=r"cannot write bandit.json, .*No such file.*missing'$"):
        bandit.save(path.parent / "missing" / "bandit.json")
    with pytest.raises(NotADirectoryError, match=r"cannot write inner.json, .*bandit.json'$"):
        bandit.save(path / "inner.json")
    with pytest.raises(FileNotFoundError, match="absent"):
        bw.Bandit.load(path.parent / "absent.json")


def test_registering_a_policy_of_ones_own(monkeypatch):
    class Mine(bw.UCB1):
        """UCB1 under another name."""

    bandit = bw.Bandit(2, Mine(), seed=1)
    with pytest.raises(StateError, match=r"Mine has no name, .*write class Mine\(UCB1, name='a-name'\)"):
        bandit.to_dict()
    monkeypatch.setattr(bw.Policy, "registry", dict(bw.Policy.registry))
    policies.register("mine", Mine)
    saved = bandit.to_dict()
    assert bw.Bandit.from_dict(saved).policy == Mine()
    del bw.Policy.registry["mine"]
    with pytest.raises(
        StateError, match=r"no policy is called 'mine'.* the file that defines it is imported"
    ):
        bw.Bandit.from_dict(saved)
    with pytest.raises(InvalidArgumentError, match="name must be free, got 'ucb1', which is UCB1"):
        policies.register("ucb1", Mine)


def test_an_unknown_name_is_answered_with_those_of_its_family():
    def complaint(data):
        with pytest.raises(StateError) as caught:
            policies.from_dict(data)
        said, _, own = str(caught.value).partition(". One of your own ")
        assert own == "is known once the file that defines it is imported"
        return said

    said, known = complaint({"kind": "mine"}).split(" Known: ")
    assert said == "the policy 'mine' cannot be restored: no policy is called 'mine'."
    assert known.split(", ") == policies.names()
    saved = policies.to_dict(bw.FTRL(bw.Shannon(), log_barrier=0.1, rates=bw.rates.RootRate(1.0)))
    assert policies.from_dict(saved["regularizer"]) == bw.Shannon()  # a part is known, too
    said = complaint(saved | {"regularizer": {"kind": "shanon"}})
    assert said == (
        "the policy 'ftrl' cannot be restored: regularizer: no regularizer is called 'shanon'; did you mean "
        f"'shannon'? Known: {', '.join(sorted(bw.Regularizer.registry))}"
    )
    assert "no rates is called 'ucb1'. Known: " in complaint(saved | {"rates": {"kind": "ucb1"}})
    wrapped = {"kind": "watched", "base": saved | {"regularizer": {"kind": 7}}}
    assert "cannot be restored: base.regularizer: no regularizer is called 7" in complaint(wrapped)


def test_files_without_the_newer_options_are_read(saved):
    bandit, _ = saved
    data = bandit.to_dict()
    for key in ("clip", "wait", "missing", "learn_at", "floor", "fixed", "late", "overdue", "secret"):
        del data[key]
    for item in data["outstanding"]:
        item["round"] = int(item.pop("id").rpartition("-")[2])
        del item["loss"], item["made"]
    old = bw.Bandit.from_dict(data)
    assert [pull[:4] for pull in old.outstanding] == [pull[:4] for pull in bandit.outstanding]
    again = bw.Bandit.from_dict(old.to_dict())
    for pull in old.outstanding:
        again.update(pull.id, loss=0.5)
    for pull in bandit.outstanding:
        bandit.update(pull, loss=0.5)
    assert again.probabilities == bandit.probabilities


def test_states_of_version_3_are_read():
    """Those of the watch had a number less: what trials have cost."""
    now = bw.Bandit(2).to_dict()
    before = json.loads(json.dumps(now)) | {"version": 3}
    assert before["state"]["scalars"].pop() == 0.0
    assert bw.Bandit.from_dict(before).to_dict()["state"] == now["state"]
    with pytest.raises(StateError, match=r"state.scalars must .* of length 20, got shape \(19,\)"):
        bw.Bandit.from_dict(before | {"version": 4})


VERSION_1 = json.loads((Path(__file__).parent / "states_of_version_1.json").read_text())


@pytest.mark.parametrize("kind", VERSION_1)
def test_states_of_version_1_are_read(kind):
    """Bandits that version 0.1 saved, with a pull outstanding: what they would play, and after its answer."""
    data = VERSION_1[kind]
    bandit = bw.Bandit.from_dict(data)
    exact = 1e-10 if kind == "thompson" else 1e-12  # an integral, by other nodes since then
    np.testing.assert_allclose(list(bandit.probabilities.values()), data["expected"], rtol=exact)
    (pull,) = bandit.outstanding
    bandit.update(pull, loss=1.0)
    np.testing.assert_allclose(list(bandit.probabilities.values()), data["after"], rtol=exact)
    assert bandit.to_dict()["version"] == 4
