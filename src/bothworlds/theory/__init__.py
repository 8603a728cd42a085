"""The paper's analysis as an instrument: bounds, and the quantities of the proof."""

from bothworlds.theory import conjecture
from bothworlds.theory.bounds import Bounds, bound, bound_curve
from bothworlds.theory.complexity import Complexity, complexity
from bothworlds.theory.statement import Bound, Term
from bothworlds.theory.term_table import TermTable, term_table

__all__ = [
    "Bound",
    "Bounds",
    "Complexity",
    "Term",
    "TermTable",
    "bound",
    "bound_curve",
    "complexity",
    "conjecture",
    "term_table",
]
