"""Running a study as a program: killed, interrupted, out of room, and run again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from bothworlds import _progress as progress
from bothworlds._progress import Progress
from bothworlds._words import some_are
from bothworlds.experiments import run as module
from bothworlds.experiments.experiment import Cell
from bothworlds.experiments.run import run_study
from bothworlds.experiments.store import Store
from studies import chunk_names, driver, environment, manifest, rows, small_chunks, study, text, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
STUDY = {"horizon": 200_000, "replications": 12, "n_arms": "[3, 4]"}


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory):
    """The rows of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_chunks(monkeypatch, 0.003)
        run_study(study(**STUDY), out, jobs=2, progress=False)
    return rows(out)


@pytest.mark.compiled
@pytest.mark.slow
def test_killed_again_and_again(tmp_path, whole):
    out = tmp_path / "out"
    seen = set()
    for moment in (0, 1, 3, 6):  # chunks that a run saves until it is killed: 0 is before the manifest
        process = driver(tmp_path, out, text(**STUDY), jobs=1 + moment % 2)
        try:
            if moment == 0:
                wait_for(out.exists)
            else:
                wait_for(lambda: len(chunk_names(out)) >= len(seen) + moment)  # noqa: B023
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
            process.communicate()
        assert seen <= set(chunk_names(out))  # nothing is lost, nothing is written again
        seen = set(chunk_names(out))
        if moment:
            assert not Store(out).complete
    last = driver(tmp_path, out, text(**STUDY), jobs=2, executor="threads")
    _, said = last.communicate(timeout=60)
    assert last.returncode == 0, said
    assert f"{some_are(len(seen), len(Store(out).plan), 'chunk')} there" in said
    assert seen <= set(chunk_names(out))
    assert rows(out) == whole
    assert not list(out.rglob("*.tmp"))
    runs = manifest(out)["runs"]
    assert [record["finished"] is None for record in runs[-4:]] == [True, True, True, False]
    assert [record["seconds"] is None for record in runs[-4:]] == [True, True, True, False]
    assert sum(record["chunks_run"] for record in runs) == len(Store(out).plan)


@pytest.mark.compiled
def test_ctrl_c_keeps_what_is_done(tmp_path, whole):
    out = tmp_path / "out"
    process = driver(tmp_path, out, text(**STUDY))
    try:
        wait_for(lambda: len(chunk_names(out)) >= 2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode not in (0, -signal.SIGKILL)
    saved = len(chunk_names(out))
    assert (
        f"interrupted: {some_are(saved, len(Store(out).plan), 'chunk')} saved in {out}; run the same" in said
    )
    (record,) = manifest(out)["runs"]
    assert record["finished"] is not None
    assert record["chunks_run"] == saved
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_chunks(monkeypatch, 0.003)
        summary = run_study(study(**STUDY), out, progress=False)
    assert summary.chunks_reused == saved
    assert rows(out) == whole


@pytest.mark.slow
def test_sigterm_ends_in_order(tmp_path, monkeypatch):
    """As batch systems send it: what is done is saved, and the processes leave nothing behind."""
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    out = tmp_path / "out"
    process = driver(tmp_path, out, text(horizon=50, replications=9999, n_arms=3), executor="processes")
    try:
        wait_for(lambda: len(chunk_names(out)) >= 1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert f"interrupted: {some_are(len(chunk_names(out)), len(Store(out).plan), 'chunk')} saved" in said
    assert "resource_tracker" not in said
    (record,) = manifest(out)["runs"]
    assert record["seconds"] > 0.0


FULL = """
import resource, sys
from bothworlds.experiments import plan
from bothworlds.experiments.experiment import Cell
from bothworlds.experiments.run import run_study
from bothworlds.experiments.spec import read
plan.CHUNK_SECONDS = 1e-9
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
run_study(read(sys.argv[1]), sys.argv[2], jobs=1, progress=False)
"""


def test_no_room_for_a_chunk(tmp_path):
    """A limit on the size of files stands in for a full disk: the system refuses the write in both cases."""
    file, again = tmp_path / "study.toml", tmp_path / "again"
    run_study(study(replications=1), tmp_path / "out", jobs=1, progress=False)  # compile
    # a policy's distribution over 60 arms after each of 120 rounds does not fit
    large = {"replications": 1, "horizon": 120, "n_arms": "[3, 60]"}
    large["before"] = f"checkpoints = {list(range(1, 121))}\n"
    file.write_text(text(**large))
    command = [sys.executable, "-c", FULL, str(file), str(again), "15000"]
    found = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment(), check=False)
    assert found.returncode == 1
    said = re.sub(r"\s+", " ", found.stderr)
    assert re.search(
        rf"StoreError: the folder {again} cannot be written: File too large; make room there", said
    )
    saved = len(chunk_names(again))
    assert 1 <= saved < 4
    assert f"{some_are(saved, 4, 'chunk')} saved in {again}; run the same command again" in said
    assert not list(again.rglob("*.tmp"))
    summary = run_study(study(**large), again, progress=False)
    assert summary.chunks_reused == saved
    assert Store(again).complete


# --- what is said ---------------------------------------------------------------------------------------


def test_lines_where_nobody_sees_a_bar(tmp_path, monkeypatch, capsys):
    small_chunks(monkeypatch, 1e-9)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(module, "TICK", 0.0)
    run_study(study(), tmp_path / "out", jobs=1)
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert first == f"16 chunks to play on 1 thread, into {tmp_path / 'out'}"
    assert re.fullmatch(r"16 chunks played in \d+:\d\d", last)
    assert lines
    where = r"(?:, (?:TsallisINF|UCB1) in Bernoulli K=[34] Δ=0.2)?"  # what is being played
    pattern = (
        rf" {{0,2}}(\d+)%  (\d+) of 16 chunks{where}, \d+:\d\d so far(?:, about \d+:\d\d left|, kernels .*)?"
    )
    found = [re.fullmatch(pattern, line) for line in lines]
    counts = [int(match[2]) for match in found]
    assert [int(match[1]) for match in found] == [
        round(100 * count / 16) for count in counts
    ]  # of chunks, too
    assert any(" in Bernoulli" in line for line in lines)
    assert counts == sorted(counts)
    assert counts[-1] > 0
    assert lines[-1].endswith("left")
    run_study(study(), tmp_path / "out", jobs=1)
    assert capsys.readouterr().err == f"nothing to play: 16 of 16 chunks are in {tmp_path / 'out'} already\n"


@pytest.mark.compiled
@pytest.mark.parametrize("kernels", [[], [Cell(0, 0, 0, 60)]])
def test_compiling_is_spoken_of_where_there_is_some(tmp_path, monkeypatch, capsys, kernels):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(module, "TICK", 0.01)
    monkeypatch.setattr(module, "missing_kernels", lambda *_: kernels)
    run_study(study(replications=2_000), tmp_path / "out", jobs=1)
    told = capsys.readouterr().err
    assert "  0 of " in told
    assert ("kernels compile" in told) == bool(kernels)
    assert "so far, \n" not in told


def test_silence(tmp_path, capfd):
    run_study(study(), tmp_path / "out", jobs=1, progress=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals")
def test_a_bar_on_a_terminal(monkeypatch):
    read, write = os.openpty()
    seen = []

    def listen():
        try:
            while part := os.read(read, 4096):
                seen.append(part)
        except OSError:  # how a terminal says that nobody writes any more
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with os.fdopen(write, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress("", 1.0, enabled=True, lines=True) as display:
            display.step("compiling 1 of 2: [policy] in [world]")
            display.say("compiled in 3 s")
            display.restart()
            display.show(0.25, "5 of 20 chunks", "about 1:15 left")
            display.say("a worker died")
            display.show(0.5, "10 of 20 chunks", "about 0:03 left")
        display.say("done")
    listener.join(10)
    os.close(read)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(seen).decode())
    assert "compiling 1 of 2: [policy] in [world]" in said
    assert "compiled in 3 s" in said
    assert "10 of 20 chunks" in said
    assert "about 0:03 left" in said
    assert re.search("^a worker died", said.replace("\r", "\n"), flags=re.MULTILINE)
    assert said.rstrip().endswith("done")
