"""The way out: only to the addresses that are configured, whoever asks, redirects included; and answers have an end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

import httpx

from amends.common.github.errors import Elsewhere
from amends.common.github.limits import wait_said
from amends.common.outward import proxy

MOST_BYTES = 32 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_AT_ONCE = 16
_WAIT = 300.0
# GitHub wants the same request again there; httpx would make a GET of it, and take what it reads for what it wrote.
_VERBATIM = {301: 308, 302: 307}


class Origin(NamedTuple):
    """A configured address: everything below its path may be asked for."""

    scheme: str
    host: str
    port: int | None
    path: str

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin that an address names."""
        parsed = httpx.URL(url)
        return cls(parsed.scheme, parsed.host, _port(parsed), parsed.path.rstrip("/"))

    def holds(self, url: httpx.URL) -> bool:
        """Whether this request goes there."""
        path = url.path
        inside = path == self.path or path.startswith(f"{self.path}/")
        return inside and "/../" not in f"{path}/" and (url.scheme, url.host, _port(url)) == self[:3]


def _port(url: httpx.URL) -> int | None:
    return url.port or _PORTS.get(url.scheme)


class GuardedTransport(httpx.AsyncBaseTransport):
    """One pool of connections for the life of a process; clients come and go on top of it."""

    def __init__(self, allowed: Iterable[str]) -> None:
        ways = {Origin.of(url): proxy(url) for url in allowed}
        limits = httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE, keepalive_expiry=60)
        self._pools = {way: httpx.AsyncHTTPTransport(limits=limits, retries=0, proxy=way) for way in {*ways.values()}}
        self._allowed = {origin: self._pools[way] for origin, way in ways.items()}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it, if it goes where we may go."""
        pool = next((pool for origin, pool in self._allowed.items() if origin.holds(request.url)), None)
        if pool is None:
            there = f"{request.url.scheme}://{request.url.netloc.decode()}{request.url.path}"
            why = f"GitHub leads to {there[:200]}, which is not below an address that is configured: see github.api_url"
            raise Elsewhere(_WAIT, why)
        response = await pool.handle_async_request(request)
        response.status_code = _VERBATIM.get(response.status_code, response.status_code)
        _make_plain(response)
        response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        """A client on top of it goes; the pool stays."""

    async def leave(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            await pool.aclose()


def _make_plain(response: httpx.Response) -> None:
    """Where `retry-after` is a date, githubkit dies of it: it reads a number."""
    said = response.headers.get("retry-after")
    if said is not None and not said.isdigit():
        wait = wait_said(response.headers)
        del response.headers["retry-after"]
        if wait is not None:
            response.headers["retry-after"] = str(round(wait))


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream | httpx.SyncByteStream) -> None:
        if not isinstance(stream, httpx.AsyncByteStream):
            raise TypeError("the pool is asynchronous")
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MOST_BYTES:
                raise httpx.DecodingError(f"an answer of more than {MOST_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
