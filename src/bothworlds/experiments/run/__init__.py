"""Playing what is missing of a study: what is sent to workers, who they are, and what comes back."""

from bothworlds.experiments.run.driver import Summary, run_study

__all__ = ["Summary", "run_study"]
