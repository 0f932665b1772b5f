"""Tokens for a process that must not hold our key: it asks over a line of its own, and gets what only reads.

Who lends decides what is lent: the permissions are his, and whoever asks names a repository and nothing else. One line
of JSON each way; nothing of it is written anywhere.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import count
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from amends.common.delivery import Later
from amends.common.github.auth import Permissions
from amends.common.github.client import Client, Place
from amends.common.github.errors import Denied, Down, Missing

_LONGEST = 64 * 1024
_SECONDS = 90.0
_SOON = 30.0
Word = Annotated[str, Field(max_length=4_000)]


class Asked(BaseModel):
    """A wish for a token of this repository; another one than `refused`. It is not called `gone` any more."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    number: int
    repo: Annotated[int, Field(ge=1, le=2**63 - 1)]
    refused: Word = ""
    gone: Word = ""


class Lent(BaseModel):
    """The answer: a token and what it is for, or why there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    number: int
    full_name: Word = ""
    installation: int = 0
    git: Word = ""
    token: Word = ""
    trouble: Literal["", "missing", "denied", "later"] = ""
    detail: Word = ""
    delay: float = _SOON


class Loan(NamedTuple):
    """A token, and where it leads."""

    place: Place
    token: SecretStr


async def lend(client: Client, permissions: Permissions, end: socket.socket) -> None:
    """Answer everything that is asked on this line, until its other end is closed."""
    reader, writer = await asyncio.open_connection(sock=end, limit=_LONGEST)
    try:
        while line := await reader.readline():
            lent = await _lent(client, permissions, Asked.model_validate_json(line))
            writer.write(lent.model_dump_json().encode() + b"\n")
            await writer.drain()
    except (ValidationError, ValueError, ConnectionError):
        return  # whoever asks like that is not served any longer
    finally:
        writer.close()


async def _lent(client: Client, permissions: Permissions, asked: Asked) -> Lent:
    try:
        reach = await client.repository(asked.repo)
        if reach.place.full_name == asked.gone:
            client.forget(asked.repo)
            reach = await client.repository(asked.repo)
        token = await reach.token(permissions, asked.refused)
    except Missing as error:
        client.forget(asked.repo)
        return Lent(number=asked.number, trouble="missing", detail=str(error)[:400])
    except Denied as error:
        client.forget(asked.repo)
        return Lent(number=asked.number, trouble="denied", detail=str(error)[:400])
    except Later as error:
        return Lent(number=asked.number, trouble="later", detail=str(error)[:400], delay=error.delay)
    _, full_name, installation, git = reach.place
    return Lent(number=asked.number, full_name=full_name, installation=installation, git=git, token=token)


class Line:
    """The other end: where a process without a key gets its tokens."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._numbers = count(1)
        self._alone = asyncio.Lock()
        self._opening: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] | None = None

    async def borrow(self, repo: int, refused: str = "", gone: str = "") -> Loan:
        """A token for this repository; raises what asking GitHub raises."""
        try:
            async with asyncio.timeout(_SECONDS), self._alone:
                lent = await self._answered(Asked(number=next(self._numbers), repo=repo, refused=refused, gone=gone))
        except (TimeoutError, OSError, ValueError) as error:
            raise Down(_SOON, f"nobody lends us a token: {error!r}"[:200]) from error
        match lent.trouble:
            case "missing":
                raise Missing(lent.detail)
            case "denied":
                raise Denied(lent.detail)
            case "later":
                raise Down(lent.delay, lent.detail)
            case "":
                return Loan(Place(repo, lent.full_name, lent.installation, lent.git), SecretStr(lent.token))

    async def _answered(self, asked: Asked) -> Lent:
        if self._opening is None:
            self._opening = asyncio.ensure_future(asyncio.open_connection(sock=self._end, limit=_LONGEST))
        reader, writer = await asyncio.shield(self._opening)  # whoever stops waiting leaves it to the next
        writer.write(asked.model_dump_json().encode() + b"\n")
        await writer.drain()
        while line := await reader.readline():
            lent = Lent.model_validate_json(line)
            if lent.number == asked.number:  # else it is for somebody who stopped waiting
                return lent
        raise ConnectionError("the line is closed")

    def close(self) -> None:
        """Ask for nothing more."""
        if self._opening is not None and self._opening.done() and not self._opening.exception():
            self._opening.result()[1].close()
        self._end.close()
