"""The recipes of CONTRIBUTING, as files of a stranger's and inside a copy of the package: each must work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bothworlds

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
PACKAGE = Path(bothworlds.__file__).parent

# heading, the class, its file, and where that belongs in the package
RECIPES = {
    "Add a policy": ("FollowTheLeader", "follow_the_leader", "policies"),
    "Add an environment": ("Tide", "tide", "environments"),
    "Add a regularizer": ("Inverse", "inverse", "simplex/regularizers"),
}
# one of them each time; the others, which compile for ten seconds and more, with the slow tests
SLOW = ("Add an environment", "Add a regularizer")
each_recipe = pytest.mark.parametrize(
    "heading", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in RECIPES]
)

pytestmark = pytest.mark.compiled


def blocks(heading):
    """The file and its test."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def run(code, folder, *paths):
    (folder / "test_it.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*paths, folder]))}
    done = subprocess.run(
        [sys.executable, "test_it.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@each_recipe
def test_as_a_file_of_ones_own(heading, tmp_path):
    name, file, _ = RECIPES[heading]
    source, test = blocks(heading)
    (tmp_path / f"{file}.py").write_text(source, encoding="utf-8")
    run(f"from {file} import {name}\n{test}", tmp_path, PACKAGE.parent)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package, with all recipes inside."""
    root = tmp_path_factory.mktemp("src")
    shutil.copytree(PACKAGE, root / "bothworlds", ignore=shutil.ignore_patterns("__pycache__"))
    for heading, (name, file, folder) in RECIPES.items():
        inside = root / "bothworlds" / folder
        (inside / f"{file}.py").write_text(blocks(heading)[0], encoding="utf-8")
        module = f"bothworlds.{folder.replace('/', '.')}"
        with (inside / "__init__.py").open("a", encoding="utf-8") as init:
            init.write(f"from {module}.{file} import {name} as {name}\n")
    greedy = blocks("Add a policy")[0].replace("Follow", "Forget").replace("follow-the-leader", "forgetful")
    greedy = greedy.replace("    return 0\n", "    state.p[:] = state.p / state.p.sum()\n    return 0\n")
    (root / "bothworlds/policies/forgetful.py").write_text(greedy, encoding="utf-8")
    return root


@pytest.mark.slow
@pytest.mark.parametrize("heading", RECIPES)
def test_inside_the_package(heading, copy, tmp_path):
    name, file, folder = RECIPES[heading]
    module = f"bothworlds.{folder.replace('/', '.')}"
    known = f"assert {name}.registry['{file.replace('_', '-')}'] is {name}\n"
    here = f"import bothworlds\nassert bothworlds.__file__.startswith({str(copy)!r})\n"
    run(f"{here}from {module} import {name}\n{known}{blocks(heading)[1]}", tmp_path, copy)


@pytest.mark.slow
def test_a_kernel_that_takes_memory_is_named_with_the_fix(copy, tmp_path):
    """Kernels inside the package own no memory; numba's thirty lines become one."""
    code = """
import bothworlds as bw
from bothworlds.policies.forgetful import ForgetTheLeader
try:
    bw.Bandit(3, ForgetTheLeader())
except bw.errors.KernelError as error:
    print(error)
"""
    said = run(code, tmp_path, copy)
    assert re.match(
        r"step of ForgetParameters cannot be compiled \(.*forgetful\.py, line \d+\): it takes memory", said
    )
    assert "allocates=True" in said
