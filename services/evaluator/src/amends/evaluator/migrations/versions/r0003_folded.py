"""A loop's state may be a few events older than the loop: of which version it is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Until now every state was of its loop's version; a stuck one's does not matter."""
    op.add_column("loops", sa.Column("folded", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE loops SET folded = version")
