"""Which key asked: for a decision, an entry of the log and a report, in a number that takes a byte or two."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Number the keys in the order in which they were made; what was asked before has none."""
    op.add_column("api_key", sa.Column("number", sa.Integer))
    op.execute(
        "UPDATE api_key SET number = (SELECT COUNT(*) FROM api_key AS other WHERE other.created < "
        "api_key.created OR (other.created = api_key.created AND other.id <= api_key.id))"
    )
    op.create_index("api_key_number", "api_key", ["number"], unique=True)
    for table in ("decision", "entry", "report"):
        op.add_column(table, sa.Column("key", sa.Integer))
