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


WORLDS = {
    "iid": bw.environments.Bernoulli(n_arms=N_ARMS, gap=GAP),
    "shifting means": bw.environments.StochasticallyConstrained(n_arms=N_ARMS, gap=GAP),
}


def sparkline(curve: np.ndarray, top: float) -> str:
    points = curve[np.linspace(0, len(curve) - 1, 32).astype(int)]
    return "".join(BARS[max(0, min(7, int(8 * value / top)))] for value in points)


def chart(rounds: np.ndarray, results: dict[tuple[str, str], np.ndarray], folder: Path) -> list[Path]:
    import altair as alt  # noqa: PLC0415 - an optional extra

    rows = [
        {"world": world, "policy": policy, "round": int(t), "regret": float(value)}
        for (world, policy), curve in results.items()
        for t, value in zip(rounds, curve, strict=True)
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
    parser.add_argument("--horizon", type=int, default=100_000, help="rounds per run (default: 100000)")
    parser.add_argument("--runs", type=int, default=16, help="runs per policy and world (default: 16)")
    options = parser.parse_args()

    began = time.perf_counter()
    print(
        f"bothworlds {bw.__version__}: {N_ARMS} arms, gap {GAP}, {options.horizon:,} rounds, "
        f"mean of {options.runs} runs"
    )
    print("compiling the kernels (once; later runs read them from disk) ...", flush=True)
    results: dict[tuple[str, str], np.ndarray] = {}
    rounds = np.unique(np.linspace(1, options.horizon, 200).astype(int))
    for world, environment in WORLDS.items():
        for name, policy in POLICIES.items():
            print(f"  playing {name} in the {world} world ...", flush=True)
            run = bw.simulate(
                policy,
                environment,
                horizon=options.horizon,
                replications=options.runs,
                seed=1,
                checkpoints=rounds,
            )
            results[world, name] = run.regret[0].mean(axis=0)

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
        files = chart(rounds, results, options.out)
    except ImportError:
        print("No chart: it needs the extra 'plot' (pip install 'bothworlds[plot]').")
    else:
        print("Chart: " + ", ".join(str(file) for file in files))
    print(f"Done in {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
