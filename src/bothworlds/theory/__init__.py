"""The paper's analysis as an instrument: bounds, and the quantities of the proof."""

from bothworlds.simplex.divergence import divergence
from bothworlds.theory.account import Account, account, accountable, where_did_the_regret_go
from bothworlds.theory.lemmas import preprocessing_parts
from bothworlds.theory.table import rich_table, table
from bothworlds.theory.verify import Row, smallest_barrier, verify

__all__ = [
    "Account",
    "Row",
    "account",
    "accountable",
    "divergence",
    "preprocessing_parts",
    "rich_table",
    "smallest_barrier",
    "table",
    "verify",
    "where_did_the_regret_go",
]
