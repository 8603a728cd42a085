"""Arms that are not there in every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from bothworlds import _check
from bothworlds._jit import FloatArray, kernel
from bothworlds.environments.base import (
    add_to_totals,
    cost_of,
    loss_of,
    open_world,
    prepare,
    reads_p,
    wake,
)
from bothworlds.environments.wrapper import Wrapper
from bothworlds.errors import InvalidArgumentError
from bothworlds.rng import expand
from bothworlds.settings import Count, Within

ALWAYS = 2**62  # in place of the last round in which arms sleep


class SleepingParameters(NamedTuple):
    """The base environment, and who sleeps when."""

    base: Any
    awake: float
    sleepers: FloatArray
    """1 for the arms that are away in some rounds, else 0."""
    every: int
    """Rounds away, and rounds there, in turn; 0: away throughout."""
    first: int
    last: int


@dataclass(frozen=True, repr=False)
class Sleeping(Wrapper, name="sleeping"):
    """Another environment in which not all arms can be played in every round.

    Who is awake is known before the draw, and the same for all policies. Three ways, which can be combined:

    * ``awake=0.7``: each arm with this probability, in every round anew;
    * ``arm=0, every=500``: the arm (or a list of arms) is away for 500 rounds, then there for 500, and so on;
    * ``arm=7, first=1, last=5000``: it is away in these rounds: one that arrives later, or leaves.

    Where all would be asleep, one of the arms, drawn at random, is awake. Policies play as
    ``Bandit.pull(among=...)`` does (see docs/arms.md).

    Regret is to the best arm *awake* in each round: Σ_t cost of the arm played − the smallest cost of an arm
    awake then, with the costs of the base (gaps or means; where it has none, losses). That is more than what
    is promised, which is regret to each single arm while it was awake.

    Parameters
    ----------
    base:
        Any environment whose feedback comes at once, and which can show the loss of any arm.
    awake:
        The probability of being awake, above 0.
    arm:
        The arm, or the arms, that are away in some rounds.
    every:
        How long they are away, and there, in turn.
    first, last:
        The rounds in which that is so, from 1 on, both included; by default all.

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> world = E.Sleeping(E.Bernoulli(means=[0.2, 0.5, 0.6]), awake=0.7)
    >>> run = bw.simulate([bw.TsallisINF(), bw.Uniform()], world, horizon=2000, replications=8, seed=1)
    >>> learned, uniform = run.regret[..., -1].mean(axis=1)
    >>> bool(learned < 0.5 * uniform)
    True
    """

    _: KW_ONLY
    awake: Annotated[float, Within(above=0.0, at_most=1.0)] = 1.0
    arm: int | Sequence[int] | None = None
    every: Count | None = None
    first: Count = 1
    last: int | None = None

    sleeps = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.base.shows_any_arm:
            raise InvalidArgumentError("base", self.base, "an environment that shows the loss of any arm")
        if self.arm is None:
            for name in ("every", "last"):
                if getattr(self, name) is not None:
                    raise InvalidArgumentError(name, getattr(self, name), "given with arm", fix="which arm?")
            if self.awake == 1.0:
                fix = "awake=0.7, or arm=0 with every=500"
                raise InvalidArgumentError("awake", self.awake, "below 1, or arm given", fix=fix)
        else:
            arms = _check.indices("arm", np.atleast_1d(self.arm), below=self.n_arms).tolist()
            if len(set(arms)) == self.n_arms:
                raise InvalidArgumentError("arm", self.arm, "not all of the arms")
            if not isinstance(self.arm, int):
                self._set(arm=tuple(arms))
        if self.last is not None:
            _check.integer("last", self.last, at_least=self.first)
        kind = f"to the best arm awake in each round: {self.base.regret_kind}"
        self._set(draws=self.base.draws + 1, regret_kind=kind)

    def parameters(self, horizon: int) -> SleepingParameters:
        """Those of the base, and who sleeps."""
        base = self.base.parameters(horizon)
        sleepers = np.zeros(self.n_arms)
        if self.arm is not None:
            sleepers[np.atleast_1d(self.arm)] = 1.0
        last = ALWAYS if self.last is None else self.last
        return SleepingParameters(base, self.awake, sleepers, self.every or 0, self.first, last)


@kernel
def is_away(env: SleepingParameters, t: int) -> bool:
    """Are the sleepers away in round t?"""
    if not env.first <= t <= env.last:
        return False
    return env.every == 0 or (t - env.first) // env.every % 2 == 0


@wake.register(SleepingParameters)
def _(env: SleepingParameters, t: int, uniforms: FloatArray, out: FloatArray) -> int:
    away = is_away(env, t)
    count = 0
    for i in range(out.size):
        there = not (away and env.sleepers[i] == 1.0) and expand(uniforms[-1], i) < env.awake
        out[i] = 1.0 if there else 0.0
        count += there
    if count == 0:
        out[int(expand(uniforms[-1], out.size) * out.size)] = 1.0
        count = 1
    return count


@open_world.register(SleepingParameters)
def _(env: SleepingParameters) -> Any:
    return open_world(env.base)


@reads_p.register(SleepingParameters)
def _(env: SleepingParameters) -> bool:
    return reads_p(env.base)


@prepare.register(SleepingParameters)
def _(env: SleepingParameters, world: Any, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    prepare(env.base, world, t, p, uniforms)


@add_to_totals.register(SleepingParameters)
def _(env: SleepingParameters, world: Any) -> None:
    add_to_totals(env.base, world)


@loss_of.register(SleepingParameters)
def _(env: SleepingParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> float:
    return loss_of(env.base, world, t, arm, uniforms)


@cost_of.register(SleepingParameters)
def _(env: SleepingParameters, world: Any, t: int, arm: int, uniforms: FloatArray) -> tuple[float, float]:
    return cost_of(env.base, world, t, arm, uniforms)
