"""Losses from arrays, files and Python classes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments as en
from bothworlds.errors import InvalidArgumentError

POLICY = bw.TsallisINF()
ROWS = np.random.default_rng(0).random((50, 3))


def written(tmp_path, text, name="losses.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_text(text, encoding=encoding)
    return path


def as_text(rows):
    return "".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows)


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, np.asfortranarray])
def test_any_table_of_numbers(make):
    table = en.LossTable(make(ROWS))
    assert (table.rounds, table.n_arms) == (50, 3)
    assert np.array_equal(table.losses, ROWS)
    assert repr(table) == "LossTable(<50 × 3>)"


def test_the_callers_array_stays_theirs():
    mine = ROWS.copy()
    table = en.LossTable(mine)
    mine[0, 0] = 0.0
    assert table.losses[0, 0] == ROWS[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        table.losses[0, 0] = 0.5


@pytest.mark.parametrize("header", ["", "a,b,c\n", "\n", "a,b,c\n\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv(tmp_path, header, encoding):
    table = en.LossTable.read(written(tmp_path, header + as_text(ROWS), encoding=encoding))
    assert np.array_equal(table.losses, ROWS)


def test_csv_with_one_row_and_windows_line_ends(tmp_path):
    assert np.shape(en.LossTable.read(written(tmp_path, "0.5,1\r\n")).losses) == (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n0.5,0.5\n0.5\n",
            r"path must be a file with 2 numbers in every row, got '0.5' in line 3 of .*losses.csv",
        ),
        ("a,b\n\n0.5,0.5\n\n0.5,x\n", r"2 numbers in every row, got '0.5,x' in line 5 of .*losses.csv"),
        ("0.5,NA\n0.5,0.5\n", r"2 numbers in every row, got '0.5,NA' in line 1 of .*losses.csv"),
        ("a,b\n0.5,1.5\n", r"losses in \[0, 1\], got 1.5 in line 2, column b of .*csv; rescale losses"),
        (
            "0.5,nan\n",
            r"losses in \[0, 1\], got nan in line 1, column number 2 of .*csv; every arm needs a loss",
        ),
        ("", r"path must be a file with at least one row of losses, got .*losses.csv with none"),
        ("a,b\n", r"path must be a file with at least one row of losses, got .*losses.csv with none"),
    ],
)
def test_bad_csv_is_named_by_line(tmp_path, text, message):
    with pytest.raises(InvalidArgumentError, match=message):
        en.LossTable.read(written(tmp_path, text))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {f"arm {i}": ROWS[:, i] for i in range(3)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "losses.parquet")
    assert np.array_equal(en.LossTable.read(tmp_path / "losses.parquet").losses, ROWS)
    columns["arm 1"] = [None, *ROWS[1:, 1]]
    parquet.write_table(pyarrow.table(columns), tmp_path / "holes.parquet")
    with pytest.raises(InvalidArgumentError, match=r"losses\[0\]\[1\] must be in \[0, 1\], got nan"):
        en.LossTable.read(str(tmp_path / "holes.parquet"))


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([0.5, 0.5], r"losses must be a table, rounds × arms, got shape \(2,\)"),
        ([], r"losses must be a table, rounds × arms, got shape \(0,\)"),
        ([[]], r"losses must be a table, rounds × arms, got shape \(1, 0\)"),
        ([[0.5], [0.5, 0.5]], r"losses must be a table of numbers, rounds × arms, got \[\[0.5\]"),
        ([["a", "b"]], r"losses must be a table of numbers"),
        ([[0.5, 0.5], [0.5, -0.1]], r"losses\[1\]\[1\] must be in \[0, 1\], got -0.1; rescale .* loss 1 − r"),
        ([[np.inf, 0.5]], r"losses\[0\]\[0\] must be in \[0, 1\], got inf"),
    ],
)
def test_bad_tables_are_named(losses, message):
    with pytest.raises(InvalidArgumentError, match=message):
        en.LossTable(losses)


def test_a_horizon_beyond_the_table():
    with pytest.raises(
        InvalidArgumentError, match="horizon must be at most the 50 rows of the table, got 51"
    ):
        bw.simulate(POLICY, en.LossTable(ROWS), horizon=51)
    assert bw.simulate(POLICY, en.LossTable(ROWS), horizon=50).horizon == 50


class Written(en.PythonEnvironment):
    """The rows of a table, by blocks."""

    n_arms = 3

    def losses(self, random, start, stop):
        return ROWS[start:stop]


class Noise(en.PythonEnvironment):
    n_arms = 3

    def losses(self, random, start, stop):
        return random.random((stop - start, 3))


def test_python_blocks_are_a_table():
    options = {"horizon": 50, "replications": 3, "seed": 2}
    expected = bw.simulate(POLICY, en.LossTable(ROWS), **options)
    for block in (1, 7, 8192):
        assert np.array_equal(
            bw.simulate(POLICY, Written(), block=block, **options).measured, expected.measured
        )


def test_python_randomness_has_a_stream_of_its_own():
    options = {"horizon": 60, "replications": 3, "seed": 2, "trace": True}
    runs = [
        bw.simulate(POLICY, Noise(), jobs=jobs, block=block, **options) for jobs, block in ((1, 60), (3, 7))
    ]
    assert np.array_equal(runs[0].measured, runs[1].measured)
    for replication, trace in enumerate(runs[0].traces[0]):
        table = bw.rng.stream(2, 2, replication).random((60, 3))
        assert np.array_equal(trace.losses, table[np.arange(60), trace.arms])
    assert np.array_equal(bw.simulate(POLICY, en.Delayed(Noise(), 0), **options).measured, runs[0].measured)
    assert repr(Noise()) == "Noise()"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full((n, 2), 0.5), r"losses must be a table, rounds × 3 arms, got shape \(\d+, 2\)"),
        (lambda n: np.full((n + 1, 3), 0.5), r"losses must be those of 20 rounds, got 21"),
        (lambda n: np.full(3, 0.5), r"losses must be a table, rounds × 3 arms, got shape \(3,\)"),
        (lambda n: None, r"losses must be a table"),
        (lambda n: "losses", r"losses must be a table of numbers"),
        (
            lambda n: np.where(np.arange(n)[:, None] == 4, [0.5, np.nan, 0], 0.5),
            r"losses\[24\]\[1\] .*, got nan",
        ),
        (lambda n: np.where(np.arange(n)[:, None] == 9, [0, 0, 1.5], 0.5), r"losses\[29\]\[2\] .*, got 1.5"),
    ],
)
def test_bad_blocks_are_named_by_round(monkeypatch, answer, message):
    monkeypatch.setattr(sys.modules["bothworlds.simulation.job"], "BLOCK", 20)

    class Bad(en.PythonEnvironment):
        n_arms = 3

        def losses(self, random, start, stop):
            return np.full((stop - start, 3), 0.5) if start < 20 else answer(stop - start)

    with pytest.raises(InvalidArgumentError, match=message):
        bw.simulate(POLICY, Bad(), horizon=60, replications=3)


def test_a_python_world_may_draw_in_any_way_whatever_the_block():
    class Twice(en.PythonEnvironment):
        n_arms = 2

        def losses(self, random, start, stop):
            return (random.random((stop - start, 2)) + random.random((stop - start, 2))) / 2

    runs = [bw.simulate(POLICY, Twice(), horizon=50, seed=1, block=block) for block in (None, 7, 50)]
    assert all(np.array_equal(run.measured, runs[0].measured) for run in runs)


def test_an_error_of_the_users_own_comes_through():
    class Broken(en.PythonEnvironment):
        n_arms = 2

        def losses(self, random, start, stop):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        bw.simulate(POLICY, Broken(), horizon=30, replications=5)


def test_a_python_world_without_a_number_of_arms():
    class Vague(en.PythonEnvironment):
        def losses(self, random, start, stop):
            return random.random((stop - start, 2))

    with pytest.raises(
        InvalidArgumentError, match=r"environment must be .* with n_arms, got Vague\(\); set it"
    ):
        bw.simulate(POLICY, Vague(), horizon=10)
