"""Evidence as a value: what it says, in which words, and what it says after the world has moved."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError, UnknownNameError
from bothworlds.inference import state as evidence_state
from bothworlds.inference.alarm import init_drift
from bothworlds.inference.statements import Evidence

LABELS = ("blue", "green", "red")


def kept_of(means, n=1500, seed=0, *, full=True):
    """Uniform play; ``means`` are rounds × arms, or one row for all."""
    rng = np.random.default_rng(seed)
    means = np.broadcast_to(means, (n, np.shape(means)[-1]))
    arms = rng.integers(0, means.shape[1], n)
    rewards = (rng.random(n) < means[np.arange(n), arms]).astype(float)
    kept = evidence_state.init_evidence(means.shape[1], full)
    evidence_state.take_in(kept, arms, rewards, np.full(n, 1.0 / means.shape[1]))
    return kept


def moving(n=1500):
    """Two arms that swap in the middle, and a third."""
    first, second = [0.8, 0.2, 0.3], [0.2, 0.8, 0.3]
    return np.array([first] * (n // 2) + [second] * (n - n // 2))


STILL, MOVED = kept_of([0.8, 0.4, 0.3]), kept_of(moving())
WITHOUT = kept_of(moving(), full=False)


def test_what_a_still_world_says():
    evidence = Evidence(STILL, LABELS)
    assert evidence.standing == ("blue",)
    assert evidence.ruled_out == ("green", "red")
    assert not evidence.drift
    assert evidence.claims == "stationary"
    assert evidence.why == ""
    assert 0.8 in evidence["blue"]
    assert evidence["blue"].world == "stationary"
    assert evidence.log_e["red"] > math.log(20.0) > evidence.log_e["blue"]
    found = evidence.compare("blue", "red")
    assert 0.5 in found.difference
    assert found.verdict == "blue is better than red in a stationary world"
    assert evidence.compare("red", "blue").verdict == found.verdict
    assert evidence.compare("red", "blue").p_value == found.p_value == math.exp(-found.log_e)
    assert evidence.compare("green", "red").verdict in (
        "undecided",
        "green is better than red in a stationary world",
    )
    assert evidence.better_than("red")[0] == "blue"
    assert evidence.more("red").if_propensities_hold == 0
    assert evidence.more("blue") is None
    assert evidence.value.world == "any"
    assert 0.5 in evidence.value
    assert (evidence.verdict("blue"), evidence.verdict("red")) == ("the best", "not the best")


def test_any_world_says_so():
    evidence = Evidence(STILL, LABELS, world="any")
    assert evidence.compare("blue", "red").verdict == (
        "blue is better than red on average over all rounds, whatever the world"
    )
    assert evidence.standing == ("blue",)
    assert {evidence["blue"].world, evidence.regret.world} == {"any"}
    per_round = evidence.regret_per_round
    assert per_round.high == pytest.approx(evidence.regret.high / evidence.rounds)
    assert evidence["red"].width > Evidence(STILL, LABELS)["red"].width


def test_after_an_alarm_verdicts_are_for_any_world():
    evidence = Evidence(MOVED, LABELS)
    assert evidence.drift
    assert evidence.claims == "any"
    assert "not stationary" in evidence.why
    assert evidence["blue"].world == "any"
    assert evidence.compare("blue", "red").verdict.endswith("whatever the world")
    assert "whatever the world" in str(evidence)
    assert "in a stationary world" not in str(evidence)


@pytest.mark.parametrize(("kept", "world"), [(WITHOUT, None), (MOVED, "stationary"), (WITHOUT, "stationary")])
def test_after_an_alarm_stationary_verdicts_are_withheld(kept, world):
    evidence = Evidence(kept, LABELS, world=world)
    assert evidence.claims is None
    assert evidence.standing == LABELS
    assert evidence.ruled_out == evidence.better_than("red") == ()
    assert set(evidence.log_e.values()) == {0.0}
    assert evidence.compare("blue", "red").verdict.startswith("undecided: the world is not stationary")
    assert evidence.compare("blue", "red").difference.width == 2.0
    assert evidence.more("red") is None
    assert (evidence.regret.low, evidence.regret.high) == (0.0, 1500.0)
    assert evidence.verdict("red") == "undecided"
    assert evidence["blue"].world == "played"
    assert "undecided: the world is not stationary" in str(evidence)


def test_bounds_that_cross_raise_the_alarm():
    """Sums that no world that stands still has."""
    kept = evidence_state.init_evidence(1, False)
    kept.sums.counts[0] = 1000.0
    ones = evidence_state.init_evidence(1, False)
    evidence_state.take_in(ones, np.zeros(1000, dtype=np.int64), np.ones(1000), np.ones(1000))
    evidence_state.take_in(kept, np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1))
    kept.sums.growth[:], kept.sums.octaves[:] = ones.sums.growth, ones.sums.octaves
    kept.sums.growth[32:], kept.sums.octaves[32:] = ones.sums.growth[:32], ones.sums.octaves[:32]
    evidence = Evidence(kept, ("a",), world="stationary")
    assert evidence.intervals("stationary")["a"].refuted
    assert evidence.drift
    assert evidence.claims is None


def test_together_they_are_less_sure_each():
    alone, joint = Evidence(STILL, LABELS), Evidence(STILL, LABELS, joint=True)
    for arm in LABELS:
        assert joint[arm].low < alone[arm].low
        assert alone[arm].high < joint[arm].high
        assert joint[arm].error == 0.05


def test_other_ranges_and_losses():
    unit, wide = Evidence(STILL, LABELS), Evidence(STILL, LABELS, low=-5.0, high=15.0)
    assert wide["red"].low == pytest.approx(-5.0 + 20.0 * unit["red"].low)
    assert wide.compare("blue", "red").difference.high == pytest.approx(
        20.0 * unit.compare("blue", "red").difference.high
    )
    assert wide.regret.high == pytest.approx(20.0 * unit.regret.high)
    lost = Evidence(STILL, LABELS, feedback_kind="loss")
    assert lost["blue"].high == pytest.approx(1.0 - unit["blue"].low)
    assert lost.compare("blue", "red").difference.low == pytest.approx(
        -unit.compare("blue", "red").difference.high
    )
    assert lost.compare("blue", "red").verdict == unit.compare("blue", "red").verdict
    assert "mean loss" in str(lost)


def test_two_bandits_are_one():
    halves = [Evidence(kept_of([0.8, 0.4, 0.3], 700, seed), LABELS) for seed in (1, 2)]
    both = halves[0] + halves[1]
    assert both.rounds == 1400
    assert both["blue"].width < min(half["blue"].width for half in halves)
    assert (Evidence(MOVED, LABELS) + halves[0]).drift
    with pytest.raises(InvalidArgumentError, match="labels"):
        _ = both + Evidence(STILL, (0, 1, 2))
    with pytest.raises(TypeError):
        _ = both + 1


def test_it_is_a_value():
    kept = kept_of([0.6, 0.4])
    evidence = Evidence(kept, ("a", "b"))
    before = str(evidence)
    evidence_state.take_in(kept, np.zeros(100, dtype=np.int64), np.zeros(100), np.full(100, 0.5))
    assert str(evidence) == before
    with pytest.raises(AttributeError):
        evidence.error = 0.1


def test_in_words():
    evidence = Evidence(STILL, LABELS, since=40)
    table = evidence.table()
    assert table.splitlines()[0].split() == (
        [
            "arm",
            "pulls",
            "mean",
            "reward",
            "interval",
            "(stationary)",
            "interval",
            "(any",
            "world)",
            "verdict",
        ]
    )
    for said in ("since pull 40", "blue is the best in a stationary world", "no drift seen", "regret: "):
        assert said in table
    assert "significant" not in table + Evidence(MOVED, LABELS).table()
    assert repr(evidence) == "<Evidence: 1,500 decisions, standing: blue>"
    assert "<td>not the best</td>" in evidence._repr_html_()
    plain = json.loads(json.dumps(evidence.to_dict(), allow_nan=False))
    assert [row["arm"] for row in plain["arms"]] == list(LABELS)
    assert plain["standing"] == ["blue"]
    assert plain["drift"]["raised"] is False
    assert json.loads(json.dumps(Evidence(WITHOUT, LABELS).to_dict()))["arms"][0]["any"] is None


def test_nothing_seen_says_nothing():
    evidence = Evidence(evidence_state.init_evidence(2, True), ("a", "b"))
    assert evidence.standing == ("a", "b")
    assert (evidence["a"].low, evidence["a"].high) == (0.0, 1.0)
    assert evidence.compare("a", "b").verdict == "undecided"
    assert evidence.more("a") is None
    assert evidence.rounds == 0
    assert "–" in str(evidence)
    json.dumps(evidence.to_dict(), allow_nan=False)
    assert Evidence(evidence_state.init_evidence(1, True), ("a",)).standing == ("a",)


def test_refusals():
    for wrong, error in (
        ({"error": 0.0}, OutOfRangeError),
        ({"world": "adversarial"}, InvalidArgumentError),
        ({"low": 1.0}, OutOfRangeError),
        ({"feedback_kind": "cost"}, InvalidArgumentError),
    ):
        with pytest.raises(error, match=next(iter(wrong))):
            Evidence(STILL, LABELS, **wrong)
    with pytest.raises(InvalidArgumentError, match="positive probability"):
        Evidence(WITHOUT, LABELS, world="any")
    with pytest.raises(InvalidArgumentError, match="positive probability"):
        Evidence(WITHOUT, LABELS).intervals("any")
    with pytest.raises(InvalidArgumentError, match="3 labels"):
        Evidence(STILL, ("a", "b"))
    evidence = Evidence(STILL, LABELS)
    with pytest.raises(UnknownNameError, match="did you mean 'green'"):
        _ = evidence["gren"]
    with pytest.raises(InvalidArgumentError, match="another arm"):
        evidence.compare("red", "red")
    with pytest.raises(UnknownNameError):
        evidence.more(["red"])


@pytest.mark.compiled
def test_a_common_trend_fools_the_stationary_comparison_and_not_the_other():
    """Simpson's paradox: arms that are equal in every round, and one of them is played more, later."""
    horizon, fooled, alarmed, any_world = 6000, 0, 0, 0
    runs = 40
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        mean = np.linspace(0.3, 0.7, horizon)
        late = np.linspace(0.9, 0.1, horizon)  # the share of the first arm
        arms = (rng.random(horizon) > late).astype(np.int64)
        rewards = (rng.random(horizon) < mean).astype(float)
        kept = evidence_state.init_evidence(2, True)
        evidence_state.take_in(kept, arms, rewards, np.where(arms == 0, late, 1.0 - late))
        fooled += (
            Evidence(kept._replace(drift=init_drift(2)), ("a", "b")).compare("a", "b").verdict != "undecided"
        )
        evidence = Evidence(kept, ("a", "b"))
        alarmed += bool(evidence.drift)
        any_world += Evidence(kept, ("a", "b"), world="any").compare("a", "b").verdict != "undecided"
    assert fooled == runs
    assert alarmed == runs
    assert any_world <= 4


def test_results_of_a_simulation():
    run = bw.simulate(bw.UCB1(), bw.environments.Bernoulli(means=[0.2, 0.7]), horizon=400, trace=True, seed=2)
    trace = run.traces[0][0]
    log = {"action": trace.arms, "reward": 1.0 - trace.losses}
    evidence = bw.inference.evidence(log)
    assert evidence.standing == (0,)
    with pytest.raises(InvalidArgumentError, match="positive probability"):
        bw.inference.evidence(log, world="any")
