"""What a study costs: nominal seconds decide how it is cut into chunks, measured ones how long it will take.

The cut goes by nominal cost, never by a clock, so that every run makes the same one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bothworlds.environments.base import Environment, reads_p
from bothworlds.experiments.experiment import EVIDENCE

if TYPE_CHECKING:
    from bothworlds.experiments.experiment import Entry, Experiment
    from bothworlds.experiments.store.chunk import ChunkInfo

CHUNK_SECONDS = 1.0  # nominal: long against the 10 ms that a chunk costs; a run that is stopped loses so much
MOST_CHUNKS = 20_000  # of a study: the larger it is, the longer its chunks
REPLICATION_SECONDS = 3e-4  # streams of random numbers, arrays: before the first round
LOOK_SECONDS = 3e-4, 1e-4  # a look at the evidence, and what each arm adds
NOTE_SECONDS = 4e-7  # a round, to keep what evidence needs

# Nanoseconds per round, and per round and arm, as `benchmarks/every_policy.py` prints them, roughly.
# They only decide how much goes into a chunk; a kind that is not here is taken for an average one.
AVERAGE = (150.0, 5.0)
NANOSECONDS = {
    "avner": (170.0, 22.0),
    "barbar": (50.0, 1.5),
    "broad-omd": (90.0, 2.5),
    "counted-barrier": (100.0, 1.5),
    "decoupled-tsallis-inf": (150.0, 3.0),
    "discounted-thompson": (50.0, 92.0),
    "elimination-race": (300.0, 25.0),
    "epsilon-greedy": (50.0, 2.5),
    "exp3": (140.0, 8.0),
    "exp3-ix": (140.0, 8.0),
    "exp3-p": (80.0, 8.0),
    "exp3-plus-plus": (250.0, 14.0),
    "exp3-s": (80.0, 2.0),
    "ftrl": (90.0, 2.5),
    "glr-kl-ucb": (1500.0, 240.0),
    "inf": (100.0, 1.5),
    "insured-sampler": (230.0, 5.0),
    "ith22": (220.0, 14.0),
    "ito21": (190.0, 6.0),
    "kl-ucb": (100.0, 200.0),
    "lb-inf-v": (700.0, 200.0),
    "light-barrier": (140.0, 3.0),
    "sao": (180.0, 15.0),
    "sliding-window-thompson": (40.0, 100.0),
    "thompson": (100.0, 95.0),
    "tsallis-inf": (30.0, 2.0),  # several replications at once
    "ucb1": (50.0, 6.0),
    "uniform": (45.0, 1.0),
    "watched": (240.0, 6.0),  # over the default
}
IN_PYTHON = 100_000.0  # a policy of another package, played without the compiler
INTEGRATED = ("thompson", "discounted-thompson", "sliding-window-thompson")
INTEGRAL = 3900.0  # per round and arm: their distribution, in worlds that read it
SEARCHED = (300.0, 26.0)  # FTRL with a regularizer whose p is searched arm by arm
CLOSED = ("log-barrier",)  # … and those where it is not


class Batch(NamedTuple):
    """Replications first … stop−1 of a cell."""

    cell: int
    first: int
    stop: int


def nominal_seconds(policy: Entry, n_arms: int, horizon: int, *, read: bool = False) -> float:
    """About how long one replication takes; ``read``: in a world that reads the policy's distribution."""
    per_round, per_arm = NANOSECONDS.get(policy.kind, AVERAGE)
    if policy.build().in_python:
        per_round = IN_PYTHON
    if policy.kind == "ftrl" and _name(policy.settings.get("regularizer")) not in CLOSED:
        per_round, per_arm = SEARCHED
    if read and not _kinds(policy.settings).isdisjoint(INTEGRATED):
        per_arm += INTEGRAL
    return REPLICATION_SECONDS + 1e-9 * horizon * (per_round + per_arm * n_arms)


def _name(part: Any) -> Any:
    return part.get("kind") if isinstance(part, dict) else part


def _kinds(settings: Any) -> set[str]:
    """The kinds of a policy and of the policies inside it."""
    if not isinstance(settings, dict):
        return set()
    inside = (kind for part in settings.values() for kind in _kinds(part))
    return {str(settings.get("kind")), *inside}


def nominal_costs(experiment: Experiment, worlds: Sequence[Environment]) -> list[float]:
    """Nominal seconds of one replication of each cell; ``worlds`` are the environments, built."""
    reads = {
        (k, t): reads_p(world.parameters(t)) for k, world in enumerate(worlds) for t in experiment.horizons
    }
    return [
        nominal_seconds(
            experiment.policies[cell.policy],
            worlds[cell.environment].n_arms,
            cell.horizon,
            read=bool(reads[cell.environment, cell.horizon]),
        )
        + _evidence_seconds(experiment, worlds[cell.environment].n_arms, cell.horizon)
        for cell in experiment.cells()
    ]


def _evidence_seconds(experiment: Experiment, n_arms: int, horizon: int) -> float:
    """Nominal seconds of one replication that go to evidence."""
    if EVIDENCE not in experiment.record:
        return 0.0
    look, per_arm = LOOK_SECONDS
    return horizon * NOTE_SECONDS + experiment.marks(horizon).size * (look + per_arm * n_arms)


def cut_into_chunks(costs: Sequence[float], replications: int) -> list[list[Batch]]:
    """Chunks in the order of the cells: a large cell is split by replications, small ones share a chunk.

    >>> cut_into_chunks([0.4, 0.004, 0.003], replications=4)
    [[Batch(cell=0, first=0, stop=2)], [Batch(cell=0, first=2, stop=4), Batch(cell=1, first=0, stop=4), \
Batch(cell=2, first=0, stop=4)]]
    """
    target = max(CHUNK_SECONDS, sum(costs) * replications / MOST_CHUNKS)
    chunks: list[list[Batch]] = []
    filled = math.inf
    for cell, cost in enumerate(costs):
        parts = min(replications, math.ceil(cost * replications / target))
        for part in range(parts):
            batch = Batch(cell, part * replications // parts, (part + 1) * replications // parts)
            seconds = cost * (batch.stop - batch.first)
            if filled + seconds > target:
                chunks.append([])
                filled = 0.0
            chunks[-1].append(batch)
            filled += seconds
    return chunks


class Forecast:
    """Estimates the time left from the chunks that are done.

    Nominal costs are right up to a factor that depends on the policy (and the machine), which the seconds of
    its finished batches tell; how many seconds of work are done in a second is measured too.
    """

    def __init__(self, costs: Sequence[float], policies: Sequence[int]) -> None:
        """Of each cell: nominal seconds of a replication, and the index of its policy."""
        self._costs, self._policies = costs, policies
        self._nominal: dict[int, float] = defaultdict(float)
        self._actual: dict[int, float] = defaultdict(float)
        self.worked = 0.0
        self._since: tuple[float, float] | None = None  # seconds worked and elapsed, at the first chunk

    def nominal(self, batch: Batch) -> float:
        """Nominal seconds of a batch."""
        return self._costs[batch.cell] * (batch.stop - batch.first)

    def learn(self, chunk: ChunkInfo, *, now: bool) -> None:
        """Take in the seconds of a chunk that is done: ``now``, or in an earlier run."""
        for batch, seconds in chunk.batches:
            self._nominal[self._policies[batch.cell]] += self.nominal(batch)
            self._actual[self._policies[batch.cell]] += seconds
            self.worked += seconds if now else 0.0

    def seconds(self, batches: Iterable[Batch]) -> float:
        """Seconds of work in batches: nominal ones, corrected by what their policies took so far."""
        overall = _ratio(sum(self._actual.values()), sum(self._nominal.values()), 1.0)
        total = 0.0
        for batch in batches:
            policy = self._policies[batch.cell]
            total += self.nominal(batch) * _ratio(self._actual[policy], self._nominal[policy], overall)
        return total

    def time_left(self, batches: Iterable[Batch], elapsed: float, workers: int) -> float:
        """Seconds until these batches are done, ``elapsed`` seconds after the start.

        Until the first chunk is done workers may have compiled kernels: speed is measured from there on.
        """
        if self._since is None and self.worked:
            self._since = self.worked, elapsed
        worked, passed = (0.0, 0.0) if self._since is None else self._since
        speed = (self.worked - worked) / (elapsed - passed) if self.worked > worked else float(workers)
        return self.seconds(batches) / speed


def _ratio(actual: float, nominal: float, otherwise: float) -> float:
    return actual / nominal if nominal > 0.0 and actual > 0.0 else otherwise
