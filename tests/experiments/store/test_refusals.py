"""What the folder of a study refuses: another study, another version, another run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bothworlds as bw
from bothworlds.errors import DifferentStudyError, StoreError, StoreInUseError
from bothworlds.experiments.store import Store
from studies import (
    environment,
    manifest,
    run_here,
    snapshot,
    study,
    text,
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "seed: 1 there, 2 here"),
        ({"horizon": 61}, r"horizons: \[60\] there, \[61\] here"),
        ({"n_arms": "[3, 5]"}, r"environments\[1\]\.n_arms: 4 there, 5 here"),
        ({"n_arms": "3"}, r"environments\[1\]: \{.* there, nothing here"),
    ],
)
def test_another_study_is_refused(folder, change, said):
    before = snapshot(folder)
    with pytest.raises(DifferentStudyError, match=said) as caught:
        run_here(study(**({"replications": 2} | change)), folder)
    assert str(folder) in str(caught.value)
    assert "'A small study'" in str(caught.value)
    assert snapshot(folder) == before


def test_another_version_is_refused(folder):
    found = manifest(folder)
    found["runs"][-1]["commit"] = "abc123"
    (folder / "manifest.json").write_text(json.dumps(found | {"version": "0.0.9", "sources": "other"}))
    before = snapshot(folder)
    with pytest.raises(DifferentStudyError) as caught:
        run_here(study(replications=2), folder)
    said = str(caught.value)
    assert f"begun with bothworlds 0.0.9 of commit abc123, and this is bothworlds {bw.__version__}." in said
    assert "another folder with --out" in said
    assert "install the old one, bothworlds 0.0.9, to complete this one" in said
    with pytest.raises(
        DifferentStudyError, match=rf'bothworlds: "0.0.9" there, "{bw.__version__}" here\n(.*\n)*.*seed'
    ):
        run_here(study(replications=2, seed=2), folder)
    assert snapshot(folder) == before


def test_other_sources_are_refused(folder):
    found = manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(found | {"sources": "other"}))
    with pytest.raises(
        DifferentStudyError, match=rf"\(hash other.*, here {found['sources']}\): they were edited"
    ):
        run_here(study(replications=2), folder)


def test_many_differences_are_counted(folder):
    arms = str(list(range(3, 30)))
    with pytest.raises(DifferentStudyError, match="and 13 more"):
        run_here(study(replications=2, n_arms=arms), folder)


def test_a_folder_with_something_else_is_refused(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_text("mine")
    before = snapshot(tmp_path)
    with pytest.raises(StoreError, match=r"not empty and holds no study \(it has a, b, c, …\)"):
        run_here(study(), tmp_path)
    assert snapshot(tmp_path) == before


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(StoreError, match="is a file"):
        run_here(study(), tmp_path / "out")
    with pytest.raises(StoreError, match="cannot be written: Not a directory"):
        run_here(study(), tmp_path / "out" / "deeper")


@pytest.mark.skipif(
    not Path("/sys/kernel").is_dir(), reason="needs a file system that even root cannot write"
)
def test_a_read_only_folder(tmp_path):
    with pytest.raises(StoreError, match=r"/sys/kernel/study cannot be written: .*give another folder"):
        run_here(study(), "/sys/kernel/study")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read.*restore it"),
        ('{"format": 1, "title": "cut short"}', "manifest.json lacks cells, chunks, .*version; restore it"),
        ("[]", "format None"),
        ('{"format": 2}', "format 2, this release reads format 1"),
    ],
)
def test_a_manifest_that_cannot_be_read(folder, content, said):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=said):
        Store(folder)
    with pytest.raises(StoreError, match=said):
        run_here(study(replications=2), folder)


def test_no_study(tmp_path):
    with pytest.raises(StoreError, match="holds no study"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "nothing")


HOLDER = """
import sys, time
from bothworlds.experiments.spec import read
from bothworlds.experiments.store import StoreWriter
with StoreWriter(sys.argv[1], read(sys.argv[2])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_folder_in_use_is_refused_until_its_run_ends(folder, tmp_path):
    (tmp_path / "study.toml").write_text(text(replications=2))
    command = [sys.executable, "-c", HOLDER, str(folder), str(tmp_path / "study.toml")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreInUseError, match=rf"process {process.pid} on \S+, started \d{{4}}-"):
            run_here(study(replications=2), folder)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run_here(study(replications=2), folder).chunks_run == 0
    finally:
        process.kill()
        process.communicate()


def test_a_lock_without_a_name(folder):
    from bothworlds import _lock

    descriptor = os.open(folder / "lock", os.O_RDWR)
    try:
        assert _lock.acquire(descriptor, wait=False)
        with pytest.raises(StoreInUseError, match="just starting or ending"):
            run_here(study(replications=2), folder)
    finally:
        os.close(descriptor)
