"""Logs whose beginning is no longer kept."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
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
