"""The conjecture: sum and gradient against 50 digits, the arguments step by step, the search."""

from __future__ import annotations

import importlib.util
import json
import math
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

import bothworlds as bw
from bothworlds.errors import InvalidArgumentError
from bothworlds.theory import conjecture as lab
from bothworlds.theory.conjecture import FAMILIES, phases_of, starts

BETAS = (0.1, 0.3, 0.5, 0.7, 0.95)


def exact(p, beta, horizon=None):
    """The sum as the paper writes it, in 50 digits, by loops."""
    with mpmath.workdps(50):
        b, clip = mpmath.mpf(beta), 1 / mpmath.mpf(horizon or len(p))
        total = mpmath.mpf(0)
        for i in range(p.shape[1]):
            inside = mpmath.mpf(1)
            for x in (mpmath.mpf(float(v)) for v in p[:, i]):
                inside += max(x, clip) ** (1 - 2 * b)
                total += x ** (1 - b) / mpmath.sqrt(inside)
        return total


def sequences(n_arms=3, rounds=40):
    random = np.random.default_rng(5)
    yield random.dirichlet(np.ones(n_arms), rounds)
    yield random.dirichlet(np.full(n_arms, 0.05), rounds)  # many entries below the clip
    time = (np.arange(rounds) + 0.5) / rounds
    for family in FAMILIES.values():
        yield family(n_arms, time)


@pytest.mark.parametrize("beta", BETAS)
def test_value_against_50_digits(beta):
    for p in sequences():
        assert lab.value(p, beta) == pytest.approx(float(exact(p, beta)), rel=1e-13)
        assert lab.value(p, beta, horizon=1000) == pytest.approx(float(exact(p, beta, 1000)), rel=1e-13)
        assert lab.ratio(p, beta) == pytest.approx(lab.value(p, beta) / math.sqrt(p.size), rel=1e-15)


@pytest.mark.parametrize("beta", BETAS)
def test_gradient_against_50_digits_and_differences(beta):
    random = np.random.default_rng(7)
    p = random.dirichlet(np.full(3, 0.5), 8)
    slope = lab.log_gradient(p, beta, horizon=50)
    with mpmath.workdps(50):
        for at in ((0, 0), (3, 1), (7, 2)):
            h = mpmath.mpf(10) ** -20
            sides = []
            for sign in (1, -1):
                moved = p.astype(object)
                moved[at] = mpmath.mpf(p[at]) * (1 + sign * h)
                sides.append(_exact_of(moved, beta, 50))
            assert slope[at] == pytest.approx(float((sides[0] - sides[1]) / (2 * h)), rel=1e-11, abs=1e-14)
    # with phases of several rounds
    repeats = np.array([1, 2, 5, 1, 30, 1, 4, 6])
    slope = lab.log_gradient(p, beta, repeats=repeats)
    direction = random.normal(size=p.shape)
    direction -= (p * direction).sum(axis=1, keepdims=True)  # so that rows keep their sum, to first order
    step = 1e-5
    sides = [lab.value(p * (1 + s * step * direction), beta, repeats=repeats) for s in (1, -1)]
    assert (slope * direction).sum() == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-6, abs=1e-8)


def _exact_of(p, beta, horizon):
    b, clip, total = mpmath.mpf(beta), 1 / mpmath.mpf(horizon), mpmath.mpf(0)
    for i in range(p.shape[1]):
        inside = mpmath.mpf(1)
        for x in p[:, i]:
            inside += max(mpmath.mpf(x), clip) ** (1 - 2 * b)
            total += mpmath.mpf(x) ** (1 - b) / mpmath.sqrt(inside)
    return total


@pytest.mark.parametrize("beta", BETAS)
def test_phases_are_a_close_lower_bound_of_their_rounds(beta):
    p = np.random.default_rng(3).dirichlet(np.full(3, 0.5), 6)
    repeats = [1, 7, 40, 1, 300, 5]
    unrolled = np.repeat(p, repeats, axis=0)
    whole = lab.value(unrolled, beta)
    assert whole * 0.995 <= lab.value(p, beta, repeats=repeats) <= whole * (1 + 1e-12)


def test_a_half_is_the_known_case():
    """β = ½: √(p/(t + 1)) summed, which Cauchy and Schwarz bound by 2√(KT); uniform attains it."""
    p = np.random.default_rng(1).dirichlet(np.ones(4), 500)
    t = np.arange(1, 501)[:, None]
    assert lab.value(p, 0.5) == pytest.approx(np.sqrt(p / (t + 1)).sum(), rel=1e-13)
    uniform = np.full((1, 4), 0.25)
    assert 1.999 < lab.ratio(uniform, 0.5, repeats=[10**9]) < 2.0


def test_the_argument_for_beta_at_least_a_half_round_by_round():
    """Σ_i x^{1−β}/√S_t ≤ √(K/t)·(1 + K/T)^{β−½}: Jensen for S_t, then Hölder over the arms."""
    for beta in (0.5, 0.6, 0.8, 0.99):
        for p in sequences(5, 60):
            rounds, n = p.shape
            z = np.maximum(p, 1 / rounds)
            t = np.arange(1, rounds + 1)[:, None]
            inside = 1 + np.cumsum(z ** (1 - 2 * beta), axis=0)
            mean = np.cumsum(z, axis=0) / t
            assert (inside >= t * mean ** (1 - 2 * beta) * (1 - 1e-12)).all()  # Jensen
            lines = (p ** (1 - beta) / np.sqrt(inside)).sum(axis=1)
            bound = np.sqrt(n / t[:, 0]) * (1 + n / rounds) ** (beta - 0.5)
            assert (lines <= bound * (1 + 1e-12)).all()
            assert lab.ratio(p, beta) <= lab.proved(beta, n, rounds)


def test_the_argument_for_beta_below_a_half_arm_by_arm():
    for beta in (0.01, 0.2, 0.4, 0.49):
        for p in sequences(5, 200):
            rounds, n = p.shape
            z = np.maximum(p, 1 / rounds)
            inside = 1 + np.cumsum(z ** (1 - 2 * beta), axis=0)
            lines = p ** (1 - beta) / np.sqrt(inside)
            early = inside <= rounds / n
            assert ((lines * early).sum(axis=0) <= 2 * math.sqrt(rounds / n)).all()
            late = np.sqrt(p.sum(axis=0) * (1 + math.log(n * (1 + 1 / rounds))))
            assert ((lines * ~early).sum(axis=0) <= late * (1 + 1e-12)).all()
            assert lab.ratio(p, beta) <= lab.proved(beta, n, rounds)


def test_the_staggered_sequence_of_the_disproof():
    """The explicit sequence of the docs: rows are sub-distributions, and the sum is as large as claimed."""
    for beta, n, rounds in ((0.05, 16, 4096), (0.1, 16, 16_000), (0.2, 8, 32_000)):
        length = rounds // n
        width = length / (1 + math.log(n))
        assert width >= 2 * (1 + rounds ** (2 * beta))
        since = np.arange(1, rounds + 1)[:, None] - length * np.arange(n)
        x = np.where(since >= 1, 0.5 * width / (width + np.maximum(since, 1)), 0.0)
        rest = 1 - x.sum(axis=1, keepdims=True)
        assert (rest >= 0).all()
        z = np.maximum(x, 1 / rounds)
        value = (x ** (1 - beta) / np.sqrt(1 + np.cumsum(z ** (1 - 2 * beta), axis=0))).sum()
        claimed = math.log(n * (1 + math.log(n)) / 4) / math.sqrt(1 + math.log(n))
        assert value >= 0.5 * math.sqrt(beta / 2) * claimed * math.sqrt(n * rounds)
        assert lab.value(np.hstack([x, rest]), beta) >= value


def test_the_limit_of_the_staggered_family():
    for beta, n, a in ((0.1, 7, 0.3), (0.25, 32, 0.5), (0.4, 1000, 2.0), (0.49, 3, 9.0)):
        area = integrate.quad(lambda u, b=beta, k=n / a: np.arccosh((1 + u * k) ** b), 0, 1, epsabs=1e-12)[0]
        wanted = math.sqrt(2 / (beta * (special.psi(n + a) - special.psi(a)))) * area
        assert lab.staggered_limit(beta, n, a) == pytest.approx(wanted, rel=1e-6)
    # from actual sequences: many phases, an extra arm for what is left over, and T so long that clips vanish
    n, a, beta = 12, 0.5, 0.25
    repeats = phases_of(2.0**50, 80 * n)
    time = (np.cumsum(repeats) - 0.5 * repeats) / 2.0**50
    since = time[:, None] * n - np.arange(n)
    x = np.where(since > 0, a / (a + np.maximum(since, 0)), 0.0) / (a * (special.psi(n + a) - special.psi(a)))
    assert (x.sum(axis=1) <= 1 + 1e-12).all()
    rest = 1 - x.sum(axis=1, keepdims=True)
    whole = lab.value(np.hstack([x, rest]), beta, repeats=repeats)
    filler = _one_arm(rest[:, 0], repeats, beta)
    weight = math.sqrt(2 / (beta * (special.psi(n + a) - special.psi(a))))
    mean = weight * np.mean([np.arccosh((1 + i / a) ** beta) for i in range(1, n + 1)])
    assert (whole - filler) / math.sqrt(n * 2.0**50) == pytest.approx(mean, rel=1e-3)
    assert lab.staggered_limit(beta, n, a) < mean
    # growth without end, like √(2β log K)
    ratios = [lab.staggered_limit(0.3, 2.0**k) / math.sqrt(0.6 * k * math.log(2)) for k in (50, 200, 800)]
    assert ratios[0] > ratios[1] > ratios[2] > 1.0
    assert ratios[2] < 1.1


def _one_arm(x, repeats, beta):
    w = np.maximum(x, 1 / repeats.sum()) ** (1 - 2 * beta)
    ends = 1 + np.cumsum(repeats * w)
    return float((2 * x ** (1 - beta) / w * (np.sqrt(ends) - np.sqrt(ends - repeats * w))).sum())


def test_search_finds_what_is_known_and_reproduces():
    found = lab.search(0.75, 4, 10**6, steps=40)
    assert 1.99 < found.ratio <= lab.proved(0.75, 4, 10**6)
    worse = lab.search(0.25, 4, 10**12, steps=40, seed=3)
    assert 2.02 < worse.ratio < lab.proved(0.25, 4, 10**12)
    assert worse.ratio >= worse.start_ratio
    assert worse.ratio == pytest.approx(lab.ratio(worse.p, 0.25, repeats=worse.repeats), rel=1e-12)
    again = lab.search(0.25, 4, 10**12, steps=40, seed=3)
    assert again.ratio == worse.ratio
    np.testing.assert_array_equal(again.p, worse.p)
    longer = lab.search(0.25, 4, 10**13, steps=0, before=worse)
    assert longer.ratio > worse.ratio - 0.01  # the same sequence, stretched, to begin with
    assert longer.repeats.sum() == 10**13
    assert "start=" in repr(worse)


def test_starts_are_distributions_of_the_right_length():
    for rounds, phases in ((3, 10), (50, 8), (10**9, 30)):
        for p, repeats in starts(3, rounds, phases, seed=1).values():
            assert repeats.sum() == rounds
            assert repeats.min() >= 1
            assert (p >= 0).all()
            np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_on_real_runs():
    trace = bw.replay(bw.TsallisINF(), n_arms=3, arms=[0, 1, 2] * 4, losses=[0.1, 0.1, 0.2] * 4)
    t = np.arange(1, 13)[:, None]
    assert lab.of_trace(trace) == pytest.approx(np.sqrt(trace.p[:-1] / (t + 1)).sum() / math.sqrt(36))
    assert lab.of_trace(trace, beta=0.3) == lab.ratio(trace.p[:-1], 0.3)
    policy = bw.FTRL(bw.Tsallis(0.3), log_barrier=0.0, theta=1.0, alpha=0.3)
    other = bw.replay(policy, n_arms=3, horizon=500, arms=[0, 1], losses=[1.0, 0.0])
    assert lab.of_trace(other) == lab.ratio(other.p[:-1], 0.3, horizon=500)
    for policy, beta in ((bw.DecoupledTsallisINF(), 2 / 3), (bw.EXP3(), None)):
        trace = replace(other, policy=policy)
        if beta is not None:
            assert lab.of_trace(trace) == lab.ratio(other.p[:-1], beta, horizon=500)
            continue
        with pytest.raises(
            InvalidArgumentError, match=r"beta must be given for EXP3\(\), which has no Tsallis"
        ):
            lab.of_trace(trace)


@pytest.fixture
def example(monkeypatch):
    """examples/conjecture.py, with few searches."""
    path = Path(__file__).parents[2] / "examples" / "conjecture.py"
    spec = importlib.util.spec_from_file_location("conjecture_example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    survey = module.survey
    small = lambda **options: survey([0.25, 0.75], [2], [1e3, 1e6], **options)  # noqa: E731
    monkeypatch.setattr(module, "survey", small)
    return module


def test_the_example_prints_its_tables(example, capsys):
    example.main(["--steps", "5", "--seed", "1"])
    text = capsys.readouterr().out.splitlines()
    assert text[1].split() == ["beta", "K", "T=1e+03", "T=1e+06", "proved"]
    assert [line.split()[:2] for line in text[2:4]] == [["0.25", "2"], ["0.75", "2"]]
    assert any(line.split()[:1] == ["2^80"] for line in text)
    assert "4 searches, seed 1" in "\n".join(text)
    assert "none is a proven supremum" in "\n".join(text)
    assert "written" not in "\n".join(text)


def test_the_example_writes_what_it_says(example, tmp_path, capsys):
    folder = tmp_path / "new"
    example.main(["--steps", "1", "--out", str(folder)])
    assert "written" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"conjecture.json", "conjecture.svg"}
    rows = json.loads((folder / "conjecture.json").read_text())
    found = example.survey(steps=1)
    assert [row["ratio"] for row in rows] == [one.ratio for one in found]
    assert all(row["ratio"] <= row["proved"] for row in rows)
    drawn = example.chart(found).to_dict()
    assert [panel["title"] for panel in drawn["concat"]] == ["β = 0.25", "β = 0.75"]  # and no empty one
    assert drawn["concat"][0]["encoding"]["x"]["axis"]["values"] == [1e3, 1e6]  # ticks where searches are
    assert [row for panel in example.chart(found).concat for row in panel.data.values] == rows


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: lab.value([[0.5, 0.6]], 0.5),
            r"p\[0\] must be a distribution over the arms, got \[0.5, 0.6\]",
        ),
        (lambda: lab.value([[1.5, -0.5]], 0.5), r"p\[0\] must be a distribution"),
        (lambda: lab.value([[0.5, math.nan]], 0.5), r"p\[0\] must be a distribution"),
        (lambda: lab.value([0.5, 0.5], 0.5), r"p must be a table, phases × arms, .* got shape \(2,\)"),
        (lambda: lab.value("abc", 0.5), r"p must be a table of numbers, phases × arms, got str"),
        (lambda: lab.value([[1.0]], 1.0), r"beta must be a finite number above 0 and below 1, got 1.0"),
        (
            lambda: lab.value([[1.0]], 0.5, repeats=[0]),
            r"repeats\[0\] must be finite and at least 1, got 0.0",
        ),
        (lambda: lab.value([[1.0]], 0.5, repeats=[1.5]), r"repeats must be whole numbers of rounds"),
        (
            lambda: lab.value([[1.0]], 0.5, repeats=[1, 1]),
            r"repeats must be .* of length 1, got shape \(2,\)",
        ),
        (lambda: lab.value([[1.0]], 0.5, repeats=[1e17]), r"repeats must be at most 2\^53 rounds"),
        (lambda: lab.value([[1.0]] * 9, 0.5, horizon=8), r"horizon must be a finite number at least 9"),
        (lambda: lab.of_trace(3), r"trace must be a Trace, .* got 3"),
        (lambda: lab.search(0.5, 1, 10), r"n_arms must be at least 2, got 1"),
        (lambda: lab.search(0.5, 9, 8), r"horizon must be a finite number at least 9"),
        (
            lambda: lab.search(0.5, 2, 8, before=lab.search(0.5, 3, 9, steps=0)),
            r"before must be one with 2 arms, got Found",
        ),
        (lambda: lab.staggered_limit(0.5, 4), r"beta must be a finite number above 0 and below 0.5, got 0.5"),
        (lambda: lab.proved(0.5, 3, 2), r"horizon must be a finite number at least 3, got 2.0"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(InvalidArgumentError, match=match):
        call()
