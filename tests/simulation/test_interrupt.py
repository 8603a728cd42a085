"""Long runs: Ctrl-C, and a progress bar where somebody may see it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from bothworlds import _progress as progress
from bothworlds._progress import Progress

LONG_RUN = """
import bothworlds as bw
world = bw.environments.Bernoulli(n_arms=4, gap=0.25)
bw.simulate(bw.TsallisINF(), world, horizon=100, replications=8)
print("ready", flush=True)
bw.simulate(bw.TsallisINF(), world, horizon=10**11, replications=8, jobs=2)
"""

SHORT_RUN = """
import bothworlds as bw
from bothworlds import _progress as progress
progress.PATIENCE = {patience}
world = bw.environments.Bernoulli(n_arms=4, gap=0.25)
bw.simulate(bw.TsallisINF(), world, horizon=20_000, replications=2, block=1000)
"""


@pytest.mark.compiled
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_ctrl_c_ends_a_long_run_within_seconds():
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.7)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert time.monotonic() - began < 5
    assert errors.strip().endswith("KeyboardInterrupt")
    assert process.returncode not in (0, -signal.SIGKILL)


def stderr_of_a_run(patience, terminal):
    """What a run writes to stderr, a terminal or a pipe."""
    read, write = os.openpty() if terminal else os.pipe()
    seen = []

    def listen():
        try:
            while chunk := os.read(read, 4096):
                seen.append(chunk)
        except OSError:  # how a terminal says that nobody writes any more
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    code = SHORT_RUN.format(patience=patience)
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", code], stderr=write, env=environment, check=True)
    os.close(write)
    listener.join(10)
    os.close(read)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(seen).decode())


@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals")
def test_a_bar_on_a_terminal():
    text = stderr_of_a_run(patience=0.0, terminal=True)
    assert "TsallisINF() in Bernoulli(n_arms=4, gap=0.25)" in text
    assert "100%" in text


@pytest.mark.compiled
@pytest.mark.parametrize(("patience", "terminal"), [(0.0, False), (100.0, True)])
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals")
def test_no_bar_in_a_file_nor_for_a_short_run(patience, terminal):
    assert stderr_of_a_run(patience, terminal) == ""


def test_no_bar_before_patience_is_over(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    monkeypatch.setattr(Progress, "_start", None)  # never called
    with Progress("work", 10.0, enabled=True) as bar:
        bar.advance(10.0)


@pytest.mark.parametrize("enabled", [None, False])
def test_no_bar_where_nobody_looks(monkeypatch, enabled):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(Progress, "_start", None)
    with Progress("work", 10.0, enabled=enabled) as bar:
        bar.advance(10.0)


def test_all_threads_are_counted(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress("work", 4000.0, enabled=True) as bar:
        threads = [threading.Thread(target=lambda: [bar.advance(1.0) for _ in range(500)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (task,) = bar._bar.tasks
        assert task.completed == task.total == 4000.0
        assert task.description == "work"
    assert bar._bar.finished
    assert capsys.readouterr().out == ""  # stdout belongs to the user
