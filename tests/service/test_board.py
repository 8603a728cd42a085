"""The board in a real browser, on a real service: live, after a kill, with hostile names, on a phone."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from bothworlds.service.hub import Hub
from bothworlds.service.settings import checked_settings
from bothworlds.service.store import open_store
from serving import Served

CHROMIUM = shutil.which("chromium")
REQUIRED = os.environ.get("BOTHWORLDS_BROWSER") == "required"  # there a missing browser is a failure
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="chromium is not installed (apt-get install chromium)"
)
HOSTILE = "<img src=x onerror='window.hacked=1'>\"&amp;\u202e" + "W" * 150
SHOWN = HOSTILE.replace("\u202e", "\ufffd")  # it would turn around what follows
SEGMENTS = [f"s{i:03}" for i in range(60)]
READY = "html[data-ready=yes]"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """With a frozen bandit, hostile names and many segments."""
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as broken:
        broken.setenv("BOTHWORLDS_COMPILE", "never")
        hub = Hub(open_store(f"sqlite:///{folder / 'service.db'}"))
        hub.create("frozen", checked_settings(["blue", "green"], "tsallis-inf"))
        arms = [HOSTILE, "b" + HOSTILE, *(f"arm {i}" for i in range(9))]
        hub.create(HOSTILE, checked_settings(arms))  # HTTP would refuse this name, and bw.open does not
        for module in ("bothworlds.bandit.learner", "bothworlds.policies.base"):
            broken.setattr(f"{module}.FAILED", 0)  # every solver fails
        assert hub.report(hub.decide("frozen").id, reward=1.0).reason == "frozen"
    hub.close()
    one = Served(folder)
    with one.client() as client:
        make(client, "button", ["blue", "green"])
        make(client, "many", ["blue", "green"])
        play(client, "button", 30)
        play(client, HOSTILE, 20, HOSTILE)
        play(client, "many", 1, *SEGMENTS)
    yield one
    assert one.stop() == 0
    assert "defect" not in one.log.read_text()


def make(client, name, arms):
    answer = client.post("/v1/experiments", json={"name": name, "arms": arms})
    assert answer.status_code == 201, answer.text


def play(client, name, n, *segments):
    path = f"/v1/experiments/{quote(name)}/decisions:batch"
    bodies = [{"segment": segment} for segment in segments or [""]] * n
    made = client.post(path, json={"decisions": bodies}).raise_for_status().json()
    told = [{"id": one["decision"]["id"], "reward": i % 2} for i, one in enumerate(made["results"])]
    client.post("/v1/outcomes:batch", json={"outcomes": told}).raise_for_status()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def session(served, browser):
    """What a browser keeps after it opened the link that was printed."""
    link = re.search(r"Board: (\S+)", served.output.read_text())[1]
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector(READY)
    assert "link." not in page.url
    assert page.evaluate("document.cookie") == ""
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    kept = context.storage_state()
    context.close()
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("#denied:text('was used')")
    assert page.is_visible("#login")
    assert not page.is_visible("#board")
    context.close()
    return kept


@pytest.fixture
def show(served, browser, session):
    """Open the board; requests to other places, words on the console and errors are collected."""
    opened = []

    def open_page(query="", **options):
        context = browser.new_context(**({"storage_state": session} | options))
        page = context.new_page()
        page.trouble = []
        page.on("request", lambda r: r.url.startswith(served.base) or page.trouble.append(r.url))
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.goto(f"{served.base}/board{query}")
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()


def ready(page):
    page.wait_for_selector(READY)
    page.wait_for_selector("#experiment:not([hidden])")
    page.wait_for_selector("#live[data-light=good]")
    return page


def figure(page, term):
    return page.evaluate(
        """(term) => [...document.querySelectorAll("#figures dt")].find((dt) => dt.textContent === term)
             .nextSibling.firstChild.textContent""",
        term,
    )


def wait_for_figure(page, term, value):
    page.wait_for_function(
        """([term, value]) => [...document.querySelectorAll("#figures dt")]
             .find((dt) => dt.textContent === term)?.nextSibling.firstChild.textContent === value""",
        arg=[term, value],
        timeout=120_000,  # after a restart the service reads its log first, beside all other tests
    )


def test_empty_then_live(served, show):
    key = served.new_key("admin", project="other")
    page = show(storage_state=None)
    page.wait_for_selector("#login:not([hidden])")
    page.fill("#key", "bw_no_key")
    page.keyboard.press("Enter")
    page.wait_for_selector("#denied:text('does not open')")
    page.fill("#key", key)
    page.keyboard.press("Enter")
    page.wait_for_selector("#empty-title:text('No experiments yet')")
    assert page.input_value("#key") == ""
    assert served.base in page.text_content("#empty-command")
    with served.client(key) as client:
        make(client, "new", ["a", "b"])
        page.wait_for_selector("#empty-text:text('No decisions yet')")
        play(client, "new", 10)
        wait_for_figure(page, "reported", "10")  # nobody has touched the page
        shown = client.get("/v1/experiments/new/bandits").json()["bandits"][0]
    rows = page.locator("#arms tbody tr").all_inner_texts()
    for row, arm in zip(rows, shown["arms"], strict=True):
        cells = re.split(r"\s*\t\s*", row.strip())
        assert cells[0] == arm["arm"]
        assert cells[1] == f"{100 * arm['probability']:.1f} %"
        assert cells[2] == str(arm["pulls"])
        low, high = (float(end) for end in re.search(r"\[(.*), (.*)\]", cells[4]).groups())
        assert (low, high) == pytest.approx((arm["low"], arm["high"]), rel=0.005)
    page.wait_for_selector("#keys-card:not([hidden])")
    (row,) = page.locator("#keys tbody tr").all_inner_texts()
    assert key.split("_")[1] in row
    assert "not compared yet" in row
    assert [text for text in page.trouble if "401" not in text] == []


def test_charts_say_what_the_curve_says(served, show):
    page = ready(show("?experiment=button"))
    with served.client() as client:
        points = client.get("/v1/experiments/button/curves").json()["points"]
    page.click("#probabilities summary")
    page.wait_for_selector("#probabilities tbody td")  # the table is filled when it is opened
    cells = page.locator("#probabilities tbody tr").first.locator("td").all_inner_texts()
    assert cells == [f"{100 * p:.1f} %" for p in reversed(points[-1]["probabilities"])]
    page.focus("#probabilities .chart")
    page.keyboard.press("End")
    said = page.text_content("#probabilities [role=status]")
    assert f"blue: {100 * points[-1]['probabilities'][0]:.1f} %" in said
    assert page.is_visible("#probabilities .tip")
    page.keyboard.press("Escape")
    assert not page.is_visible("#probabilities .tip")
    page.click("#legend button >> nth=0")
    assert page.locator("#probabilities .faded").count() == 1
    page.select_option("#axis", "decisions")
    assert page.text_content("#pulls h2").endswith("decisions")
    assert page.trouble == []


def test_hostile_names(show):
    page = ready(show())
    page.click(f"nav a >> nth={0}")
    page.wait_for_function("document.getElementById('name').textContent.startsWith('<img')")
    assert page.text_content("#name") == f"{SHOWN} / {SHOWN}"
    assert page.locator("#arms th.name").first.text_content() == SHOWN
    assert "\u202e" not in page.locator("body").inner_text()
    page.hover("#means .chart", position={"x": 150, "y": 60})
    assert page.locator("#legend li").last.text_content() == "4 others"  # 11 arms, 7 with a color
    assert page.evaluate("window.hacked") is None
    assert page.locator("img:not([src='/board/icon.svg'])").count() == 0
    assert page.trouble == []


def test_many_segments(show):
    page = ready(show("?experiment=many"))
    assert page.text_content("#page") == "1 to 25 of 60"
    page.click("#next")
    page.wait_for_selector("#page:text('26 to 50')")
    page.click("#segment-table a >> nth=0")
    page.wait_for_selector("#name:text('many / s025')")
    page.fill("#segment", "s059")
    page.keyboard.press("Enter")
    page.wait_for_selector("#name:text('many / s059')")
    assert "segment=s059" in page.url
    page.reload()
    page.wait_for_selector("#name:text('many / s059')")
    assert page.trouble == []


def test_four_arms_can_be_told_apart_also_on_a_phone(served, show):
    with served.client() as client:
        make(client, "four", ["blue", "green", "red", "gold"])
        play(client, "four", 40)
    page = ready(show("?experiment=four", viewport={"width": 360, "height": 740}))
    page.wait_for_selector("#means .band")
    assert page.locator("#means .band.bare").count() == 4  # edges: four fills are a gray mass
    assert "Choose an arm above" in page.text_content("#means .caption")
    page.click("#legend button >> nth=0")
    assert page.locator("#means .band.bare").count() == 0
    assert page.locator("#means .band.faded").count() == 3
    ends = page.evaluate(
        """() => {
             const box = document.querySelector("#arms").parentElement;
             return [document.querySelector("#arms tbody td:nth-child(5)").getBoundingClientRect().right,
                     box.getBoundingClientRect().right];
           }"""
    )
    assert ends[0] <= ends[1]  # the mean and its band are in view
    assert page.trouble == []


def test_frozen(show):
    page = ready(show("?experiment=frozen"))
    assert page.text_content("#state") == "frozen"
    assert "frozen: a bandit is frozen" in page.text_content("#alerts")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_narrow(served, show, scheme):
    import axe_core_python

    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
    viewport = {"width": 360, "height": 740}
    page = ready(show("?experiment=many", viewport=viewport, color_scheme=scheme, bypass_csp=True))
    backdrop = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", backdrop)) < 150) == (scheme == "dark")
    for name in ("many", HOSTILE):
        page.evaluate(
            "(name) => [...document.querySelectorAll('nav a')].find((a) => a.dataset.name === name).click()",
            name,
        )
        page.wait_for_function(
            "(name) => document.getElementById('name').textContent.startsWith(name.slice(0, 4))", arg=name
        )
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run().then((run) => run.violations.map((v) => [v.id, v.nodes.map((n) => n.html)]))"
    )
    assert found == []


def test_reconnects_and_asks_for_what_it_missed(served, show):
    page = ready(show("?experiment=button"))
    before = int(figure(page, "reported"))
    served.kill()
    page.wait_for_selector("#live[data-light=wait]:text('reconnecting')")
    served.start()
    with served.client() as client:
        play(client, "button", 7)
    page.wait_for_selector("#live[data-light=good]", timeout=60_000)
    wait_for_figure(page, "reported", str(before + 7))
    assert page.evaluate("window.hacked") is None
