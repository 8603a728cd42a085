"""The client for programs with an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import httpx

from bothworlds.client.answers import Decision, Drained, Label, Outcome
from bothworlds.client.calls import Call, Calls, Effect, Failure, Pause, RawReply, Send
from bothworlds.client.connection import failure_of, late, options

T = TypeVar("T")


class AsyncClient:
    """The same as :class:`Client`, with ``await`` and ``async with``.

    Parameters
    ----------
    url, key, decide_deadline, report_deadline, spool, spool_bytes:
        As in :class:`Client`.

    Examples
    --------
    >>> import asyncio
    >>> from bothworlds.client import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:9", key="bw_nobody_listens") as client:
    ...         return await client.decide("button", fallback="blue")
    >>> asyncio.run(main()).reason
    'fallback'
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
        self._http = httpx.AsyncClient(**self._options)

    async def decide(
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
        """Choose an arm, as :meth:`Client.decide` does."""
        return await self._run(
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

    async def decide_many(
        self,
        experiment: str,
        units: Iterable[str | None],
        *,
        fallback: Label,
        segment: str = "",
        among: Iterable[Label] | None = None,
    ) -> list[Decision]:
        """Choose an arm for each unit, as :meth:`Client.decide_many` does."""
        return await self._run(
            self._calls.decide_many(experiment, units, fallback=fallback, segment=segment, among=among)
        )

    async def report(
        self, decision: Decision | str, *, reward: float | None = None, loss: float | None = None
    ) -> Outcome:
        """Report the outcome of a decision, as :meth:`Client.report` does."""
        return await self._run(self._calls.report(decision, reward=reward, loss=loss))

    async def report_many(
        self,
        decisions: Iterable[Decision | str],
        *,
        rewards: Iterable[float] | None = None,
        losses: Iterable[float] | None = None,
    ) -> list[Outcome]:
        """Report an outcome for each decision, as :meth:`Client.report_many` does."""
        return await self._run(self._calls.report_many(decisions, rewards=rewards, losses=losses))

    async def withdraw(self, decision: Decision | str) -> Outcome:
        """Close a decision without learning, because its arm was never shown."""
        return await self._run(self._calls.withdraw(decision))

    async def drain(self) -> Drained:
        """Send all that waits, as :meth:`Client.drain` does."""
        return await self._run(self._calls.drain())

    async def aclose(self) -> None:
        """Close the connections; the spool stays as it is."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._options['base_url'])!r})"

    # --- effects --------------------------------------------------------------------------------------

    async def _run(self, call: Call[T]) -> T:
        """Perform the effects of a call; its result."""
        try:
            effect = next(call)
            while True:
                effect = call.send(await self._perform(effect))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Send):
            return await self._send(effect)
        if isinstance(effect, Pause):
            return await anyio.sleep(effect.seconds)
        return await anyio.to_thread.run_sync(effect.function)

    async def _send(self, request: Send) -> RawReply | Failure:
        with anyio.move_on_after(request.seconds):
            try:
                answer = await self._http.request(
                    request.method, request.path, content=request.content, timeout=request.seconds
                )
            except httpx.RequestError as error:
                return failure_of(error, request.seconds)
            return RawReply(answer.status_code, answer.headers, answer.content)
        return late(request.seconds)
