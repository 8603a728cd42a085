"""Bounds: numbers by hand, identities between rows of the paper's tables, horizons, errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.bounds.statement import STATEMENTS

K, T = 6, 20_000
GAPS = [0.0, 0.1, 0.2, 0.2, 0.4, 0.5]
SEVERAL = [0.0, 0.0, 0.2, 0.2, 0.4, 0.5]
LOG = math.log(T)
CLASSIC = sum(1 / g for g in GAPS if g)
PAPER = [
    bw.FTRL(regularizer, constants="paper")
    for regularizer in (bw.LogBarrier(), bw.Shannon(), bw.Tsallis(0.3), bw.Tsallis(0.5), bw.Tsallis(0.8))
]
LIGHT = bw.FTRL(bw.LogBarrier(), constants="light")
HYBRID = bw.FTRL(bw.Hybrid(bw.Tsallis(0.5), bw.Shannon()), log_barrier=0.0, theta=1.0, alpha=0.5)
FEATURES = [[float(i), float(i * i)] for i in range(K)]
OTHERS = [
    bw.TsallisINF(),
    bw.TsallisINF("rv"),
    bw.TsallisINFOracle(GAPS, 0.3),
    bw.INF(),
    bw.DecoupledTsallisINF(),
    bw.DecoupledTsallisINF("original"),
    bw.Avner(),
    bw.EXP3(),
    bw.EXP3IX(),
    bw.EXP3P(),
    bw.EXP3PlusPlus(),
    bw.BroadOMD(),
    bw.Ito21(),
    bw.Ito21(eta=0.0),
    bw.ITH22(),
    bw.UCB1(),
    bw.SAO(),
    bw.SAO(delta=0.01),
    bw.BARBAR("theory"),
    bw.EliminationRace(),
    bw.DelayedTsallisINF(),
    bw.TsallisSwitch(),
    bw.KLUCB(c=3),
    bw.Thompson(),
    bw.LBINFV(),
    bw.HybridINF(),
    bw.CombUCB1(),
    bw.MatchedTsallis("paper"),
    bw.Hedge(),
    bw.AdaHedge(),
    bw.Watched(bw.TsallisINF()),
    bw.LinearSPM(FEATURES, constants="paper"),
    bw.EXP2(FEATURES),
]


def bound(policy, gaps=GAPS, **options):
    setting = {"n_arms": K, "horizon": T, "gaps": gaps}
    if isinstance(policy, (bw.KLUCB, bw.Thompson)) and gaps is not None:  # theirs depend on the means
        setting |= {"gaps": None, "means": [0.25 + gap for gap in gaps]}
    if isinstance(policy, bw.AdaHedge):
        setting["shows"] = "all"
    return bw.theory.bound(policy, **setting | options)


def test_every_policy_with_a_statement_is_in_the_tables_here():
    learners = {bw.Advised, bw.PolicyOptimization}  # test_bounds_of_learners.py has theirs
    assert {type(policy) for policy in PAPER + OTHERS} | learners == set(STATEMENTS)


@pytest.mark.parametrize("policy", PAPER + OTHERS, ids=repr)
def test_what_all_bounds_have_in_common(policy):
    found = bound(policy)
    assert found.all
    for one in found.all:
        assert one.value == pytest.approx(sum(term.value for term in one.terms))
        assert all(term.value >= 0.0 for term in one.terms)
        assert len({term.name for term in one.terms}) == len(one.terms)
        causes = ("main", "corruption", "spread", "additive")
        assert sum(one.total(cause) for cause in causes) == pytest.approx(one.value)
        assert one[one.dominant.name] is one.dominant
        assert one.total("corruption") == one.total("spread") == 0.0  # C = D = 0
        assert ("O(·)" in one.table()) == ("O(·)" in one.label) == (not one.explicit)
    assert json.loads(json.dumps(found.to_dict()))["bounds"][0]["value"] == found.all[0].value
    assert repr(policy) in found.table()
    assert repr(policy) in repr(found)


@pytest.mark.parametrize(
    ("policy", "adversarial", "self_bounding"),
    [
        (bw.TsallisINF(), 4 * math.sqrt(K * T) + 1, (4 * LOG + 68) * CLASSIC + 4 * math.sqrt(K)),
        (
            bw.TsallisINF("rv"),
            2 * math.sqrt(K * T) + 14 * K * LOG + 16,
            (LOG + 3) * CLASSIC + 2 / 0.1 + 28 * K * LOG + 1.5 * math.sqrt(K) + 32,
        ),
        (
            bw.Ito21(),
            6 * math.sqrt(LOG * 5 * T) + 3 * K * LOG,
            36 * LOG * CLASSIC + 6 * math.sqrt(CLASSIC * 3 * K * LOG * LOG) + 3 * K * LOG,
        ),
        (
            bw.Ito21(eta=0.0),
            3 * math.sqrt(LOG * 5 * T) + 3 * K * LOG,
            9 * LOG * CLASSIC + 3 * math.sqrt(CLASSIC * 3 * K * LOG * LOG) + 3 * K * LOG,
        ),
        (bw.UCB1(), None, 8 * LOG * CLASSIC + (1 + math.pi**2 / 3) * sum(GAPS)),
        (bw.EXP3(), 2 * math.sqrt(T * K * math.log(K)), None),
        (bw.EXP3PlusPlus(), 4 * math.sqrt(T * K * math.log(K)), None),
        (bw.EXP3P(), 5.15 * math.sqrt(T * K * math.log(K * T)) + 1, None),
        (bw.INF(), math.sqrt(8 * K * T), None),
        (
            bw.DecoupledTsallisINF("original"),
            (2 + 1 / (2 * 2 / 3 * 1 / 3)) * math.sqrt(K * T) + 1,
            8 * math.sqrt(K / 0.1) * max(math.sqrt(85 * CLASSIC), 17 / math.sqrt(0.1)) + 13 * math.sqrt(K),
        ),
        (
            bw.SAO(),
            60 * (1 + math.log(K)) * (1 + LOG) * math.sqrt(T * K * 4 * LOG + 5 * (K * 4 * LOG) ** 2)
            + 200 * (K * 4 * LOG) ** 2,
            260 * K * (1 + math.log(K)) * (4 * LOG) ** 2 / 0.1,
        ),
    ],
    ids=repr,
)
def test_explicit_bounds_by_hand(policy, adversarial, self_bounding):
    found = bound(policy)
    for got, wanted in ((found.adversarial, adversarial), (found.self_bounding, self_bounding)):
        if wanted is None:
            assert got is None or not got.explicit
        else:
            assert got.explicit
            assert got.value == pytest.approx(wanted, rel=1e-12)
    assert found.value == pytest.approx(min(x for x in (adversarial, self_bounding) if x is not None))


def test_late_feedback_by_hand():
    delay = 50.0 * T
    late = math.sqrt(delay * math.log(K))
    for policy, wanted in (
        (bw.DelayedTsallisINF(False, weight=1.0), math.sqrt(8) * late),
        (bw.DelayedTsallisINF(False, weight=0.3), math.sqrt(8) * late * (0.3 + 1 / 0.3) / 2),
        (bw.DelayedTsallisINF(weight=1.0), 10 * late),
    ):
        found = bound(policy, delay=delay)
        assert found.self_bounding is None
        assert found.value == pytest.approx(4 * math.sqrt(K * T) + wanted)
        assert bound(policy).all == bound(bw.TsallisINF()).all
    with pytest.raises(InvalidArgumentError, match=r"theorem covers, .*skipping=False, weight > 0"):
        bound(bw.DelayedTsallisINF(), delay=1.0)
    with pytest.raises(
        InvalidArgumentError, match=r"delay must be 0 for TsallisINF\(\), got 1.0; .*late feed"
    ):
        bound(bw.TsallisINF(), delay=1.0)
    with pytest.raises(InvalidArgumentError, match=r"delay must be a finite number at least 0, got -1.0"):
        bound(bw.DelayedTsallisINF(), delay=-1.0)


def test_switching_costs_by_hand():
    found = bound(bw.TsallisSwitch(2.0))
    assert found.adversarial.value == pytest.approx((2 * K) ** (1 / 3) * T ** (2 / 3) + math.sqrt(K * T))
    per_gap = (2 * K) ** (2 / 3) * T ** (1 / 3) + math.log(T)
    assert found.self_bounding.value == pytest.approx(per_gap * CLASSIC)
    assert bound(bw.TsallisSwitch(), SEVERAL).self_bounding is None


def test_o_bounds_have_no_value_that_holds():
    assert math.isnan(bound(bw.ITH22()).value)


def test_the_main_tables():
    g = bw.theory.complexity(GAPS)
    rows = {
        PAPER[0]: (g.paper * LOG, math.sqrt(K * T * LOG), K**2 / math.sqrt(LOG), 162),
        PAPER[1]: (g.paper * LOG**2, math.sqrt(K * T) * LOG, K**2 * LOG**1.5, 162 * math.log(K)),
        PAPER[2]: (
            g.paper * LOG / 0.21,
            math.sqrt(K * T * LOG / 0.21),
            K**2 * math.sqrt(0.3) / 0.7**1.5,
            162,  # not 162·0.3/0.7: the lemmas need 162
        ),
        PAPER[3]: (g.paper * LOG / 0.25, math.sqrt(K * T / 0.25), K**2 * math.sqrt(0.5) / 0.5**1.5, 162),
        PAPER[4]: (
            g.paper * LOG / 0.16,
            math.sqrt(K * T * LOG / 0.16),
            K**2 * math.sqrt(0.8) / 0.2**1.5,
            648,
        ),
    }
    for policy, (gap, worst, residual, log_barrier) in rows.items():
        found = bound(policy, corruption=50.0, spread=7.0)
        one = found.self_bounding
        assert one["gaps"].value == pytest.approx(gap)
        assert one["corruption"].value == pytest.approx(math.sqrt(50 * gap))
        assert one["spread"].value == 7.0
        assert found.adversarial["worst case"].value == pytest.approx(worst)
        for b in found.all:  # W is part of the adversarial bound too
            assert b["residual"].value == pytest.approx(residual)
            assert b["log-barrier"].value == pytest.approx(log_barrier * K * LOG)
            assert b.total("additive") == pytest.approx(residual + log_barrier * K * LOG)


def test_the_decoupled_table():
    g = bw.theory.complexity(SEVERAL)
    one = bound(bw.DecoupledTsallisINF(), SEVERAL, corruption=9.0).self_bounding
    values = {term.name: term.value for term in one.terms}
    assert values == pytest.approx(
        {"gaps": g.decoupled, "corruption": 3 * math.sqrt(g.decoupled), "spread": 9.0, "arms": K}
    )
    assert (
        one.value
        == bound(bw.DecoupledTsallisINF(), SEVERAL, corruption=9.0, horizon=10**9).self_bounding.value
    )


def test_the_printed_constants_are_labeled_where_the_lemmas_need_larger_ones():
    short = bound(bw.FTRL(bw.Tsallis(0.3), constants="printed"))
    assert "the lemmas need C ≥ 162" in short.adversarial.notes[0]
    assert short.adversarial["log-barrier"].value == pytest.approx(162 * 0.3 / 0.7 * K * LOG)
    assert bound(bw.FTRL(bw.Tsallis(0.7), constants="printed")).adversarial.notes == ()


def test_tsallis_inf_by_another_name():
    same = bw.FTRL(bw.Tsallis(0.5), log_barrier=0.0, theta=1.0, alpha=0.5)
    assert bound(same).all == bound(bw.TsallisINF()).all
    by_hand = bw.FTRL(bw.Tsallis(0.8), log_barrier=648.0, theta=0.5, alpha=0.8)
    assert [b.value for b in bound(by_hand).all] == pytest.approx([b.value for b in bound(PAPER[4]).all])


@pytest.mark.parametrize("policy", PAPER, ids=repr)
def test_the_term_table_adds_up_and_leads_to_the_theorem(policy):
    table = bw.theory.term_table(policy, n_arms=K, horizon=T, n_optimal=2)
    pre, sub, opt, res, whole = table.rows
    assert [row.name for row in table.rows] == ["PreCost", "RegSub", "RegOpt", "ResReg", "Reg"]
    parts = {term.name: term.value for row in (pre, sub, opt, res) for term in row.additive}
    start = parts.pop("start", 0.0)
    assert start <= table["PreCost"].additive[-1].value  # absorbed by C_log·K·log T
    assert parts == {term.name: term.value for term in whole.additive}
    assert whole.first == sum(row.first for row in (pre, sub, opt, res))
    assert {row.second for row in (pre, sub, res)} <= {0.0, whole.second}
    assert whole.spread
    assert opt.value([3.0, 4.0], 5.0) == 0.0

    # Lemma "self-bounding quantities": for plays m with Σ m·Δ ≤ R + C, every z gives a bound in 𝔾
    random = np.random.default_rng(2)
    gaps = np.array(SEVERAL[2:])
    g, x = bw.theory.complexity(SEVERAL), whole.second
    for z in (0.1, 0.5, 2.0):
        plays = random.random(4) * 1000
        cost = float(plays @ gaps)
        additive = sum(term.value for term in whole.additive)
        assert whole.value(plays, 3.0) <= 2 * z * cost + g.paper * x / (4 * z) + additive + 3.0
    # the adversarial theorem: U = {i*}
    alone = bw.theory.term_table(policy, n_arms=K, horizon=T)
    main = math.sqrt(whole.second * K * T)
    assert alone.worst(alone["RegSub"]) <= main * (1 + 1e-12)
    if policy != PAPER[3]:  # β = ½ loses the log by a direct sum, not by this table
        assert bound(policy).adversarial["worst case"].value == pytest.approx(main)
    assert json.loads(json.dumps(table.to_dict()))["rows"][2]["name"] == "RegOpt"
    assert len(table.table().splitlines()) == 2 + len(table.rows)
    with pytest.raises(KeyError, match="the rows are PreCost"):
        table["Pre"]


def test_ito_for_several_optimal_arms_is_the_best_z():
    for corruption, spread in ((0.0, 0.0), (300.0, 0.0), (0.0, 80.0), (300.0, 80.0)):
        one = bound(bw.TsallisINF(), SEVERAL, corruption=corruption, spread=spread).self_bounding
        b = 25 / 4 * (1 + LOG) * bw.theory.complexity(SEVERAL).classic
        w = 10 * K + spread
        best = minimize_scalar(
            lambda z, b=b, w=w, c=corruption: (z * c + b / z + w) / (1 - z),
            bounds=(1e-6, 1 - 1e-6),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert one.value == pytest.approx(best.fun, rel=1e-9)
        assert (one.total("corruption") > 0) == (corruption > 0)
        assert (one.total("spread") > 0) == (spread > 0)


def test_reduced_variance_is_continuous_where_its_two_cases_meet():
    clean = bound(bw.TsallisINF("rv")).self_bounding
    x = clean["gaps"].value
    for c in (x * (1 - 1e-9), x, x * (1 + 1e-9)):
        assert bound(bw.TsallisINF("rv"), corruption=c).self_bounding["corruption"].value == pytest.approx(x)
    four = bound(bw.TsallisINF("rv"), corruption=4 * x).self_bounding
    assert four.value == pytest.approx(clean.value + 3 * x)  # 2√(X·4X) in place of X


def test_what_is_not_covered_is_left_out():
    assert {b.source for b in bound(bw.TsallisINF(), corruption=5.0).all if b.name == "self-bounding"} == {
        "Ito 2021, Theorem 2"
    }
    for policy in (bw.Ito21(), bw.TsallisINF("rv"), bw.ITH22(), bw.BroadOMD()):
        assert bound(policy, SEVERAL).self_bounding is None  # needs one optimal arm
    assert bound(bw.BroadOMD(), corruption=1.0).self_bounding is None
    assert bound(bw.EXP3PlusPlus(beta=1.0)).self_bounding is None
    assert bound(bw.TsallisINF(), None).self_bounding is None


def test_spread_by_default():
    assert bound(PAPER[0], GAPS, corruption=5.0).setting.spread == 0.0
    assert bound(PAPER[0], SEVERAL, corruption=5.0).setting.spread == 5.0
    world = bw.environments.Corrupted(bw.environments.Bernoulli(n_arms=3, gap=0.5), 10.0)
    assert world.corruption(T) == 20.0  # what to give for a budget of 10


@pytest.mark.parametrize("policy", [bw.TsallisINF(), PAPER[0], bw.UCB1()], ids=repr)
def test_from_which_horizon_on(policy):
    found = bound(policy)
    first = int(found.meaningful_from())
    assert found.at(first).self_bounding.value < first
    assert found.at(first - 1).self_bounding.value >= first - 1
    for longer in (first + 1, 10 * first, 1e12):
        assert found.at(longer).self_bounding.value < longer
    if found.adversarial is None:
        assert math.isnan(found.better_from())
        with pytest.raises(
            InvalidArgumentError, match=r"name must be that of a bound that UCB1\(\) has here"
        ):
            found.meaningful_from("adversarial")
        return
    better = int(found.better_from())
    for at, holds in ((better, True), (better - 1, False), (1000 * better, True)):
        there = found.at(at)
        assert (there.self_bounding.value < there.adversarial.value) is holds


def test_horizons_at_the_ends():
    assert bw.theory.bound(bw.EXP3(), n_arms=2, horizon=10).meaningful_from("adversarial") == 6.0
    tiny = bw.theory.bound(bw.DecoupledTsallisINF(), n_arms=2, horizon=10, gaps=[0.0, 1.0])
    assert tiny.meaningful_from() == 4.0  # √2 + 2
    spread = bw.theory.bound(bw.DecoupledTsallisINF(), n_arms=2, horizon=10, gaps=[0.0, 1.0], spread=1e40)
    assert spread.meaningful_from() == math.inf
    assert "never" in spread.table()


def test_curves():
    rows = bw.theory.bound_curve(bw.TsallisINF(), n_arms=K, rounds=[1, 10, 1000, T], gaps=GAPS)
    names = list(dict.fromkeys(row["name"] for row in rows))
    assert len(names) == 3
    assert [row["round"] for row in rows if row["name"] == names[0]] == [10, 1000, T]
    at_end = [row["bound"] for row in rows if row["round"] == T]
    assert at_end == [one.value for one in bound(bw.TsallisINF()).all]
    flat = bw.theory.bound_curve(bw.INF(), n_arms=K, rounds=[100, 1000], horizon=T)
    assert {row["bound"] for row in flat} == {bound(bw.INF()).value}
    paper = bw.theory.bound_curve(PAPER[0], n_arms=K, rounds=[1000], horizon=T)  # √t with log T
    assert paper[0]["bound"] == pytest.approx(
        math.sqrt(K * 1000 * LOG) + K**2 / math.sqrt(LOG) + 162 * K * LOG
    )
    assert not paper[0]["explicit"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"policy": bw.LightBarrier()},
            r"policy must be one with a stated .* LightBarrier\(\); policies with",
        ),
        (
            {"policy": LIGHT},
            r"one that a theorem covers, got .*constants='paper' .*with a bound: AdaHedge, Advised, Avner",
        ),
        ({"policy": HYBRID}, r"one that a theorem covers, got FTRL\(Hybrid"),
        ({"policy": bw.BroadOMD(anytime=True)}, r"one that a theorem covers, .*eta ≤ 1/162"),
        (
            {"policy": bw.UCB1(alpha=1.5)},
            r"one that a theorem covers, got UCB1\(alpha=1.5\); UCB1 has one with alpha=2",
        ),
        ({"policy": bw.BARBAR()}, r"constants='theory'"),
        (
            {"policy": bw.policies.DEFAULT},
            r"one that a theorem covers, .*Watched has one over TsallisINF\(\)",
        ),
        ({"policy": bw.UCB1(), "gaps": None}, r"a bound that covers this setting, got UCB1\(\); give gaps"),
        ({"policy": bw.UCB1(), "corruption": 3.0}, r"a bound that covers this setting, got UCB1\(\)"),
        ({"policy": bw.BARBAR("theory"), "gaps": None}, r"covers this setting, got BARBAR"),
        ({"policy": bw.EliminationRace(), "gaps": None}, r"covers this setting, got EliminationRace"),
        (
            {"policy": bw.TsallisINFOracle(SEVERAL, 0.5), "gaps": SEVERAL},
            r"covers this setting, got TsallisINFOracle",
        ),
        ({"policy": bw.TsallisINF}, r"policy must be a policy .*; write TsallisINF\(\)"),
        ({"gaps": [0.0, 0.1]}, r"gaps must be one gap for each of the 6 arms, got 2"),
        ({"gaps": [0.0] * 6}, r"gaps must be numbers of which one is positive"),
        ({"gaps": [0.1] * 6}, r"gaps must be numbers of which one is 0"),
        ({"n_arms": 1}, r"n_arms must be at least 2, got 1; with one arm there is no regret"),
        ({"horizon": 5}, r"horizon must be at least 6, got 5; there are 6 arms"),
        ({"horizon": 1e4}, r"horizon must be an integer, got 10000.0"),
        ({"corruption": -1.0}, r"corruption must be a finite number at least 0, got -1.0"),
        (
            {"corruption": 5.0, "gaps": None},
            r"gaps must be given with corruption or spread, got None with corruption=5",
        ),
        ({"spread": float("nan")}, r"spread must be a finite number at least 0, got nan"),
    ],
)
def test_bad_input(options, match):
    policy = options.pop("policy", bw.TsallisINF())
    with pytest.raises(InvalidArgumentError, match=match):
        bound(policy, **options)


def test_bad_names_and_tables():
    with pytest.raises(KeyError, match="the terms are worst case, one"):
        bound(bw.TsallisINF()).adversarial["gap"]
    with pytest.raises(InvalidArgumentError, match=r"name must be one of 'adversarial', 'self-bounding'"):
        bound(bw.TsallisINF()).meaningful_from("both")
    with pytest.raises(
        InvalidArgumentError, match=r"policy must be one .*, got TsallisINF\(\); the table is of FTRL with"
    ):
        bw.theory.term_table(bw.TsallisINF(), n_arms=3, horizon=10)
    with pytest.raises(InvalidArgumentError, match=r"n_optimal must be below the number of arms, 3, got 3"):
        bw.theory.term_table(PAPER[0], n_arms=3, horizon=10, n_optimal=3)
    with pytest.raises(InvalidArgumentError, match=r"plays\[0\] must be finite and at least 0, got -1.0"):
        bw.theory.term_table(PAPER[0], n_arms=3, horizon=10)["Reg"].value([-1.0])
    with pytest.raises(InvalidArgumentError, match=r"rounds must be at least one round, got none"):
        bw.theory.bound_curve(bw.EXP3(), n_arms=3, rounds=[])
    with pytest.raises(InvalidArgumentError, match=r"horizon must be at least the last round, 20, got 10"):
        bw.theory.bound_curve(bw.EXP3(), n_arms=3, rounds=[20], horizon=10)
