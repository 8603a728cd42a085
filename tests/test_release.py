"""What a release says of itself is the same everywhere, and nobody is sent to where the package is not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import bothworlds as bw

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert f"\nversion: {bw.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{bw.__version__}}}" in (ROOT / "docs/cite.md").read_text()


def test_the_citation_has_what_its_format_asks_for():
    text = (ROOT / "CITATION.cff").read_text()
    keys = re.findall(r"^([a-z-]+):", text, re.M)
    assert {"cff-version", "message", "title", "authors"} <= set(keys)
    assert f"license: {PROJECT['license']}" in text
    assert PROJECT["urls"]["Paper"] in text


def test_classifiers_name_the_oldest_python():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {oldest}" in PROJECT["classifiers"]


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name
)
def test_no_page_installs_from_an_index_that_does_not_have_it(page):
    assert not re.search(r"pip install (--\S+ )*['\"]?bothworlds", page.read_text())
