"""A hub whose database fails at any call, before or after the deed, against a model of what was promised."""

from __future__ import annotations

import contextlib
import os
import tempfile

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from bothworlds.service import ids, problems
from bothworlds.service.hub import Hub, HubLimits
from bothworlds.service.messages import Read
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from bothworlds.service.verify import verify
from service.servers import MEMORY, fresh_database

QUIET = HubLimits(refresh=10.0, sweep_every=1e9, snapshot_every=5, remembered=3)
WAIT, MISSING = 100.0, 0.25


class Failing:
    """A store that fails at the n-th call from now, if told so: before it, or after it was done."""

    def __init__(self, store):
        self.store = store
        self.countdown = None
        self.after = False

    def _due(self):
        if self.countdown is None:
            return False
        self.countdown -= 1
        if self.countdown > 0:
            return False
        self.countdown = None
        return True

    def _fail(self):
        raise problems.StorageUnavailableError("as a test has it")

    def __getattr__(self, name):
        method = getattr(self.store, name)
        if name in ("close", "write"):
            return method if name == "close" else self._write

        def call(*args, **options):
            due = self._due()
            if due and not self.after:
                self._fail()
            result = method(*args, **options)
            if due:
                self._fail()
            return result

        return call

    @contextlib.contextmanager
    def _write(self, project, *, log):
        """After the deed means: committed, and nobody heard of it."""
        due = self._due()
        if due and not self.after:
            self._fail()
        with self.store.write(project, log=log) as head:
            yield head
        if due:
            self._fail()


class Promises(RuleBasedStateMachine):
    """Two hubs on one log; what one has acknowledged is true for both, for ever."""

    made = Bundle("made")

    def __init__(self):
        super().__init__()
        self.resources = contextlib.ExitStack()
        self.url = self.resources.enter_context(self.database())
        self.now = 1_000_000.0
        self.decisions, self.outcomes, self.asked = {}, {}, set()
        self.hubs = [None, None]
        for which in (0, 1):
            self.open(which)
        self.settings = {
            "now": checked_settings(3, "tsallis-inf"),
            "later": checked_settings(3, "tsallis-inf", wait=WAIT, missing=MISSING),
        }
        for name, each in self.settings.items():
            self.hubs[0].create(name, each)

    @contextlib.contextmanager
    def database(self):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            yield f"sqlite:///{folder}/log.db"

    def open(self, which):
        store = Failing(open_store(self.url))
        self.hubs[which] = Hub(store, limits=QUIET, clock=lambda: self.now)
        self.hubs[which].failing = store
        for _ in range(2):  # the second is answered when it has looked, as it does first, what is due
            self.hubs[which].ask(Read(lambda: None))

    def attempt(self, which, function, *args, **options):
        """The answer, or None if the store failed."""
        try:
            return function(*args, **options)
        except problems.StorageUnavailableError:
            return None
        finally:
            self.hubs[which].failing.countdown = None

    @rule(which=st.integers(0, 1), calls=st.integers(1, 9), after=st.booleans())
    def fail(self, which, calls, after):
        self.hubs[which].failing.countdown, self.hubs[which].failing.after = calls, after

    @rule(target=made, which=st.integers(0, 1), name=st.sampled_from(["now", "later"]), n=st.integers(0, 2))
    def decide(self, which, name, n):
        text = ids.text_of(ids.new_id())
        answer = self.attempt(which, self.hubs[which].decide, name, id=text, segment=f"s{n}")
        if answer is not None:
            self.decisions[text] = (answer.arm, answer.probability, answer.seen)
        return multiple((text, name, f"s{n}"))

    @rule(which=st.integers(0, 1), decision=made)
    def decide_again(self, which, decision):
        text, name, segment = decision
        answer = self.attempt(which, self.hubs[which].decide, name, id=text, segment=segment)
        if answer is not None:
            found = (answer.arm, answer.probability, answer.seen)
            assert self.decisions.setdefault(text, found) == found

    @rule(which=st.integers(0, 1), decision=made, reward=st.sampled_from([0.0, 1.0]))
    def report(self, which, decision, reward):
        text = decision[0]
        self.asked.add((text, reward))
        try:
            answer = self.attempt(which, self.hubs[which].report, text, reward=reward)
        except problems.UnknownDecisionError:
            assert text not in self.decisions
            return
        except problems.OutcomeExistsError as problem:
            stored = problem.fields["reward"]
            assert stored != reward
            assert stored is None or (text, stored) in self.asked
            return
        if answer is not None and answer.reason != "late":
            assert self.outcomes.setdefault(text, reward) == reward

    @rule(which=st.integers(0, 1), decision=consumes(made))
    def withdraw(self, which, decision):
        text = decision[0]
        try:
            answer = self.attempt(which, self.hubs[which].withdraw, text)
        except problems.UnknownDecisionError:
            assert text not in self.decisions
        except problems.OutcomeExistsError as problem:
            stored = problem.fields["reward"]
            assert stored == MISSING or (text, stored) in self.asked
        else:
            if answer is not None:
                assert self.outcomes.setdefault(text, None) is None

    @rule(
        which=st.integers(0, 1), what=st.sampled_from(["disable", "enable", "restart"]), arm=st.integers(0, 2)
    )
    def change(self, which, what, arm):
        with contextlib.suppress(problems.InvalidRequestError):
            self.attempt(which, self.hubs[which].change, "now", what, arm)

    @rule(which=st.integers(0, 1), seconds=st.sampled_from([10.0, 50.0]))
    def sweep(self, which, seconds):
        self.now += seconds
        for hub in self.hubs:
            hub._sweeper._steady -= seconds  # a clock that goes, not one that jumps
        self.attempt(which, self.hubs[which].sweep)

    @rule(which=st.integers(0, 1))
    def restart(self, which):
        self.hubs[which].failing.countdown = None
        self.hubs[which].close()
        self.open(which)

    @invariant()
    def both_hubs_are_the_same(self):
        if any(hub.failing.countdown is not None for hub in self.hubs):
            return
        for name in self.settings:
            one, other = (hub.learner(name, "s0").dump() for hub in self.hubs)
            assert one == other
        assert self.hubs[0].position == self.hubs[1].position

    def teardown(self):
        for hub in self.hubs:
            assert hub.failure is None
            hub.failing.countdown = None
            hub.close()
        store = open_store(self.url)
        verdict = verify(store)
        rows = {ids.text_of(row.id): row for row in store.scan_decisions(1)}
        closings = {
            ids.text_of(entry.decision): entry for entry in store.entries(1, 0, 10**6) if entry.decision
        }
        waiting = store.reports(1, [ids.bytes_of(text) for text in self.outcomes])
        store.close()
        self.resources.close()
        assert verdict.ok, verdict.differences
        for text, (arm, probability, seen) in self.decisions.items():
            assert (rows[text].arm, rows[text].probability, rows[text].seen) == (arm, probability, seen)
        for text, reward in self.outcomes.items():
            if text in closings:
                assert closings[text].kept == (None if reward is None else 1.0 - reward)
            else:  # acknowledged, and waiting for its deadline
                assert waiting[ids.bytes_of(text)].kept == 1.0 - reward


class PostgresPromises(Promises):
    """The same on PostgreSQL."""

    def database(self):
        return fresh_database()


EXAMPLES = int(os.environ.get("BOTHWORLDS_EXAMPLES", "10"))
SETTINGS = {"stateful_step_count": 25, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=EXAMPLES, **SETTINGS)
TestPostgresPromises = PostgresPromises.TestCase
TestPostgresPromises.settings = settings(max_examples=max(3, EXAMPLES // 4), **SETTINGS)
