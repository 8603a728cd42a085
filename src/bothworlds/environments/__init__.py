"""Environments: one file and one line of the table below each."""

from __future__ import annotations

from bothworlds import _check
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
    "get",
    "names",
]
