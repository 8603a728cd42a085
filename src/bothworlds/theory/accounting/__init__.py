"""Regret taken apart: the steps of a round, the ledger of a run, and its account."""
