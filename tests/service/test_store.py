"""What a hub asks of a database, beyond rows: the same of each."""

from __future__ import annotations

import random
import threading

import pytest

from bothworlds.errors import StateError
from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Decide, Read, Report
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify

QUIET = HubLimits(refresh=0.02, sweep_every=1e9)


@pytest.fixture
def opened(store_url):
    """Hubs on one database, each with an experiment called ``x``."""
    hubs = []

    def make(**options):
        hubs.append(Hub(open_store(store_url), **({"limits": QUIET} | options)))
        hubs[-1].create("x", checked_settings(2, "tsallis-inf"))
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()


def learn(hub, times):
    for _ in range(times):
        hub.report(hub.decide("x").id, reward=1.0)


def test_two_that_ask_for_the_same_in_another_order_wait_and_agree(opened):
    hubs = [opened(), opened()]
    texts = [ids.text_of(ids.new_id()) for _ in range(60)]
    heard = [[], []]

    def client(number):
        chance = random.Random(number)
        for _ in range(10):
            chance.shuffle(texts_of[number])
            made = hubs[number].submit([Decide("x", id=text) for text in texts_of[number]]).result()
            done = hubs[number].submit([Report(text, reward=1.0) for text in texts_of[number]]).result()
            heard[number] += zip(made, done, strict=True)

    texts_of = [list(texts), list(texts)]
    threads = [threading.Thread(target=client, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = heard[0] + heard[1]
    assert len(answers) == 1200
    assert sum(not made.repeated for made, _ in answers) == 60
    assert sum(not done.repeated for _, done in answers) == 60
    assert len({(made.id, made.arm, made.probability, made.seen) for made, _ in answers}) == 60
    assert hubs[0].learner("x").dump() == hubs[1].learner("x").dump()


def test_marks_of_the_query_language_are_text(opened):
    hub = opened()
    for segment in ("?", "%s", "100 %", "'; DROP TABLE entry; --", "ключ", "\\x00"):
        assert hub.decide("x", segment=segment, context=b"\0?%s").segment == segment
    assert {*opened()._replica.named("x").segments} >= {"?", "%s", "100 %"}


def test_a_gap_in_the_log_stops_the_hub(opened, store_url):
    hub = opened()
    learn(hub, 3)
    store = open_store(store_url)
    store._all("UPDATE entry SET pos = 5 WHERE pos = 3")
    store.close()
    other = None
    with pytest.raises(StateError, match="gap between 0 and 5"):
        other = opened()
    assert other is None
    store = open_store(store_url)
    store._all("UPDATE entry SET pos = 3 WHERE pos = 5")
    (last,) = store.entries(1, 2, 10)
    with store.write(1, log=True):
        store.insert_entries(1, [last._replace(pos=5, decision=ids.new_id())])
    store.close()
    with pytest.raises(problems.StorageFailedError, match="gap between 3 and 5"):
        hub.decide("x")
    with pytest.raises(problems.StorageFailedError, match="start again"):
        hub.learner("x")


def test_a_log_that_has_become_shorter_stops_the_hub_and_nothing_is_added(opened, store_url):
    """As after a failover to a replica that had not got everything."""
    hub = opened()
    learn(hub, 3)
    decision = hub.decide("x")
    store = open_store(store_url)
    store._all("DELETE FROM entry WHERE pos = 3")
    with pytest.raises(problems.StorageFailedError, match="ends at 2, and 3 had been read"):
        hub.report(decision.id, reward=1.0)
    assert [entry.pos for entry in store.entries(1, 0, 10)] == [1, 2]
    store.close()


def test_states_that_differ_are_found_and_the_one_that_was_kept_is_taken(opened, store_url):
    options = {"limits": QUIET._replace(snapshot_every=5, refresh=10.0)}
    right, wrong = opened(**options), opened(**options)
    learn(right, 3)
    assert wrong.learner("x").dump() == right.learner("x").dump()
    (entry,) = right.ask(Read(lambda: right._replica.store.entries(1, 0, 1)))
    wrong._replica.bandits[1].learner.learn([entry.ticket], [0.5])  # a processor that computes otherwise
    learn(right, 4)
    with pytest.warns(RuntimeWarning, match="bandit 1 at 5 is not the one"):
        assert [wrong.position for _ in range(2) if wrong.learner("x")] == [7, 7]
    assert wrong.learner("x").dump() == right.learner("x").dump()
    assert (right.divergences, wrong.divergences) == (0, 1)
    learn(wrong, 6)
    assert wrong.learner("x").dump() == right.learner("x").dump()
    right.close()
    wrong.close()
    store = open_store(store_url)
    verdict = verify(store)
    store.close()
    assert verdict.ok, verdict.differences


def test_a_closed_store_says_so(store_url):
    store = open_store(store_url)
    store.close()
    with pytest.raises(problems.ClosedError, match="closed"):
        store.project("default")
