"""Policies: a file each, and a line below. A class registers itself: ``class UCB1(Policy, name="ucb1")``.

What several of them are made of is in ``shared``.
"""

from __future__ import annotations

from typing import Any

from bothworlds import _check, _value
from bothworlds._value import from_table, to_table
from bothworlds.errors import PartError, StateError, UnknownNameError
from bothworlds.policies.barbar import BARBAR as BARBAR
from bothworlds.policies.base import Policy as Policy
from bothworlds.policies.base import does_not_fit
from bothworlds.policies.comb_ucb1 import CombUCB1 as CombUCB1
from bothworlds.policies.decoupled import Avner as Avner
from bothworlds.policies.decoupled import DecoupledTsallisINF as DecoupledTsallisINF
from bothworlds.policies.delayed_tsallis_inf import DelayedTsallisINF as DelayedTsallisINF
from bothworlds.policies.discounted_thompson import DiscountedThompson as DiscountedThompson
from bothworlds.policies.elimination_race import EliminationRace as EliminationRace
from bothworlds.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from bothworlds.policies.exp3_p import EXP3P as EXP3P
from bothworlds.policies.exp3_plus_plus import EXP3PlusPlus as EXP3PlusPlus
from bothworlds.policies.exp3_s import EXP3S as EXP3S
from bothworlds.policies.ftrl.aliases import EXP3 as EXP3
from bothworlds.policies.ftrl.aliases import EXP3IX as EXP3IX
from bothworlds.policies.ftrl.aliases import INF as INF
from bothworlds.policies.ftrl.aliases import ITH22 as ITH22
from bothworlds.policies.ftrl.aliases import LBINFV as LBINFV
from bothworlds.policies.ftrl.aliases import BroadOMD as BroadOMD
from bothworlds.policies.ftrl.aliases import CountedBarrier as CountedBarrier
from bothworlds.policies.ftrl.aliases import HybridINF as HybridINF
from bothworlds.policies.ftrl.aliases import Ito21 as Ito21
from bothworlds.policies.ftrl.aliases import LightBarrier as LightBarrier
from bothworlds.policies.ftrl.aliases import TsallisINF as TsallisINF
from bothworlds.policies.ftrl.aliases import TsallisINFOracle as TsallisINFOracle
from bothworlds.policies.ftrl.ftrl import FTRL as FTRL
from bothworlds.policies.glr_kl_ucb import GLRKLUCB as GLRKLUCB
from bothworlds.policies.graphs.hedge import AdaHedge as AdaHedge
from bothworlds.policies.graphs.hedge import Hedge as Hedge
from bothworlds.policies.graphs.matched_tsallis import MatchedTsallis as MatchedTsallis
from bothworlds.policies.insured_sampler import InsuredSampler as InsuredSampler
from bothworlds.policies.kl_ucb import KLUCB as KLUCB
from bothworlds.policies.linear.exp2 import EXP2 as EXP2
from bothworlds.policies.linear.linear_spm import LinearSPM as LinearSPM
from bothworlds.policies.python_policy import PythonPolicy as PythonPolicy
from bothworlds.policies.restarting import Restarting as Restarting
from bothworlds.policies.sao import SAO as SAO
from bothworlds.policies.sliding_window_thompson import SlidingWindowThompson as SlidingWindowThompson
from bothworlds.policies.thompson import Thompson as Thompson
from bothworlds.policies.tsallis_switch import TsallisSwitch as TsallisSwitch
from bothworlds.policies.ucb1 import UCB1 as UCB1
from bothworlds.policies.uniform import Uniform as Uniform
from bothworlds.policies.watched.watched import Watched as Watched
from bothworlds.problem import SETS, Problem

REGISTRY = Policy.registry


def names() -> list[str]:
    """The names of all policies."""
    return sorted(REGISTRY)


DEFAULT: Policy = Watched(InsuredSampler())
"""What a bandit plays that is not told what to play; docs/default.md says why."""


def usual(problem: Problem, horizon: int | None) -> Policy:
    """What a bandit plays that is not told what to play."""
    if problem.plain:
        return DEFAULT
    if SETS in problem.asks:
        return HybridINF() if horizon is None else LBINFV()
    if problem.switching_cost > 0.0:
        return TsallisSwitch(problem.switching_cost)
    if problem.shows is not None:
        return AdaHedge() if problem.shows == "all" else MatchedTsallis()
    raise does_not_fit(None, problem)


def get(name: str) -> type[Policy]:
    """The policy class of this name; an unknown name is answered with the closest one."""
    return REGISTRY[_check.known("policy", name, REGISTRY)]


def register(name: str, policy: type[Policy]) -> None:
    """Make a class known by name that was defined without one."""
    _value.register(policy, name)


def _find(kind: Any) -> type[Any]:
    parts = _value.names_in(Policy.namespace)
    return parts[_check.known("policy or part of one", kind, parts)]


def to_dict(part: Any) -> dict[str, Any]:
    """A policy (or a part of one) in plain JSON types: its name and its fields."""
    return to_table(part)


def from_dict(data: Any) -> Any:
    """The policy (or part) that :func:`to_dict` described."""
    if not isinstance(data, dict) or "kind" not in data:
        raise StateError(f"a policy must be a table with a 'kind', got {data!r}")
    kind = data["kind"]
    is_known = isinstance(kind, str) and kind in _value.names_in(Policy.namespace)
    try:
        return from_table(data, _find, family=None if is_known else Policy)
    except PartError as error:
        unknown = isinstance(error.error, UnknownNameError)
        own = ". One of your own is known once the file that defines it is imported" if unknown else ""
        place = f"{'.'.join(error.location)}: " if error.location else ""
        raise StateError(f"the policy {kind!r} cannot be restored: {place}{error}{own}") from error
