"""A provider of OpenFeature: a flag is an experiment, its value an arm.

https://openfeature.dev
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import anyio.to_thread
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import (
    ErrorCode,
    FlagNotFoundError,
    GeneralError,
    InvalidContextError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from bothworlds.client.calls import BATCH, number_of
from bothworlds.client.sync import Client
from bothworlds.errors import InvalidArgumentError, RefusedError, SpoolError, UnreachableError

logger = logging.getLogger("bothworlds.client")

T = TypeVar("T")
Objects = Sequence[FlagValueType] | Mapping[str, FlagValueType]
Report = tuple[str, float]  # the id of a decision, and a reward


class BothWorldsProvider(AbstractProvider):
    """Flags whose values a bandit chooses, and learns to choose.

    The key of a flag is the name of an experiment, the targeting key is the unit, the attribute ``segment``
    the segment; the value is an arm, a string or a number, and the id and the probability of the decision are
    metadata. While the service cannot be reached, the value is the default, and the reason an error.

    ``track`` reports its value as the reward of the last decision for the same targeting key, in each
    experiment that the event counts for; once for each decision. It returns at once: a thread reports.

    Parameters
    ----------
    client:
        Reaches the service; give it a spool, and no report is lost to an outage.
    rewards:
        For each event the experiments whose reward it is: ``{"purchase": ["button", "price"]}``.
    remembered:
        How many decisions wait for an event, the last ones; and how many reports may wait.

    Notes
    -----
    Decisions are remembered in this process. Where the event happens in another one, send the metadata
    ``decisionId`` along, and give it to :meth:`bothworlds.client.Client.report`.

    Examples
    --------
    >>> from openfeature import api
    >>> from bothworlds.client import Client
    >>> from bothworlds.client.openfeature import BothWorldsProvider
    >>> client = Client("http://127.0.0.1:9", key="bw_nobody_listens")
    >>> api.set_provider(BothWorldsProvider(client, rewards={"purchase": ["button"]}))
    >>> api.get_client().get_string_value("button", "blue")
    'blue'
    >>> api.shutdown()
    """

    def __init__(
        self, client: Client, *, rewards: Mapping[str, Iterable[str]] | None = None, remembered: int = 100_000
    ) -> None:
        super().__init__()
        self._client = client
        self._rewards = {event: _names(event, names) for event, names in (rewards or {}).items()}
        self._experiments = frozenset(name for names in self._rewards.values() for name in names)
        self._remembered = remembered
        self._decisions: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()
        self._reports: queue.Queue[Report | None] = queue.Queue(remembered)
        self._reporter: threading.Thread | None = None

    def get_metadata(self) -> Metadata:
        """The name of this provider."""
        return Metadata(name="bothworlds")

    # --- flags ----------------------------------------------------------------------------------------

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """No arm is a boolean."""
        raise TypeMismatchError(f"the arms of {flag_key} are strings or numbers")

    def resolve_object_details(
        self, flag_key: str, default_value: Objects, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Objects]:
        """No arm is an object."""
        raise TypeMismatchError(f"the arms of {flag_key} are strings or numbers")

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Choose among arms that are strings."""
        return self._resolve(str, flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Choose among arms that are integers."""
        return self._resolve(int, flag_key, default_value, evaluation_context)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Choose among arms that are numbers."""
        return self._resolve(float, flag_key, default_value, evaluation_context)

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The same, in a thread."""
        return await anyio.to_thread.run_sync(
            self.resolve_string_details, flag_key, default_value, evaluation_context
        )

    async def resolve_integer_details_async(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """The same, in a thread."""
        return await anyio.to_thread.run_sync(
            self.resolve_integer_details, flag_key, default_value, evaluation_context
        )

    async def resolve_float_details_async(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """The same, in a thread."""
        return await anyio.to_thread.run_sync(
            self.resolve_float_details, flag_key, default_value, evaluation_context
        )

    def _resolve(
        self, kind: type[T], flag: str, default: Any, context: EvaluationContext | None
    ) -> FlagResolutionDetails[T]:
        unit = None if context is None else context.targeting_key or None
        segment: Any = "" if context is None else context.attributes.get("segment", "")
        try:
            decision = self._client.decide(flag, fallback=default, segment=segment, unit=unit)
        except InvalidArgumentError as error:
            raise InvalidContextError(str(error)) from error
        except RefusedError as error:
            raise _in_their_words(error) from error
        if decision.id is None:
            return FlagResolutionDetails(
                default, ErrorCode.GENERAL, decision.error, Reason.ERROR, flag_metadata={"fallback": True}
            )
        arm = float(decision.arm) if kind is float and isinstance(decision.arm, int) else decision.arm
        if not isinstance(arm, kind):
            self._not_shown(decision.id)
            raise TypeMismatchError(f"the arm {arm!r} of {flag} is no {kind.__name__}")
        if unit is not None and flag in self._experiments:
            self._remember(flag, unit, decision.id)
        metadata: dict[str, str | float] = {
            "decisionId": decision.id,
            "probability": decision.probability or 0.0,
        }
        return FlagResolutionDetails(
            arm, reason=Reason.SPLIT, variant=str(decision.arm), flag_metadata=metadata
        )

    def _not_shown(self, identity: str) -> None:
        try:
            self._client.withdraw(identity)
        except (RefusedError, UnreachableError) as error:
            logger.warning("a decision that was not shown stays open: %s", error)

    # --- events ---------------------------------------------------------------------------------------

    def _remember(self, flag: str, unit: str, identity: str) -> None:
        with self._lock:
            self._decisions[flag, unit] = identity
            self._decisions.move_to_end((flag, unit))
            if len(self._decisions) > self._remembered:
                self._decisions.popitem(last=False)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report the value of an event, 1 if it has none, as a reward; soon, and once for each decision."""
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        names = self._rewards.get(tracking_event_name)
        if names is None or not unit:
            return
        value = None if tracking_event_details is None else tracking_event_details.value
        try:
            reward = 1.0 if value is None else number_of("value", value)
        except InvalidArgumentError as error:
            logger.warning("the event %s has no reward: %s", tracking_event_name, error)
            return
        for name in names:
            with self._lock:
                identity = self._decisions.pop((name, unit), None)
                if identity is not None:
                    self._ensure_reporter()
            if identity is not None:
                try:
                    self._reports.put_nowait((identity, reward))
                except queue.Full:
                    logger.warning("too many reports wait: that of %s is dropped", identity)

    def _ensure_reporter(self) -> None:
        if self._reporter is None or not self._reporter.is_alive():  # it has not come along into a fork
            self._reporter = threading.Thread(target=self._report, name="bothworlds-reports", daemon=True)
            self._reporter.start()

    def _report(self) -> None:
        """Report what was tracked, as many at a time as there are; until there is None."""
        ended = False
        while not ended:
            found = [self._reports.get()]
            while len(found) < BATCH and not self._reports.empty():
                found.append(self._reports.get())
            reports = [report for report in found if report is not None]
            ended = len(reports) < len(found)
            try:
                ids, rewards = [report[0] for report in reports], [report[1] for report in reports]
                self._client.report_many(ids, rewards=rewards)
            except (RefusedError, SpoolError, UnreachableError) as error:
                logger.warning("reports were not taken: %s", error)

    def shutdown(self) -> None:
        """Wait until everything that was tracked is reported, or given up."""
        with self._lock:
            reporter, self._reporter = self._reporter, None
        if reporter is not None:
            self._reports.put(None)
            reporter.join()


def _names(event: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        fix = f"write [{names!r}]"
        raise InvalidArgumentError(f"rewards[{event!r}]", names, "several names of experiments", fix=fix)
    return tuple(names)


def _in_their_words(error: RefusedError) -> Exception:
    if error.problem == "unknown-experiment":
        return FlagNotFoundError(str(error))
    if error.status == 422:
        return InvalidContextError(str(error))
    return GeneralError(str(error))
