"""The alarm on keys whose rewards are odd: what it computes, whom it accuses, and how seldom wrongly."""

from __future__ import annotations

import json
import math
import random
import time
import uuid

import pytest

from bothworlds.service import reporters
from bothworlds.service.reporters import Reporters


def played(draw, keys, reward_of, rounds, *, arms=2, watched=False):
    """Reports on the arms of a greedy player, who comes back to what did well."""
    found = Reporters()
    pulls, won = [1e-9] * arms, [0.0] * arms
    for t in range(rounds):
        best = max(range(arms), key=lambda arm: won[arm] / pulls[arm])
        arm = draw.randrange(arms) if draw.random() < 0.2 else best
        key = keys(draw, t)
        reward = reward_of(draw, key, arm, t)
        pulls[arm], won[arm] = pulls[arm] + 1, won[arm] + reward
        found.report(key, (1, arm), reward)
        if watched:
            found.check()
    found.check()
    return found


def raised(found):
    return {one.number for one in found if one.odd}


def evenly(draw, t):
    return draw.randrange(4)


def click(rate):
    return lambda draw, key, arm, t: float(draw.random() < rate(key, arm, t))


def test_the_evidence_is_the_least_over_all_means():
    """Held to the definition: factors one by one, at the worst means of the arms, in plain sums."""
    draw = random.Random(3)
    rows = [(draw.randrange(3), draw.randrange(2), draw.random()) for _ in range(80)]
    found = Reporters()
    for key, arm, reward in rows:
        found.report(key, (1, arm), reward)
    found.check()
    for pair in set(found._pairs.values()):
        first, second = pair.first.number, pair.second.number
        total = 0.0
        for bet in reporters.BETS:
            cost = -math.log(1.0 - bet) - bet
            for sign in (1.0, -1.0):
                log = 0.0
                for arm in (0, 1):
                    logs = []
                    for mean in (0.0, 1.0):  # linear in the mean: the least is at an end
                        here, ahead, seen, known = 0.0, 0, [], set()
                        for key, where, reward in rows:
                            if where != arm:
                                continue
                            guess = (0.5 + sum(seen)) / (1 + len(seen))
                            seen.append(reward)
                            after = ahead + (1 if key == first else -1)
                            other = second if key == first else first
                            if key in (first, second) and other in known and abs(after) <= reporters.AHEAD:
                                way = sign if key == first else -sign
                                here += way * bet * (reward - mean) - cost * (reward - guess) ** 2
                                ahead = after
                            known.add(key)
                        logs.append(here)
                    log += min(logs)
                total += math.exp(log)
        assert pair.log_e == pytest.approx(math.log(total / (2 * len(reporters.BETS))), abs=1e-9)


@pytest.mark.parametrize(
    ("keys", "rate"),
    [
        pytest.param(evenly, lambda key, arm, t: (0.3, 0.6)[arm], marks=pytest.mark.slow),
        (lambda draw, t: int(draw.random() < 0.05), lambda key, arm, t: (0.02, 0.05)[arm]),
        (lambda draw, t: (t // 20) % 2, lambda key, arm, t: (0.5, 0.5)[arm]),  # shifts of one key at a time
        pytest.param(  # a world that drifts
            evenly,
            lambda key, arm, t: 0.5 + 0.3 * math.sin(t / 100.0) * (-1) ** arm,
            marks=pytest.mark.slow,
        ),
        (evenly, lambda key, arm, t: 0.8 if (t // 100 + arm) % 2 else 0.2),  # a world that jumps
        (lambda draw, t: (t // 30) % 3, lambda key, arm, t: 0.8 if (t // 140 + arm) % 2 else 0.2),
    ],
)
def test_honest_keys_are_seldom_accused(monkeypatch, keys, rate):
    """With an error of 0.2 and an eye on every report, at most 12 of 60 projects are accused on average."""
    monkeypatch.setattr(reporters, "ERROR", 0.2)
    wrong = sum(
        bool(raised(played(random.Random(seed), keys, click(rate), 400, watched=True))) for seed in range(60)
    )
    assert wrong <= 20  # more has a probability below 0.01 at 12


def test_a_player_who_never_comes_back_after_a_loss():
    """Only good rewards are ever compared with what others report: leaving the bad ones out would accuse."""
    draw, accused, naive = random.Random(5), 0, 0
    for _ in range(20):
        found, compared = Reporters(), []
        for arm in range(300):
            found.report(1, (1, arm), float(draw.random() < 0.5))
            first = float(draw.random() < 0.5)
            found.report(0, (1, arm), first)
            if first:
                second = float(draw.random() < 0.5)
                compared.append(first - second)
                found.report(1, (1, arm), second)
        found.check()
        accused += bool(raised(found))
        naive += sum(compared) / len(compared) > 0.3
    assert (accused, naive) == (0, 20)


@pytest.mark.parametrize(
    "lie",
    [
        lambda draw, key, arm, t: 1.0 if key == 3 else float(draw.random() < (0.2, 0.3)[arm]),
        lambda draw, key, arm, t: 0.0 if key == 3 else float(draw.random() < (0.5, 0.6)[arm]),
        lambda draw, key, arm, t: float(draw.random() < ((0.6, 0.1) if key == 3 else (0.2, 0.3))[arm]),
    ],
)
def test_a_key_that_lies_is_found_and_no_other_is(lie):
    for seed in range(5):
        assert raised(played(random.Random(seed), evenly, lie, 1500)) == {3}


def test_of_two_keys_that_differ_both_are_shown():
    lie = click(lambda key, arm, t: 0.9 if key else 0.2)
    assert raised(played(random.Random(1), lambda draw, t: draw.randrange(2), lie, 400)) == {0, 1}


def test_nobody_is_compared_with_themselves():
    found = Reporters()
    for t in range(500):
        found.report(1, (1, t % 2), t % 3 / 2.0)
        found.report(2, (2, t % 2), 1.0)  # another bandit
    assert not found.check()
    assert [one.compared for one in found] == [0, 0]


def test_those_who_come_without_a_key_are_compared_too():
    lie = click(lambda key, arm, t: 1.0 if key == 2 else 0.2)
    found = played(random.Random(1), lambda draw, t: draw.choice((None, 1, 2)), lie, 400)
    assert raised(found) == {2}


def test_batches_in_turn():
    """One after the other, always in the same order, many reports at a time."""
    draw, found = random.Random(2), Reporters()
    for _ in range(20):
        for key in (1, 2, 3):
            for _ in range(10):
                reward = 1.0 if key == 3 else float(draw.random() < 0.2)
                found.report(key, (1, draw.randrange(2)), reward)
            found.check()
    assert raised(found) == {3}


def test_as_many_keys_as_there_may_be():
    """Each is compared with a few, so that the work of a report is bounded."""
    draw, found = random.Random(2), Reporters()
    for _ in range(20_000):
        key = draw.randrange(40)
        found.report(key, (1, 0), 1.0 if key == 30 else float(draw.random() < 0.2))
    found.check()
    assert len(set(found._pairs.values())) < reporters.COMPANY * 40
    assert raised(found) == {30}


# --- of a service ---------------------------------------------------------------------------------------


def test_a_lying_decider_is_shown_to_viewers_without_secrets(served):
    """Over HTTP: three keys, one of which reports success whatever happened."""
    draw, name = random.Random(11), f"e-{uuid.uuid4().hex[:8]}"
    made = {}
    with served.client(served.new_key("admin", project="lies")) as admin:
        for label in ("web", "app", "liar"):
            made[label] = admin.post("/v1/keys", json={"role": "decider", "label": label}).json()
        viewer = admin.post("/v1/keys", json={"role": "viewer"}).json()["key"]
        admin.post("/v1/experiments", json={"name": name, "arms": ["blue", "green"]}).raise_for_status()
    for _ in range(8):
        for label, key in made.items():
            with served.client(key["key"]) as client:
                decided = client.post(
                    f"/v1/experiments/{name}/decisions:batch", json={"decisions": [{}] * 20}
                )
                outcomes = []
                for result in decided.json()["results"]:
                    reward = 1.0 if label == "liar" else float(draw.random() < 0.2)
                    outcomes.append({"id": result["decision"]["id"], "reward": reward})
                random.Random(0).shuffle(outcomes)
                for begin in range(0, 20, 10):
                    client.post("/v1/outcomes:batch", json={"outcomes": outcomes[begin : begin + 10]})
    with served.client(viewer) as client:
        end = time.monotonic() + 30.0
        while True:
            answer = client.get("/v1/reporters")
            shown = {one["label"]: one for one in answer.json()["reporters"]}
            if sum(one["reports"] for one in shown.values()) == 480:
                break
            assert time.monotonic() < end, shown
            time.sleep(0.2)
        assert {label: one["odd"] for label, one in shown.items()} == {
            "web": False,
            "app": False,
            "liar": True,
        }
        liar = shown["liar"]
        assert (liar["key"], liar["decisions"], liar["answered"]) == (made["liar"]["id"], 160, 160)
        assert liar["difference"] > 0.5
        assert (liar["compared_with"], liar["differs_from"]) == (2, 2)
        assert "bothworlds_odd_keys 1.0" in (metrics := client.get("/metrics").text)
        with client.stream("GET", "/v1/stream") as stream:
            tick = next(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        assert tick["odd_keys"] == 1
    for key in made.values():
        assert key["key"].split("_", 2)[2] not in answer.text
        assert key["id"] not in metrics
    end = time.monotonic() + 60.0  # who follows the log waits until kernels are compiled
    while '"odd rewards"' not in served.log.read_text():
        assert time.monotonic() < end, served.log.read_text()
        time.sleep(0.2)
