"""The paper's analysis as an instrument: bounds, and the quantities of the proof."""

from bothworlds.simplex.divergence import divergence
from bothworlds.theory import conjecture
from bothworlds.theory.accounting.accounts import (
    Account,
    account,
    account_run,
    accountable,
    has_account,
    where_did_the_regret_go,
)
from bothworlds.theory.bounds.appendix import TermTable, term_table
from bothworlds.theory.bounds.complexities import Complexity, complexity
from bothworlds.theory.bounds.evaluation import Bounds, bound, bound_curve
from bothworlds.theory.bounds.lower import LowerBound, information, lower_bound, lower_bound_curve
from bothworlds.theory.bounds.statement import Bound, Term
from bothworlds.theory.verification.lemmas import preprocessing_parts
from bothworlds.theory.verification.verdict import (
    Row,
    lemma_table,
    rich_lemma_table,
    smallest_barrier,
    verify,
)

__all__ = [
    "Account",
    "Bound",
    "Bounds",
    "Complexity",
    "LowerBound",
    "Row",
    "Term",
    "TermTable",
    "account",
    "account_run",
    "accountable",
    "bound",
    "bound_curve",
    "complexity",
    "conjecture",
    "divergence",
    "has_account",
    "information",
    "lemma_table",
    "lower_bound",
    "lower_bound_curve",
    "preprocessing_parts",
    "rich_lemma_table",
    "smallest_barrier",
    "term_table",
    "verify",
    "where_did_the_regret_go",
]
