"""The blobs that are being put, and since when: what nobody finishes is found again, and does not stay for ever."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "puts",
        sa.Column("sha", sa.String(), primary_key=True),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
