"""Policies and environments from Python files and from installed packages."""

# ruff: noqa: E501 - messages are compared whole

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import bothworlds as bw
from bothworlds import environments, policies
from bothworlds._value import families
from bothworlds.errors import InvalidArgumentError, KernelError, SpecError
from bothworlds.experiments import modules
from bothworlds.experiments.modules import Module, kind_of
from bothworlds.experiments.spec import parse
from toml import study

MINE = """
from dataclasses import dataclass

import numpy as np

import bothworlds as bw


@dataclass(frozen=True, repr=False)
class Lazy(bw.Policy):
    \"\"\"Tsallis-INF with a rate of one's own.

    Parameters
    ----------
    theta:
        How lazy.
    \"\"\"

    theta: float = 1.0

    def parameters(self, n_arms, horizon):
        return bw.FTRL(bw.Tsallis(0.5), log_barrier=0, theta=self.theta, alpha=0.5).parameters(n_arms, horizon)


class Waves(bw.environments.PythonEnvironment):
    n_arms = 3

    def losses(self, random, start, stop):
        return 0.5 + 0.5 * np.sin(np.arange(start, stop)[:, None] / 100 + np.arange(3))


@dataclass(frozen=True, repr=False)
class Hidden(Lazy):
    pass


bw.policies.register("by-hand", Hidden)
"""
TEXT = study(
    modules=["mine.py"],
    policy=[{"kind": "lazy", "theta": [1, 2]}, {"kind": "by-hand"}],
    environment={"kind": "waves"},
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "mine.py").write_text(MINE)
    before = {family: dict(family.registry) for family in families()}
    yield tmp_path
    for family, known in before.items():  # other tests list what is known
        family.registry.clear()
        family.registry.update(known)


def complaint(text, folder):
    with pytest.raises(SpecError) as caught:
        parse(text, folder=folder)
    return str(caught.value.mistakes[0])


def test_a_file_brings_policies_and_environments(folder):
    found = parse(TEXT, folder=folder)
    assert [entry.label for entry in found.policies] == ["Lazy θ=1", "Lazy θ=2", "Hidden"]
    assert found.policies[1].build().theta == 2.0
    assert found.environments[0].build().n_arms == 3
    assert found.modules == (Module("mine", MINE),)
    assert found.meaning()["modules"] == {"mine": found.modules[0].sha256}
    built = found.policies[1].build()
    assert pickle.loads(pickle.dumps(built)) == built
    assert "hidden" not in policies.REGISTRY  # it has a name already


def test_the_copy_of_a_file_in_a_study_finds_the_modules_kept_there(folder):
    kept = folder / "out" / "modules"
    kept.mkdir(parents=True)
    (kept / "mine.py").write_text(MINE)
    assert "No such file" in complaint(TEXT, folder / "out")  # some folder
    (folder / "out" / "manifest.json").write_text("{}")
    assert parse(TEXT, folder=folder / "out").fingerprint() == parse(TEXT, folder=folder).fingerprint()


def test_an_edited_file_replaces_its_earlier_self(folder):
    first = parse(TEXT, folder=folder)
    old = first.policies[0].build()
    (folder / "mine.py").write_text(MINE.replace("theta: float = 1.0", "theta: float = 5.0"))
    second = parse(TEXT.replace("theta = [1, 2]\n", ""), folder=folder)
    assert second.policies[0].build().theta == 5.0
    assert second.fingerprint() != first.fingerprint()
    first.load_modules()  # and back
    assert type(first.policies[0].build()) is type(old)
    again = Module("mine", MINE.replace("theta: float = 1.0", "theta: float = oops"))
    with pytest.raises(NameError):
        modules.load_module(again)
    assert type(first.policies[0].build()) is type(old)  # what fails leaves everything as it was
    assert again.import_name not in sys.modules


PARTS = """
from dataclasses import dataclass

import bothworlds as bw

POWER = 0.5


@dataclass(frozen=True)
class Powered(bw.Regularizer, name="powered"):
    def parameters(self):
        return bw.Tsallis(POWER).parameters()


@dataclass(frozen=True)
class Steep(bw.rates.Rates, name="steep"):
    def parameters(self, n_arms, horizon):
        return bw.rates.RootRate(POWER).parameters(n_arms, horizon)


@dataclass(frozen=True)
class Plain(bw.estimators.Estimator):
    def parameters(self):
        return bw.estimators.ImplicitExploration(POWER).parameters()


@dataclass(frozen=True)
class Guess(bw.predictions.Predictions):
    def parameters(self):
        return bw.predictions.SteadyPredictions(POWER / 2).parameters()
"""
PARTS_TEXT = study(
    modules=["parts.py"],
    policy=[
        {
            "kind": "ftrl",
            "regularizer": "powered",
            "rates": "steep",
            "estimator": "plain",
            "log_barrier": 1.0,
        },
        {"kind": "ftrl", "regularizer": "log-barrier", "rates": "deviation-rates", "predictions": "guess"},
    ],
)


def test_an_edited_file_of_parts_replaces_its_earlier_self(folder):
    def powers(experiment):
        first, second = (entry.build() for entry in experiment.policies)
        parts = [first.regularizer, first.estimator, second.predictions]
        return [*first.rates.parameters(4, None)[:1], *(part.parameters()[0] for part in parts)]

    (folder / "parts.py").write_text(PARTS)
    first = parse(PARTS_TEXT, folder=folder)
    assert powers(first) == [0.5, 0.5, 0.5, 0.25]
    (folder / "parts.py").write_text(PARTS.replace("POWER = 0.5", "POWER = 0.25"))
    second = parse(PARTS_TEXT, folder=folder)
    assert powers(second) == [0.25, 0.25, 0.25, 0.125]
    first.load_modules()  # and back
    assert powers(first) == [0.5, 0.5, 0.5, 0.25]
    with pytest.raises(ZeroDivisionError):
        modules.load_module(Module("parts", PARTS.replace("POWER = 0.5", "POWER = 0.75") + "1 / 0\n"))
    assert powers(first) == [0.5, 0.5, 0.5, 0.25]  # what fails leaves everything as it was


def test_a_file_that_a_program_imports_can_be_a_module_of_its_study(folder, monkeypatch):
    source, text = MINE.replace("Lazy(bw.Policy)", "Lazy(bw.Policy, name='idle')"), TEXT
    names = {"mine.py": "twin.py", "Lazy": "Idle", "lazy": "idle", "Waves": "Ripples", "waves": "ripples"}
    for old, new in (names | {"by-hand": "by-foot"}).items():  # kinds that no other test has registered
        source, text = source.replace(old, new), text.replace(old, new)
    (folder / "twin.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    for _ in range(2):  # before the study, and after it
        imported = importlib.import_module("twin").Idle(2.0)
        studied = parse(text, folder=folder).policies[1].build()
        assert type(studied) is not type(imported)
        assert policies.to_dict(imported) == policies.to_dict(studied) == {"kind": "idle", "theta": 2.0}
        del sys.modules["twin"]
    (folder / "other.py").write_text(source + "\n# another file\n")
    with pytest.raises(InvalidArgumentError, match=r"got 'idle', which is Idle of bothworlds_study_twin_"):
        importlib.import_module("other")


def test_modules_that_cannot_be_loaded(folder):
    (folder / "syntax.py").write_text("x = 1\ndef f(:\n")
    assert complaint(TEXT.replace("mine.py", "syntax.py"), folder) == (
        "line 3, modules[0]: syntax.py cannot be loaded: SyntaxError: invalid syntax (line 2)"
    )
    (folder / "fails.py").write_text("x = 1\n\ny = 1 / 0\n")
    assert complaint(TEXT.replace("mine.py", "fails.py"), folder) == (
        "line 3, modules[0]: fails.py cannot be loaded: ZeroDivisionError: division by zero (line 3)"
    )
    (folder / "imports.py").write_text("import mine\n")
    assert complaint(TEXT.replace("mine.py", "imports.py"), folder) == (
        "line 3, modules[0]: imports.py cannot be loaded: ModuleNotFoundError: No module named 'mine' (line 1); "
        "a module of a study must stand alone: it may import installed packages only"
    )
    assert complaint(TEXT.replace("mine.py", "nix.py"), folder) == (
        "line 3, modules[0]: modules must name Python files, relative to this one, got 'nix.py': "
        "No such file or directory"
    )
    twice = TEXT.replace('["mine.py"]', '["mine.py", "./mine.py"]')
    assert complaint(twice, folder) == (
        "line 3, modules[1]: modules must have distinct names, got 'mine' twice: rename a file"
    )
    assert complaint(TEXT.replace('["mine.py"]', "[3]"), folder).startswith(
        "line 3, modules[0]: modules must be a string"
    )
    assert complaint(TEXT.replace('["mine.py"]', '"mine.py"'), folder).startswith(
        "line 3, modules: modules must be a list"
    )
    (folder / "taken.py").write_text(
        MINE.replace("Lazy", "UCB1").partition("@dataclass(frozen=True, repr=False)\nclass Hidden")[0]
    )
    assert complaint(TEXT.replace("mine.py", "taken.py"), folder) == (
        "line 3, modules[0]: taken.py cannot be loaded: InvalidArgumentError: name must be free, got 'ucb1', which is UCB1 of bothworlds.policies.ucb1"
    )
    with pytest.raises(InvalidArgumentError, match=r"name must be free, got 'shannon', which is Shannon"):
        policies.register("shannon", policies.get("ucb1"))
    with pytest.raises(InvalidArgumentError, match=r"name must be free, got 'beta', which is Beta"):
        environments.register("beta", environments.get("minimax"))


BROKEN = """
import bothworlds as bw
class NoArms(bw.environments.PythonEnvironment):
    def losses(self, random, start, stop):
        return []
class Fails(bw.environments.PythonEnvironment):
    n_arms = 2
    def losses(self, random, start, stop):
        return []
    def parameters(self, horizon):
        raise KeyError("lost")
class Odd(bw.Policy):
    def __init__(self, size):
        self.size = size
    def parameters(self, n_arms, horizon):
        return None
"""


def test_classes_that_raise_anything_are_mistakes_too(folder):
    (folder / "broken.py").write_text(BROKEN)
    text = study(
        modules=["broken.py"],
        policy={"kind": "odd"},
        environment=[{"kind": "no-arms"}, {"kind": "fails"}],
    )
    with pytest.raises(SpecError) as caught:
        parse(text, folder=folder)
    assert [str(mistake) for mistake in caught.value.mistakes] == [
        "line 4, policy[0]: TypeError: Odd.__init__() missing 1 required positional argument: 'size'",
        "line 6, environment[0]: environment must be an environment with n_arms, got NoArms(); set it in the class",
        "line 8, environment[1]: 'Fails' cannot be played for horizon 1000: KeyError: 'lost'",
    ]


PROBE = """
import json, pickle, sys
import numpy as np
experiment = pickle.load(open(sys.argv[1], "rb"))
experiment.load_modules()
experiment.load_modules()
assert "pydantic" not in sys.modules  # a worker needs no parser
policy = experiment.policies[0].build()
from bothworlds.policies.base import init, pull_once
params = policy.resolve(3, 100)
drawn = pull_once(params, init(params), np.array([0.5]), 0)
stats = pull_once.compiled.stats
print(json.dumps([type(policy).__name__, drawn[0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""

KERNELS = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import bothworlds as bw
from bothworlds.policies.base import act, distribution, init, learn, weight_of

class Parameters(NamedTuple):
    n_arms: int

class State(NamedTuple):
    p: np.ndarray

@dataclass(frozen=True, repr=False)
class Middle(bw.Policy):
    def parameters(self, n_arms, horizon):
        return Parameters(n_arms)

@init.register(Parameters)
def _(params):
    return State(np.ones(params.n_arms))

@act.register(Parameters)
def _(params, state, uniforms):
    return params.n_arms // 2

@weight_of.register(Parameters)
def _(params, state, arm):
    return 1.0

@learn.register(Parameters)
def _(params, state, arm, loss, weight, memo):
    pass

@distribution.register(Parameters)
def _(params, state, out):
    out[:] = 0.0
    out[params.n_arms // 2] = 1.0
"""


@pytest.mark.compiled
def test_a_kernel_that_cannot_be_compiled_is_named_by_the_file_of_its_author(folder):
    (folder / "careless.py").write_text(KERNELS.replace("    pass\n", "    state.p[arm] += nothing\n"))
    text = study(
        modules=["careless.py"], policy={"kind": "middle"}, environment={"kind": "minimax", "n_arms": 2}
    )
    policy = parse(text, folder=folder).policies[0].build()
    said = r"learn of Parameters cannot be compiled \(careless\.py, line \d+\): nothing is not defined"
    with pytest.raises(KernelError, match=said):
        bw.Bandit(2, policy)


@pytest.mark.compiled
def test_a_fresh_process_needs_the_experiment_only_and_finds_compiled_kernels_again(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    found = parse(study(modules=["kernels.py"], policy={"kind": "middle"}), folder=tmp_path)
    (tmp_path / "experiment.pickle").write_bytes(pickle.dumps(found))
    (tmp_path / "kernels.py").unlink()
    env = os.environ | {"BOTHWORLDS_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROBE, str(tmp_path / "experiment.pickle")]
    for hits in (0, 1):
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == ["Middle", 1, hits, 1 - hits]


def test_entry_points_of_installed_packages(tmp_path, monkeypatch):
    info = tmp_path / "bandit_zoo-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bandit-zoo\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        "[bothworlds.policies]\nlazy = bandit_zoo:Lazy\ngone = bandit_zoo:Gone\n"
        "[bothworlds.environments]\nwaves = bandit_zoo:Waves\nbeta = bandit_zoo:Waves\n"
    )
    (tmp_path / "bandit_zoo.py").write_text(MINE.partition("bw.policies.register")[0])
    monkeypatch.syspath_prepend(tmp_path)
    modules.load_plugins.cache_clear()
    found = parse(study(policy={"kind": "lazy"}, environment={"kind": "waves"}))
    assert found.policies[0].build().theta == 1.0
    assert found.packages == {"bandit-zoo": "1.5"}
    assert parse(study()).packages == {}  # what a study does not use does not count
    assert environments.get("beta") is environments.Beta
    (text,) = [complaint(study(policy={"kind": "gone"}), tmp_path)]
    assert text.endswith(
        ". The package bandit-zoo offers it, but fails to load: AttributeError: module 'bandit_zoo' has no attribute 'Gone'"
    )
    assert np.shape(found.environments[0].build().losses(None, 0, 5)) == (5, 3)


def test_names_of_classes():
    known = {"LightBarrier": "light-barrier", "FTRL": "ftrl", "TsallisINF": "tsallis-inf", "UCB1": "ucb1"}
    assert {name: kind_of(name) for name in known} == known
