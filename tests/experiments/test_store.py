"""The folder of a study: what is in it, what it refuses, what it repairs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import bothworlds as bw
from bothworlds.errors import DifferentStudy, SpecError, StoreError, StoreInUse
from bothworlds.experiments import provenance
from bothworlds.experiments.run import run_study
from bothworlds.experiments.spec import read
from bothworlds.experiments.store import Store
from bothworlds.experiments.writer import StoreWriter
from studies import chunk_names, environment, manifest, parse, rows, small_chunks, study, text


def run(experiment, out, **options):
    return run_study(experiment, out, jobs=1, progress=False, **options)


def snapshot(path):
    """Every file below a folder."""
    return {file.relative_to(path): file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """A study of four cells in four chunks."""
    small_chunks(monkeypatch, 1e-9)
    run(study(replications=2), tmp_path / "out")
    return tmp_path / "out"


CORRUPTED = """
[[environment]]
kind = "corrupted"
budget = 20
base = { kind = "bernoulli", n_arms = 3, gap = 0.2 }
"""


def test_the_rows_are_those_of_simulate(tmp_path):
    experiment = study(n_arms=3, after=CORRUPTED)
    run(experiment, tmp_path / "out")
    (file,) = Store(tmp_path / "out").chunks.values()
    table = pq.read_table(file)
    frame = table.to_pandas()
    for cell in experiment.cells():
        policy = experiment.policies[cell.policy].build()
        world = experiment.environments[cell.environment].build()
        played = bw.simulate(policy, world, horizon=60, replications=4, seed=1, probabilities=True)
        mine = frame[frame.cell == cell.number]
        repeats = np.arange(4).repeat(played.checkpoints.size)
        assert mine.replication.tolist() == repeats.tolist()
        assert mine["round"].tolist() == np.tile(played.checkpoints, 4).tolist()
        assert mine.regret.to_numpy().tobytes() == played.regret.tobytes()
        assert mine.loss.to_numpy().tobytes() == played.losses.tobytes()
        assert mine.clean_regret.fillna(mine.regret).to_numpy().tobytes() == played.clean_regret.tobytes()
        shown = np.stack(mine.p[mine.replication == 0].tolist())
        assert shown.tobytes() == played.probabilities[0, 0].astype(np.float32).tobytes()
        assert mine.p[mine.replication > 0].isna().all()
    assert frame.clean_regret[frame.cell < 2].isna().all()
    assert frame.clean_regret[frame.cell >= 2].notna().any()


def test_nan_after_the_end_of_a_log(tmp_path):
    experiment = parse(
        f"""
        horizon = 60
        replications = 1
        checkpoints = [1, 60]
        record = ["regret"]
        [[policy]]
        kind = "uniform"
        [[environment]]
        kind = "logged"
        actions = {[0, 1] * 20}
        rewards = {[0.25, 0.75] * 20}
        propensities = {[0.5] * 40}
        """
    )
    run(experiment, tmp_path / "out")
    (file,) = Store(tmp_path / "out").chunks.values()
    table = pq.read_table(file)
    assert np.isnan(table["loss"].to_numpy()).tolist() == [False, True]
    assert table["loss"].null_count == table["regret"].null_count == 0
    assert table["clean_regret"].null_count == table["p"].null_count == 2


def test_manifest(folder):
    found = manifest(folder)
    assert found["title"] == "A small study"
    assert found["fingerprint"] == study(replications=2).fingerprint(provenance.identity())
    assert found["meaning"] == study(replications=2).meaning()
    assert [entry["repr"] for entry in found["policies"]] == ["TsallisINF()", "UCB1()"]
    assert [entry["n_arms"] for entry in found["environments"]] == [3, 4]
    assert found["cells"][3] | {"gaps": None} == {
        "cell": 3,
        "policy": 1,
        "environment": 1,
        "horizon": 60,
        "n_arms": 4,
        "gaps": None,
        "optimal": [0],
        "corruption": 0.0,
        "spread": 0.0,
    }
    assert found["cells"][3]["gaps"] == pytest.approx([0.0, 0.2, 0.2, 0.2])
    assert found["chunks"] == [[[cell, first, first + 1]] for cell in range(4) for first in range(2)]
    (record,) = found["runs"]
    assert record["chunks_run"] == 8
    assert record["jobs"] == 1
    assert record["executor"] == "1 thread"
    assert record["packages"]["numpy"] == np.__version__
    assert record["started"] <= record["finished"]
    assert 0 < record["kernel_seconds"] <= record["seconds"]
    assert (folder / "experiment.toml").read_text() == text(replications=2)


def test_opening_needs_no_lock_and_writes_nothing(folder):
    before = snapshot(folder)
    with StoreWriter(folder, study(replications=2)):
        store = Store(folder)
        assert store.complete
        assert store.progress == (8, 8)
        timings = list(store.timings())
    assert [(one.cell, one.first, one.stop) for one in timings] == [
        (cell, first, first + 1) for cell in range(4) for first in range(2)
    ]
    assert all(one.seconds > 0 and one.host for one in timings)
    assert snapshot(folder) == before


def test_a_part_of_a_study_can_be_read(folder):
    for name in chunk_names(folder)[:3]:
        (folder / "chunks" / name).unlink()
    store = Store(folder)
    assert not store.complete
    assert store.missing == [0, 1, 2]
    assert store.progress == (5, 8)


def test_running_again_plays_only_what_is_missing(folder):
    whole, names = rows(folder), chunk_names(folder)
    for name in names[2:4]:
        (folder / "chunks" / name).unlink()
    summary = run(study(replications=2), folder)
    assert (summary.chunks, summary.chunks_run, summary.chunks_reused) == (8, 2, 6)
    assert rows(folder) == whole
    assert set(names[:2] + names[4:]) <= set(chunk_names(folder))
    assert [record["chunks_run"] for record in manifest(folder)["runs"]] == [8, 2]
    before = snapshot(folder)
    assert run(study(replications=2), folder).chunks_run == 0
    assert snapshot(folder) == before  # nothing to do, nothing to say


def test_another_cut_into_chunks_is_kept(folder, monkeypatch):
    (folder / "chunks" / chunk_names(folder)[0]).unlink()
    small_chunks(monkeypatch, 1.0)  # as if a new release cut otherwise
    assert run(study(replications=2), folder).chunks_run == 1


def test_titles_and_labels_may_change(folder):
    other = text(replications=2).replace("A small study", "Another title")
    other = other.replace('kind = "ucb1"', 'kind = "ucb1"\nlabel = "the optimist"')
    (folder / "chunks" / chunk_names(folder)[0]).unlink()
    assert run(parse(other), folder).chunks_run == 1
    found = manifest(folder)
    assert found["title"] == "Another title"
    assert found["policies"][1]["label"] == "the optimist"
    assert (folder / "experiment.toml").read_text() == other


def test_the_copy_of_the_file_finds_the_data_of_the_original(tmp_path):
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    (home / "losses.csv").write_text("0,1,1\n" * 60)
    (home / "study.toml").write_text(
        text(after='[[environment]]\nkind = "loss-table"\npath = "losses.csv"\n')
    )
    first = read(home / "study.toml")
    StoreWriter(out, first).close()
    again = read(out / "experiment.toml")
    assert again.environments == first.environments
    assert again.folder == first.folder == str(home)  # so that a copy of the copy finds them too
    StoreWriter(out, again).close()
    assert read(out / "experiment.toml").environments == first.environments
    (home / "losses.csv").rename(out / "losses.csv")  # what is beside the copy comes first
    assert read(out / "experiment.toml").meaning() == first.meaning()
    (out / "losses.csv").unlink()
    with pytest.raises(
        SpecError, match=f"copy of an experiment from {home}, and losses.csv is not there either"
    ):
        read(out / "experiment.toml")


# --- damage ---------------------------------------------------------------------------------------------


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _cut(path):
    path.write_bytes(path.read_bytes()[:100])


def _garbage(path):
    _rewrite(path, b"not a parquet file")


def _rewrite(path, content):
    """Other content, under a name that carries its checksum."""
    from bothworlds.experiments.chunk import checksum

    path.unlink()
    path.with_name(f"{path.name[:5]}-{checksum(content)}.parquet").write_bytes(content)


def _neighbour(path):
    other = next(file for file in path.parent.iterdir() if file.name[:5] != path.name[:5])
    _rewrite(path, other.read_bytes())


def _no_number(path):
    path.rename(path.with_name("chunk.parquet"))


def _out_of_range(path):
    path.rename(path.with_name("99999" + path.name[5:]))


DAMAGE = {
    _flip: "checksum",
    _cut: "checksum",
    _garbage: "cannot be read",
    _neighbour: "other jobs",
    _no_number: "not the one file",
    _out_of_range: "not the one file",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_chunk_is_moved_aside_and_played_again(folder, damage, capsys):
    whole = rows(folder)
    damage(folder / "chunks" / chunk_names(folder)[1])
    summary = run_study(study(replications=2), folder, jobs=1)
    assert (summary.chunks_run, summary.chunks_set_aside) == (1, 1)
    assert rows(folder) == whole
    (kept,) = (folder / "aside").iterdir()
    said = capsys.readouterr().err
    assert DAMAGE[damage] in said
    assert str(kept) in said
    assert manifest(folder)["runs"][-1]["chunks_set_aside"] == 1


def test_damage_twice_keeps_both(folder):
    for _ in range(3):
        content = (folder / "chunks" / chunk_names(folder)[0]).read_bytes()
        (folder / "chunks" / chunk_names(folder)[0]).write_bytes(b"")
        name = chunk_names(folder)[0]
        run(study(replications=2), folder)
        (folder / "chunks" / chunk_names(folder)[0]).unlink()
        (folder / "chunks" / name).write_bytes(content)
    assert len(list((folder / "aside").iterdir())) == 3


def test_a_second_file_of_a_chunk_is_moved_aside(folder):
    name = chunk_names(folder)[0]
    double = folder / "chunks" / f"{name[:5]}-{'f' * 16}.parquet"
    shutil.copy(folder / "chunks" / name, double)
    assert run(study(replications=2), folder).chunks_run == 0
    assert chunk_names(folder)[0] == name
    assert not double.exists()


def test_what_a_killed_run_left_behind_is_cleaned(folder):
    (folder / "tables").mkdir()
    for place in (folder, folder / "chunks", folder / "tables"):
        (place / ".00001-abc.parquet.x1y2.tmp").write_bytes(b"half")
    run(study(replications=2), folder)
    assert not list(folder.rglob("*.tmp"))


def test_a_run_killed_before_its_manifest_is_begun_again(tmp_path):
    (tmp_path / "chunks").mkdir()
    (tmp_path / "lock").touch()
    (tmp_path / ".manifest.json.abc.tmp").write_text("{")
    assert run(study(), tmp_path).chunks_run == 1


@pytest.mark.parametrize("key", ["bothworlds", "sources"])
def test_without_a_manifest_chunks_of_another_version_are_moved_aside(folder, monkeypatch, capsys, key):
    here = provenance.identity()
    whole, names = rows(folder), chunk_names(folder)
    (folder / "manifest.json").unlink()
    assert run(study(replications=2), folder).chunks_run == 0  # those of this one are good
    (folder / "manifest.json").unlink()
    monkeypatch.setattr(provenance, "identity", lambda: here | {key: "other"})
    summary = run_study(study(replications=2), folder, jobs=1)
    assert (summary.chunks_run, summary.chunks_set_aside) == (8, 8)
    assert sorted(file.name for file in (folder / "aside").iterdir()) == names
    said = capsys.readouterr().err
    assert said.count("another bothworlds played it; moved to") == 3
    assert "… and 5 more chunks in the same way" in said
    assert rows(folder) == whole


# --- refusals -------------------------------------------------------------------------------------------


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
    with pytest.raises(DifferentStudy, match=said) as caught:
        run(study(**({"replications": 2} | change)), folder)
    assert str(folder) in str(caught.value)
    assert "'A small study'" in str(caught.value)
    assert snapshot(folder) == before


def test_another_version_is_refused(folder):
    found = manifest(folder)
    found["runs"][-1]["commit"] = "abc123"
    (folder / "manifest.json").write_text(json.dumps(found | {"version": "0.0.9", "sources": "other"}))
    before = snapshot(folder)
    with pytest.raises(DifferentStudy) as caught:
        run(study(replications=2), folder)
    said = str(caught.value)
    assert f"begun with bothworlds 0.0.9 of commit abc123, and this is bothworlds {bw.__version__}." in said
    assert "another folder with --out" in said
    assert "(pip install bothworlds==0.0.9)" in said
    with pytest.raises(
        DifferentStudy, match=rf'bothworlds: "0.0.9" there, "{bw.__version__}" here\n(.*\n)*.*seed'
    ):
        run(study(replications=2, seed=2), folder)
    assert snapshot(folder) == before


def test_other_sources_are_refused(folder):
    found = manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(found | {"sources": "other"}))
    with pytest.raises(DifferentStudy, match=rf"\(hash other.*, here {found['sources']}\): they were edited"):
        run(study(replications=2), folder)


def test_many_differences_are_counted(folder):
    arms = str(list(range(3, 30)))
    with pytest.raises(DifferentStudy, match="and 13 more"):
        run(study(replications=2, n_arms=arms), folder)


def test_a_folder_with_something_else_is_refused(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_text("mine")
    before = snapshot(tmp_path)
    with pytest.raises(StoreError, match=r"not empty and holds no study \(it has a, b, c, …\)"):
        run(study(), tmp_path)
    assert snapshot(tmp_path) == before


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(StoreError, match="is a file"):
        run(study(), tmp_path / "out")
    with pytest.raises(StoreError, match="cannot be written: Not a directory"):
        run(study(), tmp_path / "out" / "deeper")


@pytest.mark.skipif(
    not Path("/sys/kernel").is_dir(), reason="needs a file system that even root cannot write"
)
def test_a_read_only_folder(tmp_path):
    with pytest.raises(StoreError, match=r"/sys/kernel/study cannot be written: .*give another folder"):
        run(study(), "/sys/kernel/study")


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
        run(study(replications=2), folder)


def test_no_study(tmp_path):
    with pytest.raises(StoreError, match="holds no study"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "nothing")


HOLDER = """
import sys, time
from bothworlds.experiments.spec import read
from bothworlds.experiments.writer import StoreWriter
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
        with pytest.raises(StoreInUse, match=rf"process {process.pid} on \S+, started \d{{4}}-"):
            run(study(replications=2), folder)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run(study(replications=2), folder).chunks_run == 0
    finally:
        process.kill()
        process.communicate()


def test_a_lock_without_a_name(folder):
    from bothworlds import _lock

    descriptor = os.open(folder / "lock", os.O_RDWR)
    try:
        assert _lock.acquire(descriptor, wait=False)
        with pytest.raises(StoreInUse, match="just starting or ending"):
            run(study(replications=2), folder)
    finally:
        os.close(descriptor)


@pytest.mark.compiled
def test_bytes_per_point(tmp_path):
    world = '[[environment]]\nkind = "minimax"\nn_arms = 10\n' + CORRUPTED.replace(
        "n_arms = 3", "n_arms = 10"
    )
    run(study(n_arms=10, horizon=300, replications=20, after=world), tmp_path)
    files = list(Store(tmp_path).chunks.values())
    points = sum(pq.read_metadata(file).num_rows for file in files)
    assert points > 3000
    assert sum(file.stat().st_size for file in files) < 40 * points


def test_one_at_a_time(tmp_path):
    from bothworlds._lock import exclusive

    order = []

    def second():
        with exclusive(tmp_path / "lock"):
            order.append("second")

    with exclusive(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
