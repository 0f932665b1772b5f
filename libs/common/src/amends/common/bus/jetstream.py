"""JetStream's own API, asked directly: nats-py's configuration objects drop fields that they do not know."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from amends.common.bus.link import Link
from amends.common.effects import effect

NO_STREAM = 10059
NO_CONSUMER = 10014
NO_MESSAGE = 10037
THERE_ALREADY = 10148
WRONG_LAST, IN_FLIGHT = 10071, 10164  # a message that was to follow another does not
NANOSECONDS = 1_000_000_000
_NO_CLUSTER, _NO_PEERS = 10074, 10005


class Rejected(Exception):
    """JetStream refused what it was asked, and why."""

    def __init__(self, verb: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{verb}: {error.get('description', error)}")
        self.code = int(error.get("err_code", 0))


class TooFewServers(Exception):
    """A stream is to be kept by more servers than there are."""


async def ask(link: Link, verb: str, **fields: object) -> dict[str, Any]:
    """The API's answer to `verb`, such as `STREAM.INFO.EVENTS`."""
    payload = json.dumps(fields).encode() if fields else b""
    with effect("bus", verb):
        answer: dict[str, Any] = json.loads((await link.request(f"$JS.API.{verb}", payload)).data)
    if "error" in answer:
        raise Rejected(verb, answer["error"])
    return answer


async def look(link: Link, verb: str, missing: int, **fields: object) -> dict[str, Any] | None:
    """As `ask`, and None for what is not there: `missing` is the error that says so."""
    try:
        return await ask(link, verb, **fields)
    except Rejected as rejected:
        if rejected.code == missing:
            return None
        raise


async def make_stream(link: Link, config: Mapping[str, Any]) -> dict[str, Any]:
    """Make a stream; answers as `ask` does."""
    try:
        return await ask(link, f"STREAM.CREATE.{config['name']}", **config)
    except Rejected as rejected:
        if rejected.code not in {_NO_CLUSTER, _NO_PEERS}:
            raise
        raise TooFewServers(
            f"the stream {config['name']} cannot be kept by {config['num_replicas']} servers ({rejected}): "
            "start more of them as one cluster, each with JetStream, or lower `replicas`"
        ) from rejected


def drift(wanted: Mapping[str, object], found: Mapping[str, object]) -> tuple[str, ...]:
    """Where a stored configuration differs from the wanted one, in words. The server leaves out what is empty."""
    pairs = ((name, value, found.get(name)) for name, value in wanted.items())
    return tuple(f"{name} is {_plain(is_)}, not {_plain(value)}" for name, value, is_ in pairs if not _same(value, is_))


def _same(wanted: object, found: object) -> bool:
    if isinstance(wanted, dict) and isinstance(found, dict):  # metadata: the server adds its own
        return wanted.items() <= found.items()
    return _plain(wanted) == _plain(found)


def _plain(value: object) -> object:
    if isinstance(value, Iterable) and not isinstance(value, str | dict):
        return sorted(map(str, value))
    return value or None
