"""Search for sequences that break the paper's conjecture: the tables in docs/conjecture.md."""

from __future__ import annotations

import argparse
import sys

from bothworlds.theory.conjecture import Found, report


def progress(done: int, total: int, found: Found) -> None:
    print(f"{done}/{total} {found!r}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", help="folder for conjecture.json and conjecture.svg")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100, help="of gradient ascent")
    options = parser.parse_args()
    print(report(options.out, seed=options.seed, steps=options.steps, progress=progress))


if __name__ == "__main__":
    main()
