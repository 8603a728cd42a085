"""A log whose beginning goes: what is left is as it was, whoever is killed on the way."""

from __future__ import annotations

import random
import time

import pytest
from pyarrow import parquet

from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Decide, Read
from bothworlds.service.retention import DAY, export_and_retain, retain
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify

QUIET = HubLimits(refresh=0.02, sweep_every=1e9, snapshot_every=10)
FIRST = 20_000 * DAY  # a midnight


def id_at(at, chance):
    """A UUID of version 7 of this time."""
    tail = bytearray(chance.randbytes(10))
    tail[0], tail[2] = 0x70 | tail[0] & 0x0F, 0x80 | tail[2] & 0x3F
    return ids.text_of(int(1000 * at).to_bytes(6, "big") + bytes(tail))


class Clock:
    def __init__(self):
        self.now = FIRST

    def __call__(self):
        return self.now


@pytest.fixture
def played(store_url):
    """Ten days of two experiments, five decisions of each a day; what was decided, and states at the end."""
    clock, chance, made = Clock(), random.Random(3), []
    hub = Hub(open_store(store_url), limits=QUIET, clock=clock)
    hub.create("plain", checked_settings(["a", "b", "c"], "tsallis-inf"))
    hub.create("waits", checked_settings(2, "tsallis-inf", wait=1.5 * DAY, missing=0.0))
    for day in range(10):
        for number in range(5):
            clock.now = FIRST + (day + number / 5.0) * DAY
            decision = hub.decide("plain", id=id_at(clock.now, chance), segment="xy"[number % 2])
            made.append(decision)
            if number != 3:  # some never hear
                hub.report(decision.id, reward=chance.random())
            waiting = hub.decide("waits", id=id_at(clock.now, chance))
            made.append(waiting)
            if chance.random() < 0.5:
                hub.report(waiting.id, reward=1.0)
            hub._sweeper._steady = time.monotonic() - clock.now  # a clock that goes fast, and does not jump
            hub.sweep()
        if day in (2, 7):
            hub.change("plain", "disable" if day == 2 else "enable", "b")
    hub.close()
    return store_url, made, states_of(store_url)


def states_of(url):
    """The states of all bandits, of a process that starts."""
    hub = Hub(open_store(url), limits=QUIET, clock=lambda: FIRST + 9.95 * DAY)
    names = [("plain", "x"), ("plain", "y"), ("waits", "")]
    try:
        return {name: hub.learner(*name).dump() for name in names}
    finally:
        hub.close()


def checked(url):
    """A log that agrees with itself."""
    store = open_store(url)
    verdict = verify(store)
    kept = {ids.text_of(row.id) for row in store.scan_decisions(store.project("default").id)}
    store.close()
    assert verdict.ok, verdict.differences
    assert verdict.decisions <= len(kept)
    return verdict, kept


def test_what_is_left_is_as_it_was(played):
    url, made, states = played
    whole, _ = checked(url)
    store = open_store(url)
    gone = retain(store, before=FIRST + 5 * DAY)
    again = retain(store, before=FIRST + 5 * DAY)
    assert again == gone._replace(decisions=0, entries=0)
    assert gone.decisions == sum(one.made < gone.before for one in made) == 50
    verdict, kept = checked(url)
    assert kept == {one.id for one in made if one.made >= gone.before}
    assert verdict.decisions == len(kept)  # every one of them
    assert verdict.start == gone.start > 30
    changes = len(store.changes(1, 0, gone.start))
    assert (changes, gone.entries) == (1, gone.start - 1)
    assert verdict.entries == whole.entries - gone.start
    assert states_of(url) == states
    later = retain(store, before=FIRST + 8 * DAY)
    assert later.start > gone.start
    verdict, kept = checked(url)
    assert verdict.decisions == len(kept) == sum(one.made >= later.before for one in made)
    damage = "UPDATE snapshot SET sha256 = state"
    store._all(damage)
    with pytest.warns(RuntimeWarning, match="is damaged; it is made again"):
        assert states_of(url) == states  # from where the log begins
    store._all("UPDATE base SET sha256 = state")
    with (
        pytest.warns(RuntimeWarning, match="is damaged; it is made again"),
        pytest.raises(problems.StorageFailedError, match="with which the log begins, is damaged"),
    ):
        states_of(url)
    assert not verify(store).ok
    store.close()


def test_those_who_serve_go_on_and_old_ids_are_gone(played):
    url, made, _ = played
    clock = Clock()
    clock.now = FIRST + 9.95 * DAY
    hub = Hub(open_store(url), limits=QUIET._replace(max_open=1000), clock=clock)
    hub.ask(Read(lambda: hub.replica.count_open(clock())))
    before = hub.replica.n_open
    store = open_store(url)
    retain(store, before=FIRST + 5 * DAY)
    old = [one for one in made if one.made < FIRST + 5 * DAY]
    for one in (old[6], old[7]):
        with pytest.raises(problems.DecisionGoneError, match="older than what is kept"):
            hub.report(one.id, reward=0.5)
        with pytest.raises(problems.DecisionGoneError, match="older than what is kept"):
            hub.decide(one.experiment, id=one.id)
        with pytest.raises(problems.DecisionGoneError):
            hub.withdraw(one.id)
    with pytest.raises(problems.UnknownDecisionError):
        hub.report("00000000-0000-4000-8000-000000000000", reward=0.5)  # says nothing of its age
    kept = made[-20]
    assert hub.decide(kept.experiment, id=kept.id, segment=kept.segment).arm == kept.arm
    assert hub.report(hub.decide("plain", segment="x").id, reward=1.0).learned
    hub._replica._counted._next = 0.0
    hub.ask(Read(lambda: hub.replica.count_open(clock())))
    assert hub.replica.n_open <= before
    hub.close()
    store.close()
    checked(url)


class Killed(BaseException):
    """The process ends."""


class Mortal:
    """A store whose process is killed at the n-th call, before it or in the midst of its transaction."""

    def __init__(self, store, calls):
        self._store, self._left = store, calls
        self._inner = store._all
        store._all = self._all

    def _all(self, query, *values):
        self._left -= 1
        if self._left < 0:
            raise Killed
        return self._inner(query, *values)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_killed_at_any_statement(played):
    url, made, states = played
    deaths = 0
    for calls in range(1, 200):
        store = open_store(url)
        try:
            retain(Mortal(store, calls), before=FIRST + 5 * DAY)
            break
        except Killed:
            deaths += 1
        finally:
            store.close()
        _, kept = checked(url)
        assert kept >= {one.id for one in made if one.made >= FIRST + 5 * DAY}
    assert deaths > 5
    assert states_of(url) == states
    _, kept = checked(url)
    assert kept == {one.id for one in made if one.made >= FIRST + 5 * DAY}


def test_days_are_exported_before_they_go(played, tmp_path):
    url, made, states = played
    now = FIRST + 9.95 * DAY
    other = open_store(url)
    assert other.may_retain(1)
    assert export_and_retain(url, "default", days=5, folder=tmp_path, now=now) is None  # one at a time
    other.close()
    gone = export_and_retain(url, "default", days=5, folder=tmp_path, now=now)
    assert gone.before == FIRST + 4 * DAY  # whole days
    files = sorted(tmp_path.glob("default/plain/*.parquet"))
    assert [path.name for path in files] == [f"2024-10-{day:02d}.parquet" for day in range(4, 8)]
    rows = [row for path in tmp_path.rglob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    assert sorted(row["id"] for row in rows) == sorted(one.id for one in made if one.made < gone.before)
    assert len(rows) == gone.decisions == 40
    waits = next(one for one in made if one.experiment == "waits" and one.made > FIRST + 9 * DAY)
    held = export_and_retain(url, "default", days=1, folder=tmp_path, now=now + 30 * DAY)
    assert held.before <= waits.made  # its deadline is to come, for those who sweep
    checked(url)
    assert states_of(url) == states


def test_no_more_open_decisions_than_there_may_be(store_url):
    clock = Clock()
    limits = QUIET._replace(max_open=5)
    hub = Hub(open_store(store_url), limits=limits, clock=clock)
    hub.create("one", checked_settings(2, "tsallis-inf"))
    made = hub.submit([Decide("one")] * 8).result()
    assert [isinstance(one, problems.LimitReachedError) for one in made] == [False] * 5 + [True] * 3
    with pytest.raises(
        problems.LimitReachedError, match="5 decisions of 'default' are open, which is the limit"
    ):
        hub.decide("one")
    assert hub.decide("one", id=made[0].id).repeated
    hub.close()
    clock.now += 60.0
    hub = Hub(open_store(store_url), limits=limits, clock=clock)
    assert hub.replica.n_open == 5
    assert hub.decide("one", id=made[1].id).repeated  # which is no longer in memory
    hub.change("one", "disable", 1)
    hub.report(made[0].id, reward=1.0)
    hub.withdraw(made[1].id)
    made = hub.submit([Decide("one")] * 3).result()
    assert [isinstance(one, problems.LimitReachedError) for one in made][:2] == [False] * 2
    clock.now += 60.0
    hub._replica._counted._next = 0.0
    hub.ask(Read(lambda: hub.replica.count_open(clock())))
    assert hub.replica.n_open == 5
    hub.close()
