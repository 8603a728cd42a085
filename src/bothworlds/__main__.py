"""``python -m bothworlds``, and what the command ``bothworlds`` starts."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """The command line, or a word on how to install what it needs."""
    if os.getpid() == 1:  # of a container, where SIGTERM does nothing unless it is handled
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
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
