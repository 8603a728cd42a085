"""`python benchmarks/against.py COMMIT`: is any policy slower than at an earlier commit?

The commit is checked out in a folder of its own, and both play the policies of tests/cases.py in turns, a
short run each; and bandits, one call at a time. The ratio is the median over pairs of runs, one right after
the other, which a machine whose speed comes and goes disturbs alike; the times are the smallest ones of the
processor. What the commit does not know is left out. Both compile first, which takes minutes.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bothworlds as bw

ROOT = Path(__file__).parent.parent
SLICE = 0.1  # seconds that one run takes, about
ALLOWED = 1.05
BANDITS = ("TsallisINF()", "LightBarrier()")  # played by pull and update, a call each


class Player:
    """A process that plays with the package found in ``source``."""

    def __init__(self, source: Path) -> None:
        environ = os.environ | {"PYTHONPATH": str(source / "src"), "BOTHWORLDS_COMPILE": "wait"}
        command = [sys.executable, __file__, "--play"]
        self.process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, policy: str, n_arms: int, rounds: int) -> float:
        """Of so many rounds; NaN if the package cannot play the policy."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(policy, n_arms, rounds, sep="\t", file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def play() -> None:
    """Answer each line of the standard input, what is to be played, by the seconds that it took."""
    names = {name: getattr(bw, name) for name in dir(bw)}
    for part in ("estimators", "rates", "regularizers", "predictions"):
        names |= vars(names[part]) if part in names else {}
    for line in sys.stdin:
        text, n_arms, rounds = line.split("\t")
        try:
            what = eval(text, names)
            play = simulate if isinstance(what, bw.Policy) else pull_and_update
            start = time.process_time()
            play(what, int(n_arms), int(rounds))
            print(time.process_time() - start, flush=True)
        except (NameError, TypeError, ValueError):
            print("nan", flush=True)


def simulate(policy: bw.Policy, n_arms: int, rounds: int) -> None:
    world = bw.environments.Bernoulli(n_arms=n_arms, gap=0.2)
    bw.simulate(policy, world, horizon=rounds, seed=1, jobs=1, checkpoints=[rounds])


def pull_and_update(bandit: bw.Bandit, n_arms: int, rounds: int) -> None:
    for _ in range(rounds):
        pull = bandit.pull()
        bandit.update(pull, loss=0.5)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit, while it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def compare(
    players: tuple[Player, Player], policy: str, n_arms: int, repeats: int
) -> tuple[float, float, float]:
    """ns per round of both, and the ratio; NaN if the earlier one cannot play the policy."""
    now, then = players
    rounds = 10_000
    if math.isnan(then.seconds(policy, n_arms, rounds)):
        return math.nan, math.nan, math.nan
    now.seconds(policy, n_arms, rounds)  # compiles, as the line above does
    while min(now.seconds(policy, n_arms, rounds) for _ in range(3)) < SLICE / 2:
        rounds *= 2
    runs = [[player.seconds(policy, n_arms, rounds) for player in players] for _ in range(repeats)]
    best = [1e9 * min(times) / rounds for times in zip(*runs, strict=True)]
    return best[0], best[1], statistics.median(one / other for one, other in runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default="HEAD", help="what to compare with; HEAD unless given")
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--only", default="", help="policies (Bandit: bandits) whose text has this in it")
    parser.add_argument("--repeats", type=int, default=20, help="runs of each policy on both sides")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        return play()
    sys.path.insert(0, str(ROOT / "tests"))
    from cases import CASES  # noqa: PLC0415 - an earlier package, which plays, may not have all of them

    slower = 0
    with checked_out(options.commit) as earlier:
        players = Player(ROOT), Player(earlier)
        print(f"| ns per round, K = {options.arms} | now | {options.commit} | ratio |\n|---|---|---|---|")
        bandits = [(f"Bandit({options.arms}, {policy}, seed=1)", options.arms) for policy in BANDITS]
        for policy, n_arms in bandits + [(repr(case.policy), case.arms or options.arms) for case in CASES]:
            if options.only in policy:
                now, then, ratio = compare(players, policy, n_arms, options.repeats)
                if not math.isnan(ratio):
                    slower += ratio > ALLOWED
                    print(f"| `{policy}` | {now:.0f} | {then:.0f} | {ratio:.2f} |", flush=True)
    sys.exit(f"{slower} are slower by more than {ALLOWED - 1:.0%}" if slower else 0)


if __name__ == "__main__":
    main()
