"""Recompute a log: every decision, to the bit, and every state that was kept."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import sha256

from bothworlds.bandit.learner import Learner, engine
from bothworlds.errors import StateError
from bothworlds.service import ids
from bothworlds.service.replay import Replay
from bothworlds.service.store.base import DecisionRow, ServiceStore

CHUNK = 20_000
CLOSE = 1e-9  # how near probabilities of another engine must be
SHOWN = 20  # differences that are listed


@dataclass
class Verdict:
    """How much was recomputed, and what differs from what is stored."""

    start: int = 0
    """Where the log begins: what was before is no longer kept."""
    decisions: int = 0
    entries: int = 0
    snapshots: int = 0
    foreign: int = 0
    """Decisions of another engine, or after one, of which the probability must be near, not the same."""
    n_differences: int = 0
    differences: list[str] = field(default_factory=list)
    """The first of them, a sentence each."""

    @property
    def ok(self) -> bool:
        """Is all that was recomputed as it is stored?"""
        return not self.n_differences

    def differ(self, text: str) -> None:
        """Note a difference."""
        self.n_differences += 1
        if len(self.differences) < SHOWN:
            self.differences.append(text)


def verify(store: ServiceStore, project: str = "default") -> Verdict:
    """Compute everything in a project again, from the log alone, and compare.

    Parameters
    ----------
    store:
        An open store, that nobody else uses.
    project:
        The name of the project.

    Notes
    -----
    Arms, probabilities and tickets must be the same to the bit where the engine is this one; probabilities
    within 1e−9 where it is another, and from there on, as this engine went on from a state of that one.
    Positions must be dense. Snapshots must have the bytes of the states that are recomputed. Where the
    beginning of the log is no longer kept (see :func:`bothworlds.service.retention.retain`), everything is
    computed from the states that stand in its place.

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
    verdict = Verdict(start=row.start)
    try:
        replay = Replay.of(store, row)
    except StateError as error:
        verdict.differ(str(error))
        return verdict
    ours = all(engines.get(number) == here for number in replay.engines)
    snapshots = sorted(
        (
            snapshot
            for number in replay.learners
            for snapshot in store.snapshots(number)
            if snapshot.pos >= row.start
        ),
        key=lambda one: one.pos,
    )
    decisions = store.scan_decisions(row.id)
    decision = next(decisions, None)
    remaining = iter(snapshots)
    snapshot = next(remaining, None)

    def check_here() -> None:
        """Decisions and snapshots at this position."""
        nonlocal decision, snapshot, ours
        while decision is not None and decision.seen <= replay.position:
            if decision.seen < row.start and decision.made < row.retained:
                decision = next(decisions, None)  # to be deleted
                continue
            ours = ours and engines.get(decision.engine) == here
            _check_decision(replay, decision, ours, verdict)
            decision = next(decisions, None)
        while snapshot is not None and snapshot.pos <= replay.position:
            verdict.snapshots += 1
            where = f"the snapshot of bandit {snapshot.bandit} at {snapshot.pos}"
            if sha256(snapshot.state).digest() != snapshot.sha256:
                verdict.differ(f"{where} is damaged")
            elif (
                ours
                and engines.get(snapshot.engine) == here
                and replay.learners[snapshot.bandit].dump() != snapshot.state
            ):
                verdict.differ(f"{where} is another state")
            snapshot = next(remaining, None)

    check_here()
    while entries := store.entries(row.id, replay.position, CHUNK):
        for entry in entries:
            if entry.pos != replay.position + 1:
                verdict.differ(f"the log has a gap between {replay.position} and {entry.pos}")
            replay.apply([entry])
            verdict.entries += 1
            check_here()
    while decision is not None:
        seen, end = decision.seen, replay.position
        verdict.differ(f"{ids.text_of(decision.id)} has seen {seen}, the log ends at {end}")
        decision = next(decisions, None)
    return verdict


def _check_decision(replay: Replay, row: DecisionRow, ours: bool, verdict: Verdict) -> None:
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
