"""`amends migrate`: the log's schema. And the end of a restored log, which the mirror still has."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, talk
from amends.cli.place import Negative, NotReachable, Wrong, named_in, placed, settings

if TYPE_CHECKING:
    from amends.common.bus.link import Link
    from amends.common.settings import Settings
    from amends.evaluator.restore import Imported


@click.command(
    short_help="Bring the database to this version's schema.",
    epilog=examples(
        "amends migrate",
        "amends migrate --database postgresql://owner@db/amends --recorder-role recorder --reader-role reader",
    ),
)
@click.option("--recorder-role", metavar="ROLE", help="PostgreSQL role of the evaluator: it may append events.")
@click.option("--reader-role", metavar="ROLE", help="PostgreSQL role of everybody else: it may read.")
@placed("data_dir", "database")
@formatted
def migrate(recorder_role: str | None, reader_role: str | None) -> None:
    """Bring the log's database to this version's schema; `amends up` does it by itself.

    With both roles, PostgreSQL gives each what it needs and nothing else. The roles must exist.
    """
    from amends.common.log import LogUnreachable
    from amends.evaluator.migrate import grant
    from amends.evaluator.migrate import migrate as bring

    if (recorder_role is None) != (reader_role is None):
        raise Wrong("--recorder-role and --reader-role go together")
    known = settings()
    if recorder_role and not known.database.startswith("postgres"):
        raise Wrong("only PostgreSQL has roles: a SQLite log is guarded by its file's permissions")
    try:
        changed = bring(known.database)
        if recorder_role and reader_role:
            grant(known.database, recorder_role, reader_role)
    except LogUnreachable as error:
        raise NotReachable(str(error)) from error
    if as_json():
        say_json({"migrated": changed, "granted": bool(recorder_role)})
    else:
        say("the log has this version's schema now" if changed else "there was nothing to do")


@click.command(
    "nats-users",
    short_help="Make the users of a nats-server of your own.",
    epilog=examples("amends nats-users users > nats.conf && nats-server -js -c nats.conf"),
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def nats_users(file: Path) -> None:
    """Make a user with a password for each service, and print what nats-server has to know of them.

    FILE gets the passwords, for nobody else to read: set nats_users_file to it. One that is there is kept. What is
    printed is a configuration for nats-server's -c, which holds each user to what its service needs and nothing else.
    """
    from secrets import token_urlsafe

    from amends.common.bus.embedded import write_private
    from amends.common.bus.users import configuration
    from amends.common.events import EVERYONE
    from amends.common.settings import Settings

    if not file.exists():
        write_private(file, "".join(f"{user}:{token_urlsafe(24)}\n" for user in EVERYONE))
    known = Settings(nats_users_file=file).nats_users
    if lacking := [user for user in EVERYONE if user not in known]:
        raise Negative(f"{file} has no password for {', '.join(lacking)}: add a line user:password for each")
    say(configuration({user: known[user] for user in EVERYONE}).rstrip())


def bring_in_the_tail(known: Settings) -> None:
    """After a restore from a backup: what was recorded since then, from the mirror."""
    import asyncio

    from amends.common.bus.embedded import NotStarted
    from amends.common.log import LogUnreachable
    from amends.common.owned import InUse
    from amends.evaluator.tail import NoTailError

    try:
        result = asyncio.run(_imported(known))
    except (InUse, NoTailError) as error:
        raise Negative(str(error)) from error
    except (LogUnreachable, NotStarted, OSError, TimeoutError) as error:
        raise NotReachable(str(error) or "NATS does not answer: say where it is with --nats") from error
    if as_json():
        say_json({"imported": result.events, "pos": result.pos, "missing_blobs": sorted(result.missing)})
    else:
        say(f"{result.events} events brought in; the log ends at position {result.pos} now")
    for sha in sorted(result.missing):
        talk(f"blob {sha} is not in the restored database: what names it cannot be read")


async def _imported(known: Settings) -> Imported:
    from amends.common.bus.embedded import EmbeddedServer
    from amends.common.owned import owned

    async with AsyncExitStack() as stack:
        if known.nats_url:
            return await _from(known.nats_as("evaluator"), known)
        stack.enter_context(owned(known.data_dir))
        server = await stack.enter_async_context(EmbeddedServer(known.data_dir / "nats"))
        return await _from(server.url("evaluator"), known)


async def _from(address: str, known: Settings) -> Imported:
    import asyncio

    from amends.common.bus.link import Link
    from amends.common.bus.mirror import Mirror
    from amends.common.log import Log
    from amends.evaluator.restore import import_tail
    from amends.evaluator.writer import Writer

    async with AsyncExitStack() as stack:
        link = Link(address, named_in(address, "evaluator"))
        stack.push_async_callback(link.close)
        async with asyncio.timeout(known.answer_seconds):
            await link.open()
        await _alone(link, known.answer_seconds)
        log, writer = (
            stack.enter_context(closing(Log(known.database))),
            stack.enter_context(closing(Writer(known.database))),
        )
        return await import_tail(log, writer, Mirror(link))


async def _alone(link: Link, seconds: float) -> None:
    """Only that nobody serves the question means that nobody is at work: one that hangs does not answer either."""
    from amends.common.bus.link import Unanswered, Unserved
    from amends.common.bus.wire import MayAsked
    from amends.evaluator.tail import NoTailError

    try:
        await link.request("ask.may", MayAsked(pos=0).model_dump_json().encode(), seconds=seconds)
    except Unserved:
        return
    except Unanswered as unanswered:
        raise NoTailError(f"whether an evaluator is at work on this NATS is not known: {unanswered}") from unanswered
    raise NoTailError("an evaluator is at work on this NATS: stop it first")
