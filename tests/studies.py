"""Small studies for the tests of the lab, and programs that run them as a user does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

import bothworlds
from bothworlds import environments, policies
from bothworlds.experiments import modules, plan
from bothworlds.experiments.run import run_study
from bothworlds.experiments.spec import parse
from bothworlds.experiments.store import Store, chunk

TEXT = """
title = "A small study"
horizon = {horizon}
replications = {replications}
seed = {seed}

[[policy]]
kind = "tsallis-inf"

[[policy]]
kind = "ucb1"

[[environment]]
kind = "bernoulli"
n_arms = {n_arms}
gap = 0.2
"""

DRIVER = """
import sys
from bothworlds.experiments import plan
from bothworlds.experiments.run import run_study
from bothworlds.experiments.spec import read
if __name__ == "__main__":
    out, file, seconds, jobs, executor = sys.argv[1:6]
    plan.CHUNK_SECONDS = float(seconds)
    run_study(read(file), out, jobs=int(jobs) or None, executor=executor or None)
"""


def text(horizon=60, replications=4, seed=1, n_arms="[3, 4]", before="", after=""):
    """An experiment file."""
    filled = TEXT.format(horizon=horizon, replications=replications, seed=seed, n_arms=n_arms)
    return before + filled + after


def study(**settings):
    """The experiment of such a file."""
    return parse(text(**settings))


def small_chunks(monkeypatch, seconds):
    """Cut the studies of this process into smaller chunks than is sensible."""
    monkeypatch.setattr(plan, "CHUNK_SECONDS", seconds)


def run_here(experiment, out, **options):
    """Run it in this thread, silently."""
    return run_study(experiment, out, jobs=1, progress=False, **options)


def snapshot(path):
    """Every file below a folder."""
    return {file.relative_to(path): file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}


def rows(path):
    """All rows of a complete store, as Python values whose bits can be compared (NaN included)."""
    store = Store(path)
    assert store.complete
    tables = [pq.read_table(file) for file in store.chunks.values()]
    columns = {name: [] for name in chunk.SCHEMA.names}
    for table in tables:
        for name in columns:
            columns[name] += [repr(value) for value in table[name].to_pylist()]
    return columns


def chunk_names(path):
    return sorted(file.name for file in (Path(path) / "chunks").glob("*.parquet"))


def driver(tmp_path, out, content, *, seconds=0.003, jobs=1, executor="", **options):
    """A program that runs a study: a process that can be killed."""
    file = tmp_path / "study.toml"
    file.write_text(content)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(out), str(file), str(seconds), str(jobs), executor]
    options = {"stderr": subprocess.PIPE, "text": True, "env": environment()} | options
    return subprocess.Popen(command, **options)


def environment(**extra):
    """The environment of a process that must find these sources."""
    return os.environ | {"PYTHONPATH": str(Path(bothworlds.__file__).parents[1])} | extra


@contextlib.contextmanager
def registries_restored():
    """Leave the registries as they were, whatever files of one's own are loaded."""
    before = [(registry, dict(registry)) for registry in (policies.REGISTRY, environments.REGISTRY)]
    yield
    for registry, content in before:
        registry.clear()
        registry.update(content)
    modules.load_plugins.cache_clear()


def wait_for(condition, seconds=60.0):
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def manifest(path):
    return json.loads((Path(path) / "manifest.json").read_text())
