"""`amends backup` and `amends restore`: the log in a file, back out of it, and its end from the mirror."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, talk
from amends.cli.place import Negative, NotReachable, Wrong, placed, settings

if TYPE_CHECKING:
    from amends.common.settings import Settings
    from amends.evaluator.audit import Audit

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    short_help="Write the log into a file, while it runs.",
    epilog=examples("amends backup log.db", "amends backup --database postgresql://reader@db/amends log.db"),
)
@click.argument("file", type=_FILE)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@placed("data_dir", "database")
@formatted
def backup(file: Path, *, force: bool) -> None:
    """Write the log as it is at this moment into FILE: events, blobs and views. Amends may go on running.

    FILE is a SQLite log, also of a log in PostgreSQL: `amends events tail --database sqlite:///FILE` reads it.
    It is there only after all of it was read again: each row against the one before it, and each blob against its name.
    Settings, secrets and the mirror are not in it; the mirror is made again.
    """
    from amends.common.log import LogUnreachable
    from amends.common.owned import InUse
    from amends.evaluator.backup import NoPlace, NotCopied, Unsound, back_up

    if file.exists() and not force:
        raise Negative(f"{file} is there already: give another name, or --force")
    try:
        found = back_up(settings().database, file)
    except Unsound as error:
        raise Negative(
            f"the copy is not sound, and is left as {file}.new: {error}; see `amends doctor --log`"
        ) from error
    except LogUnreachable as error:
        raise NotReachable(str(error)) from error
    except InUse as error:
        raise Negative(str(error)) from error
    except NoPlace as error:
        raise Wrong(f"{file} cannot be written, {error}: give another name") from error
    except NotCopied as error:
        raise Negative(f"{file} cannot be written: {error}") from error
    except OSError as error:
        raise Negative(f"{file} cannot be written: {error.strerror or error}") from error
    _tell("written", file, found)


def _tell(what: str, file: Path, found: Audit) -> None:
    if as_json():
        said = {"file": str(file), "bytes": file.stat().st_size, "events": found.events, "blobs": found.blobs}
        say_json({what: True, **said, "digest": found.digest})
        return
    say(f"{file} is {what} and sound: {found.events} events, {found.loops} loops, {found.blobs} blobs")


@click.command(
    short_help="Put a backup in place; bring in what came after it.",
    epilog=examples("amends restore log.db", "amends restore --import-tail", "amends restore log.db --import-tail"),
)
@click.argument("file", type=_FILE, required=False)
@click.option("--import-tail", is_flag=True, help="Bring in the events that only the mirror still has.")
@placed("data_dir", "database", "nats_url")
@formatted
def restore(file: Path | None, *, import_tail: bool) -> None:
    """Make FILE, written by `amends backup`, the log; in SQLite or PostgreSQL, wherever it came from.

    Stop amends first. A log that holds anything is never written over: move it away, or give another --database.
    FILE is read whole and believed only if it is sound.

    An evaluator that finds its mirror ahead of its log stops by itself. --import-tail then brings in what was recorded
    after the backup: each event is checked against the one before it; nothing is changed unless all fit.
    """
    if file is None and not import_tail:
        raise Wrong("say which backup FILE, or --import-tail, or both")
    known = settings()
    if file is not None:
        _put_back(file, known)
    if import_tail:
        from amends.cli.upkeep import bring_in_the_tail

        bring_in_the_tail(known)
    else:
        talk("If NATS has newer events, `amends up` stops and says so: then `amends restore --import-tail`.")


def _put_back(file: Path, known: Settings) -> None:
    from amends.common.log import LogUnreachable
    from amends.common.log.engine import database, named
    from amends.common.owned import InUse, owned
    from amends.evaluator.backup import NotCopied, Unsound, put_back
    from amends.evaluator.writer import NotEmpty

    try:
        with owned(known.data_dir):
            found = put_back(file, known.database)
    except NotEmpty as error:
        where = named(database(known.database))
        raise Negative(f"{where} holds a log already, which is not written over: move it away first") from error
    except Unsound as error:
        raise Negative(f"{file} is not sound, and nothing was changed: {error}") from error
    except NotCopied as error:
        raise Negative(f"{file} cannot be put back, and nothing was changed: {error}") from error
    except InUse as error:
        raise Negative(str(error)) from error
    except LogUnreachable as error:
        raise NotReachable(str(error)) from error
    _tell("restored", file, found)
