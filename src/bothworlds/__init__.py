"""Multi-armed bandits that need not know whether the world is stochastic or adversarial.

>>> import bothworlds as bw
>>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
>>> pull = bandit.pull()
>>> bandit.update(pull, reward=1.0)

To play: ``Bandit`` and its kin, and ``open`` for one that a database keeps. What to play: the policies, all
of them in ``policies``; the parts of FTRL are in ``regularizers``, ``rates``, ``estimators`` and
``predictions``. To study: ``simulate`` in ``environments``, ``replay``, ``Study``; ``theory`` for bounds and
accounts of regret, ``inference`` for what decisions say about the arms. ``testing`` checks policies,
environments and regularizers of your own. What is refused raises an error of ``errors``.
"""

import importlib as _importlib
import typing as _typing

from bothworlds import errors
from bothworlds._version import __version__
from bothworlds.errors import BothworldsError

if _typing.TYPE_CHECKING:
    from bothworlds import environments, inference, policies, testing, theory
    from bothworlds.bandit import Advised, Bandit, Bandits, DecisionLog, PolicyOptimization, Pull, Pulls
    from bothworlds.environments import Environment
    from bothworlds.policies import (
        BARBAR,
        EXP2,
        EXP3,
        EXP3IX,
        EXP3P,
        EXP3S,
        FTRL,
        GLRKLUCB,
        INF,
        ITH22,
        KLUCB,
        LBINFV,
        SAO,
        UCB1,
        AdaHedge,
        Avner,
        BroadOMD,
        CombUCB1,
        CountedBarrier,
        DecoupledTsallisINF,
        DelayedTsallisINF,
        DiscountedThompson,
        EliminationRace,
        EpsilonGreedy,
        EXP3PlusPlus,
        Hedge,
        HybridINF,
        InsuredSampler,
        Ito21,
        LightBarrier,
        LinearSPM,
        MatchedTsallis,
        Policy,
        Restarting,
        SlidingWindowThompson,
        Thompson,
        TsallisINF,
        TsallisINFOracle,
        TsallisSwitch,
        Uniform,
        Watched,
    )
    from bothworlds.policies.ftrl import estimators, predictions, rates
    from bothworlds.problem import Problem
    from bothworlds.report.study import Study
    from bothworlds.service.durable import open
    from bothworlds.simplex import regularizers
    from bothworlds.simplex.regularizers import (
        Hybrid,
        LogBarrier,
        Regularizer,
        Shannon,
        Tsallis,
    )
    from bothworlds.simplex.solve import Solution, solve
    from bothworlds.simulation import Run, Trace, simulate
    from bothworlds.simulation.replay import replay

__all__ = [
    "BARBAR",
    "EXP2",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "EXP3S",
    "FTRL",
    "GLRKLUCB",
    "INF",
    "ITH22",
    "KLUCB",
    "LBINFV",
    "SAO",
    "UCB1",
    "AdaHedge",
    "Advised",
    "Avner",
    "Bandit",
    "Bandits",
    "BothworldsError",
    "BroadOMD",
    "CombUCB1",
    "CountedBarrier",
    "DecisionLog",
    "DecoupledTsallisINF",
    "DelayedTsallisINF",
    "DiscountedThompson",
    "EXP3PlusPlus",
    "EliminationRace",
    "Environment",
    "EpsilonGreedy",
    "Hedge",
    "Hybrid",
    "HybridINF",
    "InsuredSampler",
    "Ito21",
    "LightBarrier",
    "LinearSPM",
    "LogBarrier",
    "MatchedTsallis",
    "Policy",
    "PolicyOptimization",
    "Problem",
    "Pull",
    "Pulls",
    "Regularizer",
    "Restarting",
    "Run",
    "Shannon",
    "SlidingWindowThompson",
    "Solution",
    "Study",
    "Thompson",
    "Trace",
    "Tsallis",
    "TsallisINF",
    "TsallisINFOracle",
    "TsallisSwitch",
    "Uniform",
    "Watched",
    "__version__",
    "environments",
    "errors",
    "estimators",
    "inference",
    "open",
    "policies",
    "predictions",
    "rates",
    "regularizers",
    "replay",
    "simulate",
    "solve",
    "testing",
    "theory",
]


if not _typing.TYPE_CHECKING:  # type checkers see the imports above: they know what is not there
    _ROOMS = (  # of the names above, looked through in this order
        "bandit",
        "policies",
        "policies.ftrl",
        "environments",
        "simulation",
        "simplex.solve",
        "simplex.regularizers",
        "simplex",
        "problem",
    )

    _SHOWN = ("bandit", "problem", "rng", "simplex", "simulation")  # not announced, but there

    def __getattr__(name):
        """Imported when asked for: the client works without NumPy, ``Study`` and ``open`` need an extra."""
        if name in _SHOWN or name in ("environments", "inference", "policies", "testing", "theory"):
            return _importlib.import_module(f"bothworlds.{name}")
        if name == "Study":
            from bothworlds.report.study import Study  # noqa: PLC0415 - an extra

            return Study
        if name == "open":
            try:
                from bothworlds.service.durable import open  # noqa: PLC0415 - an extra
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("bothworlds"):
                    raise
                raise ImportError(f"bw.open needs {error.name}: pip install 'bothworlds[service]'") from error
            return open
        if name in __all__:
            for room in _ROOMS:
                found = vars(_importlib.import_module(f"bothworlds.{room}"))
                if name in found:
                    globals()[name] = found[name]
                    return found[name]
        raise AttributeError(f"module 'bothworlds' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
