"""What each key decided and reported, and an alarm on keys whose rewards are odd.

A key that may report can lie. Its rewards are held against those of every other key on the same arms of the
same bandits. Let x in [0, 1] be a report on an arm with mean m, whoever reports it: that is the hypothesis.
With any guess g that was made before (here the mean of the reports on that arm so far),

    E exp(±λ (x − m) − ψ(λ) (x − g)²) ≤ 1   for 0 ≤ λ < 1,   ψ(λ) = −log(1 − λ) − λ

(Fan, Grama and Liu, 2015), so that products of such factors are supermartingales whatever policy chose the
arms. Of two keys the reports of one have +λ and those of the other −λ. With d the sum of the former minus
the sum of the latter, v the sum of all (x − g)², and c how many more of the former there are on an arm,

    λ (d − Σ c m) − ψ(λ) v ≥ λ (d − Σ max(c, 0)) − ψ(λ) v,

where the sum is over arms: m is unknown, and the worst that it can be is 1 where c is positive and 0
where it is not. Reports that would take c beyond a few, either way, are left out; that is known before they
are read. The mean over both signs and over some λ is an e-process: by Ville's inequality it is ever above
1/α with probability α at most, however often one looks. The i-th pair of keys has α/(i (i + 1)), which adds
up to α for all of them together.

Who lies, of two that differ? A key is odd if it differs from more than half of those that it was compared
with: so one that lies is odd, and does not make all others odd. Of two keys alone both are.

Where the mean of an arm moves while c is not 0, that movement is added to d, too: at most AHEAD times as much
as the mean moves, up and down together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

ERROR = 0.01  # of all alarms of a project together, ever
AHEAD = 4  # by so many reports on an arm one key may be ahead of the other: clients report in batches
ENOUGH = 32  # reports of two keys, for their likeness to mean something
COMPANY, CROWD = 8, 64  # keys of an arm that all others are compared with, and keys that are compared at all
OFTEN = 16  # reports of a pair between two looks at its evidence
BETS = tuple(0.95 * 2.0**-i for i in range(8))
COSTS = tuple(-math.log1p(-bet) - bet for bet in BETS)

Stream: TypeAlias = tuple[int, int]
"""A bandit and one of its arms."""


@dataclass(eq=False)
class Reporter:
    """A key, how often it asked and reported, and how its reports compare with those of others."""

    number: int | None
    """Of the key; None stands for all requests without one."""
    decisions: int = 0
    """How many it asked for."""
    answered: int = 0
    """Of those, how many were reported on, by anybody."""
    reports: int = 0
    """How many it made."""
    compared: int = 0
    """Of those, how many were held against reports of others, each as often as it was."""
    difference: float = 0.0
    """By how much its rewards are larger than those of others, in shares of the range; NaN: not known."""
    log_e: float = 0.0
    """The evidence for that, of the clearest of its pairs, as a natural logarithm."""
    compared_with: int = 0
    """Keys that it was compared with often enough."""
    differs_from: int = 0
    """Of those, how many it differs from."""
    odd: bool = False
    """Does it differ from more than half of them? Once it did it stays so."""


@dataclass(eq=False)
class Pair:
    """Two keys, and how the reports of the first differ from those of the second."""

    first: Reporter
    second: Reporter
    place: int
    """1 for the first pair of the project, 2 for the second: its part of the error depends on it."""
    reports: int = 0
    total: float = 0.0
    difference: float = 0.0
    """Rewards of the first, minus those of the second, added up."""
    spread: float = 0.0
    """Squared distances from what was expected, added up."""
    above: int = 0
    """Reports of the first that are ahead, over all arms."""
    below: int = 0
    """Reports of the second that are ahead, over all arms."""
    peak: float = -math.inf

    @property
    def log_e(self) -> float:
        """The evidence against "their rewards are alike", as a logarithm."""
        gains = (self.difference - self.above, -self.difference - self.below)
        logs = [
            bet * gain - cost * self.spread for bet, cost in zip(BETS, COSTS, strict=True) for gain in gains
        ]
        top = max(logs)
        return top + math.log(sum(math.exp(log - top) for log in logs) / len(logs))

    @property
    def differs(self) -> bool:
        """Was the evidence ever beyond the threshold of this pair, place·(place + 1)/error?"""
        return self.peak >= math.log(self.place * (self.place + 1) / ERROR)


@dataclass(eq=False)
class _Reports:
    """Reports on one arm: of whom, and who is ahead of whom by how many."""

    n: int = 0
    total: float = 0.5
    keys: list[Reporter] = field(default_factory=list)
    ahead: dict[Pair, int] = field(default_factory=dict)


class Reporters:
    """The decisions that each key of a project asked for, and the outcomes that it reported.

    Examples
    --------
    >>> import random
    >>> from bothworlds.service.reporters import Reporters
    >>> draw, reporters = random.Random(7), Reporters()
    >>> for _ in range(400):
    ...     key, arm = draw.randrange(4), draw.randrange(2)
    ...     reporters.report(key, (1, arm), 1.0 if key == 3 else float(draw.random() < 0.2 + 0.3 * arm))
    >>> [reporter.number for reporter in reporters.check()]
    [3]
    """

    def __init__(self) -> None:
        self._reporters: dict[int | None, Reporter] = {}
        self._pairs: dict[tuple[Reporter, Reporter], Pair] = {}
        self._streams: dict[Stream, _Reports] = {}
        self._touched: set[Pair] = set()

    def __iter__(self) -> Iterator[Reporter]:
        """All keys, in the order in which they were first seen."""
        return iter(list(self._reporters.values()))

    def of(self, number: int | None) -> Reporter:
        """The reporter with this number, made if there is none."""
        found = self._reporters.get(number)
        if found is None:
            found = self._reporters[number] = Reporter(number)
        return found

    def report(self, number: int | None, stream: Stream | None, reward: float) -> None:
        """A key reported a reward, in shares of the range; ``stream`` None: with nothing to compare it to."""
        reporter = self.of(number)
        reporter.reports += 1
        if stream is None:
            return
        reports = self._streams.get(stream)
        if reports is None:
            reports = self._streams[stream] = _Reports()
        cost = (reward - reports.total / (1 + reports.n)) ** 2
        reports.n += 1
        reports.total += reward
        keys = reports.keys
        if reporter not in keys:
            if len(keys) == CROWD:
                return
            keys.append(reporter)
        if len(keys) > 1:
            for other in keys if reporter in keys[:COMPANY] else keys[:COMPANY]:
                if other is not reporter:
                    self._compare(reports.ahead, reporter, other, reward, cost)

    def _compare(
        self, ahead: dict[Pair, int], reporter: Reporter, other: Reporter, reward: float, cost: float
    ) -> None:
        pair = self._pairs.get((reporter, other))
        if pair is None:
            pair = Pair(other, reporter, place=1 + len(self._pairs) // 2)
            self._pairs[reporter, other] = self._pairs[other, reporter] = pair
        sign = 1 if pair.first is reporter else -1
        before = ahead.get(pair, 0)
        after = before + sign
        if abs(after) > AHEAD:
            return
        ahead[pair] = after
        pair.above += max(after, 0) - max(before, 0)
        pair.below += max(-after, 0) - max(-before, 0)
        pair.total += reward
        pair.difference += sign * reward
        pair.spread += cost
        pair.reports += 1
        self._touched.add(pair)
        if pair.reports % OFTEN == 0:  # so that all who read the log find the same
            pair.peak = max(pair.peak, pair.log_e)

    def check(self) -> list[Reporter]:
        """Weigh the evidence, and raise the alarms that are due; those that are new."""
        for pair in self._touched:
            pair.peak = max(pair.peak, pair.log_e)
        self._touched.clear()
        pairs = set(self._pairs.values())
        new = []
        for reporter in self:
            own = [pair for pair in pairs if reporter in (pair.first, pair.second)]
            enough = [pair for pair in own if pair.reports >= ENOUGH or pair.differs]
            reporter.compared = sum(pair.reports for pair in own) // 2
            reporter.difference = _difference(reporter, own)
            reporter.log_e = max((pair.peak for pair in own), default=-math.inf)
            reporter.compared_with, reporter.differs_from = len(enough), sum(pair.differs for pair in enough)
            if 2 * reporter.differs_from > reporter.compared_with and not reporter.odd:
                reporter.odd = True
                new.append(reporter)
        return new


def _difference(reporter: Reporter, pairs: Sequence[Pair]) -> float:
    """The mean of a key minus that of others, over what was compared: the same arms, about equally often."""
    mine = theirs = n_mine = n_theirs = 0.0
    for pair in pairs:
        sign = 1 if pair.first is reporter else -1
        difference, ahead = sign * pair.difference, sign * (pair.above - pair.below)
        mine, n_mine = mine + (pair.total + difference) / 2, n_mine + (pair.reports + ahead) / 2
        theirs, n_theirs = theirs + (pair.total - difference) / 2, n_theirs + (pair.reports - ahead) / 2
    return mine / n_mine - theirs / n_theirs if n_mine and n_theirs else math.nan
