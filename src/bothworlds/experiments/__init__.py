"""Studies: experiment files, what runs them, and where results are kept. Needs the extra ``lab``."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bothworlds.experiments.experiment import Experiment
    from bothworlds.experiments.run import Summary, run_study
    from bothworlds.experiments.spec import parse, read

__all__ = ["Experiment", "Summary", "parse", "read", "run_study"]

_HOMES = {"Experiment": "experiment", "Summary": "run", "run_study": "run", "parse": "spec", "read": "spec"}


def __getattr__(name: str) -> Any:
    """Imported when asked for: a worker plays chunks without the parser of files."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
