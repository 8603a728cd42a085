"""Playing what is missing of a study: what is sent to workers, who they are, and what comes back."""

from bothworlds.experiments.run.driver import FinishedBatch, FinishedChunk, Summary, run_study

__all__ = ["FinishedBatch", "FinishedChunk", "Summary", "run_study"]
