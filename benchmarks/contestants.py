"""What `make bench` measures: each contestant plays rounds of the same world and says what its p was.

The world: Bernoulli losses, the first arm with mean 0.4, the others 0.6. Contestants that are called from
Python get their losses from a table, made beforehand. Peers that are not installed say why.
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bothworlds as bw
from bothworlds.problem import PLAIN
from numpy_tsallis_inf import NumpyBisection, NumpyTsallisINF

HERE = Path(__file__).parent


class Step(NamedTuple):
    """A distribution that was played, and what it should solve, in the words of tests/oracle/step.py."""

    p: np.ndarray
    losses: np.ndarray
    rates: np.ndarray
    parts: list[tuple[float, str, float]]
    barrier: float = 0.0


@dataclass
class Contestant:
    """``play(n_arms, rounds)`` gives seconds; ``steps(n_arms)`` some of its distributions."""

    name: str
    play: Callable[[int, int], float]
    steps: Callable[[int], Iterator[Step]] | None = None
    most: int = 1000  # the largest number of arms it is asked to play
    many_arms: bool = False  # does the time of its rounds not depend on their number?


def means(n_arms: int) -> np.ndarray:
    values = np.full(n_arms, 0.6)
    values[0] = 0.4
    return values


def table(n_arms: int, rounds: int) -> list[list[float]]:
    """Losses, one row per round, as Python floats; few rows, used again and again."""
    count = min(rounds, 2000, max(20, 2_000_000 // n_arms))
    rows = (np.random.default_rng(0).random((count, n_arms)) < means(n_arms)).astype(float).tolist()
    return [rows[t % len(rows)] for t in range(rounds)]


TSALLIS = [(1.0, "tsallis", 0.5)]
MOMENTS = (1, 2, 3, 10, 30, 100, 300, 1000, 1500, 2000)  # rounds whose p is compared with the oracle

# --- this package ---------------------------------------------------------------------------------------


def whole_run(policy: bw.Policy, replications: int = 1, jobs: int = 1) -> Callable[[int, int], float]:
    def play(n_arms: int, rounds: int) -> float:
        world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
        start = time.perf_counter()
        bw.simulate(
            policy,
            world,
            horizon=rounds,
            replications=replications,
            jobs=jobs,
            seed=1,
            checkpoints=[rounds],
            tell_horizon=rounds >= n_arms,
        )
        return (time.perf_counter() - start) / replications

    return play


def traced(policy: bw.Policy, parts: list[Any], barrier: float = 0.0) -> Callable[[int], Iterator[Step]]:
    def steps(n_arms: int) -> Iterator[Step]:
        world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
        trace = bw.simulate(policy, world, horizon=2000, seed=1, trace=True).traces[0][0]
        for t in MOMENTS:
            yield Step(trace.p[t], trace.estimates[t], trace.rates[t], parts, barrier)

    return steps


def one_call(policy: bw.Policy) -> Callable[[int, int], float]:
    def play(n_arms: int, rounds: int) -> float:
        rows = table(n_arms, rounds)
        bandit = bw.Bandit(n_arms, policy, seed=1)
        start = time.perf_counter()
        for row in rows:
            pull = bandit.pull()
            bandit.update(pull, loss=row[pull.observe])  # type: ignore[index]
        return time.perf_counter() - start

    return play


class ByPasses(bw.TsallisINF):
    """Tsallis-INF without the machine for many arms."""

    def resolve(self, n_arms: int, horizon: int | None, problem: bw.Problem = PLAIN) -> Any:
        """The parameters that serve any number of arms."""
        return bw.Policy.resolve(self, n_arms, horizon, problem)


def ours() -> list[Contestant]:
    log, beta = [(1.0, "log", 0.0)], [(1.0, "tsallis", 0.7)]
    shannon = [(1.0, "shannon", 0.0)]
    passes = ByPasses()
    light = {
        "log-barrier, C=1": (bw.FTRL(bw.LogBarrier(), constants="light"), log),
        "Tsallis 0.7, C=1": (bw.FTRL(bw.Tsallis(0.7), constants="light"), beta),
        "Shannon, C=1": (bw.FTRL(bw.Shannon(), constants="light"), shannon),
    }
    counted = bw.CountedBarrier()
    return [
        Contestant(
            "bothworlds TsallisINF, whole run",
            whole_run(bw.TsallisINF()),
            traced(bw.TsallisINF(), TSALLIS),
            most=10**6,
            many_arms=True,
        ),
        Contestant(
            "bothworlds TsallisINF by passes over all arms",
            whole_run(passes),
            traced(passes, TSALLIS),
            most=10**6,
        ),
        Contestant("bothworlds TsallisINF, 64 replications", whole_run(bw.TsallisINF(), 64), most=10),
        Contestant(
            "bothworlds TsallisINF, 64 replications, two threads", whole_run(bw.TsallisINF(), 64, 2), most=10
        ),
        Contestant(
            "bothworlds TsallisINF, one call at a time", one_call(bw.TsallisINF()), most=10**5, many_arms=True
        ),
        Contestant("bothworlds LightBarrier, whole run", whole_run(bw.LightBarrier())),
        Contestant("bothworlds LightBarrier, one call at a time", one_call(bw.LightBarrier())),
        *(
            Contestant(f"bothworlds {name}, whole run", whole_run(policy), traced(policy, parts, 1.0))
            for name, (policy, parts) in light.items()
        ),
        Contestant(
            "bothworlds CountedBarrier, whole run",
            whole_run(counted),
            traced(counted, log, 1.0),
            most=10**6,
            many_arms=True,
        ),
    ]


# --- NumPy ----------------------------------------------------------------------------------------------


def numpy_peer(
    kind: type[NumpyTsallisINF],
) -> tuple[Callable[[int, int], float], Callable[[int], Iterator[Step]]]:
    def play(n_arms: int, rounds: int) -> float:
        rows = table(n_arms, rounds)
        bandit = kind(n_arms, seed=1)
        start = time.perf_counter()
        for row in rows:
            arm = bandit.pull()
            bandit.update(arm, row[arm])
        return time.perf_counter() - start

    def steps(n_arms: int) -> Iterator[Step]:
        bandit = kind(n_arms, seed=1)
        for t, row in enumerate(table(n_arms, 2001), start=1):
            losses = bandit.losses.copy()
            arm = bandit.pull()
            if t in MOMENTS:
                yield Step(bandit.p, losses, np.full(n_arms, np.sqrt(t)), TSALLIS)
            bandit.update(arm, row[arm])

    return play, steps


# --- C --------------------------------------------------------------------------------------------------


class NoCompiler(RuntimeError):
    """There is no gcc."""


def compile_c(*flags: str) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        raise NoCompiler("gcc is not installed; on Debian: apt install gcc libc6-dev")
    folder = Path(tempfile.mkdtemp())
    source, part, library = HERE / "speed_of_light.c", folder / "part.o", folder / "speed_of_light.so"
    options = ["-O3", "-march=native", "-fno-math-errno", *flags, "-fPIC"]
    subprocess.run(["gcc", *options, "-c", str(source), "-o", str(part)], check=True)
    # linked without -ffast-math, which would have the whole process take tiny numbers for zero
    subprocess.run(["gcc", "-shared", str(part), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def c_function(library: ctypes.CDLL, name: str, *numbers: float) -> Callable[[int, int], tuple[float, Any]]:
    def run(n_arms: int, rounds: int) -> tuple[float, Any]:
        losses, rates, p = (np.zeros(n_arms) for _ in range(3))
        chances = means(n_arms)  # kept alive while C reads it
        first, *others = (
            a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (chances, losses, rates, p)
        )
        arguments = [ctypes.c_long(n_arms), ctypes.c_long(rounds), *map(ctypes.c_double, numbers)]
        start = time.perf_counter()
        getattr(library, name)(*arguments, first, ctypes.c_uint64(1), *others)
        return time.perf_counter() - start, (p, losses, rates)

    return run


def in_c() -> Iterator[Contestant]:
    functions: dict[str, tuple[Any, ...]] = {
        "Tsallis-INF": ("tsallis_inf", (), TSALLIS, 0.0),
        "log-barrier, C=1": ("log_barrier", (1.0,), [(1.0, "log", 0.0)], 1.0),
        "Tsallis 0.7, C=1": ("with_barrier", (0.7, 1.0), [(1.0, "tsallis", 0.7)], 1.0),
        "Shannon, C=1": ("with_barrier", (1.0, 1.0), [(1.0, "shannon", 0.0)], 1.0),
    }
    for flags in ((), ("-ffast-math",)):
        library = compile_c(*flags)
        for title, (name, numbers, parts, barrier) in functions.items():
            run = c_function(library, name, *numbers)

            def steps(
                n_arms: int, run: Any = run, parts: Any = parts, barrier: float = barrier
            ) -> Iterator[Step]:
                for t in MOMENTS[3:]:
                    yield Step(*run(n_arms, t)[1], parts, barrier)

            label = " ".join(["C", title, *flags])
            most = 10**6 if name == "tsallis_inf" else 1000
            yield Contestant(label, lambda n, rounds, run=run: run(n, rounds)[0], steps, most)  # type: ignore[misc]


# --- other packages -------------------------------------------------------------------------------------


def smpybandits() -> Contestant:
    """Its package does not import with today's SciPy, but the file of this policy does, by itself."""
    found = importlib.util.find_spec("SMPyBandits")
    if found is None or found.origin is None:
        raise ImportError("SMPyBandits is not installed")
    folder = str(Path(found.origin).parent / "Policies")
    sys.path.insert(0, folder)
    try:
        from TsallisInf import TsallisInf  # type: ignore[import-not-found]  # noqa: PLC0415
    finally:
        sys.path.remove(folder)

    def fresh(n_arms: int) -> Any:
        np.random.seed(1)  # noqa: NPY002 - what it draws from
        policy = TsallisInf(n_arms)
        policy.startGame()
        return policy

    def play(n_arms: int, rounds: int) -> float:
        rows = table(n_arms, rounds)
        policy = fresh(n_arms)
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            for row in rows:
                arm = policy.choice()
                policy.getReward(arm, 1.0 - row[arm])
        return time.perf_counter() - start

    def steps(n_arms: int) -> Iterator[Step]:
        policy = fresh(n_arms)
        with np.errstate(all="ignore"):
            for t, row in enumerate(table(n_arms, 2001), start=1):
                arm = policy.choice()
                policy.getReward(arm, 1.0 - row[arm])
                if t % 40 == 0:  # more often: it is wrong now and then
                    yield Step(
                        policy.weights.copy(),
                        policy.cumulative_losses.copy(),
                        np.full(n_arms, 1.0 / policy.eta),
                        TSALLIS,
                    )

    return Contestant("SMPyBandits TsallisInf (its file alone)", play, steps)


def river(name: str, **options: float) -> Contestant:
    from river import bandit as river_bandit  # type: ignore[import-not-found]  # noqa: PLC0415

    def play(n_arms: int, rounds: int) -> float:
        rows = table(n_arms, rounds)
        policy = getattr(river_bandit, name)(seed=1, **options)
        arms = range(n_arms)
        start = time.perf_counter()
        for row in rows:
            arm = policy.pull(arms)
            policy.update(arm, 1.0 - row[arm])
        return time.perf_counter() - start

    return Contestant(f"river {name}", play)


def mabwiser(name: str) -> Contestant:
    from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]  # noqa: PLC0415

    def play(n_arms: int, rounds: int) -> float:
        rows = table(n_arms, rounds)
        policy = MAB(list(range(n_arms)), getattr(LearningPolicy, name)(), seed=1)
        policy.fit(list(range(n_arms)), [0] * n_arms)
        start = time.perf_counter()
        for row in rows:
            arm = policy.predict()
            policy.partial_fit([arm], [int(1.0 - row[arm])])
        return time.perf_counter() - start

    return Contestant(f"mabwiser {name}", play)


def everyone() -> tuple[list[Contestant], list[str]]:
    """All that can be measured here, and why the others cannot."""
    contestants = ours()
    contestants.append(Contestant("NumPy Tsallis-INF, warm Newton", *numpy_peer(NumpyTsallisINF)))
    contestants.append(Contestant("NumPy Tsallis-INF, bisection", *numpy_peer(NumpyBisection)))
    absent = []
    for title, make in (
        ("C", lambda: list(in_c())),
        ("SMPyBandits TsallisInf", lambda: [smpybandits()]),
        ("river Exp3", lambda: [river("Exp3", gamma=0.1)]),
        ("river UCB", lambda: [river("UCB", delta=1.0)]),
        ("mabwiser UCB1", lambda: [mabwiser("UCB1")]),
        ("mabwiser Thompson", lambda: [mabwiser("ThompsonSampling")]),
    ):
        try:
            contestants += make()
        except (ImportError, NoCompiler, subprocess.CalledProcessError) as error:
            absent.append(f"{title}: not measured: {error}")
    return contestants, absent
