"""What Prometheus reads. Labels never hold segments or units, and nobody reads of another project."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from bothworlds.service.hub import Hub

disable_created_metrics()  # type: ignore[no-untyped-call] # nobody asks when a counter was made
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """Counters of this process."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        self._projects: dict[str, ProjectMetrics] = {}
        common: dict[str, Any] = {"registry": self._all, "namespace": "bothworlds"}
        self.refused = Counter("refused", "Requests that were refused.", ["problem"], **common)
        self.commit_seconds = Histogram("commit_seconds", "Seconds per batch.", buckets=SECONDS, **common)
        self.batch_size = Histogram("batch_size", "Requests per batch.", buckets=SIZES, **common)
        self.request_seconds = Histogram(
            "request_seconds", "Seconds per request.", ["method", "route"], buckets=SECONDS, **common
        )
        self.free_bytes = Gauge("free_bytes", "Bytes left on the disk of the database.", **common)

    def of(self, project: str) -> ProjectMetrics:
        """The counters of a project."""
        found = self._projects.get(project)
        if found is None:
            found = self._projects[project] = ProjectMetrics()
        return found

    def batch(self, size: int, seconds: float) -> None:
        """A batch was answered."""
        self.commit_seconds.observe(seconds)
        self.batch_size.observe(size)

    def text(self, hub: Hub, odd_keys: int) -> bytes:
        """Those of the process and of the project of a hub, as Prometheus wants them."""
        return generate_latest(self._all) + self.of(hub.replica.project).text(hub, odd_keys)


class ProjectMetrics:
    """Counters of a project, in this process."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        common: dict[str, Any] = {"registry": self._all, "namespace": "bothworlds"}
        self.decisions = Counter("decisions", "Decisions that were made.", ["experiment"], **common)
        self.outcomes = Counter("outcomes", "Outcomes that were answered.", ["reason"], **common)
        self._queue_depth = Gauge("queue_depth", "Requests that wait.", **common)
        self._position = Gauge("log_position", "Entries that were learned.", **common)
        self._open = Gauge("open_decisions", "Open decisions.", **common)
        self._oldest = Gauge("oldest_open_seconds", "Age of the oldest open decision in memory.", **common)
        self._frozen = Gauge("frozen_bandits", "Bandits that learn no more.", **common)
        self._odd_keys = Gauge("odd_keys", "Keys whose rewards are not like those of others.", **common)
        self._divergences = Gauge("divergences", "States that others have kept otherwise.", **common)

    def text(self, hub: Hub, odd_keys: int) -> bytes:
        """All of it."""
        self._odd_keys.set(odd_keys)
        self._queue_depth.set(hub.waiting)
        self._position.set(hub.position)
        self._open.set(hub.replica.n_open)
        with contextlib.suppress(RuntimeError):  # the hub has changed it meanwhile: the age of before stays
            oldest = next(iter(hub.replica.open.values()), None)
            self._oldest.set(0.0 if oldest is None else max(0.0, time.time() - oldest.made))
        self._divergences.set(hub.divergences)
        bandits = list(hub.replica.bandits.values())
        self._frozen.set(sum(one.learner is not None and one.learner.frozen for one in bandits))
        return generate_latest(self._all)
