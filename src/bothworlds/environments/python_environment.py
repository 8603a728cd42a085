"""Losses made block by block by a Python class."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from bothworlds._words import counted
from bothworlds.environments.base import Environment
from bothworlds.environments.table import REGRET_ON_LOSSES, TableParameters, check_table
from bothworlds.errors import InvalidArgumentError


class PythonEnvironment(Environment):
    """Base class for a world of your own in NumPy, without numba.

    Subclass it, set ``n_arms``, and give ``losses(random, start, stop)``: the losses of rounds
    start+1 … stop, an array (stop − start) × n_arms in [0, 1], drawn from ``random`` alone. The engine asks
    for blocks in order, one generator per replication. It may not see what the policy does; for an
    adversary that does, register kernels as in ``environments/favorite_attack.py``.

    Examples
    --------
    >>> import numpy as np, bothworlds as bw
    >>> class Waves(bw.environments.PythonEnvironment):
    ...     n_arms = 3
    ...     def losses(self, random, start, stop):
    ...         t = np.arange(start, stop)[:, None]
    ...         return 0.5 + 0.5 * np.sin(t / 100 + np.arange(3))
    >>> run = bw.simulate([bw.TsallisINF()], Waves(), horizon=500, replications=2, seed=1)
    >>> run.regret.shape[:2]
    (1, 2)
    """

    regret_kind = REGRET_ON_LOSSES
    draws = 0
    made_in_blocks = True

    @abstractmethod
    def losses(self, random: np.random.Generator, start: int, stop: int) -> ArrayLike:
        """The losses of rounds start+1 … stop."""

    def block(self, random: np.random.Generator, before: int, last: int) -> TableParameters:
        """The losses of a block, checked."""
        table = check_table("losses", self.losses(random, before, last), self.n_arms, first_row=before)
        if len(table) != last - before:
            raise InvalidArgumentError(
                "losses", table, f"those of {counted(last - before, 'round')}", got=str(len(table))
            )
        return TableParameters(table, before)

    def parameters(self, horizon: int) -> TableParameters:
        """An empty table; the engine asks for blocks."""
        return TableParameters(np.empty((0, self.n_arms)), 0)
