"""Environments: a file each, and a line below; ``class Beta(Environment, name="beta")`` registers itself."""

from __future__ import annotations

from typing import Any

from bothworlds import _check, _value
from bothworlds._value import from_table, to_table
from bothworlds.environments.alternating import Alternating as Alternating
from bothworlds.environments.base import Environment as Environment
from bothworlds.environments.bernoulli import Bernoulli as Bernoulli
from bothworlds.environments.beta import Beta as Beta
from bothworlds.environments.change_points import ChangePoints as ChangePoints
from bothworlds.environments.corrupted import Corrupted as Corrupted
from bothworlds.environments.delayed import Delayed as Delayed
from bothworlds.environments.deterministic_killer import DeterministicKiller as DeterministicKiller
from bothworlds.environments.discrete import Discrete as Discrete
from bothworlds.environments.drifting import Drifting as Drifting
from bothworlds.environments.faked import Faked as Faked
from bothworlds.environments.favorite_attack import FavoriteAttack as FavoriteAttack
from bothworlds.environments.gem import Gem as Gem
from bothworlds.environments.logged import Logged as Logged
from bothworlds.environments.loss_table import LossTable as LossTable
from bothworlds.environments.minimax import Minimax as Minimax
from bothworlds.environments.problems import FeedbackGraph as FeedbackGraph
from bothworlds.environments.problems import SemiBandit as SemiBandit
from bothworlds.environments.python_environment import PythonEnvironment as PythonEnvironment
from bothworlds.environments.random_walk import RandomWalk as RandomWalk
from bothworlds.environments.seasonal import Seasonal as Seasonal
from bothworlds.environments.sleeping import Sleeping as Sleeping
from bothworlds.environments.stochastically_constrained import (
    StochasticallyConstrained as StochasticallyConstrained,
)
from bothworlds.environments.switching import Switching as Switching
from bothworlds.environments.switching_cost import SwitchingCost as SwitchingCost
from bothworlds.environments.threshold_adversary import ThresholdAdversary as ThresholdAdversary
from bothworlds.environments.truncated_normal import TruncatedNormal as TruncatedNormal
from bothworlds.errors import PartError, StateError

REGISTRY = Environment.registry


def names() -> list[str]:
    """The names of all environments."""
    return sorted(REGISTRY)


def get(name: str) -> type[Environment]:
    """The environment class of this name; an unknown name is answered with the closest one."""
    return REGISTRY[_check.known("environment", name, REGISTRY)]


def register(name: str, environment: type[Environment]) -> None:
    """Make a class known by name that was defined without one."""
    _value.register(environment, name)


def to_dict(environment: Environment) -> dict[str, Any]:
    """An environment in plain JSON types: its name and its fields."""
    return to_table(environment)


def from_dict(data: Any) -> Environment:
    """The environment that :func:`to_dict` described."""
    if not isinstance(data, dict) or "kind" not in data:
        raise StateError(f"an environment must be a table with a 'kind', got {data!r}")
    try:
        built: Environment = from_table(data, get)
    except PartError as error:
        raise StateError(f"the environment {error.kind!r} cannot be restored: {error}") from error
    return built
