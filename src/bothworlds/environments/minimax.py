"""The hardest iid world for its horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bothworlds.environments.base import Environment
from bothworlds.environments.bernoulli import Bernoulli, BernoulliParameters
from bothworlds.settings import Count


@dataclass(frozen=True, repr=False, kw_only=True)
class Minimax(Environment, name="minimax"):
    """The hardest iid world for its horizon: one best arm, better by min(¼, √(K/T)), Bernoulli losses.

    No policy has regret below a constant times √(KT) on all such worlds (Auer et al. 2002); for a minimax
    optimal one, regret/√(KT) is flat in T. The gap depends on the horizon of the run.

    Examples
    --------
    >>> import bothworlds as bw
    >>> run = bw.simulate(bw.TsallisINF(), bw.environments.Minimax(n_arms=4), horizon=1000, replications=8)
    >>> bool(run.regret[0, :, -1].mean() < 1000 * 0.0632)  # playing a bad arm always
    True
    """

    n_arms: Count

    def at(self, horizon: int) -> Bernoulli:
        """The Bernoulli world for this horizon."""
        return Bernoulli(n_arms=self.n_arms, gap=min(0.25, math.sqrt(self.n_arms / horizon)))

    def parameters(self, horizon: int) -> BernoulliParameters:
        """Those of the Bernoulli world."""
        return self.at(horizon).parameters(horizon)
