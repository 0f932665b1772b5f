"""The model's endpoint as somebody else's agent uses it: bytes go there with our key, and come back as they are."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

import httpx2

from amends.common.sections import Model as Settings

VERSION = "2026-10-21"
_WORDS = re.compile(r"[A-Za-z0-9.,_ -]{1,1000}")
_TAKEN = ("anthropic-version", "anthropic-beta")
_GIVEN = ("content-type", "retry-after", "request-id")


class Unreached(Exception):
    """The endpoint did not answer, or not to the end."""


@dataclass(frozen=True)
class Answer:
    """What the endpoint answers, while it does."""

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes]


class Endpoint:
    """A connection to it. The key is added here, and is in nothing that comes back."""

    def __init__(self, settings: Settings) -> None:
        self._base = settings.base_url.rstrip("/")
        self.key = settings.api_key.get_secret_value()
        self.model = settings.name
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(settings.silence_seconds, connect=10), follow_redirects=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Answer]:
        """One request; raises Unreached. Of the headers only those that say how to read the body are sent on."""
        taken = {name: headers[name] for name in _TAKEN if _WORDS.fullmatch(headers.get(name, ""))}
        own = {"authorization": f"Bearer {self.key}", "content-type": "application/json", "accept-encoding": "identity"}
        try:
            async with self._client.stream(
                "POST", f"{self._base}{path}", headers={"anthropic-version": VERSION, **taken, **own}, content=body
            ) as reply:
                given = {name: reply.headers[name] for name in _GIVEN if name in reply.headers}
                yield Answer(reply.status_code, given, reply.aiter_bytes())
        except httpx2.HTTPError as error:
            raise Unreached(type(error).__name__) from error
