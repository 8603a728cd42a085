"""The commit that a manifest names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import bothworlds as bw
from bothworlds.experiments.store import provenance


def git(folder, *command):
    done = subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path):
    """A package in the folder ``src`` of a repository."""
    package = tmp_path / "src" / "bothworlds"
    (package / "deep").mkdir(parents=True)
    for file in (package / "__init__.py", package / "deep" / "__init__.py", tmp_path / "README.md"):
        file.write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    names = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    git(tmp_path, *names, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "first")
    return package


def test_the_commit_of_the_sources(package, tmp_path):
    head = git(tmp_path, "rev-parse", "HEAD")
    assert len(head) == 40
    (tmp_path / "README.md").write_text("edited")
    assert provenance.commit_of(package) == head  # no source
    (package / "deep" / "__init__.py").write_text("edited = True\n")
    assert provenance.commit_of(package) == head + "+"
    git(tmp_path, "checkout", "--quiet", ".")
    (package / "added.py").write_text("")
    assert provenance.commit_of(package) == head + "+"


def test_no_commit_where_the_sources_have_none(package, tmp_path):
    assert provenance.commit_of(package / "deep") is None  # installed somewhere in a repository
    assert provenance.commit_of(tmp_path / "nowhere") is None
    (tmp_path / ".git").rename(tmp_path / "no-repository")
    assert provenance.commit_of(package) is None


def test_a_repository_without_a_commit(tmp_path):
    package = tmp_path / "src" / "bothworlds"
    package.mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    assert provenance.commit_of(package) is None


def test_manifests_have_it():
    """The tests run in a checkout, or on a copy without one."""
    root = Path(bw.__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("the sources are in no repository")
    provenance.commit.cache_clear()
    found = provenance.run_record(["x"], 1, "threads", 0, 0)["commit"]
    assert found.removesuffix("+") == git(root, "rev-parse", "HEAD")
