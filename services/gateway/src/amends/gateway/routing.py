"""The gateway's ASGI callable: finds the route, gathers the body within bounds, and answers. Never a 500."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, Self, TypeAlias
from urllib.parse import unquote_to_bytes

from amends.gateway.exchange import Answer, Head, Refused, Request, Route, head_of, later

log = logging.getLogger(__name__)

Scope: TypeAlias = Mapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class _Gone(Exception):
    """The client hung up before the request was whole."""


class Places:
    """Room for large bodies: a small one needs no leave, of the large there are a few at a time."""

    def __init__(self, small: int, at_once: int) -> None:
        self.small = small
        self.left = at_once


class _Place:
    """What one body takes of the room, for as long as it is needed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._holds = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._places.left += self._holds

    def grow(self, size: int) -> None:
        """The body has this size now; Refused when that is large and there is no place."""
        if self._holds or size <= self._places.small:
            return
        if not self._places.left:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many large bodies at once", {"Retry-After": "5"})
        self._places.left -= 1
        self._holds = True


class Routing:
    """Answers for all routes. `seconds`: how long one may take once its request is whole; GitHub hangs up after ten.

    A `*` in a route's path stands for one part of it, whose name the request's head has.
    """

    def __init__(self, routes: Mapping[str, Route], places: Places, seconds: float) -> None:
        self._routes = {path.encode(): route for path, route in routes.items() if "*" not in path}
        self._patterns = {tuple(path.encode().split(b"/")): route for path, route in routes.items() if "*" in path}
        self._places = places
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except _Gone:
            return
        except Refused as refused:
            answer = refused.answer
        except TimeoutError:
            answer = later("not done in time: try again")
        except asyncio.CancelledError:  # the server stops, and has waited for as long as it may
            answer = later("stopping: try again")
        except Exception:
            log.exception("a request could not be handled")
            answer = later("it could not be handled: try again")
        await _send(answer, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        route, named = self._find(scope)
        head = head_of(scope["headers"], scope["query_string"], named)
        _check_framing(scope, head)
        if (screened := route.screen(head)) is not None:
            return screened
        with _Place(self._places) as place:
            body = await _body(head, receive, route, place)
            async with asyncio.timeout(self._seconds):
                return await route.handle(Request(head, body))

    def _find(self, scope: Scope) -> tuple[Route, str]:
        # The raw path: what somebody in front let pass by its letters must not become another one here.
        path: bytes = scope["raw_path"] if scope["type"] == "http" else b""
        route, named = self._routes.get(path), ""
        if route is None:
            route, named = self._matching(path)
        if route is None:
            raise Refused(HTTPStatus.NOT_FOUND, "not here")
        if route.method != scope["method"]:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{route.method}, please", {"Allow": route.method})
        return route, named

    def _matching(self, path: bytes) -> tuple[Route | None, str]:
        parts = tuple(path.split(b"/"))
        for pattern, route in self._patterns.items():
            if len(parts) != len(pattern):
                continue
            named = [part for part, wanted in zip(parts, pattern, strict=True) if wanted == b"*"]
            if named[0] and all(wanted in {part, b"*"} for part, wanted in zip(parts, pattern, strict=True)):
                return route, unquote_to_bytes(named[0]).decode("ascii", "replace")
        return None, ""


async def _send(answer: Answer, send: Send) -> None:
    body = answer.body
    fields = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    usual = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": answer.status.value, "headers": [*usual, *fields]})
    await send({"type": "http.response.body", "body": body})


def _check_framing(scope: Scope, head: Head) -> None:
    """Refuse what the parser takes and others may read in another way."""
    coding, version = head.fields.get(b"transfer-encoding"), scope["http_version"]
    if version not in {"1.0", "1.1"} or (coding and (version == "1.0" or coding.lower() != b"chunked")):
        raise Refused(HTTPStatus.BAD_REQUEST, "HTTP/1.1, please, and no Transfer-Encoding but chunked")


async def _body(head: Head, receive: Receive, route: Route, place: _Place) -> bytes:
    """The whole body, or Refused as soon as it is known to be too large."""
    size = int(head.fields.get(b"content-length", b"0"))  # digits alone: the parser has seen to it
    body: bytes | bytearray = bytearray()
    more = True
    while True:
        if size > route.most_bytes:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {route.most_bytes} bytes")
        place.grow(size)
        if not more:
            return bytes(body)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        chunk, more = message["body"], message["more_body"]
        if body or more:
            body += chunk
        else:
            body = chunk  # whole at once, as nearly all are: not copied
        size = max(size, len(body))
