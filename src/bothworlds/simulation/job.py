"""One replication of one policy, or some of them at once: what a thread of ``bw.simulate`` does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bothworlds import _check, rng
from bothworlds._jit import FloatArray, IntArray, comes_from_outside, what_to_do
from bothworlds._progress import Progress
from bothworlds._simd import LANES
from bothworlds.environments import Environment
from bothworlds.environments.base import open_world, reads_p, require_world
from bothworlds.environments.delay import empty_queue
from bothworlds.errors import InvalidArgumentError, SolverError
from bothworlds.policies.base import Policy, distribution, init, require_sleeping, weighs
from bothworlds.policies.several import new_round, shown_by
from bothworlds.simulation.batch import MOST, batch_state, fit, play_batch
from bothworlds.simulation.engine import (
    BAD_LOSS,
    COMPLETE,
    N_MEASURED,
    N_TALLY,
    UNSOLVED,
    RoundRecord,
    new_record,
    no_record,
    part_of,
    play_block,
)
from bothworlds.simulation.evidence import EvidenceRecorder
from bothworlds.simulation.several import play_rounds
from bothworlds.simulation.sleeping import play_awake

BLOCK = 8192  # rounds per call of the kernel, at most: bounds the memory of a run …
WORK = 1_000_000  # … and rounds times arms: how long Ctrl-C takes
PYTHON_WORK = 200_000  # the same for worlds written in Python, whose bits depend on it
PYTHON_ROUNDS = 500  # of a policy written in Python, which takes its time
BATCH_BLOCK = 2000  # rounds: the uniforms of all lanes stay in the second cache, and not all in one set
TRACE_LIMIT = 4e9  # bytes

POLICY_STREAM, WORLD_STREAM, PYTHON_STREAM, DELAY_STREAM = range(4)


class ReplicationResult(NamedTuple):
    """The results of one replication of one policy."""

    measured: FloatArray
    distributions: FloatArray
    record: RoundRecord | None
    looks: FloatArray | None = None
    """Evidence at the checkpoints, where it was asked for."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One replication of one policy."""

    policy: Policy
    environment: Environment
    horizon: int
    known_horizon: int | None
    seed: int
    replication: int
    marks: IntArray
    trace: bool
    probabilities: bool
    block: int
    evidence: bool = False
    code: Any = None
    """The machine code of ``kernel``, if known: a call that has to look for it takes ten times as long."""

    @property
    def kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """What ``run`` needs compiled: the entry, and arguments of the right types."""
        n = self.environment.n_arms
        return self.loop, tuple(
            self.arguments(np.empty((0, N_MEASURED)), np.empty((0, n)), no_record(n)).values()
        )

    @property
    def loop(self) -> Any:
        """The loop for this problem."""
        if self.environment.sleeps:
            return play_awake
        return play_rounds if self.environment.problem.several else play_block

    def run(self, stop: threading.Event, progress: Progress) -> list[ReplicationResult]:
        """Play all rounds; NaN at the checkpoints after the end of a log."""
        measured = np.full((self.marks.size, N_MEASURED), np.nan)
        distributions = np.full(
            (self.marks.size if self.probabilities else 0, self.environment.n_arms), np.nan
        )
        recorder = EvidenceRecorder(self.policy, self.environment, self.marks) if self.evidence else None
        record = self.new_record()
        randoms = self.randoms()
        arguments = self.arguments(measured, distributions, record)
        play = self.code or (self.loop.py_func if self.policy.in_python else self.loop.compiled)
        for before, rounds in self.stretches(arguments, randoms):
            if stop.is_set():
                break
            if record.arms.size:
                first = before if self.trace else 0
                arguments["record"] = part_of(record, first, first + rounds)
            ended, t, loss = play(*arguments.values())
            if ended == BAD_LOSS:
                if self.environment.can_end and np.isnan(loss):
                    record = part_of(record, 0, t - 1)
                    break
                unseen = np.isnan(loss) and not reads_p(arguments["env"])
                raise InvalidArgumentError(
                    "losses",
                    loss,
                    "in [0, 1]",
                    got=f"{loss} from {self.environment!r} in round {t}",
                    fix="if its prepare reads p, register reads_p: p is NaN without" if unseen else "",
                )
            if ended == UNSOLVED:
                fix = what_to_do(arguments["params"], "run")
                raise SolverError(f"{self.policy!r} found no solution in round {t}; {fix}")
            if recorder is not None:
                recorder.follow(arguments["record"], arguments["world"], t)
            progress.advance(rounds)
        self.require_distribution(arguments["params"], arguments["state"])
        looks = None if recorder is None else recorder.looks
        return [ReplicationResult(measured, distributions, record if self.trace else None, looks)]

    def require_distribution(self, params: Any, state: Any) -> None:
        """Refuse a run of kernels by others whose distribution has become NaN: they play on all the same."""
        if self.policy.in_python or not comes_from_outside(params) or not weighs(params):
            return
        p = np.empty(self.environment.n_arms)
        distribution(params, state, p)
        if np.isnan(p).any():
            fix = what_to_do(params, "run")
            raise SolverError(f"{self.policy!r} has lost its distribution, which is {p} after the run; {fix}")

    def new_record(self) -> RoundRecord:
        """Room for all rounds, for those of a block, or for none."""
        n = self.environment.n_arms
        return (
            new_record(self.horizon, n)
            if self.trace
            else new_record(self.block * self.evidence, n, traced=False)
        )

    def stretches(self, arguments: dict[str, Any], randoms: list[Any]) -> Iterator[tuple[int, int]]:
        """Fill in what rounds need, block by block; for evidence, from checkpoint to checkpoint.

        Yields the number of rounds before, and of these.
        """
        uniforms = ("policy_uniforms", "world_uniforms")
        for before in range(0, self.horizon, self.block):
            rounds = min(self.block, self.horizon - before)
            self.fill(arguments, randoms, before, rounds)
            block = {name: arguments[name] for name in uniforms}
            ends = self.marks[(self.marks > before) & (self.marks < before + rounds)] if self.evidence else ()
            for first, stop in pairwise([0, *(int(t) - before for t in ends), rounds]):
                arguments |= {name: values[first:stop] for name, values in block.items()}
                arguments["before"] = before + first
                yield before + first, stop - first

    def arguments(
        self, measured: FloatArray, distributions: FloatArray, record: RoundRecord
    ) -> dict[str, Any]:
        """All arguments of the kernel, with empty blocks of uniforms."""
        n = self.environment.n_arms
        problem = self.environment.problem
        params = self.policy.resolve(n, self.known_horizon, problem)
        env = self.environment.parameters(self.horizon)
        delay = self.environment.delay(self.horizon)
        rounds: dict[str, Any] = {"delay": delay, "queue": empty_queue(delay)}
        if self.environment.sleeps:
            rounds = {"before_round": init(params), "awake": np.empty(n)}
        if problem.several:
            rounds = {"graph": shown_by(problem, n), "drawn": new_round(problem, n)}
            rounds |= {"groups": problem.groups(n), "nothing": self.environment.outside_cost}
        return {
            "params": params,
            "state": init(params),
            "env": env,
            "world": open_world(env),
            **rounds,
            "policy_uniforms": np.empty((0, self.policy.draws)),
            "world_uniforms": np.empty((0, self.columns)),
            "before": 0,
            "marks": self.marks,
            "tally": np.zeros(N_TALLY),
            "p": np.full(n, np.nan),  # unless the environment reads it
            **({"room": np.empty(n)} if problem.several or self.environment.sleeps else {}),
            "measured": measured,
            "distributions": distributions,
            **({} if problem.several or self.environment.sleeps else {"record": record}),
        }

    @property
    def columns(self) -> int:
        """Uniforms of the world per round, without that of the delay: at least one."""
        return max(1, self.environment.draws)

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
        if self.environment.delay(self.horizon).longest > 0:  # a stream of its own: the losses are the base's
            uniforms = np.hstack([uniforms, randoms[DELAY_STREAM].draw(rounds, 1)[0]])
        arguments["world_uniforms"] = uniforms
        if self.environment.made_in_blocks:
            arguments["env"] = self.environment.block(randoms[PYTHON_STREAM], before, before + rounds)


@dataclass(frozen=True)
class BatchJob:
    """Up to ``MOST`` replications of one policy at once on a core, with the bits that each has alone."""

    singles: Sequence[Job]
    code: Any = None
    """As of a job."""

    @property
    def kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """What ``run`` needs compiled: the entry, and arguments of the right types."""
        return play_batch, tuple(self.arguments(0).values())

    def run(self, stop: threading.Event, progress: Progress) -> list[ReplicationResult]:
        """Play all rounds. Where one of them fails, all are played again one by one, to raise its error."""
        job, count = self.singles[0], len(self.singles)
        arguments = self.arguments(job.marks.size)
        streams = (POLICY_STREAM, WORLD_STREAM)
        randoms = [
            rng.Uniforms(job.seed, *((stream, one.replication) for one in self.singles)) for stream in streams
        ]
        done = 0
        block = min(job.block, BATCH_BLOCK)
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
                ended = (self.code or play_batch.compiled)(*arguments.values())
            if ended != COMPLETE:
                progress.advance(-done)
                return [outcome for one in self.singles for outcome in one.run(stop, progress)]
            progress.advance(count * rounds)
            done += count * rounds
        pairs = zip(arguments["measured"], arguments["distributions"], strict=True)
        return [ReplicationResult(*pair, None) for pair in pairs]

    @property
    def lanes(self) -> int:
        """As many as there are replications, or up to three more."""
        return -(-len(self.singles) // LANES) * LANES

    def arguments(self, n_marks: int) -> dict[str, Any]:
        """All arguments of the kernel, with empty blocks of uniforms."""
        job, count = self.singles[0], len(self.singles)
        n = job.environment.n_arms
        params = job.policy.resolve(n, job.known_horizon)
        env = job.environment.parameters(job.horizon)
        worlds = tuple(open_world(env) for _ in range(self.lanes))
        return {
            "params": params,
            "state": batch_state(params, self.lanes // LANES),
            "env": env,
            "worlds": worlds + worlds[:1] * (MOST - self.lanes),
            "policy_uniforms": np.empty((self.lanes, 0)),
            "world_uniforms": np.empty((self.lanes, 0, job.columns)),
            "before": 0,
            "marks": job.marks,
            "measured": np.full((count, n_marks, N_MEASURED), np.nan),
            "distributions": np.full((count, n_marks if job.probabilities else 0, n), np.nan),
        }


def make_jobs(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    tell_horizon: bool,
    seed: int,
    replications: range,
    marks: IntArray,
    trace: bool = False,
    distributions: int = 0,
    block: int | None = None,
    threads: int = 1,
    evidence: bool = False,
) -> list[Job | BatchJob]:
    """The work of playing these replications of one policy, something for every thread, compiled.

    ``marks`` are the checkpoints; the first ``distributions`` replications keep their distributions at them.
    """
    known_horizon = horizon if tell_horizon else None
    rounds = block_of(environment, block, policy, known_horizon)
    jobs = group(
        [
            Job(
                policy=policy,
                environment=environment,
                horizon=horizon,
                known_horizon=known_horizon,
                seed=seed,
                replication=number,
                marks=marks,
                trace=trace,
                probabilities=k < distributions,
                block=rounds,
                evidence=evidence,
            )
            for k, number in enumerate(replications)
        ],
        threads,
    )
    # before threads fan out
    kinds = {} if policy.in_python else {type(job): job for job in jobs}
    code = {kind: entry.bind(*arguments) for kind, job in kinds.items() for entry, arguments in [job.kernel]}
    if environment.made_in_blocks:  # by somebody's Python: what a block is made of is looked at each time
        return jobs
    return [replace(job, code=code.get(type(job))) for job in jobs]


def group(jobs: Sequence[Job], threads: int) -> list[Job | BatchJob]:
    """The replications of one policy, many at once where they can be; something for every thread."""
    job = jobs[0]
    world = job.environment
    special = world.sleeps or world.can_end or world.made_in_blocks or world.delay(job.horizon).longest
    if job.trace or job.evidence or special or not world.problem.plain or len(jobs) < LANES:
        return list(jobs)
    params = job.policy.resolve(world.n_arms, job.known_horizon)
    if not fit(params, world.parameters(job.horizon)):
        return list(jobs)
    last = len(jobs) - (len(jobs) % LANES == 1)  # one that is left over is played sooner alone
    count = min(MOST, -(-last // (LANES * threads)) * LANES)
    return [*(BatchJob(jobs[i : min(i + count, last)]) for i in range(0, last, count)), *jobs[last:]]


def block_of(environment: Environment, block: int | None, policy: Policy, known_horizon: int | None) -> int:
    """Rounds per call of the kernel."""
    n_arms = environment.n_arms
    if block is not None:
        block = _check.integer("block", block, at_least=1)
    if environment.made_in_blocks:
        # a world written in Python may draw in any way it likes: its blocks never change, so nor do its bits
        return max(16, min(BLOCK, PYTHON_WORK // n_arms))
    if policy.in_python:
        return block or PYTHON_ROUNDS
    params = policy.resolve(n_arms, known_horizon, environment.problem)
    touched_arms = getattr(params, "touched_arms", n_arms)
    return block or max(16, min(BLOCK, WORK // touched_arms))


def check_pair(
    policy: Policy, environment: Environment, known_horizon: int | None, *, evidence: bool = False
) -> None:
    """Refuse a policy that cannot play in the environment, with the horizon it is told, or not be watched."""
    policy.resolve(environment.n_arms, known_horizon, environment.problem)
    if policy.in_python and reads_p(environment.parameters(known_horizon or environment.n_arms)):
        raise InvalidArgumentError(
            "policy", policy, f"one that tells its distribution: {environment!r} reads it in every round"
        )
    if environment.sleeps:
        require_sleeping(policy)
    if policy.decoupled and evidence:
        raise InvalidArgumentError(
            "policy", policy, "one that observes the arm it plays, if evidence is kept"
        )
    if policy.decoupled and not environment.shows_any_arm:
        raise InvalidArgumentError(
            "policy", policy, "one that observes the arm it plays: Logged data shows no other"
        )


def check_recording(environment: Environment, *, trace: bool = False, evidence: bool = False) -> None:
    """Refuse a trace, or evidence, where rounds are not those of a plain bandit."""
    for name, asked in (("trace", trace), ("evidence", evidence)):
        if asked and environment.problem.several:
            wanted = f"False for {environment.problem}: rounds have several arms"
            raise InvalidArgumentError(name, asked, wanted)
        if asked and environment.sleeps:
            raise InvalidArgumentError(name, asked, "False where arms sleep")


def check_fit(
    policies: Sequence[Policy],
    environment: Environment,
    *,
    horizon: int,
    tell_horizon: bool,
    replications: int,
    trace: bool = False,
    evidence: bool = False,
) -> None:
    """Everything that can be refused before the first round is."""
    require_world(environment, horizon)
    for policy in policies:
        check_pair(policy, environment, horizon if tell_horizon else None, evidence=evidence)
    check_recording(environment, trace=trace, evidence=evidence)
    size = 8.0 * horizon * (3 * environment.n_arms + 3) * replications * len(policies)
    if trace and size > TRACE_LIMIT:
        raise InvalidArgumentError(
            "trace",
            trace,
            f"False for a run of this size, whose trace would need {size / 1e9:.0f} GB",
            fix="shorten the horizon or take fewer replications",
        )
