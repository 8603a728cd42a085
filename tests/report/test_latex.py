"""What is written for LaTeX is set by LaTeX. `make latex` installs it and runs these."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bothworlds.report.figures.figure import as_bytes, every_panel, figure
from bothworlds.report.study import TEXT_TABLES

FOUND = shutil.which("kpsewhich") and subprocess.run(
    ["kpsewhich", "siunitx.sty", "pgf.sty"], capture_output=True, check=False
)
pytestmark = pytest.mark.skipif(
    not FOUND or FOUND.returncode != 0, reason="LaTeX with siunitx and pgf is not installed"
)
PREAMBLE = r"""
\documentclass{article}
\usepackage[landscape, paperheight=60cm, paperwidth=90cm, margin=1cm]{geometry}
\usepackage{booktabs, pgf}
\usepackage[detect-weight, group-digits=integer, group-minimum-digits=4, group-separator={,}]{siunitx}
\begin{document}
"""


def set_by_latex(folder: Path, parts: list[str]) -> None:
    """One part a page; an error of LaTeX, or a warning of a package, is one of ours."""
    body = "\n\\clearpage\n".join(parts)
    (folder / "all.tex").write_text(f"{PREAMBLE}{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Package siunitx" not in done.stdout
    assert f"({len(parts)} page" in done.stdout


@pytest.mark.parametrize("siunitx", [False, True])
def test_tables(study, tmp_path, siunitx):
    tables = [study.table(name, format="latex", siunitx=siunitx) for name in TEXT_TABLES]
    assert all("needs \\usepackage{booktabs}" in table for table in tables)
    set_by_latex(tmp_path, tables)


def test_figures(study, tmp_path):
    found = {}
    for name, panel in every_panel(study):
        found.setdefault(name.partition("-")[0], panel)
    drawn = {kind: as_bytes(figure([panel], tex=True), "pgf").decode() for kind, panel in found.items()}
    assert all("−" not in text and text.startswith("%% Creator: Matplotlib") for text in drawn.values())
    for kind in ("regret", "final", "scores"):
        assert r"$\beta$=0.3" in drawn[kind]  # a name at a line, at a tick
    set_by_latex(tmp_path, list(drawn.values()))
