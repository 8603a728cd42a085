"""Workers of one machine: the same bits from all of them, and what happens when they die."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import psutil
import pytest

from bothworlds.errors import InvalidArgumentError, WorkerError
from bothworlds.experiments.plan import Batch
from bothworlds.experiments.run import run_study
from bothworlds.experiments.run.workers import (
    GivenExecutor,
    Processes,
    Threads,
    make_task,
    make_workers,
    play_task,
)
from bothworlds.experiments.store import chunk, provenance
from studies import chunk_names, driver, manifest, parse, rows, small_chunks, study, text, wait_for

OWN_WORLD = """
import os, numpy as np, bothworlds as bw
class Waves(bw.environments.PythonEnvironment):
    n_arms = 3
    def losses(self, random, start, stop):
        {body}
        return random.random((stop - start, 3))
"""


def own_world(folder, body="pass", **settings):
    """A study with a world written in Python."""
    (folder / "waves.py").write_text(OWN_WORLD.format(body=body))
    content = text(before='modules = ["waves.py"]\n', after='[[environment]]\nkind = "waves"\n', **settings)
    return parse(content, folder=folder)


class Immediately(Executor):
    """The smallest executor there is."""

    def __init__(self):
        self.count, self.open = 0, True

    def submit(self, function, /, *arguments, **options):
        future = Future()
        self.count += 1
        try:
            future.set_result(function(*arguments, **options))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.open = False


def test_any_executor_will_do(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 1e-9)
    run_study(study(), tmp_path / "threads", jobs=2, progress=False)
    executor, told = Immediately(), []
    run_study(study(), tmp_path / "own", executor=executor, progress=False, on_chunk=told.append)
    assert executor.count == 16
    assert executor.open  # it is the caller's
    assert rows(tmp_path / "own") == rows(tmp_path / "threads")
    assert manifest(tmp_path / "own")["runs"][0]["executor"] == "Immediately"
    assert [chunk.done for chunk in told] == list(range(1, 17))
    (batch,) = told[0].batches
    assert batch[:5] == ("TsallisINF", "Bernoulli K=3 Δ=0.2", 60, 0, 1)
    stored = rows(tmp_path / "own")
    assert repr(batch.regret) == stored["regret"][stored["round"].index("60")]


def test_what_on_chunk_raises_ends_the_run_and_nothing_is_lost(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 1e-9)

    def tell(chunk):
        if chunk.done == 3:
            raise RuntimeError("the tracker is gone")

    with pytest.raises(RuntimeError, match="the tracker is gone"):
        run_study(study(), tmp_path, executor=Immediately(), jobs=1, progress=False, on_chunk=tell)
    saved = len(chunk_names(tmp_path))
    assert saved >= 3
    assert run_study(study(), tmp_path, executor=Immediately(), progress=False).chunks_reused == saved


def test_not_more_chunks_under_way_than_asked_for(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 1e-9)
    seen = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *arguments, **options):
            seen.append(self._work_queue.qsize())
            return super().submit(*arguments, **options)

    with Counting(1) as executor:
        run_study(study(), tmp_path, executor=executor, jobs=1, progress=False)
    assert len(seen) == 16
    assert max(seen) <= 2


def test_the_default_depends_on_the_worlds(tmp_path):
    plain, own = study(), own_world(tmp_path)
    for experiment, kind in ((plain, Threads), (own, Processes)):
        workers = make_workers(None, None, [entry.build() for entry in experiment.environments])
        assert type(workers) is kind
        assert workers.jobs == provenance.cores()
        workers.close()
    delayed = text(before='modules = ["waves.py"]\n', after='[[environment]]\nkind = "delayed"\nmean = 2\n')
    delayed += 'base = { kind = "waves" }\n'
    worlds = [entry.build() for entry in parse(delayed, folder=tmp_path).environments]
    workers = make_workers(None, 1, worlds)
    assert workers.name == "1 process"
    workers.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"executor": "clouds"}, "executor must be 'threads', 'processes', .* got 'clouds'"),
        ({"executor": 3}, "got 3"),
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"jobs": 1.5}, "jobs must be an integer"),
    ],
)
def test_bad_arguments(tmp_path, options, said):
    with pytest.raises(InvalidArgumentError, match=said):
        run_study(study(), tmp_path, progress=False, **options)


def test_a_worker_with_other_sources_refuses():
    experiment = study()
    task = make_task(0, [], experiment, experiment.cells(), "f")
    other = dataclasses.replace(task, identity=task.identity | {"sources": "0123"})
    with pytest.raises(WorkerError, match=r"sources: \"\w+\" there, \"0123\" here; install the same"):
        play_task(other)


def test_what_is_sent_is_small():
    import pickle

    experiment = study(n_arms=str(list(range(2, 60))), before="#" + "x" * 10_000 + "\n")
    cells = experiment.cells()
    task = make_task(7, [Batch(5, 0, 4), Batch(6, 0, 4)], experiment, cells, "f")
    assert len(pickle.dumps(task)) < 3000
    content = play_task(pickle.loads(pickle.dumps(task)))
    found = chunk.read_info(content)
    assert (found.chunk, [batch for batch, _ in found.batches]) == (7, [Batch(5, 0, 4), Batch(6, 0, 4)])


def test_an_error_of_a_chunk_says_which_and_keeps_the_others(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 1e-9)
    experiment = own_world(tmp_path, "if start == 0: return np.full((stop, 3), 7.0)", n_arms=3)
    with pytest.raises(InvalidArgumentError, match="losses") as caught:
        run_study(experiment, tmp_path / "out", executor="threads", jobs=1, progress=False)
    notes = "\n".join(caught.value.__notes__)
    assert "TsallisINF in Waves, 60 rounds, replications 0 to 0" in notes
    assert "8 of 16 chunks are saved" in notes
    assert len(chunk_names(tmp_path / "out")) == 8
    assert manifest(tmp_path / "out")["runs"][0]["chunks_run"] == 8


def test_stopping_ends_the_threads(tmp_path):
    experiment = study(horizon=10**9, replications=1, n_arms=3)
    workers = Threads(1)
    future = workers.submit(make_task(0, [Batch(0, 0, 1)], experiment, experiment.cells(), "f"))
    wait_for(future.running)
    workers.stop()
    workers.close()
    assert future.cancelled() or future.exception() is not None


# --- processes ------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.slow
def test_processes_lose_a_worker_and_go_on(tmp_path, monkeypatch, capfd):
    small_chunks(monkeypatch, 0.008)
    experiment = study(horizon=40_000, replications=12, n_arms=3)
    run_study(experiment, tmp_path / "serial", jobs=1, progress=False)

    def kill():
        wait_for(lambda: chunk_names(tmp_path / "out"))
        os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    summary = run_study(experiment, tmp_path / "out", executor="processes", jobs=2)
    killer.join()
    assert summary.chunks_run == len(chunk_names(tmp_path / "serial")) >= 4
    assert "a worker died" in capfd.readouterr().err
    assert rows(tmp_path / "out") == rows(tmp_path / "serial")
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_chunk_that_kills_its_worker_is_named(tmp_path, monkeypatch, capfd):
    small_chunks(monkeypatch, 1e-9)
    experiment = own_world(tmp_path, "os._exit(9)", n_arms=3, replications=1)
    with pytest.raises(
        WorkerError, match=r"again and again on chunk [23] \(.* in Waves, 60 rounds"
    ) as caught:
        run_study(experiment, tmp_path / "out", jobs=1)
    assert "2 of 4 chunks are saved" in "\n".join(caught.value.__notes__)
    assert len(chunk_names(tmp_path / "out")) == 2
    assert capfd.readouterr().err.count("a worker died") == 2  # and the third time it is to blame


def test_a_pool_of_the_caller_is_not_rebuilt(tmp_path):
    experiment = own_world(tmp_path, "os._exit(9)", n_arms=3, replications=1)
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, context) as pool,
        pytest.raises(WorkerError, match=r"workers were lost \(ProcessPoolExecutor\)"),
    ):
        run_study(experiment, tmp_path / "out", executor=pool, progress=False)


def spawned(pid):
    """The worker processes of a driver; one that has ended but was not waited for has no command line."""
    found = []
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.compiled
def test_workers_do_not_outlive_a_killed_driver(tmp_path):
    out = tmp_path / "out"
    process = driver(tmp_path, out, text(horizon=10**8, n_arms=3), jobs=2, executor="processes")
    try:
        wait_for(lambda: len(spawned(process.pid)) >= 2)
        workers = spawned(process.pid)
    finally:
        process.kill()
        process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive


def test_guests_cancel_what_has_not_begun():
    experiment = study()
    with ThreadPoolExecutor(1) as pool:
        gate = threading.Event()
        pool.submit(gate.wait)
        workers = GivenExecutor(pool)
        future = workers.submit(make_task(0, [], experiment, experiment.cells(), "f"))
        workers.stop()
        workers.close()
        gate.set()
        assert future.cancelled()
