"""A bandit in plain JSON types, and back, exact to the bit; files of earlier versions too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bothworlds import _check, policies, rng, statefile
from bothworlds._version import __version__
from bothworlds.bandit.arms import require_changing_arms
from bothworlds.bandit.deadlines import LEARN_AT, Wait
from bothworlds.bandit.history import Notes
from bothworlds.bandit.keys import saved_secret
from bothworlds.bandit.learned_range import LearnedRange
from bothworlds.bandit.pull import NO_INSTANCE, Label, bandit_prefix, instance_and_round, labels_of
from bothworlds.bandit.recording import Kind
from bothworlds.bandit.several import DrawOfSeveral, Slots
from bothworlds.errors import InvalidArgumentError, PullError, StateError
from bothworlds.policies.base import Policy, step

if TYPE_CHECKING:
    from bothworlds.bandit.bandit import Bandit

NEWER_OPTIONS = ("clip", "missing", "wait", "learn_at", "floor")  # which older files lack


def describe(bandit: Bandit) -> dict[str, Any]:
    """What :func:`restore` makes the same bandit of."""
    learned = bandit._range if isinstance(bandit._range, LearnedRange) else None
    return {
        "format": statefile.FORMAT,
        "version": statefile.VERSION,
        "bothworlds": __version__,
        "bandit": bandit._id,
        "arms": list(bandit._arms),
        "disabled": sorted(bandit._roster.disabled),
        "retired": sorted(bandit._roster.retired),
        "policy": policies.to_dict(bandit._policy),
        "horizon": bandit._horizon,
        "problem": bandit._problem.to_dict(),
        "slots": None if bandit._slots is None else list(bandit._slots.names),
        "low": bandit._range.low,
        "high": bandit._range.high if learned is None else None,
        "clip": bandit._range.clip,
        "range": None if learned is None else learned.to_dict(),
        "wait": None if bandit._wait is None else bandit._wait._asdict(),
        "missing": None
        if bandit._missing is None
        else {bandit._missing.feedback_kind: bandit._missing.value},
        "learn_at": LEARN_AT[bandit._defers],
        "floor": 0.0 if bandit._shares is None else bandit._shares.floor,
        "fixed": None if bandit._shares is None else bandit._shares.in_order(),
        "late": bandit._late,
        "overdue": bandit._overdue,
        "word": bandit._feedback_kind,
        "rounds": bandit._rounds,
        "restarts": bandit._restarts,
        "pulls": list(bandit._pulls),
        "seen": list(bandit._seen),
        "loss_sums": list(bandit._sums),
        "outstanding": [
            {
                "id": f"{bandit._instances[record.instance]}-{number}",
                "arm": record.arm,
                "probability": record.probability,
                "observe": record.observe,
                "weight": record.weight,
                "memo": record.memo,
                "loss": None if math.isnan(record.feedback) else record.feedback,
                "made": record.made,
                "restarts": record.restarts,
                "asleep": asleep_at(bandit, number),
                "draw": describe_draw(bandit._draws[number]) if number in bandit._draws else None,
            }
            for number, record in bandit._open
        ],
        "history": bandit._notes.to_dict(),
        "evidence": None if bandit._record is None else bandit._record.to_dict(),
        "secret": bandit._secret.hex(),
        "random": rng.to_dict(bandit._random.generator),
        "state": statefile.pack(bandit._state),
    }


def describe_draw(drawn: DrawOfSeveral) -> dict[str, Any]:
    """What :func:`drawn_of` makes the same draw of; in files its losses are called ``kept``."""
    described = drawn._asdict()
    described["kept"] = described.pop("losses")
    return described


def asleep_at(bandit: Bandit, number: int) -> list[int]:
    """The numbers of the arms that were asleep at an open pull."""
    awake = bandit._awake_at.get(number)
    return [] if awake is None else [int(i) for i in np.flatnonzero(awake == 0.0)]


def restore(
    make: type[Bandit], data: dict[str, Any], policy: Policy | str | None, evidence: Kind | None
) -> Bandit:
    """The bandit that was described; ``policy``, where given, must be the saved one."""
    statefile.check_header(data)
    try:
        bandit = like_saved(make, data, policy, evidence)
        n = len(bandit._arms)
        bandit._id = statefile.text(data, "bandit")
        bandit._secret = saved_secret(data.get("secret"), bandit._id)
        bandit._feedback_kind = statefile.text(data, "word")
        _check.one_of("word", bandit._feedback_kind, ("reward", "loss"))
        restore_counts(bandit, data)
        for name in ("disabled", "retired"):
            for number in statefile.arms(data, name, n):
                require_changing_arms(bandit._policy, bandit._shares, bandit._problem)
                getattr(bandit._roster, name[:-1])(bandit._arms[number])
        bandit._notes = Notes.from_dict(data.get("history"), n, bandit._rounds)
        bandit._set_stream(rng.from_dict(data["random"]))
        bandit._state = statefile.unpack(bandit._state, data["state"], version=data["version"])
        if data["version"] == 1:
            step(bandit._params, bandit._state)
        check_distribution(bandit)
        bandit._instances.clear()
        latest = 0
        for item in data["outstanding"]:
            latest = reopen(bandit, item, latest, data["version"])
        bandit._begin_instance()
    except KeyError as error:
        raise StateError(f"the saved state lacks {error}; it is incomplete") from None
    except (InvalidArgumentError, PullError, TypeError) as error:
        raise StateError(f"the saved state cannot be restored: {error}") from error
    return bandit


def check_distribution(bandit: Bandit) -> None:
    """Refuse probabilities that are none of the problem."""
    p = np.array(list(bandit.probabilities.values()))
    for first, last, fewest, most in zip(*bandit._problem.groups(p.size)[:4], strict=True):
        total = p[first:last].sum()
        if not (p.min() >= 0.0 and fewest - 1e-6 * most <= total <= most + 1e-6 * most):
            wanted = str(most) if fewest == most else f"{fewest} to {most}"
            raise StateError(f"the saved state holds no distribution: probabilities must sum to {wanted}")


def like_saved(
    make: type[Bandit], data: dict[str, Any], policy: Policy | str | None, evidence: Kind | None
) -> Bandit:
    """A fresh bandit with the saved options."""
    saved = policies.from_dict(data["policy"])
    if policy is not None and Policy.require(policy) != saved:
        raise StateError(f"the saved bandit plays {saved!r}, not {policy!r}")
    options = {name: data[name] for name in NEWER_OPTIONS if name in data}
    if options.get("wait") is not None:
        options["wait"] = Wait(**options["wait"]).value
    arms = labels_of(data["arms"])
    if data.get("fixed") is not None:
        shares = statefile.sequence(data, "fixed", len(arms))
        options["fixed"] = {arm: share for arm, share in zip(arms, shares, strict=True) if share is not None}
    recorded = data.get("evidence")
    if recorded is not None and evidence not in (None, recorded["kind"]):
        raise StateError(f"the saved bandit keeps evidence={recorded['kind']!r}, not {evidence!r}")
    options["evidence"] = evidence if recorded is None else recorded["kind"]
    posed, problem = problem_options(arms, data.get("problem", {}), data.get("slots"))
    options |= problem
    low, high = data["low"], data["high"]
    if "switching_cost" in options:  # saved in units of the loss, and given in those of rewards
        options["switching_cost"] *= high - low
    return make(posed, saved, horizon=data["horizon"], low=low, high=high, **options)


def problem_options(
    arms: Sequence[Label], problem: dict[str, Any], slots: Sequence[Label] | None = None
) -> tuple[Any, dict[str, Any]]:
    """The arms, and options, of a bandit for the problem that :meth:`Problem.to_dict` described.

    ``slots`` are the names of its slots. What leaving an arm out is worth follows from the range of rewards.
    """
    options = {name: value for name, value in problem.items() if name not in ("slots", "outside")}
    shows, sizes = problem.get("shows"), problem.get("slots")
    if isinstance(shows, list):
        if len(shows) != len(arms):
            raise StateError(f"the saved graph is of {len(shows)} arms, and there are {len(arms)}")
        seen = [[arms[j] for j in _check.indices("shows", others, below=len(arms))] for others in shows]
        options["shows"] = dict(zip(arms, seen, strict=True))
    if sizes is None:
        return arms, options
    names = range(len(sizes)) if slots is None else slots
    if sum(sizes) != len(arms) or len(names) != len(sizes):
        raise StateError(f"the saved slots are of {sum(sizes)} arms, and there are {len(arms)}")
    return Slots(labels_of(list(names)), tuple(sizes)).share_out(arms), options


def restore_counts(bandit: Bandit, data: dict[str, Any]) -> None:
    """Restore rounds, counts of pulls and answers, sums, and evidence."""
    n = len(bandit._arms)
    bandit._rounds = _check.integer("rounds", data["rounds"], at_least=0)
    bandit._restarts = events_at(data, "restarts")
    bandit._late = events_at(data, "late")
    bandit._overdue = events_at(data, "overdue")
    bandit._pulls = statefile.counts(data, "pulls", n)
    bandit._seen = statefile.counts(data, "seen", n)
    least = 0.0
    if isinstance(bandit._range, LearnedRange):
        bandit._range.restore(data["range"])
        least = -math.inf
    bandit._sums = _check.vector("loss_sums", data["loss_sums"], size=n, at_least=least).tolist()
    if bandit._record is not None:
        bandit._record.begin_anew(bandit._pulls)
        if data.get("evidence") is not None:
            bandit._record.restore(data["evidence"])


def reopen(bandit: Bandit, item: dict[str, Any], after: int, version: int) -> int:
    """Open an outstanding pull of a saved state, later than round ``after``; return its round."""
    if "id" in item:
        instance, number = instance_and_round(item["id"])
    else:  # as saved by version 0.1
        instance = f"{bandit_prefix(bandit._id)}-{NO_INSTANCE}"
        number = _check.integer("outstanding round", item["round"], at_least=1)
    if not after < number <= bandit._rounds:
        raise StateError(
            f"outstanding round {number} is beyond pull {bandit._rounds}, the last one, or out of order"
        )
    if instance not in bandit._instances:
        bandit._instances.append(instance)
    n = len(bandit._arms)
    arm, observe = _check.indices("outstanding", [item["arm"], item["observe"]], below=n).tolist()
    probability = _check.number("probability", item["probability"], above=0.0, at_most=1.0)
    weight = _check.number("weight", item["weight"], above=0.0, at_most=1.0)
    memo = _check.number("memo", item["memo" if version > 1 else "epoch"], at_least=0.0)
    feedback = math.nan
    if item.get("loss") is not None:
        learned = isinstance(bandit._range, LearnedRange)
        least, most = (bandit._range.low, None) if learned else (0.0, 1.0)
        feedback = _check.number("loss", item["loss"], at_least=least, at_most=most)
    made = _check.number("made", item.get("made", 0.0), at_least=0.0)
    since, instance_number = events_at(item, "restarts"), bandit._instances.index(instance)
    asleep = statefile.arms(item, "asleep", n)
    if observe in asleep:
        raise StateError(f"outstanding round {number} has an arm that was asleep")
    if asleep:
        bandit._awake_at[number] = np.ones(n)
        bandit._awake_at[number][asleep] = 0.0
    row = probability, weight, memo, feedback, made, arm, observe, since, instance_number
    bandit._open.add(number, row)
    if bandit._problem.several:
        bandit._draws[number] = drawn_of(bandit, item["draw"])
    return number


def drawn_of(bandit: Bandit, item: dict[str, Any]) -> DrawOfSeveral:
    """The draw of an outstanding pull of several arms."""
    n = len(bandit._arms)
    fewest, most = bandit._problem.sizes(n)
    arms = _check.indices("arms", item["arms"], below=n).tolist()
    if not fewest <= len(arms) <= most:
        raise StateError(f"an outstanding pull has {len(arms)} arms")
    probabilities = _check.vector(
        "probabilities", item["probabilities"], size=len(arms), above=0.0, at_most=1.0 + 1e-9
    )
    shown = _check.indices("shown", item["shown"], below=n).tolist()
    size = len(shown)
    weights = _check.vector("weights", item["weights"], size=size, above=0.0, at_most=1.0 + 1e-9)
    memos = _check.vector("memos", item["memos"], size=size, at_least=0.0)
    losses = _check.vector("kept", item["kept"], at_least=0.0, at_most=1.0)
    most_shown = len(arms) if bandit._problem.shows is None else n
    if size > most_shown or losses.size not in (0, size):
        raise StateError(f"an outstanding pull has {len(arms)} arms, and shows {size}")
    columns = probabilities.tolist(), shown, weights.tolist(), memos.tolist(), losses.tolist()
    return DrawOfSeveral(tuple(arms), *map(tuple, columns))


def events_at(data: dict[str, Any], key: str) -> int:
    """A number of events; older files know of none."""
    return _check.integer(key, data.get(key, 0), at_least=0)
