"""The contract is a contract: each promise, broken on purpose, is noticed and named."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import bothworlds as bw
from bothworlds.environments.base import (
    Totals,
    add_to_totals,
    benchmark,
    cost_of,
    keep_totals,
    loss_of,
    open_world,
    prepare,
    total_of,
    totals_world,
)
from bothworlds.environments.moving import draws_from_its_means
from bothworlds.environments.stationary import costs_its_gap
from bothworlds.policies.base import (
    act,
    before_draw,
    distribution,
    draw,
    draws_from_its_p,
    init,
    learn,
    memo_of,
    pull_once,
    read_distribution,
    restrict,
    step,
    update_once,
    weighs,
    weight_of,
)
from bothworlds.policies.ftrl.predictions import SteadyParameters
from bothworlds.simplex.solve import _solve
from bothworlds.simulation.engine import play_block
from bothworlds.statefile import pack
from bothworlds.testing import PolicyCase, check_environment, check_policy
from bothworlds.testing.environments import (
    EnvironmentCase,
    environment_is_a_value,
    environment_prepares_losses_in_range,
)
from bothworlds.testing.policies import (
    policy_draws_replications_independently,
    policy_keeps_its_memory,
    policy_prefers_small_losses,
)
from playing import interpret

pytestmark = pytest.mark.compiled


@pytest.fixture(name="as_python")
def _as_python(monkeypatch):
    """What is broken is broken as Python, too."""
    replay = importlib.import_module("bothworlds.simulation.replay")._replay
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    interpret(monkeypatch, pull_once, read_distribution, update_once, replay, play_block, _solve)


class State(NamedTuple):
    sums: np.ndarray
    p: np.ndarray


def make(name, **kernels):
    """A policy with exponential weights, some of whose kernels are others."""

    class Parameters(NamedTuple):
        n_arms: int

    @dataclass(frozen=True, repr=False)
    class Policy(bw.Policy, name=f"broken-{name}"):
        def parameters(self, n_arms, horizon):
            return Parameters(n_arms)

    for kind, known in ((Policy, f"Policy_{name}"), (Parameters, f"Parameters_{name}")):
        kind.__name__ = kind.__qualname__ = known
        globals()[known] = kind  # so that it can be pickled
    for kernel, good in GOOD.items():
        chosen = kernels.get(kernel.__name__, good)
        if chosen is not None:
            kernel.register(Parameters)(chosen)
    return Policy()


def _init(params: Any) -> State:
    return State(np.zeros(params.n_arms), np.full(params.n_arms, 1.0 / params.n_arms))


def _act(params, state, uniforms):
    return draw(state.p, uniforms[0])


def _weight(params, state, arm):
    return state.p[arm]


def _learn(params, state, arm, loss, weight, memo):
    state.sums[arm] += loss / max(weight, 1e-300)


def _step(params, state):
    total = 0.0
    for i in range(params.n_arms):
        state.p[i] = math.exp(-0.05 * state.sums[i])
        total += state.p[i]
    for i in range(params.n_arms):
        state.p[i] /= total
    return 0


def _distribution(params, state, out):
    out[:] = state.p


def _memo(params, state, arm, uniforms):
    return 0.0


GOOD = {
    init: _init,
    act: _act,
    weight_of: _weight,
    learn: _learn,
    step: _step,
    distribution: _distribution,
    memo_of: _memo,
    before_draw: None,
    weighs: None,
    restrict: None,
}


def test_a_good_policy_passes():
    check_policy(make("not"))


def _weight_of_one(params, state, arm):
    return 1.0


def _always_first(params, state, uniforms):
    return 0


def _step_without_sum(params, state):
    for i in range(params.n_arms):
        state.p[i] = math.exp(-0.05 * state.sums[i])
    return 0


def _moving_act(params, state, uniforms):
    state.sums[0] += 0.001
    return draw(state.p, uniforms[0])


def _lean(params, state, outstanding, awake):
    if outstanding > 5:
        state.p[:] = 0.0
        state.p[0] = 1.0


def _float_act(params, state, uniforms):
    return float(draw(state.p, uniforms[0]))


def _learn_blindly(params, state, arm, loss, weight, memo):
    state.sums[arm] += loss


def _learn_by_own_p(params, state, arm, loss, weight, memo):
    state.sums[arm] += loss / state.p[arm]


def _weighs_not(params):
    return False


def _learn_rewards(params, state, arm, loss, weight, memo):
    state.sums[arm] -= loss / max(weight, 1e-300)


ONCE = np.full(4, 0.25)  # which a second state must not have


def _init_shared(params):
    return State(np.zeros(params.n_arms), ONCE)


def _init_twice_the_same(params):
    p = np.full(params.n_arms, 1.0 / params.n_arms)
    return State(p, p)


def _init_whole_numbers(params):
    return State(np.zeros(params.n_arms, dtype=int), np.full(params.n_arms, 1.0 / params.n_arms))


def _init_table(params):
    return State(np.zeros((params.n_arms, 2)), np.full(params.n_arms, 1.0 / params.n_arms))


def _act_with_two(params, state, uniforms):
    return draw(state.p, uniforms[1])


def _step_out_of_bounds(params, state):
    state.sums[params.n_arms] = 0.0
    return 0


def _step_slowly(params, state):
    total = 0.0
    for i in range(params.n_arms):
        state.p[i] = math.exp(-0.0005 * state.sums[i])
        total += state.p[i]
    for i in range(params.n_arms):
        state.p[i] /= total
    return 0


def _step_below_zero(params, state):
    for i in range(params.n_arms):
        state.p[i] = 0.5
    state.p[0] = 1.0 - 0.5 * (params.n_arms - 1)
    return 0


def _restrict_nothing(params, state, awake, out):
    out[:] = state.p


def _unknown(params, state, out):
    out[:] = math.nan


def _random_act(params, state, uniforms):
    return draw(state.p, np.random.random())  # noqa: NPY002 - on purpose


@pytest.mark.parametrize(
    ("name", "kernels", "said"),
    [
        (
            "float",
            {"act": _float_act},
            r"act must return an arm, a whole number in 0\.\.3, got \d\.0 in round 1",
        ),
        ("unknown", {"distribution": _unknown}, r"distribution must be known, got NaN: .* as Thompson does"),
        ("still", {"step": None}, r"learn changes the state, .* never moved: register step"),
        ("random", {"act": _random_act}, r"the same seed must give the same run: .* bothworlds\.rng\.expand"),
        (
            "weight",
            {"weight_of": _weight_of_one},
            r"round 1 weight_of gives .*, which sums to 4\.0, not to 1",
        ),
        ("draw", {"act": _always_first}, r"of 4000 draws .* fell on the arms, expected .*: draw from"),
        (
            "sum",
            {"step": _step_without_sum},
            r"probabilities must sum to 1, off by .*divide them by their sum",
        ),
        ("below", {"step": _step_below_zero}, r"probabilities must not be negative, got -0\.5: let step end"),
        ("blind", {"learn": _learn_blindly}, r"weighs is True, but half the weight .*: divide by weight"),
        ("own", {"learn": _learn_by_own_p}, r"weighs is True, but half the weight .*: divide by weight"),
        (
            "unsaid",
            {"weighs": _weighs_not},
            r"weighs is False, but learn depends on the weight.*: leave out weighs_losses=False",
        ),
        (
            "rewards",
            {"learn": _learn_rewards},
            r"mean loss 0\.9 in 9\d% of rounds.*: learn gets a loss, not a reward",
        ),
        (
            "shared",
            {"init": _init_shared},
            r"init must make new arrays at each call, but state\.p is the same in two states: copy it",
        ),
        (
            "same",
            {"init": _init_twice_the_same},
            r"state\.sums and state\.p must not have memory in common: copy one of them",
        ),
        (
            "whole",
            {"init": _init_whole_numbers},
            r"state\.sums must be float64 with one .*, got int64 of shape \(4,\): write np\.zeros\(n\)",
        ),
        ("table", {"init": _init_table}, r"state\.sums must be float64 .*, got float64 of shape \(4, 2\)"),
        ("two", {"act": _act_with_two}, r"a kernel reads beyond an array, .*: set draws = 2$"),
        (
            "bounds",
            {"step": _step_out_of_bounds},
            r"a kernel reads beyond an array, index 4 .*; machine code would read on, for it",
        ),
        (
            "restrict",
            {"restrict": _restrict_nothing},
            r"restrict gives \[.*\], where the arms .* awake are \[0\. 1\. 1\. 1\.\].*: set out\[i\] = 0",
        ),
        (
            "noting",
            {"before_draw": _lean},
            r"pulls without feedback must not move it: let learn and step .*, or set notes_draws = True",
        ),
        ("replay", {"act": _moving_act}, r"replay differs from live play in \d+ of 201 rounds"),
    ],
)
@pytest.mark.usefixtures("as_python")
def test_a_broken_promise_is_named(name, kernels, said):
    with pytest.raises(AssertionError, match=rf"(?s)Policy_{name}\(\): .*{said}"):
        check_policy(make(name, **kernels))


@pytest.mark.usefixtures("as_python")
def test_a_policy_that_must_learn_does():
    case = PolicyCase(make("slow", step=_step_slowly), 4, 500)
    policy_prefers_small_losses(case)
    said = r"it lost 0\.\d+ a round in 500 rounds, uniform play 0\.7, the best arm 0\.1: .*horizon=3000"
    with pytest.raises(AssertionError, match=said):
        policy_prefers_small_losses(case._replace(learns=True))
    policy_prefers_small_losses(PolicyCase(bw.TsallisINF(), 4, 500, learns=True))


class Strange:
    """Equal to itself alone."""


@dataclass(frozen=True, repr=False)
class Listing(bw.Uniform):
    """A field that may be a list. It has its name in one test: others look at all that are registered."""

    registered_name: ClassVar[str] = "listing"
    ranks: Any = ()


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([1, 2], r"it must be hashable, but unhashable type: 'list' \(ranks\): use a tuple for a list"),
        ((1, 2), r"JSON must give back an equal policy, .*: turn lists into tuples in __post_init__"),
        (Strange(), r"a copy must be equal: .*let fields be numbers"),
    ],
)
def test_a_policy_whose_field_is_no_value_is_told_what_to_do(ranks, said, monkeypatch):
    monkeypatch.setitem(bw.Policy.registry, "listing", Listing)
    with pytest.raises(AssertionError, match=said):
        check_policy(Listing(ranks))


@pytest.mark.usefixtures("as_python")
def test_a_policy_with_estimated_losses_must_say_what_absent_arms_learn():
    policy = make("absent")
    type(policy).fixed_arms = None
    with pytest.raises(
        AssertionError, match=r"Policy_absent\(\): fixed_arms is None .*register learn_absent"
    ):
        check_policy(policy)


@pytest.mark.usefixtures("as_python")
def test_a_policy_is_asked_without_a_horizon_too(monkeypatch):
    policy = make("impatient")
    good = type(policy).parameters
    monkeypatch.setattr(
        type(policy),
        "parameters",
        lambda self, n_arms, horizon: good(self, round(n_arms * horizon / horizon), 1),
    )
    with pytest.raises(
        AssertionError, match=r"Policy_impatient\(\): horizon may be None, where .* TypeError: "
    ):
        check_policy(policy)


def _chain(params):
    return State(np.full(params.n_arms, 7.0), np.full(params.n_arms, 1.0 / params.n_arms))


def _learn_chain(params, state, arm, loss, weight, memo):
    state.sums[0] = (16807.0 * state.sums[0]) % 2147483647.0


def _act_by_chain(params, state, uniforms):
    return draw(state.p, state.sums[0] / 2147483647.0)


def _stay(params, state):
    return 0


@pytest.mark.usefixtures("as_python")
def test_arrays_that_are_not_freed_are_named(monkeypatch):
    alive = iter([5, 12])
    monkeypatch.setattr("bothworlds._jit.arrays_alive", lambda: next(alive))
    with pytest.raises(AssertionError, match=r"7 arrays were not freed in 300 rounds: make no array in a"):
        policy_keeps_its_memory(PolicyCase(make("leak"), 4, 500))


@pytest.mark.usefixtures("as_python")
def test_replications_that_share_their_randomness_are_noticed():
    """A generator of its own, which begins the same way in every replication and for every seed."""
    kernels = {"init": _chain, "learn": _learn_chain, "act": _act_by_chain, "step": _stay}
    with pytest.raises(
        AssertionError,
        match=r"draws of different .* correlated: 1\.\d+e\+03, expected 0 .*; act may use nothing random but",
    ):
        policy_draws_replications_independently(PolicyCase(make("chain", **kernels), 4, 500))
    policy_draws_replications_independently(PolicyCase(make("independent"), 4, 500))


def test_a_state_holds_arrays():
    with pytest.raises(
        bw.errors.InvalidArgumentError, match=r"state\.p must be an array.*got 0\.5; keep a number"
    ):
        pack(State(np.zeros(2), 0.5))


@pytest.mark.parametrize("name", ["EXP 3.S", "exp3_s", "exp3-", ""])
def test_names_are_lower_case_words_with_hyphens(name):
    with pytest.raises(
        bw.errors.InvalidArgumentError, match=r"name must be lower-case words .*; write name='"
    ):

        class Named(bw.Uniform, name=name):
            pass


def test_settings_without_dataclass_are_refused():
    class Forgotten(bw.Uniform):
        explore: float = 0.1

    @dataclass(frozen=True, repr=False)
    class Inner(Forgotten):
        pass

    class Tide(bw.environments.Environment):
        n_arms: int

        def parameters(self, horizon):
            return WorldParameters(self.n_arms)

    class Guess(bw.predictions.Predictions):
        part: float = 0.5

        def parameters(self):
            return SteadyParameters(self.part)

    for setting, use in (
        ("explore", lambda: bw.Bandit(2, Forgotten())),
        ("explore", lambda: bw.Bandit(2, Inner())),
        ("n_arms", lambda: Tide(n_arms=3)),
        ("part", Guess),
    ):
        said = rf"must be a dataclass, got a plain class with {setting}; put @dataclass\(frozen=True"
        with pytest.raises(bw.errors.InvalidArgumentError, match=said):
            use()


def test_the_author_of_a_policy_learns_how_its_arms_can_change():
    bandit = bw.Bandit(3, make("fixed"))
    with pytest.raises(
        bw.errors.InvalidArgumentError, match=r"or set fixed_arms = None in Policy_fixed, see docs"
    ):
        bandit.add("new")


def test_a_policy_without_a_name_cannot_be_saved():
    @dataclass(frozen=True, repr=False)
    class Nameless(bw.Uniform):
        pass

    globals()["Nameless"] = Nameless
    Nameless.__qualname__ = "Nameless"
    with pytest.raises(AssertionError, match=r"it must have a name to be saved: Nameless has no name"):
        check_policy(Nameless())


class WorldParameters(NamedTuple):
    n_arms: int


@dataclass(frozen=True, repr=False, kw_only=True)
class Boundless(bw.environments.Environment):
    """A benchmark that is not on the scale of the costs: regret beyond what is possible."""

    n_arms: int = 3
    regret_kind = "wrong"

    def parameters(self, horizon):
        return WorldParameters(self.n_arms)


@open_world.register(WorldParameters)
def _(env):
    return totals_world(env.n_arms)


@prepare.register(WorldParameters)
def _(env, world: Totals, t, p, uniforms):
    for i in range(env.n_arms):
        world.losses[i] = 0.25 * i


@loss_of.register(WorldParameters)
def _(env, world, t, arm, uniforms):
    return world.losses[arm]


@cost_of.register(WorldParameters)
def _(env, world, t, arm, uniforms):
    return world.losses[arm], world.losses[arm]


@benchmark.register(WorldParameters)
def _(env, world, t):
    return -2.0 * t, 0.0


@pytest.mark.usefixtures("as_python")
def test_regret_beyond_what_is_possible_is_noticed():
    with pytest.raises(
        AssertionError, match=r"regret is 2\.\d+ times the number of rounds, at most 1 is possible"
    ):
        check_environment(Boundless())


class EmptyParameters(NamedTuple):
    n_arms: int


@dataclass(frozen=True, repr=False)
class Empty(bw.environments.Environment):
    n_arms: int = 3

    def parameters(self, horizon):
        return EmptyParameters(self.n_arms)


def test_a_kernel_that_a_world_lacks_is_named(monkeypatch):
    def refused(said):
        with pytest.raises(bw.errors.KernelError, match=said):
            bw.simulate(bw.UCB1(), Empty(), horizon=10)

    refused(r"loss_of of EmptyParameters is missing: Empty cannot do without; write @loss_of\.register")
    monkeypatch.setitem(loss_of.implementations, EmptyParameters, None)
    refused(
        r"cost_of of EmptyParameters is missing: .*or keep_totals\(EmptyParameters, lambda env: env.n_arms\)"
    )
    for kernel in (cost_of, benchmark, open_world, add_to_totals, total_of):
        monkeypatch.delitem(kernel.implementations, EmptyParameters, raising=False)
    keep_totals(EmptyParameters, lambda env: env.n_arms)
    refused(r"prepare of EmptyParameters is missing: Empty cannot do without")


class RottingParameters(NamedTuple):
    n_arms: int


class RottingWorld(NamedTuple):
    losses: np.ndarray
    cumulative: np.ndarray
    pulls: np.ndarray


@dataclass(frozen=True, repr=False)
class Rotting(bw.environments.Environment):
    """Arms that wear out, whose totals are of the wear that others caused."""

    n_arms: int = 3
    regret_kind = "wrong"

    def parameters(self, horizon):
        return RottingParameters(self.n_arms)


keep_totals(RottingParameters, lambda env: env.n_arms)


@open_world.register(RottingParameters)
def _(env):
    return RottingWorld(np.zeros(env.n_arms), np.zeros(env.n_arms), np.zeros(env.n_arms))


@prepare.register(RottingParameters)
def _(env, world, t, p, uniforms):
    for i in range(env.n_arms):
        world.losses[i] = min(1.0, 0.2 + 0.1 * i + 0.01 * world.pulls[i])


@loss_of.register(RottingParameters)
def _(env, world, t, arm, uniforms):
    return world.losses[arm]


@cost_of.register(RottingParameters)
def _(env, world, t, arm, uniforms):
    world.pulls[arm] += 1.0
    return world.losses[arm], world.losses[arm]


@pytest.mark.usefixtures("as_python")
def test_a_world_that_reacts_to_what_was_played_is_told_where_to_read():
    said = (
        r"Rotting\(\): the best fixed arm has regret \d+.*, not 0: .*'A world of your own' in docs/regret\.md"
    )
    with pytest.raises(AssertionError, match=said):
        check_environment(Rotting())


class BareParameters(NamedTuple):
    """No kernel is registered for it."""


@dataclass(frozen=True)
class BareRates(bw.rates.Rates):
    def parameters(self, n_arms, horizon):
        return BareParameters()


@dataclass(frozen=True)
class BareEstimator(bw.estimators.Estimator):
    def parameters(self):
        return BareParameters()


@dataclass(frozen=True)
class BarePredictions(bw.predictions.Predictions):
    def parameters(self):
        return BareParameters()


@pytest.mark.parametrize(
    ("part", "kernel"),
    [
        ({"rates": BareRates()}, "begin_rates"),
        ({"rates": bw.rates.RootRate(1.0), "estimator": BareEstimator()}, "estimate"),
        ({"rates": bw.rates.RootRate(1.0), "predictions": BarePredictions()}, "part_of_error"),
    ],
)
def test_a_part_of_ftrl_without_its_kernel_is_named(part, kernel):
    with pytest.raises(bw.errors.KernelError, match=f"{kernel} of BareParameters is missing: Bare"):
        bw.Bandit(2, bw.FTRL(bw.Shannon(), **part))


def _lose(params, state):
    state.p[0] = math.nan
    return 0


@pytest.mark.usefixtures("as_python")
def test_a_policy_that_loses_its_distribution_is_refused(tmp_path):
    policy = make("lost", step=_lose)
    said = r"Policy_lost\(\) has lost its distribution, which is \[ *nan .*check_policy .*say which promise"
    with pytest.raises(bw.errors.SolverError, match=said):
        bw.simulate(policy, bw.environments.Bernoulli(n_arms=3, gap=0.2), horizon=10, jobs=1)
    bandit = bw.Bandit(3, policy, seed=1)
    bandit.update(bandit.pull(), loss=1.0)
    with pytest.raises(bw.errors.StateError, match=r"state\.p\[0\] is nan, so this bandit cannot be saved; "):
        bandit.save(tmp_path / "bandit.json")
    assert not list(tmp_path.iterdir())


class SteepParameters(NamedTuple):
    n_arms: int
    mean: float


@dataclass(frozen=True, repr=False, kw_only=True)
class Steep(bw.environments.Environment):
    """Bernoulli losses with a mean that may be too large."""

    n_arms: int = 2
    mean: float = 1.2

    def parameters(self, horizon):
        return SteepParameters(self.n_arms, self.mean)


@prepare.register(SteepParameters)
def _(env, world, t, p, uniforms):
    for i in range(env.n_arms):
        world.losses[i] = 0.5
    world.losses[0] = env.mean


draws_from_its_means(SteepParameters)


@pytest.mark.usefixtures("as_python")
def test_means_that_are_no_probabilities_are_noticed():
    case = EnvironmentCase(Steep(), 10)
    with pytest.raises(
        AssertionError, match=r"prepare must set losses or means in \[0, 1\], got \[1\.2 0\.5\] in round 1"
    ):
        environment_prepares_losses_in_range(case)
    with pytest.raises(AssertionError, match="regret_kind must say in words how regret is measured"):
        environment_is_a_value(case)


class FlawedParameters(NamedTuple):
    gaps: np.ndarray
    flaw: str


@dataclass(frozen=True, repr=False, kw_only=True)
class Flawed(bw.environments.Environment):
    """Bernoulli losses with means 0.4, 0.6, 0.6, unless there is a flaw."""

    flaw: Any = ""
    n_arms: int = 3

    @property
    def gaps(self):
        return np.array([0.0, 0.2, 0.2])

    def mean_losses(self):
        known = {"means": self.gaps + 0.3, "differ": 2.0 * self.gaps, "gaps": None}
        return known.get(self.flaw if isinstance(self.flaw, str) else "", self.gaps + 0.4)

    def parameters(self, horizon):
        return FlawedParameters(self.gaps, self.flaw)


costs_its_gap(FlawedParameters)


@loss_of.register(FlawedParameters)
def _(env, world, t, arm, uniforms):
    if env.flaw == "random":
        return float(np.random.random() < 0.5)  # noqa: NPY002 - on purpose
    u = uniforms[{"draws": 2, "many": 40}.get(env.flaw, 0)]
    return 1.0 if u < 0.4 + (0.0 if env.flaw == "gaps" else env.gaps[arm]) else 0.0


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (
            "means",
            r"in 2000 rounds .* have mean losses \[0\.3925 .*\], expected \[0\.3 .*: loss_of, mean_losses",
        ),
        ("gaps", r"mean losses, less that of the best arm, \[0\. +0\. +0\. *\], expected \[0\. +0\.2 0\.2\]"),
        (
            "differ",
            r"gaps must be mean_losses\(\), \[0\. +0\.4 0\.4\], less the smallest, got \[0\. +0\.2 0\.2\]",
        ),
        ("draws", r"a kernel reads beyond an array, index 2 .*: set draws = 3$"),
        ("many", r"a kernel reads beyond an array, index 40 .*; machine code would read on"),
        (
            "random",
            r"the same seed must give the same bits, .* when it is played again: kernels may use nothing",
        ),
        ([1], r"it must be hashable, but unhashable type: 'list' \(flaw\): use a tuple"),
    ],
)
@pytest.mark.usefixtures("as_python")
def test_a_flaw_of_a_world_is_named(flaw, said):
    with pytest.raises(AssertionError, match=rf"Flawed\(flaw=.*\): .*{said}"):
        check_environment(Flawed(flaw=flaw))


@pytest.mark.usefixtures("as_python")
def test_a_world_without_a_flaw_passes():
    check_environment(Flawed())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (bw.environments.Bernoulli, r"environment must be an environment .*; write Bernoulli\("),
        (None, r"environment must be an environment such as Bernoulli\(\.\.\.\), got None"),
    ],
)
def test_what_is_no_environment_is_refused(given, said):
    with pytest.raises(bw.errors.InvalidArgumentError, match=said):
        check_environment(given)


def test_a_kernel_is_registered_once():
    class Parameters(NamedTuple):
        n_arms: int

    @act.register(Parameters)
    def first(params, state, uniforms):
        return 0

    act.register(Parameters)(first)  # a cell that is run again
    said = (
        r"act of Parameters cannot be registered .*it is there already, from .*test_testing\.py, line \d+; "
    )
    with pytest.raises(bw.errors.KernelError, match=said):
        draws_from_its_p(Parameters)
    assert act.implementations[Parameters] is first

    class Others(NamedTuple):
        n_arms: int

    draws_from_its_p(Others)
    act.register(Others)(first)  # what a helper has registered can be replaced
    assert act.implementations[Others] is first
