"""The triggers that keep events and blobs as they are: whether they are still there."""

from __future__ import annotations

from sqlalchemy import Connection, text

_GUARDS = {
    "sqlite": [
        *("events_never_update", "events_never_delete", "blobs_never_update", "blobs_never_delete"),
        *("blob_chunks_never_insert", "blob_chunks_never_update", "blob_chunks_never_delete"),
    ],
    "postgresql": [
        *("events_never_change", "blobs_never_change", "blob_chunks_never_change", "blob_chunks_never_truncate"),
    ],
}
_STANDING = {
    "sqlite": text("SELECT name FROM sqlite_master WHERE type = 'trigger'"),
    "postgresql": text("SELECT tgname FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND pg_table_is_visible(tgrelid)"),
}


def unguarded(connection: Connection) -> list[str]:
    """The triggers that are missing or switched off."""
    standing = set(connection.execute(_STANDING[connection.dialect.name]).scalars())
    return [name for name in _GUARDS[connection.dialect.name] if name not in standing]
