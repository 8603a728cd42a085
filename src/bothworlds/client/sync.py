"""The client for programs with threads, or with one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import Any, TypeVar

import httpx

from bothworlds.client.answers import Decision, Drained, Label, Outcome
from bothworlds.client.calls import Call, Calls, Effect, Failure, Pause, RawReply, Send
from bothworlds.client.connection import CONNECTIONS, failure_of, late, options

T = TypeVar("T")


class Client:
    """Decides and reports over HTTP, and never lets an outage of the service become one of yours.

    Ids of decisions are made here (UUIDs of version 7), so that a request whose answer was lost is sent again
    and done once. Threads may share a client, and so may processes that are forked.

    Parameters
    ----------
    url:
        Where the service is: ``"http://127.0.0.1:8787"``.
    key:
        A key of the role decider: ``"bw_…"``.
    decide_deadline:
        Seconds after which :meth:`decide` falls back, at the latest; all tries, name lookup and connecting
        included. It falls back earlier where three tries have failed.
    report_deadline:
        Seconds for which :meth:`report` tries again; the pauses between tries are random, and grow up to a
        second. With a spool three tries are all.
    spool:
        A file in which reports wait while the service cannot be reached: one for each service and project;
        processes may share it. None: there is none.
    spool_bytes:
        How large that file may become.

    Examples
    --------
    >>> from bothworlds.client import Client
    >>> with Client("http://127.0.0.1:9", key="bw_nobody_listens") as client:
    ...     decision = client.decide("button", fallback="blue")
    >>> decision.arm, decision.id, decision.reason
    ('blue', None, 'fallback')
    """

    def __init__(
        self,
        url: str,
        *,
        key: str,
        decide_deadline: float = 0.25,
        report_deadline: float = 10.0,
        spool: str | PathLike[str] | None = None,
        spool_bytes: int = 64 << 20,
    ) -> None:
        self._options = options(url, key)
        self._calls = Calls(decide_deadline, report_deadline, spool, spool_bytes)
        self._connect()

    def _connect(self) -> None:
        self._process = os.getpid()
        self._http = httpx.Client(**self._options)
        # The deadline is kept here: httpx bounds each wait, not their sum, and no lookup of names.
        self._threads = ThreadPoolExecutor(CONNECTIONS, "bothworlds-client")

    def decide(
        self,
        experiment: str,
        *,
        fallback: Label,
        segment: str = "",
        unit: str | None = None,
        context: Mapping[str, Any] | None = None,
        among: Iterable[Label] | None = None,
        id: str | None = None,
    ) -> Decision:
        """Choose an arm.

        If the service does not answer in time, or cannot do its part, the decision is the fallback, with
        ``id=None`` and ``reason="fallback"``. Your own mistakes raise: :class:`RefusedError` for an
        experiment that there is not, or a key that is not good.

        Parameters
        ----------
        experiment:
            Its name.
        fallback:
            The arm to be played while the service cannot be reached. Nothing is learned from it.
        segment:
            A bandit of its own within the experiment, made when it is first used.
        unit:
            Whom it is for; kept as a keyed hash. In a sticky experiment a unit keeps its first decision.
        context:
            JSON that is kept with the decision; plays no part in it.
        among:
            The arms that can be played this time; None: all.
        id:
            A UUID of your own, whose decision is made once, whatever process asks. None: a fresh one.
        """
        return self._run(
            self._calls.decide(
                experiment,
                fallback=fallback,
                segment=segment,
                unit=unit,
                context=context,
                among=among,
                id=id,
            )
        )

    def decide_many(
        self,
        experiment: str,
        units: Iterable[str | None],
        *,
        fallback: Label,
        segment: str = "",
        among: Iterable[Label] | None = None,
    ) -> list[Decision]:
        """Choose an arm for each unit, five hundred with one request, each of which has the deadline.

        Units of None are nobody: ``[None] * 10`` makes ten decisions. The other parameters are those of
        :meth:`decide`. If one is refused, the others are made; the error has all ``results``.
        """
        return self._run(
            self._calls.decide_many(experiment, units, fallback=fallback, segment=segment, among=among)
        )

    def report(
        self, decision: Decision | str, *, reward: float | None = None, loss: float | None = None
    ) -> Outcome:
        """Report the reward or the loss of a decision, or of its id.

        When this returns, it is on disk: that of the service, or (``reason="spooled"``) that of the spool.
        Nothing is sent for a fallback, whose reason is ``"fallback"``. The same report again changes nothing;
        another one for the same decision is refused.

        Each report that is acknowledged takes up to five hundred along from the spool.
        """
        return self._run(self._calls.report(decision, reward=reward, loss=loss))

    def report_many(
        self,
        decisions: Iterable[Decision | str],
        *,
        rewards: Iterable[float] | None = None,
        losses: Iterable[float] | None = None,
    ) -> list[Outcome]:
        """Report an outcome for each decision, five hundred with one request.

        If one is refused, the others are learned; the error has all ``results``.
        """
        return self._run(self._calls.report_many(decisions, rewards=rewards, losses=losses))

    def withdraw(self, decision: Decision | str) -> Outcome:
        """Close a decision without learning, because its arm was never shown."""
        return self._run(self._calls.withdraw(decision))

    def drain(self) -> Drained:
        """Send all that waits, as far as the service can be reached.

        That is the reports in the spool, and withdrawals of decisions that fell back because no answer
        came: the service may have made them, and nobody has played them. :meth:`report` sends some of
        both along.
        """
        return self._run(self._calls.drain())

    def close(self) -> None:
        """Close the connections; the spool stays as it is."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._options['base_url'])!r})"

    # --- effects --------------------------------------------------------------------------------------

    def _run(self, call: Call[T]) -> T:
        """Perform the effects of a call; its result."""
        try:
            effect = next(call)
            while True:
                effect = call.send(self._perform(effect))
        except StopIteration as end:
            result: T = end.value
            return result

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Send):
            return self._send(effect)
        if isinstance(effect, Pause):
            return time.sleep(effect.seconds)
        return effect.function()

    def _send(self, request: Send) -> RawReply | Failure:
        if os.getpid() != self._process:  # forked: the connections are those of the parent
            self._connect()
        sent = self._threads.submit(
            self._http.request, request.method, request.path, content=request.content, timeout=request.seconds
        )
        try:
            answer = sent.result(request.seconds)
        except TimeoutError:
            return late(request.seconds, sent=not sent.cancel())
        except httpx.RequestError as error:
            return failure_of(error, request.seconds)
        return RawReply(answer.status_code, answer.headers, answer.content)
