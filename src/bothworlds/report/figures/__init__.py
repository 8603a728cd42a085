"""Figures as they stand in papers: panels side by side, at the width of a column, without titles.

Numbers come first (``contents``); ``draw`` puts them on the axes of a matplotlib ``figure``.
``Study.plot`` and ``bothworlds figures`` are the ways in.
"""
