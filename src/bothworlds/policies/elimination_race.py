"""The multi-layer active arm elimination race: many eliminations side by side, some of them slow and safe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bothworlds._jit import FloatArray, kernel
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn, memo_of, step
from bothworlds.policies.ftrl.rates import log_horizon
from bothworlds.policies.shared.confidence import Delta, delta_or, require_horizon
from bothworlds.rng import expand
from bothworlds.simplex.kernel import CONVERGED


class RaceParameters(NamedTuple):
    """c of the confidence widths, the number of layers and the number of arms."""

    width: float
    n_layers: int
    n_arms: int


class RaceState(NamedTuple):
    """Statistics of every arm in every layer: arm i of layer l (from 0) is at l·K + i."""

    counts: FloatArray
    sums: FloatArray
    active: FloatArray
    """1 for the arms that a layer has not lost, else 0."""
    plays: FloatArray
    """The arm that each layer would play."""
    p: FloatArray
    """The distribution of the arm over the choice of the layer."""


@dataclass(frozen=True, repr=False)
class EliminationRace(Policy, name="elimination-race"):
    """The multi-layer active arm elimination race of Lykouris, Mirrokni and Paes Leme. Needs the horizon T.

    For stochastic losses of which some are corrupted. There are ⌈log2 T⌉ layers, all with all arms at first.
    Each round picks layer ℓ = 1, 2, … with probability 2^−ℓ (ℓ = 1 gets what is left over), and

    * if layer ℓ has arms, plays the one it has played least, and learns its loss in this layer alone. Then
      an arm whose mean loss in this layer exceeds that of another by more than the sum of their widths
      √(c/n) + c/n is lost to all layers up to ℓ; c = log(4·K·T·log(T)/δ);
    * if not, plays the arm that the next layer which has arms would play, and learns nothing.

    Slow layers see little of the corruption, so they do not lose the best arm, and correct the fast ones.
    Regret Õ(Σ (K·C + log T)/Δ_i), where C is the sum of the largest corruption of each round.

    What the widths rest on: the means of K arms in up to T rounds and log T layers are all within √(c/n)
    with probability 1 − δ, by Hoeffding's bound 2·exp(−2·c) and the union bound; c/n is for the corruption,
    of which a layer with 2^ℓ ≥ C sees some log(1/δ). c was checked by this argument and against published
    code, not against the paper's own text. log T counts as at least 1.

    The published algorithm draws the layer, which fixes the arm. Here the arm is drawn from the distribution
    that results, and then, by another number of the same pull, the layer from its distribution given the
    arm: layer and arm have the same joint law, and the probability of the arm is known.

    Parameters
    ----------
    delta:
        δ in (0, 1]; None is 1/T.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(2, bw.EliminationRace(), horizon=1000)
    >>> bandit.pull()  # all layers begin with the first arm
    Pull(round=1, arm=0, observe=0, probability=1)

    References
    ----------
    T. Lykouris, V. Mirrokni, R. Paes Leme: Stochastic Bandits Robust to Adversarial Corruptions. STOC 2018.
    """

    fixed_arms: ClassVar[str | None] = "its layers play the arms in turn, and wait for one that is asleep"

    delta: Delta | None = None

    def parameters(self, n_arms: int, horizon: int | None) -> RaceParameters:
        """c and the number of layers."""
        horizon = require_horizon(self, horizon, "LightBarrier()")
        inside = 4.0 * n_arms * horizon * log_horizon(horizon) / delta_or(self, horizon)
        return RaceParameters(math.log(inside), max(1, (horizon - 1).bit_length()), n_arms)


@init.register(RaceParameters)
def _(params: RaceParameters) -> RaceState:
    n, layers = params.n_arms, params.n_layers
    size = layers * n
    state = RaceState(np.zeros(size), np.zeros(size), np.ones(size), np.zeros(layers), np.zeros(n))
    arrange_layers(params, state)
    return state


@kernel
def layer_probability(params: RaceParameters, layer: int) -> float:
    """2^−ℓ, and what is left over for the first (layers count from 0)."""
    probability = 0.5 ** (layer + 1)
    return probability + 0.5**params.n_layers if layer == 0 else probability


@kernel
def least_played(params: RaceParameters, state: RaceState, layer: int) -> int:
    """The active arm that ``layer`` has played least; −1 if it has none."""
    arm = -1
    fewest = math.inf
    for i in range(params.n_arms):
        at = layer * params.n_arms + i
        if state.active[at] == 1.0 and state.counts[at] < fewest:
            fewest = state.counts[at]
            arm = i
    return arm


@kernel
def arrange_layers(params: RaceParameters, state: RaceState) -> None:
    """What each layer would play, and the distribution of the arm."""
    state.p[:] = 0.0
    following = 0
    for layer in range(params.n_layers - 1, -1, -1):  # the last layer never runs out of arms
        arm = least_played(params, state, layer)
        following = arm if arm >= 0 else following
        state.plays[layer] = following
        state.p[following] += layer_probability(params, layer)


draws_from_its_p(RaceParameters, weighs_losses=False)


@memo_of.register(RaceParameters)
def _(params: RaceParameters, state: RaceState, arm: int, uniforms: FloatArray) -> float:
    # The layer, given the arm. An arm that no layer plays (in a replay) may come from any layer.
    forced = state.p[arm] == 0.0
    target = expand(uniforms[0], 0) * (1.0 if forced else state.p[arm])
    reached = 0.0
    chosen = 0
    for layer in range(params.n_layers):
        if forced or state.plays[layer] == arm:
            reached += layer_probability(params, layer)
            chosen = layer
            if reached > target:
                break
    return float(chosen)


@learn.register(RaceParameters)
def _(params: RaceParameters, state: RaceState, arm: int, loss: float, weight: float, memo: float) -> None:
    layer = int(memo)
    if layer >= params.n_layers or least_played(params, state, layer) < 0:
        return  # a layer without arms learns nothing
    at = layer * params.n_arms + arm
    state.counts[at] += 1.0
    state.sums[at] += loss
    eliminate(params, state, layer)


@step.register(RaceParameters)
def _(params: RaceParameters, state: RaceState) -> int:
    arrange_layers(params, state)
    return CONVERGED


@kernel
def eliminate(params: RaceParameters, state: RaceState, layer: int) -> None:
    """Take from all layers up to this one the arms that this one knows to be worse than another.

    One pass does, because the arm with the smallest upper bound is not itself eliminated.
    """
    first = layer * params.n_arms
    smallest = math.inf
    for at in range(first, first + params.n_arms):
        if state.active[at] == 1.0 and state.counts[at] > 0.0:
            ratio = params.width / state.counts[at]
            smallest = min(smallest, state.sums[at] / state.counts[at] + math.sqrt(ratio) + ratio)
    for i in range(params.n_arms):
        at = first + i
        if state.active[at] == 1.0 and state.counts[at] > 0.0:
            ratio = params.width / state.counts[at]
            if state.sums[at] / state.counts[at] - math.sqrt(ratio) - ratio > smallest:
                for lower in range(layer + 1):
                    state.active[lower * params.n_arms + i] = 0.0
