"""Every example in the Markdown pages and docstrings is executed, each page in an empty folder of its own.

That goes for Python, and in the tutorial for the commands of the package.
"""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from doctest import NORMALIZE_WHITESPACE
from pathlib import Path
from typing import Any, NamedTuple

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

os.environ.setdefault("BOTHWORLDS_COMPILE", "wait")  # tests are of compiled code, unless they say otherwise

gc.set_threshold(100_000, 50, 50)  # compiling makes millions of objects, most of which stay

# A shell that starts the tests in the background has them, and the programs that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    gc.collect()  # what unraisable exceptions there are, pytest finds now,
    gc.freeze()  # and need not look five times more through all that was compiled


def enter(namespace: dict[str, Any]) -> None:
    namespace["NamedTuple"] = NamedTuple  # for the docstring of _jit.generic
    namespace["_back"] = os.getcwd()
    namespace["_folder"] = tempfile.mkdtemp()
    os.chdir(namespace["_folder"])
    namespace["_way"] = os.environ["BOTHWORLDS_COMPILE"]
    os.environ["BOTHWORLDS_COMPILE"] = "never"  # what bandits of examples play is not worth it


def leave(namespace: dict[str, Any]) -> None:
    os.environ["BOTHWORLDS_COMPILE"] = namespace["_way"]
    os.chdir(namespace["_back"])
    shutil.rmtree(namespace["_folder"])


def run_commands(example: Example) -> None:
    """Run the line of a console block, which begins with ``$ bothworlds``; it must succeed.

    The other lines are what it prints, all of it, but for spaces and empty lines.
    """
    line, *told = example.parsed.splitlines()
    command = [sys.executable, "-m", *shlex.split(line.removeprefix("$ "))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{line}\n{done.stdout}{done.stderr}")
    expected, printed = (
        [" ".join(shown.split()) for shown in lines if shown.strip()]
        for lines in (told, done.stdout.splitlines())
    )
    if expected != printed:
        raise AssertionError(f"{line}\nprints:\n{done.stdout}")


def compare_with_file(example: Example) -> None:
    """The experiment that the tutorial shows is a part of the file that ``bothworlds new`` wrote."""
    if example.parsed not in Path("experiment.toml").read_text(encoding="utf-8"):
        raise AssertionError(f"experiment.toml does not hold:\n{example.parsed}")


console = CodeBlockParser(language="console", evaluator=run_commands)
experiment = CodeBlockParser(language="toml", evaluator=compare_with_file)
markdown = PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)
docstrings = DocTestParser(NORMALIZE_WHITESPACE)
around: dict[str, Any] = {"setup": enter, "teardown": leave}
pytest_collect_file = SybilCollection(
    [
        Sybil(parsers=[markdown], patterns=["*.md"], excludes=["**/tutorial.md"], **around),
        Sybil(parsers=[markdown, console, experiment], patterns=["**/tutorial.md"], **around),
        Sybil(parsers=[docstrings], patterns=["*.py"], path="src", **around),
    ]
).pytest()
