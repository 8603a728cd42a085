"""Chunks on a cluster of dask workers that somebody has started."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from bothworlds._words import counted
from bothworlds.errors import WorkerError
from bothworlds.experiments import provenance
from bothworlds.experiments.compare import differences
from bothworlds.experiments.executors import MOST_UNDER_WAY, Crew
from bothworlds.experiments.work import Work, play

TIMEOUT = 8.0  # seconds for the scheduler to answer


class Cluster(Crew):
    """The workers of a dask scheduler. Dask itself plays the chunks of a lost worker on another one."""

    jobs = None
    under_way = MOST_UNDER_WAY
    shared_fate = False
    patience = 2  # dask gives a chunk up after the loss of several workers, not all of them by its fault

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise WorkerError(
                f"the cluster {address} needs dask.distributed: pip install 'bothworlds[cluster]'"
            ) from None
        self.lost = (distributed.KilledWorker, CancelledError)
        try:
            client: Any = distributed.Client  # without annotations
            self._client = client(address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise WorkerError(
                f"no dask scheduler answers at {address!r} ({type(error).__name__}: {error}); "
                "start one with `dask scheduler`, and give the address that it prints"
            ) from error
        try:
            found = self._client.run(_identify(), on_error="return")
            self._require_same(found)
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)
        self.name = f"the dask cluster {address}, {counted(len(found), 'worker')} now"

    def _require_same(self, found: dict[str, Any]) -> None:
        here = provenance.identity()
        refused = []
        for worker, there in sorted(found.items()):
            if isinstance(there, BaseException):
                refused.append(f"{worker}: {type(there).__name__}: {there}")
            else:
                refused += [f"{worker}: {line}" for line in differences(there, here)]
        if refused:
            listing = "\n".join(f"  {line}" for line in refused[:12])
            raise WorkerError(
                "workers must have the bothworlds of this program (there: the worker, here: this program):\n"
                f"{listing}\ninstall the same one on every worker"
            )

    def submit(self, work: Work) -> Future[bytes]:
        """Have a chunk played."""
        return self._executor.submit(play, work)  # type: ignore[no-any-return]

    def rebuild(self) -> bool:
        """Nothing to do as long as the scheduler lives: it finds other workers."""
        return bool(self._client.status == "running")

    def stop(self) -> None:
        """Chunks that a worker has begun are played to their end, for nothing; the others are not begun."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)

    def close(self) -> None:
        """Leave the cluster as it was."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close()


def _identify() -> Callable[[], dict[str, str]]:
    # A function in a function is sent as its code: so a worker without bothworlds can say what it lacks.
    def identity() -> dict[str, str]:
        from bothworlds.experiments import provenance  # noqa: PLC0415

        return provenance.identity()

    return identity
