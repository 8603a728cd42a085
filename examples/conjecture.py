"""Search for sequences that break the paper's open conjecture, and print the tables of docs/conjecture.md.

    python examples/conjecture.py [--out FOLDER] [--seed 0] [--steps 100]

Half a minute; the same seed finds the same sequences. With ``--out``, which needs the extra ``plot``, what
was found is also written as JSON, and drawn.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bothworlds.theory.conjecture import Found, proved, search, staggered_limit

BETAS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
ARMS = (2, 8, 32)
HORIZONS = (1e3, 1e6, 1e10, 1e15)
SUMMARY = """\
{n} searches, seed {seed}, {s:.0f} s. Every number is attained by a sequence; none is a proven supremum.
β ≥ ½: nothing above 2·(1 + K/T)^(β−½) was found, and by the argument in docs/conjecture.md nothing can be.
β < ½: values grow with K, and no more with T once T is large. The staggered family grows like √(2β·log K), so
no constant serves all K at once; for fixed K one does (column "proved")."""


def survey(
    betas: Sequence[float] = BETAS,
    arms: Sequence[int] = ARMS,
    horizons: Sequence[float] = HORIZONS,
    *,
    seed: int = 0,
    steps: int = 100,
) -> list[Found]:
    """The worst sequence found for every β, K and T, each search also beginning from the last T's."""
    cells = [(beta, n, t) for beta in betas for n in arms for t in horizons]
    found: list[Found] = []
    for beta, n, t in cells:
        before = found[-1] if found and (found[-1].beta, found[-1].n_arms) == (beta, n) else None
        found.append(search(beta, n, t, seed=seed, steps=steps, ascents=2, before=before))
        if sys.stderr.isatty():
            end = "\r" if len(found) < len(cells) else "\n"
            print(f"Searching: {len(found)} of {len(cells)}", end=end, file=sys.stderr, flush=True)
    return found


def rows(found: Sequence[Found]) -> list[dict[str, Any]]:
    """One row for each β, K and T, with what is proved: plain JSON types."""
    return [{**one.to_dict(), "proved": proved(one.beta, one.n_arms, one.horizon)} for one in found]


def table(found: Sequence[Found]) -> str:
    """Largest found over √(KT): lines are β and K, columns T; "proved" is the bound at the last T."""
    horizons = list(dict.fromkeys(one.horizon for one in found))
    lines = [
        "largest value found / √(KT)",
        f"{'beta':>5} {'K':>4}" + "".join(f" {f'T={t:.0e}':>8}" for t in horizons) + "   proved",
    ]
    cells = {(one.beta, one.n_arms, one.horizon): one for one in found}
    for beta, n in dict.fromkeys((one.beta, one.n_arms) for one in found):
        values = "".join(f" {cells[beta, n, t].ratio:>8.3f}" for t in horizons)
        lines.append(f"{beta:>5g} {n:>4}{values} {proved(beta, n, horizons[-1]):>8.3f}")
    return "\n".join(lines)


def growth_table(betas: Sequence[float] = (0.1, 0.25, 0.4, 0.49)) -> str:
    """``staggered_limit`` by K: growth without end, though slow, for every β < ½."""
    lines = [
        "staggered family, T → ∞: value / √(KT)",
        f"{'K':>6}" + "".join(f" {f'β={b:g}':>7}" for b in betas) + "   proved",
    ]
    for power in (3, 5, 10, 20, 40, 80):
        values = "".join(f" {staggered_limit(b, 2.0**power):>7.3f}" for b in betas)
        lines.append(f"{f'2^{power}':>6}{values} {proved(0.25, 2**power, 1e300):>8.3f}")
    return "\n".join(lines)


def chart(found: Sequence[Found]) -> Any:
    """Ratio over T, one panel per β, one line per K, as an Altair chart."""
    import altair as alt  # noqa: PLC0415 - an optional extra

    searched = sorted({one.horizon for one in found})
    power = "'1e' + format(log(datum.value) / log(10), '.0f')"
    panels = [
        alt.Chart(alt.InlineData(values=[row for row in rows(found) if row["beta"] == beta]))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "horizon:Q",
                title="T",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=searched, labelExpr=power),
            ),
            y=alt.Y("ratio:Q", title="largest found / √(KT)", scale=alt.Scale(zero=False)),
            color=alt.Color("n_arms:O", title="K"),
        )
        .properties(width=150, height=130, title=f"β = {beta:g}")
        for beta in dict.fromkeys(one.beta for one in found)
    ]
    return alt.concat(*panels, columns=4).resolve_scale(y="shared")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="also write what was found, and a chart, to this folder")
    parser.add_argument("--seed", type=int, default=0, help="the same seed finds the same sequences")
    parser.add_argument("--steps", type=int, default=100, help="of gradient ascent, per search")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    found = survey(seed=options.seed, steps=options.steps)
    seconds = time.perf_counter() - began
    print(table(found), growth_table(), sep="\n\n", end="\n\n")
    print(SUMMARY.format(n=len(found), seed=options.seed, s=seconds))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows(found), indent=1) + "\n"
        (options.out / "conjecture.json").write_text(text, encoding="utf-8")
        chart(found).save(str(options.out / "conjecture.svg"))
        print(f"\nwritten: {options.out / 'conjecture.json'}, {options.out / 'conjecture.svg'}")


if __name__ == "__main__":
    main()
