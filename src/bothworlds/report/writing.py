"""What is written of a study beside its chunks: tables, the page, figures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from bothworlds.errors import StoreError


@contextlib.contextmanager
def writing(what: str, target: Path) -> Iterator[None]:
    """Turn what the system says of a disk into an error that names what could not be written there."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{what} cannot be written to {target} ({error}); give another folder, or make room"
        ) from error
