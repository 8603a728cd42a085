"""Running policies: forced histories and their traces."""

from __future__ import annotations

from bothworlds.simulate.replay import replay
from bothworlds.simulate.trace import Trace

__all__ = ["Trace", "replay"]
