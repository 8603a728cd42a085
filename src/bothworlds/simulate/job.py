"""One replication of one policy, or some of them at once: what a thread of ``bw.simulate`` does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bothworlds import rng
from bothworlds._jit import FloatArray, IntArray
from bothworlds._lanes import LANES
from bothworlds._progress import Progress
from bothworlds.environments import Delayed, Environment, Logged, PythonEnvironment
from bothworlds.environments.base import open_world
from bothworlds.environments.delayed import AT_ONCE, open_mailbox
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.policies.base import Policy, init
from bothworlds.simulate.engine import (
    BAD_LOSS,
    COMPLETE,
    N_KEPT,
    N_TALLY,
    UNSOLVED,
    Record,
    cut_record,
    new_record,
    no_record,
    play_block,
)
from bothworlds.simulate.lanes import MOST, fit, lane_state, play_lanes

LANE_BLOCK = 2000  # rounds: the uniforms of all lanes stay in the second cache, and not all in one set

POLICY_STREAM, WORLD_STREAM, PYTHON_STREAM, DELAY_STREAM = range(4)


class Outcome(NamedTuple):
    """What one replication of one policy leaves behind."""

    kept: FloatArray
    kept_p: FloatArray
    record: Record | None


@dataclass(frozen=True)
class Job:
    """One replication of one policy."""

    policy: Policy
    environment: Environment
    horizon: int
    told: int | None
    seed: int
    replication: int
    marks: IntArray
    trace: bool
    probabilities: bool
    block: int

    @property
    def kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """What ``run`` needs compiled: the entry, and arguments of the right types."""
        n = self.environment.n_arms
        return play_block, tuple(
            self.arguments(np.empty((0, N_KEPT)), np.empty((0, n)), no_record(n)).values()
        )

    def run(self, stop: threading.Event, progress: Progress) -> list[Outcome]:
        """Play all rounds; NaN at the checkpoints after the end of a log."""
        kept = np.full((self.marks.size, N_KEPT), np.nan)
        kept_p = np.full((self.marks.size if self.probabilities else 0, self.environment.n_arms), np.nan)
        record = new_record(self.horizon if self.trace else 0, self.environment.n_arms)
        randoms = self.randoms()
        arguments = self.arguments(kept, kept_p, record)
        for before in range(0, self.horizon, self.block):
            if stop.is_set():
                break
            rounds = min(self.block, self.horizon - before)
            self.fill(arguments, randoms, before, rounds)
            ended, t, loss = play_block.compiled(*arguments.values())
            if ended == BAD_LOSS:
                if isinstance(inner(self.environment), Logged) and np.isnan(loss):
                    record = cut_record(record, t - 1)
                    break
                raise InvalidArgumentError(
                    "losses", loss, "in [0, 1]", got=f"{loss} from {self.environment!r} in round {t}"
                )
            if ended == UNSOLVED:
                raise SolverError(f"{self.policy!r} found no solution in round {t}; please report this run")
            progress.advance(rounds)
        return [Outcome(kept, kept_p, record if self.trace else None)]

    def arguments(self, kept: FloatArray, kept_p: FloatArray, record: Record) -> dict[str, Any]:
        """Everything the kernel wants, with empty blocks of uniforms."""
        n = self.environment.n_arms
        params = self.policy.resolve(n, self.told)
        env = self.environment.parameters(self.horizon)
        late = isinstance(self.environment, Delayed)
        delay = self.environment.delay(self.horizon) if late else AT_ONCE  # type: ignore[attr-defined]
        return {
            "params": params,
            "state": init(params),
            "env": env,
            "world": open_world(env),
            "delay": delay,
            "box": open_mailbox(delay),
            "policy_uniforms": np.empty((0, self.policy.draws)),
            "world_uniforms": np.empty((0, self.columns)),
            "before": 0,
            "marks": self.marks,
            "tally": np.zeros(N_TALLY),
            "p": np.empty(n),
            "kept": kept,
            "kept_p": kept_p,
            "record": record,
        }

    @property
    def columns(self) -> int:
        """Uniforms of the world per round, without that of the delay: at least one."""
        return max(1, inner(self.environment).draws)

    def randoms(self) -> list[Any]:
        """The streams of this replication: uniforms, but a whole generator for a world written in Python."""
        return [
            rng.stream(self.seed, stream, self.replication)
            if stream == PYTHON_STREAM
            else rng.Uniforms(self.seed, (stream, self.replication))
            for stream in range(4)
        ]

    def fill(self, arguments: dict[str, Any], randoms: list[Any], before: int, rounds: int) -> None:
        """The random numbers (and, for a world written in Python, the losses) of the next block."""
        arguments["before"] = before
        arguments["policy_uniforms"] = randoms[POLICY_STREAM].draw(rounds, self.policy.draws)[0]
        uniforms = randoms[WORLD_STREAM].draw(rounds, self.columns)[0]
        if isinstance(self.environment, Delayed):  # a stream of its own: the losses are those of the base
            uniforms = np.hstack([uniforms, randoms[DELAY_STREAM].draw(rounds, 1)[0]])
        arguments["world_uniforms"] = uniforms
        base = inner(self.environment)
        if isinstance(base, PythonEnvironment):
            arguments["env"] = base.block(randoms[PYTHON_STREAM], before, before + rounds)


def inner(environment: Environment) -> Environment:
    """The world without the delay of its feedback."""
    return environment.base if isinstance(environment, Delayed) else environment


@dataclass(frozen=True)
class LaneJob:
    """Up to ``MOST`` replications of one policy at once on a core: the same bits, sooner."""

    singles: Sequence[Job]

    @property
    def kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """What ``run`` needs compiled: the entry, and arguments of the right types."""
        return play_lanes, tuple(self.arguments(0).values())

    def run(self, stop: threading.Event, progress: Progress) -> list[Outcome]:
        """Play all rounds. If something is wrong with one of them, they say so on their own."""
        job, count = self.singles[0], len(self.singles)
        arguments = self.arguments(job.marks.size)
        streams = (POLICY_STREAM, WORLD_STREAM)
        randoms = [
            rng.Uniforms(job.seed, *((stream, one.replication) for one in self.singles)) for stream in streams
        ]
        done = 0
        block = min(job.block, LANE_BLOCK)
        for before in range(0, job.horizon, block):
            if stop.is_set():
                break
            rounds = min(block, job.horizon - before)
            uniforms = np.empty((self.lanes, rounds)), np.empty((self.lanes, rounds, job.columns))
            for random, out in zip(randoms, uniforms, strict=True):
                random.fill(out[:count])
                out[count:] = out[0]  # lanes that are left over play the first replication again
            arguments["policy_uniforms"], arguments["world_uniforms"] = uniforms
            arguments["before"] = before
            with np.errstate(all="ignore"):  # not compiled, lanes that will not be confirmed may say so
                ended = play_lanes.compiled(*arguments.values())
            if ended != COMPLETE:
                progress.advance(-done)
                return [outcome for one in self.singles for outcome in one.run(stop, progress)]
            progress.advance(count * rounds)
            done += count * rounds
        return [Outcome(*kept, None) for kept in zip(arguments["kept"], arguments["kept_p"], strict=True)]

    @property
    def lanes(self) -> int:
        """As many as there are replications, or up to three more."""
        return -(-len(self.singles) // LANES) * LANES

    def arguments(self, n_marks: int) -> dict[str, Any]:
        """Everything the kernel wants, with empty blocks of uniforms."""
        job, count = self.singles[0], len(self.singles)
        n = job.environment.n_arms
        params = job.policy.resolve(n, job.told)
        env = job.environment.parameters(job.horizon)
        worlds = tuple(open_world(env) for _ in range(self.lanes))
        return {
            "params": params,
            "state": lane_state(params, self.lanes // LANES),
            "env": env,
            "worlds": worlds + worlds[:1] * (MOST - self.lanes),
            "policy_uniforms": np.empty((self.lanes, 0)),
            "world_uniforms": np.empty((self.lanes, 0, job.columns)),
            "before": 0,
            "marks": job.marks,
            "kept": np.full((count, n_marks, N_KEPT), np.nan),
            "kept_p": np.full((count, n_marks if job.probabilities else 0, n), np.nan),
        }


def group(jobs: Sequence[Job], threads: int = 1) -> list[Job | LaneJob]:
    """The replications of one policy, many at once where lanes can play them; something for every thread."""
    job = jobs[0]
    simple = not job.trace and not isinstance(job.environment, (Delayed, Logged, PythonEnvironment))
    if not simple or len(jobs) < LANES:
        return list(jobs)
    params = job.policy.resolve(job.environment.n_arms, job.told)
    if not fit(params, job.environment.parameters(job.horizon)):
        return list(jobs)
    last = len(jobs) - (len(jobs) % LANES == 1)  # one that is left over is played sooner alone
    count = min(MOST, -(-last // (LANES * threads)) * LANES)
    return [*(LaneJob(jobs[i : min(i + count, last)]) for i in range(0, last, count)), *jobs[last:]]


def prepare(group: Sequence[Job | LaneJob]) -> None:
    """Compile what the replications of one policy need, or read it from disk."""
    for one in {type(one): one for one in group}.values():
        entry, arguments = one.kernel
        entry.bind(*arguments)
