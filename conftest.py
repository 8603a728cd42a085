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
from typing import Any, NamedTuple

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

os.environ.setdefault("BOTHWORLDS_COMPILE", "wait")  # tests are of compiled code, unless they say otherwise

gc.set_threshold(100_000, 50, 50)  # compiling makes millions of objects, most of which stay

# A shell that starts the tests in the background has them, and the programs that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
    """Run the lines of a console block that begin with ``$ bothworlds``; they must succeed.

    The other lines are what they print, but for spaces, and for lines left out.
    """
    printed: list[str] = []
    for line in example.parsed.splitlines():
        if line.startswith("$ bothworlds "):
            command = [sys.executable, "-m", *shlex.split(line[2:])]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise AssertionError(f"{line}\n{done.stdout}{done.stderr}")
            printed = [" ".join(shown.split()) for shown in done.stdout.splitlines()]
        elif " ".join(line.split()) not in printed:
            raise AssertionError(f"not printed: {line}\nbut:\n" + "\n".join(printed))


console = CodeBlockParser(language="console", evaluator=run_commands)
markdown = PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)
docstrings = DocTestParser(NORMALIZE_WHITESPACE)
around: dict[str, Any] = {"setup": enter, "teardown": leave}
pytest_collect_file = SybilCollection(
    [
        Sybil(parsers=[markdown], patterns=["*.md"], excludes=["**/tutorial.md"], **around),
        Sybil(parsers=[markdown, console], patterns=["**/tutorial.md"], **around),
        Sybil(parsers=[docstrings], patterns=["*.py"], path="src", **around),
    ]
).pytest()
