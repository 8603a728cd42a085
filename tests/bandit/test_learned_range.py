"""``high=None``: the range is learned, and nothing else about a bandit changes."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.errors import InvalidArgumentError, OutOfRangeError, RepeatedPullError, StateError

CONVERSIONS = np.array([0.3, 0.2, 0.1])


def play(bandit, rounds, *, unit=1.0, seed=3, word="reward"):
    """Baskets for a bandit with three arms; what was reported, arm by arm."""
    random = np.random.default_rng(seed)
    reported = [[], [], []]
    for _ in range(rounds):
        pull = bandit.pull()
        basket = float(unit * np.exp(random.normal(3.0, 0.8)) * (random.random() < CONVERSIONS[pull.arm]))
        bandit.update(pull, **{word: basket})
        reported[pull.arm].append(basket)
    return reported


def width_by_definition(sizes_of_arms):
    """The width after sizes in an order (arm, size), from the formula, with weights written out."""
    width, logs = 0.0, {}
    for arm, size in sizes_of_arms:
        seen = logs.setdefault(arm, [])
        seen.append(math.log(min(size, 8 * width) if width else size))
        wanted = 0.0
        for values in logs.values():
            weights = []
            for n in range(1, len(values) + 1):
                weights = [weight * (1 - 1 / min(n, 64)) for weight in weights] + [1 / min(n, 64)]
            wanted = max(wanted, 1.5 * math.exp(np.average(values, weights=weights)))
        if wanted > 1.5 * width or wanted < width / 2:
            width = wanted
    return width


def test_the_width_is_what_its_formula_says():
    random = np.random.default_rng(1)
    learned = LearnedRange(0.0, False, 3)
    sizes = []
    for i in range(300):
        arm = int(random.integers(3))
        size = float(np.exp(random.normal(arm, 1.0)) * (40.0 if i > 200 else 1.0))
        learned.learn(arm, size)
        learned.learn(arm, 0.0)  # says nothing of the scale
        sizes.append((arm, size))
        if i % 20 == 0:
            assert learned.width == pytest.approx(width_by_definition(sizes), rel=1e-9)


def test_losses_by_the_width_in_force():
    learned = LearnedRange(10.0, False, 2)
    learned.take("reward", 10.0)
    assert learned.high is None
    assert [learned.loss_of(x) for x in (10.0, 12.0)] == [1.0, 0.0]  # nothing is known but the low end
    learned.learn(0, 10.0 + 20.0 / 3.0)
    assert (learned.low, learned.high) == (10.0, pytest.approx(20.0))
    assert [learned.loss_of(x) for x in (10.0, 12.0, 20.0, 1000.0)] == pytest.approx([1.0, 0.8, 0.0, 0.0])
    losses = LearnedRange(0.0, False, 2)
    losses.take("loss", 0.0)
    losses.learn(1, 20.0 / 3.0)
    assert [losses.loss_of(x) for x in (0.0, 4.0, 99.0)] == pytest.approx([0.0, 0.4, 1.0])


def test_numbers_of_either_sign():
    signed = LearnedRange(None, False, 2)
    signed.take("reward", -1.0)
    assert [signed.loss_of(x) for x in (0.0, -3.0, 3.0)] == [0.5, 1.0, 0.0]
    signed.learn(0, -20.0 / 3.0)
    expected = pytest.approx([1.0, 1.0, 0.75, 0.5, 0.25, 0.0])
    assert [signed.loss_of(x) for x in (-99.0, -10.0, -5.0, 0.0, 5.0, 10.0)] == expected
    bandit = bw.Bandit(2, low=None, high=None, seed=1)
    for _ in range(300):
        pull = bandit.pull()
        bandit.update(pull, reward=-5.0 if pull.arm else 3.0)
    assert bandit.range[0] is None
    assert bandit.probabilities[0] > 0.95


def test_the_unit_of_money_plays_no_part():
    """A power of two, so that not even rounding differs much: the same arms are drawn."""
    one, other = (bw.Bandit(3, high=None, seed=5) for _ in range(2))
    euros, small = play(one, 400), play(other, 400, unit=2.0**-20)
    assert [[x * 2.0**-20 for x in arm] for arm in euros] == small
    assert one.range[1] == pytest.approx(2.0**20 * other.range[1])
    assert max(one.probabilities, key=one.probabilities.get) == 0


def test_one_wrong_number_moves_little():
    bandit = bw.Bandit(3, high=None, seed=5)
    play(bandit, 300)
    before = bandit.range[1]
    bandit.update(bandit.pull(), reward=1e12)
    assert bandit.range[1] < 1.6 * before


def test_prices_rise_and_fall():
    bandit = bw.Bandit(3, high=None, seed=5)
    play(bandit, 600)
    before = bandit.range[1]
    play(bandit, 1500, unit=50.0)
    assert 25.0 < bandit.range[1] / before < 100.0
    bandit.restart()
    play(bandit, 100, unit=0.02)
    assert bandit.range[1] < 0.1 * before


def test_means_are_printed_in_the_users_units_whole():
    bandit = bw.Bandit(3, high=None, seed=5)
    assert bandit.range == (0.0, None)
    reported = play(bandit, 500)
    rows = {row.split()[0]: row.split()[3] for row in str(bandit).splitlines()[2:]}
    assert rows == {str(arm): f"{np.mean(values):.4g}" for arm, values in enumerate(reported)}
    assert max(map(max, reported)) > bandit.range[1]  # though some was cut off in learning


@pytest.mark.parametrize(
    "options", [{}, {"wait": 20, "missing": 0.0, "learn_at": "deadline"}, {"floor": 0.05}]
)
def test_saved_copied_and_pickled_it_goes_on_as_it_would(options):
    bandit = bw.Bandit(3, high=None, seed=5, **options)
    play(bandit, 200)
    open_pulls = [bandit.pull() for _ in range(3)]
    bandit.update(open_pulls[1], reward=33.0)
    twins = [
        bw.Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))),
        pickle.loads(pickle.dumps(bandit)),
        copy.deepcopy(bandit),
    ]
    expected = play(bandit, 200, unit=3.0)
    for twin in twins:
        assert play(twin, 200, unit=3.0) == expected
        assert twin.range == bandit.range
        assert twin.probabilities == bandit.probabilities


def test_at_the_deadline_numbers_are_learned_by_the_range_of_then():
    bandit = bw.Bandit(1, bw.TsallisINF(), high=None, seed=1, wait=2, learn_at="deadline")
    first = bandit.pull()
    bandit.update(first, reward=40.0)
    assert bandit.range == (0.0, None)
    with pytest.raises(RepeatedPullError):
        bandit.update(first, reward=50.0)
    for _ in range(3):
        bandit.pull()
    assert bandit.range == (0.0, pytest.approx(60.0))


def test_what_is_missing_is_in_the_users_units():
    bandit = bw.Bandit(2, high=None, seed=1, wait=1, missing={"loss": 30.0})
    for _ in range(5):
        bandit.pull()
    assert bandit.range == (0.0, pytest.approx(45.0))
    with pytest.raises(InvalidArgumentError, match="must be a loss, as those before"):
        bandit.update(bandit.pull(), reward=1.0)


def test_batches_and_segments():
    loop, batch = (bw.Bandit(3, high=None, seed=5) for _ in range(2))
    random = np.random.default_rng(1)
    for _ in range(5):
        rewards = np.exp(random.normal(3.0, 1.0, 40)) * (random.random(40) < 0.3)
        for pull, reward in zip(loop.pull(40), rewards, strict=True):
            loop.update(pull, reward=float(reward))
        batch.update(batch.pull(40), rewards=rewards)
    assert batch.range == loop.range
    assert batch.probabilities == loop.probabilities
    bandits = bw.Bandits(3, high=None, seed=1)
    play(bandits["jp"], 50, unit=100.0)
    play(bandits["nl"], 50)
    bandits["jp"]._pack()
    assert bandits["jp"].range[1] > 20.0 * bandits["nl"].range[1]
    assert bandits["us"].range == (0.0, None)


def test_arms_that_come_and_go():
    bandit = bw.Bandit(["month", "year"], high=None, seed=1)
    for _ in range(60):
        pull = bandit.pull()
        bandit.update(pull, reward=10.0 if pull.arm == "month" else 100.0)
    assert bandit.range[1] == pytest.approx(150.0)
    late = bandit.pull(among=["year"])
    bandit.retire("year")
    bandit.update(late, reward=100.0)
    bandit.add("week")
    for _ in range(60):
        pull = bandit.pull()
        bandit.update(pull, reward=10.0 if pull.arm == "month" else 2.5)
    assert bandit.range[1] == pytest.approx(15.0)
    assert bw.Bandit.from_dict(bandit.to_dict()).range == bandit.range


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"reward": math.nan}, "reward must be a finite number"),
        ({"reward": math.inf}, "reward must be a finite number"),
        ({"reward": 1e200}, r"got 1e\+200; use a larger unit"),
        ({"reward": "much"}, "reward must be a finite number"),
        (
            {"reward": -1.0},
            r"at least 0, got -1.0; give the smallest as Bandit\(..., low=...\), or clip=True",
        ),
        (
            {"loss": 3.0},
            "loss must be a reward, as those before, got 3.0; where high is None, report rewards or",
        ),
        ({"rewards": [1.0, math.nan]}, r"rewards\[?1\]?.*finite|rewards must be finite"),
        ({"rewards": [1.0, -4.0]}, r"rewards\[1\] must be a finite number at least 0, got -4.0"),
        ({"losses": [1.0, 4.0]}, r"losses\[0\] must be a reward, as those before"),
    ],
)
def test_bad_numbers_are_refused_and_change_nothing(value, message):
    bandit = bw.Bandit(3, high=None, seed=5)
    play(bandit, 20)
    pulls = bandit.pull(2)
    before = bandit.to_dict()
    with pytest.raises(InvalidArgumentError, match=message):
        bandit.update(pulls if set(value) & {"rewards", "losses"} else pulls[0], **value)
    assert bandit.to_dict() == before


def test_a_refused_batch_leaves_the_word_open():
    bandit = bw.Bandit(3, high=None, seed=5)
    pull = bandit.pull()
    with pytest.raises(RepeatedPullError):
        bandit.update([pull, pull], losses=[1.0, 2.0])
    bandit.update(pull, reward=1.0)


def test_rounding_clip_and_booleans():
    bandit = bw.Bandit(2, high=None, seed=1)
    bandit.update(bandit.pull(), reward=True)
    assert bandit.range == (0.0, 1.5)
    bandit.update(bandit.pull(), reward=-1e-9)  # of the width: rounding
    with pytest.raises(OutOfRangeError, match=r"got -0\.1"):
        bandit.update(bandit.pull(), reward=-0.1)
    clipping = bw.Bandit(2, high=None, clip=True, seed=1)
    clipping.update(clipping.pull(), reward=-5.0)
    assert sum(clipping.to_dict()["loss_sums"]) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": None}, "low must be a number where high is one, got None; or write high=None too"),
        ({"low": math.nan, "high": None}, "low must be a finite number"),
        ({"low": "no", "high": None}, "low must be a finite number"),
        ({"high": None, "clip": "yes"}, "clip must be one of False, True"),
        ({"high": None, "wait": 3, "missing": -1.0}, "missing must be a finite number at least 0, got -1.0"),
    ],
)
def test_bad_ranges_are_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.Bandit(2, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("range"), "lacks 'range'"),
        (lambda data: data.update(range=None), "cannot be restored"),
        (lambda data: data["range"].update(width=-1.0), "width must be a finite number at least 0"),
        (lambda data: data["range"].update(word="gain"), "word must be one of"),
        (lambda data: data["range"]["means"].pop(), "means"),
        (lambda data: data["range"]["means"].__setitem__(0, 1e5), "means"),
        (lambda data: data["range"]["counts"].__setitem__(0, -1), "counts"),
    ],
)
def test_a_damaged_range_is_refused(change, message):
    bandit = bw.Bandit(3, high=None, seed=5)
    play(bandit, 20)
    data = json.loads(json.dumps(bandit.to_dict()))
    change(data)
    with pytest.raises(StateError, match=message):
        bw.Bandit.from_dict(data)


@pytest.mark.slow
def test_a_guess_is_not_needed():
    """Regret to the arm that earns most: far below that of a range which is far too wide."""
    regret = {}
    for high in (None, 1e5):
        reported = play(bw.Bandit(3, high=high, seed=5), 4000)
        regret[high] = sum(len(values) * gap for values, gap in zip(reported, [0.0, 0.1, 0.2], strict=True))
    assert regret[None] < 0.3 * regret[1e5]
