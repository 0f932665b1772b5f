"""The log: its events, which never change, the head that orders its writers, its projections, parked bytes and blobs.

There is no way down: a log is not made to be forgotten.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TEXT, INTEGER, BIG, BYTES = sa.String(), sa.Integer(), sa.BigInteger(), sa.LargeBinary()
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # so that it is SQLite's own row id


def upgrade() -> None:
    """Make everything, and the head of an empty log."""
    _events()
    _projections()
    _beside()
    if op.get_bind().dialect.name == "postgresql":
        _postgresql()
    else:
        _sqlite()
    start = "INSERT INTO head (id, pos, hash, time, epoch, vocabulary, code) VALUES (1, 0, :hash, 0, :epoch, 0, '')"
    op.execute(sa.text(start).bindparams(hash=bytes(32), epoch=uuid4().hex))


def _columns(of_type: sa.types.TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, of_type, nullable=False) for name in names]


def _events() -> None:
    op.create_table(
        "head",
        sa.Column("id", INTEGER, primary_key=True, autoincrement=False),
        *_columns(BIG, "pos"),
        *_columns(BYTES, "hash"),
        *_columns(BIG, "time"),
        *_columns(TEXT, "epoch"),
        *_columns(INTEGER, "vocabulary"),
        *_columns(TEXT, "code"),
    )
    op.create_table(
        "events",
        sa.Column("pos", ROW_ID, primary_key=True, autoincrement=False),
        *_columns(TEXT, "loop"),
        *_columns(INTEGER, "version"),
        *_columns(TEXT, "key", "type"),
        *_columns(INTEGER, "schema"),
        *_columns(BIG, "time"),
        *_columns(TEXT, "source", "actor"),
        sa.Column("cause", BIG),
        *_columns(TEXT, "policy"),
        *_columns(BYTES, "data", "hash"),
        sa.UniqueConstraint("loop", "version", name="events_version"),
        sa.UniqueConstraint("loop", "key", name="events_key"),
    )


def _projections() -> None:
    op.create_table(
        "loops",
        sa.Column("loop", TEXT, primary_key=True),
        *_columns(INTEGER, "version"),
        *_columns(BIG, "pos"),
        *_columns(TEXT, "kind"),
        sa.Column("repo", BIG),
        sa.Column("number", BIG),
        *_columns(TEXT, "full_name", "title", "url", "status"),
        *_columns(INTEGER, "n", "used"),
        *_columns(sa.Boolean(), "human"),
        *_columns(TEXT, "blocked"),
        *_columns(BIG, "updated"),
        *_columns(TEXT, "stuck"),
        *_columns(BYTES, "state"),
    )
    op.create_index("loops_status", "loops", ["status", "updated"])
    op.create_index("loops_updated", "loops", ["updated"])
    op.create_index("loops_name", "loops", [sa.text("lower(full_name)"), "number"])
    for column in ("blocked", "stuck"):
        some = sa.text(f"{column} != ''")
        op.create_index(f"loops_{column}", "loops", ["loop"], sqlite_where=some, postgresql_where=some)
    op.create_table(
        "timers",
        sa.Column("loop", TEXT, primary_key=True),
        sa.Column("name", TEXT, primary_key=True),
        *_columns(BIG, "generation", "due"),
        *_columns(sa.Boolean(), "deadline"),
    )
    op.create_index("timers_due", "timers", ["due"])
    op.create_table(
        "outstanding",
        sa.Column("pos", ROW_ID, primary_key=True, autoincrement=False),
        *_columns(TEXT, "loop", "service"),
        *_columns(BIG, "due"),
    )
    op.create_index("outstanding_loop", "outstanding", ["loop"])
    op.create_index("outstanding_service", "outstanding", ["service", "pos"])
    op.create_table(
        "claims",
        sa.Column("loop", TEXT, primary_key=True),
        sa.Column("n", INTEGER, primary_key=True, autoincrement=False),
        sa.Column("k", INTEGER, primary_key=True, autoincrement=False),
        *_columns(TEXT, "holder", "run"),
        *_columns(INTEGER, "day"),
        *_columns(sa.Boolean(), "live"),
        *_columns(BIG, "usd_micro"),
    )
    op.create_index("claims_live", "claims", ["live"])
    op.create_index("claims_day", "claims", ["day"])


def _beside() -> None:
    op.create_table(
        "parked",
        sa.Column("id", ROW_ID, sa.Identity(), primary_key=True),
        *_columns(BIG, "time", "last"),
        *_columns(INTEGER, "times"),
        *_columns(TEXT, "service", "subject", "reason", "detail", "sha"),
        *_columns(BIG, "size"),
        *_columns(BYTES, "data"),
        sa.UniqueConstraint("service", "sha", name="parked_bytes"),
    )
    op.create_table("blobs", sa.Column("sha", TEXT, primary_key=True), *_columns(BIG, "size"))
    op.create_table(
        "blob_chunks",
        sa.Column("sha", TEXT, primary_key=True),
        sa.Column("n", INTEGER, primary_key=True, autoincrement=False),
        *_columns(BYTES, "data"),
    )


def _sqlite() -> None:
    for table in ("events", "blobs"):
        for what in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_never_{what.lower()} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} never change'); END"
            )
    for what, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD")):
        finished = f"EXISTS (SELECT 1 FROM blobs WHERE sha = {row}.sha)"  # noqa: S608 - the words are these
        op.execute(
            f"CREATE TRIGGER blob_chunks_never_{what.lower()} BEFORE {what} ON blob_chunks WHEN {finished} "
            "BEGIN SELECT RAISE(ABORT, 'finished blobs never change'); END"
        )


def _postgresql() -> None:
    op.execute("""
        CREATE FUNCTION never_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% never change', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
        END $$""")
    op.execute("""
        CREATE FUNCTION never_change_finished() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM blobs WHERE sha = coalesce(OLD.sha, NEW.sha)) THEN
                RAISE EXCEPTION 'finished blobs never change' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN coalesce(NEW, OLD);
        END $$""")
    for table in ("events", "blobs"):
        op.execute(
            f"CREATE TRIGGER {table}_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION never_change()"
        )
    op.execute(
        "CREATE TRIGGER blob_chunks_never_change BEFORE INSERT OR UPDATE OR DELETE ON blob_chunks "
        "FOR EACH ROW EXECUTE FUNCTION never_change_finished()"
    )
    op.execute(
        "CREATE TRIGGER blob_chunks_never_truncate BEFORE TRUNCATE ON blob_chunks "
        "FOR EACH STATEMENT EXECUTE FUNCTION never_change()"
    )
