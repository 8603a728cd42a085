"""What a bandit records of its own decisions for ``Bandit.evidence``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from bothworlds import _check, statefile
from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray, IntArray
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference import state as evidence_state
from bothworlds.inference.sums import N_COUNTS, PULLS
from bothworlds.policies.base import Policy, init, weight_of

Kind = Literal["arms", "full"]
KINDS = (None, "arms", "full")
APPROXIMATE = 1e-6  # the error of probabilities that are integrals; a larger one is safe


class EvidenceRecord:
    """What evidence needs: sums over answers, and from which pull on decisions count.

    How many decisions were made is counted by the bandit.
    """

    # kernels, which are attributes
    answer: Callable[..., None]
    impute: Callable[..., None]
    answer_many: Callable[..., None]

    def __init__(self, kind: Kind, slack: float, pulls: Sequence[int]) -> None:
        self.kind = kind
        self.slack = slack
        self.begin_anew(pulls)

    @classmethod
    def of(
        cls, kind: Any, policy: Policy, params: Any, scale: Any, pulls: Sequence[int]
    ) -> EvidenceRecord | None:
        """From the option of a bandit; None where nothing is kept."""
        _check.one_of("evidence", kind, KINDS)
        if kind is None:
            return None
        if isinstance(scale, LearnedRange):
            fix = "give the largest reward as high=..., and clip=True to cut off what is beyond"
            raise InvalidArgumentError("evidence", kind, "None where high is None", fix=fix)
        if policy.decoupled:
            fix = "keep a log, and ask bw.inference.evidence"
            raise InvalidArgumentError("evidence", kind, "None for a policy that shows another arm", fix=fix)
        slack = 0.0
        if not policy.explicit:
            weight = weight_of(params, init(params), 0)
            if kind == "full" and not math.isnan(weight):
                fix = "evidence='arms' needs no probabilities"
                wanted = "'arms', or kept with a policy that draws every arm with positive probability"
                raise InvalidArgumentError("evidence", kind, wanted, got=f"'full' with {policy!r}", fix=fix)
            slack = APPROXIMATE
        return cls(kind, slack, pulls)

    def begin_anew(self, pulls: Sequence[int]) -> None:
        """Forget all answers; decisions count from now on, after so many pulls of each arm."""
        self.before = list(pulls)
        self.since = sum(self.before)  # the number of pulls before the first that counts
        self.state = evidence_state.init_evidence(len(self.before), self.kind == "full")

    def kernels(self) -> Kernels:
        """The attributes that are kernels, with arguments of the right types."""
        numbers, values = np.empty(0, np.int64), np.empty(0)
        return {
            "answer": (evidence_state.answered, (self.state, 0, 0.0, 1.0)),
            "impute": (evidence_state.imputed, (self.state, 0, 0.0, 1.0)),
            "answer_many": (evidence_state.answered_many, (self.state, numbers, values, values)),
        }

    def note_answer(self, arm: int, loss: float, probability: float, *, imputed: bool) -> None:
        """Add the loss of a decision that counts; the time of one that was imputed says nothing of drift."""
        note = self.impute if imputed else self.answer
        note(self.state, arm, 1.0 - loss, min(1.0, probability + self.slack))

    def note_answers(self, arms: IntArray, losses: FloatArray, probabilities: FloatArray) -> None:
        """The same for many, in their order."""
        self.answer_many(self.state, arms, 1.0 - losses, np.minimum(1.0, probabilities + self.slack))

    def add_arm(self) -> None:
        """One arm more, of which nothing is known."""
        self.before.append(0)
        self.state = evidence_state.with_another_arm(self.state)

    def counted(self, pulls: Sequence[int]) -> evidence_state.EvidenceState:
        """Sums in which the decisions of every arm are those since the beginning."""
        state = statefile.clone_state(self.state)
        state.sums.counts[PULLS::N_COUNTS] = np.subtract(pulls, self.before)
        counted: evidence_state.EvidenceState = state
        return counted

    def copy(self) -> EvidenceRecord:
        """An independent copy, without kernels."""
        twin = EvidenceRecord(self.kind, self.slack, self.before)
        twin.state = statefile.clone_state(self.state)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self.kernels()}

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {"kind": self.kind, "before": list(self.before), "kept": statefile.pack(self.state)}

    def restore(self, data: dict[str, Any]) -> None:
        """Know what :meth:`to_dict` described."""
        self.before = statefile.counts(data, "before", len(self.before))
        self.since = sum(self.before)
        self.state = statefile.unpack(self.state, data["kept"], "evidence")
