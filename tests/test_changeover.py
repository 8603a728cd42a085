"""A bandit starts as Python and changes over to machine code, with the same bits; nobody waits for it."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import pytest

import bothworlds as bw
from bothworlds import _changeover, _jit
from cases import CASES

SOURCE = Path(bw.__file__).parents[1]
ROUNDS = 150


def play(bandit, rounds):
    """Losses that are whole and fractional, and feedback that is late."""
    for i in range(rounds):
        pull = bandit.pull()
        waiting = bandit.outstanding
        bandit.update(waiting[0] if i % 5 == 0 else pull, loss=((7 * i) % 11) / 10)
        if i % 7 == 0:
            bandit.pull()


def finish():
    """Wait for the changeovers that are under way."""
    for thread in threading.enumerate():
        if thread.name == "bothworlds":
            thread.join(120)


def without_id(bandit):
    saved = {key: value for key, value in bandit.to_dict().items() if key != "bandit"}
    for pull in saved["outstanding"]:
        pull["id"] = pull["id"].rpartition("-")[-1]
    return saved


# of all others the contract compares machine code with Python; make slow checks that they change over, too
OFTEN = (bw.Watched, bw.LightBarrier, bw.TsallisINF, bw.Thompson, bw.UCB1, bw.Hedge)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "case",
    [
        case if isinstance(case.policy, OFTEN) else pytest.param(case, marks=pytest.mark.slow)
        for case in CASES
    ],
    ids=lambda case: repr(case.policy),
)
def test_python_and_machine_code_and_a_change_between_them_give_the_same_bits(case, monkeypatch):
    def make(way):
        monkeypatch.setenv("BOTHWORLDS_COMPILE", way)
        return bw.Bandit(case.arms or 3, case.policy, horizon=4 * ROUNDS, seed=11)

    monkeypatch.setattr(_changeover, "_started", {})  # no other bandit of these types has changed over yet
    compiled, python, changed = make("wait"), make("never"), make("background")
    before = changed._act
    for bandit in (compiled, python, changed):
        play(bandit, ROUNDS // 2)
    finish()
    assert python._act is not compiled._act
    assert changed._act is not before
    assert (changed._act, changed._learn, changed._read) == (compiled._act, compiled._learn, compiled._read)
    for bandit in (compiled, python, changed):
        play(bandit, ROUNDS // 2)
    assert without_id(python) == without_id(compiled)
    assert without_id(changed) == without_id(compiled)
    assert python.probabilities == changed.probabilities == compiled.probabilities


def test_numbers_are_pythons_own_whoever_computed_them(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "never")
    for policy in (bw.LightBarrier(), bw.Thompson(), bw.EpsilonGreedy()):
        pull = bw.Bandit(3, policy, seed=1).pull()
        assert (type(pull.arm), type(pull.observe), type(pull.probability)) == (int, int, float)
        json.dumps(pull)


DIFFERENT = {
    "math.lgamma",
    "math.gamma",
    "math.erf",
    "math.erfc",
}  # of numba and of Python, in the last digits


def test_kernels_keep_to_what_numba_and_python_compute_alike():
    """A whole power is a product for numba and not for Python: once in a thousand times they differ."""
    assert bw.theory  # these have kernels, too, and are imported when they are asked for
    assert bw.inference
    offenders = []
    for function, name in _jit._kernels.items():
        if _jit.outsider(function):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
            whole = power and isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
            if whole and not isinstance(node.left, ast.Constant):
                offenders.append((name, ast.unparse(node)))
            if isinstance(node, ast.Attribute) and ast.unparse(node) in DIFFERENT:
                offenders.append((name, ast.unparse(node)))
    assert offenders == []


@dataclass(frozen=True, repr=False)
class Slow(bw.Policy):
    """Without a name and without kernels of its own: another process could not make it."""

    def parameters(self, n_arms, horizon):
        return bw.FTRL(bw.Tsallis(0.5), rates=bw.rates.RootRate(2.0)).parameters(n_arms, horizon)


@pytest.mark.compiled
def test_a_bandit_waits_for_a_policy_that_only_this_program_has(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "background")
    monkeypatch.setattr(_changeover, "_started", {})
    bandit = bw.Bandit(3, bw.Restarting(Slow(), every=100), seed=1)
    assert not isinstance(bandit._act, FunctionType)  # machine code from the first pull on
    assert _changeover._started == {}


# --- in processes of their own, as a user has them --------------------------------------------------------


def run(code, cache, *, path=(), **environment):
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), *map(str, path)]),
        "BOTHWORLDS_CACHE_DIR": str(cache),
        "BOTHWORLDS_COMPILE": "background",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )


PLAY = """
import json, sys, threading
import bothworlds as bw
from bothworlds.policies.base import pull_once

def finish():
    for thread in threading.enumerate():
        if thread.name == "bothworlds":
            thread.join(120)

bandit = bw.Bandit(4, bw.UCB1(), seed=5)
python = bandit._act
played = []
def play(rounds):
    for _ in range(rounds):
        pull = bandit.pull()
        played.append(pull[:4])
        bandit.update(pull, loss=(len(played) % 7) / 7)
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_another_process_fills_the_cache_and_the_next_program_finds_it(tmp_path):
    code = PLAY + textwrap.dedent("""
    play(10)
    few = "numba" in sys.modules or threading.active_count() > 1
    play(60)
    finish()
    stats = pull_once.compiled.stats
    hits, misses = (sum(counts.values()) for counts in (stats.cache_hits, stats.cache_misses))
    changed = bandit._act is not python
    twin = bw.Bandit(7, bw.UCB1())._act is bandit._act
    play(30)
    print(json.dumps([few, changed, twin, hits, misses, played]))
    """)
    first = run(code, tmp_path)
    *told, played = json.loads(first.stdout)
    assert told == [False, True, True, 1, 0]  # what another process has compiled is read, not compiled
    assert first.stderr == ""
    made = {file.name.rpartition(".")[0] for file in tmp_path.rglob("base.*") if file.is_file()}
    assert {"base.pull-once", "base.update-once"} <= made
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert json.loads(run(code, tmp_path).stdout) == [*told, played]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == files
    plain = PLAY + "play(100); print(json.dumps([played, 'numba' in sys.modules]))"
    assert json.loads(run(plain, tmp_path, NUMBA_DISABLE_JIT="1").stdout) == [played, False]
    # waiting for it, with and without a cache
    now = PLAY + "play(100); print(json.dumps([played, pull_once.versions]))"
    assert json.loads(run(now, tmp_path, BOTHWORLDS_COMPILE="wait").stdout) == [played, 1]


@pytest.mark.compiled
def test_a_program_that_ends_in_the_midst_of_it_ends_quietly(tmp_path):
    code = PLAY + textwrap.dedent("""
    import time
    play(60)
    time.sleep(SECONDS)
    """)
    for seconds in ("0", "0.1", "0.3", "0.6"):
        done = run(code.replace("SECONDS", seconds), tmp_path)
        assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.slow
def test_a_fork_in_the_midst_of_it_changes_over_too(tmp_path):
    code = PLAY + textwrap.dedent("""
    import os
    play(60)
    child = os.fork()
    play(60)
    finish()
    play(10)
    changed = bandit._act is not python
    if child == 0:
        os._exit(3 if changed else 4)
    print(json.dumps([changed, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))
    """)
    assert json.loads(run(code, tmp_path).stdout) == [True, 3]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (
            "sys.executable = sys._base_executable = '/usr/sbin/server'",
            "'/usr/sbin/server' is another program",
        ),
        ("_changeover.COMPILE = 'raise MemoryError(7)'", "MemoryError: 7"),
        ("_changeover.COMPILE = 'import os; os.kill(os.getpid(), 9)'", "ended with -9"),
        ("_changeover.COMPILE = 'pass'", "does not keep what is compiled"),
        ("sys.modules['llvmlite'] = None", "numba cannot be used"),
    ],
)
def test_what_cannot_be_compiled_goes_on_as_python_and_says_why_once(trouble, reason, tmp_path):
    code = PLAY + textwrap.dedent(f"""
    from bothworlds import _changeover
    {trouble}
    play(60)
    finish()
    play(60)
    another = bw.Bandit(4, bw.UCB1())
    for _ in range(120):
        another.pull()
    finish()
    print(bandit._act is python)
    """)
    done = run(code, tmp_path)
    assert done.stdout == "True\n"
    assert done.stderr.count("RuntimeWarning") == 1
    assert "a Bandit with the policy 'ucb1' goes on as plain Python" in done.stderr
    assert reason in done.stderr


@pytest.mark.compiled
@pytest.mark.slow
def test_thousands_of_arms_wait_for_the_compiler_and_say_so_unless_it_is_on_disk(tmp_path):
    code = "import bothworlds as bw; print(bw.Bandit(5000, bw.Uniform(), seed=1).pull().arm)"
    first, second = run(code, tmp_path), run(code, tmp_path)
    assert first.stdout == second.stdout
    assert first.stderr.startswith("bothworlds: compiling for 5000 arms")
    assert second.stderr == ""


OWN = """
import numpy as np
from dataclasses import dataclass
from typing import NamedTuple
from bothworlds.policies.base import Policy, draws_from_its_p, init, learn
class Parameters(NamedTuple):
    n_arms: int
class State(NamedTuple):
    p: np.ndarray
@dataclass(frozen=True, repr=False)
class Own(Policy):
    def parameters(self, n_arms, horizon):
        return Parameters(n_arms)
draws_from_its_p(Parameters)
@init.register(Parameters)
def _(params):
    return State(np.full(params.n_arms, 1.0 / params.n_arms))
@learn.register(Parameters)
def _(params, state, arm, loss, weight, memo):
    BODY
"""


@pytest.mark.compiled
def test_kernels_of_the_users_own_are_compiled_where_they_are_used(tmp_path):
    (tmp_path / "own.py").write_text(OWN.replace("BODY", "state.p[arm] += 0.0"))
    (tmp_path / "bad.py").write_text(OWN.replace("BODY", "print({1: arm}.values().nothing)"))
    code = """
    import bothworlds as bw, own, bad
    from bothworlds.policies.base import pull_once
    bw.Bandit(3, own.Own())
    print(pull_once.versions)
    try:
        bw.Bandit(3, bad.Own())
    except bw.errors.KernelError as error:
        print(error)
    """
    said = run(code, tmp_path / "cache", path=[tmp_path]).stdout.splitlines()
    assert said[0] == "1"
    assert said[1].startswith("learn of Parameters cannot be compiled")


def test_an_unknown_way_is_refused(monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_COMPILE", "later")
    with pytest.raises(
        bw.errors.InvalidArgumentError,
        match="BOTHWORLDS_COMPILE must be one of background, wait, never, got 'later'",
    ):
        bw.Bandit(3)


# --- without numba ----------------------------------------------------------------------------------------

ABSENT = """
import json, sys, warnings
sys.modules["numba"] = None  # as if it were not installed
import bothworlds as bw
bandit = bw.Bandit(5, seed=3)
for i in range(60):
    bandit.update(bandit.pull(), loss=(i % 7) / 7)
state = {key: value for key, value in bandit.to_dict().items() if key != "bandit"}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    quiet = bw.replay(bw.UCB1(), n_arms=2, arms=[0, 1], losses=[0.0, 1.0]).p.tolist()
    before = len(caught)
    world = bw.environments.Bernoulli(n_arms=3, gap=0.3)
    runs = [bw.simulate(bw.UCB1(), world, horizon=50, replications=5, seed=seed) for seed in (1, 2)]
    bw.Bandit(2000, bw.Uniform()).pull()
said = [str(warning.message) for warning in caught]
print(json.dumps([state, quiet, [run.regret.tolist() for run in runs], before, said]))
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_without_numba_everything_runs_and_says_once_what_to_install(tmp_path):
    state, quiet, runs, before, said = json.loads(run(ABSENT, tmp_path / "none").stdout)
    assert before == 0
    (told,) = said
    assert told.startswith("numba is not installed, so this runs as plain Python")
    assert "pip install 'bothworlds[fast]'" in told
    present = ABSENT.replace('sys.modules["numba"] = None', "pass")
    assert json.loads(run(present, tmp_path / "c").stdout) == [state, quiet, runs, 0, []]
