"""Brings a database to this program's schema, and gives the roles of PostgreSQL what they need and nothing else."""

from __future__ import annotations

from amends.common.log.engine import LogUnreachable, database, named, said, schema_version, sqlite_file, writing
from amends.evaluator.migrations.made import make

HEAD = "0004"
_LOCK = 0x616D656E6473  # any number, as long as all migrators take the same
_HISTORY = ("events", "blobs")
_WORKING = ("head", "loops", "timers", "outstanding", "claims", "parked", "blob_chunks", "puts")
_ALL = ", ".join((*_HISTORY, *_WORKING, "alembic_version"))


def at_head(url: str) -> bool:
    """Whether the database has this program's schema; one query."""
    return schema_version(database(url)) == HEAD


def migrate(url: str) -> bool:
    """Bring the database to this program's schema, whole or not at all; whether there was anything to do.

    Several may try at once: the others wait and then find nothing to do.
    """
    where = database(url)
    version = schema_version(where)
    if version == HEAD:
        return False
    if version is not None and version > HEAD:
        raise LogUnreachable(f"{named(where)} has schema {version}, newer than this program's {HEAD}: upgrade amends")
    if file := sqlite_file(where):
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
    engine = writing(where, create=True)
    try:
        with said(where), engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                _check(connection.exec_driver_sql("SHOW server_encoding").scalar_one())
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            if make(connection, HEAD):
                return True
            from amends.evaluator.migrations.upgrade import upgrade  # noqa: PLC0415 - only now: see there

            upgrade(connection)
    finally:
        engine.dispose()
    return True


def _check(encoding: str) -> None:
    """PostgreSQL makes a database in the encoding of its server's locale, which is not always one for all letters."""
    if encoding not in {"UTF8", "SQL_ASCII"}:  # the latter keeps whatever it is given
        raise LogUnreachable(f"the database is for {encoding} only: make it anew with ENCODING 'UTF8'")


def grant(url: str, recorder: str, reader: str) -> None:
    """Let the recorder's role append events and keep projections, the readers' role read, and neither do more.

    For the owner of a PostgreSQL log, after `migrate`; the roles exist already.
    """
    where = database(url)
    engine = writing(where)
    quote = engine.dialect.identifier_preparer.quote_identifier
    try:
        with said(where), engine.begin() as connection:
            known = connection.exec_driver_sql("SELECT rolname FROM pg_roles").scalars().all()
            if unknown := sorted({recorder, reader}.difference(known)):
                raise LogUnreachable(f"there is no role {' and no role '.join(unknown)}: make it, then run this again")
            recorder, reader = quote(recorder), quote(reader)
            for statement in (
                f"REVOKE ALL ON {_ALL} FROM {recorder}, {reader}, PUBLIC",
                f"GRANT SELECT ON {_ALL} TO {recorder}, {reader}",
                f"GRANT INSERT ON {', '.join(_HISTORY)} TO {recorder}",
                f"GRANT INSERT, UPDATE, DELETE ON {', '.join(_WORKING)} TO {recorder}",
            ):
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()
