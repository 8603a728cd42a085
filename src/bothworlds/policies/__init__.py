"""Policies: one file and one line of the table below each."""

from __future__ import annotations

from typing import Any

from bothworlds import _check
from bothworlds._value import from_table, to_table
from bothworlds.errors import InvalidArgumentError, PartError, StateError
from bothworlds.policies import estimators
from bothworlds.policies.avner import Avner
from bothworlds.policies.barbar import BARBAR
from bothworlds.policies.base import Policy
from bothworlds.policies.broad_omd import BroadOMD
from bothworlds.policies.counted_barrier import CountedBarrier
from bothworlds.policies.decoupled import DecoupledTsallisINF
from bothworlds.policies.elimination_race import EliminationRace
from bothworlds.policies.epsilon_greedy import EpsilonGreedy
from bothworlds.policies.exp3 import EXP3, EXP3IX
from bothworlds.policies.exp3_p import EXP3P
from bothworlds.policies.exp3_plus_plus import EXP3PlusPlus
from bothworlds.policies.ftrl import FTRL
from bothworlds.policies.ith22 import ITH22
from bothworlds.policies.ito21 import Ito21
from bothworlds.policies.kl_ucb import KLUCB
from bothworlds.policies.lb_inf_v import LBINFV
from bothworlds.policies.light_barrier import LightBarrier
from bothworlds.policies.sao import SAO
from bothworlds.policies.thompson import Thompson
from bothworlds.policies.tsallis_inf import INF, TsallisINF
from bothworlds.policies.tsallis_inf_oracle import TsallisINFOracle
from bothworlds.policies.ucb1 import UCB1
from bothworlds.policies.uniform import Uniform
from bothworlds.simplex import regularizers

REGISTRY: dict[str, type[Policy]] = {
    "light-barrier": LightBarrier,
    "ftrl": FTRL,
    "tsallis-inf": TsallisINF,
    "tsallis-inf-oracle": TsallisINFOracle,
    "inf": INF,
    "decoupled-tsallis-inf": DecoupledTsallisINF,
    "avner": Avner,
    "exp3": EXP3,
    "exp3-ix": EXP3IX,
    "exp3-plus-plus": EXP3PlusPlus,
    "broad-omd": BroadOMD,
    "counted-barrier": CountedBarrier,
    "ito21": Ito21,
    "lb-inf-v": LBINFV,
    "ith22": ITH22,
    "ucb1": UCB1,
    "kl-ucb": KLUCB,
    "thompson": Thompson,
    "epsilon-greedy": EpsilonGreedy,
    "uniform": Uniform,
    "exp3-p": EXP3P,
    "sao": SAO,
    "elimination-race": EliminationRace,
    "barbar": BARBAR,
}


def names() -> list[str]:
    """The names of all policies."""
    return sorted(REGISTRY)


def get(name: str) -> type[Policy]:
    """The policy class of this name; an unknown name is answered with the closest one."""
    return REGISTRY[_check.known("policy", name, REGISTRY)]


def register(name: str, policy: type[Policy]) -> None:
    """Make a policy of your own known by name: to bandits that are saved and loaded, and to studies."""
    taken = _parts().get(name, policy)
    if taken is not policy:
        raise InvalidArgumentError("name", name, "free", got=f"{name!r}, which is {taken.__name__}")
    REGISTRY[name] = policy


def _parts() -> dict[str, type[Any]]:
    return {**REGISTRY, **regularizers.REGISTRY, **estimators.REGISTRY}


def _find(kind: Any) -> type[Any]:
    return _parts()[_check.known("policy", kind, _parts())]


def to_dict(part: Any) -> dict[str, Any]:
    """A policy (or a part of one) in plain JSON types: its registry name and its fields."""
    return to_table(part, _parts(), "bothworlds.policies.register")


def from_dict(data: Any) -> Any:
    """The policy (or part) that :func:`to_dict` described."""
    if not isinstance(data, dict) or "kind" not in data:
        raise StateError(f"a policy must be a table with a 'kind', got {data!r}")
    try:
        return from_table(data, _find)
    except PartError as error:
        raise StateError(f"the policy {error.kind!r} cannot be restored: {error}") from error


__all__ = [
    "BARBAR",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "FTRL",
    "INF",
    "ITH22",
    "KLUCB",
    "LBINFV",
    "SAO",
    "UCB1",
    "Avner",
    "BroadOMD",
    "CountedBarrier",
    "DecoupledTsallisINF",
    "EXP3PlusPlus",
    "EliminationRace",
    "EpsilonGreedy",
    "Ito21",
    "LightBarrier",
    "Policy",
    "Thompson",
    "TsallisINF",
    "TsallisINFOracle",
    "Uniform",
    "from_dict",
    "get",
    "names",
    "register",
    "to_dict",
]
