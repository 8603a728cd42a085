"""Studies: experiment files, what runs them, and where results are kept. Needs the extra ``lab``."""

from bothworlds.experiments.experiment import Experiment
from bothworlds.experiments.run import Summary, run_study
from bothworlds.experiments.spec import parse, read

__all__ = ["Experiment", "Summary", "parse", "read", "run_study"]
