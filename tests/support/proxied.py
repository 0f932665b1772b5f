"""A GitHub in a company: it speaks TLS, with a certificate of the company's own, and stands behind a proxy."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.certificates import certificate

HOST = "github.corp.test"  # a name that nobody can look up: whoever reaches it came through the proxy

_WHO = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm=corp\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


@dataclass
class Company:
    """Where the proxy is, which certificate to believe, and what the proxy was asked."""

    proxy: str
    authority: Path
    asked: list[tuple[str, str]] = field(default_factory=list)  # where to, and as whom


@contextmanager
def company(folder: Path, url: str) -> Iterator[Company]:
    """What answers at `url` stands behind `HOST` for the length of a block."""
    loop, ready, stop = asyncio.new_event_loop(), Future[Company](), asyncio.Event()
    with ThreadPoolExecutor(1) as thread, asyncio.Runner(loop_factory=lambda: loop) as runner:
        standing = thread.submit(runner.run, _standing(certificate(folder, HOST), url, ready, stop))
        try:
            yield ready.result(10)
        finally:
            loop.call_soon_threadsafe(stop.set)
            standing.result(10)


async def _standing(made: tuple[Path, Path], url: str, ready: Future[Company], stop: asyncio.Event) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*made)

    async def uncovered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined(reader, writer, urlsplit(url).port or 80)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        said = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        known.asked.append((head[0].removesuffix(" HTTP/1.1"), said.get("proxy-authorization", "")))
        if not known.asked[-1][1]:
            writer.write(_WHO)
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _joined(reader, writer, _port(inner))

    async with (
        await asyncio.start_server(uncovered, "127.0.0.1", 0, ssl=context) as inner,
        await asyncio.start_server(connected, "127.0.0.1", 0) as outer,
    ):
        known = Company(f"http://user:pass@127.0.0.1:{_port(outer)}", made[0])
        ready.set_result(known)
        await stop.wait()


async def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    theirs, to = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_poured(reader, to), _poured(theirs, writer))


async def _poured(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        try:
            while chunk := await reader.read(1 << 16):
                writer.write(chunk)
                await writer.drain()
        finally:
            writer.close()
            await writer.wait_closed()


def _port(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port
