"""Studies: experiment files, what runs them, and where results are kept. Needs the extra ``lab``."""

from typing import TYPE_CHECKING, Any

from bothworlds.experiments.experiment import Experiment
from bothworlds.experiments.run import Summary, run_study

if TYPE_CHECKING:
    from bothworlds.experiments.spec import parse, read

__all__ = ["Experiment", "Summary", "parse", "read", "run_study"]


def __getattr__(name: str) -> Any:
    """The parser is imported when asked for: workers, which import this package, need none."""
    if name in ("parse", "read"):
        from bothworlds.experiments import spec  # noqa: PLC0415

        return getattr(spec, name)
    raise AttributeError(f"module 'bothworlds.experiments' has no attribute {name!r}")
