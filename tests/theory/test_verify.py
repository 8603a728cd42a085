"""Every lemma can be seen to hold, and seen to fail when it is broken on purpose."""

from __future__ import annotations

import dataclasses
import io
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from rich.console import Console

import bothworlds as bw
from accounting import interpreted  # noqa: F401
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.ftrl.rates import CONTINUE, UNUSED, advance_rates, begin_rates
from bothworlds.policies.ftrl.state import ROUND
from bothworlds.simplex.growth import expm1
from bothworlds.simplex.regularizers.base import height, potential, reach, rise, slope, spread
from bothworlds.simplex.regularizers.shannon import entropy_spread
from bothworlds.theory import (
    lemma_table,
    rich_lemma_table,
    verify,
    where_did_the_regret_go,
)
from bothworlds.theory.accounting.accounts import account_game
from bothworlds.theory.verification import lemmas, universal
from bothworlds.theory.verification.games import games, play
from bothworlds.theory.verification.lemmas import ROUNDING
from bothworlds.theory.verification.verdict import HEADER, LEMMAS, smallest_barrier

pytestmark = pytest.mark.usefixtures("interpreted")
ROUNDS = 24


def account_of(policy, name="independent coins", rounds=ROUNDS):
    return play(policy, next(game for game in games(rounds) if game.name == name))


def light(regularizer):
    return bw.FTRL(regularizer, constants="light")


def verdicts(policy, rounds=ROUNDS):
    return {row.lemma: row for row in verify(policies=[policy], rounds=rounds, search=False)}


@pytest.mark.parametrize(
    "policy",
    [
        bw.FTRL(bw.LogBarrier(), constants="paper"),
        bw.FTRL(bw.Shannon(), constants="paper"),
        bw.FTRL(bw.Tsallis(0.3), constants="paper"),
        light(bw.Shannon()),
        bw.TsallisINF(),
        bw.DecoupledTsallisINF(),
    ],
    ids=repr,
)
def test_all_lemmas_hold(policy):
    rows = verdicts(policy)
    assert all(row.holds for row in rows.values()), lemma_table(
        [row for row in rows.values() if not row.holds]
    )
    assert {"decomposition", "ito-lemma-16", "optimal-arms", "multipliers", "unbiased"} <= rows.keys()
    theorem = isinstance(policy, bw.FTRL) and policy.constants == "paper"
    assert ("multiplicative-relation" in rows) == theorem
    assert ("group-relation" in rows) == isinstance(policy, bw.DecoupledTsallisINF)
    assert rows["decomposition"].rounds == ROUNDS * len(games(ROUNDS))


@pytest.mark.slow
def test_by_default_the_papers_policies_are_put_to_the_test():
    rows = {row.lemma: row for row in verify(rounds=8)}
    assert all(row.holds for row in rows.values())
    assert {lemma.name for lemma in LEMMAS} < rows.keys()
    assert "held down to C: LogBarrier()" in rows["multiplicative-relation"].note


@pytest.mark.parametrize(
    "policy",
    [
        bw.LightBarrier(),
        bw.TsallisINF(estimator="rv"),
        bw.TsallisINFOracle([0.0, 0.1, 0.0, 0.2, 0.4], alpha=0.3),
        bw.TsallisINFOracle([0.0, 0.1, 0.0, 0.2, 0.4], alpha=1.0),
        bw.EXP3IX(),
        bw.ITH22(),
        bw.Avner(),
        bw.BroadOMD(anytime=True),
    ],
    ids=repr,
)
def test_the_equations_hold_for_any_rates_and_estimator(policy):
    account = account_of(policy)
    for check in (lemmas.decomposition, lemmas.suboptimal_parts, lemmas.ito_lemma_16, lemmas.multipliers):
        assert check(account).margin > -1e-11, check


# --- broken on purpose ----------------------------------------------------------------------------------


class WrongShannonParameters(NamedTuple):
    """p·log(p·e): the linear term with the wrong sign."""


@dataclasses.dataclass(frozen=True)
class WrongShannon(bw.Regularizer):
    def parameters(self):
        return WrongShannonParameters()


@slope.register(WrongShannonParameters)
def _(regularizer, depth):
    return depth - 2.0, 1.0, 0.0


@reach.register(WrongShannonParameters)
def _(regularizer, height):
    return height + 2.0


@height.register(WrongShannonParameters)
def _(regularizer, p):
    return -math.log(p) - 2.0


@potential.register(WrongShannonParameters)
def _(regularizer, p, height):
    return p * (math.log(p) + 1.0)


@rise.register(WrongShannonParameters)
def _(regularizer, p, height, u):
    return u, 1.0


@spread.register(WrongShannonParameters)
def _(regularizer, p, height, w):
    return entropy_spread(p, w)


def test_the_wrong_linear_term_breaks_the_optimal_arms_and_nothing_else():
    policy = bw.FTRL(WrongShannon(), log_barrier=0.01, theta=1.0, alpha=1.0)
    rows = verdicts(policy)
    assert not rows["optimal-arms"].holds
    assert rows["optimal-arms"].margin < -1e-3
    assert "WrongShannon" in lemma_table([rows["optimal-arms"]])
    right = bw.FTRL(bw.Shannon(), log_barrier=0.01, theta=1.0, alpha=1.0)
    assert verdicts(right)["optimal-arms"].holds
    for name in ("decomposition", "suboptimal-arms", "ito-lemma-16", "preprocessing", "multipliers"):
        assert rows[name].holds, name  # these do not ask for a decreasing ψ


class FallingParameters(NamedTuple):
    horizon: float


@begin_rates.register(FallingParameters)
def _(rate, state):
    state.rates[:] = 3.0 / math.sqrt(max(1.0, math.log(1.0 + state.rates.size)))


@advance_rates.register(FallingParameters)
def _(rate, state):
    state.rates[:] = 3.0 / math.sqrt(max(1.0, math.log(1.0 + state.scalars[ROUND] + state.rates.size)))
    return CONTINUE


@dataclasses.dataclass(frozen=True, repr=False)
class FallingRates(bw.FTRL):
    """γ_t = 3/√log(t + K): falls, against the theorem's condition."""

    def parameters(self, n_arms, horizon):
        params = super().parameters(n_arms, horizon)
        return params._replace(rate=FallingParameters(UNUSED), log_barrier=1.0)


def test_falling_rates_break_the_optimal_arms_and_the_penalty():
    rows = verdicts(FallingRates(bw.LogBarrier(), constants="paper"))
    assert not rows["optimal-arms"].holds
    assert not rows["penalty"].holds
    assert rows["decomposition"].holds


def test_the_printed_constant_breaks_the_multiplicative_relation_for_tiny_beta():
    """Erratum 19: C = 162β/(1−β) is too small for β = 0.003; the corrected one is not."""
    printed = verdicts(bw.FTRL(bw.Tsallis(0.003), constants="printed"))["multiplicative-relation"]
    assert not printed.holds
    assert verdicts(bw.FTRL(bw.Tsallis(0.003), constants="paper"))["multiplicative-relation"].holds


def spliced(account, other, *names):
    """An account that has some terms of another."""
    return dataclasses.replace(
        account, terms={**account.terms, **{name: other.terms[name] for name in names}}
    )


def test_the_benchmark_of_another_set_is_caught():
    game = games(ROUNDS)[0]
    mine = play(bw.TsallisINF(), game)
    other = account_game(
        *(bw.TsallisINF(),), choices=mine.arms, table=game.table, uniforms=game.uniforms, optimal=[1, 3]
    )
    assert lemmas.decomposition(mine).margin > -ROUNDING
    assert lemmas.decomposition(spliced(mine, other, "benchmark")).margin < -1e-3
    wrong = dataclasses.replace(mine, q=other.q)
    assert lemmas.preprocessing(mine).margin > -ROUNDING
    assert lemmas.preprocessing(wrong).margin < -1e-4
    # the regret on optimal arms against a benchmark that is not theirs
    swapped = {**mine.terms, "optimal": mine.terms["optimal"] + mine.terms["benchmark"] - 0.0}
    assert lemmas.optimal_arms(dataclasses.replace(mine, terms=swapped)).margin < -1e-3


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (lemmas.suboptimal_parts, {"penalty": 1.001}),
        (lemmas.decomposition, {"residual": 1.001}),
        (lemmas.decomposition, {"suboptimal": 0.999}),
        (lemmas.ito_lemma_16, {"total": 1.01}),
        (lemmas.preprocessing, {"preprocessing": 1.001}),
        (lemmas.stability, {"stability": 40.0}),
        (lemmas.penalty, {"penalty": 20.0}),
    ],
)
def test_a_wrong_term_is_caught(check, change):
    account = account_of(bw.FTRL(bw.Tsallis(0.5), constants="paper"), "erratic")
    assert check(account).margin >= -ROUNDING
    terms = {name: values * change.get(name, 1.0) for name, values in account.terms.items()}
    assert check(dataclasses.replace(account, terms=terms)).margin < -1e-9


def test_a_gap_left_out_is_caught():
    account = account_of(bw.DecoupledTsallisINF())
    assert account.terms["gap"].max() > 0.0
    none = {**account.terms, "gap": np.zeros(len(account))}
    assert lemmas.decomposition(dataclasses.replace(account, terms=none)).margin < -1e-9


def test_wrong_points_and_multipliers_are_caught():
    account = account_of(bw.DecoupledTsallisINF())
    assert lemmas.group_multiplicative(account).margin > 0.0
    far = dataclasses.replace(
        account, p_bar=np.where(account.p_bar < 0.2, 10.0 * account.p_bar, account.p_bar)
    )
    assert lemmas.group_multiplicative(far).margin < 0.0
    account = account_of(bw.FTRL(bw.Shannon(), constants="paper"), "erratic")
    assert lemmas.multipliers(account).margin > -ROUNDING
    for side in "UVK":
        for factor in (0.9, 1.1):
            moved = {**account.multipliers, side: factor * account.multipliers[side]}
            assert lemmas.multipliers(dataclasses.replace(account, multipliers=moved)).margin < -1e-6


def test_self_bounding_fails_for_regret_below_what_the_gaps_cost():
    """Which is what the constant C of the paper's condition is for."""
    account, gaps = account_of(bw.TsallisINF()), np.array([0.0, 0.1, 0.0, 0.2, 0.4])
    assert lemmas.self_bounding(account, gaps).margin > 0.0
    suffered = np.cumsum(account.p[:-1] @ gaps)
    assert lemmas.self_bounding(account, gaps, suffered / 20.0).margin < 0.0
    assert lemmas.self_bounding(account, gaps, suffered / 20.0 + suffered[-1]).margin > 0.0


def test_monotonicity_fails_without_either_condition():
    assert universal.monotonicity(2000, seed=1).margin > -ROUNDING
    assert universal.monotonicity(2000, seed=1, concave=False).margin < -0.01
    assert universal.monotonicity(2000, seed=1, ordered=False).margin < -0.01
    assert universal.conditions_needed(2000, seed=1).margin > 0.01


def test_the_learning_rate_lemma_needs_its_logarithm():
    assert universal.learning_rate_sequences(200).margin > 0.0
    x = np.full((4000, 1), 1.0)
    with_log = lemmas.rate_sum_ratio(x, 1.0)
    assert with_log.max() < 2.0
    # weights that make the sum the harmonic series: √(Σ x a²) alone would not do
    a = 1.0 / np.sqrt(1.0 + np.cumsum(x, axis=0))
    assert (lemmas.rate_sum_ratio(x, 1.0, a) * np.sqrt(np.log(4001.0))).max() > 2.0


@dataclasses.dataclass(frozen=True)
class Biased(bw.EXP3IX):
    """Implicit exploration underestimates losses on purpose."""


def test_bias_is_caught():
    assert universal.estimator_bias(bw.LightBarrier()).margin > -ROUNDING
    assert universal.estimator_bias(bw.TsallisINF(estimator="rv")).margin > -ROUNDING
    assert universal.estimator_bias(bw.DecoupledTsallisINF()).margin > -ROUNDING
    assert universal.estimator_bias(Biased()).margin < -1e-3


# --- the rest ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_smallest_barrier_is_where_the_relation_starts_to_fail():
    found = smallest_barrier(bw.LogBarrier(), rounds=16)
    assert 2.0**-7 < found < 162.0
    below = bw.FTRL(bw.LogBarrier(), constants="paper", log_barrier=found / 2)
    assert any(lemmas.multiplicative(play(below, game)).margin < 0.0 for game in games(16))


def test_tables_and_names():
    rows = verify(policies=[bw.TsallisINF()], rounds=8, search=False)
    text = lemma_table(rows)
    assert re.split("  +", text.splitlines()[0]) == list(HEADER)
    assert max(map(len, text.splitlines())) <= 80
    assert all(row.paper for row in rows)
    told = io.StringIO()
    Console(file=told, width=80).print(rich_lemma_table(rows))
    assert all(f"{row.lemma} " in told.getvalue() for row in rows)  # nothing is cut or folded
    assert re.search(r"optimal-arms +A\.3\.1 +holds +\S+ +1e-12", told.getvalue())
    page = (Path(__file__).parents[2] / "docs" / "proof.md").read_text(encoding="utf-8")
    for name in {row.lemma for row in rows} | {lemma.name for lemma in LEMMAS}:
        assert f"\n({name})=\n" in page, name
    assert all(row.page == f"proof.html#{row.lemma}" for row in rows)
    assert rich_lemma_table(rows).row_count == len(rows)
    assert len({lemma.name for lemma in LEMMAS}) == len(LEMMAS)
    for bad, message in (
        ({"rounds": 2}, "rounds must be at least 8"),
        ({"seed": -1}, "seed must be"),
        ({"policies": []}, "policies must be at least one policy"),
        ({"policies": [bw.UCB1()]}, "policy must be one that plays an FTRL minimizer"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            verify(**{"policies": [bw.TsallisINF()], **bad})


@pytest.mark.parametrize("policy", [bw.TsallisINF(), bw.DecoupledTsallisINF()], ids=repr)
def test_where_the_regret_went_adds_up(policy):
    account = account_of(policy)
    rows = where_did_the_regret_go(account, points=5)
    rounds = sorted({row["round"] for row in rows})
    assert rounds[-1] == ROUNDS
    assert len(rounds) == 5
    for t in rounds:
        parts = [row["regret"] for row in rows if row["round"] == t]
        assert sum(parts) == pytest.approx(account.terms["regret"][:t].sum(), abs=1e-9)
        assert len(parts) == 5


@pytest.mark.parametrize("x", [-3.0, -1e-9, 1e-300, 0.049, 0.051, 2.0])
def test_growth(x):
    assert expm1(x) == pytest.approx(math.expm1(x), rel=1e-15)
