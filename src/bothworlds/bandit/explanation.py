"""Why a pull was drawn: what a bandit can say of one decision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bothworlds._words import counted
from bothworlds.bandit.open_pulls import FEEDBACK
from bothworlds.bandit.pull import Label, Pull
from bothworlds.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bothworlds.bandit.queries import Queries

SHOWN = 5  # arms


@dataclass(frozen=True)
class Explanation:
    """One decision: how likely it was, what the others had, and what was known.

    ``distribution`` is that before round ``noted``, the last one at or before the pull that was noted (see
    ``Bandit.history``); ``seen`` has the number of answers and their mean, for each arm, as of now.
    """

    pull: Pull
    policy: str
    share: float | None
    """What the arm gets whatever was learned: its fixed share, or the floor; None if nothing."""
    asleep: tuple[Label, ...]
    noted: int | None
    distribution: dict[Label, float]
    seen: dict[Label, tuple[int, float | None]]
    feedback_kind: str
    """``"reward"`` or ``"loss"``: what the means are of."""
    outcome: str

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "pull": self.pull.to_dict(),
            "policy": self.policy,
            "share": self.share,
            "asleep": list(self.asleep),
            "noted": self.noted,
            "distribution": [{"arm": arm, "probability": p} for arm, p in self.distribution.items()],
            "seen": [{"arm": arm, "answers": n, "mean": mean} for arm, (n, mean) in self.seen.items()],
            "word": self.feedback_kind,
            "outcome": self.outcome,
        }

    def __str__(self) -> str:
        pull = self.pull
        drawn = f"{pull.arm} was drawn by {self.policy}, with probability {pull.probability:.4g}."
        lines = [f"Round {pull.round}: {drawn}"]
        if pull.observe != pull.arm:
            lines.append(f"It shows the outcome of {pull.observe}: the policy is decoupled.")
        if self.share is not None:
            lines.append(f"Of that, {self.share:.4g} is its share whatever was learned.")
        if self.asleep:
            lines.append(f"It could not draw {', '.join(map(str, self.asleep))}.")
        if self.noted is not None:
            ranked = sorted(self.distribution, key=lambda arm: -self.distribution[arm])
            others = [f"{arm} {self.distribution[arm]:.1%}" for arm in ranked[:SHOWN]]
            more = f", and {counted(len(ranked) - SHOWN, 'more arm')}" if len(ranked) > SHOWN else ""
            when = "Then" if self.noted == pull.round else f"In round {self.noted}, the last one noted,"
            lines.append(f"{when} the distribution was {', '.join(others)}{more}.")
            if pull.arm != ranked[0]:
                lines.append(
                    f"{ranked[0]} was likelier: others are drawn too, to learn whether they are better."
                )
        known = [
            f"{arm} {mean:.4g} in {counted(n, 'answer')}"
            for arm, (n, mean) in sorted(self.seen.items(), key=lambda item: -item[1][0])[:SHOWN]
            if mean is not None
        ]
        lines.append(
            f"Mean {self.feedback_kind} as of now: {', '.join(known)}." if known else "Nothing was seen yet."
        )
        lines.append(self.outcome)
        return "\n".join(lines)


def explain(bandit: Queries, pull: Pull | str) -> Explanation:
    """What ``bandit`` can say of a pull that it made."""
    number, row = bandit._find_any(pull)
    if row is not None:
        made = bandit._pull(number, row)
        outcome = (
            "Its feedback has not come."
            if math.isnan(row[FEEDBACK])
            else "Its feedback waits for its deadline."
        )
    elif isinstance(pull, Pull):
        made, outcome = pull, "It is closed: its feedback was learned, or came too late, or it was forgotten."
    else:
        wanted, fix = "that of an open pull", "give the Pull itself: of closed ones no arms are kept"
        raise InvalidArgumentError("pull", pull, wanted, fix=fix)
    noted = bandit.history.before(number)
    place = bandit._arms.index(made.arm)
    shares, awake = bandit._shares, bandit._awake_at.get(number)
    share = None if shares is None else shares.fixed.get(place, shares.floor or None)
    seen: dict[Label, tuple[int, float | None]] = {}
    for i, arm in enumerate(bandit._arms):
        if i not in bandit._roster.retired:
            n = bandit._seen[i]
            mean = bandit._range.value_of(bandit._feedback_kind, bandit._sums[i] / n) if n else None
            seen[arm] = (n, mean)
    return Explanation(
        pull=made,
        policy=repr(bandit._policy),
        share=share,
        asleep=()
        if awake is None
        else bandit._roster.labels([i for i, is_awake in enumerate(awake) if not is_awake]),
        noted=None if noted is None else noted[0],
        distribution={} if noted is None else noted[1],
        seen=seen,
        feedback_kind=bandit._feedback_kind,
        outcome=outcome,
    )
