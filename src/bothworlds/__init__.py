"""Multi-armed bandits that need not know whether the world is stochastic or adversarial.

>>> import bothworlds as bw
>>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
>>> pull = bandit.pull()
>>> bandit.update(pull, reward=1.0)
"""

from bothworlds import errors, policies
from bothworlds._version import __version__
from bothworlds.bandit import Bandit, Pull
from bothworlds.errors import BothworldsError
from bothworlds.policies import FTRL, INF, UCB1, DecoupledTsallisINF, LightBarrier, Policy, TsallisINF
from bothworlds.policies.estimators import CappedBaseline, Estimator, ImportanceWeighted
from bothworlds.simplex.regularizers import (
    CentredTsallis,
    Hybrid,
    LogBarrier,
    Regularizer,
    Shannon,
    Tsallis,
)
from bothworlds.simplex.solve import Solution, solve
from bothworlds.simulate import Trace, replay

__all__ = [
    "FTRL",
    "INF",
    "UCB1",
    "Bandit",
    "BothworldsError",
    "CappedBaseline",
    "CentredTsallis",
    "DecoupledTsallisINF",
    "Estimator",
    "Hybrid",
    "ImportanceWeighted",
    "LightBarrier",
    "LogBarrier",
    "Policy",
    "Pull",
    "Regularizer",
    "Shannon",
    "Solution",
    "Trace",
    "Tsallis",
    "TsallisINF",
    "__version__",
    "errors",
    "policies",
    "replay",
    "solve",
]
