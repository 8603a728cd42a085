"""Sphinx configuration: Markdown pages, API reference from docstrings."""

import bothworlds

project = "bothworlds"
author = "the bothworlds developers"
copyright = "2026, the bothworlds developers"
version = release = bothworlds.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"bothworlds {version}"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
nitpicky = False
exclude_patterns = ["build"]
