"""A learner is a function of what it was told: draws leave no trace, and it learns what a bandit learns."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit.learner import Learner, engine
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.policies import base
from bothworlds.policies.thompson import Thompson
from cases import CASES
from playing import Given

CHANGES = {
    20: ("disable", 1),
    45: ("enable", 1),
    60: ("add", "new"),
    80: ("retire", 0),
    95: ("restart", None),
}


def fresh(case):
    return Learner(case.arms or 4, case.policy, horizon=3000 if case.needs_horizon else None)


NOTING = [
    bw.DelayedTsallisINF(),
    bw.TsallisSwitch(),
    bw.Watched(bw.DelayedTsallisINF()),
    bw.Restarting(bw.TsallisSwitch(), every=100),
]


@pytest.mark.parametrize("policy", NOTING, ids=repr)
def test_policies_that_take_note_of_draws_are_refused(policy, monkeypatch):
    with pytest.raises(InvalidArgumentError, match="which takes note of its draws"):
        Learner(4, policy)
    monkeypatch.setattr("bothworlds.bandit.learner._notes_unsaid", lambda bandit: False)
    with pytest.raises(InvalidArgumentError, match="which takes note of its draws"):
        Learner(4, policy)  # all of ours say so


def test_without_a_weight_delays_play_no_part():
    policy = bw.DelayedTsallisINF(weight=0.0)
    assert not policy.notes_draws
    assert not bw.Watched(policy).notes_draws
    assert Learner(4, policy).policy == policy


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.policy.notes_draws],
    ids=lambda case: repr(case.policy),
)
def test_every_policy_is_a_function_of_its_outcomes(case):
    """Extra draws move no bit, feedback in blocks is feedback one by one, and the bytes say all."""
    quiet, busy = fresh(case), fresh(case)
    random, noise = np.random.default_rng(3), np.random.default_rng(4)
    tickets, losses = [], []
    for round_ in range(15):
        uniforms = random.random(quiet.draws)
        draw = quiet.decide(uniforms)
        for _ in range(2):
            busy.decide(noise.random(busy.draws))
        assert busy.decide(uniforms) == draw
        assert 0.0 < draw.probability <= 1.0
        assert quiet.probabilities()[draw.arm] == pytest.approx(draw.probability, abs=1e-9)
        tickets.append(draw.ticket)
        losses.append(quiet.take("loss", float(random.random() < 0.2 + 0.2 * draw.arm)))
        if round_ % 3 == 2:
            for learner in (quiet, busy):
                for i in (-3, -1, -2):  # out of order, one by one
                    learner.learn(tickets[i:][:1], losses[i:][:1])
    order = [i for begin in range(0, 15, 3) for i in (begin, begin + 2, begin + 1)]
    block = fresh(case)
    block.learn([tickets[i] for i in order], [losses[i] for i in order])
    assert quiet.dump() == busy.dump() == block.dump() == Learner.load(block.dump()).dump()


@pytest.mark.parametrize("policy", [None, "tsallis-inf", "thompson", "ucb1"])
@pytest.mark.parametrize("high", [1.0, None])
def test_learns_what_a_bandit_learns_while_arms_change(policy, high):
    """The same uniforms and rewards, late and out of order: the same arms, weights and state, to the bit."""
    uniforms = np.random.default_rng(7).random((120, 8))
    bandit = bw.Bandit(3, policy, high=high)
    bandit._random = Given(uniforms[:, : bandit._policy.draws])
    learner = Learner(3, policy, high=high)
    waiting = []
    for i, row in enumerate(uniforms):
        if i in CHANGES:
            what, arm = CHANGES[i]
            getattr(bandit, what)(*([] if arm is None else [arm]))
            learner.change(what, arm)
        among = learner.arms[:2] if i % 17 == 5 else None
        pull, draw = bandit.pull(among=among), learner.decide(row[: learner.draws].copy(), among=among)
        assert (pull.arm, pull.probability) == (learner.labels[draw.arm], draw.probability)
        assert learner.observed(draw.ticket) == draw.observe
        waiting.append((pull, draw.ticket, 40.0 * row[-1] if high is None else row[-1]))
        for each in (waiting.pop(j) for j in (-2, 0)[: max(0, len(waiting) - 3)]):
            bandit.update(each[0], reward=each[2])
            learner.learn([each[1]], [learner.take("reward", each[2])])
    assert (learner.arms, learner.disabled, learner.retired) == (bandit.arms, bandit.disabled, bandit.retired)
    assert learner.range == bandit.range
    for each in (learner._bandit, bandit):  # what the last draw was told is not part of what was learned
        base.before_draw(each._params, each._state, 0, np.empty(0))
    for one, other in zip(learner._bandit._state, bandit._state, strict=True):
        np.testing.assert_equal(one, other)


def test_solver_that_fails_freezes_the_state_before():
    """Whether outcomes come in a block or one by one, and forever."""
    draw = Learner(3, "tsallis-inf").decide(np.array([0.5]))
    one_by_one, block = Learner(3, "tsallis-inf"), Learner(3, "tsallis-inf")
    kept = [0.5, 0.25, float("nan"), 1.0]  # no client can report it: see take
    for loss in kept:
        one_by_one.learn([draw.ticket], [loss])
    block.learn([draw.ticket] * 4, kept)
    before = Learner(3, "tsallis-inf")
    before.learn([draw.ticket] * 2, kept[:2])
    assert one_by_one.frozen
    assert block.frozen
    assert one_by_one.dump() == block.dump()
    assert one_by_one.probabilities() == before.probabilities()
    assert Learner.load(block.dump()).frozen


def test_refuses_policies_that_take_note_of_draws(monkeypatch):
    def count(params, state, outstanding, awake):
        state[0][0] += 1.0

    def measure(params, state, outstanding, awake):
        state[0][0] = outstanding

    for note in (count, measure):
        monkeypatch.setattr("bothworlds.bandit.learner.before_draw", note)
        with pytest.raises(
            InvalidArgumentError, match=r"a function of its feedback.*takes note of its draws"
        ):
            Learner(3, Thompson())


def test_refusals_change_nothing():
    learner = Learner(["a", "b"], "exp3-p", horizon=100)
    before = learner.dump()
    for what, arm, message in [
        ("add", "c", "one whose arms can change"),
        ("explode", "a", "one of add, retire"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            learner.change(what, arm)
    with pytest.raises(InvalidArgumentError, match="at least 0 and at most 1"):
        learner.take("reward", 1.5)
    with pytest.raises(InvalidArgumentError, match="a reward, as those before"):
        Learner(2, high=None).take("loss", 1.0)
    assert learner.dump() == before
    assert str(Learner(2).take("loss", -0.0)) == "0.0"


def test_states_of_the_layout_before_layouts_were_noted_are_read():
    learner = Learner(["a", "b"])
    saved = json.loads(learner.dump())
    assert saved["state"]["scalars"].pop() == 0.0
    del saved["layout"]
    assert Learner.load(json.dumps(saved).encode()).dump() == learner.dump()


@pytest.mark.parametrize("damage", ["version", "state", "arms", "cut"])
def test_damaged_bytes_are_refused(damage):
    data = Learner(["a", "b"]).dump()
    saved = json.loads(data)
    if damage == "cut":
        data = data[:-20]
    else:
        saved[damage] = 99 if damage == "version" else [] if damage == "arms" else {"p": [1.0]}
        data = json.dumps(saved).encode()
    with pytest.raises(StateError, match="cannot be restored"):
        Learner.load(data)


def test_engine_names_what_decides_numbers():
    found = json.loads(engine())
    assert found["bothworlds"] == bw.__version__
    assert {"sources", "numpy", "machine", "features"} <= set(found)
