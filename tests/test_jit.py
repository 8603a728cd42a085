"""Dispatch by type, the disk cache that notices every edit, and kernels that stay correct with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import bothworlds
from bothworlds import _code_cache, _jit
from bothworlds.errors import KernelError
from bothworlds.policies.base import init

SOURCE = Path(bothworlds.__file__).parent

PROBE = """
import json
import bothworlds as bw
from bothworlds.simplex.solve import _solve
residual = bw.solve([0.0, 1.0], 1.0, bw.LogBarrier()).residual
stats = _solve.compiled.stats
print(json.dumps([residual, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


def run(code, package, cache, **environment):
    env = (
        os.environ
        | {"PYTHONPATH": os.pathsep.join(package), "BOTHWORLDS_CACHE_DIR": str(cache)}
        | environment
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Circle(NamedTuple):
    radius: float


class Square(NamedTuple):
    side: float
    label: int


@_jit.generic
def area(shape, scale):
    return -1.0


@area.register(Circle)
def _(shape, scale):
    return 3.0 * shape.radius * scale


@area.register(Square)
def _(shape, scale):
    return shape.side * shape.side * scale


@_jit.entry
def total_area(first, second, scale):
    return area(first, scale) + area(second, scale)


def test_the_type_of_the_first_argument_chooses():
    for function in (total_area, total_area.py_func):
        assert function(Circle(2.0), Square(3.0, 1), 2.0) == 12.0 + 18.0
        assert function((1.0,), Square(3.0, 1), 2.0) == -1.0 + 18.0  # the decorated body is the default
    assert total_area.bind(Circle(2.0), Circle(1.0), 1.0)(Circle(2.0), Circle(1.0), 1.0) == 9.0


@pytest.mark.compiled
@pytest.mark.slow
def test_a_second_process_reads_the_cache_and_an_edit_anywhere_empties_it(tmp_path):
    package = tmp_path / "site"
    shutil.copytree(SOURCE, package / "bothworlds", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    first = run(PROBE, [str(package)], cache)
    second = run(PROBE, [str(package)], cache)
    assert (first[1], first[2]) == (0, 1)
    assert (second[1], second[2]) == (1, 0)
    assert first[0] == second[0]
    # edit a helper that lives in another file than the cached function
    helper = package / "bothworlds/simplex/kernel.py"
    text = helper.read_text()
    assert text.count("    return worst\n") == 1
    helper.write_text(text.replace("    return worst\n", "    return worst + 1.0\n"))
    third = run(PROBE, [str(package)], cache)
    assert third[1] == 0
    assert third[0] == first[0] + 1.0
    assert len(list(cache.iterdir())) == 2  # one folder for each state of the sources


USER_POLICY = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from bothworlds.policies.base import Policy, act, distribution, init, learn, weight_of

class Parameters(NamedTuple):
    n_arms: int

class State(NamedTuple):
    nothing: np.ndarray

@dataclass(frozen=True, repr=False)
class Stubborn(Policy):
    def parameters(self, n_arms, horizon):
        return Parameters(n_arms)

@init.register(Parameters)
def _(params):
    return State(np.zeros(1))

@act.register(Parameters)
def _(params, state, uniforms):
    return ARM

@weight_of.register(Parameters)
def _(params, state, arm):
    return 1.0 if arm == ARM else 0.0

@learn.register(Parameters)
def _(params, state, arm, loss, weight, memo):
    pass

@distribution.register(Parameters)
def _(params, state, out):
    out[:] = 0.0
    out[ARM] = 1.0
"""

USER_PROBE = """
import json
import bothworlds as bw
from bothworlds.policies.base import pull_once
from stubborn import Stubborn
bandit = bw.Bandit(3, Stubborn())
print(json.dumps([bandit.pull().arm, sum(pull_once.compiled.stats.cache_hits.values())]))
"""


LATE_KERNEL = """
import json
import bothworlds as bw
from bothworlds._jit import kernel
bw.Bandit(2, bw.UCB1()).pull()  # everything is compiled before the user's first kernel is written
from stubborn import Stubborn, Parameters, act
@kernel
def favorite(n):
    return n - 1
@act.register(Parameters)
def _(params, state, uniforms):
    return favorite(params.n_arms)
print(json.dumps(bw.Bandit(3, Stubborn()).pull().arm))
"""


@pytest.mark.compiled
def test_a_kernel_written_after_the_first_use_is_found(tmp_path):
    file, late = USER_POLICY.replace("ARM", "1").split("@act.register(Parameters)\n")
    (tmp_path / "stubborn.py").write_text(file + late.partition("return 1\n")[2])
    assert run(LATE_KERNEL, [str(SOURCE.parent), str(tmp_path)], tmp_path / "cache") == 2


@pytest.mark.compiled
@pytest.mark.slow
def test_a_cache_that_knows_a_users_class_serves_a_program_that_does_not(tmp_path):
    (tmp_path / "stubborn.py").write_text(USER_POLICY.replace("ARM", "1"))
    with_user = USER_PROBE.replace("bandit = ", "bw.Bandit(3, bw.UCB1()).pull(); bandit = ")
    assert run(with_user, [str(SOURCE.parent), str(tmp_path)], tmp_path / "cache") == [1, 0]
    without = USER_PROBE.replace("from stubborn import Stubborn\n", "").replace("Stubborn()", "bw.UCB1()")
    assert run(without, [str(SOURCE.parent)], tmp_path / "cache") == [0, 1]


@pytest.mark.compiled
@pytest.mark.slow
def test_an_edited_policy_of_the_user_is_compiled_anew(tmp_path):
    path = [str(SOURCE.parent), str(tmp_path)]
    file = tmp_path / "stubborn.py"
    file.write_text(USER_POLICY.replace("ARM", "1"))
    assert run(USER_PROBE, path, tmp_path / "cache") == [1, 0]
    assert run(USER_PROBE, path, tmp_path / "cache") == [1, 1]
    file.write_text(USER_POLICY.replace("ARM", "2"))
    assert run(USER_PROBE, path, tmp_path / "cache") == [2, 0]


RENAME = """
import os
made, name = Parameters, os.environ["NAME"]
del Parameters
made.__name__ = made.__qualname__ = name
globals()[name] = made
"""


def test_a_kernel_with_other_arguments_than_its_generic_is_refused_at_once():
    class Line(NamedTuple):
        length: float

    said = r"area of Line cannot be registered \(.*test_jit\.py, line \d+\): "
    with pytest.raises(KernelError, match=said + r"it must take \(shape, scale\), got \(shape\); write def"):

        @area.register(Line)
        def _(shape):
            return 0.0

    assert Line not in area.implementations


def test_a_kernel_is_registered_for_parameters_not_for_the_class_of_the_people():
    said = r"init cannot be registered: .*got <class '.*UCB1'>; register it for what UCB1\.parameters returns"
    with pytest.raises(KernelError, match=said):
        init.register(bothworlds.UCB1)


HELPERS = """
import json
from typing import NamedTuple
import numpy as np
from bothworlds import _code_cache, _jit
from bothworlds.errors import KernelError

SETTINGS = {"scale": 2.0}
def double(x):
    return 2.0 * x

class Plain(NamedTuple):
    x: float
class Global(NamedTuple):
    x: float
class Field(NamedTuple):
    x: float
class Undefined(NamedTuple):
    x: float
class Misspelled(NamedTuple):
    x: float

@_jit.generic
def twice(params):
    return 0.0
@twice.register(Plain)
def _(params):
    return double(params.x)
@twice.register(Global)
def _(params):
    return SETTINGS["scale"] * params.x
@twice.register(Field)
def _(params):
    return 2.0 * params.y
@twice.register(Undefined)
def _(params):
    return sp.exp(params.x)
@twice.register(Misspelled)
def _(params):
    return np.expp(params.x)
@_jit.entry
def call(params):
    return twice(params)

def said(params):
    try:
        call(params)
    except KernelError as error:
        return str(error)
"""


@pytest.mark.compiled
def test_what_a_kernel_cannot_call_or_read_is_named_with_the_kernel_the_line_and_the_fix(
    tmp_path, monkeypatch
):
    """numba names the file as seen from the working directory."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    monkeypatch.chdir(tmp_path)
    code = "import json; from helpers import *; kinds = Plain, Global, Field, Undefined, Misspelled; "
    code += "print(json.dumps([said(kind(1.0)) for kind in kinds]))"
    found = run(code, [str(SOURCE.parent), str(tmp_path)], tmp_path / "cache")
    plain, settings, field, undefined, misspelled = found
    where = re.escape(str(tmp_path / "helpers.py"))
    start = rf"cannot be compiled \({where}, line \d+\): "
    assert re.fullmatch(rf"twice of Plain {start}double is not a kernel; put @kernel above def double", plain)
    assert re.fullmatch(
        rf"twice of Field {start}Field has no y; use a field of Field, or give it this one", field
    )
    assert re.match(rf"twice of Undefined {start}sp is not defined; import or define it", undefined)
    assert re.match(rf"twice of Misspelled {start}module 'numpy' has no attribute 'expp'; is it", misspelled)
    assert re.match(rf"twice of Global {start}SETTINGS is a dict, which kernels cannot read; give", settings)


@pytest.mark.compiled
@pytest.mark.slow
def test_a_class_that_has_another_name_is_compiled_anew(tmp_path):
    path, cache = [str(SOURCE.parent), str(tmp_path)], tmp_path / "cache"
    policy = USER_POLICY.replace("ARM", "1").replace("return Parameters(", "return made(")
    (tmp_path / "stubborn.py").write_text(policy + RENAME)
    assert run(USER_PROBE, path, cache, NAME="Old") == [1, 0]
    assert run(USER_PROBE, path, cache, NAME="New") == [1, 0]
    assert run(USER_PROBE, path, cache, NAME="New") == [1, 1]


def test_cache_directory_falls_back_when_home_is_not_writable(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(blocked))
    fallback = _code_cache.cache_directory()
    assert fallback.name == _code_cache.source_hash()
    assert blocked not in fallback.parents
    monkeypatch.setenv("TMPDIR", str(blocked))
    monkeypatch.setattr(_code_cache.tempfile, "gettempdir", lambda: str(blocked))
    with pytest.raises(OSError, match="no writable folder for compiled kernels; set BOTHWORLDS_CACHE_DIR"):
        _code_cache.cache_directory()


READ_ONLY = """
import tempfile
from bothworlds import _code_cache, _jit
tempfile.tempdir = ELSEWHERE
can_write = _code_cache._can_write
_code_cache._can_write = lambda path: str(path).startswith(ELSEWHERE) and can_write(path)
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_a_cache_that_cannot_be_written_to_is_read_and_what_it_lacks_is_kept_elsewhere(tmp_path):
    """An image is made by root and run by somebody else."""
    path, cache, elsewhere = [str(SOURCE.parent)], tmp_path / "cache", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(
        USER_PROBE.replace("from stubborn import Stubborn\n", "").replace("Stubborn()", "bw.UCB1()"),
        path,
        cache,
    )
    files = sorted(cache.rglob("*"))
    probe = READ_ONLY.replace("ELSEWHERE", repr(str(elsewhere))) + TWO_KERNELS
    probe = probe.replace("bw.EpsilonGreedy()", "bw.UCB1()")
    arms, hits = run(probe, path, cache)
    assert hits == 1  # that of UCB1
    assert run(probe, path, cache) == [arms, 2]
    assert sorted(cache.rglob("*")) == files


def test_default_cache_directory_is_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("BOTHWORLDS_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _code_cache.cache_directory() == tmp_path / "bothworlds" / _code_cache.source_hash()


def test_without_jit_everything_is_python():
    code = (
        "import json, bothworlds as bw; print(json.dumps(bw.solve([0, 1], 1.0, bw.LogBarrier()).p.tolist()))"
    )
    plain = run(code, [str(SOURCE.parent)], "unused", NUMBA_DISABLE_JIT="1")
    assert plain == pytest.approx(
        bothworlds.solve([0, 1], 1.0, bothworlds.LogBarrier()).p.tolist(), rel=1e-14
    )


TWO_KERNELS = """
import json
import bothworlds as bw
from bothworlds.policies.base import pull_once
arms = [bw.Bandit(3, policy, seed=2).pull().probability for policy in (bw.Uniform(), bw.EpsilonGreedy())]
print(json.dumps([arms, sum(pull_once.compiled.stats.cache_hits.values())]))
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_a_file_that_is_damaged_or_has_the_name_of_another_is_not_used_and_written_anew(tmp_path):
    cache = tmp_path / "cache"
    arms, hits = run(TWO_KERNELS, [str(SOURCE.parent)], cache)
    assert hits == 0
    assert run(TWO_KERNELS, [str(SOURCE.parent)], cache) == [arms, 2]
    first, second = sorted(cache.rglob("*pull-once*"))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content[:-1])
    assert run(TWO_KERNELS, [str(SOURCE.parent)], cache) == [arms, 0]
    assert run(TWO_KERNELS, [str(SOURCE.parent)], cache) == [arms, 2]


TWO_WORLDS = """
import json
import bothworlds as bw
from bothworlds import _numba
made = []
compile_bytecode = _numba.InnerCompiler._compile_bytecode
def watched(self):
    made.append(self.state.func_id.func_qualname)
    return compile_bytecode(self)
_numba.InnerCompiler._compile_bytecode = watched
run = bw.simulate([bw.EXP3()], bw.environments.WORLD, horizon=300, replications=2, seed=1)
print(json.dumps([run.regret.tolist(), len(made)]))
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_what_one_world_has_compiled_of_a_policy_serves_in_another(tmp_path):
    bernoulli = TWO_WORLDS.replace("WORLD", "Bernoulli(means=[0.2, 0.5])")
    switching = TWO_WORLDS.replace("WORLD", "StochasticallyConstrained(n_arms=2, gap=0.3)")
    path = [str(SOURCE.parent)]
    alone, kernels = run(switching, path, tmp_path / "alone")
    _, before = run(bernoulli, path, tmp_path / "cache")
    after, left = run(switching, path, tmp_path / "cache")
    assert after == alone  # linked from disk or compiled at once: the same bits
    assert before > 20
    assert left < kernels / 4
    for file in (tmp_path / "cache").rglob("*.play-block.*"):  # what Python calls, made of what is on disk
        file.unlink()
    assert run(switching, path, tmp_path / "cache") == [alone, 0]


HELPED_POLICY = USER_POLICY.replace(
    "return ARM\n", "return favorite(params.n_arms) + helper.EXTRA + MORE[0]\n"
).replace("import numpy as np\n", "import numpy as np\nimport helper\nfrom helper import MORE, favorite\n")
HELPER = """
from bothworlds._jit import kernel
EXTRA = 0
MORE = (0, 3)
@kernel
def favorite(n):
    return other(n)
@kernel
def other(n):
    return 1
"""


@pytest.mark.compiled
@pytest.mark.slow
def test_a_helper_of_the_user_that_is_edited_in_another_file_is_compiled_anew(tmp_path):
    path, cache = [str(SOURCE.parent), str(tmp_path)], tmp_path / "cache"
    (tmp_path / "stubborn.py").write_text(HELPED_POLICY.replace("ARM", "1"))
    helper = tmp_path / "helper.py"
    for text, arm in (
        (HELPER, 1),
        (HELPER.replace("return 1", "return 2"), 2),
        (HELPER.replace("EXTRA = 0", "EXTRA = 1"), 2),
        (HELPER.replace("MORE = (0,", "MORE = (1,"), 2),
    ):
        helper.write_text(text)
        assert run(USER_PROBE, path, cache) == [arm, 0]
        assert run(USER_PROBE, path, cache) == [arm, 1]


def test_names_of_code_tell_functions_apart_by_all_that_decides_them(tmp_path):
    def scaled(factor):
        def function(x):
            return factor * x

        return function

    def name(function, types=""):
        return _code_cache.file_name_of(function, types=types)

    two = scaled(2.0)
    assert name(two) == name(scaled(2.0))
    pair = (lambda x: x * 2.0), (lambda x: x * 3.0)
    others = [scaled(3.0), scaled(2), scaled(name), scaled((2.0, 1)), scaled(Circle), *pair]
    assert len({name(two), *map(name, others), name(two, "float64")}) == 9
    assert name(scaled(numba.njit(two))) == name(scaled(two)) != name(scaled(numba.njit(scaled(3.0))))
    with pytest.raises(_code_cache.UnnamedError):
        name(scaled({}))
    typed = eval("lambda x: x")  # at a prompt: no file to compare with
    with pytest.raises(_code_cache.UnnamedError):
        name(typed)


LATE = """
import importlib, json, pkgutil
import bothworlds, bothworlds.environments, bothworlds.policies
from bothworlds.environments.base import prepare
from bothworlds.policies.base import learn
from bothworlds.simplex.regularizers.base import slope
from bothworlds import _jit

def registered():
    return {name for name in _jit._kernels.values() if " of " in name}

before = registered()
kinds = {name.split(" of ")[1] for name in before}
generics = {name.split(" of ")[0] for name in before}
for module in pkgutil.walk_packages(bothworlds.__path__, "bothworlds."):
    importlib.import_module(module.name)
late = [name.split(" of ") for name in registered() - before]
print(json.dumps([len(before), [pair for pair in late if pair[0] in generics and pair[1] in kinds]]))
"""


def test_no_kernel_of_a_policy_is_registered_by_a_module_that_may_not_be_imported():
    """Code in the cache would depend on who has made it."""
    count, late = run(LATE, [str(SOURCE.parent)], "unused")
    assert count > 300
    assert late == []


def test_code_that_cannot_be_saved_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(tmp_path))
    _code_cache.save_code("one", b"code")
    assert _code_cache.has_code("one")
    assert _code_cache.load_code("one") == b"code"
    assert oct(next(tmp_path.rglob("one")).stat().st_mode & 0o444) == "0o444"  # an image is run by others

    def no_room(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_code_cache.os, "replace", no_room)
    with pytest.warns(RuntimeWarning, match=r"compiled code cannot be saved, .*: \[Errno 28\] No space left"):
        _code_cache.save_code("two", b"code")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["one"]


def test_a_folder_in_a_place_for_all_is_not_used_if_others_can_write_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_code_cache.tempfile, "gettempdir", lambda: str(tmp_path))
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(blocked))
    folder = _code_cache.cache_directory().parent
    assert folder.parent == tmp_path
    assert _code_cache.cache_directories()[1].parent == folder
    folder.chmod(0o777)
    assert len(_code_cache.cache_directories()) == 1
    with pytest.raises(OSError, match="no writable folder"):
        _code_cache.cache_directory()


@pytest.mark.compiled
@pytest.mark.slow
def test_a_policy_in_the_program_itself_is_found_in_the_cache_or_compiled_again(tmp_path):
    """Classes of ``__main__`` come out of a file as others: what was compiled for them does not fit."""
    script = tmp_path / "script.py"
    probe = USER_PROBE.replace("from stubborn import Stubborn\n", "").replace(", sum(", ", 0 * sum(")
    script.write_text(USER_POLICY.replace("ARM", "1") + probe)
    env = os.environ | {"PYTHONPATH": str(SOURCE.parent), "BOTHWORLDS_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [1, 0]
