"""The command line, as a person types it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest
from typer.testing import CliRunner

import bothworlds as bw
from bothworlds import __main__, cli, environments, policies
from bothworlds.errors import BothworldsError, InvalidArgumentError, SpecError
from studies import registries_restored

SMALL = """
title = "Small"
horizon = 40
replications = 2
[[policy]]
kind = "ucb1"
[[policy]]
kind = "uniform"
[[environment]]
kind = "bernoulli"
n_arms = 3
gap = 0.25
"""


def call(*arguments):
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    with registries_restored():
        yield tmp_path


def test_from_an_empty_folder_to_a_report(folder):
    assert "2 cells × 2 replications" in call("check", "small.toml")
    said = call("run", "small.toml", "--jobs", "1")
    assert "Scorecard" in said
    assert "Report: small/report.html" in said
    page = (folder / "small/report.html").read_text(encoding="utf-8")
    assert "<title>" in page
    assert (folder / "small/tables/summary.tex").is_file()
    assert bw.Study.load("small").complete
    again = call("report", "small", "--figures", "--siunitx")
    assert "Figures: small/figures" in again
    assert "S[table-format" in (folder / "small/tables/summary.tex").read_text(encoding="utf-8")
    assert {path.suffix for path in (folder / "small/figures").iterdir()} >= {".svg", ".pdf", ".png"}
    drawn = call("figures", "small", "-p", "regret:1", "-p", "survival", "--y", "log", "-o", "one.svg")
    assert drawn.startswith("one.svg\n(a) Regret in Bernoulli")
    assert (folder / "one.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "Figures: all, " in call("figures", "small", "--format", "svg", "-o", "all")
    with pytest.raises(InvalidArgumentError, match=r"--format must be pdf, as the name .*, got 'svg'; leave"):
        call("figures", "small", "-p", "regret", "--format", "svg", "-o", "x.pdf")
    assert not (folder / "x.svg").exists()


def test_one_of_a_kind_is_not_plural(folder, capfd):
    text = SMALL.replace('[[policy]]\nkind = "ucb1"\n', "").replace("replications = 2", "replications = 1")
    (folder / "one.toml").write_text(text)
    said = call("check", "one.toml") + call("run", "one.toml", "--jobs", "1") + capfd.readouterr().err
    said += (folder / "one/report.html").read_text(encoding="utf-8").partition('id="data"')[0]
    said = re.sub(r"<[^>]*>", "", said) + repr(bw.Study.load("one"))
    assert "1 cell × 1 replication," in said
    assert "1 chunk played" in said
    nouns = "policies|environments|worlds|cells|chunks|replications|threads|cores|kernels"
    assert re.findall(rf"(?<![\d,.])1 (?:{nouns})\b", said) == []


def test_tables_and_report_may_be_left_out(folder):
    call("run", "small.toml", "--out", "elsewhere", "--no-report")
    assert bw.Study.load("elsewhere").complete
    assert not (folder / "elsewhere/report.html").exists()


def test_settings_from_outside_and_a_comparison(folder):
    call("run", "small.toml", "--out", "a", "--no-report", "--seed", "5", "--replications", "3")
    call("run", "small.toml", "--out", "b", "--no-report", "--seed", "5", "--set", "replications=3")
    assert call("compare", "a", "b").count("same") == 2
    assert "seed = 5" in (folder / "a/experiment.toml").read_text()
    assert "3 replications" in call("check", "small.toml", "--replications", "3")


def test_a_new_file_is_valid_and_never_overwrites(folder):
    call("new", "first.toml")
    text = (folder / "first.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["policy"]
    assert " cells × " in call("check", "first.toml")
    with pytest.raises(
        InvalidArgumentError, match=r"FILE must be a file that does not exist yet, got first\.toml"
    ):
        call("new", "first.toml")
    assert (folder / "first.toml").read_text(encoding="utf-8") == text
    with pytest.raises(InvalidArgumentError, match="FILE must be writable"):
        call("new", "no/such/folder.toml")


@pytest.mark.parametrize(("what", "registry"), [("policies", policies), ("environments", environments)])
def test_everything_registered_is_listed_and_explained(what, registry):
    listing = call(what)
    for name in registry.names():
        assert name in listing
        explained = call(what, name)
        assert registry.get(name).__name__ in explained
        assert len(explained.splitlines()) > 2


@pytest.mark.compiled
@pytest.mark.slow
def test_kernels_of_a_study_can_be_compiled_ahead(folder, monkeypatch):
    monkeypatch.setenv("BOTHWORLDS_CACHE_DIR", str(folder / "cache"))
    (folder / "small.toml").write_text(SMALL.replace('[[policy]]\nkind = "ucb1"\n', ""))
    for said in ("compiled: 1", "in the cache"):  # in processes of their own: this one may have the kernel
        command = [sys.executable, "-m", "bothworlds", "warmup", "small.toml"]
        assert said in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_schema_is_json():
    assert "properties" in json.loads(call("schema"))


def test_mistakes_are_raised_for_main_to_explain(folder):
    (folder / "bad.toml").write_text(SMALL.replace("ucb1", "ucb2").replace("gap", "gapp"))
    with pytest.raises(SpecError) as caught:
        call("run", "bad.toml")
    assert "did you mean 'ucb1'" in str(caught.value)
    assert "gapp" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="--jobs is for this machine"):
        call("run", "small.toml", "--jobs", "2", "--cluster", "tcp://localhost:1")
    for word in ("foo", "threads"):
        with pytest.raises(InvalidArgumentError, match=f"--cluster must be the address .* got '{word}'"):
            call("run", "small.toml", "--cluster", word)
    assert not (folder / "small").exists()
    with pytest.raises(BothworldsError, match="nowhere"):
        call("report", "nowhere")


def test_main_explains_mistakes_in_a_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bothworlds", "policies", "ucb2"])
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: no policy is called 'ucb2'; did you mean 'ucb1'?")
    assert "Traceback" not in said


def test_main_says_what_is_saved_when_a_chunk_fails(folder, capsys, monkeypatch):
    (folder / "mine.py").write_text(
        "import numpy as np\nimport bothworlds as bw\n"
        "class Wrong(bw.environments.PythonEnvironment):\n    n_arms = 3\n"
        "    def losses(self, random, start, stop):\n        return np.full((stop - start, 3), 7.0)\n"
    )
    text = SMALL.replace('"bernoulli"', '"wrong"').replace("n_arms = 3\ngap = 0.25\n", "")
    (folder / "wrong.toml").write_text('modules = ["mine.py"]' + text)
    monkeypatch.setattr(sys, "argv", ["bothworlds", "run", "wrong.toml", "--jobs", "1"])
    with pytest.raises(SystemExit):
        __main__.main()
    said = capsys.readouterr().err
    assert "error: losses[0][0] must be in [0, 1], got 7.0" in said
    assert "this was chunk 0 (UCB1 in Wrong" in said
    assert "run the same command again" in said


def test_paths_are_printed_as_they_are(folder):
    said = call("new", "a [bold]b.toml")
    assert "Wrote a [bold]b.toml." in said


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "bothworlds.cli")
    monkeypatch.delattr("bothworlds.cli")
    with pytest.raises(SystemExit, match=r"needs the extra 'lab' \(missing: typer\)"):
        __main__.main()


def test_the_package_itself_does_not_load_the_lab():
    code = "import bothworlds, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numba", "typer", "pandas", "pydantic", "pyarrow", "altair", "scipy"} & set(loaded.split())


def test_version():
    assert call("--version").strip() == f"bothworlds {bw.__version__}"


def test_evaluate_a_log(folder):
    pairs = [("green", 1), ("red", 0), ("green", 1), ("red", 1)] * 100
    rows = "\n".join(f"{arm},{reward},0.5" for arm, reward in pairs)
    (folder / "log.csv").write_text(f"action,reward,propensity\n{rows}\n")
    said = call("evaluate", "log.csv", "--chart", "chart.svg")
    for name in ("logged", "always green", "always red"):
        assert name in said
    assert "actions agree with propensities" in said
    assert (folder / "chart.svg").read_text().startswith("<svg")
    said = call("evaluate", "log.csv", "-p", "uniform", "-p", "green=0.9,red=0.1", "-p", "red")
    assert "green=0.9,red=0.1" in said
    for wrong in ("gren=1", "green=much", "green=0.4,red=0.5"):
        with pytest.raises(InvalidArgumentError, match="policy"):
            call("evaluate", "log.csv", "-p", wrong)
    (folder / "wrong.csv").write_text("action,reward,propensity\n" + "green,1,0.5\n" * 100)
    result = CliRunner().invoke(cli.app, ["evaluate", "wrong.csv"])
    assert result.exit_code == 1
    assert "FAILS" in result.output
