"""The folder of a study: what is in it, and running again in it."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

import bothworlds as bw
from bothworlds.errors import SpecError
from bothworlds.experiments.spec import read
from bothworlds.experiments.store import Store, StoreWriter, provenance
from interpreting import plain_python  # noqa: F401 - a fixture
from studies import (
    chunk_names,
    manifest,
    parse,
    rows,
    run_here,
    small_chunks,
    snapshot,
    study,
    text,
)

pytestmark = pytest.mark.usefixtures("plain_python")  # what is played is not the point

CORRUPTED = """
[[environment]]
kind = "corrupted"
budget = 20
base = { kind = "bernoulli", n_arms = 3, gap = 0.2 }
"""


def test_the_rows_are_those_of_simulate(tmp_path):
    experiment = study(n_arms=3, after=CORRUPTED)
    run_here(experiment, tmp_path / "out")
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
    run_here(experiment, tmp_path / "out")
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
    summary = run_here(study(replications=2), folder)
    assert (summary.chunks, summary.chunks_run, summary.chunks_reused) == (8, 2, 6)
    assert rows(folder) == whole
    assert set(names[:2] + names[4:]) <= set(chunk_names(folder))
    assert [record["chunks_run"] for record in manifest(folder)["runs"]] == [8, 2]
    before = snapshot(folder)
    assert run_here(study(replications=2), folder).chunks_run == 0
    assert snapshot(folder) == before  # nothing to do, nothing to say


def test_another_cut_into_chunks_is_kept(folder, monkeypatch):
    (folder / "chunks" / chunk_names(folder)[0]).unlink()
    small_chunks(monkeypatch, 1.0)  # as if a new release cut otherwise
    assert run_here(study(replications=2), folder).chunks_run == 1


def test_titles_and_labels_may_change(folder):
    other = text(replications=2).replace("A small study", "Another title")
    other = other.replace('kind = "ucb1"', 'kind = "ucb1"\nlabel = "the optimist"')
    (folder / "chunks" / chunk_names(folder)[0]).unlink()
    assert run_here(parse(other), folder).chunks_run == 1
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


def test_bytes_per_point(tmp_path):
    world = '[[environment]]\nkind = "minimax"\nn_arms = 10\n' + CORRUPTED.replace(
        "n_arms = 3", "n_arms = 10"
    )
    run_here(study(n_arms=10, horizon=300, replications=20, after=world), tmp_path)
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
