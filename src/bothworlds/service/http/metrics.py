"""What Prometheus reads. Labels never hold segments or units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bothworlds.service.hub import Hub

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counters of this process."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        kept: dict[str, Any] = {"registry": self._all, "namespace": "bothworlds"}
        self.decisions = Counter("decisions", "Decisions that were made.", ["experiment"], **kept)
        self.outcomes = Counter("outcomes", "Outcomes that were answered.", ["reason"], **kept)
        self.refused = Counter("refused", "Requests that were refused.", ["problem"], **kept)
        self.commit_seconds = Histogram("commit_seconds", "Seconds per batch.", buckets=SECONDS, **kept)
        sizes = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        self.batch_size = Histogram("batch_size", "Requests per batch.", buckets=sizes, **kept)
        self.request_seconds = Histogram(
            "request_seconds", "Seconds per request.", ["method", "route"], buckets=SECONDS, **kept
        )
        self.queue_depth = Gauge("queue_depth", "Requests that wait.", ["project"], **kept)
        self.position = Gauge("log_position", "Entries that were learned.", ["project"], **kept)
        self.open = Gauge("open_decisions", "Open decisions in memory.", ["project"], **kept)
        self.frozen = Gauge("frozen_bandits", "Bandits that learn no more.", ["project"], **kept)
        self.free_bytes = Gauge("free_bytes", "Bytes left on the disk of the database.", **kept)

    def batch(self, size: int, seconds: float) -> None:
        """A batch was answered."""
        self.commit_seconds.observe(seconds)
        self.batch_size.observe(size)

    def text(self, hubs: Mapping[str, Hub]) -> bytes:
        """All of it, as Prometheus wants it."""
        for name, hub in hubs.items():
            self.queue_depth.labels(name).set(hub.waiting)
            self.position.labels(name).set(hub.position)
            self.open.labels(name).set(len(hub.replica.open))
            bandits = list(hub.replica.bandits.values())
            frozen = sum(bandit.learner is not None and bandit.learner.frozen for bandit in bandits)
            self.frozen.labels(name).set(frozen)
        return generate_latest(self._all)
