"""What changes with every event stands in fewer trees: each of them is a page more that a commit has to write."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT, BIG = sa.String(), sa.BigInteger()


def upgrade() -> None:
    """Drop the indexes, and the row ids of SQLite; what the tables hold stays. What a day has cost is read from one."""
    op.drop_index("loops_status", "loops")
    op.drop_index("loops_updated", "loops")
    op.drop_index("outstanding_service", "outstanding")
    op.drop_index("outstanding_loop", "outstanding")
    op.drop_index("claims_day", "claims")
    op.create_index("claims_day", "claims", ["day", "usd_micro"])
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("outstanding_pkey", "outstanding")
        op.create_primary_key("outstanding_pkey", "outstanding", ["loop", "pos"])
    else:
        op.drop_index("timers_due", "timers")
        _made_anew("timers", _timers())
        op.create_index("timers_due", "timers", ["due"])
        _made_anew("outstanding", _outstanding())


def _made_anew(table: str, parts: list[sa.schema.SchemaItem]) -> None:
    op.rename_table(table, f"{table}_before")
    op.create_table(table, *parts, sqlite_with_rowid=False)
    op.execute(f"INSERT INTO {table} SELECT * FROM {table}_before")  # noqa: S608 - our own names
    op.drop_table(f"{table}_before")


def _timers() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("loop", TEXT, primary_key=True),
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("generation", BIG, nullable=False),
        sa.Column("due", BIG, nullable=False),
        sa.Column("deadline", sa.Boolean(), nullable=False),
    ]


def _outstanding() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("pos", BIG, nullable=False),
        sa.Column("loop", TEXT, nullable=False),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("due", BIG, nullable=False),
        sa.PrimaryKeyConstraint("loop", "pos"),
    ]
