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
from bothworlds.policies import (
    EXP3,
    EXP3IX,
    FTRL,
    INF,
    ITH22,
    LBINFV,
    UCB1,
    Avner,
    BroadOMD,
    DecoupledTsallisINF,
    EXP3PlusPlus,
    Ito21,
    LightBarrier,
    Policy,
    TsallisINF,
    TsallisINFOracle,
)
from bothworlds.policies.estimators import CappedBaseline, Estimator, ImplicitExploration, ImportanceWeighted
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
    "EXP3",
    "EXP3IX",
    "FTRL",
    "INF",
    "ITH22",
    "LBINFV",
    "UCB1",
    "Avner",
    "Bandit",
    "BothworldsError",
    "BroadOMD",
    "CappedBaseline",
    "CentredTsallis",
    "DecoupledTsallisINF",
    "EXP3PlusPlus",
    "Estimator",
    "Hybrid",
    "ImplicitExploration",
    "ImportanceWeighted",
    "Ito21",
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
    "TsallisINFOracle",
    "__version__",
    "errors",
    "policies",
    "replay",
    "solve",
]
