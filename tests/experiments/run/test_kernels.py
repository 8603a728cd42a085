"""Kernels that are compiled before a study is played."""

from __future__ import annotations

import io
import pickle
import re
import sys

import pytest
from numba import config

from bothworlds.experiments.experiment import Cell
from bothworlds.experiments.run import kernels as module
from bothworlds.experiments.run.kernels import compile_from_stdin, missing_kernels, precompile
from studies import driver, environment, parse, study

FOUR = """
horizon = 200
replications = 2
[[policy]]
kind = "uniform"
[[policy]]
kind = "epsilon-greedy"
[[environment]]
kind = "bernoulli"
n_arms = [2, 3]
gap = 0.2
[[environment]]
kind = "switching"
n_arms = 2
gap = 0.2
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_many_kernels_are_compiled_by_several_processes(tmp_path):
    cold = environment(BOTHWORLDS_CACHE_DIR=str(tmp_path / "cache"))
    out = tmp_path / "out"
    for attempt in ("first", "second"):
        process = driver(tmp_path, out / attempt, FOUR, jobs=2, env=cold)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert ("compiling 4 kernels in 2 processes" in said) == (attempt == "first")
        begun = re.findall(r"^compiling (\d) of 4: \S+ in \S+", said, re.MULTILINE)
        assert begun == (list("1234") if attempt == "first" else [])
    assert len(list((tmp_path / "cache").rglob("engine.play-block.*"))) == 4


@pytest.mark.compiled
def test_what_is_on_disk_or_in_memory_is_not_missing():
    experiment = study()
    cells = experiment.cells()
    for cell in cells[:2]:
        policy, world = experiment.policies[cell.policy].build(), experiment.environments[0].build()
        module.compile_kernels(policy, world, 60)
    assert missing_kernels(experiment, cells) == []


def test_little_is_compiled_where_it_is_needed(monkeypatch):
    experiment = parse(FOUR)
    few = [Cell(k, 0, 0, 10) for k in range(3)]
    monkeypatch.setattr(module, "missing_kernels", lambda *_: few)
    assert precompile(experiment, few, 2, pytest.fail) == 0  # three kernels


@pytest.mark.parametrize(("jobs", "policies"), [(1, 2), (2, 1)])
def test_what_is_work_for_one_process_is_compiled_in_this_one(monkeypatch, jobs, policies):
    experiment = parse(FOUR)
    cells = [Cell(k, k % policies, k % 3, 10) for k in range(4)]
    monkeypatch.setattr(module, "missing_kernels", lambda *_: cells)
    monkeypatch.setattr(module.subprocess, "Popen", pytest.fail)
    done, said, steps = [], [], []
    monkeypatch.setattr(module, "compile_kernels", lambda *arguments: done.append(arguments))
    assert precompile(experiment, cells, jobs, said.append, step=steps.append) == len(done) == 4
    assert said == ["compiling 4 kernels, kept for the next time", "compiled in 0 s"]
    assert steps[0] == "compiling 1 of 4: Uniform in Bernoulli K=2 Δ=0.2"
    assert [line[:17] for line in steps] == [f"compiling {k} of 4:" for k in range(1, 5)]


@pytest.mark.skipif(not config.DISABLE_JIT, reason="where kernels are Python (NUMBA_DISABLE_JIT=1)")
def test_without_a_compiler_nothing_is_missing():
    experiment = parse(FOUR)
    assert missing_kernels(experiment, experiment.cells()) == []


@pytest.mark.slow
def test_the_programs_that_compile(monkeypatch):
    """Two real processes; whether there is anything to compile is another matter."""
    experiment = parse(FOUR)
    cells = [cell for cell in experiment.cells() if cell.environment != 1]
    assert len(cells) == 4
    monkeypatch.setattr(module, "missing_kernels", lambda *_: cells)
    said = []
    assert precompile(experiment, cells, 2, said.append) == 4
    assert said[0].startswith("compiling 4 kernels in 2 processes")
    assert [line.partition(": ")[0] for line in said[1:5]] == [f"compiling {k} of 4" for k in range(1, 5)]
    assert said[5].startswith("compiled in ")
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert precompile(experiment, cells, 2, said.append) == 4  # whoever needs a kernel compiles it


def test_such_a_program(monkeypatch, capsys):
    experiment = parse(FOUR)
    done = []
    monkeypatch.setattr(module, "compile_kernels", lambda *arguments: done.append(arguments))
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(pickle.dumps((experiment, experiment.cells()))))
    )
    compile_from_stdin()
    assert capsys.readouterr().out.split() == [str(cell.number) for cell in experiment.cells()]
    assert len(done) == len(experiment.cells())
    assert done[0] == (experiment.policies[0].build(), experiment.environments[0].build(), 200)
