"""The paper's decomposition of the regret over the replications of a cell, each term beside its bound.

Every replication is played again, to the bit, and taken apart by :func:`bothworlds.theory.account_run`; what
is shown is the mean of each term with its 95% band, and the line of the appendix's table for it, evaluated at
the mean number of plays of the suboptimal arms (by Jensen's inequality no smaller than the mean of the line).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bothworlds import _check, environments, policies
from bothworlds._jit import FloatArray, IntArray
from bothworlds._progress import Progress
from bothworlds._words import counted, did_you_mean, html_table
from bothworlds.errors import BothworldsError, InvalidArgumentError
from bothworlds.report.numbers import at_largest_horizon
from bothworlds.report.numbers.rows import Panel
from bothworlds.report.numbers.statistics import mean_band
from bothworlds.report.text import MISSING, TextTable, format_number, plus_minus
from bothworlds.report.text.formats import TABLE_FORMATS, as_csv, as_latex, as_markdown, as_text
from bothworlds.theory import (
    Account,
    TermTable,
    account_run,
    accountable,
    has_account,
    term_table,
    where_did_the_regret_go,
)

if TYPE_CHECKING:
    from bothworlds.report.study import Study

TERMS = {
    "RegSub": "suboptimal arms",
    "ResReg": "residual",
    "PreCost": "preprocessing",
    "RegOpt": "optimal arms",
    "Reg": "sum",
}
"""The terms, by their names in the paper's appendix."""
POINTS = 100  # rounds at which they are kept


@dataclass(frozen=True)
class Decomposition:
    """The terms of a policy's regret in one world.

    Attributes
    ----------
    policy, environment, horizon, replications:
        Of what.
    rounds:
        The rounds at which the terms are kept.
    mean, low, high:
        By term: its sum up to each round, over replications, and the 95% band of the mean.
    bounds, formulas:
        By term: its line of the appendix's table up to each round, every constant 1, and in symbols; empty
        where no theorem covers the policy.
    """

    policy: str
    environment: str
    horizon: int
    replications: int
    rounds: IntArray
    mean: Mapping[str, FloatArray]
    low: Mapping[str, FloatArray]
    high: Mapping[str, FloatArray]
    bounds: Mapping[str, FloatArray]
    formulas: Mapping[str, str]

    @property
    def frame(self) -> pd.DataFrame:
        """``term``, ``round``, ``mean``, ``low``, ``high``, ``bound`` (NaN where there is none)."""
        nothing = np.full(self.rounds.size, np.nan)
        parts = [
            {"term": term, "round": self.rounds, "mean": self.mean[term], "low": self.low[term]}
            | {"high": self.high[term], "bound": self.bounds.get(term, nothing)}
            for term in TERMS
        ]
        return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)

    def table(self, *, format: str = "text") -> str:
        """The terms at the last round, as "text", "latex" or "markdown"; those of all rounds as "csv"."""
        _check.one_of("format", format, TABLE_FORMATS)
        if format == "csv":
            return as_csv(self.frame)
        made = {"text": as_text, "latex": as_latex, "markdown": as_markdown}[format]
        return made(self._text())

    def _text(self) -> TextTable:
        rows: list[tuple[str, ...]] = []
        for term, meaning in TERMS.items():
            mean = plus_minus(self.mean[term][-1], self.low[term][-1], self.high[term][-1])
            bound = self.bounds.get(term)
            value = format_number(None if bound is None else float(bound[-1]))
            rows.append((term, meaning, mean, self.formulas.get(term, MISSING), value))
        title = (
            f"{self.policy} in {self.environment}: its estimated regret term by term after "
            f"{counted(self.horizon, 'round')}, {counted(self.replications, 'replication')}"
        )
        notes = ("Bounds: the appendix's table, with every constant 1.",) if self.bounds else ()
        header = ("term", "of", "mean ± 95%", "bound", "its value")
        return TextTable(title, header, rows, (False, False, True, False, True), notes)

    def _repr_html_(self) -> str:
        table = self._text()
        return html_table(table.header, table.rows, [table.title, *table.notes])


def accountable_labels(study: Study) -> list[str]:
    """The policies of a study whose regret can be accounted for, in the order of its file."""
    manifest = study.manifest
    cells = {cell["policy"]: cell for cell in manifest["cells"]}  # one of each policy
    return [
        str(entry["label"])
        for i, entry in enumerate(manifest["policies"])
        if i in cells
        and entry["kind"] in policies.REGISTRY  # which classes of a user may have left
        and has_account(
            policies.from_dict(entry["settings"]), n_arms=cells[i]["n_arms"], horizon=cells[i]["horizon"]
        )
    ]


def not_accountable(study: Study, got: str) -> InvalidArgumentError:
    """The refusal of a policy without such a decomposition, which names those of the study that have one."""
    labels = accountable_labels(study)
    if labels:
        fix = f"here: {', '.join(map(repr, labels))}; choose one with policy=… in Python, or --policy"
    else:
        fix = f"this study has none; kinds that are: {', '.join(accountable())}"
    wanted = (
        "one that plays an FTRL minimizer without predictions: the regret of others has no such decomposition"
    )
    return InvalidArgumentError("policy", got, wanted, got=got, fix=fix)


def decompose(
    study: Study, panel: Panel, *, policy: str, replications: int | None = None, progress: bool = True
) -> Decomposition:
    """Take the replications of a policy in one world apart; see :meth:`Study.decompose`."""
    if policy not in panel.cells:
        fix = did_you_mean(str(policy), panel.cells) or "study.policies lists them"
        raise InvalidArgumentError("policy", policy, "a policy of the study", fix=fix)
    manifest = study.manifest
    cell = manifest["cells"][panel.cells[policy]]
    if policy not in accountable_labels(study):
        raise not_accountable(study, policy)
    player = policies.from_dict(manifest["policies"][cell["policy"]]["settings"])
    if not cell["optimal"]:
        raise InvalidArgumentError(
            "environment",
            panel.title,
            "one whose optimal arms are known",
            fix="those with fixed gaps have some",
        )
    world = environments.from_dict(manifest["environments"][cell["environment"]]["settings"])
    most = manifest["replications"]
    many = most if replications is None else _check.integer("replications", replications, at_least=1)
    if many > most:
        raise InvalidArgumentError("replications", many, f"at most the {most} of the study")
    horizon = cell["horizon"]
    rounds = np.unique(np.geomspace(1, horizon, POINTS).round().astype(np.int64))
    sums, plays = [], []
    with Progress(f"{policy} in {panel.title}, taken apart", many, enabled=progress, lines=True) as bar:
        # said at once: the first may have to wait for kernels that are compiled
        bar.say(f"{policy} in {panel.title}: {counted(many, 'replication')} played again and taken apart")
        for number in range(many):
            taken = account_run(
                player,
                world,
                horizon=horizon,
                seed=manifest["seed"],
                replication=number,
                tell_horizon=manifest["tell_horizon"],
                optimal=cell["optimal"],
            )
            sums.append(term_sums(taken, rounds))
            plays.append(np.cumsum(taken.p[:-1, taken.suboptimal], axis=0)[rounds - 1])
            if number == 0:
                bar.restart()
            bar.advance(1)
    terms = {term: np.array([one[term] for one in sums]) for term in TERMS}
    bands = {term: mean_band(values) for term, values in terms.items()}
    lines = _lines(player, cell)
    mass = np.mean(plays, axis=0)
    return Decomposition(
        policy,
        panel.title,
        horizon,
        many,
        rounds,
        {term: values.mean(axis=0) for term, values in terms.items()},
        {term: band[0] for term, band in bands.items()},
        {term: band[1] for term, band in bands.items()},
        {} if lines is None else {t: np.array([lines[t].value(m) for m in mass]) for t in TERMS},
        {} if lines is None else {term: lines[term].formula for term in TERMS},
    )


def term_sums(taken: Account, rounds: IntArray) -> dict[str, FloatArray]:
    """The terms of one run up to each of the rounds; for a decoupled policy the gap is in the residual."""
    terms = taken.terms
    parts = {
        "RegSub": terms["suboptimal"],
        "ResReg": terms["residual"] - terms["gap"],
        "PreCost": terms["preprocessing"],
        "RegOpt": terms["optimal"],
        "Reg": terms["regret"],
    }
    return {name: np.cumsum(values)[rounds - 1] for name, values in parts.items()}


def _lines(player: Any, cell: dict[str, Any]) -> TermTable | None:
    """The appendix's table, if it covers the policy."""
    try:
        return term_table(
            player, n_arms=cell["n_arms"], horizon=cell["horizon"], n_optimal=len(cell["optimal"])
        )
    except BothworldsError:
        return None


# --- replication 0 of every cell ---------------------------------------------------------------------------

LARGEST_RUN = 4_000_000  # rounds times arms of a run that is taken apart: 100 MB


def parts_of_runs(study: Study) -> pd.DataFrame:
    """Replication 0 of every cell that can be taken apart: cell, policy, environment, round, part, regret.

    It is played again, with the seed of the study, so it is the same run to the bit.
    """
    manifest = study.manifest
    frames = []
    for number in at_largest_horizon(study.cells)["cell"]:
        cell = manifest["cells"][number]
        player, world = manifest["policies"][cell["policy"]], manifest["environments"][cell["environment"]]
        optimal = cell["optimal"]
        if cell["horizon"] * cell["n_arms"] > LARGEST_RUN or not optimal:
            continue
        try:
            taken = account_run(
                policies.from_dict(player["settings"]),
                environments.from_dict(world["settings"]),
                horizon=cell["horizon"],
                seed=manifest["seed"],
                tell_horizon=manifest["tell_horizon"],
                optimal=optimal,
            )
        except BothworldsError:
            continue  # another kind of policy, or feedback that comes late
        rows = where_did_the_regret_go(taken)
        labels = {"cell": cell["cell"], "policy": player["label"], "environment": world["label"]}
        frames.append(pd.DataFrame([labels | row for row in rows]))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
