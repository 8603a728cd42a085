"""Another environment with another problem: more than one arm is chosen, or more than one loss is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, cast

import numpy as np

from bothworlds._jit import FloatArray
from bothworlds.environments.corrupted import Corrupted
from bothworlds.environments.independent_arms import with_independent_arms
from bothworlds.environments.wrapper import Wrapper
from bothworlds.errors import InvalidArgumentError
from bothworlds.problem import Problem


@dataclass(frozen=True, repr=False)
class OtherProblem(Wrapper):
    """Base class of worlds that pose another problem than the plain one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.base.shows_any_arm:
            wanted = "an environment that can show the losses of several arms in a round"
            raise InvalidArgumentError("base", self.base, wanted)
        self.problem.check(self.base.n_arms)

    def parameters(self, horizon: int) -> Any:
        """Those of the base, with a uniform of its own for every arm."""
        return with_independent_arms(self.base.parameters(horizon), self.base.draws)

    def block(self, random: np.random.Generator, before: int, last: int) -> Any:
        """The same for a stretch of rounds."""
        return with_independent_arms(self.base.block(random, before, last), self.base.draws)


@dataclass(frozen=True, repr=False)
class SemiBandit(OtherProblem, name="semi-bandit"):
    """Another environment in which ``choose`` arms are chosen in every round, and the loss of each is shown.

    Losses of different arms are independent given the past (the base alone has one uniform for all). What a
    set costs is the sum over its arms, and regret is to the best fixed set: Σ_t Σ_{i chosen} cost_i minus the
    smallest Σ_{i in S} total_i over the sets S that can be chosen. What is cost and total is as in the base.
    Where sets have different sizes, each arm that is chosen costs its loss minus ``outside``, an empty set 0.

    Parameters
    ----------
    base:
        Any environment but :class:`Delayed`, :class:`Logged` and those with dynamic regret. Where sets have
        different sizes, one with fixed means, perhaps :class:`Corrupted`, or one whose regret is by losses or
        means, such as :class:`LossTable`.
    choose:
        How many arms: a number, from 1 to one fewer than there are; a pair, ``(0, 3)`` for at most three; or
        ``"any"``.
    slots:
        In place of ``choose``: the number of arms of each slot, for which one is chosen, as in ``[3, 2]``.
    outside:
        Where sets have different sizes, the loss of an arm that is left out.

    Notes
    -----
    An adversary that reads the policy's distribution reads the probabilities of being chosen, divided by
    their sum, ``choose``.

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> world = E.SemiBandit(E.Bernoulli(n_arms=8, gap=0.125, optimal=3), choose=3)
    >>> run = bw.simulate([bw.Uniform()], world, horizon=10_000, replications=4, seed=1)
    >>> bool(abs(run.regret[..., -1] / 2344 - 1.0).max() < 0.02)
    True
    """

    _: KW_ONLY
    choose: int | tuple[int, int] | Literal["any"] = 1
    slots: Sequence[int] | None = None
    outside: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.base.sets_add_up:
            wanted = "an environment in which a set costs what its arms cost, without a cost of switching"
            raise InvalidArgumentError("base", self.base, wanted)
        if self.base.dynamic:
            wanted = "an environment with a fixed benchmark"
            raise InvalidArgumentError("base", self.base, wanted, fix="write benchmark='fixed'")
        problem = self.problem
        self._set(choose=problem.choose, slots=problem.slots, outside=problem.outside)
        if problem.sizes_differ and self.base.gaps is not None and self._means is None:
            wanted = "an environment with fixed means, or one without gaps, where sets have different sizes"
            fix = "gaps do not say whether an arm is worth choosing"
            raise InvalidArgumentError("base", self.base, wanted, fix=fix)
        which = f"set of {self.choose}" if isinstance(self.choose, int) else "set"
        which = which if self.slots is None else "arm of each slot"
        self._set(regret_kind=f"to the best fixed {which}: {self.base.regret_kind}")

    @property
    def problem(self) -> Problem:
        """So many arms, and their losses."""
        slots = cast("tuple[int, ...] | None", self.slots)  # or whatever users gave, which Problem refuses
        return Problem(choose=self.choose, slots=slots, outside=self.outside)

    @property
    def _means(self) -> FloatArray | None:
        base = self.base.base if isinstance(self.base, Corrupted) else self.base
        return base.mean_losses()

    @property
    def outside_cost(self) -> float:
        """That of ``outside``, from where the base counts: its best arm, or 0."""
        if not self.problem.sizes_differ:
            return 0.0
        return float(self.outside - (0.0 if self._means is None else self._means.min()))


@dataclass(frozen=True, repr=False)
class FeedbackGraph(OtherProblem, name="feedback-graph"):
    """Another environment in which playing an arm shows the losses of others too.

    Losses of different arms are independent given the past. What an arm costs, and what regret is measured
    to, is as in the base.

    Parameters
    ----------
    base:
        Any environment but :class:`Delayed` and :class:`Logged`.
    shows:
        For each arm, the arms whose losses are shown when it is played (itself only if it is among them);
        ``"all"``: always all, as for prediction with expert advice.

    Examples
    --------
    >>> import bothworlds as bw
    >>> E = bw.environments
    >>> E.FeedbackGraph(E.Bernoulli(n_arms=3, gap=0.2), shows=[[0, 1], [1], [0, 1, 2]]).problem
    Problem(shows=[[0, 1], [1], [0, 1, 2]])
    """

    _: KW_ONLY
    shows: Literal["all"] | Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        if self.shows is None:
            raise InvalidArgumentError("shows", None, "'all', or a list of arms for each arm")
        super().__post_init__()
        self._set(shows=self.problem.shows, regret_kind=self.base.regret_kind)

    @property
    def problem(self) -> Problem:
        """One arm, and what it shows."""
        return Problem(shows=self.shows)  # type: ignore[arg-type]  # as users give it
