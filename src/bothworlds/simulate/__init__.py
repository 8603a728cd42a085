"""Running policies: in simulated worlds, and on forced histories."""

from __future__ import annotations

from bothworlds.simulate.replay import replay
from bothworlds.simulate.result import Run
from bothworlds.simulate.run import simulate
from bothworlds.simulate.trace import Trace

__all__ = ["Run", "Trace", "replay", "simulate"]
