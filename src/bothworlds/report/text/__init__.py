"""A study as text: tables for a terminal, Markdown, LaTeX and CSV, and what was found in sentences."""
