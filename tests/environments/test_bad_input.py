"""Arguments that are refused: each message names the argument, its value and what is allowed."""

from __future__ import annotations

import math

import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.errors import InvalidArgumentError

BASE = en.Bernoulli(n_arms=3, gap=0.5)

DESIGNS = [
    ({"n_arms": 0, "gap": 0.5}, r"n_arms must be at least 1, got 0"),
    ({"n_arms": 2.5, "gap": 0.5}, r"n_arms must be an integer, got 2.5"),
    ({"n_arms": 3, "gap": 0.0}, r"gap must be a finite number above 0 and at most 1, got 0.0"),
    ({"n_arms": 3, "gap": 1.01}, r"gap must be a finite number above 0 and at most 1, got 1.01"),
    ({"n_arms": 3, "gap": math.nan}, r"gap must be a finite number .*, got nan"),
    ({"n_arms": 3, "gap": "big"}, r"gap must be a finite number .*, got 'big'"),
]
OPTIMAL = [
    ({"n_arms": 3, "gap": 0.5, "optimal": 0}, r"optimal must be at least 1, got 0"),
    ({"n_arms": 3, "gap": 0.5, "optimal": 4}, r"optimal must be at most the number of arms, 3, got 4"),
]
REFUSED = [
    *(
        (kind, *case)
        for kind in (en.Bernoulli, en.StochasticallyConstrained, en.Switching)
        for case in DESIGNS
    ),
    *((kind, *case) for kind in (en.Bernoulli, en.StochasticallyConstrained) for case in OPTIMAL),
    (en.Bernoulli, {}, r"means must be given, or n_arms and gap, and not both, got Bernoulli\(\)"),
    (en.Bernoulli, {"means": [0.5], "gap": 0.1}, r"means must be given, .* got Bernoulli\(means="),
    (en.Bernoulli, {"means": []}, r"means must be at least one number, one per arm, got an empty sequence"),
    (en.Bernoulli, {"means": [0.5, 1.5]}, r"means\[1\] must be finite and .* at most 1, got 1.5"),
    (en.Bernoulli, {"means": [0.5], "n_arms": 2}, r"n_arms must be the number of means, 1, got 2"),
    (
        en.Bernoulli,
        {"n_arms": 2, "gap": 0.5, "level": 0.1},
        r"level must be such that .*, got level=0.1, gap=0.5",
    ),
    (en.Bernoulli, {"n_arms": 2, "gap": 0.5, "level": 2}, r"level must be a finite number .*, got 2.0"),
    (en.Minimax, {"n_arms": 0}, r"n_arms must be at least 1, got 0"),
    (en.Beta, {"means": [0.5, -0.1]}, r"means\[1\] must be finite and at least 0 .*, got -0.1"),
    (
        en.Beta,
        {"means": [0.5, 0.05]},
        r"concentration must be .* at least 20, got 10.0; both shape parameters",
    ),
    (
        en.Beta,
        {"means": [0.5, 0.0]},
        r"means must be inside \(0, 1\), got \(0.5, 0.0\); for 0 and 1 use Bernoulli",
    ),
    (en.TruncatedNormal, {"locations": [2.0]}, r"locations\[0\] must be .* at most 1, got 2.0"),
    (
        en.TruncatedNormal,
        {"locations": [0.5], "scale": 0},
        r"scale must be .* above 0 and at most 1, got 0.0",
    ),
    (en.TruncatedNormal, {"locations": [0.5], "scale": 2}, r"scale must be .* at most 1, got 2.0"),
    (en.Discrete, {"values": [2], "probabilities": [[1]]}, r"values\[0\] must be .* at most 1, got 2.0"),
    (en.Discrete, {"values": [0, 1], "probabilities": []}, r"probabilities must be at least one row"),
    (en.Discrete, {"values": [0, 1], "probabilities": 5}, r"probabilities must be a sequence .*, got 5"),
    (
        en.Discrete,
        {"values": [0, 1], "probabilities": [[1]]},
        r"probabilities\[0\] must be .* of length 2, got",
    ),
    (
        en.Discrete,
        {"values": [0, 1], "probabilities": [[0.5, 0.5], [0.5, 0.4]]},
        r"\[1\] must be numbers that sum to 1, got a sum of 0.9",
    ),
    (
        en.Discrete,
        {"values": [0, 1], "probabilities": [[1.5, -0.5]]},
        r"probabilities\[0\]\[1\] must be .*-0.5",
    ),
    (
        en.StochasticallyConstrained,
        {"n_arms": 3, "gap": 0.5, "growth": 1},
        r"growth must be .* above 1, got 1.0",
    ),
    (en.Switching, {"n_arms": 3, "gap": 0.5, "period": 0}, r"period must be at least 1, got 0"),
    (en.Drifting, {"n_arms": 0, "period": 5}, r"n_arms must be at least 1, got 0"),
    (en.Drifting, {"n_arms": 2, "period": 0}, r"period must be a finite number above 0, got 0.0"),
    (en.Drifting, {"n_arms": 2, "period": 5, "level": 2}, r"level must be .* at most 1, got 2.0"),
    (
        en.Drifting,
        {"n_arms": 2, "period": 5, "level": 0.2},
        r"amplitude .* at most 0.2, got 0.4; means must stay",
    ),
    *(
        (kind, {"n_arms": 1}, r"n_arms must be at least 2, got 1")
        for kind in (en.ThresholdAdversary, en.FavoriteAttack, en.DeterministicKiller, en.Gem)
    ),
    (en.Gem, {"n_arms": 2, "threshold": 0}, r"threshold must be .* above 0 and at most 1, got 0.0"),
    (
        en.Drifting,
        {"n_arms": 2, "period": 5, "benchmark": "best"},
        r"benchmark must be one of 'fixed', 'dynamic', got 'best'",
    ),
    (en.ChangePoints, {"means": [], "changes": []}, r"means must be at least one row of means, got \[\]"),
    (en.ChangePoints, {"means": 0.5, "changes": []}, r"means must be at least one row of means, got 0.5"),
    (en.ChangePoints, {"means": [[0.5], [2]], "changes": [5]}, r"means\[1\]\[0\] must be .* 1, got 2.0"),
    (
        en.ChangePoints,
        {"means": [[0.5, 0.1], [0.5]], "changes": [5]},
        r"means\[1\] must be of the same length in all rows, 2, got",
    ),
    (
        en.ChangePoints,
        {"means": [[0.5], [0.1]], "changes": []},
        r"changes must be one fewer than the rows of means: 1, got",
    ),
    (en.ChangePoints, {"means": [[0.5], [0.1]], "changes": [0]}, r"changes\[0\] must be at least 1, got 0"),
    (
        en.ChangePoints,
        {"means": [[0.5], [0.1], [0.2]], "changes": [5, 5]},
        r"changes must be in increasing order, got",
    ),
    (en.RandomWalk, {"start": [], "step": 0.1}, r"start must be at least one number, one per arm"),
    (en.RandomWalk, {"start": [0.5], "step": -0.1}, r"step must be .* at least 0 .*, got -0.1"),
    (en.RandomWalk, {"start": [0.5], "step": 0.6}, r"step must be .*, got 0.6; a step must not be longer"),
    (en.RandomWalk, {"start": [0.5], "step": 0.1, "low": 0.6}, r"start must be within .* \[0.6, 1\], got"),
    (en.RandomWalk, {"start": [0.5], "step": 0.1, "high": 0}, r"high must be .* above 0 .*, got 0.0"),
    (en.Seasonal, {"means": [0.5], "period": 0, "amplitude": 0.1}, r"period must be .* above 0, got 0.0"),
    (
        en.Seasonal,
        {"means": [0.1, 0.5], "period": 9, "amplitude": 0.2},
        r"amplitude must be .* at most 0.1, got 0.2; .*scale='logit'",
    ),
    (
        en.Seasonal,
        {"means": [0.1, 0.5], "period": 9, "amplitude": 0.2, "scale": "log"},
        r"scale must be one of 'linear', 'logit', got 'log'",
    ),
    (
        en.Faked,
        {"base": 3, "arm": 0, "first": 1, "last": 2},
        r"base must be an environment such as .*, got 3",
    ),
    (
        en.Faked,
        {"base": en.Delayed(BASE, 1), "arm": 0, "first": 1, "last": 2},
        r"not Delayed, got Delayed\(.*write Delayed\(Faked",
    ),
    (
        en.Faked,
        {"base": BASE, "arm": 3, "first": 1, "last": 2},
        r"arm must be below the number of arms, 3, got",
    ),
    (en.Faked, {"base": BASE, "arm": -1, "first": 1, "last": 2}, r"arm must be at least 0, got -1"),
    (en.Faked, {"base": BASE, "arm": 0, "first": 5, "last": 4}, r"last must be at least 5, got 4"),
    (en.Faked, {"base": BASE, "arm": 0, "first": 1, "last": 2, "mean": 2}, r"mean must be .* 1, got 2.0"),
    (en.Alternating, {"n_arms": 1, "period": 5}, r"n_arms must be at least 2, got 1"),
    (en.Alternating, {"n_arms": 2, "period": 0}, r"period must be at least 1, got 0"),
    (en.Alternating, {"n_arms": 2, "period": 5, "offset": -1}, r"offset must be at least 0, got -1"),
    (en.Alternating, {"n_arms": 2, "period": 5, "other": 1.5}, r"other must be .* at most 1, got 1.5"),
    (en.SwitchingCost, {"base": BASE, "cost": -0.5}, r"cost must be a finite number at least 0, got -0.5"),
    (
        en.SwitchingCost,
        {"base": 3, "cost": 1},
        r"base must be an environment such as .*, got 3",
    ),
    (
        en.SwitchingCost,
        {"base": en.SwitchingCost(BASE, cost=1), "cost": 1},
        r"base must be an environment that is not a SwitchingCost itself, got SwitchingCost\(",
    ),
    (
        en.SwitchingCost,
        {"base": en.Delayed(BASE, 1), "cost": 1},
        r"not Delayed, got Delayed\(.*write Delayed\(SwitchingCost",
    ),
    (en.Delayed, {"base": BASE, "mean": 1, "lost": 1}, r"lost must be .* below 1, got 1.0"),
    (
        en.Corrupted,
        {"base": 3, "budget": 1},
        r"base must be an environment such as .*, got 3",
    ),
    (en.Corrupted, {"base": en.Minimax(n_arms=2), "budget": 1}, r"fixed gaps, got Minimax\(n_arms=2\)"),
    (en.Corrupted, {"base": BASE, "budget": -1}, r"budget must be a finite number at least 0, got -1.0"),
    (en.Corrupted, {"base": BASE, "budget": math.inf}, r"budget must be a finite number at least 0, got inf"),
    (
        en.Corrupted,
        {"base": BASE, "budget": 1, "strategy": "back"},
        r"strategy must be one of 'front', .*'back'",
    ),
    (
        en.Corrupted,
        {"base": BASE, "budget": 1, "strategy": "inside"},
        r"at least two optimal arms .*, got Bern",
    ),
    (
        en.Delayed,
        {"base": None, "mean": 1},
        r"base must be an environment such as .*, got None",
    ),
    (en.Delayed, {"base": en.Delayed(BASE, 1), "mean": 1}, r"not Delayed itself, got Delayed\(Bernoulli"),
    (en.Delayed, {"base": BASE, "mean": -1}, r"mean must be .* at least 0 and at most 100000, got -1.0"),
    (en.Delayed, {"base": BASE, "mean": 5, "longest": 4}, r"mean must be .* at most 4, got 5.0"),
    (en.Delayed, {"base": BASE, "mean": 1.5}, r"mean must be a whole number for law='fixed', got 1.5"),
    (en.Delayed, {"base": BASE, "mean": 1, "law": "late"}, r"law must be one of 'fixed', .*, got 'late'"),
    (en.Delayed, {"base": BASE, "mean": 1, "longest": -1}, r"longest must be at least 0, got -1"),
]


@pytest.mark.parametrize(
    ("kind", "arguments", "message"), REFUSED, ids=[f"{kind.__name__}-{list(a)}" for kind, a, _ in REFUSED]
)
def test_refused_with_name_value_and_range(kind, arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        kind(**arguments)


@pytest.mark.parametrize("kind", [en.Environment, en.PythonEnvironment])
def test_abstract_environments_cannot_be_made(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()


def test_a_single_arm_is_no_contest():
    run = bw.simulate(bw.TsallisINF(), en.Bernoulli(means=[0.5]), horizon=20, seed=1)
    assert not run.regret.any()
    assert 0 < run.losses[0, 0, -1] < 20
