"""What a policy is: frozen parameters, and kernels chosen by the type of the parameter tuple.

A policy of the public face (``FTRL(...)``, ``UCB1()``) is a frozen dataclass. Once the number of arms and
the horizon are known, ``resolve`` makes a ``NamedTuple`` of numbers of it, the *parameters*, whose type
selects the kernels below. All that changes is in a second ``NamedTuple``, of arrays, the *state*; kernels
change it in place.

An arm is *played* if it is drawn, and *observed* if its loss becomes known: the arm that is played, unless
the policy is decoupled (``observe``) or arms show others (``several.py``). A round, as ``Bandit``,
``simulate``, ``replay`` and ``theory`` play it::

    before_draw(params, state, outstanding, awake)         what is known before the draw
    arm      = act(params, state, uniforms)                the arm that is played
    observed = observe(params, state, arm, uniforms)       the arm whose loss will be known
    weight   = weight_of(params, state, observed)          the probability with which that was to be observed
    memo     = memo_of(params, state, observed, uniforms)  a number that learn wants back with the loss
    after_draw(params, state, arm)                         which arm was drawn
    p        = probability_of(params, state, arm)          the probability with which the arm was to be played
    …                                                      now, later, or never
    learn(params, state, observed, loss, weight, memo)     once for each observation of the round
    step(params, state)                                    the round has ended: rates, distribution

Every policy registers ``init``, ``act``, ``weight_of``, ``learn`` and ``distribution``; ``draws_from_its_p``
registers three of them for one whose state has its distribution as ``p``. The others have a default. Most
policies register ``step``; the default, which does nothing, is for those whose ``learn`` does it all.
``init``, ``grow`` and ``retire`` are called from Python only; all others must compile (docs/kernels.md).

``learn`` and ``step`` do all the learning, so a policy is a function of its feedback in the order of
arrival: pulls without feedback do not move it (unless it says ``notes_draws``), and the distribution in
force can be read at any time. Weight and memo are fixed at the draw and travel with the pull.

*Arms that sleep, arrive and retire.* A policy solves for all its arms, awake or not. Availability is
conditioning after that, in one place: ``restrict`` writes the probabilities among the arms that are awake to
``out``, and ``act_among`` draws from there in place of ``act``; the weight of the pull is the conditional
probability. After ``step``, ``learn_absent`` says what the round was for the arms that were asleep. ``grow``
makes room for an arm that arrives, ``retire`` takes the weight of one that will not come back. A policy for
which this is not right says why in ``fixed_arms``, and is refused where arms change.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray, copy_state, entry, generic, require_kernels
from bothworlds._jit import kernel as kernel  # noqa: PLC0414 - for what kernels of others call
from bothworlds._simd import LANES, add_up, fill, load, whole
from bothworlds._value import Value
from bothworlds.errors import InvalidArgumentError, KernelError
from bothworlds.problem import PLAIN, Problem
from bothworlds.simplex.kernel import CONVERGED, FAILED


@dataclass(frozen=True, repr=False, init=False)
class Policy(Value, ABC):
    """Base class of policies: immutable, comparable, hashable, printable, known by ``name=``."""

    registry: ClassVar[dict[str, type[Any]]] = {}

    draws: ClassVar[int] = 1
    """How many uniform random numbers one pull consumes."""

    explicit: ClassVar[bool] = True
    """Are arms drawn from probabilities that ``weight_of`` knows? Index policies do not draw at all."""

    marks_memos: ClassVar[bool] = False
    """Is it a wrapper that marks memos (see :func:`marked`)? Then it cannot be inside another one."""

    decoupled: ClassVar[bool] = False
    """May the arm that is observed be another than the one that is played?"""

    in_blocks: ClassVar[bool] = False
    """Does it play an arm for a while before it draws another?"""

    notes_draws: ClassVar[bool] = False
    """Do its draws, or the number of those whose feedback has not come, change what it plays?"""

    fixed_arms: ClassVar[str | None] = "nobody has said what it is to learn of arms that were asleep"
    """Why its arms cannot sleep, arrive or retire; None if they can."""

    in_python: ClassVar[bool] = False
    """Is it written in plain Python? Then it is played without the compiler, and tells no distribution."""

    accountable: ClassVar[bool] = False
    """Does it minimize estimated losses plus regularizer, which ``bw.theory.account`` can take apart?"""

    fits: ClassVar[frozenset[str]] = frozenset()
    """What it can do beyond playing one arm and learning its loss: what ``Problem.asks`` for."""

    allowed: ClassVar[str] = "a policy such as LightBarrier() or TsallisINF()"

    @classmethod
    def require(cls, value: Any, *, name: str = "policy", index: tuple[int, ...] = ()) -> Policy:
        """``value`` itself, or the policy of that name with its usual settings; else an error."""
        if isinstance(value, str):
            kind = Policy.registry[_check.known("policy", value, Policy.registry)]
            try:
                value = kind()
            except TypeError:  # it has settings without a default
                fix = f"write {kind.__name__}(...), which says what it needs"
                wanted = "a policy that can do without settings"
                raise InvalidArgumentError(name, value, wanted, fix=fix, index=index) from None
        policy: Policy = super().require(value, name=name, index=index)
        return policy

    @abstractmethod
    def parameters(self, n_arms: int, horizon: int | None) -> Any:
        """The ``NamedTuple`` of numbers whose type selects the kernels."""

    def parameters_for(self, problem: Problem, n_arms: int, horizon: int | None) -> Any:
        """The same for a problem that is not plain, of a kind that ``fits`` names."""
        raise NotImplementedError(f"{type(self).__name__} fits {problem!r}, and must say how")

    def resolve(self, n_arms: int, horizon: int | None, problem: Problem = PLAIN) -> Any:
        """Check the number of arms, the horizon and the problem, then give the parameters.

        Formulas of policies need a round for every arm: one that is told T < K plays as for T = K.
        """
        n_arms = _check.integer("n_arms", n_arms, at_least=1)
        if horizon is not None:
            horizon = max(n_arms, _check.integer("horizon", horizon, at_least=1))
        if problem.plain:
            params = self.parameters(n_arms, horizon)
            require_kernels(self, params, EVERY_POLICY_HAS)
            return params
        problem.check(n_arms)
        if not problem.asks <= self.fits:
            raise does_not_fit(self, problem)
        params = self.parameters_for(problem, n_arms, horizon)
        if problem.several and type(params) in after_draw.implementations:
            fix = "take note of what is observed, in learn or step"
            kernel_name = f"after_draw of {type(params).__name__}"
            raise KernelError(
                kernel_name, "rounds of several arms do not call it", fix, fault="is for one arm"
            )
        return params


def require_sleeping(policy: Policy) -> None:
    """Refuse a policy whose arms cannot sleep, arrive or retire."""
    if policy.fixed_arms is not None:
        able = sorted(kind.__name__ for kind in Policy.registry.values() if kind.fixed_arms is None)
        fix = f"these can: {', '.join(able)}"
        if policy.fixed_arms == Policy.fixed_arms:
            fix += f"; or set fixed_arms = None in {type(policy).__name__}, see docs/arms.md"
        raise InvalidArgumentError(
            "policy", policy, "one whose arms can change", got=f"{policy!r}: {policy.fixed_arms}", fix=fix
        )


def does_not_fit(policy: Policy | None, problem: Problem) -> InvalidArgumentError:
    """The error for a policy that cannot play a problem (None: for a problem without a usual policy)."""
    able = sorted(kind.__name__ for kind in Policy.registry.values() if problem.asks <= kind.fits)
    asked = " and ".join(sorted(problem.asks))
    return InvalidArgumentError(
        "policy",
        policy,
        f"one for {problem}",
        got="none, and there is no usual one" if policy is None else f"{policy!r}, which is not for {asked}",
        fix=f"these are: {', '.join(able)}" if able else f"no policy is for {asked} yet",
    )


# --- the kernels without a default, which every policy registers ----------------------------------------


@generic
def init(params: Any) -> Any:
    """A fresh state (allocates; called from Python only)."""
    raise NotImplementedError("a policy must register init")


@generic
def act(params: Any, state: Any, uniforms: FloatArray) -> int:
    """Draw the arm to play. Changes nothing."""
    raise NotImplementedError("a policy must register act")


@generic
def weight_of(params: Any, state: Any, arm: int) -> float:
    """The probability with which ``arm`` is observed in this round, given all that went before.

    Live play and replay both take the weight from here, and give it to ``learn``, where estimated losses are
    divided by it. It may be NaN for a policy that cannot say cheaply and whose ``learn`` does not divide by
    it (see ``weighs``); then ``distribution`` knows.

    In policies that play in blocks (``in_blocks``) it is 1 for the arm of a block that is not over. Who
    divides by the probability with which the block drew the arm, as ``TsallisSwitch`` does, takes that from
    the memo.
    """
    raise NotImplementedError("a policy must register weight_of")


@generic
def learn(params: Any, state: Any, arm: int, loss: float, weight: float, memo: float) -> None:
    """Take in the loss of an arm that was observed, with the weight and the memo of its draw."""
    raise NotImplementedError("a policy must register learn")


@generic
def distribution(params: Any, state: Any, out: FloatArray) -> None:
    """The probabilities from which the next arm to play will be drawn."""
    raise NotImplementedError("a policy must register distribution")


# what ``resolve`` asks for; the helper that registers it too, for the error that names a missing one
EVERY_POLICY_HAS: dict[Any, str] = {
    init: "",
    act: "draws_from_its_p({})",
    weight_of: "draws_from_its_p({})",
    learn: "",
    distribution: "draws_from_its_p({})",
}


# --- the kernels with a default -------------------------------------------------------------------------


@generic(inline=True)
def step(params: Any, state: Any) -> int:
    """End a round after its observations; return the status of the solver (0: converged).

    By default there is nothing to do. A round of which ``learn`` was told nothing must not count: a wrapper
    that restarts the policy inside keeps from its ``learn`` what was drawn before the restart (see
    :func:`outdated`), and calls its ``step`` all the same.
    """
    return CONVERGED


@generic(inline=True)
def observe(params: Any, state: Any, arm: int, uniforms: FloatArray) -> int:
    """The arm that is observed when ``arm`` is played: that arm, unless the policy is decoupled."""
    return arm


@generic(inline=True)
def probability_of(params: Any, state: Any, arm: int) -> float:
    """The probability with which ``arm`` is played: by default that of being observed, :func:`weight_of`.

    It is what a pull reports. To be registered where an arm may be observed without being played.
    """
    return weight_of(params, state, arm)


@generic(inline=True)
def memo_of(params: Any, state: Any, arm: int, uniforms: FloatArray) -> float:
    """A number that ``learn`` wants back with the loss of ``arm``.

    For instance the number of restarts before the draw, so that ``learn`` can tell what was drawn before the
    last one; or randomness for learning, which is drawn with the pull: ``learn`` gets no uniforms.
    """
    return 0.0


@generic(inline=True)
def weighs(params: Any) -> bool:
    """Does ``learn`` divide by the weight? If not, arms of probability 0 in a history can be replayed."""
    return True


@generic(inline=True)
def before_draw(params: Any, state: Any, outstanding: int, awake: FloatArray) -> None:
    """Take note of what is known before a draw. One that this changes without feedback says ``notes_draws``.

    ``outstanding`` is the number of pulls whose feedback has not come; ``awake`` holds 1 for arms that can
    be played and 0 for others, or nothing where all can.
    """


@generic(inline=True)
def after_draw(params: Any, state: Any, arm: int) -> None:
    """Take note of the arm that is played. The distribution stays that of the draw until ``before_draw``."""


@generic
def restrict(params: Any, state: Any, awake: FloatArray, out: FloatArray) -> None:
    """Fill ``out`` with the probabilities of the next draw if only arms with ``awake`` = 1 can be played.

    By default the distribution in force, conditioned on them; if it gives none of them any probability, each
    has the same. Policies that choose an arm by comparison register a comparison of those that are awake.
    """
    distribution(params, state, out)
    total = 0.0
    count = 0.0
    for i in range(out.size):
        out[i] *= awake[i]
        total += out[i]
        count += awake[i]
    for i in range(out.size):
        out[i] = out[i] / total if total > 0.0 else awake[i] / count


@generic(inline=True)
def learn_absent(params: Any, state: Any, before: Any, awake: FloatArray, loss: float) -> int:
    """Learn a round for the arms that were asleep at its draw, after its ``learn`` and ``step``.

    ``before`` is the state before the round, ``awake`` is 0 for these arms, ``loss`` is that of the arm
    played. A policy that adds up estimated losses adds ``loss`` to those of the absent arms, so that a round
    in which they could not be played changes nothing between them and the learner, and puts back all else
    that it knows of them from ``before``. By default there is nothing to do: right for policies that count
    and add up what was observed of each arm. Returns the status of the solver.
    """
    return CONVERGED


@generic
def grow(params: Any, state: Any) -> Any:
    """A state with one arm more, the last, of which nothing is known (called from Python only).

    ``params`` are those for the new number of arms. By default a fresh state, into whose arrays those of
    ``state`` are copied from the front, and a ``step``. That is right if the length of every array either
    does not depend on the number of arms or is a multiple of it, with the numbers of the first arm first,
    then those of the second, and so on; and if an arm of which nothing is known begins as ``init`` says.
    """
    grown = init(params)
    carry_over(state, grown)
    step(params, grown)
    return grown


def carry_over(state: Any, grown: Any) -> None:
    """Copy every array of ``state`` to the front of that of ``grown``, whose last arm stays as it is."""
    if isinstance(state, np.ndarray):
        grown[: state.size] = state
        return
    for one, other in zip(state, grown, strict=True):
        carry_over(one, other)


@generic
def retire(params: Any, state: Any, arm: int) -> None:
    """``arm`` will never be awake again (called from Python only): take its probability away.

    A policy that solves for all arms at once must do so, for instance by a loss that leaves the arm none:
    while it has some, the differences between the others are small beside its lead. By default there is
    nothing to do: right for policies that compare the arms that are awake.
    """


@generic
def begin_again(params: Any, state: Any, fresh: Any, loss_sum: float, loss_count: float) -> None:
    """Forget everything: by default copy ``fresh``, a state from ``init``, to ``state``.

    Wrappers that restart a policy call it. ``loss_sum`` and ``loss_count`` are of recent losses, for policies
    that start with an idea of what losses to expect; by default they play no part.
    """
    copy_state(fresh, state)


@generic(allocates=True)
def inspect(params: Any, state: Any, out_rates: FloatArray, out_estimates: FloatArray) -> None:
    """Learning rates and cumulative estimated losses in force; NaN for policies that have none."""
    out_rates[:] = math.nan
    out_estimates[:] = math.nan


# --- memos with a mark, for wrappers that restart what is inside ------------------------------------------

MARKS = 0xFFFF  # the last bits of a memo: the number of restarts before its draw, from 0 again after 65 535


@kernel(inline=True)
def marked(memo: float, restarts: float) -> float:
    """The memo of the policy inside, to 36 bits, with the number of restarts in its last bits."""
    word = np.float64(memo).view(np.int64)
    return float(np.int64((word & ~MARKS) | (int(restarts) & MARKS)).view(np.float64))


@kernel(inline=True)
def outdated(memo: float, restarts: float) -> bool:
    """Was this memo marked before the last restart?"""
    return int(np.float64(memo).view(np.int64) & MARKS) != int(restarts) & MARKS


# --- drawing --------------------------------------------------------------------------------------------


@kernel
def draw(p: FloatArray, uniform: float) -> int:
    """The arm at the quantile ``uniform`` of ``p``, which need not sum to one; never an arm with p = 0."""
    return find(p, uniform * sum_of(p))


@kernel
def sum_of(values: FloatArray) -> float:
    """The sum of ``values``, four partial sums at a time: the order in which the package adds up p."""
    n = values.size
    sums = fill(0.0)
    for i in range(0, whole(n), LANES):
        sums = sums + load(values, i)
    total = add_up(sums)
    for i in range(whole(n), n):
        total += values[i]
    return total


@kernel
def copy(values: FloatArray, out: FloatArray) -> None:
    """``out[:] = values``, which would take a temporary copy, and seconds to compile."""
    for i in range(values.size):
        out[i] = values[i]


FEW = 64  # up to so many arms are added up one by one, more in pairs of blocks


@kernel(inline=True)
def find(p: FloatArray, target: float) -> int:
    """The first arm at which the sum of ``p`` exceeds ``target``; never one with p = 0."""
    n = p.size
    reached = 0.0
    begin = 0
    if n > FEW:
        while begin + 2 * LANES <= n:
            more = reached + add_up(load(p, begin) + load(p, begin + LANES))
            if more > target:
                break
            reached = more
            begin += 2 * LANES
    last = max(0, begin - 1)
    for i in range(begin, n):
        reached += p[i]
        if p[i] > 0.0:
            last = i
            if reached > target:
                break
    while p[last] == 0.0 and last > 0:  # rounding kept the sum below the target, and zeros came last
        last -= 1
    return last


@kernel(inline=True)
def pull(params: Any, state: Any, uniforms: FloatArray) -> tuple[int, int, float, float]:
    """The arm that is played, the arm that is observed, the weight of that, and the memo."""
    arm = act(params, state, uniforms)
    observed = observe(params, state, arm, uniforms)
    weight, memo = weight_of(params, state, observed), memo_of(params, state, observed, uniforms)
    after_draw(params, state, arm)
    return arm, observed, weight, memo


@kernel(inline=True)
def is_awake(awake: FloatArray, arm: int) -> bool:
    """Can the arm be played? Where nothing is given, all can."""
    return awake.size == 0 or bool(awake[arm] == 1.0)


@kernel
def act_among(
    params: Any, state: Any, uniforms: FloatArray, awake: FloatArray, p: FloatArray
) -> tuple[int, float]:
    """Draw among the arms that are awake; return the arm and the probability it had.

    ``p`` gets the distribution it was drawn from, that of ``restrict``.
    """
    restrict(params, state, awake, p)
    arm = find(p, uniforms[0] * sum_of(p))
    return arm, p[arm]


def draws_from_its_p(kind: type, *, weighs_losses: bool = True) -> None:
    """Register act, weight_of and distribution of a policy whose state holds its distribution as ``p``.

    ``weighs_losses=False`` for one whose ``learn`` does not divide by the weight: see :func:`weighs`.
    """
    act.register(kind)(_draw_from_p)
    weight_of.register(kind)(_weight_in_p)
    distribution.register(kind)(_copy_p)
    if not weighs_losses:
        weighs.register(kind)(weighs_nothing)


def _draw_from_p(params: Any, state: Any, uniforms: FloatArray) -> int:
    return draw(state.p, uniforms[0])


def _weight_in_p(params: Any, state: Any, arm: int) -> float:
    return state.p[arm]  # type: ignore[no-any-return]


def _copy_p(params: Any, state: Any, out: FloatArray) -> None:
    copy(state.p, out)


def weighs_nothing(params: Any) -> bool:
    """``weighs`` of a policy whose ``learn`` does not divide by the weight."""
    return False


# --- called from Python, by the pull or by the batch ----------------------------------------------------


@entry
def pull_once(
    params: Any, state: Any, uniforms: FloatArray, outstanding: int
) -> tuple[int, int, float, float, float]:
    """One draw: the arm that is played, the arm that is observed, their probabilities, and the memo."""
    before_draw(params, state, outstanding, uniforms[:0])  # all arms are awake
    arm, observed, weight, memo = pull(params, state, uniforms)
    return int(arm), int(observed), float(probability_of(params, state, arm)), float(weight), float(memo)


@entry
def update_once(params: Any, state: Any, arm: int, loss: float, weight: float, memo: float) -> int:
    """A round with one observation."""
    learn(params, state, arm, loss, weight, memo)
    return step(params, state)


@entry
def pull_many(
    params: Any,
    state: Any,
    uniforms: FloatArray,
    outstanding: int,
    arms: IntArray,
    observed: IntArray,
    probabilities: FloatArray,
    weights: FloatArray,
    memos: FloatArray,
) -> None:
    """Draws one after the other, a row of uniforms each, into columns of what :func:`pull_once` returns."""
    for i in range(arms.size):
        before_draw(params, state, outstanding + i, uniforms[i, :0])  # all arms are awake
        arms[i], observed[i], weights[i], memos[i] = pull(params, state, uniforms[i])
        probabilities[i] = probability_of(params, state, arms[i])


@entry
def update_many(
    params: Any, state: Any, arms: IntArray, losses: FloatArray, weights: FloatArray, memos: FloatArray
) -> int:
    """Rounds one after the other, an observation each; how many went well before one failed."""
    for i in range(arms.size):
        learn(params, state, arms[i], losses[i], weights[i], memos[i])
        if step(params, state) == FAILED:
            return i
    return arms.size


def pull_chosen(
    params: Any, state: Any, uniforms: FloatArray, outstanding: int, arm: int
) -> tuple[float, float]:
    """A pull whose arm somebody else has chosen: the weight that it has in the policy, and the memo.

    It runs as Python and is not compiled: it is called rarely.
    """
    before_draw(params, state, outstanding, uniforms[:0])  # all arms are awake
    weight, memo = float(weight_of(params, state, arm)), float(memo_of(params, state, arm, uniforms))
    after_draw(params, state, arm)
    return weight, memo


@entry
def pull_among(
    params: Any, state: Any, uniforms: FloatArray, outstanding: int, awake: FloatArray, p: FloatArray
) -> tuple[int, float, float]:
    """One draw among the arms that are awake: the arm, its probability, and the memo."""
    before_draw(params, state, outstanding, awake)
    arm, probability = act_among(params, state, uniforms, awake, p)
    memo = float(memo_of(params, state, arm, uniforms))
    after_draw(params, state, arm)
    return int(arm), float(probability), memo


@entry
def update_among(
    params: Any,
    state: Any,
    before: Any,
    arm: int,
    loss: float,
    weight: float,
    memo: float,
    awake: FloatArray,
) -> int:
    """A round with one observation, of a draw at which not all arms were awake; ``before`` is overwritten."""
    copy_state(state, before)
    learn(params, state, arm, loss, weight, memo)
    status = step(params, state)
    return status if status == FAILED else learn_absent(params, state, before, awake, loss)


@entry
def read_among(params: Any, state: Any, awake: FloatArray, out: FloatArray) -> None:
    """The distribution of a draw among the arms that are awake."""
    restrict(params, state, awake, out)


@entry
def read_distribution(params: Any, state: Any, out: FloatArray) -> None:
    """The distribution in force."""
    distribution(params, state, out)
