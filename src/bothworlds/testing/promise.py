"""How a broken promise is reported."""

from __future__ import annotations

from typing import Any


def require(holds: Any, subject: Any, promise: str) -> None:
    """Say of whom, and which promise is broken."""
    if not holds:
        raise AssertionError(f"{subject!r}: {promise}")
