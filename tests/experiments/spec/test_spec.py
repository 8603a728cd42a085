"""What experiment files mean: every kind, sweeps, labels, checkpoints, fingerprints."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bothworlds as bw
from bothworlds import environments, policies
from bothworlds.environments import LossTable
from bothworlds.errors import InvalidArgumentError
from bothworlds.experiments import experiment
from bothworlds.experiments.spec import parse, read
from bothworlds.experiments.spec.variants import count_variants, expand_sweeps
from bothworlds.simulation.run import default_checkpoints
from cases import CASES
from toml import study
from worlds import WORLDS

FTRL = {"kind": "ftrl", "regularizer": "tsallis", "beta": [0.3, 0.5], "constants": "light"}
BASE = {"kind": "bernoulli", "n_arms": 4, "gap": 0.2}


def labels(text, family="policies"):
    return [entry.label for entry in getattr(parse(text), family)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.policy))
def test_every_policy_goes_through_a_file(case):
    table = policies.to_dict(case.policy)
    (entry,) = parse(study(policy=table)).policies
    assert entry.build() == case.policy
    assert entry.settings == table
    assert entry.kind == table["kind"]
    assert entry.swept == {}
    assert len(entry.label) <= 60


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: repr(world.environment))
def test_every_environment_goes_through_a_file(world):
    table = environments.to_dict(world.environment)
    (entry,) = parse(study(environment=table, horizon=100)).environments
    assert environments.to_dict(entry.build()) == table == entry.settings
    assert environments.to_dict(environments.from_dict(json.loads(json.dumps(table)))) == table


def test_the_file_of_the_design():
    text = """
title = "Log-barrier against the world"
horizon = 100_000
replications = 64
seed = 1

[[policy]]
kind = "ftrl"
regularizer = "tsallis"
beta = [0.3, 0.5, 0.7]          # a list is a sweep
constants = "light"

[[policy]]
kind = "light-barrier"

[[environment]]
kind = "bernoulli"
n_arms = 8
gap = 0.125
optimal = [1, 4]
"""
    study = parse(text)
    assert study.title == "Log-barrier against the world"
    assert (study.horizons, study.replications, study.seed) == ((100_000,), 64, 1)
    assert (study.checkpoints, study.record, study.tell_horizon) == (None, ("regret", "probabilities"), True)
    assert [entry.label for entry in study.policies] == [
        "FTRL Tsallis β=0.3 light",
        "FTRL Tsallis β=0.5 light",
        "FTRL Tsallis β=0.7 light",
        "LightBarrier",
    ]
    assert [entry.label for entry in study.environments] == [
        "Bernoulli K=8 Δ=0.125 optimal=1",
        "Bernoulli K=8 Δ=0.125 optimal=4",
    ]
    assert [entry.swept for entry in study.policies] == [{"beta": 0.3}, {"beta": 0.5}, {"beta": 0.7}, {}]
    assert study.policies[1].build() == bw.FTRL(bw.Tsallis(beta=0.5), constants="light")
    assert study.environments[1].build() == bw.environments.Bernoulli(n_arms=8, gap=0.125, optimal=4)
    assert study.text == text
    assert pickle.loads(pickle.dumps(study)) == study


def test_cells_are_numbered_by_environment_then_horizon_then_policy():
    cells = parse(study(policy=FTRL, environment=BASE | {"gap": [0.1, 0.2, 0.3]}, horizon=[10, 20])).cells()
    assert [cell.number for cell in cells] == list(range(12))
    assert [(cell.environment, cell.horizon, cell.policy) for cell in cells] == sorted(
        (environment, horizon, policy)
        for environment in range(3)
        for horizon in (10, 20)
        for policy in range(2)
    )


def test_parts_by_name_or_as_tables_mean_the_same():
    beside = FTRL | {"beta": 0.4, "estimator": "capped-baseline", "kappa": 0.25}
    tables = FTRL | {
        "regularizer": {"kind": "tsallis", "beta": 0.4},
        "estimator": {"kind": "capped-baseline", "kappa": 0.25},
    }
    del tables["beta"]
    assert parse(study(policy=beside)).fingerprint() == parse(study(policy=tables)).fingerprint()
    nested = {"kind": "corrupted", "budget": 5, "base": BASE}
    flat = {"kind": "corrupted", "budget": 5, "base": "bernoulli", "n_arms": 4, "gap": 0.2}
    assert parse(study(environment=nested)).fingerprint() == parse(study(environment=flat)).fingerprint()


def test_a_key_of_the_policy_is_not_taken_for_one_of_its_part():
    table = {"kind": "ftrl", "regularizer": {"kind": "centered-tsallis", "alpha": 0.3}}
    (entry,) = parse(study(policy=table | {"alpha": 0.5, "theta": 1, "log_barrier": 0})).policies
    policy = bw.FTRL(bw.regularizers.CenteredTsallis(alpha=0.3), alpha=0.5, theta=1.0, log_barrier=0.0)
    assert entry.build() == policy


def test_sweeps_of_everything():
    tables = [
        FTRL | {"theta": [1, 2], "label": "mine"},
        {"kind": "ftrl", "constants": ["paper", "light"], "regularizer": ["shannon", "tsallis"], "beta": 0.5},
        {"kind": "broad-omd", "anytime": [True, False]},
        {"kind": "tsallis-inf-oracle", "gaps": [[0, 0.1, 0.2, 0.3], [0, 0.5, 0.5, 0.5]], "alpha": 0.5},
    ]
    assert labels(study(policy=tables)) == [
        "mine β=0.3 θ=1",
        "mine β=0.3 θ=2",
        "mine β=0.5 θ=1",
        "mine β=0.5 θ=2",
        "FTRL Shannon paper",
        "FTRL Shannon light",
        "FTRL Tsallis β=0.5 paper",
        "FTRL Tsallis β=0.5 light",
        "BroadOMD anytime",
        "BroadOMD no anytime",
        "TsallisINFOracle gaps=0,0.1,0.2,0.3 α=0.5",
        "TsallisINFOracle gaps=0,0.5,0.5,0.5 α=0.5",
    ]
    worlds = {"kind": "delayed", "law": "geometric", "mean": [1, 2.5]}
    base = {"kind": "corrupted", "budget": 10, "base": BASE | {"gap": [0.1, 0.2], "label": "easy"}}
    swept = [entry.swept for entry in parse(study(environment=worlds | {"base": base})).environments]
    assert swept == [{"base.base.gap": gap, "mean": mean} for gap in (0.1, 0.2) for mean in (1.0, 2.5)]
    several = worlds | {"mean": 3, "base": [base, "minimax", BASE], "n_arms": 4}
    found = parse(study(environment=several)).environments
    assert [entry.label for entry in found] == [
        "Delayed Corrupted easy Δ=0.1 budget=10 mean=3 geometric",
        "Delayed Corrupted easy Δ=0.2 budget=10 mean=3 geometric",
        "Delayed Minimax K=4 mean=3 geometric",
        "Delayed Bernoulli K=4 Δ=0.2 mean=3 geometric",
    ]
    assert found[2].swept == {"base": "Minimax K=4"}
    assert found[1].swept == {"base": "Corrupted easy budget=10", "base.base.gap": 0.2}


def test_labels_are_unique():
    long = [{"kind": "bernoulli", "means": [0.5, 0.5, 0.5, 0.5, mean]} for mean in (0.1, 0.2, 0.3)]
    assert labels(study(environment=long), "environments") == [
        "Bernoulli means=[5]",
        "Bernoulli means=[5] #2",
        "Bernoulli means=[5] #3",
    ]
    close = {"kind": "ucb1", "alpha": [1.0, 1.00000001], "label": "mine"}
    assert labels(study(policy=close)) == ["mine α=1", "mine α=1 #2"]


numbers = st.lists(st.floats(0.1, 0.4), min_size=1, max_size=4, unique=True)


@settings(deadline=None, max_examples=40)
@given(st.fixed_dictionaries({"gap": numbers, "level": numbers}), numbers)
def test_the_count_of_a_sweep_is_the_number_of_its_variants(base, budgets):
    table = {"kind": "corrupted", "budget": budgets, "base": [{**BASE, **base}, BASE]}
    variants = list(expand_sweeps(table, "environment"))
    assert len(variants) == count_variants(table, "environment")
    assert len({json.dumps(variant.table) for variant in variants}) == len(variants)
    for variant in variants:  # every choice is the item that it says it is
        for names, value in variant.swept.items():
            item = table
            for step in variant.location(names):
                item = item[step]
            assert item == value or isinstance(value, dict)


def test_checkpoints():
    default = parse(study(horizon=5000))
    assert np.array_equal(default.marks(5000), default_checkpoints(5000))
    few = parse(study(horizon=5000, checkpoints=4))
    assert few.marks(5000).tolist() == [1, 17, 292, 5000]
    assert parse(study(checkpoints=1)).marks(1000).tolist() == [1000]
    given_rounds = parse(study(horizon=[100, 1000], checkpoints=[10, 100, 500]))
    assert given_rounds.marks(100).tolist() == [10, 100]
    assert given_rounds.marks(1000).tolist() == [10, 100, 500, 1000]
    assert given_rounds.marks(1000).dtype == np.int64


def test_what_is_recorded():
    assert parse(study(record=["probabilities"])).record == ("regret", "probabilities")
    assert parse(study(record=["regret"])).record == ("regret",)
    assert parse(study(record=[])).record == ("regret",)


def test_the_fingerprint_covers_what_decides_numbers_and_nothing_else():
    first = parse(study())
    same = [
        study(title="Another", description="words"),
        study(policy={"kind": "tsallis-inf", "label": "mine"}),
        study(policy={"kind": "tsallis-inf", "estimator": "iw"}),  # its default
        study(policy={"kind": "tsallis-inf", "estimator": ["iw"]}),
        study(seed=0, checkpoints=100, tell_horizon=True, record=["probabilities", "regret"]),
        "# a comment\n" + study(),
        study(environment={"gap": 0.2, "n_arms": 4, "kind": "bernoulli", "level": 0.5}),
    ]
    assert {parse(text).fingerprint() for text in same} == {first.fingerprint()}
    other = [
        study(seed=1),
        study(replications=3),
        study(horizon=1001),
        study(horizon=[1000, 1001]),
        study(checkpoints=99),
        study(record=["regret"]),
        study(tell_horizon=False),
        study(policy={"kind": "tsallis-inf", "estimator": "rv"}),
        study(policy=[{"kind": "tsallis-inf"}, {"kind": "ucb1"}]),
        study(policy=[{"kind": "ucb1"}, {"kind": "tsallis-inf"}]),
        study(environment=BASE | {"gap": 0.21}),
    ]
    assert len({parse(text).fingerprint() for text in other} | {first.fingerprint()}) == len(other) + 1
    assert json.loads(json.dumps(first.meaning())) == first.meaning()
    assert len(first.fingerprint()) == 64


def test_data_files(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "losses.csv"
    file.write_text("a,b\n0,1\n1,0\n0.5,0.25\n")
    (tmp_path / "log.csv").write_text("action,reward,propensity,user\n0,1,0.5,x\n1,0,0.5,y\n0,0,0.5,z\n")
    tables = [
        {"kind": "loss-table", "path": "data/losses.csv"},
        {"kind": "logged", "path": "log.csv"},
        {"kind": "delayed", "mean": 1, "base": {"kind": "loss-table", "path": "data/losses.csv"}},
    ]
    (tmp_path / "study.toml").write_text(study(environment=tables, horizon=3))
    found = read(tmp_path / "study.toml")
    assert found.title == "study"
    assert [entry.label for entry in found.environments] == [
        "LossTable losses.csv",
        "Logged log.csv",
        "Delayed LossTable losses.csv mean=1",
    ]
    table, log, delayed = [entry.build() for entry in found.environments]
    assert np.array_equal(table.losses, [[0, 1], [1, 0], [0.5, 0.25]])
    assert np.array_equal(table.losses, delayed.base.losses)
    assert log.rewards.tolist() == [1.0, 0.0, 0.0]
    settings = found.environments[0].settings
    assert settings == {"kind": "loss-table", "path": str(file), "sha256": settings["sha256"]}
    assert found.environments[1].settings["n_arms"] == 2
    assert str(tmp_path) not in json.dumps(found.meaning())  # the folder may move
    file.write_text("0,1\n1,0\n0.5,0.75\n")
    assert read(tmp_path / "study.toml").fingerprint() != found.fingerprint()
    experiment._build.cache_clear()  # as in another process
    with pytest.raises(
        InvalidArgumentError, match=r"not changed since the experiment was read .*, got \S+losses.csv"
    ):
        found.environments[0].build()


def test_parquet_files(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra 'parquet'")
    from pyarrow import parquet

    columns = {"action": [0, 1, 1], "reward": [0.5, 1.0, 0.0], "propensity": [0.5, 0.5, 0.5]}
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    text = study(environment={"kind": "logged", "path": "log.parquet", "n_arms": 2}, horizon=2)
    built = parse(text, folder=tmp_path).environments[0].build()
    assert environments.to_dict(built) == environments.to_dict(
        bw.environments.Logged(columns["action"], columns["reward"], columns["propensity"])
    )


def test_a_byte_order_mark_and_windows_line_ends(tmp_path):
    (tmp_path / "study.toml").write_bytes(
        b"\xef\xbb\xbf" + study(title="Größe").replace("\n", "\r\n").encode()
    )
    assert read(tmp_path / "study.toml").title == "Größe"


def test_a_table_written_into_the_file():
    (entry,) = parse(
        study(environment={"kind": "loss-table", "losses": [[0, 1], [1, 0]]}, horizon=2)
    ).environments
    assert isinstance(entry.build(), LossTable)
    assert entry.settings == {"kind": "loss-table", "losses": [[0.0, 1.0], [1.0, 0.0]]}
