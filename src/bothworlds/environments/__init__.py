"""Environments: one line of the table below each."""

from __future__ import annotations

from bothworlds import _check
from bothworlds.environments.adaptive import DeterministicKiller, FavouriteAttack, ThresholdAdversary
from bothworlds.environments.base import Environment
from bothworlds.environments.constrained import StochasticallyConstrained
from bothworlds.environments.corrupted import Corrupted
from bothworlds.environments.delayed import Delayed
from bothworlds.environments.logged import Logged
from bothworlds.environments.moving import Drifting, Switching
from bothworlds.environments.stationary import Bernoulli, Beta, Discrete, Minimax, TruncatedNormal
from bothworlds.environments.table import LossTable, PythonEnvironment

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
