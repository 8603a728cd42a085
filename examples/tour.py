"""A tour of half a minute: one policy that needs not know its world, and one that does.

UCB1 is the textbook answer for independent, identically distributed losses. Here it meets the default
policy in two worlds with the same gap between the best arm and the others:

* iid: every arm has a fixed mean loss;
* shifting means: in phases that grow by a factor 1.6, all means move between the bottom and the top of
  [0, 1] together, so that averages over the past mislead. The best arm stays the best in every round
  (the "stochastically constrained adversary" of Zimmert and Seldin).

Run it with `make demo`, or: python examples/tour.py --out FOLDER
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import bothworlds as bw

N_ARMS, GAP = 8, 0.125
POLICIES = {"LightBarrier (default)": bw.LightBarrier(), "TsallisINF": bw.TsallisINF(), "UCB1": bw.UCB1()}
COLOURS = ["#0072B2", "#E69F00", "#CC3311"]  # told apart by the colour-blind
BARS = "▁▂▃▄▅▆▇█"


def iid(horizon: int) -> np.ndarray:
    means = np.full((horizon, N_ARMS), (1 + GAP) / 2)
    means[:, 0] = (1 - GAP) / 2
    return means


def shifting(horizon: int) -> np.ndarray:
    means = np.empty((horizon, N_ARMS))
    start, length, low = 0, 1.0, True
    while start < horizon:
        end = start + int(np.ceil(length))
        means[start:end] = GAP if low else 1.0
        means[start:end, 0] = 0.0 if low else 1.0 - GAP
        start, length, low = end, length * 1.6, not low
    return means


WORLDS = {"iid": iid, "shifting means": shifting}


def regret_of(policy: bw.Policy, means: np.ndarray, seed: int) -> np.ndarray:
    """Cumulative pseudo-regret: how much more mean loss was chosen than the best arm has."""
    bandit = bw.Bandit(N_ARMS, policy, seed=seed)
    losses = np.random.default_rng(seed).random(means.shape) < means
    chosen = np.empty(len(means), dtype=np.int64)
    for t in range(len(means)):
        pull = bandit.pull()
        chosen[t] = pull.arm
        bandit.update(pull, loss=float(losses[t, pull.arm]))
    return np.cumsum(means[np.arange(len(means)), chosen] - means[:, 0])


def sparkline(curve: np.ndarray, top: float) -> str:
    points = curve[np.linspace(0, len(curve) - 1, 32).astype(int)]
    return "".join(BARS[min(7, int(8 * value / top))] for value in points)


def chart(results: dict[tuple[str, str], np.ndarray], folder: Path) -> list[Path]:
    import altair as alt  # noqa: PLC0415 - an optional extra

    rows = [
        {"world": world, "policy": policy, "round": int(t) + 1, "regret": float(curve[t])}
        for (world, policy), curve in results.items()
        for t in np.linspace(0, len(curve) - 1, 200).astype(int)
    ]
    names = list(POLICIES)
    # one legend for colour and dash: same title, order and place
    legend = alt.Legend(orient="bottom", labelLimit=300, symbolSize=400)
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("round:Q", title="round", axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("regret:Q", title="regret"),
            color=alt.Color(
                "policy:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=COLOURS)
            ),
            strokeDash=alt.StrokeDash("policy:N", title=None, legend=legend, scale=alt.Scale(domain=names)),
        )
        .properties(width=300, height=240)
    )
    header = alt.Header(labelFontSize=14)
    picture = lines.facet(column=alt.Column("world:N", title=None, sort=list(WORLDS), header=header))
    files = [folder / "regret.svg", folder / "regret.png"]
    for file in files:
        picture.save(str(file), **({"scale_factor": 2.0} if file.suffix == ".png" else {}))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("tour"), help="folder for the chart (default: tour)")
    parser.add_argument("--horizon", type=int, default=30_000, help="rounds per run (default: 30000)")
    parser.add_argument("--runs", type=int, default=6, help="runs per policy and world (default: 6)")
    options = parser.parse_args()

    began = time.perf_counter()
    print(
        f"bothworlds {bw.__version__}: {N_ARMS} arms, gap {GAP}, {options.horizon:,} rounds, "
        f"mean of {options.runs} runs"
    )
    print("compiling the kernels (once; later runs read them from disk) ...", flush=True)
    results: dict[tuple[str, str], np.ndarray] = {}
    for world, make in WORLDS.items():
        means = make(options.horizon)
        for name, policy in POLICIES.items():
            print(f"  playing {name} in the {world} world ...", flush=True)
            results[world, name] = np.mean(
                [regret_of(policy, means, seed) for seed in range(options.runs)], axis=0
            )

    uniform = options.horizon * GAP * (N_ARMS - 1) / N_ARMS
    print(f"\nRegret after {options.horizon:,} rounds (playing at random: {uniform:,.0f})\n")
    print(f"  {'':<24}" + "".join(f"{world:>16}  {'over time':<34}" for world in WORLDS))
    for name in POLICIES:
        cells = ""
        for world in WORLDS:
            top = max(results[world, other][-1] for other in POLICIES)
            cells += f"{results[world, name][-1]:>16,.0f}  {sparkline(results[world, name], top):<34}"
        print(f"  {name:<24}{cells}")
    first, last = ("LightBarrier (default)", "UCB1")
    ratio = {world: results[world, last][-1] / results[world, first][-1] for world in WORLDS}
    print(
        f"\nUCB1 has {ratio['iid']:.1f} times the default policy's regret in the iid world, "
        f"and {ratio['shifting means']:.1f} times when the means shift."
    )
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        files = chart(results, options.out)
    except ImportError:
        print("No chart: it needs the extra 'plot' (pip install 'bothworlds[plot]').")
    else:
        print("Chart: " + ", ".join(str(file) for file in files))
    print(f"Done in {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
