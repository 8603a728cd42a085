"""Logs whose beginning is no longer kept, and which key asked for what, in a number of a byte or two."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Both came with one release."""
    _retention()
    _reporters()


def _retention() -> None:
    """Say where a log begins, and with which states."""
    op.add_column("project", sa.Column("start", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("project", sa.Column("retained", sa.Double, nullable=False, server_default="0"))
    op.create_table(
        "base",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandit.id"), primary_key=True),
        sa.Column("pos", sa.BigInteger, nullable=False),
        sa.Column("engine", sa.Integer, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("sha256", sa.LargeBinary, nullable=False),
    )


def _reporters() -> None:
    """Number the keys in the order in which they were made; what was asked before has none."""
    op.add_column("api_key", sa.Column("number", sa.Integer))
    op.execute(
        "UPDATE api_key SET number = (SELECT COUNT(*) FROM api_key AS other WHERE other.created < "
        "api_key.created OR (other.created = api_key.created AND other.id <= api_key.id))"
    )
    op.create_index("api_key_number", "api_key", ["number"], unique=True)
    for table in ("decision", "entry", "report"):
        op.add_column(table, sa.Column("key", sa.Integer))
