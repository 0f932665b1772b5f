"""Where the running amends is: its directory, its log, its bus. Options say so, or environment and amends.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import click

from amends.cli.output import shown

if TYPE_CHECKING:
    from amends.common.bus.link import Link
    from amends.common.bus.reporter import NatsRecorder
    from amends.common.events import Reporter
    from amends.common.log import Log
    from amends.common.settings import Settings

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Result = TypeVar("Result")
GIVEN = "amends.given"
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")

_HELP = {
    "data_dir": ("--data-dir", "DIR", "Directory of `amends up`: log, nats-server, addresses. [default: .amends]"),
    "database": ("--database", "URL", "The log: sqlite:///path or postgresql://... [default: in the data directory]"),
    "nats_url": ("--nats", "URL", "NATS of the evaluator. [default: the one that `amends up` runs]"),
    "gateway_port": ("--port", "PORT", "Port of webhooks and the HTTP API. [default: any that is free]"),
    "ops_port": ("--ops-port", "PORT", "Port of /metrics, /healthz and /readyz. [default: any that is free]"),
}


class NotReachable(click.ClickException):
    """Something that has to be there is not: what, and what to do about it."""

    exit_code = 3


class Negative(click.ClickException):
    """The answer is no."""

    exit_code = 1


class Wrong(click.ClickException):
    """It was asked for in the wrong way."""

    exit_code = 2


def placed(*names: str) -> Callable[[Decorated], Decorated]:
    """The options that say where amends is."""

    def decorate(command: Decorated) -> Decorated:
        for name in reversed(names):
            flag, metavar, words = _HELP[name]
            option = click.option(flag, name, metavar=metavar, help=words, expose_value=False, callback=_remember)
            command = option(command)
        return command

    return decorate


def _remember(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None and option.name is not None:
        context.meta.setdefault(GIVEN, {})[option.name] = value


def settings() -> Settings:
    """The settings of this process, or what is wrong with them."""
    from amends.common.settings import SettingsError, read

    given = click.get_current_context().meta.get(GIVEN, {})
    try:
        return read({**os.environ, **{f"AMENDS_{name.upper()}": value for name, value in given.items()}})
    except SettingsError as error:
        raise Wrong(str(error)) from error


@contextmanager
def the_log() -> Iterator[Log]:
    """The log, to read; it need not be written by anybody now."""
    from amends.common.log import Log, LogUnreachable

    try:
        log = Log(settings().database)
        try:
            yield log
        finally:
            log.close()
    except LogUnreachable as error:
        raise NotReachable(str(error)) from error


def found(log: Log, reference: str) -> str:
    """The name of the loop that somebody means."""
    name = log.resolve(reference)
    if name is None:
        hint = "say owner/repo#42, a pull request's address, or a name that `amends loops list` shows"
        raise Negative(f"there is no loop {reference!r} in the log: {hint}")
    return name


def repository(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """A repository as it is typed: owner/repo."""
    if value is not None and not _REPOSITORY.fullmatch(value):
        raise Wrong(f"--{option.name} {value}: say owner/repo")
    return value


def bus(known: Settings, user: Reporter) -> str:
    """The address of the NATS that the evaluator is on: as this user, where it knows users."""
    if known.nats_url:
        return known.nats_as(user)
    try:
        urls = (known.data_dir / "nats.url").read_text().split()
        return next((url for url in urls if named_in(url, "") == user), urls[0])
    except (OSError, IndexError) as error:
        raise NotReachable(
            f"no evaluator runs on {known.data_dir}: start `amends up`, or say where it is with --data-dir or --nats"
        ) from error


def operator() -> str:
    """Who sits at this terminal, as the log will name him."""
    from getpass import getuser

    try:
        return shown(getuser())
    except (OSError, KeyError):
        return "operator"


def named_in(address: str, otherwise: str) -> str:
    """The user of an address; the answers to a connection must come to an inbox of that name."""
    return unquote(urlsplit(address).username or otherwise)


def asked(act: Callable[[NatsRecorder], Awaitable[Result]], service: Reporter = "cli") -> Result:
    """What the evaluator answers."""
    from amends.common.bus.reporter import NatsRecorder

    known = settings()
    return linked(lambda link: act(NatsRecorder(link, service, known.answer_seconds)), known, service)


def linked(act: Callable[[Link], Awaitable[Result]], known: Settings, user: Reporter) -> Result:
    """What comes of a connection to the evaluator's NATS."""
    import asyncio

    from amends.common.bus.link import Link

    address = bus(known, user)

    async def connected() -> Result:
        link = Link(address, named_in(address, user))
        try:
            async with asyncio.timeout(known.answer_seconds):
                await link.open()
            return await act(link)
        finally:
            await link.close()

    try:
        return asyncio.run(connected())
    except (OSError, TimeoutError) as error:
        raise NotReachable(
            f"NATS cannot be reached ({str(error) or 'no answer'}): is `amends up` running? `amends doctor` looks"
        ) from error
