"""What can be concluded from the decisions of a bandit: statements that hold at all times at once."""

from bothworlds.inference.audit import Audit, audit
from bothworlds.inference.comparisons import e_bh
from bothworlds.inference.drift import Alarm
from bothworlds.inference.estimates import Estimate
from bothworlds.inference.evaluate import Evaluation, evaluate
from bothworlds.inference.evidence import Comparison, Evidence
from bothworlds.inference.forecast import More
from bothworlds.inference.intervals import Interval
from bothworlds.inference.of_log import drift, evidence
from bothworlds.inference.sequence import ConfidenceSequence
from bothworlds.inference.targets import History

__all__ = [
    "Alarm",
    "Audit",
    "Comparison",
    "ConfidenceSequence",
    "Estimate",
    "Evaluation",
    "Evidence",
    "History",
    "Interval",
    "More",
    "audit",
    "drift",
    "e_bh",
    "evaluate",
    "evidence",
]
