"""The paper's analysis as an instrument: bounds, and the quantities of the proof."""

from bothworlds.simplex.divergence import divergence
from bothworlds.theory.accounts import Account, account, accountable, where_did_the_regret_go
from bothworlds.theory.lemmas import preprocessing_parts
from bothworlds.theory.table import lemma_table, rich_lemma_table
from bothworlds.theory.verification import Row, smallest_barrier, verify

__all__ = [
    "Account",
    "Row",
    "account",
    "accountable",
    "divergence",
    "lemma_table",
    "preprocessing_parts",
    "rich_lemma_table",
    "smallest_barrier",
    "verify",
    "where_did_the_regret_go",
]
