"""What the folder of a study repairs: damaged, foreign and half-written files."""

from __future__ import annotations

import shutil

import pytest

from bothworlds.experiments.run import run_study
from bothworlds.experiments.store import provenance
from interpreting import plain_python  # noqa: F401 - a fixture
from studies import (
    chunk_names,
    manifest,
    rows,
    run_here,
    study,
)

pytestmark = pytest.mark.usefixtures("plain_python")  # what is played is not the point


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
    from bothworlds.experiments.store.chunk import checksum

    path.unlink()
    path.with_name(f"{path.name[:5]}-{checksum(content)}.parquet").write_bytes(content)


def _neighbor(path):
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
    _neighbor: "other batches",
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
        run_here(study(replications=2), folder)
        (folder / "chunks" / chunk_names(folder)[0]).unlink()
        (folder / "chunks" / name).write_bytes(content)
    assert len(list((folder / "aside").iterdir())) == 3


def test_a_second_file_of_a_chunk_is_moved_aside(folder):
    name = chunk_names(folder)[0]
    double = folder / "chunks" / f"{name[:5]}-{'f' * 16}.parquet"
    shutil.copy(folder / "chunks" / name, double)
    assert run_here(study(replications=2), folder).chunks_run == 0
    assert chunk_names(folder)[0] == name
    assert not double.exists()


def test_what_a_killed_run_left_behind_is_cleaned(folder):
    (folder / "tables").mkdir()
    for place in (folder, folder / "chunks", folder / "tables"):
        (place / ".00001-abc.parquet.x1y2.tmp").write_bytes(b"half")
    run_here(study(replications=2), folder)
    assert not list(folder.rglob("*.tmp"))


def test_a_run_killed_before_its_manifest_is_begun_again(tmp_path):
    (tmp_path / "chunks").mkdir()
    (tmp_path / "lock").touch()
    (tmp_path / ".manifest.json.abc.tmp").write_text("{")
    assert run_here(study(), tmp_path).chunks_run == 1


@pytest.mark.parametrize("key", ["bothworlds", "sources"])
def test_without_a_manifest_chunks_of_another_version_are_moved_aside(folder, monkeypatch, capsys, key):
    here = provenance.identity()
    whole, names = rows(folder), chunk_names(folder)
    (folder / "manifest.json").unlink()
    assert run_here(study(replications=2), folder).chunks_run == 0  # those of this one are good
    (folder / "manifest.json").unlink()
    monkeypatch.setattr(provenance, "identity", lambda: here | {key: "other"})
    summary = run_study(study(replications=2), folder, jobs=1)
    assert (summary.chunks_run, summary.chunks_set_aside) == (8, 8)
    assert sorted(file.name for file in (folder / "aside").iterdir()) == names
    said = capsys.readouterr().err
    assert said.count("another bothworlds played it; moved to") == 3
    assert "… and 5 more chunks in the same way" in said
    assert rows(folder) == whole
