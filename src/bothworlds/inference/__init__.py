"""What can be concluded from the decisions of a bandit: statements that hold at all times at once."""

from bothworlds.inference.alarm import Alarm
from bothworlds.inference.auditing import Audit, audit
from bothworlds.inference.comparisons import e_bh
from bothworlds.inference.estimates import Estimate
from bothworlds.inference.evaluation import Evaluation, evaluate
from bothworlds.inference.forecast import More
from bothworlds.inference.intervals import Interval
from bothworlds.inference.of_log import drift, evidence
from bothworlds.inference.sequence import ConfidenceSequence
from bothworlds.inference.statements import Comparison, Evidence
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
