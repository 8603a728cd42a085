"""Every example in the Markdown pages and docstrings is executed, each page in an empty folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from doctest import NORMALIZE_WHITESPACE
from typing import Any, NamedTuple

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser


def enter(namespace: dict[str, Any]) -> None:
    namespace["NamedTuple"] = NamedTuple  # for the docstring of _jit.generic
    namespace["_back"] = os.getcwd()
    namespace["_folder"] = tempfile.mkdtemp()
    os.chdir(namespace["_folder"])


def leave(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_back"])
    shutil.rmtree(namespace["_folder"])


markdown = PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)
docstrings = DocTestParser(NORMALIZE_WHITESPACE)
pytest_collect_file = (
    Sybil(parsers=[markdown], patterns=["*.md"], setup=enter, teardown=leave)
    + Sybil(parsers=[docstrings], patterns=["*.py"], path="src", setup=enter, teardown=leave)
).pytest()
