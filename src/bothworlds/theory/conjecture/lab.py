"""The conjecture lab: tables and a chart of the worst sequences found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from bothworlds.errors import InvalidArgumentError
from bothworlds.theory.conjecture.families import staggered_limit
from bothworlds.theory.conjecture.objective import proved
from bothworlds.theory.conjecture.search import Found, search

BETAS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
ARMS = (2, 8, 32)
HORIZONS = (1e3, 1e6, 1e10, 1e15)
STEPS = 100
POWERS = (3, 5, 10, 20, 40, 80)


@dataclass(frozen=True)
class Survey:
    """The worst ratios found for many β, K and T.

    Attributes
    ----------
    found:
        One :class:`Found` for each.
    seconds:
        How long it took.
    """

    found: tuple[Found, ...]
    seconds: float

    def rows(self) -> list[dict[str, Any]]:
        """One row for each β, K and T, with what is proved: plain JSON types."""
        return [{**one.to_dict(), "proved": proved(one.beta, one.n_arms, one.horizon)} for one in self.found]

    def table(self) -> str:
        """Largest found over √(KT): lines are β and K, columns T; "proved" is the bound at the last T."""
        horizons = list(dict.fromkeys(one.horizon for one in self.found))
        lines = [
            "largest value found / √(KT)",
            f"{'beta':>5} {'K':>4}" + "".join(f" {f'T={t:.0e}':>8}" for t in horizons) + "   proved",
        ]
        cells = {(one.beta, one.n_arms, one.horizon): one for one in self.found}
        for beta, n in dict.fromkeys((one.beta, one.n_arms) for one in self.found):
            values = "".join(f" {cells[beta, n, t].ratio:>8.3f}" for t in horizons)
            lines.append(f"{beta:>5g} {n:>4}{values} {proved(beta, n, horizons[-1]):>8.3f}")
        return "\n".join(lines)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all rows, with the seeds that reproduce them, as JSON."""
        Path(path).write_text(json.dumps(self.rows(), indent=1) + "\n", encoding="utf-8")

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Ratio over T, one panel per β, one line per K, as an Altair chart; written to ``path`` if given.

        Needs the extra ``plot``: pip install 'bothworlds[plot]'.
        """
        try:
            import altair as alt  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            raise ImportError("charts need the extra 'plot': pip install 'bothworlds[plot]'") from error
        chart = (
            alt.Chart(alt.InlineData(values=self.rows()))
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "horizon:Q",
                    title="T",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(format="~e", tickCount=4),
                ),
                y=alt.Y("ratio:Q", title="largest found / √(KT)", scale=alt.Scale(zero=False)),
                color=alt.Color("n_arms:O", title="K"),
                facet=alt.Facet("beta:O", columns=4, title="β"),
            )
            .properties(width=150, height=130)
        )
        if path is not None:
            chart.save(str(path))
        return chart


def survey(
    betas: Sequence[float] = BETAS,
    arms: Sequence[int] = ARMS,
    horizons: Sequence[float] = HORIZONS,
    *,
    seed: int = 0,
    steps: int = STEPS,
    progress: Callable[[int, int, Found], None] | None = None,
) -> Survey:
    """Search for bad sequences at every β, K and T, each search also beginning from the last T's sequence.

    Parameters
    ----------
    betas, arms, horizons:
        What to try; about half a minute with the defaults.
    seed, steps:
        As for :func:`search`.
    progress:
        Called after each search with the number done, the number in all, and what was found.
    """
    for name, values in (("betas", betas), ("arms", arms), ("horizons", horizons)):
        if not len(values):
            raise InvalidArgumentError(name, values, "at least one value")
    cells = [(beta, n, t) for beta in betas for n in arms for t in horizons]
    begin = time.perf_counter()
    found: list[Found] = []
    for beta, n, t in cells:
        before = found[-1] if found and (found[-1].beta, found[-1].n_arms) == (beta, n) else None
        found.append(search(beta, n, t, seed=seed, steps=steps, ascents=2, before=before))
        if progress is not None:
            progress(len(found), len(cells), found[-1])
    return Survey(tuple(found), time.perf_counter() - begin)


def growth_table(betas: Sequence[float] = (0.1, 0.25, 0.4, 0.49)) -> str:
    """:func:`staggered_limit` by K: growth without end, though slow, for every β < ½."""
    lines = [
        "staggered family, T → ∞: value / √(KT)",
        f"{'K':>6}" + "".join(f" {f'β={b:g}':>7}" for b in betas) + "   proved",
    ]
    for power in POWERS:
        n = 2.0**power
        values = "".join(f" {staggered_limit(b, n):>7.3f}" for b in betas)
        lines.append(f"{f'2^{power}':>6}{values} {proved(0.25, 2**power, 1e300):>8.3f}")
    return "\n".join(lines)


def report(
    folder: str | PathLike[str] | None = None,
    *,
    seed: int = 0,
    steps: int = STEPS,
    progress: Callable[[int, int, Found], None] | None = None,
) -> str:
    """What ``bothworlds conjecture`` prints: both tables; with ``folder``, also conjecture.json and a chart.

    The folder is made if it does not exist. The text says what was found, and what that does not show.
    """
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    result = survey(seed=seed, steps=steps, progress=progress)
    parts = [result.table(), growth_table(), SUMMARY.format(n=len(result.found), seed=seed, s=result.seconds)]
    if folder is not None:
        result.save(Path(folder) / "conjecture.json")
        result.plot(Path(folder) / "conjecture.svg")
        parts.append(f"written: {Path(folder) / 'conjecture.json'}, {Path(folder) / 'conjecture.svg'}")
    return "\n\n".join(parts)


SUMMARY = """\
{n} searches, seed {seed}, {s:.0f} s. Every number is attained by a sequence; none is a proven supremum.
β ≥ ½: nothing above 2·(1 + K/T)^(β−½) was found, and by the argument in docs/conjecture.md nothing can be.
β < ½: values grow with K, and no more with T once T is large. The staggered family grows like √(2β·log K), so
no constant serves all K at once; for fixed K one does (column "proved")."""
