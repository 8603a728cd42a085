"""Learning rates γ_i, the second part of FTRL: one class for each schedule, usable with any regularizer.

A schedule becomes a ``NamedTuple`` of numbers, among them ``horizon``, with kernels chosen by its type:
``begin_rates`` before the first round and after a restart, ``note_error`` for every observation, and
``advance_rates`` at the end of every round. A larger γ means smaller steps.
"""

from __future__ import annotations

from bothworlds.policies.ftrl.rates.base import CONTINUE as CONTINUE
from bothworlds.policies.ftrl.rates.base import UNUSED as UNUSED
from bothworlds.policies.ftrl.rates.base import Rates as Rates
from bothworlds.policies.ftrl.rates.base import advance_rates as advance_rates
from bothworlds.policies.ftrl.rates.base import begin_rates as begin_rates
from bothworlds.policies.ftrl.rates.base import join_rates as join_rates
from bothworlds.policies.ftrl.rates.base import log_arms as log_arms
from bothworlds.policies.ftrl.rates.base import log_horizon as log_horizon
from bothworlds.policies.ftrl.rates.base import note_error as note_error
from bothworlds.policies.ftrl.rates.base import rest_rates as rest_rates
from bothworlds.policies.ftrl.rates.base import same_for_all as same_for_all
from bothworlds.policies.ftrl.rates.common import CommonRateParameters as CommonRateParameters
from bothworlds.policies.ftrl.rates.common import ConstantRate as ConstantRate
from bothworlds.policies.ftrl.rates.common import RootRate as RootRate
from bothworlds.policies.ftrl.rates.common import SlowRootRate as SlowRootRate
from bothworlds.policies.ftrl.rates.errors import DeviationRates as DeviationRates
from bothworlds.policies.ftrl.rates.errors import ErrorWeightedRates as ErrorWeightedRates
from bothworlds.policies.ftrl.rates.errors import HalvingRate as HalvingRate
from bothworlds.policies.ftrl.rates.errors import VarianceRates as VarianceRates
from bothworlds.policies.ftrl.rates.gaps import GapTunedRates as GapTunedRates
from bothworlds.policies.ftrl.rates.paper import PaperRateParameters as PaperRateParameters
from bothworlds.policies.ftrl.rates.paper import PaperRates as PaperRates
from bothworlds.policies.ftrl.rates.paper import accumulate as accumulate
from bothworlds.policies.ftrl.rates.paper import coefficient as coefficient
from bothworlds.policies.ftrl.rates.play import CountedRateParameters as CountedRateParameters
from bothworlds.policies.ftrl.rates.play import CountedRates as CountedRates
from bothworlds.policies.ftrl.rates.play import EntropyRate as EntropyRate
from bothworlds.policies.ftrl.rates.play import counted_rate as counted_rate

__all__ = [
    "ConstantRate",
    "CountedRates",
    "DeviationRates",
    "EntropyRate",
    "ErrorWeightedRates",
    "GapTunedRates",
    "HalvingRate",
    "PaperRates",
    "Rates",
    "RootRate",
    "SlowRootRate",
    "VarianceRates",
]


def __dir__() -> list[str]:
    return __all__
