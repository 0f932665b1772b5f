"""Migrations: from nothing to the head, once, whole, and the same on both databases as the tables in the code."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import errors
from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError

from amends.common.envelope import GENESIS
from amends.common.log import Log, LogUnreachable, OutstandingRow, TimerRow
from amends.common.log.engine import database, sqlite_file, writing
from amends.common.log.tables import METADATA
from amends.evaluator import migrate as module
from amends.evaluator.migrate import HEAD, at_head, grant, migrate
from amends.evaluator.migrations.made import FILE, schema
from amends.evaluator.migrations.upgrade import upgrade
from amends.evaluator.writer import Writer, pour
from tests.support.logs import record
from tests.support.postgres import Server, name_of

LATEST = f"UPDATE alembic_version SET version_num = '{HEAD}'"  # noqa: S608 - our own number
MIGRATE = "import sys; from amends.evaluator.migrate import migrate; migrate(sys.argv[1])"


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = writing(database(url))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def head_of(url: str) -> tuple[int, bytes, str]:
    log = Log(url)
    head = log.head()
    log.close()
    return head.pos, head.hash, head.epoch


def test_the_program_knows_its_own_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(module.__file__).with_name("migrations")))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_a_database_is_migrated_once(empty_url: str) -> None:
    assert not at_head(empty_url)
    assert migrate(empty_url)
    assert at_head(empty_url)
    epoch = head_of(empty_url)[2]
    assert not migrate(empty_url)
    assert head_of(empty_url) == (0, GENESIS, epoch)


@pytest.mark.filterwarnings("ignore:.*expression-based index")
def test_the_migrations_make_the_tables_of_the_code(database_url: str) -> None:
    with connected(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_a_log_that_is_made_at_once_is_what_the_revisions_make(tmp_path: Path) -> None:
    engine = writing(database(f"sqlite:///{tmp_path}/log.db"), create=True)
    with engine.begin() as connection:
        upgrade(connection)
        statements, [row] = schema(connection), connection.exec_driver_sql("SELECT * FROM head").all()
    engine.dispose()
    if os.environ.get("AMENDS_SNAPSHOTS") == "write":
        FILE.write_text(json.dumps(statements, indent=2) + "\n", encoding="utf-8")
    migrate(f"sqlite:///{tmp_path}/other.db")
    with connected(f"sqlite:///{tmp_path}/other.db") as connection:
        assert schema(connection) == statements, "AMENDS_SNAPSHOTS=write writes it anew"
        [other] = connection.exec_driver_sql("SELECT * FROM head").all()
    assert [*row[:4], len(row[4]), *row[5:]] == [*other[:4], len(other[4]), *other[5:]]


def test_a_new_log_in_sqlite_needs_no_alembic(tmp_path: Path) -> None:
    script = f"{MIGRATE}; print('alembic' in sys.modules)"
    new = f"sqlite:///{tmp_path}/log.db"
    ran = subprocess.run([sys.executable, "-c", script, new], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"


OLDER = [
    "INSERT INTO loops VALUES ('7-pr-1', 3, 9, 'change', 7, 1, 'o/r', '', '', 'fixing', 1, 0, false, '', 5, '', '')",
    "INSERT INTO timers VALUES ('7-pr-1', 'claim/1/1', 3, 11, true)",
    "INSERT INTO outstanding VALUES (9, '7-pr-1', 'fixer', 12)",
]


def test_an_older_log_is_brought_to_the_head_with_all_that_it_holds(empty_url: str) -> None:
    if file := sqlite_file(database(empty_url)):
        file.parent.mkdir()
    engine = writing(database(empty_url), create=True)
    with engine.begin() as connection:
        upgrade(connection, "0001")
        for statement in OLDER:
            connection.exec_driver_sql(statement)
    engine.dispose()
    assert (at_head(empty_url), migrate(empty_url), at_head(empty_url)) == (False, True, True)
    with closing(Log(empty_url)) as log:
        assert [(row.loop, row.version, row.folded) for row in log.loops()] == [("7-pr-1", 3, 3)]
        assert log.timers() == [TimerRow("7-pr-1", "claim/1/1", 3, 11, deadline=True)]
        assert log.outstanding() == [OutstandingRow(9, "7-pr-1", "fixer", 12)]
    with connected(empty_url) as connection:
        assert {"puts", "outstanding"} < set(inspect(connection).get_table_names())
        assert [index["name"] for index in inspect(connection).get_indexes("timers")] == ["timers_due"]


def test_being_at_the_head_needs_no_alembic(sqlite_url: str) -> None:
    script = f"{MIGRATE}; print('alembic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script, sqlite_url], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    with connected(database_url) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LogUnreachable, match="upgrade amends"):
        migrate(database_url)
    with connected(database_url) as connection:
        connection.exec_driver_sql(LATEST)


def test_several_migrators_at_once_make_one_log(empty_url: str) -> None:
    command = [sys.executable, "-W", "error", "-c", MIGRATE, empty_url]
    started = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    assert head_of(empty_url)[0] == 0


# Dies after so many statements, wherever that is.
DIE = """
import os, sys
from sqlalchemy import Engine, event
from amends.evaluator.migrate import migrate
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if not left:
        os._exit(9)
event.listen(Engine, "after_cursor_execute", count)
migrate(sys.argv[1])
"""


def test_a_migration_killed_in_the_middle_leaves_nothing(empty_url: str) -> None:
    killed = subprocess.run([sys.executable, "-c", DIE, empty_url, "26"], check=False)
    assert (killed.returncode, at_head(empty_url)) == (9, False)
    with connected(empty_url) as connection:
        assert MigrationContext.configure(connection).get_current_revision() is None
        assert inspect(connection).get_table_names() == []
    assert migrate(empty_url)


# --- encodings -------------------------------------------------------------------------------------------------------


@pytest.mark.connected
@pytest.mark.parametrize(("encoding", "preferred"), [("SQL_ASCII", "SQL_ASCII"), ("UTF8", "LATIN1")])
def test_every_letter_is_kept_whatever_the_database_prefers(postgres: Server, encoding: str, preferred: str) -> None:
    url = postgres.database("template0", encoding)
    postgres.run(f"ALTER DATABASE {name_of(url)} SET client_encoding = '{preferred}'")
    migrate(url)
    with closing(Writer(url)) as writer, closing(Log(url)) as log:
        writer.park("gateway", "malformed", b"{", "\u5e97\N{HAMMER}")
        assert log.parked()[0].detail == "\u5e97\N{HAMMER}"


@pytest.mark.connected
def test_a_database_that_lacks_letters_is_refused(postgres: Server) -> None:
    with pytest.raises(LogUnreachable, match="LATIN1 only: make it anew with ENCODING 'UTF8'"):
        migrate(postgres.database("template0", "LATIN1"))


# --- roles -----------------------------------------------------------------------------------------------------------


RECORDER, READER = "amends-recorder", "amends-reader"


@pytest.fixture(scope="module")
def shared(postgres: Server) -> Iterator[str]:
    """The address of its owner's log, in which both roles have what they need."""
    url = postgres.database()
    migrate(url)
    for role in (RECORDER, READER):
        postgres.run(f'CREATE ROLE "{role}" LOGIN')
    grant(url, RECORDER, READER)
    grant(url, RECORDER, READER)
    yield url
    postgres.drop(url)
    for role in (RECORDER, READER):
        postgres.run(f'DROP ROLE "{role}"')


def of(role: str, url: str) -> str:
    return database(url).update_query_dict({"options": f"-crole={role}"}).render_as_string(hide_password=False)


def execute(url: str, statement: str) -> None:
    with connected(url) as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.connected
def test_the_recorders_role_can_do_all_that_a_writer_does(shared: str) -> None:
    writer, log = Writer(of(RECORDER, shared)), Log(of(READER, shared))
    rows = record(writer, f"a/{log.head().pos}")
    with writer.transaction() as tx:
        tx.save(timers={"7-pr-1": []}, outstanding={"7-pr-1": []})
    assert writer.unpark(writer.park("gateway", "malformed", b"{"))
    assert log.blob(writer.put_blob(b"content")) == b"content"
    assert log.rows(rows[0].pos - 1) == rows
    writer.close()
    log.close()


NEVER = [
    "UPDATE events SET actor = 'x'",
    "DELETE FROM events",
    "TRUNCATE events",
    "DELETE FROM blobs",
    "TRUNCATE blobs",
]
NOT_BY_RECORDER = ["ALTER TABLE events DISABLE TRIGGER USER", "DROP TABLE events", "TRUNCATE head", "CREATE TABLE x ()"]
NOT_BY_READER = [
    "UPDATE head SET pos = 7",
    "DELETE FROM timers",
    "INSERT INTO blobs VALUES ('x', 1)",
    "DELETE FROM parked",
]


@pytest.mark.connected
def test_a_role_that_may_not_migrate_is_told_who_may(shared: str, postgres: Server) -> None:
    with pytest.raises(LogUnreachable, match=r"permission denied.*its owner may"):
        migrate(of(RECORDER, postgres.database()))


@pytest.mark.connected
def test_a_role_that_does_not_exist_is_named(shared: str) -> None:
    with pytest.raises(LogUnreachable, match="there is no role nobody"):
        grant(shared, RECORDER, "nobody")


@pytest.mark.connected
def test_a_backup_that_may_not_read_all_names_the_log_and_not_the_file(postgres: Server, tmp_path: Path) -> None:
    url, copy = postgres.database(), f"sqlite:///{tmp_path}/log.db"
    migrate(url)
    migrate(copy)
    execute(url, "DROP TABLE puts")
    with pytest.raises(LogUnreachable, match=name_of(url)):
        pour(url, copy)


@pytest.mark.connected
@pytest.mark.parametrize("statement", NEVER)
def test_nobody_changes_what_is_recorded_not_even_the_owner(shared: str, statement: str) -> None:
    for url in (shared, of(RECORDER, shared), of(READER, shared)):
        with pytest.raises(DBAPIError, match=r"never change|permission denied"):
            execute(url, statement)


@pytest.mark.connected
@pytest.mark.parametrize(
    ("role", "statement"),
    [*((RECORDER, statement) for statement in NOT_BY_RECORDER), *((READER, statement) for statement in NOT_BY_READER)],
)
def test_a_role_does_no_more_than_it_needs(shared: str, role: str, statement: str) -> None:
    with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
        execute(of(role, shared), statement)


@pytest.mark.connected
def test_the_readers_role_appends_nothing(shared: str) -> None:
    reader = Writer(of(READER, shared))
    with pytest.raises(errors.InsufficientPrivilege):
        record(reader, "a")
    reader.close()


@pytest.mark.connected
def test_the_readers_role_is_enough_for_a_backup(shared: str, tmp_path: Path) -> None:
    copy = f"sqlite:///{tmp_path}/log.db"
    migrate(copy)
    pour(of(READER, shared), copy)
    whole, poured = Log(shared), Log(copy)
    assert (poured.head(), poured.rows(0)) == (whole.head(), whole.rows(0))
    whole.close()
    poured.close()
