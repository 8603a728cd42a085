"""What the pages say, beyond the examples that run: formulas that a browser can show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from latex2mathml.converter import convert

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


def formulas(text):
    """Formulas between dollars, outside of code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return [a or b for a, b in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", text, flags=re.DOTALL)]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_command_of_latex_is_printed_as_it_stands(page):
    for formula in formulas(page.read_text()):
        assert "\\" not in convert(formula), formula
