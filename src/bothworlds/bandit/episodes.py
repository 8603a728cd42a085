"""``bw.PolicyOptimization``: episodes in an MDP with known transitions, a simplex step for each state."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check, rng, statefile
from bothworlds._changeover import CALLS
from bothworlds._jit import FloatArray, IntArray, entry, kernel
from bothworlds._version import __version__
from bothworlds.bandit.feedback import Range
from bothworlds.errors import InvalidArgumentError, SolverError, StateError
from bothworlds.policies.base import draw
from bothworlds.simplex.kernel import CONVERGED, FAILED
from bothworlds.simplex.regularizers.tsallis import Tsallis, TsallisParameters
from bothworlds.simplex.steps.base import MULTIPLIER, N_CARRIED, general

FORMAT = "bothworlds-policy-optimization"
VERSION = 1


class MDPParameters(NamedTuple):
    """The process, and the constants of the policy. States are numbered through all layers."""

    regularizer: TsallisParameters
    first: IntArray
    """The number of the first state of each layer, and at last that of all states."""
    start: FloatArray
    """The distribution of the first state."""
    transitions: FloatArray
    """P(s' | s, a) at [s, a, j], s' the j-th state of the next layer."""
    n_actions: int
    first_rate: float
    factor: float
    mixing: float
    bonuses: bool


class MDPState(NamedTuple):
    """What is known. Between episodes ``p``, ``visits`` and ``seen`` are those of the episode to come."""

    losses: FloatArray
    """Cumulative estimates of Q, bonuses taken off, by state and action; the smallest of each state is 0."""
    p: FloatArray
    """π(a | s)."""
    visits: FloatArray
    """μ^π(s), the probability of passing through s."""
    seen: FloatArray
    """μ(s) = μ^π(s) + γ."""
    sums: FloatArray
    """Σ_τ 1/μ_τ(s)."""
    rates: FloatArray
    """1/η(s)."""
    before: FloatArray
    """1/η(s) of the episode before."""
    carried: FloatArray
    """What the solver starts from, for each state."""
    scalars: FloatArray
    """The single numbers below."""


EPISODE = 0  # t, the number of the episode to come
MIXING = 1  # γ_t
N_SCALARS = 2


class EpisodeWorkspace(NamedTuple):
    """What the kernels compute in."""

    bonus: FloatArray
    excess: FloatArray
    rates: FloatArray


# --- kernels ------------------------------------------------------------------------------------------------


@kernel
def expected_value(
    params: MDPParameters, state: MDPState, values: FloatArray, following: int, s: int, a: int
) -> float:
    """E_{s'~P(· | s, a), a'~π}[values(s', a')]; ``following`` is the first state of the next layer."""
    total = 0.0
    if following == state.visits.size:
        return total
    n = params.n_actions
    for j in range(params.transitions.shape[2]):
        chance = params.transitions[s, a, j]
        if chance > 0.0:
            mean = 0.0
            for b in range((following + j) * n, (following + j + 1) * n):
                mean += state.p[b] * values[b]
            total += chance * mean
    return total


@kernel
def add_bonuses(params: MDPParameters, state: MDPState, workspace: EpisodeWorkspace) -> None:
    """B and C of all states and actions, from the last layer to the first, into ``bonus`` and ``excess``."""
    n, depth = params.n_actions, params.first.size - 1
    gamma = state.scalars[MIXING]
    for layer in range(depth - 1, -1, -1):
        following = params.first[layer + 1]
        for s in range(params.first[layer], following):
            spread = 0.0
            square = 0.0
            for a in range(n):
                excess = 0.0
                if layer < depth - 1:
                    excess = expected_value(params, state, workspace.excess, following, s, a)
                    for j in range(params.first[layer + 2] - following):
                        c = depth * gamma / state.seen[following + j]
                        excess += params.transitions[s, a, j] * c
                chance = state.p[s * n + a]
                workspace.excess[s * n + a] = excess
                spread += math.sqrt(chance) * (1.0 - chance)
                square += chance * excess * excess
            if 1.0 / (state.rates[s] * state.seen[s]) > 1.0 / (8.0 * depth):
                spread += math.sqrt(n)
            bonus = 4.0 * (state.rates[s] - state.before[s]) * spread + 8.0 * square / state.rates[s]
            for a in range(n):
                ahead = expected_value(params, state, workspace.bonus, following, s, a)
                workspace.bonus[s * n + a] = bonus + (1.0 + 1.0 / depth) * ahead


@kernel
def plan_episode(params: MDPParameters, state: MDPState, workspace: EpisodeWorkspace) -> int:
    """π of the episode to come, layer by layer: how often a state is visited decides its rate."""
    n, depth = params.n_actions, params.first.size - 1
    gamma = min(1.0, params.mixing / state.scalars[EPISODE])
    state.scalars[MIXING] = gamma
    for s in range(state.visits.size):
        state.visits[s] = params.start[s] if s < params.start.size else 0.0
    for layer in range(depth):
        following = params.first[layer + 1]
        for s in range(params.first[layer], following):
            state.seen[s] = state.visits[s] + gamma
            state.before[s] = state.rates[s]
            if state.seen[s] > 0.0:  # a state that cannot be reached is left as it is
                state.sums[s] += 1.0 / state.seen[s]
                if act_at(params, state, workspace, s) == FAILED:
                    return FAILED
            if layer == depth - 1:
                continue
            for a in range(n):
                share = state.visits[s] * state.p[s * n + a]
                for j in range(params.first[layer + 2] - following):
                    state.visits[following + j] += share * params.transitions[s, a, j]
    return CONVERGED


@kernel
def act_at(params: MDPParameters, state: MDPState, workspace: EpisodeWorkspace, s: int) -> int:
    """The rate and π(· | s) = argmin <π, losses> − (2/η)·Σ_a √π(a); return the status of the solver."""
    n = params.n_actions
    state.rates[s] = params.first_rate + params.factor * math.sqrt(state.sums[s])
    losses = state.losses[s * n : (s + 1) * n]
    carried = state.carried[s * N_CARRIED : (s + 1) * N_CARRIED]
    smallest = losses[0]
    for a in range(1, n):
        smallest = min(smallest, losses[a])
    for a in range(n):
        losses[a] -= smallest
        workspace.rates[a] = state.rates[s]
    carried[MULTIPLIER] -= smallest
    return general(params.regularizer, losses, workspace.rates, 0.0, carried, state.p[s * n : (s + 1) * n])


@entry
def learn_episode(
    params: MDPParameters,
    state: MDPState,
    workspace: EpisodeWorkspace,
    states: IntArray,
    actions: IntArray,
    losses: FloatArray,
    weights: FloatArray,
) -> int:
    """Learn one path and its losses; return the status of the solver."""
    n = params.n_actions
    if params.bonuses:
        add_bonuses(params, state, workspace)
        for k in range(state.losses.size):
            state.losses[k] -= workspace.bonus[k] + workspace.excess[k]
    ahead = 0.0
    for layer in range(states.size - 1, -1, -1):
        ahead += losses[layer]
        state.losses[states[layer] * n + actions[layer]] += ahead / weights[layer]
    state.scalars[EPISODE] += 1.0
    return plan_episode(params, state, workspace)


# --- in Python ----------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A decision: layer, state, action, and the probability of coming here and choosing it."""

    layer: int
    state: int
    action: int
    probability: float


class PolicyOptimization:
    """Episodes in a tabular MDP with known transitions: best-of-both-worlds policy optimization.

    An episode passes through layers 0, …, H − 1. In state s of a layer an action a is drawn from π(· | s) and
    costs a loss in [0, 1], and the next state, in the next layer, is drawn from P(· | s, a), which is known;
    losses are not, and may change from episode to episode in any way. Regret is against the best policy.

    With μ(s) = μ^π(s) + γ_t, μ^π(s) the probability of passing through s, and L_h the loss from layer h on,
    Q̂(s, a) = 1[(s, a) is on the path]·L_h/(μ(s)·π(a | s)) estimates what it costs to choose a in s. Every
    state is a bandit of its own, with a rate that follows how often it is visited:

        π_t(· | s) = argmin <π, Σ_{τ<t} (Q̂_τ − B_τ − C_τ)(s, ·)> − (2/η_t(s))·Σ_a √π(a).

    - ``constants="light"``: γ = 0, B = C = 0, 1/η_t(s) = H·√(Σ_{τ≤t} 1/μ_τ(s)). With one layer and one
      state this is Tsallis-INF. Nothing is proved for more than that.
    - ``constants="paper"``: γ_t = min{10⁶·H⁴A²/t, 1}, 1/η_t(s) = 1600·H⁴√A + 4H·√(Σ_{τ≤t} 1/μ_τ(s)), and
      bonuses: C(s, a) = E[c(s') + C(s', a')] with c(s) = H·γ_t/μ(s) makes up for the bias of Q̂, and
      B(s, a) = b(s) + (1 + 1/H)·E[B(s', a')], s' ~ P(· | s, a), a' ~ π, pays for learning, with
      b(s) = 4(1/η_t − 1/η_{t−1})·(Σ_a √π(a)·(1 − π(a)) + √A·1[η_t/μ > 1/(8H)]) + 8η_t·Σ_a π(a)·C(s, a)².
      *Proved:* adversarial O(√(H³·S·A·T·log T)) and stochastic O(Σ_s Σ_{a≠π*(s)} H²·log T/Δ(s, a)), up to
      terms of lower order. These constants play uniformly for longer than anybody would wait.

    Parameters
    ----------
    transitions:
        For each layer but the last an array P[s, a, s'], states × actions × states of the next layer.
    n_actions:
        The number of actions; needed if there is one layer only.
    start:
        The distribution of the first state; None: uniform over the first layer, which usually has one state.
    constants:
        As above.
    seed:
        For draws that can be repeated.
    low, high, clip:
        The range of rewards of a step, as in :class:`Bandit`.

    Notes
    -----
    An update takes O(Σ_h S_h·A·S_{h+1}), and one simplex step for each state. It runs as Python for a hundred
    episodes and is compiled then, which takes some seconds, once, unless ``BOTHWORLDS_COMPILE=never``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> stay_or_go = [[[0.9, 0.1], [0.2, 0.8]]]               # from one state, by two actions, to two states
    >>> learner = bw.PolicyOptimization([stay_or_go], seed=7)
    >>> for _ in range(90):
    ...     path = learner.play()                             # a decision in each of two layers
    ...     learner.update(path, losses=[0.0, float(path[1].state == 0)])
    >>> [layer.round(2).tolist() for layer in learner.probabilities][0]
    [[0.12, 0.88]]

    Where the world decides which state comes next, ask for one action at a time:

    >>> first = learner.act(0, state=0)
    >>> second = learner.act(1, state=1)
    >>> learner.update([first, second], rewards=[1.0, 0.5])

    References
    ----------
    C. Dann, C.-Y. Wei, J. Zimmert: Best of Both Worlds Policy Optimization. ICML 2023 (Algorithm 1, with
    Tsallis entropy and known transitions).
    """

    def __init__(
        self,
        transitions: Sequence[ArrayLike],
        *,
        n_actions: int | None = None,
        start: ArrayLike | None = None,
        constants: Literal["light", "paper"] = "light",
        seed: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        clip: bool = False,
    ) -> None:
        _check.one_of("constants", constants, ("light", "paper"))
        self._constants = constants
        self._transitions = [_layer(h, table) for h, table in enumerate(transitions)]
        self._sizes = _sizes(self._transitions, start)
        self._n_actions = _actions(self._transitions, n_actions)
        self._start = _start(start, self._sizes[0])
        self._range = Range.of(low, high, clip)
        self._params = self._resolve()
        self._random = rng.stream(seed)
        self._state = self._begin()

    def _resolve(self) -> MDPParameters:
        depth, n = len(self._sizes), self._n_actions
        first = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        table = np.zeros((int(first[-1]), n, max(self._sizes)))
        for h, layer in enumerate(self._transitions):
            table[first[h] : first[h + 1], :, : layer.shape[2]] = layer
        half = Tsallis(0.5).parameters()
        if self._constants == "light":
            return MDPParameters(half, first, self._start, table, n, 0.0, float(depth), 0.0, False)
        rate, mixing = 1600.0 * depth**4 * math.sqrt(n), 1e6 * depth**4 * n**2
        return MDPParameters(half, first, self._start, table, n, rate, 4.0 * depth, mixing, True)

    def _begin(self) -> MDPState:
        total, n = int(self._params.first[-1]), self._n_actions
        state = MDPState(
            np.zeros(total * n),
            np.full(total * n, 1.0 / n),
            np.zeros(total),
            np.zeros(total),
            np.zeros(total),
            np.full(total, self._params.first_rate),
            np.full(total, self._params.first_rate),
            np.zeros(total * N_CARRIED),
            np.array([1.0, 0.0]),
        )
        with np.errstate(all="ignore"):
            plan_episode(self._params, state, self._workspace())
        return state

    def _workspace(self) -> EpisodeWorkspace:
        size = self._params.first[-1] * self._n_actions
        return EpisodeWorkspace(np.zeros(size), np.zeros(size), np.zeros(self._n_actions))

    # --- the loop: act or play, update ----------------------------------------------------------------

    def act(self, layer: int, *, state: int) -> Step:
        """Draw an action in a state of a layer."""
        layer = _below("layer", layer, len(self._sizes))
        number = self._number(layer, state)
        n, known = self._n_actions, self._state
        chances = known.p[number * n : (number + 1) * n]
        action = draw(chances, self._random.random())
        return Step(layer, int(state), action, float(known.seen[number] * chances[action]))

    def play(self) -> list[Step]:
        """Draw a whole episode, its states from the transitions."""
        state = draw(self._start, self._random.random())
        path = []
        for layer in range(len(self._sizes)):
            step = self.act(layer, state=state)
            path.append(step)
            if layer < len(self._transitions):
                chances = np.ascontiguousarray(self._transitions[layer][state, step.action])
                state = draw(chances, self._random.random())
        return path

    def update(
        self, path: Sequence[Step], *, losses: ArrayLike | None = None, rewards: ArrayLike | None = None
    ) -> None:
        """Report the losses or the rewards of an episode, one for each of its steps."""
        if (rewards is None) == (losses is None):
            got = "neither" if rewards is None else "both"
            raise InvalidArgumentError("losses", losses, "given, or rewards, and not both", got=got)
        kind, values = ("loss", losses) if rewards is None else ("reward", rewards)
        numbers = self._check_path(path)
        given = _check.vector("losses" if kind == "loss" else "rewards", values, size=len(numbers))
        taken = np.array([self._range.take(kind, value) for value in given.tolist()])
        actions = np.array([step.action for step in path], dtype=np.int64)
        weights = np.array([step.probability for step in path])
        state = statefile.clone_state(self._state)
        if self._learn(self._params, state, self._workspace(), numbers, actions, taken, weights) == FAILED:
            raise SolverError(
                f"no solution was found after {path!r}, which was not learned: please report it"
            )
        self._state = state

    @property
    def _learn(self) -> Any:
        way = os.environ.get("BOTHWORLDS_COMPILE")
        early = way != "wait" and self._state.scalars[EPISODE] <= CALLS
        return learn_episode.python if early or way == "never" else learn_episode

    def _check_path(self, path: Sequence[Step]) -> IntArray:
        depth = len(self._sizes)
        if len(path) != depth or [step.layer for step in path] != list(range(depth)):
            wanted = f"a decision in each of the {depth} layers, in their order"
            raise InvalidArgumentError("path", path, wanted, fix="give what play() or act() returned")
        for h, step in enumerate(path):
            _below("action", step.action, self._n_actions)
            _check.number("probability", step.probability, above=0.0)
            if h and self._transitions[h - 1][path[h - 1].state, path[h - 1].action, step.state] == 0.0:
                wanted = f"possible: no transition leads from {path[h - 1]} to state {step.state}"
                raise InvalidArgumentError("path", path, wanted, got=str(step))
        return np.array([self._number(step.layer, step.state) for step in path], dtype=np.int64)

    def _number(self, layer: int, state: int) -> int:
        return int(self._params.first[layer]) + _below("state", state, self._sizes[layer])

    # --- what it knows --------------------------------------------------------------------------------

    @property
    def probabilities(self) -> list[FloatArray]:
        """π(a | s) of the episode to come: for each layer an array, states × actions."""
        return self._layers(self._state.p)

    @property
    def visits(self) -> list[FloatArray]:
        """For each layer the probability of passing through its states in the episode to come."""
        return [values[:, 0] for values in self._layers(np.repeat(self._state.visits, self._n_actions))]

    @property
    def constants(self) -> str:
        """``"light"`` or ``"paper"``."""
        return self._constants

    @property
    def episodes(self) -> int:
        """The number of episodes learned."""
        return int(self._state.scalars[EPISODE]) - 1

    def _layers(self, values: FloatArray) -> list[FloatArray]:
        table = values.reshape(-1, self._n_actions)
        first = self._params.first.tolist()
        return [table[a:b].copy() for a, b in pairwise(first)]

    def value(self, losses: Sequence[ArrayLike], *, policy: Sequence[ArrayLike] | None = None) -> float:
        """The mean loss of an episode, by layer, state and action, under ``policy`` or what it would play."""
        chances = self.probabilities if policy is None else self._tables("policy", policy)
        return self._from_the_end(self._tables("losses", losses), lambda h, q: (chances[h] * q).sum(axis=1))

    def best_value(self, losses: Sequence[ArrayLike]) -> float:
        """The mean loss of an episode under the best policy."""
        return self._from_the_end(self._tables("losses", losses), lambda h, q: q.min(axis=1))

    def _from_the_end(self, losses: list[FloatArray], choose: Any) -> float:
        ahead = np.zeros(0)
        for h in range(len(self._sizes) - 1, -1, -1):
            q = losses[h] + (self._transitions[h] @ ahead if h < len(self._transitions) else 0.0)
            ahead = choose(h, q)
        return float(self._start @ ahead)

    def _tables(self, name: str, values: Sequence[ArrayLike]) -> list[FloatArray]:
        wanted = [(size, self._n_actions) for size in self._sizes]
        tables = [np.asarray(table, dtype=np.float64) for table in values]
        if [table.shape for table in tables] != wanted:
            got = f"shapes {', '.join(str(table.shape) for table in tables)}"
            raise InvalidArgumentError(name, values, f"for each layer, states × actions: {wanted}", got=got)
        return tables

    def __repr__(self) -> str:
        sizes = " → ".join(str(size) for size in self._sizes)
        return (
            f"PolicyOptimization(<states {sizes}, {self._n_actions} actions>, "
            f"constants={self._constants!r}, episodes={self.episodes})"
        )

    # --- saving ---------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, random stream included, in JSON types."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "bothworlds": __version__,
            "transitions": [table.tolist() for table in self._transitions],
            "n_actions": self._n_actions,
            "start": self._start.tolist(),
            "constants": self._constants,
            **self._range._asdict(),
            "random": rng.to_dict(self._random),
            "state": statefile.pack(self._state),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PolicyOptimization:
        """What :meth:`to_dict` described."""
        if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT, VERSION):
            raise StateError(f"expected format {FORMAT!r} of version {VERSION}")
        try:
            names = ("n_actions", "start", "constants", "low", "high", "clip")
            learner = cls(data["transitions"], **{name: data[name] for name in names})
            learner._random = rng.from_dict(data["random"])
            learner._state = statefile.unpack(learner._state, data["state"])
        except KeyError as error:
            raise StateError(f"the saved state lacks {error}; it is incomplete") from None
        except (InvalidArgumentError, TypeError) as error:
            raise StateError(f"the saved state cannot be restored: {error}") from error
        return learner

    def save(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_dict` to a JSON file, whole or not at all."""
        statefile.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PolicyOptimization:
        """Read what :meth:`save` wrote."""
        try:
            return cls.from_dict(statefile.read(path))
        except StateError as error:
            raise StateError(f"{path} cannot be loaded: {error}") from error


def _layer(h: int, values: ArrayLike) -> FloatArray:
    """The transitions from a layer, each a distribution."""
    name, wanted = f"transitions[{h}]", "an array, states × actions × states of the next layer"
    try:
        table = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, values, wanted) from None
    if table.ndim != 3 or table.size == 0:
        raise InvalidArgumentError(name, values, wanted, got=f"shape {table.shape}")
    sums = table.sum(axis=2)
    if not (table >= 0.0).all() or not (np.abs(sums - 1.0) <= 1e-9).all():
        wrong = (table < 0.0).any(axis=2) | ~(np.abs(sums - 1.0) <= 1e-9)
        s, a = (int(i) for i in np.argwhere(wrong)[0])
        got = f"probabilities {table[s, a].tolist()} in state {s} with action {a}"
        fix = "they must be at least 0 and sum to 1"
        raise InvalidArgumentError(name, values, "distributions of the next state", got=got, fix=fix)
    return np.asarray(table / sums[:, :, None])


def _sizes(transitions: list[FloatArray], start: ArrayLike | None) -> list[int]:
    """The number of states of each layer."""
    if not transitions:
        return [1 if start is None else int(np.size(np.asarray(start)))]
    for h, (before, after) in enumerate(pairwise(transitions)):
        if (after.shape[0], after.shape[1]) != (before.shape[2], before.shape[1]):
            raise InvalidArgumentError(
                f"transitions[{h + 1}]",
                after.shape,
                f"from the {before.shape[2]} states that layer {h} leads to, by {before.shape[1]} actions",
                got=f"{after.shape[0]} states and {after.shape[1]} actions",
            )
    return [table.shape[0] for table in transitions] + [transitions[-1].shape[2]]


def _actions(transitions: list[FloatArray], n_actions: int | None) -> int:
    if n_actions is None:
        if not transitions:
            fix = "with one layer there are no transitions to tell it"
            raise InvalidArgumentError("n_actions", None, "given where there are no transitions", fix=fix)
        return int(transitions[0].shape[1])
    number = _check.integer("n_actions", n_actions, at_least=1)
    if transitions and transitions[0].shape[1] != number:
        wanted = f"that of the transitions, {transitions[0].shape[1]}"
        raise InvalidArgumentError("n_actions", n_actions, wanted, fix="leave it out")
    return number


def _start(start: ArrayLike | None, size: int) -> FloatArray:
    if start is None:
        return np.full(size, 1.0 / size)
    values = _check.vector("start", start, size=size, at_least=0.0, at_most=1.0)
    if abs(values.sum() - 1.0) > 1e-9:
        got = f"probabilities that sum to {values.sum():g}"
        raise InvalidArgumentError("start", start, "a distribution over the first layer", got=got)
    return np.asarray(values / values.sum())


def _below(name: str, value: Any, size: int) -> int:
    number = _check.integer(name, value, at_least=0)
    if number >= size:
        raise InvalidArgumentError(name, value, f"0 to {size - 1}")
    return number
