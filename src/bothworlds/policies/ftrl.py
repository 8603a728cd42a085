"""``bw.FTRL``: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bothworlds import _check
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.policies.estimators import Estimator, ImportanceWeighted
from bothworlds.policies.ftrl_kernel import FTRLParameters, follow
from bothworlds.policies.rates import (
    KNOWN,
    RESTARTS,
    UNUSED,
    CommonRateParameters,
    RateParameters,
    log_horizon,
)
from bothworlds.simplex.regularizers import Constants, Regularizer

IMPORTANCE_WEIGHTED = ImportanceWeighted()
PRESETS = ("paper", "printed", "light")


@dataclass(frozen=True, repr=False)
class FTRL(Policy):
    """Follow the regularized leader with arm-dependent rates: Algorithm 1 of Jin, Liu and Luo (2023).

    In round t = 1, 2, …, T the policy computes

        p^t = argmin over the simplex of  <p, Σ_{τ<t} ℓ̂^τ> + Σ_i γ_i^t ψ(p_i) − C Σ_i log p_i ,

        γ_i^t = θ · √(1 + Σ_{τ<t} max(p_i^τ, 1/T)^{1−2α}) ,

    draws an arm a from p^t, observes its loss ℓ_a in [0, 1], and estimates all losses by
    ℓ̂_i = 1[i = a]·ℓ_a/p_a. ψ is ``LogBarrier()``: −log p, ``Tsallis(beta)``: −p^β/(1−β), or
    ``Shannon()``: p·log(p/e). It needs no knowledge of whether losses are stochastic or adversarial, and
    no uniqueness of the best arm.

    Parameters
    ----------
    regularizer:
        ψ.
    constants:
        ``"paper"``: the theorems' C, θ, α (with the corrections the paper's own lemmas need:
        C = 162·max(1, …)). Guaranteed, and nearly uniform until T ≫ 162·K·log T/Δ: for studying the theorem.
        ``"printed"``: the values exactly as printed.
        ``"light"``: C = 1 with the paper's θ and α. No theorem covers C = 1; it is what works in practice.
        There is no default: say which, or give all three numbers.

        ============  =====================  ==============  =======
        regularizer   C (paper)              θ               α
        ============  =====================  ==============  =======
        LogBarrier    162                    1/√(log T)      0
        Tsallis(β)    162·max(1, β/(1−β))    √((1−β)/β)      β
        Shannon       162·max(1, log K)      1/√(log T)      1
        ============  =====================  ==============  =======
    log_barrier, theta, alpha:
        C ≥ 0, θ > 0, α in [0, 1]. Each, where given, replaces that of ``constants``.
    estimator:
        ``ImportanceWeighted()`` as above, or ``CappedBaseline()``.

    Notes
    -----
    Where T matters (through log T or the clip 1/T) and the horizon is unknown, the policy restarts at
    horizons T_0 = max(4, K), T_{k+1} = T_k², which keeps both guarantees. β = α = ½ needs no horizon.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.Tsallis(beta=0.7), constants="light")
    >>> trace = bw.replay(policy, n_arms=3, horizon=100, arms=[0, 1], losses=[1.0, 0.0])
    >>> trace.p.round(3)                        # before rounds 1, 2 and 3
    array([[0.333, 0.333, 0.333],
           [0.207, 0.396, 0.396],
           [0.22 , 0.39 , 0.39 ]])

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023.
    """

    regularizer: Regularizer
    constants: Literal["paper", "printed", "light"] | None = None
    log_barrier: float | None = None
    theta: float | None = None
    alpha: float | None = None
    estimator: Estimator = IMPORTANCE_WEIGHTED

    def __post_init__(self) -> None:
        if not isinstance(self.regularizer, Regularizer):
            raise InvalidArgumentError(
                "regularizer", self.regularizer, "LogBarrier(), Tsallis(beta), Shannon() or Hybrid(...)"
            )
        if not isinstance(self.estimator, Estimator):
            raise InvalidArgumentError(
                "estimator", self.estimator, "ImportanceWeighted() or CappedBaseline(...)"
            )
        _check.one_of("constants", self.constants, (*PRESETS, None))
        limits: dict[str, dict[str, Any]] = {
            "log_barrier": {"at_least": 0.0},
            "theta": {"above": 0.0},
            "alpha": {"at_least": 0.0, "at_most": 1.0},
        }
        missing = [name for name in limits if getattr(self, name) is None]
        for name in limits.keys() - missing:
            object.__setattr__(self, name, _check.number(name, getattr(self, name), **limits[name]))
        if self.constants is None and missing:
            raise InvalidArgumentError(
                "constants",
                None,
                "given, or all of log_barrier, theta and alpha",
                got=f"None without {', '.join(missing)}",
                fix="constants='light' takes log_barrier=1 with the paper's rates: low regret in practice, "
                "no theorem. constants='paper' takes the theorems' values: guaranteed, but close to uniform "
                "play until T is huge. constants='printed' takes the paper's values without the corrections "
                "its lemmas need.",
            )

    def parameters(self, n_arms: int, horizon: int | None) -> FTRLParameters:
        """C, θ and α in numbers, for this many arms and this horizon."""
        preset = self._preset(n_arms)
        over_log = preset.over_log and self.theta is None
        alpha = preset.alpha if self.alpha is None else self.alpha
        theta = preset.theta if self.theta is None else self.theta
        schedule, rounds = KNOWN, UNUSED
        if horizon is not None:
            rounds = float(horizon)
            if over_log:
                theta /= math.sqrt(self._log_horizon(horizon))
                over_log = False
        elif over_log or alpha != 0.5:
            schedule, rounds = RESTARTS, float(max(4, n_arms))
        rate: Any = RateParameters(theta, over_log, alpha, True, False, schedule, rounds)
        if alpha == 0.5 and not over_log:
            rate = CommonRateParameters(theta, True, rounds)
        return follow(
            self.regularizer,
            self.estimator.parameters(),
            rate,
            preset.log_barrier if self.log_barrier is None else self.log_barrier,
            n_arms,
        )

    def _preset(self, n_arms: int) -> Constants:
        if self.constants is None:
            return Constants(math.nan, math.nan, False, math.nan)  # all three are given
        constants = self.regularizer.constants(self.constants, n_arms)
        return constants._replace(log_barrier=1.0) if self.constants == "light" else constants

    def _log_horizon(self, horizon: int) -> float:
        if self.constants != "printed":
            return log_horizon(horizon)
        if horizon < 2:
            raise InvalidArgumentError(
                "horizon",
                horizon,
                "at least 2 with constants='printed', whose theta is 1/√(log T)",
                fix="constants='paper' takes log T as at least 1",
            )
        return math.log(horizon)
