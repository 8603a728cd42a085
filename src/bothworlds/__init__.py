"""Multi-armed bandits that need not know whether the world is stochastic or adversarial.

>>> import bothworlds as bw
>>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
>>> pull = bandit.pull()
>>> bandit.update(pull, reward=1.0)
"""

from bothworlds import environments, errors, policies
from bothworlds._version import __version__
from bothworlds.bandit import Bandit, Pull
from bothworlds.errors import BothworldsError
from bothworlds.policies import (
    BARBAR,
    EXP3P,
    FTRL,
    INF,
    KLUCB,
    SAO,
    UCB1,
    DecoupledTsallisINF,
    EliminationRace,
    EpsilonGreedy,
    LightBarrier,
    Policy,
    Thompson,
    TsallisINF,
    Uniform,
)
from bothworlds.policies.estimators import CappedBaseline, Estimator, ImportanceWeighted
from bothworlds.simplex.regularizers import Hybrid, LogBarrier, Regularizer, Shannon, Tsallis
from bothworlds.simplex.solve import Solution, solve
from bothworlds.simulate import Run, Trace, replay, simulate

__all__ = [
    "BARBAR",
    "EXP3P",
    "FTRL",
    "INF",
    "KLUCB",
    "SAO",
    "UCB1",
    "Bandit",
    "BothworldsError",
    "CappedBaseline",
    "DecoupledTsallisINF",
    "EliminationRace",
    "EpsilonGreedy",
    "Estimator",
    "Hybrid",
    "ImportanceWeighted",
    "LightBarrier",
    "LogBarrier",
    "Policy",
    "Pull",
    "Regularizer",
    "Run",
    "Shannon",
    "Solution",
    "Thompson",
    "Trace",
    "Tsallis",
    "TsallisINF",
    "Uniform",
    "__version__",
    "environments",
    "errors",
    "policies",
    "replay",
    "simulate",
    "solve",
]
