"""The one table of policies that drives the contract tests."""

from __future__ import annotations

from typing import NamedTuple

import bothworlds as bw


class Case(NamedTuple):
    policy: bw.Policy
    learns: bool = True  # beats uniform play within 3000 easy rounds; theory constants need far longer
    needs_horizon: bool = False
    starts_uniform: bool = True
    arms: int | None = None  # the only number of arms it can play, if there is one
    again: bool = False  # another case has its kernels, with other numbers or around another: for make slow


# features of four arms, of which one is far from the others, that can have any losses
SQUARE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

CASES = [
    Case(bw.LightBarrier()),
    Case(bw.InsuredSampler()),
    Case(bw.InsuredSampler("adaptive")),
    Case(bw.TsallisINF()),
    Case(bw.TsallisINF(estimator="rv")),
    Case(bw.INF(), needs_horizon=True),
    Case(bw.DecoupledTsallisINF()),
    Case(bw.DecoupledTsallisINF(scale="original"), again=True),
    Case(bw.DelayedTsallisINF()),
    Case(bw.DelayedTsallisINF(skipping=False, weight=1.0), again=True),
    Case(bw.TsallisSwitch(1.0)),
    Case(bw.UCB1(), starts_uniform=False),
    Case(bw.KLUCB(), starts_uniform=False),
    Case(bw.Thompson()),
    Case(bw.DiscountedThompson()),
    Case(bw.DiscountedThompson(0.9), again=True),
    Case(bw.SlidingWindowThompson(window=100)),
    Case(bw.GLRKLUCB(), starts_uniform=False),
    Case(
        bw.GLRKLUCB(constants="paper", restart="local"), starts_uniform=False, needs_horizon=True, again=True
    ),
    Case(bw.EXP3S(), needs_horizon=True),
    Case(bw.EXP3S(gamma=0.05, share=1e-5), again=True),
    Case(bw.Restarting(bw.LightBarrier(), every=150)),
    Case(bw.Restarting(bw.Thompson(), every=150), again=True),
    Case(bw.Restarting(bw.DecoupledTsallisINF(), every=150), again=True),
    Case(bw.EpsilonGreedy()),
    Case(bw.EpsilonGreedy(epsilon=0.1), starts_uniform=False),
    Case(bw.Uniform(), learns=False),
    Case(bw.Watched(bw.InsuredSampler())),
    Case(bw.EXP3()),
    Case(bw.EXP3IX()),
    Case(bw.EXP3PlusPlus(), starts_uniform=False),
    Case(bw.BroadOMD(), needs_horizon=True, learns=False),
    Case(bw.BroadOMD(anytime=True)),
    Case(bw.CountedBarrier()),
    Case(bw.TsallisINFOracle(gaps=(0.0, 0.4, 0.4, 0.4), alpha=0.7), arms=4),
    Case(bw.Ito21()),
    Case(bw.Ito21(eta=0.0), again=True),
    Case(bw.LBINFV(), needs_horizon=True),
    Case(bw.HybridINF()),
    Case(bw.CombUCB1(), starts_uniform=False),
    Case(bw.ITH22()),
    Case(bw.MatchedTsallis()),
    Case(bw.Hedge()),
    Case(bw.AdaHedge()),
    Case(bw.LinearSPM(SQUARE), arms=4),
    Case(bw.LinearSPM(SQUARE, constants="paper"), learns=False, arms=4, again=True),
    Case(bw.EXP2(SQUARE), arms=4),
    Case(bw.Avner()),
    Case(bw.EXP3P(), needs_horizon=True),
    Case(bw.SAO(), needs_horizon=True, learns=False),
    Case(bw.EliminationRace(), needs_horizon=True, learns=False, starts_uniform=False),
    Case(bw.BARBAR(), needs_horizon=True),
    Case(bw.BARBAR(constants="theory"), needs_horizon=True, learns=False, again=True),
    Case(bw.FTRL(bw.LogBarrier(), constants="paper"), learns=False, again=True),
    Case(bw.FTRL(bw.LogBarrier(), constants="light")),
    Case(bw.FTRL(bw.Tsallis(beta=0.3), constants="printed"), learns=False, again=True),
    Case(bw.FTRL(bw.Tsallis(beta=0.7), constants="light")),
    Case(bw.FTRL(bw.Tsallis(beta=0.5), constants="paper"), learns=False, again=True),
    Case(bw.FTRL(bw.Shannon(), constants="light")),
    Case(bw.FTRL(bw.Shannon(), log_barrier=0.0, theta=0.5, alpha=1.0)),
    Case(bw.FTRL(bw.LogBarrier(), constants="light", estimator=bw.estimators.CappedBaseline())),
    Case(bw.FTRL(bw.Hybrid(bw.Tsallis(0.5), bw.Shannon()), log_barrier=0.1, theta=1.0, alpha=0.5)),
]
