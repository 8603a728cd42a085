"""Environments: one file and one line of the table below each."""

from __future__ import annotations

from typing import Any

from bothworlds import _check
from bothworlds._value import from_table, to_table
from bothworlds.environments.base import Environment
from bothworlds.environments.bernoulli import Bernoulli
from bothworlds.environments.beta import Beta
from bothworlds.environments.corrupted import Corrupted
from bothworlds.environments.delayed import Delayed
from bothworlds.environments.deterministic_killer import DeterministicKiller
from bothworlds.environments.discrete import Discrete
from bothworlds.environments.drifting import Drifting
from bothworlds.environments.favourite_attack import FavouriteAttack
from bothworlds.environments.logged import Logged
from bothworlds.environments.loss_table import LossTable
from bothworlds.environments.minimax import Minimax
from bothworlds.environments.python_environment import PythonEnvironment
from bothworlds.environments.stochastically_constrained import StochasticallyConstrained
from bothworlds.environments.switching import Switching
from bothworlds.environments.threshold_adversary import ThresholdAdversary
from bothworlds.environments.truncated_normal import TruncatedNormal
from bothworlds.errors import InvalidArgumentError, PartError, StateError

REGISTRY: dict[str, type[Environment]] = {
    "bernoulli": Bernoulli,
    "beta": Beta,
    "truncated-normal": TruncatedNormal,
    "discrete": Discrete,
    "minimax": Minimax,
    "stochastically-constrained": StochasticallyConstrained,
    "corrupted": Corrupted,
    "switching": Switching,
    "drifting": Drifting,
    "threshold-adversary": ThresholdAdversary,
    "favourite-attack": FavouriteAttack,
    "deterministic-killer": DeterministicKiller,
    "loss-table": LossTable,
    "logged": Logged,
    "delayed": Delayed,
}


def names() -> list[str]:
    """The names of all environments."""
    return sorted(REGISTRY)


def get(name: str) -> type[Environment]:
    """The environment class of this name; an unknown name is answered with the closest one."""
    return REGISTRY[_check.known("environment", name, REGISTRY)]


def register(name: str, environment: type[Environment]) -> None:
    """Make an environment of your own known by name, so that studies can name it."""
    if REGISTRY.get(name, environment) is not environment:
        raise InvalidArgumentError("name", name, "free", got=f"{name!r}, which is {REGISTRY[name].__name__}")
    REGISTRY[name] = environment


def to_dict(environment: Environment) -> dict[str, Any]:
    """An environment in plain JSON types: its registry name and its fields."""
    return to_table(environment, REGISTRY, "bothworlds.environments.register")


def from_dict(data: Any) -> Environment:
    """The environment that :func:`to_dict` described."""
    if not isinstance(data, dict) or "kind" not in data:
        raise StateError(f"an environment must be a table with a 'kind', got {data!r}")
    try:
        built: Environment = from_table(data, get)
    except PartError as error:
        raise StateError(f"the environment {error.kind!r} cannot be restored: {error}") from error
    return built


__all__ = [
    "Bernoulli",
    "Beta",
    "Corrupted",
    "Delayed",
    "DeterministicKiller",
    "Discrete",
    "Drifting",
    "Environment",
    "FavouriteAttack",
    "Logged",
    "LossTable",
    "Minimax",
    "PythonEnvironment",
    "StochasticallyConstrained",
    "Switching",
    "ThresholdAdversary",
    "TruncatedNormal",
    "from_dict",
    "get",
    "names",
    "register",
    "to_dict",
]
