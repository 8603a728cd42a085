"""Figures for papers: the numbers they show, where names stand, and which files there are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError, StoreError
from bothworlds.report.figures.contents import Line, Lines, log_ticks
from bothworlds.report.figures.draw import inches, spread_apart
from bothworlds.report.figures.figure import as_bytes, contents, draw_figures, figure, write_figures
from bothworlds.report.numbers.rows import short_labels
from bothworlds.report.page import page, page_data
from bothworlds.report.study import Study
from bothworlds.report.styles import LineStyle
from lab_store import LOGGED, POLICIES, WORLDS, FakePolicy, FakeStudy, write_store


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    fake = FakeStudy(POLICIES[1:3], (replace(WORLDS[0], swept={}),))
    folder = write_store(tmp_path_factory.mktemp("figures") / "out", fake, horizons=(500,), replications=4)
    return Study.load(folder)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Three values of β and two of C, in two worlds."""
    policies = tuple(
        FakePolicy(
            f"FTRL β={b} C={c}", "ftrl", ("log T", 10 * b + c), ("√T", 1.0), {"beta": b, "log_barrier": c}
        )
        for b in (0.2, 0.5, 0.8)
        for c in (1.0, 10.0)
    )
    folder = tmp_path_factory.mktemp("swept") / "out"
    return Study.load(write_store(folder, FakeStudy(policies, WORLDS[:2]), horizons=(500,), replications=6))


# --- numbers --------------------------------------------------------------------------------------------


def test_a_run_in_memory_names_its_bounds_in_full_and_has_no_times():
    world = bw.environments.Bernoulli(n_arms=2, gap=0.2)
    run = bw.simulate({"TS": bw.Thompson()}, world, horizon=100, replications=2, seed=1).study()
    (panel,) = contents(run, "regret", bounds=True)
    assert [line.label for line in panel.lines if line.bound] == ["TS: self-bounding, O(·)", "lower bound"]
    with pytest.raises(InvalidArgumentError, match="no times"):
        contents(run, "timing")


def curve(study, policy, world, horizon):
    frame = study.curves.query("policy == @policy and environment == @world and horizon == @horizon")
    return frame.set_index("round")


def test_regret_in_its_own_unit_and_divided_by_each_law(study):
    world, policy = "Bernoulli gap=0.1", "UCB1"
    truth = curve(study, policy, world, 10_000)
    for y, unit in (
        ("linear", lambda t: 1.0),
        ("log", lambda t: 1.0),
        ("per-log", np.log),
        ("per-root", lambda t: np.sqrt(4 * t)),
    ):
        (panel,) = contents(study, "regret", environment=world, y=y, policies=[policy])
        (line,) = panel.lines
        assert line.x[-1] == 10_000
        assert line.x[0] == (2 if y == "per-log" else 1)  # log 1 is nothing to divide by
        at = truth.loc[line.x.astype(int)]
        for name, values in (("mean", line.y), ("low", line.low), ("high", line.high)):
            assert values == pytest.approx(at[name].to_numpy() / unit(line.x))
        assert panel.x_scale == ("linear" if y == "linear" else "log")
    assert panel.y_label == "regret / √(Kt)"


def test_environments_are_found_by_number_title_and_label(study):
    titles = [panel.title for panel in contents(study, "regret")]
    assert titles[:2] == ["Bernoulli gap=0.1, T = 10,000", "Bernoulli gap=0.2, T = 10,000"]
    for world in (2, "2", titles[0], "Bernoulli gap=0.1"):
        assert contents(study, "regret", environment=world)[0].title == titles[0]
    for wrong, message in (("Bernouli", "an environment of the study"), (99, r"in 1\.\.")):
        with pytest.raises(InvalidArgumentError, match=message):
            contents(study, "regret", environment=wrong)


def test_survival_is_the_share_of_replications_above(study):
    (panel,) = contents(study, "survival", environment="Switching", policies=["UCB1"])
    (line,) = panel.lines
    values = study.final.query("policy == 'UCB1' and environment == 'Switching' and horizon == 10000")[
        "regret"
    ]
    for x, share in zip(line.x, line.y, strict=True):
        assert share == pytest.approx((values > x).mean())
    assert set(line.x) == set(values)
    assert line.y[-1] == 0.0


def test_sweeps_have_the_swept_values_as_ticks(swept):
    (panel,) = contents(swept, "sweep", environment=1)
    assert panel.ticks == (0.2, 0.5, 0.8)
    assert panel.x_label == "β"
    assert [line.label for line in panel.lines] == ["FTRL C=1.0", "FTRL C=10.0"]
    (gap,) = contents(swept, "sweep", environment=1, setting="gap", policies=["FTRL β=0.2 C=1.0"])
    assert (gap.ticks, len(gap.lines)) == ((0.1, 0.2), 1)
    with pytest.raises(InvalidArgumentError, match=r"swept in this study: policy\.beta, policy\.log_barrier"):
        contents(swept, "sweep", environment=1, setting="alpha")


def test_a_heat_map_shows_the_mean_of_each_pair_of_settings(swept):
    (grid,) = contents(swept, "heat", environment=2)
    assert (grid.columns, grid.rows) == (("0.2", "0.5", "0.8"), ("10", "1"))
    assert (grid.x_label, grid.y_label) == ("β", "C")
    means = swept.summary.set_index(["policy", "environment"])["mean"]
    expected = [
        [means[f"FTRL β={b} C={c}", "Bernoulli gap=0.2"] for b in (0.2, 0.5, 0.8)] for c in (10.0, 1.0)
    ]
    assert grid.values == pytest.approx(np.array(expected))
    assert (grid.shades.min(), grid.shades.max()) == (0.0, 1.0)
    (other,) = contents(swept, "heat", environment=2, settings=["gap", "beta"])
    cheaper = [
        [min(means[f"FTRL β={b} C={c}", w.label] for c in (1.0, 10.0)) for w in WORLDS[:2]]
        for b in (0.8, 0.5, 0.2)
    ]
    assert other.values == pytest.approx(np.array(cheaper))
    with pytest.raises(InvalidArgumentError, match="two swept numbers"):
        contents(swept, "heat", environment=1, settings=["beta"])


def test_policies_are_renamed_by_a_template_and_colored_by_a_setting(swept):
    ones = [policy for policy in swept.policies if policy.endswith("C=1.0")]
    (panel,) = contents(swept, "regret", environment=1, policies=ones, label="β={beta}")
    assert [line.label for line in panel.lines] == ["β=0.2", "β=0.5", "β=0.8"]
    assert [line.style.shade for line in panel.lines] == pytest.approx([0.0, 0.5, 1.0])  # β tells all apart
    (plain,) = contents(swept, "regret", environment=1, policies=ones, color="policy")
    assert {line.style.shade for line in plain.lines} == {None}
    (both,) = contents(swept, "regret", environment=1, color="log_barrier")
    assert {line.style.shade for line in both.lines} == {0.0, 1.0}
    with pytest.raises(InvalidArgumentError, match="tells all policies apart"):
        contents(swept, "regret", environment=1, label="β={beta}")
    with pytest.raises(InvalidArgumentError, match=r"settings of .* are beta, log_barrier"):
        contents(swept, "regret", environment=1, label="{alpha}")
    with pytest.raises(InvalidArgumentError, match="a policy of the study"):
        contents(swept, "regret", policies=["FTRL"])


def test_pairs_final_scores_and_timing_show_the_frames(study):
    world = {"environment": "Bernoulli gap=0.2"}
    (pairs,) = contents(study, "pairs", reference="Decoupled", **world)
    here = study.pairs.query("environment == 'Bernoulli gap=0.2' and horizon == 10000")
    truth = here.query("policy_a == 'UCB1' and policy_b == 'Decoupled'").iloc[0]
    (row,) = [row for row in pairs.rows if row.label == "UCB1"]
    assert (row.middle, *row.line) == (truth["difference"], truth["low"], truth["high"])
    (final,) = contents(study, "final", **world)
    summary = study.summary.query("environment == 'Bernoulli gap=0.2' and horizon == 10000")
    assert [row.middle for row in final.rows] == pytest.approx(summary["median"].tolist())
    (scores,) = contents(study, "scores")
    card = study.scorecard
    assert (scores.rows, scores.columns) == (tuple(card.index), tuple(card.columns))
    assert scores.values == pytest.approx(card.to_numpy(), nan_ok=True)
    (timing,) = contents(study, "timing", **world)
    assert [row.middle for row in timing.rows] == pytest.approx([10.0] * 5)  # what lab_store writes


def test_options_are_those_of_the_kind(study):
    with pytest.raises(InvalidArgumentError, match="final takes x"):
        contents(study, "final", bounds=True)
    with pytest.raises(InvalidArgumentError, match="did you mean 'survival'"):
        contents(study, "survivl")
    with pytest.raises(InvalidArgumentError, match="y must be one of"):
        contents(study, "regret", y="loglog")


# --- names, ticks, lengths ------------------------------------------------------------------------------


def test_no_two_labels_are_cut_to_the_same():
    labels = [f"a very long name of a policy with β={b} inside, and more" for b in (0.1, 0.2, 0.3)]
    assert len(set(short_labels(labels, 12))) == 3
    assert short_labels(["short", "labels"], 12) == ["short", "labels"]


@pytest.mark.parametrize("seed", range(4))
def test_names_are_as_close_to_their_lines_as_can_be(seed):
    wanted = np.random.default_rng(seed).normal(scale=3.0, size=7)
    found = spread_apart(wanted, 1.0)
    order = np.argsort(wanted)
    assert (np.diff(found[order]) >= 1.0 - 1e-9).all()
    gaps = {"type": "ineq", "fun": lambda z: np.diff(z[order]) - 1.0}
    best = optimize.minimize(lambda z: ((z - wanted) ** 2).sum(), found + 0.1, constraints=[gaps], tol=1e-12)
    assert ((found - wanted) ** 2).sum() <= best.fun + 1e-8


def test_names_do_not_overlap_on_paper(study):
    made = study.plot("regret", environment="Switching", width=3.25)
    (ax,) = made.axes
    made.draw_without_rendering()
    boxes = sorted((t.get_window_extent() for t in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(low.y1 <= high.y0 + 0.5 for low, high in pairwise(boxes))
    assert max(box.x1 for box in boxes) <= made.bbox.x1 + 1


@pytest.mark.parametrize(("low", "high"), [(120, 190), (1.3, 8.8), (0.03, 0.07), (30, 900), (3, 4e7)])
def test_a_log_axis_always_has_ticks(low, high):
    ticks = log_ticks(low, high)
    assert 3 <= len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)
    assert all(float(f"{tick:.2g}") == pytest.approx(tick) for tick in ticks)  # round ones


def test_equal_axes_on_request(study):
    made = study.plot("regret", equal=True)
    assert len({ax.get_ylim() for ax in made.axes}) == 1
    assert len({ax.get_ylim() for ax in study.plot("regret").axes}) > 1


def test_lengths():
    assert inches("width", "8.5cm") == pytest.approx(8.5 / 2.54)
    for wrong in ("wide", "3.25ft", "0in", "900in", -1):
        with pytest.raises(InvalidArgumentError, match=r"between 0\.5 and 50 inches"):
            inches("width", wrong)


def test_the_figure_has_the_size_that_was_asked_for(small):
    made = small.plot("regret", environment=1, width="246pt", font="serif")
    assert made.get_figwidth() == pytest.approx(246 / 72.27)
    png = as_bytes(made, "png")
    assert int.from_bytes(png[16:20], "big") == int(246 / 72.27 * 400)  # 400 dots per inch
    with pytest.raises(InvalidArgumentError, match="sans, serif, or the name of an installed font"):
        small.plot("regret", font="comic")


def test_axes_of_the_callers_own(small):
    from matplotlib.figure import Figure

    own = Figure()
    ax = own.subplots()
    assert small.plot("regret", environment=1, ax=ax) is own
    assert len(ax.get_lines()) == 2


# --- files ----------------------------------------------------------------------------------------------


def test_every_chart_in_every_format(small, tmp_path):
    paths = write_figures(small, tmp_path / "figures", formats=("svg", "png"))
    kinds = ("regret", "final", "survival", "pairs", "probabilities")
    names = [f"{kind}-01-bernoulli-gap-0-1" for kind in kinds] + ["scores", "timing-01-bernoulli-gap-0-1"]
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in names for kind in ("svg", "png")]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(p.name for p in paths)
    first = {"svg": b"<?xml", "png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(first[path.suffix[1:]]) for path in paths)


def test_the_same_figure_has_the_same_bytes(small):
    for form in ("pdf", "svg"):
        one, two = (as_bytes(small.plot("regret", environment=1), form) for _ in range(2))
        assert one == two


def test_hostile_labels_and_a_log_that_ended(tmp_path):
    policies = (*POLICIES[:2], replace(POLICIES[2], label='<b>"../$UCB1_"</b>'))
    fake = FakeStudy(policies, (WORLDS[0], replace(LOGGED, label="../../log")))
    study = Study.load(write_store(tmp_path / "out", fake, horizons=(500,), replications=4, checkpoints=20))
    paths = write_figures(study, tmp_path / "figures", formats=["svg"])
    names = [path.name for path in paths]
    assert "regret-02-log.svg" in names  # up to where the log ended
    assert "final-02-log.svg" not in names
    assert all(path.parent == tmp_path / "figures" for path in paths)


def test_panels_of_one_figure_and_their_caption(study, tmp_path):
    files, caption = draw_figures(
        study,
        ["regret:Bernoulli gap=0.1", "survival:Switching"],
        tmp_path / "figure.pdf",
        formats=["svg", "pdf"],
        chosen={"policies": None},
        options={"y": "log"},
        columns=2,
        width="6.75in",
    )
    assert [path.name for path in files] == ["figure.svg", "figure.pdf"]
    assert [path.read_bytes()[:5] for path in files] == [b"<?xml", b"%PDF-"]
    assert caption.startswith("(a) Regret in Bernoulli gap=0.1, T = 10,000; (b) Share of replications")
    with pytest.raises(InvalidArgumentError, match="--bounds must be for a panel that takes it"):
        draw_figures(study, ["final"], tmp_path / "x", formats=["svg"], chosen={}, options={"bounds": True})
    assert not (tmp_path / "x.svg").exists()


def test_mistakes_leave_no_file(small, tmp_path):
    with pytest.raises(
        InvalidArgumentError, match=r"formats must be some of pdf, svg, png, pgf, got \('gif',\)"
    ):
        write_figures(small, tmp_path / "figures", formats=("gif",))
    assert not (tmp_path / "figures").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"figures cannot be written to .*file"):
        write_figures(small, tmp_path / "file")
    with pytest.raises(InvalidArgumentError, match="at least one panel"):
        figure([])


def test_pgf_asks_for_latex(small, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(InvalidArgumentError, match="there is no pdflatex"):
        as_bytes(small.plot("regret", environment=1), "pgf")


@pytest.mark.parametrize(("late", "scale"), [(50.0, "log"), (-50.0, "symlog")])
def test_regret_is_on_a_log_scale_where_it_has_a_logarithm(late, scale):
    x, y = np.array([1.0, 10.0, 1000.0, 100_000.0]), np.array([-0.2, 3.0, late, 2000.0])
    line = Line("a", LineStyle(), x, y, y - 1.0, y + 1.0)
    (ax,) = figure([Lines("", "round", "regret", (line,), y_scale="log")], names="none").axes
    assert ax.get_yscale() == scale
    assert ax.get_xlim()[0] == (10.0 if scale == "log" else 1.0)  # regret of less than one is no curve
    texts = [ax.yaxis.get_major_formatter()(tick) for tick in ax.yaxis.get_majorticklocs()]
    assert "$10^{3}$" in texts
    assert ("$0$" in texts) == (scale == "symlog")
    assert 200.0 in ax.yaxis.get_minorticklocs()


# --- studies that are not finished, or too small ----------------------------------------------------------


def test_a_world_without_results_has_no_heat_map_and_the_others_keep_theirs(swept, tmp_path):
    folder = tmp_path / "out"
    policies = tuple(
        FakePolicy(f"β={b} C={c}", "ftrl", ("log T", 1.0), ("√T", 1.0), {"beta": b, "log_barrier": c})
        for b in (0.2, 0.5)
        for c in (1.0, 10.0)
    )
    fake = FakeStudy((*policies, POLICIES[2]), WORLDS[:2])
    # chunks 0 and 1 are cell 0: of the second world only UCB1, which has no such settings, is there
    write_store(folder, fake, horizons=(500,), replications=4, per_chunk=1, missing={6, 7, 8, 9})
    part = Study.load(folder)
    with pytest.raises(InvalidArgumentError, match=r"“Bernoulli gap=0\.2”: no policy has finished in it"):
        contents(part, "heat", environment=2)
    assert [heat["title"] for heat in page_data(part)["heats"]] == ["Bernoulli gap=0.1"]
    assert len(page_data(swept)["heats"]) == 2
    assert "Final regret" in page(part)


def test_a_single_replication_has_no_survival_curve(tmp_path):
    fake = FakeStudy(POLICIES[:2], WORLDS[:1])
    alone = Study.load(write_store(tmp_path / "out", fake, horizons=(500,), replications=1))
    with pytest.raises(InvalidArgumentError, match=r"replications must be two or more, .* got 1"):
        alone.plot("survival")
    written = write_figures(alone, tmp_path / "figures", formats=("svg",))
    assert not [path for path in written if path.name.startswith("survival")]


def test_what_was_not_swept_is_not_said_to_be_none(small):
    with pytest.raises(
        InvalidArgumentError, match="got 0 such numbers; this study varies nothing; a list of"
    ):
        contents(small, "heat")
    with pytest.raises(
        InvalidArgumentError, match="got none; swept in this study: nothing; a list of values"
    ):
        contents(small, "sweep")


def test_a_policy_that_is_not_there_is_answered_with_those_that_are(small):
    for kind, options in (
        ("regret", {"policies": ["UCB"]}),
        ("pairs", {"reference": "UCB"}),
        ("probabilities", {"policy": "UCB"}),
    ):
        with pytest.raises(
            InvalidArgumentError, match=r"\('FTRL Tsallis β=0.5', 'UCB1'\).*did you mean 'UCB1'"
        ):
            contents(small, kind, **options)


def test_a_run_says_how_probabilities_are_kept():
    world = bw.environments.Bernoulli(n_arms=2, gap=0.3)
    run = bw.simulate(bw.UCB1(), world, horizon=50, replications=2, seed=1)
    with pytest.raises(InvalidArgumentError, match=r"simulate\(\.\.\., probabilities=True\) keeps them"):
        run.plot("probabilities")
    kept = bw.simulate(bw.UCB1(), world, horizon=50, replications=2, seed=1, probabilities=True)
    assert kept.plot("probabilities").axes
    assert not kept.study().has_evidence
