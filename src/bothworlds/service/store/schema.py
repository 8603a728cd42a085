"""The schema of a database: one linear history, for all of them, in ``migrations``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bothworlds.errors import StateError

if TYPE_CHECKING:
    from sqlalchemy import Connection

REVISIONS = ("0001", "0002", "0003")  # known here, so that opening a database of today imports no alembic
FOLDER = Path(__file__).parent / "migrations"


def is_current(revision: str | None, where: str) -> bool:
    """Is this revision the last one? A newer one is refused."""
    if revision is not None and revision not in REVISIONS:
        raise StateError(
            f"{where} has the schema {revision!r}, which this release does not know (it knows up to "
            f"{REVISIONS[-1]!r}): upgrade bothworlds"
        )
    return revision == REVISIONS[-1]


def migrate(connection: Connection) -> None:
    """Bring a database up to date, in the transaction that is open."""
    try:
        from alembic.migration import MigrationContext  # noqa: PLC0415 - only to make or change a schema
        from alembic.operations import Operations  # noqa: PLC0415
        from alembic.script import ScriptDirectory  # noqa: PLC0415
    except ImportError as error:  # pragma: no cover - the lab has it
        raise ImportError("a new database needs alembic: pip install 'bothworlds[service]'") from error

    script = ScriptDirectory(str(FOLDER), version_locations=[str(FOLDER)])
    context = MigrationContext.configure(
        connection, opts={"fn": lambda revision, _: script._upgrade_revs("head", revision)}
    )
    with Operations.context(context):
        context.run_migrations()
