"""Many pulls at once: their decisions as columns, and the kernels that draw and learn them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from bothworlds._changeover import Kernels
from bothworlds._jit import FloatArray, IntArray
from bothworlds.bandit.feedback import Range
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.open_pulls import COLUMNS, FEEDBACK, OpenPull
from bothworlds.bandit.pull import Label, Pull, label_of
from bothworlds.policies.base import pull_many, update_many

if TYPE_CHECKING:
    from bothworlds.bandit.playing import Playing


class Pulls(Sequence[Pull]):
    """Pulls that were made together, as columns: ``arms``, ``observe``, ``probabilities``, ``rounds``.

    One of them is a :class:`Pull`; a slice, a mask or an array of positions gives fewer of them.

    Examples
    --------
    >>> import bothworlds as bw
    >>> bandit = bw.Bandit(["blue", "green", "red"], seed=7)
    >>> pulls = bandit.pull(5)
    >>> pulls.arms
    array(['green', 'green', 'green', 'blue', 'blue'], dtype='<U5')
    >>> pulls[0]
    Pull(round=1, arm='green', observe='green', probability=0.3333)
    >>> bandit.update(pulls, rewards=pulls.arms == "blue")
    >>> bandit.outstanding
    ()
    """

    __slots__ = ("arms", "bandit", "observe", "probabilities", "rounds")

    def __init__(
        self,
        rounds: IntArray,
        arms: NDArray[Any],
        observe: NDArray[Any],
        probabilities: FloatArray,
        bandit: str,
    ) -> None:
        self.rounds = rounds
        self.arms = arms
        self.observe = observe
        self.probabilities = probabilities
        self.bandit = bandit

    def __len__(self) -> int:
        return len(self.rounds)

    def __iter__(self) -> Iterator[Pull]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, which: int) -> Pull: ...
    @overload
    def __getitem__(self, which: slice | Sequence[int] | NDArray[Any]) -> Pulls: ...
    def __getitem__(self, which: Any) -> Pull | Pulls:
        rounds = self.rounds[which]
        if np.ndim(rounds):
            columns = self.arms[which], self.observe[which], self.probabilities[which]
            return Pulls(rounds, *columns, self.bandit)
        arm, observe = label_of(self.arms[which]), label_of(self.observe[which])
        return Pull(int(rounds), arm, observe, float(self.probabilities[which]), self.bandit)

    @property
    def ids(self) -> list[str]:
        """The id of each pull; a list of ids, too, can be updated."""
        return [f"{self.bandit}-{number}" for number in self.rounds.tolist()]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns in plain JSON types, named as those of a single pull."""
        return {
            "id": self.ids,
            "arm": self.arms.tolist(),
            "observe": self.observe.tolist(),
            "probability": self.probabilities.tolist(),
        }

    def __repr__(self) -> str:
        if not len(self):
            return "Pulls(none)"
        return f"Pulls({len(self)} from round {self.rounds[0]} to {self.rounds[-1]})"


class BatchKernels:
    """Draws and rounds by the array: the kernels, which are attributes, and the labels."""

    act: Callable[..., None]
    learn: Callable[..., int]

    def __init__(self, arms: Sequence[Label], params: Any, state: Any, draws: int) -> None:
        self.labels = self.column(arms)
        numbers, values = np.empty(0, np.int64), np.empty(0)
        self.kernels: Kernels = {
            "act": (pull_many, (params, state, np.empty((0, draws)), 0, numbers, numbers, *[values] * 3)),
            "learn": (update_many, (params, state, numbers, *[values] * 3)),
        }

    @staticmethod
    def column(labels: Sequence[Label]) -> NDArray[Any]:
        """Labels as an array: of strings or numbers where all are of one kind, else of objects."""
        kinds = {type(label) for label in labels}
        if kinds in ({str}, {int}, {float}) and (column := np.array(labels)).dtype.kind in "Uif":
            return column
        column = np.empty(len(labels), dtype=object)
        column[:] = labels
        return column


def draw_many(bandit: Playing, n: int, among: Iterable[Label] | None) -> Pulls:
    """The next ``n`` pulls; columns where a round is what the policy does, else one by one."""
    kernels, first = bandit._batch(), bandit._rounds + 1
    rounds = np.arange(first, first + n)
    one_by_one = bandit._wait is not None or bandit._shares or bandit._log is not None
    if one_by_one or bandit._roster.awake is not None or among is not None:
        made = [bandit.pull(among=among) for _ in range(n)]
        arms, observe = (kernels.column([pull[i] for pull in made]) for i in (1, 2))
        return Pulls(rounds, arms, observe, np.array([pull.probability for pull in made]), bandit._instance)
    uniforms = bandit._random.generator.random((n, bandit._policy.draws))
    numbers, shown = np.empty((2, n), np.int64)
    p, weights, memos = np.empty((3, n))
    outstanding, notes, begin = len(bandit._open), bandit._notes, 0
    while begin < n:
        if notes.due == first + begin:
            notes.note(bandit._distribution())
        end = min(n, notes.due - first)
        part = slice(begin, end)
        columns = (column[part] for column in (numbers, shown, p, weights, memos))
        kernels.act(bandit._params, bandit._state, uniforms[part], outstanding + begin, *columns)
        begin = end
    unknown = np.isnan(p)  # dear to compute, and not needed to learn
    if unknown.any():
        p[unknown] = weights[unknown] = np.array(bandit._policy_distribution())[numbers[unknown]]
    row = p, weights, memos, math.nan, 0.0, numbers, shown, bandit._restarts, len(bandit._instances) - 1
    rows = np.empty(n, COLUMNS)
    for name, column in zip(OpenPull._fields, row, strict=True):
        rows[name] = column
    bandit._open.add_many(first, rows)
    bandit._rounds += n
    for number, count in enumerate(np.bincount(numbers).tolist()):
        bandit._pulls[number] += count
    return Pulls(rounds, kernels.labels[numbers], kernels.labels[shown], p, bandit._instance)


def learn_many(bandit: Playing, pulls: Sequence[Pull | str], kind: str, feedback: FloatArray) -> None:
    """Learn the feedback of pulls, in their order; all of it or, if one pull is refused, none."""
    one_by_one = bandit._wait or bandit._shares or bandit._awake_at or bandit._log
    plain = isinstance(bandit._range, Range) and not one_by_one
    if plain and isinstance(pulls, Pulls):
        _learn_columns(bandit, pulls, feedback)
        return
    found = [bandit._find(pull) for pull in pulls]
    for number, row in found:
        if row is not None and not math.isnan(row[FEEDBACK]):
            raise bandit._repeated(bandit._pull(number, row))
    _require_distinct(bandit, pulls, np.array([number for number, _ in found]))
    if isinstance(bandit._range, LearnedRange):
        bandit._range.feedback_kind = kind
    for (number, row), one in zip(found, feedback.tolist(), strict=True):
        bandit._take_feedback(number, row, one)


def _learn_columns(bandit: Playing, pulls: Pulls, losses: FloatArray) -> None:
    opened = bandit._open
    places = opened.places(pulls.rounds)
    rows = opened.rows(places[places >= 0])
    instance = bandit._instances.index(pulls.bandit) if pulls.bandit in bandit._instances else -1
    if len(rows) < len(pulls) or (rows["instance"] != instance).any():
        for pull in pulls:
            bandit._find(pull)  # raises
    _require_distinct(bandit, pulls, pulls.rounds)
    known = np.flatnonzero(rows["restarts"] == bandit._restarts)  # the policy learns from these alone
    observe, weights, memos = (
        rows["observe"][known].astype(np.int64),
        rows["weight"][known],
        rows["memo"][known],
    )
    learned = bandit._batch().learn(bandit._params, bandit._state, observe, losses[known], weights, memos)
    done = len(rows) if learned == len(known) else int(known[learned])
    seen, sums = np.array(bandit._seen), np.array(bandit._sums)
    np.add.at(seen, rows["observe"][:done], 1)
    np.add.at(sums, rows["observe"][:done], losses[:done])  # one after the other, as single updates do
    bandit._seen, bandit._sums = seen.tolist(), sums.tolist()
    if bandit._record is not None:
        counted = pulls.rounds[:done] > bandit._record.since
        columns = rows["observe"][:done][counted].astype(np.int64), losses[:done][counted]
        bandit._record.note_answers(*columns, rows["probability"][:done][counted].copy())
    opened.close_many(places[:done])
    if done < len(rows):
        raise bandit._no_solution(pulls[done])


def _require_distinct(bandit: Playing, pulls: Sequence[Pull | str], rounds: IntArray) -> None:
    if (rounds[1:] > rounds[:-1]).all():  # as they were made
        return
    first = np.unique(rounds, return_index=True)[1]
    if len(first) < len(rounds):
        twice = np.setdiff1d(np.arange(len(rounds)), first)[0]
        raise bandit._repeated(pulls[int(twice)])
