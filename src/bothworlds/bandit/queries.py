"""What a bandit can be asked: its settings, its log and history, evidence, explanations; how it prints."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bothworlds.bandit import printing, several
from bothworlds.bandit.changing import Changing
from bothworlds.bandit.decision_log import DecisionLog
from bothworlds.bandit.explanation import Explanation, explain
from bothworlds.bandit.feedback import Range
from bothworlds.bandit.history import History
from bothworlds.bandit.pull import Label, Pull
from bothworlds.errors import InvalidArgumentError
from bothworlds.inference.statements import Evidence
from bothworlds.policies.base import Policy
from bothworlds.problem import Problem


class Queries(Changing):
    """All that can be asked of a bandit, which changes nothing; :class:`Bandit` adds making and saving it."""

    @property
    def log(self) -> DecisionLog | None:
        """Where decisions are written down, if you give one: see :class:`bothworlds.DecisionLog`."""
        return self._log

    @log.setter
    def log(self, log: DecisionLog | None) -> None:
        if log is not None and not isinstance(log, DecisionLog):
            fix = f"write bandit.log = bw.DecisionLog({log!r})"
            raise InvalidArgumentError("log", log, "a DecisionLog, or None", fix=fix)
        if log is not None and log.probabilities and self._policy.decoupled:
            fix = "it observes other arms than it plays: leave out probabilities=True"
            raise InvalidArgumentError("log", log, "without probabilities for this policy", fix=fix)
        several.refuse(self._problem, log=log)
        with self._lock:
            self._log = log

    @property
    def history(self) -> History:
        """How the distribution has moved: at most 64 of its moments, for fewer than 1,000 arms."""
        with self._lock:
            return self._notes.history(self._arms)

    def evidence(
        self, *, error: float = 0.05, world: Literal["stationary", "any"] | None = None, joint: bool = False
    ) -> Evidence:
        """What can be concluded from the decisions so far: ask as often as you like.

        Needs ``Bandit(..., evidence="full")`` or ``"arms"``. Decisions are counted when they are made, so
        that answers which are late, or lost, do not mislead. It begins anew with :meth:`restart`.

        Parameters
        ----------
        error:
            The probability with which a statement may ever be wrong.
        world:
            ``"stationary"``: no mean moves. ``"any"``: nothing is assumed; means are over all rounds. None:
            stationary until the drift alarm is raised, then any.
        joint:
            Let all intervals of arms be right together with probability 1 − error.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], bw.TsallisINF(), seed=7, evidence="full")
        >>> for i in range(600):
        ...     pull = bandit.pull()
        ...     bandit.update(pull, reward=i % 10 < (7 if pull.arm == "green" else 3))
        >>> evidence = bandit.evidence()
        >>> print(evidence.compare("green", "blue").verdict)
        green is better than blue in a stationary world
        >>> print(evidence["green"])
        0.695 [0.625, 0.760]
        """
        with self._lock:
            self._close_overdue()
            if self._record is None:
                fix = (
                    'make the bandit with evidence="full", or load it so: Bandit.load(path, evidence="full")'
                )
                raise InvalidArgumentError("evidence", None, "kept from the beginning", got="none", fix=fix)
            assert isinstance(self._range, Range)
            return Evidence(
                self._record.counted(self._pulls),
                self._arms,
                error=error,
                world=world,
                low=self._range.low,
                high=self._range.high,
                feedback_kind=self._feedback_kind,
                joint=joint,
                probabilities=np.array(self._distribution()),
                since=self._record.since,
            )

    def explain(self, pull: Pull | str) -> Explanation:
        """Say of a pull how likely it was, what the others had, and what was known.

        Of an open pull its id will do; one that is closed must be given itself.

        Examples
        --------
        >>> import bothworlds as bw
        >>> bandit = bw.Bandit(["blue", "green"], bw.LightBarrier(), seed=7)
        >>> for _ in range(9):
        ...     pull = bandit.pull()
        ...     bandit.update(pull, reward=float(pull.arm == "green"))
        >>> print(bandit.explain(bandit.pull()))
        Round 10: green was drawn by LightBarrier(), with probability 0.9044.
        Then the distribution was green 90.4%, blue 9.6%.
        Mean reward as of now: green 1 in 5 answers, blue 0 in 4 answers.
        Its feedback has not come.
        """
        several.refuse(self._problem, pull=pull)
        with self._lock:
            return explain(self, pull)

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms, without those that have retired."""
        return self._roster.there

    def __len__(self) -> int:
        """The number of arms, without those that have retired."""
        return len(self._roster.there)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def problem(self) -> Problem:
        """What is chosen in a round, and what is shown; arms are numbers there."""
        return self._problem

    @property
    def slots(self) -> dict[Label, tuple[Label, ...]] | None:
        """The slots and their arms, where arms were given by slot; else None.

        Examples
        --------
        >>> import bothworlds as bw
        >>> page = bw.Bandit({"headline": ["short", "long"], "picture": ["cat", "dog"]}, seed=7)
        >>> page.slots
        {'headline': ('short', 'long'), 'picture': ('cat', 'dog')}
        >>> dict(zip(page.slots, page.pull().arms))
        {'headline': 'short', 'picture': 'dog'}
        """
        return None if self._slots is None else self._slots.share_out(self._arms)

    @property
    def horizon(self) -> int | None:
        """The horizon that was given."""
        return self._horizon

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The range in force, low and high; where it is learned, None before anything is known of it.

        Examples
        --------
        >>> import bothworlds as bw
        >>> shop = bw.Bandit(["a", "b"], high=None, seed=7)
        >>> for basket in (0.0, 40.0, 0.0, 50.0):
        ...     shop.update(shop.pull(), reward=basket)
        >>> low, high = shop.range
        >>> low, round(high)
        (0.0, 60)
        """
        with self._lock:
            return self._range.low, self._range.high

    @property
    def rounds(self) -> int:
        """How many pulls have been made."""
        return self._rounds

    @property
    def outstanding(self) -> tuple[Pull, ...]:
        """The pulls that wait for feedback, oldest first."""
        with self._lock:
            self._close_overdue()
            return tuple(self._pull(number, pull) for number, pull in self._open if math.isnan(pull.feedback))

    @property
    def late(self) -> int:
        """How many answers came after the wait of their pulls was over, and were not learned."""
        return self._late

    def __repr__(self) -> str:
        return printing.line(self)

    def __str__(self) -> str:
        return printing.plain_table(self)

    def _repr_html_(self) -> str:
        return printing.notebook_page(self)
