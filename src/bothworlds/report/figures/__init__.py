"""Figures as they stand in papers: panels side by side, at the width of a column, without titles.

Policies and environments come first (``choice``), then their numbers (``contents``); ``draw`` puts those on
the axes of a matplotlib ``figure``. ``Study.plot`` and ``bothworlds figures`` are the ways in.
"""
