r"""One number per policy and world, and one per policy.

Regrets of different worlds cannot be averaged: their scales differ by orders of magnitude. With the mean
final regret R of a policy, and R⁺ = max(R, 0):

* in a world with fixed gaps the **score** is (R⁺ + K)/(R⁺_best + K), where R_best is the smallest mean of any
  policy there. K pulls are what it takes to see every arm once; added to both, they keep the score from
  exploding where the best regret is tiny;
* in any other it is R/√(KT): regret in units of the minimax rate, good if it is of order 1 or below. Such are
  adversarial worlds, where it is negative if the policy beat the best fixed arm, and ``Minimax``, which is
  iid but has another gap for every horizon, of the size that makes √(KT) the regret to expect.

The **ratio** compares with the best of the same world everywhere in the same way: (R⁺ + unit)/(R⁺_best +
unit) with the unit K in worlds with fixed gaps, √(KT) in others. It is at least 1, and 1 for the best. A
policy's **ranking** is the geometric mean of its ratios over the worlds, beside the worst of them.

Regret below zero counts as zero in a ratio: it is luck, or a moving world in which no fixed arm is good, and
should not buy a policy more than a ratio of 1. (It stays visible in the score R/√(KT).) So several policies
may have the ratio 1. The **best** of a world is whoever has the smallest mean regret; equal means share it.

The **scorecard** is all of this at the largest horizon of each world. The terminal, the page and the figure
show the same one, with the same steps of the ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bothworlds._jit import FloatArray
from bothworlds._words import plural
from bothworlds.report.numbers import NOT_FIXED, at_largest_horizon, swept

if TYPE_CHECKING:
    from bothworlds.report.study import Study

GAPS_SCORE = "(R+K)/(best+K)"
MINIMAX_SCORE = "R/√(KT)"
ROBUST = ("median", "trimmed")  # what else than the mean a world can be scored by
# ratio to the best, up to: a mark that needs no color. Colors are finer than marks. The first step is for the
# best of a world alone: another one may have the ratio 1 too, where regret is negative.
RATIO_STEPS = (
    (1.0, "★"),
    (1.1, "●"),
    (1.25, "●"),
    (1.5, "●"),
    (2.0, "○"),
    (3.0, "○"),
    (5.0, "·"),
    (10.0, "·"),
    (math.inf, "✗"),
)


def ratio_step(ratio: float, *, best: bool) -> int | None:
    """The step that a ratio to the best falls into, the first for the best alone; None for NaN.

    >>> ratio_step(1.0, best=True), ratio_step(1.0, best=False), ratio_step(400.0, best=False)
    (0, 1, 8)
    """
    if math.isnan(ratio):
        return None
    return 0 if best else next(k for k, (end, _) in enumerate(RATIO_STEPS) if k > 0 and ratio <= end)


def ratio_names() -> list[str]:
    """What each step means, best first.

    >>> ratio_names()[0], ratio_names()[1], ratio_names()[-1]
    ('best', '≤ 1.1', '> 10')
    """
    ends = [end for end, _ in RATIO_STEPS[:-1]]
    return ["best", *(f"≤ {end:g}" for _, end in pairwise(ends)), f"> {ends[-1]:g}"]


def regret_unit(n_arms: int, horizon: int, gaps: bool) -> float:
    """What regret is measured against in a world: K, or √(KT) where there are no fixed gaps."""
    return float(n_arms) if gaps else float(np.sqrt(n_arms * horizon))


def ratios_to_best(means: FloatArray, unit: float) -> FloatArray:
    """(R⁺ + unit)/(R⁺_best + unit) of all policies of a world; NaN stays NaN.

    Examples
    --------
    >>> import numpy as np
    >>> ratios_to_best(np.array([2.0, 14.0, np.nan, -5.0]), unit=4.0).tolist()
    [1.5, 4.5, nan, 1.0]
    """
    counted = np.maximum(means, 0.0) + unit
    known = counted[~np.isnan(counted)]
    return counted / known.min() if known.size else counted


def is_best(means: FloatArray) -> NDArray[np.bool_]:
    """Which policies of a world have the smallest mean regret: one, or several with the same; never NaN.

    Examples
    --------
    >>> import numpy as np
    >>> is_best(np.array([-2.0, -5.0, np.nan, -5.0])).tolist()
    [False, True, False, True]
    """
    known = means[~np.isnan(means)]
    best: NDArray[np.bool_] = means == (known.min() if known.size else np.nan)
    return best


def scores(cells: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Score and ratio of every policy in every environment at every horizon, and who is best there."""
    frame = cells.drop(columns="replications").merge(
        summary[["cell", "mean", "median", "trimmed"]], on="cell"
    )
    parts = []
    for _, group in frame.groupby(["environment", "horizon"], sort=False):
        n_arms, horizon = int(group["n_arms"].iloc[0]), int(group["horizon"].iloc[0])
        gaps = bool(group["gaps"].iloc[0] != NOT_FIXED)
        unit = regret_unit(n_arms, horizon, gaps)
        means = group["mean"].to_numpy(dtype=np.float64)
        ratio = ratios_to_best(means, unit)
        kind = GAPS_SCORE if gaps else MINIMAX_SCORE
        robust = {
            f"ratio_{name}": ratios_to_best(group[name].to_numpy(dtype=np.float64), unit) for name in ROBUST
        }
        score, best = ratio if gaps else means / unit, is_best(means)
        parts.append(group.assign(score=score, kind=kind, ratio=ratio, best=best, **robust))
    columns = ["cell", "environment", "horizon", "policy", "score", "kind", "ratio", "best"]
    columns += [f"ratio_{name}" for name in ROBUST]
    return pd.concat(parts, ignore_index=True)[columns + swept(cells)]


def ranking(cells: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Geometric mean and worst case of the ratios over environments, at the largest horizon; best first.

    ``by_median`` and ``by_trimmed`` are the geometric means where medians and trimmed means of regret stand
    in for means: where they differ much, few replications decide.

    Only worlds that all policies have played count: a ratio to the best of those that happened to come first
    says nothing. Every policy has a row, with NaN where no world counts; those whose log ended in some come
    after the others. Of equal geometric means, which are usual where regret is negative, the one that is best
    in more worlds comes first.
    """
    here = at_largest_horizon(scores)
    world = ["environment", "horizon"]
    planned, played = (frame.groupby(world)["policy"].transform("nunique") for frame in (cells, here))
    whole = played.to_numpy() == planned.set_axis(cells["cell"])[here["cell"]].to_numpy()
    known = here[whole].dropna(subset="ratio")
    groups = dict(iter(known.groupby("policy", sort=False)))
    rows = []
    for policy in dict.fromkeys(cells["policy"]):
        group = groups.get(policy, known.iloc[:0])
        worst = group["ratio"].idxmax() if len(group) else None
        rows.append(
            {
                "policy": policy,
                "geometric_mean": _geometric_mean(group["ratio"].to_numpy()),
                **{f"by_{name}": _geometric_mean(group[f"ratio_{name}"].to_numpy()) for name in ROBUST},
                "worst": np.nan if worst is None else float(group["ratio"][worst]),
                "worst_environment": None if worst is None else group["environment"][worst],
                "environments": len(group),
                "best": group["best"].sum(),
            }
        )
    order = {"environments": False, "geometric_mean": True, "best": False}
    frame = pd.DataFrame(rows).sort_values(
        [*order], ascending=[*order.values()], kind="stable", ignore_index=True
    )
    return frame.drop(columns="best")


def _geometric_mean(ratios: FloatArray) -> float:
    return float(np.exp(np.log(ratios).mean())) if ratios.size else float("nan")


class Score(NamedTuple):
    """One entry of the scorecard; ``ended`` says that there is no score because a log ended."""

    score: float
    ratio: float
    best: bool
    regret: float
    ended: bool

    @property
    def step(self) -> int | None:
        """The step of its ratio."""
        return ratio_step(self.ratio, best=self.best)


@dataclass(frozen=True)
class Scorecard:
    """Policies × environments, at the largest horizon of each environment."""

    policies: list[str]
    """All of the study, best first."""
    environments: list[str]
    """All of the study, in the order of the file."""
    entries: dict[tuple[str, str], Score]
    """By policy and environment, as far as the store has results."""
    geometric_mean: dict[str, float]
    """Of a policy's ratios."""
    robust: dict[str, dict[str, float]]
    """The geometric means by median and by trimmed mean."""
    worst: dict[str, float]
    """Of a policy's ratios."""
    kinds: dict[str, str]
    """The kind of score of each environment."""
    horizons: tuple[int, int]
    """The smallest and the largest horizon that it shows."""

    @property
    def rounds(self) -> str:
        """After how many rounds, in words."""
        first, last = self.horizons
        return f"{'' if first == last else f'{first:,} to '}{last:,} {plural(last, 'round')}"

    @property
    def negative(self) -> bool:
        """Is some mean regret negative, which counts as zero in ratios?"""
        return any(entry.regret < 0.0 for entry in self.entries.values())

    def frame(self) -> pd.DataFrame:
        """The scores, NaN where there is none."""
        wide = [
            [self.entries[p, e].score if (p, e) in self.entries else np.nan for e in self.environments]
            for p in self.policies
        ]
        return pd.DataFrame(
            wide,
            index=pd.Index(self.policies, name="policy"),
            columns=pd.Index(self.environments, name="environment"),
        )


def scorecard(study: Study) -> Scorecard:
    """The scorecard of a study."""
    here, cells, ranked = at_largest_horizon(study.scores), study.cells, study.ranking
    rows = here.merge(study.summary[["cell", "mean", "ended"]], on="cell").to_dict("records")
    entries = {
        (row["policy"], row["environment"]): Score(
            row["score"], row["ratio"], row["best"], row["mean"], row["ended"] > 0
        )
        for row in rows
    }
    return Scorecard(
        policies=list(dict.fromkeys([*ranked["policy"], *cells["policy"]])),
        environments=list(dict.fromkeys(cells["environment"])),
        entries=entries,
        geometric_mean=dict(zip(ranked["policy"], ranked["geometric_mean"], strict=True)),
        robust={name: dict(zip(ranked["policy"], ranked[f"by_{name}"], strict=True)) for name in ROBUST},
        worst=dict(zip(ranked["policy"], ranked["worst"], strict=True)),
        kinds=dict(zip(here["environment"], here["kind"], strict=True)),
        horizons=(int(here["horizon"].min()), int(here["horizon"].max())),
    )
