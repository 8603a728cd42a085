"""Logged bandit data: what a policy would have earned, without bias."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds._jit import FloatArray, IntArray
from bothworlds._words import counted
from bothworlds.environments.base import Environment, cost_of, loss_of, open_world, prepare
from bothworlds.environments.table import parquet_columns
from bothworlds.errors import InvalidArgumentError
from bothworlds.rng import expand


class LoggedParameters(NamedTuple):
    """The log, the smallest propensity, and the estimated gap of every arm."""

    actions: IntArray
    losses: FloatArray
    propensities: FloatArray
    smallest: float
    estimated_gaps: FloatArray


class LoggedWorld(NamedTuple):
    """The row at which this replication began, and how many rows have been read."""

    scalars: FloatArray


START, READ = 0, 1
COLUMNS = ("action", "reward", "propensity")  # of a log in a file


@dataclass(frozen=True, repr=False, eq=False)
class Logged(Environment, name="logged"):
    """Replay of logged decisions by rejection sampling, unbiased for every policy, adaptive or not.

    Each row of the log is an action, its reward, and the probability with which the logger took it. In every
    round the policy draws its arm; then rows are read until one is accepted: a row is accepted if its action
    is that arm, with probability (smallest propensity)/(propensity of the row). A row is thus accepted with
    the same probability whatever the arm, so the accepted rewards are distributed as if the policy had
    acted live on the logged population (Li et al. 2011 for uniform logs; Dudík et al. 2012 in general). It
    needs rows that are independent of each other, and every action to have been possible in every row.

    Every replication begins at a random row and reads the log once around. A run ends when the log does:
    later checkpoints are NaN. About (smallest propensity)·rows rounds fit.

    Parameters
    ----------
    actions:
        The arms that were played, 0 … n_arms−1.
    rewards:
        Their rewards, in [0, 1].
    propensities:
        The probabilities with which they were played, in (0, 1].
    n_arms:
        The number of arms; by default one more than the largest action.

    Examples
    --------
    >>> import bothworlds as bw
    >>> log = bw.environments.Logged(actions=[0, 1, 0, 1], rewards=[1, 0, 1, 1], propensities=[0.5] * 4)
    >>> log.estimated_means()  # losses
    array([0. , 0.5])
    """

    actions: ArrayLike
    rewards: ArrayLike
    propensities: ArrayLike
    _: KW_ONLY
    n_arms: int = 0

    draws: ClassVar[int] = 2
    can_end: ClassVar[bool] = True
    shows_any_arm: ClassVar[bool] = False
    regret_kind: ClassVar[str] = (
        "estimated: sum of the estimated gaps of the arms played (self-normalized inverse-propensity "
        "estimates over the whole log)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rewards = _check.vector("rewards", self.rewards, at_least=0.0, at_most=1.0)
        n = _check.integer("n_arms", self.n_arms, at_least=0)
        actions = _check.indices("actions", self.actions, below=n or 2**31)
        n = n or int(np.max(actions, initial=0)) + 1
        if actions.size != rewards.size or actions.size == 0:
            raise InvalidArgumentError(
                "rewards",
                rewards,
                "as many as actions, and at least one",
                got=f"{rewards.size} for {counted(actions.size, 'action')}",
            )
        propensities = _check.vector(
            "propensities", self.propensities, size=actions.size, above=0.0, at_most=1.0
        )
        missing = np.setdiff1d(np.arange(n), actions)
        if missing.size:
            raise InvalidArgumentError(
                "actions",
                actions,
                "such that every arm is there at least once",
                got=f"no row of arm {missing[0]}",
            )
        for column in (actions, rewards, propensities):
            column.flags.writeable = False
        self._set(actions=actions, rewards=rewards, propensities=propensities, n_arms=n)

    @classmethod
    def read(cls, path: str | PathLike[str], *, n_arms: int = 0) -> Logged:
        """Read a log from a CSV file or a Parquet file (needs pyarrow).

        Its columns ``action``, ``reward`` and ``propensity`` are taken, by name; others are left alone.
        """
        file = Path(path)
        if file.suffix.lower() == ".parquet":
            columns = parquet_columns(file)
            _require(file, columns)
        else:
            columns = _csv_columns(file)
        actions, rewards, propensities = (columns[name] for name in COLUMNS)
        return cls(actions, rewards, propensities, n_arms=n_arms)

    def estimated_means(self) -> FloatArray:
        """Self-normalized inverse-propensity estimates of every arm's mean loss, over the whole log."""
        actions, weights = np.asarray(self.actions), 1.0 / np.asarray(self.propensities)
        losses = 1.0 - np.asarray(self.rewards)
        return np.bincount(actions, losses * weights, self.n_arms) / np.bincount(
            actions, weights, self.n_arms
        )

    def parameters(self, horizon: int) -> LoggedParameters:
        """The log in arrays."""
        propensities, means = np.asarray(self.propensities), self.estimated_means()
        return LoggedParameters(
            np.asarray(self.actions),
            1.0 - np.asarray(self.rewards),
            propensities,
            float(propensities.min()),
            means - means.min(),
        )

    def __repr__(self) -> str:
        return f"Logged(<{np.size(self.actions)} rows>, n_arms={self.n_arms})"


def _require(file: Path, names: Iterable[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InvalidArgumentError(
            "path",
            str(file),
            f"a file with the columns {', '.join(COLUMNS)}",
            got=f"{file} with {', '.join(names)}",
            fix=f"missing: {', '.join(missing)}",
        )


def _csv_columns(file: Path) -> dict[str, FloatArray | IntArray]:
    kinds = dict(zip(COLUMNS, (int, float, float), strict=True))
    values: dict[str, list[float]] = {name: [] for name in COLUMNS}
    with file.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets put a mark in front
        reader = csv.DictReader(stream)
        _require(file, reader.fieldnames or ())
        for row in reader:
            for name, kind in kinds.items():
                try:
                    values[name].append(kind(row[name]))
                except (TypeError, ValueError):
                    wanted = "an arm 0, 1, …" if kind is int else "a number"
                    raise InvalidArgumentError(
                        name, row[name], wanted, got=f"{row[name]!r} in line {reader.line_num} of {file}"
                    ) from None
    return {name: np.array(values[name], dtype=kind) for name, kind in kinds.items()}


@open_world.register(LoggedParameters)
def _(env: LoggedParameters) -> LoggedWorld:
    return LoggedWorld(np.zeros(2))


@prepare.register(LoggedParameters)
def _(env: LoggedParameters, world: LoggedWorld, t: int, p: FloatArray, uniforms: FloatArray) -> None:
    if t == 1:
        world.scalars[START] = math.floor(uniforms[1] * env.actions.size)


@loss_of.register(LoggedParameters)
def _(env: LoggedParameters, world: LoggedWorld, t: int, arm: int, uniforms: FloatArray) -> float:
    n = env.actions.size
    start, read = int(world.scalars[START]), int(world.scalars[READ])
    tries = 0
    while read < n:
        row = (start + read) % n
        read += 1
        tries += 1
        if env.actions[row] == arm and expand(uniforms[0], tries) * env.propensities[row] < env.smallest:
            world.scalars[READ] = read
            return float(env.losses[row])
    world.scalars[READ] = n
    return math.nan  # the log has ended


@cost_of.register(LoggedParameters)
def _(
    env: LoggedParameters, world: LoggedWorld, t: int, arm: int, uniforms: FloatArray
) -> tuple[float, float]:
    return env.estimated_gaps[arm], env.estimated_gaps[arm]
