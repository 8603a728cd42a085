"""Every mistake of a file, in words: all at once, with line, place, value, what is allowed and the fix."""

# ruff: noqa: E501 - messages are compared whole

from __future__ import annotations

import pickle
import time

import pytest

from bothworlds.errors import InvalidArgumentError, Mistake, SpecError
from bothworlds.experiments.spec import parse, read
from bothworlds.experiments.spec.variants import fill_template
from toml import study

FTRL = {"kind": "ftrl", "regularizer": "tsallis", "beta": 0.3, "constants": "light"}
BASE = {"kind": "bernoulli", "n_arms": 4, "gap": 0.2}
TOP = "title, description, horizon, replications, seed, checkpoints, record, evidence, tell_horizon, modules, policy, environment"
TAKES = "ftrl takes: regularizer, constants, log_barrier, theta, alpha, rates, estimator, predictions"
REGULARIZERS = (
    "Known: centered-tsallis, complement-barrier, complement-tsallis, hybrid, log-barrier, shannon, tsallis"
)


def mistakes(text, **options):
    with pytest.raises(SpecError) as caught:
        parse(text, source="study.toml", **options)
    return [str(mistake) for mistake in caught.value.mistakes]


def policy(**changes):
    return study(policy={key: value for key, value in (FTRL | changes).items() if value is not None})


def world(**changes):
    return study(environment=BASE | changes)


# study() writes: 1 horizon, 2 replications, (3 …: other settings), [[policy]] and its keys, [[environment]] …
CASES = {
    "missing setting at the top": (
        "replications = 1\n[[policy]]\nkind = 'ucb1'\n[[environment]]\nkind = 'minimax'\nn_arms = 2",
        ["horizon: horizon is missing: for example horizon = 10_000"],
    ),
    "no policy": (
        "horizon = 9\nreplications = 1\n[[environment]]\nkind = 'minimax'\nn_arms = 2",
        ['policy: policy is missing: for example [[policy]] with kind = "light-barrier"'],
    ),
    "no environment": (
        "horizon = 9\nreplications = 1\nenvironment = []\n[[policy]]\nkind = 'ucb1'",
        [
            "line 3, environment: environment must not be empty: write at least one "
            '[[environment]] with kind = "bernoulli", n_arms = 8 and gap = 0.2'
        ],
    ),
    "single brackets": (
        "horizon = 9\nreplications = 1\n[policy]\nkind = 'ucb1'\n[[environment]]\nkind = 'minimax'\nn_arms = 2",
        ["line 3, policy: policy must be a list of tables: begin each of them with a line [[policy]]"],
    ),
    "tables that are none": (
        "horizon = 9\nreplications = 1\npolicy = [3]\n[[environment]]\nkind = 'minimax'\nn_arms = 2",
        ["line 3, policy[0]: policy must be a dictionary, got 3"],
    ),
    "unknown setting at the top": (
        study(replication=3),
        [
            f"line 3, replication: unknown key 'replication'; did you mean 'replications'? Known at the top of a file: {TOP}"
        ],
    ),
    "a float for a count": (
        study(horizon=1e5),
        ["line 1, horizon: horizon must be an integer, got 100000.0; write 100000"],
    ),
    "text for a count": (
        study(replications="many"),
        ["line 2, replications: replications must be an integer, got 'many'"],
    ),
    "too small": (
        study(replications=0),
        ["line 2, replications: replications must be greater than or equal to 1, got 0"],
    ),
    "negative seed": (study(seed=-1), ["line 3, seed: seed must be greater than or equal to 0, got -1"]),
    "one bad horizon of several": (
        study(horizon=[10, 0]),
        ["line 1, horizon[1]: horizon must be greater than or equal to 1, got 0"],
    ),
    "the same horizon twice": (
        study(horizon=[10, 10]),
        ["line 1, horizon[1]: horizon must hold distinct numbers, got 10 twice"],
    ),
    "no horizon in the list": (
        study(horizon=[]),
        ["line 1, horizon: horizon must not be empty: write at least one horizon = 10_000"],
    ),
    "checkpoints that turn back": (
        study(checkpoints=[5, 3]),
        ["line 3, checkpoints: checkpoints must be increasing rounds, got [5, 3]"],
    ),
    "checkpoints beyond the end": (
        study(checkpoints=[5, 2000]),
        ["line 3, checkpoints[1]: checkpoints must be rounds up to the longest horizon, 1000, got 2000"],
    ),
    "unknown record": (
        study(record=["regrets"]),
        [
            "line 3, record[0]: record must be 'regret' or 'probabilities', got 'regrets'; did you mean 'regret'?"
        ],
    ),
    "a truth that is none": (
        study(tell_horizon=1),
        ["line 3, tell_horizon: tell_horizon must be a boolean, got 1"],
    ),
    "unknown policy": (policy(kind="ftlr"), None),
    "a kind that is no name": (study(environment={"kind": 3}), None),
    "no kind": (study(environment={"n_arms": 3}), None),
    "unknown regularizer": (
        policy(regularizer="tsalis"),
        [
            f"line 5, policy[0].regularizer: no regularizer is called 'tsalis'; did you mean 'tsallis'? {REGULARIZERS}"
        ],
    ),
    "unknown regularizer of several": (
        policy(regularizer=["shannon", "tsalis"]),
        [
            f"line 5, policy[0].regularizer[1]: no regularizer is called 'tsalis'; did you mean 'tsallis'? {REGULARIZERS}"
        ],
    ),
    "a number for a part": (
        policy(regularizer=3, beta=None),
        [
            "line 5, policy[0].regularizer: regularizer must be the name of a regularizer or a table with a kind, got 3"
        ],
    ),
    "unknown choice": (
        policy(constants="ligth"),
        [
            "line 7, policy[0].constants: constants must be 'paper', 'printed' or 'light', got 'ligth'; did you mean 'light'?"
        ],
    ),
    "unknown key": (
        policy(log_barier=3),
        [f"line 8, policy[0].log_barier: unknown key 'log_barier'; did you mean 'log_barrier'? {TAKES}"],
    ),
    "unknown key of a part": (
        policy(bet=3),
        [f"line 8, policy[0].bet: unknown key 'bet'; did you mean 'beta'? {TAKES}"],
    ),
    "nothing like it": (policy(color=3), [f"line 8, policy[0].color: unknown key 'color'. {TAKES}"]),
    "a kind without settings": (
        study(policy={"kind": "exp3", "gamma": 3}),
        ["line 5, policy[0].gamma: unknown key 'gamma'. exp3 has no settings"],
    ),
    "a setting of another part": (
        policy(kappa=3),
        [f"line 8, policy[0].kappa: kappa is a setting of estimator = 'capped-baseline'. {TAKES}"],
    ),
    "a setting of the top": (
        policy(seed=3),
        [f"line 8, policy[0].seed: seed belongs to the top of the file, before the first [[...]]. {TAKES}"],
    ),
    "missing setting of a part": (
        policy(beta=None),
        ["line 3, policy[0].beta: beta is missing: tsallis needs it"],
    ),
    "missing part": (
        policy(regularizer=None, beta=None),
        ["line 3, policy[0].regularizer: regularizer is missing: ftrl needs it"],
    ),
    "text for a number": (policy(beta="high"), ["line 6, policy[0].beta: beta must be a number, got 'high'"]),
    "a truth for a number": (policy(beta=True), ["line 6, policy[0].beta: beta must be a number, got True"]),
    "text in a sweep": (
        policy(beta=[0.3, "high"]),
        ["line 6, policy[0].beta[1]: beta must be a number, got 'high'"],
    ),
    "an empty sweep": (
        policy(beta=[]),
        ["line 6, policy[0].beta: beta must not be empty: give at least one value"],
    ),
    "a number that is none": (
        "horizon = 9\nreplications = 1\n[[policy]]\nkind = 'ucb1'\nalpha = nan\n[[environment]]\nkind = 'minimax'\nn_arms = 2",
        ["line 5, policy[0].alpha: alpha must be a finite number, got nan"],
    ),
    "out of range": (
        policy(theta=-1),
        ["line 8, policy[0].theta: theta must be a finite number above 0, got -1.0"],
    ),
    "out of range in a sweep": (
        policy(theta=[1, -1, 2], log_barrier=[1, 2]),
        ["line 8, policy[0].theta[1]: theta must be a finite number above 0, got -1.0"],
    ),
    "out of range in a list": (
        study(environment={"kind": "bernoulli", "means": [0.5, 1.5]}),
        ["line 7, environment[0].means[1]: means[1] must be finite and at least 0 and at most 1, got 1.5"],
    ),
    "out of range in a sweep of lists": (
        study(environment={"kind": "bernoulli", "means": [[0.5, 0.2], [0.5, 1.5]]}),
        ["line 7, environment[0].means[1][1]: means[1] must be finite and at least 0 and at most 1, got 1.5"],
    ),
    "settings that do not go together": (
        world(optimal=[1, 5], n_arms=[4, 8]),
        ["line 9, environment[0].optimal[1]: optimal must be at most the number of arms, 4, got 5"],
    ),
    "settings that do not go with a sweep": (
        world(optimal=5, n_arms=[4, 8]),
        [
            "line 9, environment[0].optimal: optimal must be at most the number of arms, 4, got 5 (where n_arms = 4)"
        ],
    ),
    "nothing of two": (
        study(environment={"kind": "bernoulli", "n_arms": 3}),
        [
            "line 5, environment[0]: means must be given, or n_arms and gap, and not both, got Bernoulli(n_arms=3)"
        ],
    ),
    "wrong base": (
        study(
            environment={
                "kind": "corrupted",
                "budget": 5,
                "base": {"kind": "switching", "n_arms": 3, "gap": 0.1},
            }
        ),
        [
            "line 8, environment[0].base: base must be an environment with fixed gaps, got Switching(n_arms=3, gap=0.1)"
        ],
    ),
    "inside a base": (
        study(environment={"kind": "corrupted", "budget": 5, "base": BASE | {"gap": [0.1, 2]}}),
        ["line 8, environment[0].base.gap[1]: gap must be a finite number above 0 and at most 1, got 2.0"],
    ),
    "twice the same": (
        study(policy=[{"kind": "ucb1"}, {"kind": "ucb1", "alpha": 2.0}]),
        ["line 5, policy[1]: 'UCB1' is here twice, see policy[0]: remove one of them"],
    ),
    "twice the same in a sweep": (
        policy(beta=[0.3, 0.3]),
        ["line 3, policy[0]: 'FTRL Tsallis β=0.3 light' is here twice, see policy[0]: remove one of them"],
    ),
    "twice the same label": (
        study(policy=[{"kind": "ucb1", "label": "x"}, {"kind": "exp3", "label": "x"}]),
        ["line 8, policy[1].label: label must be unique, got 'x', which policy[0] has too"],
    ),
    "an empty label": (
        study(policy={"kind": "ucb1", "label": ""}),
        ["line 5, policy[0].label: label must not be empty: give at least one value"],
    ),
    "several kinds": (
        study(policy={"kind": ["ucb1", "exp3"]}),
        ["line 4, policy[0].kind: kind must be one name, got ['ucb1', 'exp3']; write a table for each"],
    ),
    "a horizon beyond all integers": (
        study().replace("horizon = ", "horizon = 1000000000000000000000"),
        None,
    ),
    "no data": (
        study(environment={"kind": "loss-table"}),
        ["line 5, environment[0]: path must be given for loss-table, or losses, but not both, got neither"],
    ),
    "too much data": (
        study(environment={"kind": "loss-table", "path": "x.csv", "losses": [[1]]}),
        [
            "line 7, environment[0].path: path must be given for loss-table, or losses, but not both, got losses, path"
        ],
    ),
    "a path where data should be": (
        study(environment={"kind": "loss-table", "losses": "x.csv"}),
        [
            "line 7, environment[0].losses: losses must be written out here, got 'x.csv'; a file is named by path = ..."
        ],
    ),
    "half a log": (
        study(environment={"kind": "logged", "actions": [0]}),
        [
            "line 5, environment[0]: path must be given for logged, or actions and propensities and rewards, but not both, got actions"
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mistake(name):
    text, expected = CASES[name]
    found = mistakes(text)
    if expected is not None:
        assert found == expected
    assert len(found) == 1


def test_unknown_kinds():
    (text,) = mistakes(policy(kind="ftlr"))
    assert text.startswith(
        "line 4, policy[0].kind: no policy is called 'ftlr'; did you mean 'ftrl'? Known: ada-hedge, avner"
    )
    (text,) = mistakes(policy(kind="boltzmann"))
    assert text.endswith('. One of your own needs its file at the top: modules = ["its_file.py"]')
    (text,) = mistakes(study(environment={"kind": 3}))
    assert text.startswith(
        "line 6, environment[0].kind: no environment is called 3. Known: alternating, bernoulli, beta"
    )
    (text,) = mistakes(study(environment={"n_arms": 3}))
    assert text.startswith(
        "line 5, environment[0]: kind is missing: it names the environment. Known: alternating, bernoulli,"
    )
    (text,) = mistakes(study(policy={"kind": "ucb1", "label": ""}))
    assert text.startswith("line 5, policy[0].label: label ")


def test_all_mistakes_at_once_in_the_order_of_the_file():
    oracle = {"kind": "tsallis-inf-oracle", "gaps": [0.0, 0.1], "alpha": 0.5}
    tables = [FTRL | {"beta": 1.5}, FTRL | {"constants": "lite"}, {"kind": "ucb"}, oracle]
    worlds = [BASE | {"gap": -1}, {"kind": "loss-table", "path": "nix.csv"}, {"kind": "minimax", "n_arms": 4}]
    found = mistakes(study(policy=tables, environment=worlds, horizon=3, tell_horizon="no", sed=1))
    assert [text.partition(": ")[0] for text in found] == [
        "line 3, tell_horizon",
        "line 4, sed",
        "line 8, policy[0].beta",
        "line 14, policy[1].constants",
        "line 16, policy[2].kind",
        "line 17, policy[3]",  # two gaps, four arms
        "line 24, environment[0].gap",
        "line 27, environment[1].path",
    ]
    with pytest.raises(
        SpecError, match=r"^study.toml has 8 mistakes:\n  line 3, tell_horizon: tell_horizon must"
    ) as e:
        parse(
            study(policy=tables, environment=worlds, horizon=3, tell_horizon="no", sed=1), source="study.toml"
        )
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
    assert isinstance(e.value.mistakes[0], Mistake)


def test_all_mistakes_of_one_table_too():
    table = FTRL | {"beta": [0.2, 1.5], "constants": "lite", "theta": -1, "alpha": [2, 0.5], "kappa": 1}
    found = mistakes(study(policy=table))
    assert [text.partition(":")[0] for text in found] == [
        "line 6, policy[0].beta[1]",
        "line 7, policy[0].constants",
        "line 8, policy[0].theta",
        "line 9, policy[0].alpha[0]",
        "line 10, policy[0].kappa",
    ]
    table = {"kind": "corrupted", "budget": -1, "strategy": "front", "base": BASE | {"gap": 3}}
    assert [text.partition(":")[0] for text in mistakes(study(environment=table))] == [
        "line 7, environment[0].budget",
        "line 9, environment[0].base.gap",
    ]
    # what follows from a mistake is not one of its own
    inside = {"kind": "corrupted", "budget": 5, "strategy": "inside", "base": BASE | {"optimal": "two"}}
    assert mistakes(study(environment=inside)) == [
        "line 9, environment[0].base.optimal: optimal must be an integer, got 'two'"
    ]
    assert len(mistakes(policy(regularizer=[{"kind": "tsalis"}, {"kind": "tsallis"}], beta=None))) == 2


def test_combinations_that_do_not_fit():
    worlds = [BASE | {"n_arms": [4, 8]}, {"kind": "minimax", "n_arms": 3}]
    oracle = {"kind": "tsallis-inf-oracle", "gaps": [0, 0.1, 0.2], "alpha": 0.5}
    found = mistakes(study(policy=[oracle, {"kind": "inf"}], environment=worlds, tell_horizon=False))
    assert found[0].startswith(
        "line 4, policy[0]: 'TsallisINFOracle gaps=0,0.1,0.2 α=0.5' cannot play in "
        "'Bernoulli K=4 Δ=0.2' (environment[0]) with horizon 1000: gaps must"
    )
    assert found[1] == (
        "line 8, policy[1]: 'INF' cannot play in 'Bernoulli K=4 Δ=0.2' (environment[0]) with horizon 1000: "
        "horizon must be given for INF, which is tuned to it, got None; give horizon=T, or use TsallisINF(), which needs none"
    )
    assert len(found) == 3  # one per pair of tables that do not fit
    log = {"kind": "logged", "actions": [0, 1], "rewards": [0, 1], "propensities": [0.5, 0.5]}
    for environment in (log, {"kind": "delayed", "mean": 2, "base": log}):
        found = mistakes(study(policy={"kind": "avner"}, environment=environment, horizon=2))
        assert "Logged data shows no other, got Avner()" in found[0]
    table = {"kind": "loss-table", "losses": [[0, 1], [1, 0]]}
    assert mistakes(study(environment=table, horizon=[2, 3, 4])) == [
        f"line 5, environment[0]: 'LossTable losses=[2]' cannot be played for horizon {horizon}: "
        f"horizon must be at most the 2 rows of the table, got {horizon}"
        for horizon in (3, 4)
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_environments_of_one_class_are_tried_by_what_they_ask_of_a_policy(order):
    graphs = [
        {"kind": "feedback-graph", "base": BASE, "shows": shows} for shows in ("all", [[1], [0], [3], [2]])
    ]
    found = mistakes(study(policy={"kind": "ucb1"}, environment=[graphs[i] for i in order]))
    assert len(found) == 1
    assert f"(environment[{order.index(1)}])" in found[0]
    assert "shows must be such that each arm shows itself" in found[0]
    twice = mistakes(
        study(policy={"kind": "ucb1"}, environment=[graphs[1], graphs[1] | {"base": BASE | {"gap": 0.3}}])
    )
    assert [f"(environment[{k}])" in text for k, text in enumerate(twice)] == [True, True]


def test_settings_beside_a_part_that_the_table_around_it_takes():
    settings = {"kind": "ftrl", "regularizer": "shannon", "theta": 1.0}
    beside = "what stands beside rates belongs to the table around it; write rates ="
    assert mistakes(study(policy=settings | {"rates": "root-rate"})) == [
        f'line 7, policy[0].rates: root-rate needs its own theta: {beside} {{ kind = "root-rate", theta = 1.0 }}'
    ]
    assert mistakes(study(policy=settings | {"rates": "paper-rates", "alpha": 0.5})) == [
        f"line 7, policy[0].rates: paper-rates needs its own theta and alpha: {beside} "
        '{ kind = "paper-rates", theta = 1.0, alpha = 0.5 }'
    ]
    assert mistakes(study(policy=settings | {"rates": "paper-rates"})) == [
        "line 3, policy[0].alpha: alpha is missing: paper-rates needs it",
        f'line 7, policy[0].rates: paper-rates needs its own theta: {beside} {{ kind = "paper-rates", theta = 1.0 }}',
    ]
    told = study(
        policy={"kind": "ftrl", "regularizer": "shannon", "rates": {"kind": "root-rate", "theta": 1.0}}
    )
    assert len(parse(told).policies) == 1


def test_a_bad_label_is_one_mistake_among_others():
    text = """horizon = 100
replications = 2
[[policy]]
kind = "ucb2"
[[policy]]
kind = "ftrl"
regularizer = "tsallis"
beta = [0.3, 0.5]
constants = "light"
label = "β={beta:nothing}"
[[environment]]
label = "{gap} {foo}"
kind = "bernoulli"
n_arms = 4
gap = [0.1, 0.2]
[[environment]]
kind = "bernoulli"
n_arms = 4
gap = 0.3
label = "{}"
"""
    kind, spec, label, positional = mistakes(text)
    assert kind.startswith("line 4, policy[0].kind: no policy is called 'ucb2'")
    assert spec.startswith("line 10, policy[1].label: ")
    assert label == (
        "line 12, environment[0].label: label must be a template of settings in braces, "
        "got '{gap} {foo}': unknown 'foo'; the settings of Bernoulli are kind, n_arms, gap"
    )
    assert positional.startswith("line 20, environment[1].label: ")
    with pytest.raises(InvalidArgumentError, match="unknown 'bta'; did you mean 'beta'"):
        fill_template("{bta}", {"kind": "tsallis", "beta": 0.3}, "Tsallis")


# --- files that are too large, not TOML, not there, or name data that is bad ------------------------------


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
