"""The paper's proof as an instrument: regret taken apart, every lemma checked on real runs."""

from __future__ import annotations

from bothworlds.simplex.divergence import divergence
from bothworlds.theory.account import Account, account

__all__ = ["Account", "account", "divergence"]
