"""Sphinx configuration: Markdown pages, reference from docstrings, formulas as MathML (needs no script)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import bothworlds

sys.path.insert(0, str(Path(__file__).parent))
import evidence_charts
import gallery
import proof_charts

project = "bothworlds"
author = "the bothworlds developers"
copyright = "2026, the bothworlds developers"
version = release = bothworlds.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"bothworlds {version}"
html_math_renderer = "mathml"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
exclude_patterns = ["build"]


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(
        f'<div class="math" style="overflow-y: hidden">{convert(node.astext(), display="block")}</div>'
    )
    raise nodes.SkipNode


def _gallery(app: Any) -> None:
    folder, charts = Path(__file__).parent / "gallery", os.environ.get("BOTHWORLDS_GALLERY") != "plain"
    gallery.write(folder, charts=charts)
    proof_charts.write(folder, charts=charts)
    evidence_charts.write(folder, charts=charts)


def setup(app: Any) -> None:
    app.connect("builder-inited", _gallery)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
