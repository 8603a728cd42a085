"""The hub, request by request: what is decided, learned, refused and remembered."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from bothworlds.errors import InvalidArgumentError, RepeatedPullError, UnknownPullError
from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Change, Decide, Read, Report
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify

QUIET = HubLimits(refresh=0.02, sweep_every=1e9)  # deadlines are over when a test says so


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def opened(store_url):
    """Open a hub on the same database, as often as asked; at the end the log is verified."""
    hubs = []

    def make(**options):
        hubs.append(Hub(open_store(store_url), **({"limits": QUIET} | options)))
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()
    store = open_store(store_url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences


def button(hub, name="button", **options):
    hub.create(name, checked_settings(["blue", "green"], "tsallis-inf", **options))
    return name


def test_decide_and_report(opened):
    hub = opened()
    name = button(hub)
    decision = hub.decide(name)
    assert decision.arm in ("blue", "green")
    assert (decision.probability, decision.seen, decision.repeated) == (0.5, 0, False)
    outcome = hub.report(decision.id, reward=0.0)
    assert (outcome.learned, outcome.position) == (True, 1)
    assert hub.learner(name).probabilities()[decision.arm] < 0.5
    assert hub.decide(name).seen == 1


def test_the_same_id_gets_the_same_decision(opened):
    hub = opened()
    name = button(hub)
    first = hub.decide(name, id=ids.text_of(ids.new_id()), unit="ann")
    hub.report(hub.decide(name).id, reward=1.0)  # the distribution moves
    for other in (hub, opened()):
        again = other.decide(name, id=first.id, unit="ann")
        assert again.repeated
        assert (again.arm, again.probability, again.seen) == (first.arm, first.probability, 0)
    hub.report(first.id, reward=1.0)
    assert hub.decide(name, id=first.id).arm == first.arm  # closed, too
    button(hub, "other")
    for experiment, options in [("other", {}), (name, {"segment": "nl"}), (name, {"unit": "bob"})]:
        with pytest.raises(problems.IdReusedError, match=first.id):
            hub.decide(experiment, id=first.id, **options)


def test_many_at_once_and_one_bad_request_fails_itself_alone(opened):
    hub = opened()
    name = button(hub)
    same = ids.text_of(ids.new_id())
    answers = hub.submit(
        [Decide(name, id=same), Decide("nobody"), Decide(name, id=same), Decide(name, id="x"), Decide(name)]
    ).result()
    assert [getattr(answer, "slug", None) for answer in answers] == [
        None,
        "unknown-experiment",
        None,
        "invalid-request",
        None,
    ]
    assert answers[2].arm == answers[0].arm
    assert (answers[0].repeated, answers[2].repeated) == (False, True)
    reports = hub.submit(
        [Report(same, reward=1.0), Report(same, reward=1.0), Report(same, reward=0.0)]
    ).result()
    assert [getattr(each, "repeated", each) for each in reports[:2]] == [False, True]
    assert isinstance(reports[2], problems.OutcomeExistsError)
    assert hub.position == 1


def test_threads_get_one_answer_for_each_id(opened):
    hub = opened()
    name = button(hub)
    texts = [ids.text_of(ids.new_id()) for _ in range(12)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda text: hub.decide(name, id=text), texts * 10))
    assert sum(not each.repeated for each in made) == 12
    assert len({(each.id, each.arm, each.probability) for each in made}) == 12
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda text: hub.report(text, reward=1.0), texts * 10))
    assert sum(not each.repeated for each in outcomes) == 12
    assert hub.position == 12


def test_some_of_many_were_there_before(opened):
    first, second = opened(), opened(limits=QUIET._replace(max_batch=2000))
    name = button(first)
    texts = [ids.text_of(ids.new_id()) for _ in range(1200)]  # more than one statement takes
    before = {
        each.id: each for each in first.submit([Decide(name, id=text) for text in texts[::97]]).result()
    }
    made = second.submit([Decide(name, id=text) for text in texts]).result()
    assert [each.id for each in made] == texts
    assert {each.id for each in made if each.repeated} == before.keys()
    assert all(each.arm == before[each.id].arm for each in made if each.repeated)
    assert all(each.repeated for each in first.submit([Decide(name, id=text) for text in texts]).result())


def test_in_asyncio(opened):
    hub = opened()
    name = button(hub)
    pause = threading.Event()

    async def ask():
        (made,) = await hub.answers([Decide(name)])
        held = asyncio.create_task(hub.answers([Read(lambda: pause.wait(10) and None)]))
        tired, patient = (
            asyncio.create_task(hub.answers([Report(made.id, reward=value)])) for value in (1.0, 0.0)
        )
        await asyncio.sleep(0.01)  # all have asked
        tired.cancel()
        pause.set()
        await held
        return made, await patient, tired.cancelled()

    made, (contradiction,), cancelled = asyncio.run(ask())
    assert cancelled  # which is no reason not to learn it
    assert isinstance(contradiction, problems.OutcomeExistsError)
    assert hub.position == 1
    assert hub.report(made.id, reward=1.0).repeated


def test_what_is_refused_changes_nothing(opened):
    hub = opened()
    name = button(hub)
    decision = hub.decide(name)
    before = hub.learner(name).dump()
    unknown = ids.text_of(ids.new_id())
    for error, call in [
        (UnknownPullError, lambda: hub.report(unknown, reward=1.0)),
        (problems.UnknownDecisionError, lambda: hub.withdraw(unknown)),
        (InvalidArgumentError, lambda: hub.report(decision.id, reward=2.0)),
        (InvalidArgumentError, lambda: hub.report(decision.id, reward=float("nan"))),
        (InvalidArgumentError, lambda: hub.report(decision.id)),
        (InvalidArgumentError, lambda: hub.report(decision.id, reward=1.0, loss=0.0)),
        (InvalidArgumentError, lambda: hub.decide(name, segment="x" * 201)),
        (InvalidArgumentError, lambda: hub.decide(name, unit="")),
        (InvalidArgumentError, lambda: hub.decide(name, unit="\ud800")),
        (InvalidArgumentError, lambda: hub.decide(name, context=b"x" * 5000)),
        (InvalidArgumentError, lambda: hub.decide(name, among=["red"])),
        (InvalidArgumentError, lambda: hub.change(name, "disable", "red")),
        (InvalidArgumentError, lambda: hub.change(name, "add", "blue")),
        (problems.UnknownExperimentError, lambda: hub.change("nobody", "restart")),
    ]:
        with pytest.raises(error):
            call()
    assert hub.learner(name).dump() == before
    assert hub.position == 0
    hub.report(decision.id, reward=1.0)
    with pytest.raises(RepeatedPullError, match="the reward 1 is stored"):
        hub.report(decision.id, reward=0.5)
    with pytest.raises(problems.OutcomeExistsError):
        hub.withdraw(decision.id)
    assert hub.position == 1


def test_settings_are_kept_and_compared(opened):
    hub = opened()
    settings = checked_settings([("a", 1), 2.5, "c"], wait=60.0, missing=0.0)
    assert hub.create("x", settings)
    assert not opened().create("x", settings)
    assert opened().experiments()["x"] == settings
    assert settings.learn_at == "deadline"
    with pytest.raises(problems.ExperimentExistsError, match="other settings: arms, wait"):
        hub.create("x", checked_settings(3, wait=61.0, missing=0.0))
    for options, match in [
        ({"missing": 0.0}, "missing must be given with a wait"),
        ({"learn_at": "deadline"}, "given with a wait"),
        ({"wait": -1}, "above 0"),
        ({"wait": 5, "missing": 7.0}, "at most 1"),
        ({"max_segments": 0}, "at least 1"),
    ]:
        with pytest.raises(InvalidArgumentError, match=match):
            checked_settings(2, **options)


def test_withdrawn_decisions_are_not_learned(opened):
    hub = opened()
    name = button(hub)
    decision, before = hub.decide(name), hub.learner(name).dump()
    assert hub.withdraw(decision.id).reason == "withdrawn"
    assert hub.withdraw(decision.id).repeated
    with pytest.raises(problems.OutcomeExistsError, match="closed without one"):
        hub.report(decision.id, reward=1.0)
    assert hub.learner(name).dump() == before


def test_deadline_with_a_default_learned_in_the_order_of_decision(opened):
    clock = Clock()
    hub = opened(clock=clock)
    name = button(hub, wait=10.0, missing=0.0)
    decisions = []
    for _ in range(4):
        decisions.append(hub.decide(name))
        clock.now += 1.0
    assert decisions[1].deadline == decisions[1].made + 10.0
    waiting = hub.report(decisions[2].id, reward=1.0)
    assert (waiting.learned, waiting.reason) == (False, "waiting")
    assert hub.report(decisions[2].id, reward=1.0).repeated
    with pytest.raises(problems.OutcomeExistsError):
        hub.report(decisions[2].id, reward=0.5)
    assert hub.sweep() == 0
    clock.now += 8.5  # the first three
    assert hub.sweep() == 3
    late = hub.report(decisions[0].id, reward=1.0)
    assert (late.learned, late.reason, late.position) == (False, "late", 1)
    assert hub.report(decisions[0].id, reward=1.0).repeated
    with pytest.raises(problems.OutcomeExistsError):
        hub.report(decisions[0].id, reward=0.0)
    entries = hub.ask(Read(lambda: hub._replica.store.entries(hub._replica.id, 0, 10)))
    assert [(each.kind, each.kept) for each in entries] == [
        ("default", 1.0),
        ("default", 1.0),
        ("report", 0.0),
    ]
    assert [ids.text_of(each.decision) for each in entries] == [each.id for each in decisions[:3]]


def test_deadline_without_a_default_drops(opened):
    clock = Clock()
    hub = opened(clock=clock)
    name = button(hub, wait=10.0)
    slow, quick = hub.decide(name), hub.decide(name)
    assert hub.report(quick.id, reward=1.0).learned
    before = hub.learner(name).dump()
    clock.now += 11.0
    assert hub.sweep() == 1
    assert hub.learner(name).dump() == before
    assert hub.report(slow.id, reward=1.0).reason == "late"


def test_the_hub_sweeps_by_itself(opened):
    hub = opened(limits=QUIET._replace(sweep_every=0.01))
    name = button(hub, wait=0.02, missing=1.0)
    hub.decide(name)
    reached = threading.Event()
    for _ in range(500):
        if hub.position == 1 or reached.wait(0.01):
            break
    assert hub.position == 1


@pytest.mark.filterwarnings("ignore:the clock has jumped")
def test_a_clock_that_jumps_ends_no_deadline(opened):
    clock = Clock()
    hub = opened(clock=clock)
    name = button(hub, wait=1000.0, missing=0.0)
    decision = hub.decide(name)
    clock.now += 3600.0
    assert hub.sweep() == 0  # it jumped, and all deadlines seem over
    assert hub.report(decision.id, reward=1.0).reason == "waiting"
    assert hub.sweep() == 1  # from now on it is believed
    assert hub.report(decision.id, reward=1.0).learned


@pytest.mark.filterwarnings("ignore:the clock has jumped")
@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_is_set_back_leaves_no_decision_open(opened, monkeypatch, restarted):
    """What falls due while the clock is mistrusted is closed afterwards, however long that takes."""
    clock, steady = Clock(), Clock()
    monkeypatch.setattr("bothworlds.service.sweeping.time", SimpleNamespace(monotonic=steady))
    hub = opened(clock=clock)
    slow, fast = button(hub, "slow", wait=600.0, missing=0.0), button(hub, "fast", wait=2.0, missing=0.0)
    hub.decide(slow)
    clock.now += 3600.0
    hub.sweep()  # mistrusted
    clock.now, steady.now = clock.now + 700.0, steady.now + 700.0
    assert hub.sweep() == 1  # and believed: deadlines have been looked at up to an hour ahead
    hub.snapshot()  # which says so on disk
    clock.now -= 3600.0
    if restarted:
        hub.close()
        hub = opened(clock=clock)
    for _ in range(10):
        hub.decide(fast)
    hub.sweep()
    clock.now, steady.now = clock.now + 700.0, steady.now + 700.0
    hub.sweep()
    assert opened(clock=clock).position == hub.position == 11


def test_sticky_units_keep_their_decision(opened):
    hub = opened()
    name = button(hub, sticky=True)
    first = hub.decide(name, unit="ann")
    for _ in range(3):
        hub.report(hub.decide(name).id, reward=1.0)
    again = opened().decide(name, unit="ann")
    assert (again.id, again.arm, again.repeated) == (first.id, first.arm, True)
    assert hub.decide(name, unit="bob").id != first.id
    assert hub.decide(name, unit="ann", segment="nl").id != first.id


def test_a_sticky_unit_leaves_an_arm_that_cannot_be_played_and_comes_back_to_it(opened):
    hub = opened()
    name = button(hub, sticky=True)
    first = {unit: hub.decide(name, unit=unit) for unit in map(str, range(20))}
    hub.change(name, "disable", "blue")
    assert {each.arm for each in first.values()} == {"blue", "green"}
    for each in (hub, opened(), opened()):  # from memory, from the disk
        now = {unit: each.decide(name, unit=unit) for unit in first}
        assert {each.arm for each in now.values()} == {"green"}
        assert all((now[unit].id == first[unit].id) == (first[unit].arm == "green") for unit in first)
    hub.change(name, "enable", "blue")
    assert {unit: hub.decide(name, unit=unit).id for unit in first} == {
        unit: each.id for unit, each in first.items()
    }
    unit = next(unit for unit, each in first.items() if each.arm == "blue")
    other = hub.decide(name, unit=unit, among=("green",))
    assert (other.arm, other.id) == ("green", now[unit].id)
    hub.change(name, "add", "red")
    hub.change(name, "retire", "blue")
    hub.change(name, "disable", "green")
    assert {hub.decide(name, unit=unit).arm for unit in first} == {"red"}


def test_segments_learn_apart_and_share_a_pool_when_they_are_too_many(opened):
    hub = opened()
    name = button(hub, max_segments=2)
    made = {segment: hub.decide(name, segment=segment) for segment in ("nl", "de", "fr", "be")}
    assert [each.segment for each in made.values()] == ["nl", "de", "*", "*"]
    hub.report(made["nl"].id, reward=0.0)
    assert hub.learner(name, "nl").dump() != hub.learner(name, "de").dump()
    assert hub.learner(name, "de").dump() == hub.learner(name, "never seen").dump()
    assert opened().decide(name, segment="be", id=made["be"].id).repeated


def test_arms_change_in_all_segments_and_for_those_that_come_later(opened):
    hub, other = opened(), opened()
    name = button(hub)
    early = hub.decide(name, segment="nl")
    assert hub.change(name, "add", "red").arms == ("blue", "green", "red")
    changed = other.change(name, "disable", "blue")
    assert (changed.disabled, changed.position) == (("blue",), 2)
    for each in (hub, other, opened()):
        for segment in ("nl", "new"):
            assert each.learner(name, segment).probabilities()["blue"] == 0.0
    drawn = {hub.decide(name, segment="nl").arm for _ in range(20)}
    assert drawn == {"green", "red"}
    assert hub.report(early.id, reward=1.0).learned
    assert hub.change(name, "restart").position == 4
    late = hub.report(hub.decide(name, segment="de").id, reward=1.0)
    assert late.learned
    old = hub.decide(name)
    hub.change(name, "restart")
    assert hub.report(old.id, reward=1.0).reason == "restarted"


def test_a_change_that_others_made_impossible_is_refused_at_its_place(opened):
    """Both were possible when they were asked for; the log has both, and the second does nothing."""
    hub, other = opened(), opened()
    name = button(hub)
    other.learner(name)
    faster = Read(
        lambda: hub.change(name, "disable", "blue")
    )  # between what other has read and what it writes
    first, second = other.submit([faster, Change(name, "disable", "green")]).result()
    assert first.disabled == ("blue",)
    assert isinstance(second, problems.InvalidRequestError)
    assert "possible when it was its turn" in str(second)
    assert hub.learner(name).disabled == other.learner(name).disabled == ("blue",)
    assert hub.decide(name).seen == 2


def test_restart_is_bit_identical_with_and_without_snapshots(opened, store_url):
    hub = opened(limits=QUIET._replace(snapshot_every=7))
    hub.create("price", checked_settings(3, high=None))
    random = np.random.default_rng(2)
    for i in range(30):
        decision = hub.decide("price", segment="nl" if i % 3 else "")
        hub.report(decision.id, reward=50 * random.random())
        if i == 11:
            hub.change("price", "add", 3)
    dumps = [hub.learner("price", segment).dump() for segment in ("", "nl")]
    other = opened()  # beside the first, from snapshots that it made
    assert [other.learner("price", segment).dump() for segment in ("", "nl")] == dumps
    hub.close()
    store = open_store(store_url)
    with store.write(1, log=False):
        store._all("DELETE FROM snapshot")
        store._all("UPDATE project SET snapshot = 0")
    store.close()
    third = opened()
    assert [third.learner("price", segment).dump() for segment in ("", "nl")] == dumps


def test_damaged_snapshots_are_made_again(opened, store_url):
    hub = opened(limits=QUIET._replace(snapshot_every=5))
    name = button(hub)
    for _ in range(12):
        hub.report(hub.decide(name).id, reward=1.0)
    hub.change(name, "disable", "blue")
    dump = hub.learner(name).dump()
    hub.close()
    store = open_store(store_url)
    assert len(store.snapshots(1)) == 2
    store._all("UPDATE snapshot SET state = sha256 WHERE pos = (SELECT max(pos) FROM snapshot)")
    assert [text for text in verify(store).differences if "damaged" in text]
    store.close()
    again = Hub(open_store(store_url), limits=QUIET)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert again.learner(name).dump() == dump
    again.close()
    store = open_store(store_url)
    store._all("DELETE FROM snapshot WHERE state = sha256")
    store.close()


def test_frozen_bandits_decide_on(opened, monkeypatch):
    hub = opened()
    name = button(hub)
    first, second = hub.decide(name), hub.decide(name)
    with monkeypatch.context() as broken:
        for module in ("bothworlds.bandit.learner", "bothworlds.policies.base"):
            broken.setattr(f"{module}.FAILED", 0)  # every solver fails from here on …
        outcome = hub.report(first.id, reward=1.0)
        assert (outcome.learned, outcome.reason) == (False, "frozen")
    assert hub.learner(name).frozen  # … and this one stays frozen
    before = hub.learner(name).dump()
    assert hub.report(second.id, reward=0.0).reason == "frozen"
    assert hub.decide(name).probability == 0.5
    assert hub.learner(name).dump() == before
    hub._replica.store._all("DELETE FROM entry")  # a log that no engine of ours would write
    hub._replica.store._all("DELETE FROM snapshot")
    hub._replica._touched.clear()
    hub._replica.store._all("UPDATE decision SET seen = 0")


def test_overload_is_refused_before_any_work(opened):
    hub = opened(limits=QUIET._replace(max_queue=3))
    name = button(hub)
    pause = threading.Event()
    held = hub.submit([Read(lambda: pause.wait(10) and None)])
    while hub._waiting:
        pause.wait(0.01)
    waiting = hub.submit([Decide(name)] * 3)
    with pytest.raises(problems.OverloadedError, match="3 requests wait") as refused:
        hub.decide(name)
    assert (refused.value.status, refused.value.retry_after) == (503, 1.0)
    pause.set()
    held.result()
    assert len(waiting.result()) == 3
    hub.decide(name)


def test_after_closing(opened):
    hub = opened()
    name = button(hub)
    hub.close()
    hub.close()
    with pytest.raises(problems.ClosedError):
        hub.decide(name)


def test_more_open_decisions_than_memory_holds(opened):
    hub = opened(limits=QUIET._replace(remembered=3))
    name = button(hub)
    made = [hub.decide(name) for _ in range(8)]
    for decision in made:
        assert hub.report(decision.id, reward=1.0).learned
    assert hub.position == 8
