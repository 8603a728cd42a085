"""Independent, identically distributed losses: Bernoulli, Beta, truncated normal, discrete."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray
from bothworlds.environments.base import Environment, cost_of, loss_of
from bothworlds.errors import InvalidArgument
from bothworlds.variates import sample_beta, sample_truncated_normal


def check_design(n_arms: Any, gap: Any, optimal: Any) -> None:
    """The three numbers of a two-level design: ``optimal`` of ``n_arms`` arms are better by ``gap``."""
    _check.integer("n_arms", n_arms, at_least=1)
    _check.number("gap", gap, above=0.0, at_most=1.0)
    _check.integer("optimal", optimal, at_least=1)
    if optimal > n_arms:
        raise InvalidArgument(f"optimal must be at most the number of arms, {n_arms}, got {optimal}")


def check_means(name: str, means: Any) -> tuple[float, ...]:
    """Numbers in [0, 1], one per arm, at least one."""
    values = _check.vector(name, means, at_least=0.0, at_most=1.0)
    if values.size == 0:
        raise InvalidArgument(f"{name} must hold at least one arm, got an empty sequence")
    return tuple(values.tolist())


@dataclass(frozen=True, repr=False)
class Stationary(Environment):
    """Base class of worlds whose arms have fixed means."""

    @abstractmethod
    def mean_losses(self) -> FloatArray:
        """The mean loss of every arm."""

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.mean_losses().size)

    @property
    def gaps(self) -> FloatArray:
        """Mean loss of every arm minus that of the best."""
        means = self.mean_losses()
        gaps = means - means.min()
        return np.where(gaps < 1e-12, 0.0, gaps)  # means that differ by rounding are equal


# --- Bernoulli ------------------------------------------------------------------------------------------


class BernoulliParameters(NamedTuple):
    """Means and gaps of all arms."""

    means: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Bernoulli(Stationary):
    """Bernoulli losses, independent from round to round. (Within a round one uniform decides for all arms.)

    Give the mean loss of every arm, or a two-level design: the first ``optimal`` arms have mean
    level − gap/2, the others level + gap/2. Level ½ is the stochastic world of Zimmert and Seldin (2021),
    with means (1−Δ)/2 and (1+Δ)/2.

    Parameters
    ----------
    means:
        Mean losses in [0, 1], one per arm.
    n_arms, gap, optimal, level:
        The two-level design.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bw.environments.Bernoulli(n_arms=4, gap=0.2, optimal=2).gaps.round(3)
    array([0. , 0. , 0.2, 0.2])
    """

    means: Sequence[float] | None = None
    n_arms: int = 0
    gap: float | None = None
    optimal: int = 1
    level: float = 0.5

    def __post_init__(self) -> None:
        if (self.means is None) == (self.gap is None):
            raise InvalidArgument(
                f"Bernoulli needs either means=[...], or n_arms=... and gap=..., got {self!r}"
            )
        if self.gap is not None:
            check_design(self.n_arms, self.gap, self.optimal)
            _check.number("level", self.level, at_least=0.0, at_most=1.0)
            if self.level - self.gap / 2 < 0.0 or self.level + self.gap / 2 > 1.0:
                raise InvalidArgument(
                    "level must leave room for gap/2 on both sides within [0, 1], "
                    f"got level={self.level}, gap={self.gap}"
                )
            return
        means = check_means("means", self.means)
        if self.n_arms not in (0, len(means)):
            raise InvalidArgument(f"n_arms must be the number of means, {len(means)}, got {self.n_arms}")
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "n_arms", len(means))

    def mean_losses(self) -> FloatArray:
        """The mean loss of every arm."""
        if self.means is not None:
            return np.array(self.means)
        assert self.gap is not None
        means = np.full(self.n_arms, self.level + self.gap / 2)
        means[: self.optimal] = self.level - self.gap / 2
        return means

    def parameters(self, horizon: int) -> BernoulliParameters:
        """Means and gaps."""
        return BernoulliParameters(self.mean_losses(), self.gaps)


@dataclass(frozen=True, repr=False, kw_only=True)
class Minimax(Environment):
    """The hardest iid world for its horizon: one best arm, better by min(¼, √(K/T)), Bernoulli losses.

    No policy has regret below a constant times √(KT) on all such worlds (Auer et al. 2002); for a minimax
    optimal one, regret/√(KT) is flat in T. The gap depends on the horizon of the run.
    """

    n_arms: int

    def __post_init__(self) -> None:
        _check.integer("n_arms", self.n_arms, at_least=1)

    def at(self, horizon: int) -> Bernoulli:
        """The Bernoulli world for this horizon."""
        return Bernoulli(n_arms=self.n_arms, gap=min(0.25, math.sqrt(self.n_arms / horizon)))

    def parameters(self, horizon: int) -> BernoulliParameters:
        """Those of the Bernoulli world."""
        return self.at(horizon).parameters(horizon)


@loss_of.register(BernoulliParameters)
def _(env: BernoulliParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    # one uniform serves all arms of a round: only one of them is seen, so their joint law does not matter
    return 1.0 if uniforms[0] < env.means[arm] else 0.0


# --- other bounded distributions ------------------------------------------------------------------------


class BetaParameters(NamedTuple):
    """Shape parameters and gaps of all arms."""

    a: FloatArray
    b: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Beta(Stationary):
    """Independent Beta losses: arm i has Beta(c·m_i, c·(1−m_i)) with mean m_i and concentration c.

    Parameters
    ----------
    means:
        Mean losses in (0, 1).
    concentration:
        c; the variance is m(1−m)/(1+c). Both shape parameters must be at least 1.
    """

    means: Sequence[float]
    concentration: float = 10.0

    def __post_init__(self) -> None:
        means = check_means("means", self.means)
        object.__setattr__(self, "means", means)
        room = min(min(m, 1.0 - m) for m in means)
        if room == 0.0:
            raise InvalidArgument(
                f"means must be inside (0, 1), got {self.means!r}; for 0 and 1 use Bernoulli"
            )
        needed = 1.0 / room
        fix = "both shape parameters c·m and c·(1−m) must be at least 1 for every mean m"
        _check.number("concentration", self.concentration, at_least=needed * (1 - 1e-12), fix=fix)

    def mean_losses(self) -> FloatArray:
        """The means."""
        return np.array(self.means)

    def parameters(self, horizon: int) -> BetaParameters:
        """Shape parameters and gaps."""
        means = self.mean_losses()
        a, b = self.concentration * means, self.concentration * (1.0 - means)
        return BetaParameters(np.maximum(a, 1.0), np.maximum(b, 1.0), self.gaps)


@loss_of.register(BetaParameters)
def _(env: BetaParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return sample_beta(env.a[arm], env.b[arm], uniforms[0], 0)


class TruncatedNormalParameters(NamedTuple):
    """Locations, scale and gaps."""

    locations: FloatArray
    scale: float
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class TruncatedNormal(Stationary):
    """Independent losses from normal distributions restricted to [0, 1].

    Parameters
    ----------
    locations:
        Where the untruncated normals are centred, in [0, 1]. The means differ; ``mean_losses`` has them.
    scale:
        Standard deviation before truncation, in (0, 1].
    """

    locations: Sequence[float]
    scale: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "locations", check_means("locations", self.locations))
        _check.number("scale", self.scale, above=0.0, at_most=1.0)

    def mean_losses(self) -> FloatArray:
        """μ + σ·(φ(α) − φ(β))/(Φ(β) − Φ(α)) with α = −μ/σ, β = (1−μ)/σ."""
        means = []
        for mu in self.locations:
            low, high = -mu / self.scale, (1.0 - mu) / self.scale
            density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (low, high)]
            mass = 0.5 * (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2)))
            means.append(mu + self.scale * (density[0] - density[1]) / mass)
        return np.array(means)

    def parameters(self, horizon: int) -> TruncatedNormalParameters:
        """Locations, scale and gaps."""
        return TruncatedNormalParameters(np.array(self.locations), float(self.scale), self.gaps)


@loss_of.register(TruncatedNormalParameters)
def _(env: TruncatedNormalParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return sample_truncated_normal(env.locations[arm], env.scale, uniforms[0], 0)


class DiscreteParameters(NamedTuple):
    """Values, cumulative probabilities of every arm, and gaps."""

    values: FloatArray
    cumulative: FloatArray
    gaps: FloatArray


@dataclass(frozen=True, repr=False, kw_only=True)
class Discrete(Stationary):
    """Independent losses that take finitely many values.

    Parameters
    ----------
    values:
        The possible losses, in [0, 1].
    probabilities:
        One row per arm: the probability of each value.
    """

    values: Sequence[float]
    probabilities: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", check_means("values", self.values))
        if not isinstance(self.probabilities, Sequence | np.ndarray):
            raise InvalidArgument(
                f"probabilities must be a sequence with one row per arm, got {self.probabilities!r}"
            )
        rows = []
        for i, row in enumerate(self.probabilities):
            p = _check.vector(f"probabilities[{i}]", row, size=len(self.values), at_least=0.0)
            if abs(p.sum() - 1.0) > 1e-9:
                raise InvalidArgument(f"probabilities[{i}] must sum to 1, got {p.sum():g}")
            rows.append(tuple(p.tolist()))
        if not rows:
            raise InvalidArgument("probabilities must hold at least one arm, got an empty sequence")
        object.__setattr__(self, "probabilities", tuple(rows))

    def mean_losses(self) -> FloatArray:
        """Σ value·probability."""
        # correctly rounded: arms that are alike get the very same mean, so none of them seems suboptimal
        products = np.array(self.probabilities) * np.array(self.values)
        return np.array([math.fsum(row) for row in products])

    def parameters(self, horizon: int) -> DiscreteParameters:
        """Values, cumulative probabilities and gaps."""
        return DiscreteParameters(np.array(self.values), np.cumsum(self.probabilities, axis=1), self.gaps)


@loss_of.register(DiscreteParameters)
def _(env: DiscreteParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    for j in range(env.values.size - 1):
        if uniforms[0] < env.cumulative[arm, j]:
            return float(env.values[j])
    return float(env.values[-1])


# --- what they cost -------------------------------------------------------------------------------------


def _gap(env: Any, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return env.gaps[arm], env.gaps[arm]


for _kind in (BernoulliParameters, BetaParameters, TruncatedNormalParameters, DiscreteParameters):
    cost_of.register(_kind)(_gap)
