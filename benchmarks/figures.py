"""Figures with what was asked of them, as the benchmarks of the service print them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    """What was measured, and what was asked."""

    what: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def reached(self) -> bool:
        """Is it as asked?"""
        if self.at_most is not None:
            return self.measured <= self.at_most
        return self.at_least is None or self.measured >= self.at_least

    def line(self) -> str:
        """As it is printed."""
        sign, asked = ("≤", self.at_most) if self.at_most is not None else ("≥", self.at_least)
        said = "" if asked is None else f"{sign} {asked:,g}"
        verdict = "" if asked is None else "yes" if self.reached else "NO"
        shown = f"{self.measured:,.0f}" if self.measured >= 1000 else f"{self.measured:.3g}"
        return f"{self.what:48}  {said:>10}  {shown:>10}  {verdict}"


def print_figures(figures: Iterable[Figure]) -> None:
    """All of them, and how busy the machine was."""
    print(f"\n{'figure':48}  {'asked':>10}  {'measured':>10}  reached")
    for figure in figures:
        print(figure.line())
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
