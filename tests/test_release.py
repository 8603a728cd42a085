"""What a release says of itself is the same everywhere, and nobody is sent to where the package is not."""

from __future__ import annotations

import importlib.util
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


def test_the_description_of_a_wheel_has_no_link_into_the_repository():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = (ROOT / "README.md").read_text()
    shown = module.described(readme)
    assert re.search(r"\]\((?!https?:)", readme)
    assert not re.search(r"\]\((?!https?:)", shown)
    assert "arms may come and go (docs/arms.md)" in shown
    assert shown.count("](https:") == readme.count("](https:")


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name
)
def test_no_page_installs_from_an_index_that_does_not_have_it(page):
    assert not re.search(r"pip install (--\S+ )*['\"]?bothworlds", page.read_text())
