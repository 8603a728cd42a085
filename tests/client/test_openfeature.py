"""Our provider of OpenFeature, and their own for OFREP, against one service."""

from __future__ import annotations

import asyncio

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from bothworlds.client import Client
from bothworlds.client.openfeature import BothWorldsProvider
from bothworlds.errors import InvalidArgumentError


@pytest.fixture
def client(served):
    with Client(served.base, key=served.key, decide_deadline=60.0, report_deadline=60.0) as made:
        yield made


@pytest.fixture
def features():
    """A client of OpenFeature with a provider, in a domain of its own."""
    opened = []

    def make(provider):
        domain = f"domain-{len(opened)}"
        api.set_provider(provider, domain)
        opened.append(provider)
        return api.get_client(domain)

    yield make
    api.clear_providers()


@pytest.fixture
def providers(served, client):
    headers = {"Authorization": f"Bearer {served.key}"}
    return {
        "ours": lambda: BothWorldsProvider(client),
        "OFREP": lambda: OFREPProvider(served.base, headers_factory=lambda: headers, timeout=60.0),
    }


@pytest.mark.parametrize("which", ["ours", "OFREP"])
def test_flags(features, providers, http, button, which):
    flags = features(providers[which]())
    name = button(sticky=True)
    person = EvaluationContext("u-1", {"segment": "nl", "plan": "free"})
    details = flags.get_string_details(name, "red", person)
    stored = http.get(f"/v1/decisions/{details.flag_metadata['decisionId']}").json()
    assert (details.value, details.variant, details.reason, details.error_code) == (
        stored["arm"],
        stored["arm"],
        Reason.SPLIT,
        None,
    )
    assert details.flag_metadata["probability"] == stored["probability"]
    assert stored["segment"] == "nl"
    again = flags.get_string_details(name, "red", person)  # the targeting key is the unit: sticky
    assert again.flag_metadata == details.flag_metadata

    sizes = button(arms=[10, 20])
    assert flags.get_integer_value(sizes, 0) in (10, 20)
    assert flags.get_float_value(button(arms=[0.5, 1.5]), 0.0) in (0.5, 1.5)
    missing = flags.get_string_details("none", "red", person)
    assert (missing.value, missing.reason, missing.error_code) == (
        "red",
        Reason.ERROR,
        ErrorCode.FLAG_NOT_FOUND,
    )
    for wrong in (
        flags.get_boolean_details(name, True, person),
        flags.get_object_details(name, {}, person),
        flags.get_integer_details(name, 3, person),
    ):
        assert (wrong.reason, wrong.error_code) == (Reason.ERROR, ErrorCode.TYPE_MISMATCH)
    strange = flags.get_string_details(name, "red", EvaluationContext("u-1", {"segment": 7}))
    assert (strange.value, strange.error_code) == ("red", ErrorCode.INVALID_CONTEXT)


def test_events_are_rewards_of_the_last_decisions(features, client, http, button):
    button_, price, other = button(), button(arms=[1, 2]), button()
    provider = BothWorldsProvider(client, rewards={"purchase": [button_, price], "click": [other]})
    flags = features(provider)
    person, stranger = EvaluationContext("u-1"), EvaluationContext("u-2")
    ids = [
        flags.get_string_details(button_, "red", person).flag_metadata["decisionId"],  # not the last
        flags.get_string_details(button_, "red", person).flag_metadata["decisionId"],
        flags.get_integer_details(price, 0, person).flag_metadata["decisionId"],
        flags.get_string_details(other, "red", person).flag_metadata["decisionId"],
        flags.get_string_details(button_, "red", stranger).flag_metadata["decisionId"],
    ]
    flags.track("purchase", person, TrackingEventDetails(0.5))
    flags.track("purchase", person, TrackingEventDetails(0.75))  # a second event is of no decision
    flags.track("purchase")
    flags.track("visit", person)
    flags.track("click", person, TrackingEventDetails(float("nan")))
    flags.track("click", person)
    provider.shutdown()
    closed = [http.get(f"/v1/decisions/{identity}").json()["closed"] for identity in ids]
    assert [one and one["reward"] for one in closed] == [None, 0.5, 0.5, 1.0, None]
    flags.track("purchase", stranger, TrackingEventDetails(0.25))  # after a shutdown it goes on
    provider.shutdown()
    assert http.get(f"/v1/decisions/{ids[4]}").json()["closed"]["reward"] == 0.25


def test_what_was_not_shown_is_withdrawn(features, client, http, button, monkeypatch):
    made = []
    monkeypatch.setattr(client, "withdraw", lambda one, do=client.withdraw: made.append(one) or do(one))
    assert features(BothWorldsProvider(client)).get_integer_value(button(), 3) == 3
    assert http.get(f"/v1/decisions/{made[0]}").json()["closed"]["source"] == "withdrawn"


def test_decisions_are_forgotten_when_there_are_too_many(features, client, http, button):
    name = button()
    provider = BothWorldsProvider(client, rewards={"click": [name]}, remembered=2)
    flags = features(provider)
    people = [EvaluationContext(f"u-{i}") for i in range(3)]
    ids = [flags.get_string_details(name, "", one).flag_metadata["decisionId"] for one in people]
    for one in people:
        flags.track("click", one)
    provider.shutdown()
    closed = [http.get(f"/v1/decisions/{identity}").json()["closed"] for identity in ids]
    assert [one is not None for one in closed] == [False, True, True]


def test_an_outage_is_the_default_and_says_so(features, button):
    with Client("http://127.0.0.1:9", key="bw_k") as client:
        flags = features(BothWorldsProvider(client))
        for details in (
            flags.get_string_details("button", "red"),
            asyncio.run(flags.get_string_details_async("button", "red")),
        ):
            assert (details.value, details.reason) == ("red", Reason.ERROR)
            assert details.error_code == ErrorCode.GENERAL
            assert "ConnectError" in details.error_message
    with pytest.raises(InvalidArgumentError, match=r"write \['button'\]"):
        BothWorldsProvider(client, rewards={"click": "button"})


def test_flags_with_await(features, client, button):
    flags = features(BothWorldsProvider(client))
    words, sizes, shares = button(), button(arms=[10, 20]), button(arms=[1, 2.5])

    async def values():
        return [
            await flags.get_string_value_async(words, ""),
            await flags.get_integer_value_async(sizes, 0),
            await flags.get_float_value_async(shares, 0.0),
        ]

    word, size, share = asyncio.run(values())
    assert word in ("blue", "green")
    assert size in (10, 20)
    assert share in (1.0, 2.5)
