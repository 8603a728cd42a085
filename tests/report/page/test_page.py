"""The page as text: complete, escaped, self-contained, within its budget."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bothworlds.errors import StoreError
from bothworlds.experiments.store.provenance import run_record
from bothworlds.report import page as page_module
from bothworlds.report.page import page, page_data, write_report
from bothworlds.report.study import Study
from lab_store import POLICIES, WORLDS, FakeStudy, many, write_store


class Reader(HTMLParser):
    """Collects tags, ids, text outside scripts, and the embedded data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.data = ""
        self.inside: str | None = None

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag in ("script", "style"):
            self.inside = found.get("type") or tag

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside == "application/json":
            self.data += data
        elif self.inside is None:
            self.text.append(data)


def parse(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def text(report: Path) -> str:
    return report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(text) -> Reader:
    return parse(text)


def test_every_section_is_there_and_linked(reader):
    sections = [
        "regret",
        "finding",
        "sweeps",
        "final",
        "arms",
        "extra-0",
        "growth",
        "pairs",
        "numbers",
        "time",
        "methods",
    ]
    assert [i for i in reader.ids if f"{i}-title" in reader.ids] == sections
    assert [link for link in reader.links if link != "#main"] == [f"#{name}" for name in sections]


def test_nothing_is_loaded_and_the_libraries_are_inlined_once(text, reader):
    assert all(link.startswith("#") for link in reader.links)
    assert reader.tags.count("script") == 3
    assert text.count("window.vegaEmbed=") == 1
    assert 0.9e6 < len(text.encode()) < 2.0e6
    assert "default-src 'none'" in text


def test_labels_are_escaped_everywhere(study, text, reader):
    hostile = study.manifest["policies"][4]["label"]
    assert hostile.startswith("</script>")
    assert "<script>window.hacked" not in text
    assert hostile in " ".join(reader.text)
    assert json.loads(reader.data)["policies"][4] == hostile


def test_the_data_holds_the_numbers_of_the_study(study, reader):
    data = json.loads(reader.data)
    panel = next(
        i for i, p in enumerate(data["panels"]) if p["environment"] == "Switching" and p["horizon"] == 1000
    )
    columns = data["curves"][panel]
    curves = study.curves[(study.curves["environment"] == "Switching") & (study.curves["horizon"] == 1000)]
    assert len(columns["round"]) == len(curves)
    assert columns["mean"] == pytest.approx(curves["mean"].tolist(), rel=6e-4)
    run = data["probabilities"][f"{panel}-0"]
    assert [sum(column) for column in zip(*run["p"], strict=True)] == pytest.approx(
        [1000] * len(run["rounds"]), abs=2
    )
    assert data["bounds"][0]["name"][0] == "Theorem 1"
    assert len(data["extra"]) == 1


def test_methods_tell_how_to_reproduce(reader):
    told = " ".join(reader.text)
    for part in (
        "bothworlds run study.toml --out out",
        "numba 0.68.0",
        "abacus",
        'title = "A made-up study"',
        "f" * 64,
    ):
        assert part in told
    assert "not complete" not in told


def test_a_run_that_was_killed_took_no_time_that_is_known(tmp_path):
    folder = write_store(
        tmp_path / "out", FakeStudy(POLICIES[:1], WORLDS[:1]), horizons=(100,), replications=2
    )
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    begun = run_record(None, 2, "processes", 0, 0)  # what is there of a run until it ends
    manifest["runs"].insert(0, begun)
    file.write_text(json.dumps(manifest))
    told = " ".join(parse(page(Study.load(folder))).text)
    assert f"{begun['started']}, processes × 2, not finished; " in told
    assert not re.search(r"\b0\.0 s\b", told)


def test_a_partial_study_says_so(tmp_path):
    study = Study.load(write_store(tmp_path / "out", replications=4, checkpoints=20, missing={0, 1, 4, 5}))
    told = " ".join(parse(page(study)).text)
    assert f"not complete. The store has {study.status}; 7 of 40 cells are without a result yet." in told
    assert "is best overall" not in told
    assert "Scores after" in told  # what is there is shown


def test_a_world_without_results_is_not_among_those_drawn_at_first(tmp_path):
    half = FakeStudy(POLICIES[:2], WORLDS[:2])
    folder = write_store(tmp_path / "out", half, horizons=(100,), replications=2, per_chunk=1, missing={3, 4})
    data = page_data(Study.load(folder))
    assert [bool(curves) for curves in data["curves"]] == [True, False]
    assert data["overview"] == [0]


def test_one_policy_in_one_world_without_probabilities(tmp_path):
    alone = FakeStudy(POLICIES[2:3], (replace(WORLDS[1], swept={}),))
    study = Study.load(
        write_store(tmp_path / "out", alone, horizons=(500,), replications=1, probabilities=False)
    )
    reader = parse(page(study))
    assert "UCB1 is alone in this study: nothing to compare it with." in reader.text
    assert not {"arms", "pairs", "sweeps"} & set(reader.ids)
    assert not [text for text in reader.text if "[nan" in text or "[–" in text]  # no band around one number


def test_a_large_study_stays_within_the_budget(tmp_path, monkeypatch):
    study = Study.load(
        write_store(tmp_path / "out", many(200, policies=20), horizons=(1000,), replications=2)
    )
    monkeypatch.setattr(page_module, "PAIR_ROWS", 500)
    data = page_module.page_data(study)
    assert sum(len(columns["round"]) for columns in data["curves"]) <= page_module.CURVE_POINTS
    assert len(data["shown"]) == page_module.MOST_POLICIES
    # too many pairs: only those with the best of each world
    assert all(
        len(columns["reference"]) == 19 and len(set(columns["reference"])) == 1 for columns in data["pairs"]
    )
    assert len(json.dumps(data)) < 4e6


def test_a_failed_write_leaves_the_old_page_and_no_litter(study, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old", encoding="utf-8")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("bothworlds.report.page.os.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(study, target)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_named(study, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"the report cannot be written to .*file/report\.html"):
        write_report(study, tmp_path / "file" / "report.html")


def test_many_worlds_stand_in_rows(tmp_path):
    study = Study.load(
        write_store(tmp_path / "out", many(26, 2), horizons=(100,), checkpoints=4, replications=2)
    )
    text = page(study)
    card = text[text.index('<table class="scores">') :].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)<', card)
    assert rows == ["mean", "worst", *study.scorecard.columns, "by median", "by trimmed"]
    assert card.count("<td") == 2 * 17
