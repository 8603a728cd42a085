"""``bothworlds.open``: a bandit in a file, which survives everything that a process can meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, overload

from bothworlds import _check
from bothworlds.bandit.feedback import PLURALS
from bothworlds.bandit.learner import Learner
from bothworlds.bandit.pull import Label
from bothworlds.errors import InvalidArgumentError
from bothworlds.policies.base import Policy
from bothworlds.service import problems
from bothworlds.service.hub import Hub
from bothworlds.service.messages import Decide, Decision, Outcome, Report
from bothworlds.service.settings import checked_settings, name_of
from bothworlds.service.store import open_store


class DurableBandit:
    """A bandit in a database; :func:`bothworlds.open` makes it.

    It has the words of :class:`bothworlds.Bandit`: ``pull`` and ``update``. All of its methods may be called
    from several threads, and from several processes that have opened the same file. Close it, or use it as a
    context manager.
    """

    def __init__(self, hub: Hub, name: str, segment: str = "") -> None:
        self._hub = hub
        self.name = name
        self._segment = segment

    # --- the loop -------------------------------------------------------------------------------------

    @overload
    def pull(
        self,
        *,
        id: str | None = None,
        unit: str | None = None,
        among: Iterable[Label] | None = None,
        context: bytes | None = None,
    ) -> Decision: ...
    @overload
    def pull(self, n: int, *, among: Iterable[Label] | None = None) -> list[Decision]: ...
    def pull(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        unit: str | None = None,
        among: Iterable[Label] | None = None,
        context: bytes | None = None,
    ) -> Decision | list[Decision]:
        """Draw an arm, or ``n`` in one commit; they are on disk when this returns.

        Parameters
        ----------
        n:
            How many; None: one.
        id:
            A UUID of your own. The same id gets the same decision, so that a call whose answer was lost can
            be repeated. None: a fresh one.
        unit:
            Whom it is for; kept as a keyed hash. In a sticky experiment a unit keeps its first decision.
        among:
            The arms that can be played this time; None: all. As in :meth:`bothworlds.Bandit.pull`.
        context:
            Up to 4096 bytes that are kept with the decision.
        """
        chosen = None if among is None else tuple(among)
        if n is None:
            return self._hub.decide(
                self.name, id=id, segment=self._segment, unit=unit, context=context, among=chosen
            )
        _check.integer("n", n, at_least=0, fix="write pull() for one, pull(10) for ten")
        for name, value in (("id", id), ("unit", unit), ("context", context)):
            if value is not None:
                raise InvalidArgumentError(
                    name, value, "given for a single pull", fix=f"write pull({name}=...)"
                )
        return self._many([Decide(self.name, segment=self._segment, among=chosen)] * n)

    @overload
    def update(self, pull: Decision | str, *, reward: float) -> Outcome: ...
    @overload
    def update(self, pull: Decision | str, *, loss: float) -> Outcome: ...
    @overload
    def update(self, pull: Sequence[Decision | str], *, rewards: Iterable[float]) -> list[Outcome]: ...
    @overload
    def update(self, pull: Sequence[Decision | str], *, losses: Iterable[float]) -> list[Outcome]: ...
    def update(
        self,
        pull: Any,
        *,
        reward: float | None = None,
        loss: float | None = None,
        rewards: Iterable[float] | None = None,
        losses: Iterable[float] | None = None,
    ) -> Outcome | list[Outcome]:
        """Report the reward or the loss of a decision, or of its id, in any process, in any order.

        It is on disk, and learned, when this returns. The same report again changes nothing; another one for
        the same decision is refused. For several decisions ``rewards`` or ``losses`` has a number for each,
        in one commit; if one of them is refused, the others are learned, and its problem is raised.
        """
        if rewards is None and losses is None:
            return self._hub.report(_id_of(pull), reward=reward, loss=loss)
        kind, values = ("reward", rewards) if losses is None else ("loss", losses)
        numbers, texts = list(values or ()), [_id_of(each) for each in pull]
        if len(numbers) != len(texts):
            raise InvalidArgumentError(
                PLURALS[kind], numbers, f"of length {len(texts)}", fix="give one for each"
            )
        values_of: list[dict[str, Any]] = [{kind: number} for number in numbers]
        return self._many([Report(text, **one) for text, one in zip(texts, values_of, strict=True)])

    def _many(self, requests: list[Any]) -> list[Any]:
        answers = self._hub.submit(requests).result()
        for answer in answers:
            if isinstance(answer, problems.ServiceError):
                raise answer
        return answers

    def forget(self, pull: Decision | str) -> Outcome:
        """Close a decision without learning, because its arm was never shown."""
        return self._hub.withdraw(_id_of(pull))

    # --- arms -----------------------------------------------------------------------------------------

    def add(self, arm: Label) -> None:
        """A new arm, as in :meth:`bothworlds.Bandit.add`."""
        self._hub.change(self.name, "add", arm)

    def retire(self, arm: Label) -> None:
        """Let an arm go for good, as in :meth:`bothworlds.Bandit.retire`."""
        self._hub.change(self.name, "retire", arm)

    def disable(self, arm: Label) -> None:
        """Let an arm sleep, as in :meth:`bothworlds.Bandit.disable`."""
        self._hub.change(self.name, "disable", arm)

    def enable(self, arm: Label) -> None:
        """Wake an arm, as in :meth:`bothworlds.Bandit.enable`."""
        self._hub.change(self.name, "enable", arm)

    def restart(self) -> None:
        """Forget everything, as in :meth:`bothworlds.Bandit.restart`."""
        self._hub.change(self.name, "restart")

    # --- what it knows --------------------------------------------------------------------------------

    def _learner(self) -> Learner:
        return self._hub.learner(self.name, self._segment)

    @property
    def probabilities(self) -> dict[Label, float]:
        """The distribution that the next pull is drawn from."""
        return self._learner().probabilities()

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms, without those that have retired."""
        return self._learner().arms

    @property
    def disabled(self) -> tuple[Label, ...]:
        """The labels of the arms that are disabled."""
        return self._learner().disabled

    @property
    def retired(self) -> tuple[Label, ...]:
        """The labels of the arms that have retired."""
        return self._learner().retired

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._learner().policy

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The range in force, as in :class:`bothworlds.Bandit`."""
        return self._learner().range

    @property
    def position(self) -> int:
        """How many entries of the log have been learned."""
        return self._hub.position

    def segment(self, name: str) -> DurableBandit:
        """The bandit of a segment: the same arms and policy, and an experience of its own.

        It is open as long as this one is.
        """
        return DurableBandit(self._hub, self.name, name_of("segment", name, empty=True))

    def close(self) -> None:
        """Keep a snapshot, and close the file. Nothing is lost without it."""
        self._hub.close()

    def __enter__(self) -> DurableBandit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        segment = f", segment={self._segment!r}" if self._segment else ""
        return f"DurableBandit({self.name!r}{segment})"


def _id_of(pull: Decision | str) -> str:
    if isinstance(pull, Decision):
        return pull.id
    if isinstance(pull, str):
        return pull
    fix = "for several write rewards=... or losses=..." if isinstance(pull, Sequence) else ""
    raise InvalidArgumentError("pull", pull, "what pull() returned, or its id", fix=fix)


def open(
    path: str | PathLike[str],
    name: str,
    *,
    arms: int | Sequence[Label],
    policy: Policy | str | None = None,
    horizon: int | None = None,
    low: float | None = 0.0,
    high: float | None = 1.0,
    clip: bool = False,
    wait: timedelta | float | None = None,
    missing: float | None = None,
    learn_at: Literal["arrival", "deadline"] | None = None,
    sticky: bool = False,
    max_segments: int = 1000,
) -> DurableBandit:
    """A bandit in a file: what it has answered survives the end of the process, however it ends.

    Decisions and outcomes are on disk before ``pull`` and ``update`` return. Several processes of one machine
    may open the same file; each learns what the others have reported. Every decision can be computed again
    from the log (``bothworlds.service.verify``).

    Parameters
    ----------
    path:
        The file, an SQLite database, made if it is not there; or ``postgresql://host/database``, for several
        machines. It may hold many bandits.
    name:
        That of the bandit. If the file has it, the settings below must be those it was made with.
    arms, policy, horizon, low, high, clip:
        As in :class:`bothworlds.Bandit`. Where ``high`` is None, rewards are reported, not losses.
    wait:
        How long a decision waits for its outcome: a timedelta, or seconds. None: for ever.
    missing:
        The reward that is learned when the wait is over. None: nothing is.
    learn_at:
        ``"arrival"`` or ``"deadline"``, as in :class:`bothworlds.Bandit`; None: at the deadline where
        something is missing, else on arrival.
    sticky:
        Does a unit keep its first decision? While the arm of that one cannot be played (it is disabled, has
        retired, or is not in ``among``) the unit has another, which it keeps likewise.
    max_segments:
        How many segments have a bandit of their own; those that come later share one.

    Notes
    -----
    The draw is a function of the id of the decision, of a secret in the file, and of what was learned before:
    there is no seed.

    Examples
    --------
    >>> import bothworlds as bw
    >>> with bw.open("prices.db", "button", arms=["blue", "green"], policy="tsallis-inf") as bandit:
    ...     pull = bandit.pull()
    ...     outcome = bandit.update(pull, reward=1.0)
    ...     before = bandit.probabilities
    >>> outcome.learned
    True
    >>> with bw.open("prices.db", "button", arms=["blue", "green"], policy="tsallis-inf") as bandit:
    ...     bandit.probabilities == before
    True
    """
    settings = checked_settings(
        arms,
        policy,
        horizon=horizon,
        low=low,
        high=high,
        clip=clip,
        wait=wait,
        missing=missing,
        learn_at=learn_at,
        sticky=sticky,
        max_segments=max_segments,
    )
    name_of("name", name)
    hub = Hub(open_store(path))
    try:
        hub.create(name, settings)
    except BaseException:
        hub.close()
        raise
    return DurableBandit(hub, name)
