"""Tables for readers: digits, escapes, structure, and files written whole."""

from __future__ import annotations

import io
import os
import re

import pandas as pd
import pytest
from rich.console import Console

from bothworlds.errors import StoreError
from bothworlds.report import text as tables
from bothworlds.report.numbers.scores import RATIO_STEPS
from bothworlds.report.study import TEXT_TABLES, Study
from bothworlds.report.text import formats
from lab_store import many, write_store


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study.load(write_store(tmp_path_factory.mktemp("tables") / "out"))


def render(study: Study, width: int, **options: object) -> str:
    out = io.StringIO()
    Console(file=out, width=width, **options).print(study.rich("scorecard"))
    return out.getvalue()


@pytest.mark.parametrize("name", TEXT_TABLES)
def test_latex_is_a_booktabs_tabular(study, name):
    text = study.table(name, format="latex")
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])[1]
    assert (lines[1], lines[3]) == (r"\toprule", r"\midrule")
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [lines[2], *(line for line in lines[4:-2] if line != r"\addlinespace")]
    assert len(rows) == 1 + len(getattr(study, name))
    for row in rows:
        assert row.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        assert row.count("$") % 2 == row.count(r"\$") % 2
        assert not re.search(r"(?<!\\)[#%]", row)
        assert not re.search(r"[β√±−★●○✗]", row)
        assert row.count("{") == row.count("}")


def test_latex_sets_the_best_in_bold_and_names_groups_once(study):
    text = study.table("summary", format="latex")
    summary = study.summary
    worlds = summary.groupby(["environment", "horizon"], sort=False)
    assert text.count(r"\mathbf") == (summary["mean"] == worlds["mean"].transform("min")).sum()
    assert text.count(r"\addlinespace") == worlds.ngroups - 1
    first = formats.latex(str(summary["environment"][0]))
    horizons = summary[summary["environment"] == summary["environment"][0]]["horizon"].nunique()
    assert len(re.findall(rf"^{re.escape(first)} &", text, re.M)) == horizons
    assert re.search(r"\$[\d.{},-]+ \\pm [\d.{},]+\$", text)  # a number is in math mode as a whole
    assert study.table("ranking", format="latex").count(r"\mathbf") == 1
    assert "**" in study.table("summary", format="markdown").split("\n", 2)[2]


def test_latex_for_siunitx(study):
    text = study.table("summary", format="latex", siunitx=True)
    assert "siunitx" in text
    room = r"S\[table-format=-?\d+(\.\d+)?\]"
    assert re.search(rf"\\begin{{tabular}}{{l{room}l{room}@{{\${{}}\\pm{{}}\$}}({room})+}}", text)
    assert re.search(r"& \\bfseries [\d.]+ & \\bfseries [\d.]+ &", text)
    assert r"\multicolumn{2}{c}{mean regret $\pm$ 95\%}" in text  # a heading is no number
    assert "optimal" not in text  # no world here has a lower bound: the column would be empty
    assert "{--}" in study.table("cells", format="latex", siunitx=True)  # where there is no number


def test_latex_prints_what_was_written():
    assert formats.latex(r"a_b & 50% $x$ #1 {y} ~ ^ \z <p>") == (
        r"a\_b \& 50\% \$x\$ \#1 \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}z $<$p$>$"
    )
    assert formats.latex("√T, √(β+1), √") == r"$\sqrt{T}$, $\sqrt{\beta+1}$, $\surd$"
    assert formats.latex("-1.5 ± 0.2, FTRL-x") == r"$-$1.5 $\pm$ 0.2, FTRL-x"
    assert formats.latex("two\nlines") == "two lines"
    assert formats.latex("[a] b") == "{[}a] b"  # else an option of the \\\\ or \\midrule before it


@pytest.mark.parametrize("name", TEXT_TABLES)
def test_markdown_is_a_pipe_table(study, name):
    title, body, *_ = study.table(name, format="markdown").split("\n\n")
    lines = body.splitlines()
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert title.startswith("**A made-up study")
    assert len(set(cells)) == 1
    assert set(lines[1]) == set("|-:")
    assert len(lines) == 2 + len(getattr(study, name))


def test_markdown_escapes():
    table = tables.TextTable("t", ("a|b",), [("x_y*z",)], (False,))
    assert r"| a\|b |" in formats.as_markdown(table)
    assert r"| x\_y\*z |" in formats.as_markdown(table)


@pytest.mark.parametrize("name", ["summary", "growth", "pairs", "cells", "timing", "final", "curves"])
def test_csv_reads_back_exactly(study, name):
    read = pd.read_csv(io.StringIO(study.table(name, format="csv")))
    pd.testing.assert_frame_equal(read, getattr(study, name), check_exact=True, check_dtype=False)


def test_text_has_a_mean_with_the_half_width_of_its_band(study):
    row = study.summary.iloc[0]
    line = next(line for line in study.table("summary").splitlines() if row["policy"] in line)
    mean, half = re.search(r"([\d.]+) ± ([\d.]+)", line).groups()
    assert float(half) == pytest.approx((row["high"] - row["low"]) / 2, rel=0.06)
    assert float(mean) == pytest.approx(row["mean"], abs=float(half) / 10)


def test_digits():
    assert tables.format_number(0.0) == "0"
    assert tables.format_number(-0.5) == "−0.500"
    assert (tables.format_number(float("inf")), tables.format_number(-1234.5)) == ("∞", "−1,234")
    assert tables.format_number(1e-7) == "1e-07"
    assert tables.format_number(123456789012.0) == "1.23e+11"
    assert tables.plus_minus(3.0, 3.0, 3.0) == "3.00"
    assert tables.plus_minus(1e-9, 0.9e-9, 1.1e-9) == "0.00000000100 ± 0.00000000010"
    assert tables.format_p_value(0.0004) == "< 0.001"
    assert tables.format_p_value(0.0123) == "0.012"
    assert tables.format_p_value(float("nan")) == "–"


def test_the_scorecard_reads_without_color(study):
    text = study.table("scorecard")
    assert "\x1b" not in text
    lines = text.splitlines()
    best = next(line for line in lines if line.strip().startswith("Decoupled"))
    assert best.count("★") == 4
    assert next(line for line in lines if "UCB1" in line).count("✗") == 1
    assert "Switching*" in text
    assert "R/√(KT)" in text
    assert "★ best of its world" in text


def test_every_mark_of_the_scorecard_is_in_its_legend(study):
    marks = [tables.mark_and_style(step)[0] for step in (0, 2, 4, 6, 8)]
    assert len(set(marks)) == len({mark for _, mark in RATIO_STEPS}) == 5
    assert all(f"{mark} " in tables.MARK_LEGEND and mark.strip() for mark in marks)
    assert tables.MARK_LEGEND in study.table("scorecard")


def test_the_scorecard_has_color_where_the_terminal_has(study):
    colored = render(study, 120, force_terminal=True, color_system="truecolor")
    assert "\x1b[1;36m" in colored  # the best
    assert "\x1b[1;31m" in colored  # more than ten times the best


def test_a_narrow_terminal_gets_letters(study):
    wide, narrow = render(study, 120), render(study, 72)
    assert "A  Bernoulli gap=0.1" in narrow
    assert "A  Bernoulli" not in wide
    assert max(map(len, narrow.splitlines())) <= 72
    assert narrow.count("★") == wide.count("★")


def test_numbers_are_never_cut(study):
    card = tables.scorecard_table(study)
    long = formats.replace(card, rows=[("a policy with a long name " * 4, *row[1:]) for row in card.rows])
    for width in (100, 80, 60, 40):
        out = io.StringIO()
        Console(file=out, width=width).print(formats.as_rich(long))
        lines = out.getvalue()
        assert max(map(len, lines.splitlines())) <= width
        assert all(row[-1] in lines and row[-card.totals] in lines for row in card.rows)
        whole = all(cell in lines for row in card.rows for cell in row[1 : -card.totals])
        assert whole != ("No room for the scores of" in lines)


def test_the_scorecard_ranks_by_medians_and_trimmed_means_too(study):
    card = tables.scorecard_table(study)
    assert card.header[-4:] == ("geometric mean", "by median", "by trimmed", "worst")
    ranked = study.ranking.set_index("policy")
    for row in card.rows:
        expected = ranked.loc[row[0], ["geometric_mean", "by_median", "by_trimmed", "worst"]]
        assert row[-4:] == tuple(map(tables.format_number, expected))
    versions = [version for version, _ in formats.narrower(card)]
    headings, whole = [list(version.header) for version in versions], len(card.header)
    assert [len(heading) for heading in headings] == [whole, whole - 2, whole, whole - 2, 3]
    assert headings[-1] == ["policy", "mean", "worst"]
    explained = [tables.ROBUST_NOTE in version.notes for version in versions]
    assert explained == [True, False, True, False, False]


def test_many_environments_stand_in_rows(tmp_path):
    study = Study.load(
        write_store(tmp_path / "out", many(12, 1), horizons=(100,), checkpoints=4, replications=2)
    )
    lines = study.table("scorecard").splitlines()
    head = next(i for i, line in enumerate(lines) if "environment" in line)
    assert lines[head].split()[-1] == "β=0.05"  # the policy, over several lines
    shown = [line for line in lines if any(line.startswith(f" {name}") for name in study.scorecard.columns)]
    assert len(shown) == 12
    assert any(line.strip().startswith("geometric mean") for line in lines)
    assert study.scorecard.shape == (1, 12)
    assert study.table("scorecard", format="latex").count(r"\mathbf") == 12  # alone, so the best everywhere


def test_many_of_both_leave_the_ranking(tmp_path):
    study = Study.load(
        write_store(tmp_path / "out", many(81, 9), horizons=(100,), checkpoints=4, replications=2)
    )
    text = study.table("scorecard")
    assert "9 environments" in text
    assert "gap=" not in text


def test_tables_are_written_whole(study, tmp_path):
    written = study.write_tables(tmp_path / "tables")
    assert sorted(path.name for path in written) == sorted(os.listdir(tmp_path / "tables"))
    assert {"summary.csv", "summary.tex", "summary.md", "curves.csv", "scorecard.tex"} <= {
        path.name for path in written
    }
    text = (tmp_path / "tables" / "summary.tex").read_text(encoding="utf-8")
    assert text == study.table("summary", format="latex")
    assert (study.write_tables()[0]).parent == study.path / "tables"


def test_a_folder_that_cannot_be_written_is_named(study, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"tables cannot be written to .*file"):
        study.write_tables(tmp_path / "file")


def test_latex_sets_intervals_in_math_mode(study):
    rows = [("1,479 [−1,354, 1,527]",), ("0.50 [0.41, –]",), ("1,139 !",), ("7 [1]",)]
    table = tables.TextTable("Tails", ("median (95%)",), rows, (True,))
    cells = [line.removesuffix(r" \\") for line in formats.as_latex(table).splitlines()[6:10]]
    assert cells == [
        r"$1{,}479\;[-1{,}354;\,1{,}527]$",
        r"$0.50\;[0.41;\,\mbox{--}]$",
        "$1{,}139$ !",
        "7 {[}1]",
    ]
    aligned = formats.as_latex(table, siunitx=True).splitlines()
    assert r"{$1{,}479\;[-1{,}354;\,1{,}527]$} \\" in aligned
    assert r"{$1{,}139$ !} \\" in aligned
    assert "{[}" not in study.table("tails", format="latex")
