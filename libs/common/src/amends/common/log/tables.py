"""The tables of the log. Data are bytes, never JSON types: what was hashed is what is kept. Times are microseconds.

`events`, `blobs` and the `blob_chunks` of a finished blob never change (triggers, in the evaluator's migrations).
`head` is the one row that orders writers. `loops`, `timers`, `outstanding` and `claims` are projections: folding the
events builds them again. `parked` is a letter box for humans; `puts` are the blobs that are not finished yet.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

METADATA = sa.MetaData()
CHUNK = 256 * 1024  # the most bytes in one row of a blob: what fits one message on the bus

head = Table(
    "head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("pos", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("epoch", String, nullable=False),
    Column("vocabulary", Integer, nullable=False),
    Column("code", String, nullable=False),
)

events = Table(
    "events",
    METADATA,
    # INTEGER makes it SQLite's own row id: one tree instead of two.
    Column("pos", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("loop", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("key", String, nullable=False),
    Column("type", String, nullable=False),
    Column("schema", Integer, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("source", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("cause", BigInteger),
    Column("policy", String, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    UniqueConstraint("loop", "version", name="events_version"),
    UniqueConstraint("loop", "key", name="events_key"),
)

loops = Table(
    "loops",
    METADATA,
    Column("loop", String, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("pos", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("repo", BigInteger),
    Column("number", BigInteger),
    Column("full_name", String, nullable=False),
    Column("title", String, nullable=False),
    Column("url", String, nullable=False),
    Column("status", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Column("human", Boolean, nullable=False),
    Column("blocked", String, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("stuck", String, nullable=False),
    Column("folded", Integer, nullable=False, server_default="0"),
    Column("state", LargeBinary, nullable=False),
)
# No index has what changes with every event: it would be one more page to write, and for one of very many loops two.
# Who asks for the latest has all rows read for it, a quarter of a millisecond for a thousand.
Index("loops_name", sa.func.lower(loops.c.full_name), loops.c.number)
# The few that the evaluator's clock asks for every second; a condition has to be spelled like this to use its index.
NOTHING: sa.ColumnElement[str] = sa.literal_column("''")
BLOCKED = loops.c.blocked != NOTHING
STUCK = loops.c.stuck != NOTHING
# In PostgreSQL they are the same; to say so here would have everybody load what SQLAlchemy knows of PostgreSQL.
Index("loops_blocked", loops.c.loop, sqlite_where=BLOCKED)
Index("loops_stuck", loops.c.loop, sqlite_where=STUCK)

timers = Table(
    "timers",
    METADATA,
    Column("loop", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("generation", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("deadline", Boolean, nullable=False),
    sqlite_with_rowid=False,  # one tree instead of two
)
Index("timers_due", timers.c.due)

outstanding = Table(
    "outstanding",
    METADATA,
    Column("pos", BigInteger, nullable=False),
    Column("loop", String, nullable=False),
    Column("service", String, nullable=False),
    Column("due", BigInteger, nullable=False),
    PrimaryKeyConstraint("loop", "pos"),
    sqlite_with_rowid=False,
)

claims = Table(
    "claims",
    METADATA,
    Column("loop", String, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("k", Integer, primary_key=True, autoincrement=False),
    Column("holder", String, nullable=False),
    Column("run", String, nullable=False),
    Column("day", Integer, nullable=False),
    Column("live", Boolean, nullable=False),
    Column("usd_micro", BigInteger, nullable=False),
)
Index("claims_live", claims.c.live)
Index("claims_day", claims.c.day, claims.c.usd_micro)  # the sum of a day without looking into its rows

parked = Table(
    "parked",
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), sa.Identity(), primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("times", Integer, nullable=False),
    Column("service", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("detail", String, nullable=False),
    Column("sha", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    UniqueConstraint("service", "sha", name="parked_bytes"),
)

blobs = Table(
    "blobs",
    METADATA,
    Column("sha", String, primary_key=True),
    Column("size", BigInteger, nullable=False),
)

blob_chunks = Table(
    "blob_chunks",
    METADATA,
    Column("sha", String, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

puts = Table(
    "puts",
    METADATA,
    Column("sha", String, primary_key=True),
    Column("time", BigInteger, nullable=False),
)
