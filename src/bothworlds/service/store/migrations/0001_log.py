"""Projects, experiments, bandits, decisions, the log, snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

identity = sa.LargeBinary(16)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "project",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("secret", identity, nullable=False),
        sa.Column("snapshot", sa.BigInteger, nullable=False),
        sa.Column("swept", sa.Double, nullable=False),
    )
    op.create_table(
        "engine",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("description", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project", sa.Integer, sa.ForeignKey("project.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("secret", identity, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.UniqueConstraint("project", "name"),
    )
    op.create_table(
        "bandit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project", sa.Integer, sa.ForeignKey("project.id"), nullable=False),
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("segment", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.UniqueConstraint("experiment", "segment"),
    )
    op.create_table(
        "decision",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("id", identity, nullable=False),
        sa.Column("bandit", sa.Integer, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("ticket", sa.LargeBinary, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("engine", sa.Integer, nullable=False),
        sa.Column("made", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("unit", identity),
        sa.Column("context", sa.LargeBinary),
        sa.PrimaryKeyConstraint("project", "id"),
        sqlite_with_rowid=False,
    )
    for column in ("due", "unit"):
        present = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            f"decision_{column}",
            "decision",
            ["project", column],
            sqlite_where=present,
            postgresql_where=present,
        )
    op.create_table(
        "entry",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("pos", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("bandit", sa.Integer),
        sa.Column("decision", identity),
        sa.Column("kept", sa.Double),
        sa.Column("ticket", sa.LargeBinary),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text),
        sa.PrimaryKeyConstraint("project", "pos"),
        sa.UniqueConstraint("project", "decision"),
        sqlite_with_rowid=False,
    )
    change = sa.text("bandit IS NULL")
    op.create_index(
        "entry_change",
        "entry",
        ["project", "pos"],
        sqlite_where=change,
        postgresql_where=change,
    )
    op.create_table(
        "report",
        sa.Column("project", sa.Integer, nullable=False),
        sa.Column("decision", identity, nullable=False),
        sa.Column("kept", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("late", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("project", "decision"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandit.id"), nullable=False),
        sa.Column("pos", sa.BigInteger, nullable=False),
        sa.Column("engine", sa.Integer, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("sha256", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("bandit", "pos"),
    )
