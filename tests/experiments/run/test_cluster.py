"""A real dask scheduler and real workers, killed at the wrong moment."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import bothworlds
from bothworlds._words import some_are
from bothworlds.errors import WorkerError
from bothworlds.experiments.run import run_study, workers
from bothworlds.experiments.store import Store
from studies import chunk_names, environment, manifest, parse, rows, small_chunks, study, text, wait_for

pytest.importorskip("distributed", reason="needs the extra `cluster`")
STUDY = {"horizon": 40_000, "replications": 24, "n_arms": 3}


class Cluster:
    """Processes of a dask cluster."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        file = folder / "scheduler.json"
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file
        )
        wait_for(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def start(self, what, *arguments, **extra):
        command = [sys.executable, "-m", "dask", what, *map(str, arguments), "--no-dashboard"]
        with (self.folder / f"{what}-{len(self.processes)}.log").open("w") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment(**extra), cwd=self.folder
            )
        self.processes.append(process)
        return process

    def worker(self, **extra):
        options = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--local-directory", self.folder)
        log = self.folder / f"worker-{len(self.processes)}.log"
        process = self.start("worker", self.address, *options, **extra)
        wait_for(lambda: "Registered to" in log.read_text())
        return process

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture(name="dask")
def _dask(tmp_path):
    processes = Cluster(tmp_path)
    yield processes
    processes.close()


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory):
    """The rows of a run on one thread."""
    out = tmp_path_factory.mktemp("serial") / "out"
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_chunks(monkeypatch, 0.008)
        run_study(study(**STUDY), out, jobs=1, progress=False)
    return rows(out)


def when_chunks_are_there(out, action):
    """Do something in the middle of a run."""

    def watch():
        wait_for(lambda: len(chunk_names(out)) >= 2)
        action()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.compiled
@pytest.mark.slow
def test_a_worker_is_killed_in_the_middle(tmp_path, dask, whole, monkeypatch, capfd):
    small_chunks(monkeypatch, 0.008)
    first, second = dask.worker(), dask.worker()
    out = tmp_path / "out"
    watcher = when_chunks_are_there(out, first.kill)
    summary = run_study(study(**STUDY), out, executor=dask.address, progress=False)
    watcher.join()
    assert first.wait() == -9
    assert second.poll() is None
    assert summary.chunks_run == len(Store(out).plan) >= 10
    assert rows(out) == whole
    assert dask.address in manifest(out)["runs"][0]["executor"]

    # Then the scheduler: what is saved is valid, and another executor completes it.
    out = tmp_path / "again"
    watcher = when_chunks_are_there(out, dask.scheduler.kill)
    with pytest.raises(WorkerError, match=f"the dask scheduler at {dask.address} does not answer") as caught:
        run_study(study(**STUDY), out, executor=dask.address, progress=False)
    watcher.join()
    assert "Traceback" not in capfd.readouterr().err
    saved = len(chunk_names(out))
    assert f"{some_are(saved, summary.chunks, 'chunk')} saved" in "\n".join(caught.value.__notes__)
    assert run_study(study(**STUDY), out, jobs=2, progress=False).chunks_reused == saved
    assert rows(out) == whole


OWN_WORLD = """
import numpy as np, bothworlds as bw
class Noise(bw.environments.PythonEnvironment):
    n_arms = 3
    def losses(self, random, start, stop):
        return random.random((stop - start, 3))
"""


@pytest.mark.slow
def test_workers_get_the_files_they_need_and_others_are_refused(tmp_path, dask):
    dask.worker()
    (tmp_path / "noise.py").write_text(OWN_WORLD)
    own = text(n_arms=3, before='modules = ["noise.py"]\n', after='[[environment]]\nkind = "noise"\n')
    experiment = parse(own, folder=tmp_path)
    (tmp_path / "noise.py").unlink()
    run_study(experiment, tmp_path / "here", executor="threads", progress=False)
    run_study(experiment, tmp_path / "there", executor=dask.address, progress=False)
    assert rows(tmp_path / "there") == rows(tmp_path / "here")

    # A worker whose sources differ by a comment.
    shutil.copytree(Path(bothworlds.__file__).parent, tmp_path / "other" / "bothworlds")
    with (tmp_path / "other" / "bothworlds" / "errors.py").open("a") as file:
        file.write("# edited\n")
    dask.worker(PYTHONPATH=str(tmp_path / "other"))
    with pytest.raises(WorkerError, match=r"tcp://127.0.0.1:\d+: sources: .*\ninstall the same one"):
        run_study(experiment, tmp_path / "refused", executor=dask.address, progress=False)
    assert not chunk_names(tmp_path / "refused")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "what://ever"])
def test_an_address_that_does_not_answer(tmp_path, address, monkeypatch):
    assert workers.TIMEOUT < 10
    monkeypatch.setattr(workers, "TIMEOUT", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(
        WorkerError, match=r"no dask scheduler answers at .*; start one with `dask scheduler`"
    ):
        run_study(study(), tmp_path / "out", executor=address.format(port=port), progress=False)
    assert time.monotonic() - began < 10
