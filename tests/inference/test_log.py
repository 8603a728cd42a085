"""Logs from wherever they are: the same answer, and refusals that name the row."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, OutOfRangeError
from bothworlds.inference import log as room
from bothworlds.inference.log import LogReader

ARMS = ("blue", "green", "red")


def columns(n=400, *, labels=True, distributions=True):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([3.0, 2.0, 1.0], n)
    actions = np.array([rng.choice(3, p=row) for row in p])
    table = {
        "action": np.array(ARMS, dtype=object)[actions] if labels else actions,
        "reward": (rng.random(n) < 0.3 + 0.2 * actions).astype(float),
        "propensity": p[np.arange(n), actions],
    }
    if distributions:
        table |= {f"propensity_{ARMS[a] if labels else a}": p[:, a] for a in range(3)}
    return table


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(room, "ROWS", 64)


def rows_of(table):
    cells = (np.asarray(column).tolist() for column in table.values())
    return [dict(zip(table, row, strict=True)) for row in zip(*cells, strict=True)]


def as_csv(table, folder):
    path = folder / "log.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(table))
        writer.writeheader()
        writer.writerows(rows_of(table))
    return path


def as_json_lines(table, folder):
    path = folder / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows_of(table)) + "\n\n", encoding="utf-8")
    return str(path)


def as_parquet(table, folder):
    path = folder / "log.parquet"
    parquet.write_table(pa.table(table), path, row_group_size=100)
    return path


def as_folder(table, folder):
    dataset.write_dataset(pa.table(table), folder / "logs", format="parquet")
    return folder / "logs"


WAYS = {
    "mapping": lambda table, _: table,
    "lists": lambda table, _: {name: np.asarray(column).tolist() for name, column in table.items()},
    "pandas": lambda table, _: pd.DataFrame(table),
    "categories": lambda table, _: pd.DataFrame(table).astype({"action": "category"}),
    "arrow": lambda table, _: pa.table(table),
    "reader": lambda table, _: pa.table(table).to_reader(max_chunksize=50),
    "dataset": lambda table, _: dataset.dataset(pa.table(table)),
    "parquet": as_parquet,
    "folder": as_folder,
    "csv": as_csv,
    "json lines": as_json_lines,
}


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_from_everywhere(way, labels, tmp_path):
    table = columns(labels=labels)
    policy = dict(zip(ARMS if labels else range(3), (0.2, 0.3, 0.5), strict=True))
    expected = bw.inference.evaluate(table, policy)
    found = bw.inference.evaluate(WAYS[way](table, tmp_path), policy)
    for name in ("ipw", "snipw", "aipw", "effective_size", "largest_weight"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.interval.low, expected.interval.high), abs=1e-12
    )
    assert found.audit.distributions
    assert found.audit.log_e == pytest.approx(expected.audit.log_e, abs=1e-12)


def test_without_pyarrow_csv_and_json_lines_are_read(tmp_path, monkeypatch):
    table = columns()
    paths = [as_csv(table, tmp_path), as_json_lines(table, tmp_path), as_parquet(table, tmp_path)]
    expected = bw.inference.evaluate(table, "green").ipw
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not there
    for path in paths[:2]:
        assert bw.inference.evaluate(path, "green").ipw == pytest.approx(expected)
    with pytest.raises(ImportError, match="extra 'parquet'"):
        bw.inference.evaluate(paths[2], "green")


def test_labels_in_the_order_given_or_found():
    table = columns(distributions=False)
    given = bw.inference.evidence(table, arms=["red", "green", "blue"])
    assert given.labels == ("red", "green", "blue")
    assert set(bw.inference.evidence(table).labels) == set(ARMS)
    by_number = bw.inference.evidence(columns(labels=False, distributions=False))
    assert by_number.labels == (0, 1, 2)
    assert given["red"] == by_number[2]
    late = {"action": ["a"] * 100 + ["b"] * 5, "reward": [1.0] * 105, "propensity": [0.9] * 105}
    assert bw.inference.evidence(late).labels == ("a", "b")
    assert bw.inference.evaluate(late, "b").answers == 105
    mixed = {"action": np.array([1, "x", 1, None], dtype=object), "reward": [0, 1, 0, 1]}
    mixed["action"][3] = (2, 3)
    assert set(bw.inference.evidence(mixed).labels) == {1, "x", (2, 3)}
    prices = {"action": [1999, 2999, 1999, 10**9], "reward": [0, 1, 0, 1]}
    assert bw.inference.evidence(prices).labels == (1999, 2999, 10**9)


def test_a_logged_environment_and_a_trace():
    table = columns(labels=False, distributions=False)
    logged = bw.environments.Logged(table["action"], table["reward"], table["propensity"])
    assert (
        bw.inference.evaluate(logged, [0.2, 0.3, 0.5]).ipw
        == bw.inference.evaluate(table, [0.2, 0.3, 0.5]).ipw
    )
    world = bw.environments.Bernoulli(means=[0.3, 0.6])
    trace = bw.simulate(bw.TsallisINF(), world, horizon=300, trace=True).traces[0][0]
    found = bw.inference.evaluate(trace, "logged")
    assert found.ipw == pytest.approx(float(np.mean(1.0 - trace.losses)))
    assert found.audit.distributions
    again = dataclasses.replace(trace, played=None)  # as bw.replay gives it
    with pytest.raises(InvalidArgumentError, match="a replay, which drew nothing"):
        bw.inference.evaluate(again, "logged")
    decoupled = dataclasses.replace(trace, policy=bw.DecoupledTsallisINF())
    with pytest.raises(InvalidArgumentError, match="a decoupled policy"):
        bw.inference.evaluate(decoupled, "logged")


def wrong(**changes):
    table = columns(70, distributions=False)
    for name, (at, value) in changes.items():
        table[name][at] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (wrong(reward=(66, 1.5)), r"reward\[66\] must be in \[0, 1\], got 1\.5; give the range .* low="),
        (wrong(reward=(3, -0.1)), r"reward\[3\]"),
        (wrong(reward=(5, math.nan)), r"reward\[5\] must be there in every row, got nan; say missing="),
        (wrong(propensity=(65, 0.0)), r"propensity\[65\] must be above 0 and at most 1, got 0\.0"),
        (wrong(propensity=(2, 1.1)), r"propensity\[2\]"),
        (wrong(propensity=(2, -0.1)), r"propensity\[2\]"),
        (wrong(propensity=(2, math.nan)), r"propensity\[2\]"),
        (wrong(action=(9, None)), r"action must be an arm in every row"),
        ({"action": [0.5], "reward": [1], "propensity": [0.5]}, r"action\[0\] must be an arm"),
        (
            {"action": [0], "reward": ["much"], "propensity": [0.5]},
            r"reward\[0\] must be a number, got 'much'",
        ),
        ({"action": [0], "reward": [1], "propensities": [0.5]}, "did you mean 'propensities'"),
        ({"action": [0, 1], "reward": [1], "propensity": [0.5]}, "columns of the same length"),
        ({"action": [], "reward": [], "propensity": []}, "at least one row"),
        (17, "a table"),
        ("nowhere.parquet", "a file that exists"),
    ],
)
def test_refusals(table, message):
    with pytest.raises(InvalidArgumentError, match=message):
        bw.inference.evaluate(table, "logged")


def test_rows_out_of_order_and_distributions_that_do_not_sum():
    table = columns(150)
    in_order = table | {"round": np.arange(150)}
    assert bw.inference.evaluate(in_order, "green").ipw == bw.inference.evaluate(table, "green").ipw
    for name, values in (
        ("round", np.r_[0:64, 10:96]),  # falls from one batch to the next
        ("time", np.array(["2026-01-02", "2026-01-01"] * 75)),
        ("time", np.array(["2026-01-02", "2026-01-01"] * 75, dtype="datetime64[D]")),
    ):
        with pytest.raises(InvalidArgumentError, match=f"sort the log by {name}"):
            bw.inference.drift(table | {name: values})
    table["propensity_red"] = table["propensity_red"] + 0.5 * (np.arange(150) == 70)
    with pytest.raises(InvalidArgumentError, match=r"propensity_…\[70\]|propensity_red\[70\]"):
        bw.inference.audit(table)


def test_answers_that_did_not_come():
    table = columns(distributions=False)
    gone = np.arange(400) % 7 == 0
    holes = table | {"reward": np.where(gone, math.nan, table["reward"])}
    counted = bw.inference.evaluate(holes, "green", missing="outstanding")
    left_out = bw.inference.evaluate(holes, "green", missing="ignorable")
    assert (counted.decisions, counted.answers) == (400, 400 - gone.sum())
    assert left_out.decisions == left_out.answers == counted.answers
    assert counted.interval.low < left_out.interval.low
    assert left_out.interval.high < counted.interval.high
    assert counted.snipw == pytest.approx(left_out.snipw)
    evidence = bw.inference.evidence(holes, missing="outstanding")
    assert evidence.rounds == 400
    with pytest.raises(InvalidArgumentError, match="missing"):
        bw.inference.evaluate(holes, "green", missing="drop")
    nulls = pa.table({name: pa.array(column, from_pandas=True) for name, column in holes.items()})
    assert bw.inference.evaluate(nulls, "green", missing="outstanding").ipw == pytest.approx(counted.ipw)


@pytest.mark.parametrize("arrow", [True, False])
def test_text_becomes_labels_and_numbers(arrow, tmp_path, monkeypatch):
    """Halves stay halves beside empty cells; a label that is a number is one, in every batch."""
    if not arrow:
        monkeypatch.setattr(room, "_csv", lambda path: room._rows(path, room._csv_lines, room._of_text))
    lines = ["action,reward,propensity", *["7,0.5,0.5", "x,,0.5", "08,1,0.5"] * 50, *["7,0,0.5"] * 100]
    (tmp_path / "log.csv").write_text("\n".join(lines), encoding="utf-8")
    found = bw.inference.evidence(tmp_path / "log.csv", missing="outstanding")
    assert found.labels == (7, "x", "08")
    assert found[7].estimate == pytest.approx(25 / 150)
    assert math.isnan(found["x"].estimate)
    (tmp_path / "log.csv").write_text("action,reward,propensity\n7,much,0.5\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="much"):
        bw.inference.evidence(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text("action,reward,propensity\n,1,0.5\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="an arm in every row"):
        bw.inference.evidence(tmp_path / "log.csv")


def test_json_values_are_what_they_are(tmp_path):
    rows = [
        {"action": "7", "reward": 0.5},
        {"action": ["a", 1], "reward": None},
        {"action": 7, "reward": True},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    found = bw.inference.evidence(path, missing="outstanding")
    assert found.labels == ("7", ("a", 1), 7)
    assert (found["7"].estimate, found[7].estimate) == (0.5, 1.0)


def test_parquet_that_is_none(tmp_path):
    path = as_parquet(columns(), tmp_path)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[8 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 8)  # what only reading finds
    for content in (b"action,reward,propensity\n0,1,0.5\n", b"", whole[:-9], bytes(damaged)):
        path.write_bytes(content)
        for log in (path, tmp_path):
            with pytest.raises(
                InvalidArgumentError, match=r"log must be Parquet that is whole, got .*; a file"
            ):
                bw.inference.evaluate(log, "logged")


def test_json_that_is_none(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"action": 0, "reward": 1, "propensity": 0.5}\n{"action": 0, \n', encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="on line 2"):
        bw.inference.evaluate(path, "logged")


def test_a_label_that_is_not_among_those_given():
    with pytest.raises(InvalidArgumentError, match="did you mean 'gren'"):
        bw.inference.evidence(columns(distributions=False), arms=["blue", "gren", "red"])


def test_batches_are_small():
    log = LogReader(columns(), needs=("action",))
    assert [batch.actions.size for batch in log] == [64] * 6 + [16]


def test_ranges():
    table = columns(distributions=False)
    wide = table | {"reward": 10.0 * table["reward"] - 3.0}
    with pytest.raises(OutOfRangeError):
        bw.inference.evaluate(wide, "green")
    one, two = bw.inference.evaluate(table, "green"), bw.inference.evaluate(wide, "green", low=-3.0, high=7.0)
    assert two.interval.high == pytest.approx(10.0 * one.interval.high - 3.0)
    assert two.aipw == pytest.approx(10.0 * one.aipw - 3.0)
