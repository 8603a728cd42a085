"""Files that are too large, not TOML, not there, or name data that is bad."""

# ruff: noqa: E501 - messages are compared whole

from __future__ import annotations

import time

import pytest

from bothworlds.errors import SpecError
from bothworlds.experiments.spec import parse, read
from toml import study

FTRL = {"kind": "ftrl", "regularizer": "tsallis", "beta": 0.3, "constants": "light"}
BASE = {"kind": "bernoulli", "n_arms": 4, "gap": 0.2}


def mistakes(text, **options):
    with pytest.raises(SpecError) as caught:
        parse(text, source="study.toml", **options)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_sweep_of_a_billion_cells_is_counted_not_made():
    many = [round(0.001 * i, 3) for i in range(1, 1001)]
    wide = FTRL | {"beta": [*many[:999], 0.9995]}
    started = time.perf_counter()
    found = mistakes(
        study(policy=wide, environment=BASE | {"gap": many}, horizon=list(range(1001, 2001)), sede=1)
    )
    assert time.perf_counter() - started < 2.0
    assert found[0] == (
        "the sweeps make 1,000,000,000 cells (1,000 policies × 1,000 environments × 1,000 horizons), about "
        "10 days of one processor core and up to 8 TB on disk; at most 100,000 are allowed: "
        "shorten the lists, or split the study into several files"
    )
    assert found[1].startswith("line 3, sede: unknown key 'sede'; did you mean 'seed'?")
    worse = FTRL | {name: [1 + 0.001 * i for i in range(1000)] for name in ("theta", "log_barrier")}
    nested = {"kind": "corrupted", "base": BASE | {"gap": many, "level": many}, "budget": many}
    assert (
        "the sweeps make 1,000,000,000,000,000 cells" in mistakes(study(policy=worse, environment=nested))[0]
    )
    assert mistakes(study(replications=10**9)) == [
        "the study would store 100,000,000,000 points of 1 cell, about 3.5 days of one processor core and up to "
        "4 TB on disk; at most 1,000,000,000 points can be stored: take fewer replications or checkpoints"
    ]


def test_malformed_files_show_the_line(tmp_path):
    assert mistakes("seed = 1\nhorizon = 10 000\n") == [
        "line 2: not valid TOML: Expected newline or end of document after a statement\n  2 | horizon = 10 000\n    |              ^"
    ]
    assert mistakes("seed = 1\nbeta = [0.3, 0.5\n\n") == [
        "line 2: not valid TOML: Unclosed array\n  2 | beta = [0.3, 0.5\n    |                 ^"
    ]
    assert mistakes("\tseed == 1") == [
        "line 1: not valid TOML: Invalid value\n  1 |  seed == 1\n    |        ^"
    ]
    with pytest.raises(
        SpecError, match=r"study.toml has a mistake:\n  line 2: not valid TOML: Cannot overwrite a value"
    ):
        parse("a = 1\na = 2", source="study.toml")
    (tmp_path / "latin.toml").write_bytes("seed = 1\ntitle = 'Größe'\n".encode("latin-1"))
    with pytest.raises(
        SpecError, match=r"latin.toml has a mistake:\n  line 2: not valid TOML: it must be encoded in UTF-8"
    ):
        read(tmp_path / "latin.toml")
    with pytest.raises(
        SpecError, match=r"nix.toml has a mistake:\n  it cannot be read: No such file or directory"
    ):
        read(tmp_path / "nix.toml")
    with pytest.raises(SpecError, match=r"it cannot be read: Is a directory"):
        read(tmp_path)


def test_bad_data_files(tmp_path):
    (tmp_path / "table.csv").write_text("0,1\n1,2\n")
    (tmp_path / "log.csv").write_text("action,reward\n0,1\n")
    (tmp_path / "broken.csv").write_text("action,reward,propensity\n0,1,0.5\n1.5,1,0.5\n")
    (tmp_path / "short.csv").write_text("action,reward,propensity\n0,1\n")
    kinds = {"table": "loss-table", "log": "logged", "broken": "logged", "short": "logged"}
    worlds = [{"kind": kind, "path": f"{name}.csv"} for name, kind in kinds.items()]
    assert mistakes(study(environment=worlds), folder=tmp_path) == [
        "line 7, environment[0].path: path must be a file of losses in [0, 1], "
        f"got 2 in line 2, column number 2 of {tmp_path}/table.csv; "
        "rescale losses to [0, 1] (reward r is loss 1 − r)",
        "line 10, environment[1].path: path must be a file with the columns action, reward, propensity, "
        f"got {tmp_path}/log.csv with action, reward; missing: propensity",
        f"line 13, environment[2].path: action must be an arm 0, 1, …, got '1.5' in line 3 of {tmp_path}/broken.csv",
        f"line 16, environment[3].path: propensity must be a number, got None in line 2 of {tmp_path}/short.csv",
    ]
