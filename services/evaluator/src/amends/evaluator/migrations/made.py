"""A new log in SQLite at once, from what all revisions together make: alembic takes a quarter of a second to load."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Connection

FILE = Path(__file__).with_name("made.json")  # a test holds it to the revisions


def make(connection: Connection, head: str) -> bool:
    """Make everything, in the transaction that has begun, if this is SQLite and nothing is there; whether it was."""
    if connection.dialect.name != "sqlite" or schema(connection):
        return False
    for statement in json.loads(FILE.read_text(encoding="utf-8")):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (head,))
    start = "INSERT INTO head (id, pos, hash, time, epoch, vocabulary, code) VALUES (1, 0, ?, 0, ?, 0, '')"
    connection.exec_driver_sql(start, (bytes(32), uuid4().hex))
    return True


def schema(connection: Connection) -> list[str]:
    """The statements that the database was made with."""
    return list(connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql != '' ORDER BY rowid").scalars())
