"""``python -m bothworlds``, and what the command ``bothworlds`` starts."""

from __future__ import annotations

import sys


def main() -> None:
    """The command line, or a word on how to install what it needs."""
    try:
        from bothworlds import cli  # noqa: PLC0415 - needs the extra 'lab'
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "bothworlds":
            raise
        sys.exit(
            f"the command line needs the extra 'lab' (missing: {error.name}): pip install 'bothworlds[lab]'"
        )
    cli.main()


if __name__ == "__main__":
    main()
