"""Running policies: in simulated worlds, and on forced histories."""

from __future__ import annotations

from bothworlds.simulation.replay import replay
from bothworlds.simulation.result import Run
from bothworlds.simulation.run import simulate
from bothworlds.simulation.trace import Trace

__all__ = ["Run", "Trace", "replay", "simulate"]
