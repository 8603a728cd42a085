"""A project at a position of its log, from the log alone. Written apart from the hub, to check it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Any

import msgspec
import numpy as np

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import label_of
from bothworlds.errors import InvalidArgumentError, StateError
from bothworlds.service.settings import Settings
from bothworlds.service.store.base import SETTINGS, BanditRow, DecisionRow, EntryRow, ProjectRow, ServiceStore


class Replay:
    """The learners of a project, from where its log begins."""

    def __init__(
        self, settings: dict[int, Settings], secrets: dict[int, bytes], bandits: list[BanditRow]
    ) -> None:
        self.position = 0
        self.learners = {row.id: settings[row.experiment].learner() for row in bandits}
        self.updated: set[int] = set()
        """Bandits with an entry in the log, or a state with which it begins."""
        self.engines: set[int] = set()
        """Those that computed the states with which the log begins."""
        self._secrets = secrets
        self._bandits = {row.id: row for row in bandits}

    @classmethod
    def of(cls, store: ServiceStore, project: ProjectRow) -> Replay:
        """As of the beginning of the log."""
        experiments = store.experiments(project.id)
        settings = {row.id: msgspec.json.decode(row.settings, type=Settings) for row in experiments}
        replay = cls(settings, {row.id: row.secret for row in experiments}, store.bandits(project.id, 0))
        if project.start:
            replay.apply(store.changes(project.id, 0, project.start))
            replay.position = project.start
            for number in replay.learners:
                base = store.base(number)
                if base is not None:
                    if base.pos != project.start:
                        raise StateError(f"bandit {number} begins at {base.pos}, the log at {project.start}")
                    if sha256(base.state).digest() != base.sha256:
                        raise StateError(
                            f"the state of bandit {number}, with which the log begins, is damaged"
                        )
                    replay.learners[number] = Learner.load(base.state)
                    replay.updated.add(number)
                    replay.engines.add(base.engine)
        return replay

    def apply(self, entries: Sequence[EntryRow]) -> None:
        """Learn what follows on what was learned."""
        pending: dict[int, tuple[list[bytes], list[float]]] = {}  # tickets and feedback, by bandit
        for entry in entries:
            if entry.bandit is None:
                self._learn(pending)
                self._change(entry)
            else:
                self.updated.add(entry.bandit)
                if entry.kept is not None and entry.ticket is not None:
                    tickets, feedback = pending.setdefault(entry.bandit, ([], []))
                    tickets.append(entry.ticket)
                    feedback.append(entry.kept)
        self._learn(pending)
        if entries:
            self.position = entries[-1].pos

    def _learn(self, pending: dict[int, tuple[list[bytes], list[float]]]) -> None:
        for number, (tickets, feedback) in pending.items():
            self.learners[number].learn(tickets, feedback)
        pending.clear()

    def _change(self, entry: EntryRow) -> None:
        if entry.kind == SETTINGS:
            return  # none that a learner reads
        arm = label_of(json.loads(entry.body or "null"))
        for row in self._bandits.values():
            if row.experiment == entry.experiment:
                try:
                    self.learners[row.id].change(entry.kind, arm)
                except InvalidArgumentError:
                    continue  # refused then, refused now

    def decide(self, row: DecisionRow) -> Any:
        """The draw of a decision that had seen as much as this."""
        bandit = self._bandits[row.bandit]
        key = self._secrets[bandit.experiment]
        secret = blake2b(bandit.segment.encode(), key=key, digest_size=16).digest()
        learner = self.learners[row.bandit]
        uniforms = np.empty(learner.draws)
        fill_with_key(secret, row.id, uniforms)
        return learner.decide(uniforms, awake=Learner.awake_at(row.ticket))
