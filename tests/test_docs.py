"""What the pages say, beyond the examples that run: formulas that a browser can show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from latex2mathml.converter import convert

from bothworlds.theory import account

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def formulas(text):
    """Formulas between dollars, outside of code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return [a or b for a, b in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", text, flags=re.DOTALL)]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_command_of_latex_is_printed_as_it_stands(page):
    for formula in formulas(page.read_text()):
        assert "\\" not in convert(formula), formula


def test_regret_is_estimated_against_the_comparator_of_the_accounts():
    """q̃, with a part of its mass on V: against q itself the lemmas do not hold."""
    estimates = [f for f in formulas((DOCS / "proof.md").read_text()) if r"\langle \hat\ell^t, p^t -" in f]
    assert len(estimates) >= 3
    assert all(r"p^t - \tilde q^t \rangle" in formula for formula in estimates)
    assert "p^t − q̃^t" in (account.__doc__ or "")
