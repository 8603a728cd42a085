"""Draws that belong to a key: the same user, the same arm, and over users the right frequencies."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import uuid

import numpy as np
import pytest
from scipy import stats

import bothworlds as bw
from bothworlds.bandit.keys import canonical, fill_with_key
from bothworlds.errors import InvalidArgumentError


def taught(policy=None, n_arms=4, **options):
    bandit = bw.Bandit(n_arms, policy, seed=8, **options)
    for i in range(30):
        bandit.update(bandit.pull(), loss=(i * 7 % 10) / 10)
    return bandit


@pytest.mark.parametrize("policy", [None, "thompson", "ucb1", "uniform"])
def test_the_same_key_gets_the_same_arm_while_the_distribution_stands(policy):
    bandit = taught(policy)
    first = [bandit.pull(key=user) for user in range(100)]
    again = [bandit.pull(key=user) for user in reversed(range(100))][::-1]
    assert [pull.arm for pull in first] == [pull.arm for pull in again]
    assert len({pull.id for pull in first + again}) == 200
    loaded = bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))
    assert [loaded.pull(key=user).arm for user in range(100)] == [pull.arm for pull in first]


def test_arms_have_the_probabilities_that_are_logged():
    bandit = taught()
    p = bandit.probabilities
    pulls = [bandit.pull(key=f"user {i}") for i in range(20_000)]
    assert all(pull.probability == p[pull.arm] for pull in pulls)
    counts = np.bincount([pull.arm for pull in pulls], minlength=4)
    assert stats.chisquare(counts, 20_000 * np.array(list(p.values()))).pvalue > 1e-4


def test_both_draws_of_a_decoupled_policy_belong_to_the_key_and_are_independent():
    bandit = bw.Bandit(3, bw.DecoupledTsallisINF(), seed=8)
    pulls = [bandit.pull(key=i) for i in range(9000)]
    table = np.zeros((3, 3))
    for pull in pulls:
        table[pull.arm, pull.observe] += 1
    assert stats.chisquare(table.ravel()).pvalue > 1e-4
    assert [bandit.pull(key=i)[1:3] for i in range(50)] == [pull[1:3] for pull in pulls[:50]]


def test_keys_leave_the_random_stream_alone():
    bandit, twin = bw.Bandit(5, seed=3), bw.Bandit(5, seed=3)
    for user in range(10):
        bandit.pull(key=user)
    assert [bandit.pull().arm for _ in range(30)] == [twin.pull().arm for _ in range(30)]


def test_few_change_arms_when_the_distribution_moves_a_little():
    bandit = taught()
    users = range(3000)
    before, p = [bandit.pull(key=user).arm for user in users], np.array(list(bandit.probabilities.values()))
    bandit.update(bandit.pull(), loss=0.6)
    q = np.array(list(bandit.probabilities.values()))
    moved = np.mean([bandit.pull(key=user).arm != arm for user, arm in zip(users, before, strict=True)])
    bound = np.abs(np.cumsum(p) - np.cumsum(q)).sum()  # every user below whose quantile a border has moved
    assert 0 < moved <= bound + 4 * np.sqrt(bound / len(users))
    assert bound < 0.2


def test_the_same_seed_in_another_process_gives_the_same_arms():
    script = (
        "import bothworlds as bw; b = bw.Bandit(4, seed=8); print([b.pull(key=i).arm for i in range(50)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    here, other, fresh = bw.Bandit(4, seed=8), bw.Bandit(4, seed=9), bw.Bandit(4)
    arms = [here.pull(key=i).arm for i in range(50)]
    assert json.loads(done.stdout) == arms
    assert arms != [other.pull(key=i).arm for i in range(50)]
    assert arms != [fresh.pull(key=i).arm for i in range(50)]


def test_the_uniforms_are_the_words_of_the_hash():
    secret, out = bytes(range(16)), np.empty(11)
    fill_with_key(secret, "ann", out)
    expected = []
    for block in range(2):
        salt = bytes([block]) + bytes(7)
        digest = hashlib.blake2b(b"sann", key=secret, salt=salt).digest()
        expected += [int.from_bytes(digest[i : i + 8], "little") >> 11 for i in range(0, 64, 8)]
    assert out.tolist() == [word / 2**53 for word in expected[:11]]


def test_keys_of_different_kinds_are_different():
    keys = ["1", 1, b"1", "i1", "", b"", -1, "-1", "s1", "ü", 10**40]
    assert len({canonical(key) for key in keys}) == len(keys)
    assert canonical(np.int64(7)) == canonical(7)
    assert canonical(np.str_("a")) == canonical("a")


@pytest.mark.parametrize("key", [1.5, True, ("a",), uuid.UUID(int=1)])
def test_other_keys_are_refused(key):
    bandit = taught()
    before = bandit.to_dict()
    with pytest.raises(
        InvalidArgumentError, match=r"key must be a string, an integer or bytes, got .*str\(key\)"
    ):
        bandit.pull(key=key)
    assert bandit.to_dict() == before


def test_a_file_without_a_secret_gets_one_that_stays():
    data = taught().to_dict()
    del data["secret"]
    one, other = bw.Bandit.from_dict(data), bw.Bandit.from_dict(data)
    assert [one.pull(key=i).arm for i in range(50)] == [other.pull(key=i).arm for i in range(50)]
    assert one.to_dict()["secret"] == other.to_dict()["secret"]
