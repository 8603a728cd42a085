"""What can be concluded from the decisions of a bandit: statements that hold at all times at once."""

from bothworlds.inference.comparisons import e_bh
from bothworlds.inference.drift import Alarm
from bothworlds.inference.forecast import More
from bothworlds.inference.intervals import Interval
from bothworlds.inference.sequence import ConfidenceSequence

__all__ = ["Alarm", "ConfidenceSequence", "Interval", "More", "e_bh"]
