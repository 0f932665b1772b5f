"""What amends needs of this machine, and of the model: looked at for `amends doctor` and `amends init`."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from amends.cli.checks import Check

if TYPE_CHECKING:
    from amends.common.settings import Settings

_OLDEST = (2, 38)  # the first that takes the settings which we give it
# Where the holes of July 2025 are closed; distributions close them in versions of their own.
_MENDED = ((2, 43, 7), (2, 44, 4), (2, 45, 4), (2, 46, 4), (2, 47, 3), (2, 48, 2), (2, 49, 1), (2, 50, 1))
_SCARCE, _LEAST = 2 * 1024**3, 256 * 1024**2


def machine(known: Settings) -> Iterator[Check]:
    """Git, the sandbox, the user, the disk and what we keep on it."""
    yield git()
    yield sandbox(known)
    if known.agent.command:
        yield command(known)
    if os.geteuid() == 0:
        remedy = "run the fixer as a user of its own: the kernel does not count the processes of root"
        yield Check("user", "warn", "this is root", remedy)
    yield disk(known.data_dir)
    yield from kept(known)


def git() -> Check:
    """Its version."""
    from amends.common.git import GitMissing, version

    try:
        found = version()
    except GitMissing as error:
        what, _, remedy = str(error).partition(": ")
        return Check("git", "fail", what, remedy)
    said = ".".join(map(str, found))
    if found < _OLDEST:
        return Check("git", "fail", f"version {said or 'unknown'}", "install 2.38 or newer, better the newest")
    mended = any(one[:2] == found[:2] and one <= found for one in _MENDED) or found > _MENDED[-1]
    remedy = "2.50.1 closes holes that a repository can use; see that your distribution has closed them"
    return Check("git", "ok", f"version {said}") if mended else Check("git", "warn", f"version {said}", remedy)


def sandbox(known: Settings) -> Check:
    """Whether its walls hold."""
    from amends.fixer.sandbox import SandboxUnavailable
    from amends.fixer.walls import Walled

    try:
        asyncio.run(Walled(known.sandbox).prove())
    except SandboxUnavailable as error:
        found, _, remedy = str(error).rpartition(": ")
        return Check("sandbox", "warn", found, remedy)
    return Check("sandbox", "ok", "it holds: canaries stay")


def command(known: Settings) -> Check:
    """Whether the agent of the operator's is there inside, and has a model."""
    from amends.fixer.commanded import missing
    from amends.fixer.sandbox import SandboxUnavailable
    from amends.fixer.walls import Walled

    async def looked() -> str:
        walls = Walled(known.sandbox)
        await walls.tried()
        return await missing(known.agent.command, walls)

    name = known.agent.command[0]
    try:
        trouble = asyncio.run(looked())
    except SandboxUnavailable:
        return Check("agent", "warn", f"whether {name} is there cannot be seen", "without a sandbox it does not run")
    if trouble:
        found, _, remedy = trouble.partition(": install")
        return Check("agent", "warn", found, f"install{remedy}")
    if not known.model.known:
        return Check("agent", "warn", f"{name} has no model", "set model.api_key: the broker adds it outside")
    return Check("agent", "ok", f"{name} is there inside the sandbox")


def disk(folder: Path) -> Check:
    """The room for the log, the mirror and workspaces."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    free = shutil.disk_usage(there).free
    found, remedy = f"{free / 1e9:.1f} GB free for {folder}", "make room: a full disk stops the mirror and every fix"
    if not os.access(there, os.W_OK):
        return Check("disk", "fail", f"{there} cannot be written", "give it to this user, or set data_dir")
    return (
        Check("disk", "fail" if free < _LEAST else "warn", found, remedy)
        if free < _SCARCE
        else (Check("disk", "ok", found))
    )


def kept(known: Settings) -> Iterator[Check]:
    """What fixer and publisher keep on this machine, beside what they may."""
    from amends.common.git.repositories import size_of
    from amends.common.git.tidying import MEGABYTE

    fixing = known.fixer.directory or known.data_dir / "fixer"
    ours = {
        "workspaces": ((fixing / "workspaces", fixing / "base"), known.fixer.disk_mb, "fixer.disk_mb"),
        "copies": ((fixing / "repositories",), known.fixer.disk_mb, "fixer.disk_mb"),
        "publisher": ((known.publisher.folder or known.data_dir / "publisher",), known.publisher.disk_mb,
                      "publisher.disk_mb"),
    }  # fmt: skip
    for name, (folders, most, setting) in ours.items():
        size = sum(map(size_of, folders)) / MEGABYTE
        aside = sum(size_of(folder / ".aside") for folder in folders) / MEGABYTE
        waiting = f", of which {aside:.1f} MB was set aside for a human" if aside else ""
        found = f"{size:.1f} MB of {most} ({setting}){waiting}"
        remedy = "it is tidied by itself; what was set aside for a human is not: look at it, and remove it"
        yield Check(f"{name}", "warn", found, remedy) if size > most else Check(f"{name}", "ok", found)


def model(known: Settings) -> Check:
    """Whether it takes our key, and knows the model's name."""
    if not known.model.known:
        remedy = "set model.api_key_file, or AMENDS_MODEL_API_KEY"
        return Check("model", "warn", "there is no key: only suggestions are applied", remedy)
    from amends.common.explain.reasons import FAILURES
    from amends.fixer.dialogue import TurnFailed

    try:
        asyncio.run(_greeted(known))
    except TurnFailed as error:
        reason = FAILURES[error.reason]
        return Check("model", "fail", f"{reason.means}: {error}", reason.remedy)
    return Check("model", "ok", f"{known.model.name} at {known.model.base_url} takes the key")


async def _greeted(known: Settings) -> None:
    from amends.fixer.model import Claude

    async with Claude(
        known.model.model_copy(update={"silence_seconds": min(15.0, known.model.silence_seconds)})
    ) as one:
        await one.greet()


# --- what runs elsewhere --------------------------------------------------------------------------------------------


def postgres(known: Settings) -> Iterator[Check]:
    """Whether the database of one's own can be reached, and what it holds."""
    from amends.common.log import LogUnreachable
    from amends.common.log.engine import database, named, schema_version

    try:
        where = database(known.database)
        if where.get_backend_name() == "sqlite":
            return
        version = schema_version(where)
    except LogUnreachable as error:
        found, _, remedy = str(error).rpartition(": ")
        yield Check("database", "fail", found, remedy)
        return
    yield Check("database", "ok", f"{named(where)} {'is empty' if version is None else 'holds a log'}")


def nats(known: Settings) -> Iterator[Check]:
    """Whether the nats-server of one's own can be reached."""
    if not known.nats_url:
        return
    try:
        asyncio.run(_connected(known))
    except (OSError, TimeoutError) as error:
        said = str(error) or "no answer"
        yield Check(
            "nats",
            "fail",
            f"{known.nats_url} cannot be reached ({said})",
            "see nats_url, and nats_users_file or nats_user",
        )
        return
    yield Check("nats", "ok", f"{known.nats_url} lets us in")


async def _connected(known: Settings) -> None:
    from amends.cli.place import named_in
    from amends.common.bus.link import Link

    address = known.nats_as("evaluator")
    link = Link(address, named_in(address, "evaluator"))
    try:
        async with asyncio.timeout(known.answer_seconds):
            await link.open()
    finally:
        await link.close()
