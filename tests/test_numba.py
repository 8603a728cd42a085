"""The canary: what the package uses of numba that numba does not promise. Raise its bound and look here."""

from __future__ import annotations

import gc
import tomllib
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import (
    bytecode,
    caching,
    cgutils,
    codegen,
    compiler,
    dispatcher,
    imputils,
    serialize,
    targetconfig,
    types,
)
from numba.core.runtime import _nrt_python, rtsys
from numba.core.typing import templates
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from bothworlds import _jit, _numba
from bothworlds._jit import entry, kernel
from bothworlds._simd import add_up, fill, load
from bothworlds.errors import KernelError

ROOT = Path(__file__).parents[1]


def test_numba_is_an_extra_with_bounds_and_this_is_between_them():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [Requirement(line).name for line in project["dependencies"]] == ["numpy"]
    (bound,) = map(Requirement, project["optional-dependencies"]["fast"])
    assert bound.name == "numba"
    assert bound.specifier.contains(version("numba"))
    first, beyond = (".".join(map(str, numbers)) for numbers in _numba.VERSIONS)
    assert bound.specifier == SpecifierSet(f">={first},<{beyond}")
    assert "bothworlds[fast]" in project["optional-dependencies"]["lab"]


def test_only_one_file_touches_numba():
    source = ROOT / "src/bothworlds"
    importers = [
        path.name
        for path in source.rglob("*.py")
        if any(
            line.strip().startswith(("import numba", "from numba", "from llvmlite", "import llvmlite"))
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert importers == ["_numba.py"]


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (caching.NullCache, ["load_overload", "save_overload"]),
        (codegen.JITCodeLibrary, ["_optimize_final_module", "_finalize_final_module"]),
        (
            codegen.JITCodeLibrary,
            ["_finalize_dynamic_globals", "_get_module_for_linking", "has_dynamic_globals"],
        ),
        (compiler.Compiler, ["compile_extra", "_compile_bytecode"]),
        (compiler.CompileResult, ["_reduce", "_rebuild", "_find_referenced_environments", "reload_init"]),
        (compiler.Flags, ["no_compile", "no_cpython_wrapper", "no_cfunc_wrapper", "summary"]),
        (bytecode.FunctionIdentity, ["_unique_ids"]),
        (dispatcher._FunctionCompiler, ["fold_argument_types", "compile"]),
        (targetconfig.ConfigStack, ["top_or_none"]),
        (types.functions.BaseFunction, ["get_call_type"]),
        (serialize, ["dumps", "loads"]),
        (templates, ["AbstractTemplate", "infer_global", "signature"]),
        (imputils, ["impl_ret_borrowed"]),
        (cgutils, ["get_or_insert_function", "alloca_once_value", "voidptr_t"]),
        (types, ["Type", "VarArg", "Any", "UniTuple", "uint64"]),
        (rtsys, ["get_allocation_stats"]),
        (_nrt_python, ["memsys_enable_stats"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_private_names_are_there(owner, names):
    assert [name for name in names if not hasattr(owner, name)] == []


@pytest.mark.compiled
def test_a_dispatcher_takes_a_cache_of_ours_and_gives_machine_code():
    def double(x):
        return 2.0 * x

    made = _numba.dispatcher(double, allocates=True)
    assert made._cache.function is double
    code = _numba.machine_code(made, (types.float64,))
    assert code(1.5) == 3.0
    assert list(made.overloads) == [(types.float64,)]
    assert made.targetctx is not None


@pytest.mark.compiled
def test_what_is_done_in_haste_ends_with_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(tmp_path))
    states = []

    @kernel
    def inner(x):
        return x + 1.0

    @entry
    def outer(x):
        return inner(x) * 2.0

    def find(*args):
        states.append(gc.isenabled())
        return plain(*args)

    plain = _numba.FIND_CALL_TYPE
    monkeypatch.setattr(_numba, "FIND_CALL_TYPE", find)
    assert outer(1.0) == 4.0
    assert states
    assert not any(states)
    assert gc.isenabled()
    assert types.functions.BaseFunction.get_call_type is plain

    @entry
    def wrong(x):
        return inner("one")

    with pytest.raises(KernelError):
        wrong(1.0)
    assert gc.isenabled()
    assert types.functions.BaseFunction.get_call_type is plain


@pytest.mark.compiled
def test_a_kernel_can_be_called_by_the_names_of_its_arguments():
    @kernel
    def ratio(above, below=2.0):
        return above / below

    @entry
    def ratios(x):
        return ratio(x), ratio(x, 4.0), ratio(below=8.0, above=x), ratio(x, below=x)

    assert ratios(16.0) == (8.0, 4.0, 2.0, 1.0)


@pytest.mark.compiled
def test_blocks_are_vectors(monkeypatch, tmp_path):
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(tmp_path))  # code from a cache cannot be inspected

    @entry
    def total(values):
        return add_up(load(values, 0) * fill(2.0))

    assert total(np.array([1.0, 2.0, 3.0, 4.0])) == 20.0
    code = next(iter(total.compiled.inspect_llvm().values()))
    assert "<4 x double>" in code


@pytest.mark.compiled
def test_memory_is_counted():
    @numba.njit
    def make(n):
        return np.zeros(n)

    make(3)
    before = _jit.arrays_alive()
    kept = make(3)
    assert _jit.arrays_alive() == before + 1
    del kept
    assert _jit.arrays_alive() == before
