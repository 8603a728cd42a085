"""The page in a real browser: offline, without errors, and its controls do what they say."""

from __future__ import annotations

import csv
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from bothworlds.report.page import write_report
from bothworlds.report.study import Study
from lab_store import POLICIES, WORLDS, FakeStudy, write_store

CHROMIUM = shutil.which("chromium")
REQUIRED = os.environ.get("BOTHWORLDS_BROWSER") == "required"  # there a missing browser is a failure
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None and not REQUIRED, reason="chromium is not installed (apt-get install chromium)"
    ),
    pytest.mark.compiled,  # the browser runs no line of Python: nothing to see without the JIT
]
READY = "html[data-ready=yes]"
SETTLED = "() => window.report.settled()"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def show(browser, report):
    """Open the page; any request but for the file itself, any message and any error are collected."""
    opened = []

    def open_page(file=report, **options):
        context = browser.new_context(**options)
        page = context.new_page()
        page.trouble = []
        page.route(
            "**/*", lambda route: route.continue_() if route.request.url == file.as_uri() else route.abort()
        )
        page.on("request", lambda r: r.url == file.as_uri() or page.trouble.append(r.url))
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.goto(file.as_uri())
        page.wait_for_selector(READY, timeout=60_000)
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()


@pytest.fixture(scope="module")
def page(show):
    return show(viewport={"width": 1200, "height": 900})


def settle(page):
    page.wait_for_function(SETTLED)


def strokes(page, panel=0):
    """How many lines with a stroke the first chart draws, and their paths."""
    return page.evaluate(
        """(panel) => {
            const figure = document.querySelectorAll('#curves figure')[panel];
            return [...figure.querySelectorAll('.mark-line path')].map((path) => path.getAttribute('d'));
        }""",
        panel,
    )


def ticks(page, box, axis):
    """The labels of an axis of the first chart in a box; x comes first."""
    return page.evaluate(
        "([box, i]) => document.querySelector(box).querySelectorAll('.role-axis-label')[i].textContent",
        [box, axis],
    )


def test_it_loads_offline_without_a_word_on_the_console(page):
    assert page.trouble == []
    assert page.evaluate("window.hacked") is None
    # curves of four worlds, ends and tails of three (a log ended), a run, sweep, heat map, pairs, an extra
    assert page.locator(".chart svg.marks").count() == 15
    assert page.locator("h2").all_inner_texts()[:2] == [
        "Regret over time",
        "Which policy survives which world?",
    ]


def test_scales_of_rounds_and_of_regret(page):
    before = (ticks(page, "#curves", 0), ticks(page, "#curves", 1))
    assert before[0] == "02k4k6k8k10k"
    page.click("#scale-x button[value=log]")
    page.click("#scale-y button[value=log]")
    settle(page)
    assert (ticks(page, "#curves", 0), ticks(page, "#curves", 1)) == ("1101001k10k", "0101001k")
    assert page.get_attribute("#scale-x button[value=log]", "aria-pressed") == "true"
    for scale, title in (("per-log", "regret / log t"), ("per-root", "regret / √(Kt)")):
        page.click(f"#scale-y button[value={scale}]")
        settle(page)
        assert page.locator("#curves .role-axis-title text >> nth=1").text_content() == title
    page.click("#scale-x button[value=linear]")
    page.click("#scale-y button[value=linear]")
    settle(page)
    assert (ticks(page, "#curves", 0), ticks(page, "#curves", 1)) == before


def test_under_its_own_law_a_curve_is_level(page):
    """The last decade of “Decoupled” in “Switching” follows √t: R/√(Kt) stays, R itself trebles."""
    values = """(name) => {
        const chart = document.querySelectorAll('#curves figure')[2];
        const heights = [...chart.querySelectorAll('.mark-line path')].map((path) =>
            path.getAttribute('d').split('L').map((point) => Number(point.replace('M', '').split(',')[1])));
        return heights;
    }"""
    page.click("#scale-y button[value=per-root]")
    settle(page)
    level = page.evaluate(values)[3]
    page.click("#scale-y button[value=linear]")
    settle(page)
    steep = page.evaluate(values)[3]
    height = 260.0
    late = -len(steep) // 5

    def change(line):
        return (line[late] - line[-1]) / (height - line[-1])

    assert abs(change(level)) < 0.25
    assert change(steep) > 0.5


def test_names_at_line_ends_where_there_is_room_and_the_same_scale(page):
    assert (
        page.locator("#curves .mark-text.role-mark text").count() == 0
    )  # four charts beside each other have none
    page.select_option("#world", "1")
    settle(page)
    names = page.locator("#curves .mark-text.role-mark text")
    assert "UCB1" in names.all_text_contents()
    places = sorted(box["y"] for box in (name.bounding_box() for name in names.all()))
    assert all(low + 12 <= high for low, high in pairwise(places))
    page.select_option("#world", "all")
    settle(page)

    def tops():
        return {ticks_of(page, chart) for chart in range(3)}

    apart = tops()
    page.check("#equal")
    settle(page)
    assert len(tops()) == 1 < len(apart)
    page.uncheck("#equal")
    settle(page)


def ticks_of(page, chart):
    return page.evaluate(
        """(chart) => document.querySelectorAll('#curves figure')[chart]
            .querySelectorAll('.role-axis-label')[1].textContent""",
        chart,
    )


def test_colors_follow_a_swept_setting(page):
    before = page.locator("#legend button svg path").first.get_attribute("stroke")
    page.select_option("#color", "beta")
    settle(page)
    shades = [
        b.locator("path").first.get_attribute("stroke") for b in page.locator("#legend [data-policy]").all()
    ]
    assert shades == ["var(--s0)", "var(--s8)", *["var(--muted)"] * 3]
    page.select_option("#color", "policy")
    settle(page)
    assert page.locator("#legend button svg path").first.get_attribute("stroke") == before


def test_the_legend_switches_policies_by_mouse_and_by_keyboard(page):
    button = page.locator("#legend button[data-policy='2']")
    before = strokes(page)
    button.click()
    settle(page)
    assert button.get_attribute("aria-pressed") == "false"
    assert len(strokes(page)) < len(before)
    button.focus()
    page.keyboard.press("Enter")
    settle(page)
    assert strokes(page) == before
    page.click("#legend button[data-policy='1']", modifiers=["Shift"])
    settle(page)
    assert page.locator("#legend button[aria-pressed=true]").count() == 1
    page.click("#legend button[value=all]")
    settle(page)
    assert strokes(page) == before


def test_nothing_to_show_is_said(page):
    page.click("#legend button[value=none]")
    settle(page)
    assert page.locator("#curves .empty").count() == 4
    assert page.locator("#curves figcaption button:visible").count() == 0  # nothing to save
    page.click("#legend button[value=all]")
    settle(page)
    assert page.locator("#curves .empty").count() == 0
    assert page.locator("#finals .empty").count() == 1  # a log that ended has no final regret


def test_choosing_a_world_a_band_and_bounds(page):
    all_worlds = page.locator("#curves figure").count()
    page.select_option("#world", label="Switching, T = 1,000")
    settle(page)
    assert (all_worlds, page.locator("#curves figure").count()) == (4, 1)
    assert page.locator("#curves figcaption span").first.inner_text() == "Switching, T = 1,000"
    area = "document.querySelector('#curves .mark-area path').getAttribute('d')"
    narrow = page.evaluate(area)
    page.select_option("#band", "spread")
    settle(page)
    assert page.evaluate(area) != narrow
    page.select_option("#world", "0")
    settle(page)
    without = len(strokes(page))
    page.check("#show-bounds")
    settle(page)
    assert len(strokes(page)) == without + 5
    page.uncheck("#show-bounds")
    page.select_option("#band", "mean")
    page.select_option("#world", "all")
    settle(page)


def test_arms_pairs_and_sweeps_follow_their_selects(page):
    def picture(box):
        return page.evaluate("(box) => document.querySelector(box + ' svg').outerHTML", box)

    for box, select, option in (
        ("#run-chart", "#run-world", "4"),
        ("#pairs-chart", "#pairs-reference", "0"),
        ("#sweep-chart", "#sweep-setting", "1"),
        ("#heat-chart", "#heat-view", "1"),
    ):
        before = picture(box)
        page.select_option(select, option)
        settle(page)
        assert picture(box) != before
    assert page.locator("[data-sweep-legend]:visible").count() == 1  # that of the chosen setting
    assert page.locator("#run-arms li").first.inner_text() in ("arm 0", "arm 0 (optimal)")
    assert page.locator("#pairs-rows tr").count() == 4
    assert page.locator("#pairs-note").inner_text().startswith("Reference: FTRL Tsallis β=0.3.")


def test_values_on_hover(page):
    page.locator("#curves figure").first.scroll_into_view_if_needed()
    box = page.locator("#curves figure .chart").first.bounding_box()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.wait_for_selector("#vg-tooltip-element.visible")
    cells = [text.strip() for text in page.locator("#vg-tooltip-element td").all_inner_texts()]
    told = dict(zip(cells[::2], cells[1::2], strict=True))
    assert told["policy"] in page.evaluate("JSON.parse(document.getElementById('data').textContent).policies")
    low, mean, high = (float(told[key].replace(",", "")) for key in ("95% from", "mean regret", "95% to"))
    assert low <= mean <= high


def test_a_saved_chart_has_its_colors(page):
    with page.expect_download() as download:
        page.click("#curves figure button >> nth=0")
    saved = download.value
    assert saved.suggested_filename == "bernoulli-gap-0-1-t-10-000.svg"
    text = Path(saved.path()).read_text(encoding="utf-8")
    assert "var(--" not in text
    assert "#1558c0" in text.lower()
    assert page.trouble == []


def test_every_chart_can_be_saved_as_a_picture_and_as_numbers(page):
    charts = page.locator("figure:has(svg.marks)")
    assert page.locator("figure:has(svg.marks) .tools").count() == charts.count() == 15
    with page.expect_download() as download:
        page.click("#curves figure >> nth=0 >> text=PNG")
    picture = Path(download.value.path()).read_bytes()
    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    drawn = page.evaluate("document.querySelector('#curves svg').viewBox.baseVal.width")
    assert abs(width - 3 * drawn) <= 3
    with page.expect_download() as download:
        page.click("#curves figure >> nth=0 >> text=CSV")
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    assert [float(row["mean"]) for row in rows] == data["curves"][data["overview"][0]]["mean"]
    assert {row["policy"] for row in rows} == set(data["policies"])
    assert page.trouble == []


def test_tables_sort_by_a_heading_and_can_be_saved(page):
    def column(place):
        cells = page.locator(f".scores tbody tr > :nth-child({place})").all_inner_texts()
        return [text.split("\n")[0] for text in cells]

    before = column(1)
    heading = page.locator(".scores thead th >> nth=2")  # worst
    heading.locator("button").click()
    up = [float(text) for text in column(3)]
    assert up == sorted(up)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert [float(text) for text in column(3)] == up[::-1]
    with page.expect_download() as download:
        page.click(".scores caption >> text=CSV")
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        saved = list(csv.reader(file))
    assert [line[0] for line in saved[1:]] == column(1)
    heading.locator("button").click()
    assert column(1) == before
    assert heading.get_attribute("aria-sort") is None


def test_the_table_of_numbers_shows_one_statistic_at_a_time(page):
    shown = page.locator(".statistics tbody tr >> nth=0 >> td span:visible")
    assert {text.get_attribute("class") for text in shown.all()} == {"mean"}
    page.select_option("#statistic", "worst")
    assert {text.get_attribute("class") for text in shown.all()} == {"worst"}
    page.select_option("#statistic", "mean")


def test_the_navigation_stays_in_sight_and_says_where_the_reader_is(page):
    page.click("nav a[href='#numbers']")
    page.wait_for_selector("nav a[href='#numbers'][aria-current=true]")
    assert page.locator("nav").bounding_box()["y"] == 0
    page.evaluate("scrollTo(0, 0)")


def test_a_phone_in_the_dark(show):
    page = show(viewport={"width": 360, "height": 740}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    wide = page.evaluate(
        "Math.max(...[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right))"
    )
    assert wide <= 360
    shrunk = (
        "[...document.querySelectorAll('.chart svg')]"
        ".map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert min(page.evaluate(shrunk)) > 0.99  # so that letters keep their size
    label = "getComputedStyle(document.querySelector('#curves .role-axis-label text')).fill"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(233, 235, 238)"
    assert page.evaluate(label) == "rgb(233, 235, 238)"
    assert page.trouble == []
    # on paper it is light again, charts included, without being drawn anew
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(label) == "rgb(21, 24, 28)"
    assert page.locator(".controls .row").is_hidden()
    assert page.pdf(format="A4")[:4] == b"%PDF"


def test_a_single_replication_is_drawn_without_intervals(show, tmp_path):
    folder = write_store(
        tmp_path / "out", FakeStudy(POLICIES[:3], WORLDS[:1]), replications=1, checkpoints=20
    )
    page = show(write_report(Study.load(folder), tmp_path / "report.html"))
    assert (
        page.locator(".chart svg.marks").count() == 7
    )  # curves, ends, tails, a run, a sweep, a heat map, pairs
    assert page.locator(".mark-line path").count() > 0
    assert page.locator("#curves .mark-area path").count() == 0
    assert page.locator("#pairs-note").inner_text().endswith("A single replication has no interval.")
    assert page.locator("#pairs-rows td:has-text('[')").count() == 0
    for scale in ("linear", "log"):
        page.click(f"#scale-y button[value={scale}]")
        settle(page)
    page.select_option("#band", "spread")
    settle(page)
    assert page.trouble == []
