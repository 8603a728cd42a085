"""``bw.FTRL``: Algorithm 1 of the paper, from parts."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from bothworlds._jit import require_kernels
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.policies.ftrl.estimators import IMPORTANCE_WEIGHTED, Estimator, ImportanceWeighted, estimate
from bothworlds.policies.ftrl.kernel import FTRLParameters
from bothworlds.policies.ftrl.many import with_many_arms
from bothworlds.policies.ftrl.predictions import OptimisticParameters, Predictions, part_of_error
from bothworlds.policies.ftrl.rates import PaperRates, Rates, advance_rates, begin_rates, same_for_all
from bothworlds.problem import PLAIN, Problem
from bothworlds.settings import NonNegative, Positive, UnitInterval
from bothworlds.simplex.regularizers import Constants, Regularizer
from bothworlds.simplex.regularizers.base import require_regularizer
from bothworlds.simplex.steps import choose_step


class Leader(Policy):
    """Base class of FTRL and of the policies that are values of it."""

    accountable: ClassVar[bool] = True
    fixed_arms: ClassVar[str | None] = None

    def resolve(self, n_arms: int, horizon: int | None, problem: Problem = PLAIN) -> Any:
        """The parameters, or for many arms those of a machine with the same distribution, if there is one."""
        return with_many_arms(super().resolve(n_arms, horizon, problem))


@dataclass(frozen=True, repr=False)
class FTRL(Leader, name="ftrl"):
    """Follow the regularized leader: Algorithm 1 of Jin, Liu and Luo (2023), and whatever its parts can make.

    In round t = 1, 2, … the policy computes

        p^t = argmin over the simplex of  <p, Σ_{τ<t} ℓ̂^τ> + Σ_i γ_i^t ψ(p_i) − C Σ_i log p_i ,

    draws an arm a from p^t, observes its loss ℓ_a in [0, 1], and estimates all losses. It has three parts:
    the regularizer ψ, the rates γ and the estimator ℓ̂. The paper's rates and estimator are

        γ_i^t = θ · √(1 + Σ_{τ<t} max(p_i^τ, 1/T)^{1−2α})   and   ℓ̂_i = 1[i = a]·ℓ_a/p_a .

    It needs no knowledge of whether losses are stochastic or adversarial, and no uniqueness of the best arm.

    Parameters
    ----------
    regularizer:
        ψ: ``LogBarrier()``: −log p, ``Tsallis(beta)``: −p^β/(1−β), ``Shannon()``: p·log(p/e), or another.
    constants:
        The short way to the paper's rates and C:
        ``"paper"``: the theorems' C, θ, α (with the corrections the paper's own lemmas need:
        C = 162·max(1, …)). Guaranteed, and nearly uniform until T ≫ 162·K·log T/Δ: for studying the theorem.
        ``"printed"``: the values exactly as printed.
        ``"light"``: C = 1 with the paper's θ and α. No theorem covers C = 1; it is what works in practice.
        There is no default: say which, give all three numbers, or give ``rates``.

        ============  =====================  ==============  =======
        regularizer   C (paper)              θ               α
        ============  =====================  ==============  =======
        LogBarrier    162                    1/√(log T)      0
        Tsallis(β)    162·max(1, β/(1−β))    √((1−β)/β)      β
        Shannon       162·max(1, log K)      1/√(log T)      1
        ============  =====================  ==============  =======
    log_barrier, theta, alpha:
        C ≥ 0, θ > 0, α in [0, 1]. Each, where given, replaces that of ``constants``.
    rates:
        In place of ``constants``, ``theta`` and ``alpha``: any rates of ``bw.rates``. C is then
        ``log_barrier``, or 0.
    estimator:
        Any of ``bw.estimators``; by default importance weighting, as above.
    predictions:
        Predictions m of the next losses, which the leader adds to the estimates (optimistic FTRL):
        ``bw.predictions.SteadyPredictions()`` or ``MeanPredictions()``. With importance weighting only.

    Notes
    -----
    Where T matters to the paper's rates (through log T or the clip 1/T) and the horizon is unknown, the
    policy restarts at horizons T_0 = max(4, K), T_{k+1} = T_k², which keeps both guarantees. β = α = ½ needs
    no horizon.

    Examples
    --------
    >>> import bothworlds as bw
    >>> policy = bw.FTRL(bw.Tsallis(beta=0.7), constants="light")
    >>> trace = bw.replay(policy, n_arms=3, horizon=100, arms=[0, 1], losses=[1.0, 0.0])
    >>> trace.p.round(3)                        # before rounds 1, 2 and 3
    array([[0.333, 0.333, 0.333],
           [0.207, 0.396, 0.396],
           [0.22 , 0.39 , 0.39 ]])

    Another policy from other parts:

    >>> policy = bw.FTRL(bw.Shannon(), rates=bw.rates.RootRate(1.0), estimator=bw.estimators.CappedBaseline())
    >>> bw.replay(policy, n_arms=2, arms=[0], losses=[1.0]).p.round(3)
    array([[0.5  , 0.5  ],
           [0.237, 0.763]])

    References
    ----------
    T. Jin, J. Liu, H. Luo: Improved Best-of-Both-Worlds Guarantees for Multi-Armed Bandits. NeurIPS 2023.
    """

    regularizer: Regularizer
    _: KW_ONLY
    constants: Literal["paper", "printed", "light"] | None = None
    log_barrier: NonNegative | None = None
    theta: Positive | None = None
    alpha: UnitInterval | None = None
    rates: Rates | None = None
    estimator: Estimator = IMPORTANCE_WEIGHTED
    predictions: Predictions | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_regularizer(self.regularizer)
        missing = [name for name in ("log_barrier", "theta", "alpha") if getattr(self, name) is None]
        if self.rates is not None:
            extra = [name for name in ("constants", "theta", "alpha") if getattr(self, name) is not None]
            if extra:
                raise InvalidArgumentError("rates", self.rates, f"None where {extra[0]} is given")
        elif self.constants is None and missing:
            raise InvalidArgumentError(
                "constants",
                None,
                "given, or all of log_barrier, theta and alpha, or rates",
                got=f"None without {', '.join(missing)}",
                fix="give log_barrier, theta and alpha as numbers, or rates: no theorem of the paper covers "
                f"{self.regularizer!r}"
                if type(self.regularizer).constants is Regularizer.constants
                else "constants='light' takes log_barrier=1 with the paper's rates: low regret in practice, "
                "no theorem. constants='paper' takes the theorems' values: guaranteed, but close to uniform "
                "play until T is huge. constants='printed' takes the paper's values without the corrections "
                "its lemmas need.",
            )
        if self.predictions is not None and not isinstance(self.estimator, ImportanceWeighted):
            allowed = "ImportanceWeighted() where there are predictions"
            raise InvalidArgumentError("estimator", self.estimator, allowed)

    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """All parts in numbers for this many arms and this horizon, with the fastest step for them."""
        log_barrier, rates = self.log_barrier or 0.0, self.rates
        if rates is None:
            log_barrier, rates = self._paper(n_arms, horizon)
        regularizer, rate = self.regularizer.parameters(), rates.parameters(n_arms, horizon)
        require_kernels(rates, rate, {begin_rates: "", advance_rates: ""})
        estimator = self.estimator.parameters()
        require_kernels(self.estimator, estimator, {estimate: ""})
        step = choose_step(regularizer, log_barrier, same_for_all(rate), n_arms)
        ftrl = FTRLParameters(regularizer, estimator, rate, log_barrier, n_arms, step)
        if self.predictions is None:
            return ftrl
        predictions = self.predictions.parameters()
        require_kernels(self.predictions, predictions, {part_of_error: ""})
        return OptimisticParameters(ftrl, predictions)

    def _paper(self, n_arms: int, horizon: int | None) -> tuple[float, Rates]:
        """C and the paper's rates."""
        preset = Constants(math.nan, math.nan, False, math.nan)  # all three are given
        if self.constants is not None:
            preset = self.regularizer.constants(self.constants, n_arms)
        if self.constants == "light":
            preset = preset._replace(log_barrier=1.0)
        barrier = preset.log_barrier if self.log_barrier is None else self.log_barrier
        alpha = preset.alpha if self.alpha is None else self.alpha
        if self.theta is not None:
            return barrier, PaperRates(self.theta, alpha)
        if self.constants == "printed" and preset.over_log and horizon is not None:  # log T, even below 1
            if horizon < 2:
                raise InvalidArgumentError(
                    "horizon",
                    horizon,
                    "at least 2 with constants='printed', whose theta is 1/√(log T)",
                    fix="constants='paper' takes log T as at least 1",
                )
            return barrier, PaperRates(preset.theta / math.sqrt(math.log(horizon)), alpha)
        return barrier, PaperRates(preset.theta, alpha, over_log=preset.over_log)


class Alias(Leader):
    """Base class of policies that are a value of FTRL."""

    def ftrl(self, n_arms: int, horizon: int | None) -> FTRL:
        """The FTRL that this policy is, for this many arms and this horizon."""
        raise NotImplementedError

    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """Those of the FTRL."""
        return self.ftrl(n_arms, horizon).parameters(n_arms, horizon)
