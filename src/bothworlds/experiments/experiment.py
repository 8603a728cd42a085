"""What an experiment file describes, in plain values: no parser, no pydantic, cheap to send to a worker."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bothworlds import environments, policies
from bothworlds._jit import IntArray
from bothworlds._value import from_table
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments.modules import Module, load_module, load_plugins
from bothworlds.simulation.run import default_checkpoints

FINDERS = {"policy": policies._find, "environment": environments.get}
MANIFEST = "manifest.json"  # what makes a folder that of a study
CHECKPOINTS = 100  # at most, where a file says nothing
EVIDENCE = "evidence"  # among what is recorded


@dataclass(frozen=True)
class Entry:
    """One policy or environment, after the sweeps of its table are expanded."""

    label: str
    """Unique among the policies (environments) of its study."""
    kind: str
    settings: dict[str, Any]
    """Everything needed to build it, defaults included, in JSON types; parts are tables with a ``kind``.

    A data file is an absolute ``path`` with the ``sha256`` of its content: workers must see it there.
    """
    swept: dict[str, Any]
    """The swept settings of this entry, as the file names them: numbers, strings or booleans."""
    family: Literal["policy", "environment"]

    def build(self) -> Any:
        """The policy or environment itself."""
        return _build(self.family, json.dumps(self.settings), _classes(self.settings, self.family))

    def meaning(self) -> dict[str, Any]:
        """The settings that decide numbers: a data file counts by its content, not by its path."""
        return _without_paths(self.settings)


def _without_paths(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_paths(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if not (key == "path" and "sha256" in table)
    }


def _classes(table: dict[str, Any], family: str) -> tuple[type, ...]:
    """The classes of a table and of the parts in it, as they are known now."""
    parts = [_classes(value, family) for value in table.values() if isinstance(value, dict)]
    own = (FINDERS[family](table["kind"]),) if "kind" in table else ()
    return sum(parts, own)


@functools.lru_cache(maxsize=64)
def _build(family: str, settings: str, classes: tuple[type, ...]) -> Any:
    """One object per entry and process, so that data files are read once; ``classes`` tell modules apart."""
    return from_table(_check_files(json.loads(settings)), FINDERS[family])


def _check_files(table: dict[str, Any]) -> dict[str, Any]:
    """The table without the checksums of its data files, after comparing them."""
    if "sha256" in table and (found := file_hash(Path(table["path"]))) != table["sha256"]:
        raise InvalidArgumentError(
            "path",
            table["path"],
            f"a file that has not changed since the experiment was read (sha256 {table['sha256'][:16]}…)",
            got=f"{table['path']} (sha256 {found[:16]}…)",
            fix="restore it, or read the experiment again",
        )
    return {
        key: _check_files(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if key != "sha256"
    }


def file_hash(path: Path) -> str:
    """The sha256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Cell(NamedTuple):
    """One policy in one environment for one horizon; the numbers index those of the experiment."""

    number: int
    policy: int
    environment: int
    horizon: int


@dataclass(frozen=True)
class Experiment:
    """What an experiment file describes.

    Examples
    --------
    >>> from bothworlds.experiments.spec import parse
    >>> experiment = parse('''
    ... horizon = [100, 1000]
    ... replications = 4
    ... [[policy]]
    ... kind = "tsallis-inf"
    ... [[environment]]
    ... kind = "bernoulli"
    ... n_arms = 4
    ... gap = [0.1, 0.2]
    ... ''')
    >>> [environment.label for environment in experiment.environments]
    ['Bernoulli K=4 Δ=0.1', 'Bernoulli K=4 Δ=0.2']
    >>> experiment.cells()[3]
    Cell(number=3, policy=0, environment=1, horizon=1000)
    >>> experiment.environments[1].build()
    Bernoulli(n_arms=4, gap=0.2)
    """

    title: str
    description: str
    horizons: tuple[int, ...]
    replications: int
    seed: int
    checkpoints: int | tuple[int, ...] | None
    """How many (log-spaced), or the rounds; None: about 100. The horizon is always the last one."""
    record: tuple[str, ...]
    tell_horizon: bool
    policies: tuple[Entry, ...]
    environments: tuple[Entry, ...]
    modules: tuple[Module, ...]
    text: str
    """The file as written."""
    packages: dict[str, str] = field(default_factory=dict)
    """Installed packages that registered a kind which this study uses, with their versions."""

    folder: str = ""
    """Where the file is that describes it: what the paths in it are relative to."""

    def cells(self) -> tuple[Cell, ...]:
        """All cells: by environment, then horizon, then policy."""
        return tuple(
            Cell(number, policy, environment, horizon)
            for number, (environment, horizon, policy) in enumerate(
                (environment, horizon, policy)
                for environment in range(len(self.environments))
                for horizon in self.horizons
                for policy in range(len(self.policies))
            )
        )

    def marks(self, horizon: int) -> IntArray:
        """The checkpoints of a cell with this horizon: increasing, the last one is the horizon."""
        if isinstance(self.checkpoints, tuple):
            rounds = [t for t in self.checkpoints if t < horizon]
            return np.array([*rounds, horizon], dtype=np.int64)
        return default_checkpoints(horizon, self.checkpoints or CHECKPOINTS)

    def meaning(self) -> dict[str, Any]:
        """Everything that decides the numbers of the study, in JSON types. Titles and labels do not."""
        rounds = self.checkpoints or CHECKPOINTS
        return {
            "horizons": list(self.horizons),
            "replications": self.replications,
            "seed": self.seed,
            "checkpoints": list(rounds) if isinstance(rounds, tuple) else rounds,
            "record": list(self.record),
            "tell_horizon": self.tell_horizon,
            "policies": [entry.meaning() for entry in self.policies],
            "environments": [entry.meaning() for entry in self.environments],
            "modules": {module.name: module.sha256 for module in self.modules},
            "packages": dict(self.packages),
        }

    def fingerprint(self, made_by: dict[str, str] | None = None) -> str:
        """A sha256 over :meth:`meaning`: equal for files that describe the same numbers.

        With ``made_by``, the version and the sources of bothworlds, it is that of results: chunks carry it.
        """
        meant = self.meaning() | ({"made_by": made_by} if made_by else {})
        content = json.dumps(meant, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def load_modules(self) -> None:
        """Make the kinds of the study's Python files, and of installed packages, known in this process.

        A process that was sent the experiment calls it before it builds entries; again does no harm.
        """
        load_plugins()
        for module in self.modules:
            load_module(module)
