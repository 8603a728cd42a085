"""Recompute a log: every decision, to the bit, and every state that was kept."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any

import msgspec
import numpy as np

from bothworlds.bandit.keys import fill_with_key
from bothworlds.bandit.learner import Learner, engine
from bothworlds.bandit.pull import label_of
from bothworlds.errors import InvalidArgumentError
from bothworlds.service import ids
from bothworlds.service.settings import Settings
from bothworlds.service.store.base import SETTINGS, BanditRow, DecisionRow, EntryRow, ExperimentRow, Store

CHUNK = 20_000
CLOSE = 1e-9  # how near probabilities of another engine must be
SHOWN = 20  # differences that are told in full


@dataclass
class Verdict:
    """What was recomputed, and what differs."""

    decisions: int = 0
    entries: int = 0
    snapshots: int = 0
    foreign: int = 0
    """Decisions of another engine, of which the probability must be near, not the same."""
    n_differences: int = 0
    differences: list[str] = field(default_factory=list)
    """The first of them, in words."""

    @property
    def ok(self) -> bool:
        """Is everything as it was?"""
        return not self.n_differences

    def differ(self, text: str) -> None:
        """Note a difference."""
        self.n_differences += 1
        if len(self.differences) < SHOWN:
            self.differences.append(text)


class _Replay:
    """All bandits of a project, as of one position, from the log alone. Written apart from the hub."""

    def __init__(self, experiments: list[ExperimentRow], bandits: list[BanditRow]) -> None:
        self.settings = {row.id: msgspec.json.decode(row.settings, type=Settings) for row in experiments}
        self.secrets = {row.id: row.secret for row in experiments}
        self.bandits = {row.id: row for row in bandits}
        self.learners = {row.id: self.settings[row.experiment].learner() for row in bandits}

    def apply(self, entry: EntryRow) -> None:
        if entry.bandit is not None:
            if entry.kept is not None:
                self.learners[entry.bandit].learn([entry.ticket], [entry.kept])  # type: ignore[list-item]
            return
        if entry.kind == SETTINGS:
            return  # none that a learner reads
        arm = label_of(json.loads(entry.body or "null"))
        for row in self.bandits.values():
            if row.experiment == entry.experiment:
                try:
                    self.learners[row.id].change(entry.kind, arm)
                except InvalidArgumentError:
                    continue  # refused then, refused now

    def decide(self, row: DecisionRow) -> Any:
        bandit = self.bandits[row.bandit]
        key = self.secrets[bandit.experiment]
        secret = blake2b(bandit.segment.encode(), key=key, digest_size=16).digest()
        learner = self.learners[row.bandit]
        uniforms = np.empty(learner.draws)
        fill_with_key(secret, row.id, uniforms)
        return learner.decide(uniforms, awake=Learner.awake_at(row.ticket))


def verify(store: Store, project: str = "default") -> Verdict:
    """Compute everything in a project again, from the log alone, and compare.

    Parameters
    ----------
    store:
        An open store, that nobody else uses.
    project:
        The name of the project.

    Notes
    -----
    Arms, probabilities and tickets must be the same to the bit where the engine is this one, probabilities
    within 1e−9 where it is another. Positions must be dense. Snapshots must have the bytes of the states that
    are recomputed.

    Examples
    --------
    >>> import bothworlds as bw
    >>> from bothworlds.service.store import open_store
    >>> from bothworlds.service.verify import verify
    >>> with bw.open("checked.db", "button", arms=["blue", "green"], policy="tsallis-inf") as bandit:
    ...     for _ in range(3):
    ...         _ = bandit.update(bandit.pull(), reward=1.0)
    >>> verdict = verify(open_store("checked.db"))
    >>> verdict.ok, verdict.decisions, verdict.entries
    (True, 3, 3)
    """
    row = store.project(project)
    engines, here = store.engines(), engine()
    bandits = store.bandits(row.id, 0)
    replay = _Replay(store.experiments(row.id), bandits)
    verdict = Verdict()
    snapshots = sorted(
        (snapshot for bandit in bandits for snapshot in store.snapshots(bandit.id)), key=lambda one: one.pos
    )
    decisions = store.scan_decisions(row.id)
    decision = next(decisions, None)
    position, kept = 0, iter(snapshots)
    snapshot = next(kept, None)

    def check_here() -> None:
        """Decisions and snapshots at this position."""
        nonlocal decision, snapshot
        while decision is not None and decision.seen <= position:
            _check_decision(replay, decision, engines.get(decision.engine) == here, verdict)
            decision = next(decisions, None)
        while snapshot is not None and snapshot.pos <= position:
            verdict.snapshots += 1
            where = f"the snapshot of bandit {snapshot.bandit} at {snapshot.pos}"
            if sha256(snapshot.state).digest() != snapshot.sha256:
                verdict.differ(f"{where} is damaged")
            elif (
                engines.get(snapshot.engine) == here
                and replay.learners[snapshot.bandit].dump() != snapshot.state
            ):
                verdict.differ(f"{where} is another state")
            snapshot = next(kept, None)

    check_here()
    while entries := store.entries(row.id, position, CHUNK):
        for entry in entries:
            if entry.pos != position + 1:
                verdict.differ(f"the log has a gap between {position} and {entry.pos}")
            replay.apply(entry)
            position = entry.pos
            verdict.entries += 1
            check_here()
    while decision is not None:
        verdict.differ(f"{ids.text_of(decision.id)} has seen {decision.seen}, the log ends at {position}")
        decision = next(decisions, None)
    return verdict


def _check_decision(replay: _Replay, row: DecisionRow, ours: bool, verdict: Verdict) -> None:
    verdict.decisions += 1
    draw = replay.decide(row)
    if ours:
        same = (
            draw.arm == row.arm
            and struct.pack("d", draw.probability) == struct.pack("d", row.probability)
            and draw.ticket == row.ticket
        )
        found = f"arm {draw.arm} with {draw.probability!r}"
    else:
        verdict.foreign += 1
        p = list(replay.learners[row.bandit].probabilities().values())
        same = Learner.awake_at(row.ticket) is not None or abs(p[row.arm] - row.probability) <= CLOSE
        found = f"p = {p}"
    if not same:
        verdict.differ(
            f"{ids.text_of(row.id)} is arm {row.arm} with {row.probability!r} in the log, {found} recomputed"
        )
