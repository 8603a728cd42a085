"""Bodies of requests and answers: what the JSON looks like, checked and described by one definition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from bothworlds.bandit.pull import Label
from bothworlds.service.settings import LENGTH

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

Name = Annotated[str, Meta(pattern=NAME, description="Letters, digits, '.', '_' and '-'; at most 100.")]
Text = Annotated[str, Meta(max_length=LENGTH)]
Identity = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        description="A UUID; version 7 is best.",
    ),
]
Arm = Annotated[str, Meta(min_length=1, max_length=LENGTH)] | int | float
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Of a request; unknown fields are refused."""


class Reply(msgspec.Struct):
    """Of an answer."""


def moment(at: float) -> datetime:
    """A time as it is written: RFC 3339, UTC."""
    return datetime.fromtimestamp(at, UTC)


# --- experiments ----------------------------------------------------------------------------------------


class NewExperiment(Body):
    """The arguments of ``bothworlds.open``."""

    name: Name
    arms: Annotated[list[Arm], Meta(min_length=1)] | Count
    policy: str | dict[str, Any] | None = None
    horizon: Count | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    clip: bool = False
    wait: Seconds | None = None
    missing: float | None = None
    learn_at: Literal["arrival", "deadline"] | None = None
    sticky: bool = False
    max_segments: Count = 1000


class ExperimentChanges(Body):
    """What can be changed of an experiment: nothing that a learner reads."""

    wait: Seconds | UnsetType | None = UNSET
    missing: float | UnsetType | None = UNSET
    learn_at: Literal["arrival", "deadline"] | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET
    max_segments: Count | UnsetType = UNSET
    archived: bool | UnsetType = UNSET


class Experiment(Reply):
    """An experiment as it is now."""

    name: str
    version: int
    arms: list[Label]
    disabled: list[Label]
    retired: list[Label]
    policy: dict[str, Any]
    horizon: int | None
    low: float | None
    high: float | None
    clip: bool
    wait: float | None
    missing: float | None
    learn_at: Literal["arrival", "deadline"]
    sticky: bool
    max_segments: int
    segments: int
    frozen: int
    archived: bool


class Experiments(Reply):
    """Some experiments, in the order of their names; ``after`` is where the next ones begin."""

    experiments: list[Experiment]
    after: str | None = None


class ArmChange(Body):
    """One change of arms, in all segments."""

    add: Arm | UnsetType = UNSET
    retire: Arm | UnsetType = UNSET
    disable: Arm | UnsetType = UNSET
    enable: Arm | UnsetType = UNSET
    restart: Literal[True] | UnsetType = UNSET


class Arms(Reply):
    """The arms after a change."""

    experiment: str
    arms: list[Label]
    disabled: list[Label]
    retired: list[Label]
    position: int


# --- decisions and outcomes -----------------------------------------------------------------------------


class NewDecision(Body):
    """Choose an arm; the same id again gets the same decision."""

    id: Identity | None = None
    segment: Text = ""
    unit: Annotated[str, Meta(min_length=1, max_length=LENGTH)] | None = None
    context: dict[str, Any] | None = None
    among: Annotated[list[Arm], Meta(min_length=1)] | None = None


class Decision(Reply):
    """An arm that was chosen; on disk before anybody sees it."""

    id: str
    experiment: str
    segment: str
    arm: Label
    observe: Label
    probability: float
    seen: int
    made: datetime
    deadline: datetime | None = None


class NewOutcome(Body):
    """A reward or a loss."""

    reward: float | None = None
    loss: float | None = None


class NewOutcomeOf(Body):
    """A reward or a loss of a decision."""

    id: Identity
    reward: float | None = None
    loss: float | None = None


class Outcome(Reply):
    """What became of a report or of a withdrawal; on disk before anybody sees it."""

    id: str
    learned: bool
    reason: str | None = None
    position: int | None = None


class Closing(Reply):
    """How a decision was closed."""

    source: Literal["report", "default", "dropped", "withdrawn"]
    reward: float | None
    at: datetime
    position: int


class FoundDecision(Decision):
    """A decision, and what became of it."""

    closed: Closing | None = None


class NewDecisions(Body):
    """Many decisions; one that is refused does not refuse the others."""

    decisions: Annotated[list[NewDecision], Meta(min_length=1)]


class NewOutcomes(Body):
    """Many outcomes; one that is refused does not refuse the others."""

    outcomes: Annotated[list[NewOutcomeOf], Meta(min_length=1)]


class RawDecisions(Body):
    """The same, of which each is decoded by itself."""

    decisions: Annotated[list[msgspec.Raw], Meta(min_length=1)]


class RawOutcomes(Body):
    """The same, of which each is decoded by itself."""

    outcomes: Annotated[list[msgspec.Raw], Meta(min_length=1)]


class Problem(Reply):
    """What went wrong (RFC 9457); kinds of problems add fields of their own."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, str]] | UnsetType = UNSET


class ProblemKind(Reply):
    """What all problems of a type have in common."""

    type: str
    title: str
    status: int
    detail: str


class DecisionResult(Reply):
    """One of many: a decision, or a problem."""

    status: int
    decision: Decision | None = None
    problem: Problem | None = None


class DecisionResults(Reply):
    """In the order of the request."""

    results: list[DecisionResult]


class OutcomeResult(Reply):
    """One of many: an outcome, or a problem."""

    status: int
    outcome: Outcome | None = None
    problem: Problem | None = None


class OutcomeResults(Reply):
    """In the order of the request."""

    results: list[OutcomeResult]


# --- keys, audit, units ---------------------------------------------------------------------------------


class NewKey(Body):
    """A key for the project of the one who asks."""

    role: Literal["decider", "viewer", "editor", "admin"]
    label: Text = ""
    days: Annotated[float, Meta(gt=0, le=36500)] | None = None


class Key(Reply):
    """A key, without its secret."""

    id: str
    project: str
    role: str
    label: str
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None


class MadeKey(Key, kw_only=True):
    """A key with its secret, which is shown this once."""

    key: str


class Keys(Reply):
    """All keys of the project."""

    keys: list[Key]


class AuditEntry(Reply):
    """Who asked for what; ``hash`` is that of the row and of the one before."""

    number: int
    at: datetime
    key: str
    action: str
    target: str
    body: Any
    request: str
    hash: str


class AuditEntries(Reply):
    """Some of the audit chain; ``after`` is where the next ones begin."""

    entries: list[AuditEntry]
    after: int | None = None


class Erased(Reply):
    """How many decisions had the unit."""

    decisions: int


# --- exports --------------------------------------------------------------------------------------------


class NewExport(Body):
    """The decisions of an experiment, made in [begin, end), as Parquet."""

    experiment: str
    begin: Annotated[datetime, Meta(tz=True)] | None = None
    end: Annotated[datetime, Meta(tz=True)] | None = None


class Export(Reply):
    """An export and its files, one for each day."""

    id: str
    experiment: str
    state: Literal["running", "done", "failed"]
    rows: int
    files: list[str]
    detail: str | None = None


# --- the board ------------------------------------------------------------------------------------------


class Reporter(Reply):
    """What a key asked for and reported, and whether its rewards are like those of others on the same arm."""

    key: str | None
    """The id of the key, which is no secret; None for what came without one."""
    label: str
    decisions: int
    answered: int
    """Of those decisions, how many were reported on, by anybody."""
    reports: int
    compared: int
    """Reports that were held against those of others on the same arm, each as often as it was."""
    difference: float | None
    """By how much its rewards are larger than theirs, in shares of the range."""
    log_e: float | None
    """The evidence for a difference from some key, as a natural logarithm: valid at any time."""
    compared_with: int
    """Keys that it was compared with often enough."""
    differs_from: int
    """Of those, how many it differs from."""
    odd: bool
    """Did it ever differ from more than half of them?"""


class Reporters(Reply):
    """All keys that asked or reported; ``error`` bounds the probability of any false alarm, ever."""

    error: float
    reporters: list[Reporter]


class ArmView(Reply):
    """An arm of a bandit; bands hold at any time, with probability 0.95 for each."""

    arm: Label
    status: Literal["awake", "disabled", "retired"]
    probability: float
    pulls: int
    answers: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None


class Drift(Reply):
    """Have rewards moved? The alarm is ever false with probability 0.05 at most."""

    raised: bool
    arm: Label
    log_e: float | None
    threshold: float


class Band(Reply):
    """An estimate, and two bounds."""

    low: float | None
    estimate: float | None
    high: float | None


class Bandit(Reply):
    """A bandit as it is now; arms and all that is concluded are over mature decisions."""

    segment: str
    decisions: int
    open: int
    reported: int
    defaulted: int
    dropped: int
    withdrawn: int
    late: int
    position: int
    last: datetime | None
    frozen: bool
    arms: list[ArmView]
    world: Literal["stationary", "any", "played"] | None = None
    drift: Drift | None = None
    regret: Band | None = None


class Bandits(Reply):
    """Some bandits of an experiment, in the order of their segments."""

    experiment: str
    learn_at: Literal["arrival", "deadline"]
    wait: float | None
    missing: float | None
    position: int
    behind: int
    """Entries of the log that are still to be read, after a start: until it is 0 there are more of all."""
    engine: str
    bandits: list[Bandit]
    after: str | None = None


class CurvePoint(Reply):
    """A bandit at a moment; lists go by the arms."""

    at: datetime
    position: int
    decisions: int
    probabilities: list[float]
    pulls: list[int]
    means: list[float | None]
    lows: list[float | None]
    highs: list[float | None]
    regret: list[float | None]
    drift: bool


class Curve(Reply):
    """How a bandit came to be what it is."""

    experiment: str
    segment: str
    arms: list[Label]
    points: list[CurvePoint]


class Moved(Reply):
    """A bandit that has moved, and its last point."""

    experiment: str
    segment: str
    open: int
    late: int
    point: CurvePoint


class Tick(Reply):
    """What the stream says once a second."""

    at: datetime
    position: int
    free_bytes: int | None
    ready: bool
    behind: int
    """Entries of the log that are still to be read: those of before the service was started."""
    odd_keys: int
    """Keys whose rewards are not like those of others."""
    moved: list[Moved]


# --- OFREP ----------------------------------------------------------------------------------------------


class OfrepRequest(msgspec.Struct):
    """OpenFeature's remote evaluation; unknown fields are allowed there."""

    context: dict[str, Any] = {}


class OfrepAnswer(msgspec.Struct):
    """The value of a flag is an arm."""

    key: str
    value: Any
    variant: str
    reason: str
    metadata: dict[str, Any]


class OfrepFailure(msgspec.Struct, rename="camel"):
    """Why there is none."""

    key: str
    error_code: str
    error_details: str


# --- the service itself ---------------------------------------------------------------------------------


class Health(Reply):
    """Is it up?"""

    status: str
    detail: str | None = None


class Link(Reply):
    """What opens the board once."""

    link: str


class NewSession(Body):
    """What was after the ``#`` of a link."""

    link: Annotated[str, Meta(max_length=500)]
