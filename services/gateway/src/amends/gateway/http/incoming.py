"""Bytes become requests here, without a socket: what came so far, and what it is part of."""

from __future__ import annotations

from http import HTTPStatus

from amends.gateway.http import heads
from amends.gateway.http.answers import Answer
from amends.gateway.http.bodies import Chunks, too_large
from amends.gateway.http.heads import Head, Refused
from amends.gateway.http.house import House, Request, Route

_END = b"\r\n\r\n"


class Screened(Exception):
    """A request that its route answers without its body; the connection ends with it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status.phrase)
        self.answer = answer


class Incoming:
    """What one client has sent and nobody has taken. Its large body holds one of a few places in the house."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._buffer = bytearray()
        self._head: Head | None = None
        self._route: Route | None = None
        self._chunks: Chunks | None = None
        self._is_large = False

    def __len__(self) -> int:
        return len(self._buffer)

    @property
    def in_body(self) -> bool:
        """Whether a head was read whose body has not come whole."""
        return self._head is not None

    def add(self, data: bytes) -> None:
        """More has come."""
        self._buffer += data

    def begin(self) -> bool:
        """Read a head, once it is whole; whether the client waits for leave to send the body. Refused, or Screened."""
        while self._buffer.startswith(b"\r\n"):  # an empty line before a request is a slip of the pen
            del self._buffer[:2]
        end = self._buffer.find(_END, 0, heads.MOST_BYTES)
        if end < 0:
            if len(self._buffer) >= heads.MOST_BYTES:
                raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {heads.MOST_BYTES} bytes of head")
            return False
        head = heads.read(bytes(self._buffer[:end]))
        del self._buffer[: end + len(_END)]
        route = self._house.find(head)
        if (head.length or 0) > route.most_bytes:
            raise too_large(route.most_bytes)
        if screened := route.screen(head):
            raise Screened(screened)
        self._head, self._route = head, route
        self._chunks = Chunks(route.most_bytes) if head.length is None else None
        self._hold(head.length or 0)
        return bool(head.expects) and not self._buffer

    def take(self) -> tuple[Route, Request] | None:
        """The request, once its body is whole; or Refused."""
        if self._head is None or self._route is None:
            return None
        body = self._body(self._head.length or 0)
        if body is None:
            return None
        taken = self._route, Request(self._head, body)
        self._head = self._route = self._chunks = None
        return taken

    def release(self) -> None:
        """The last request needs no room any more."""
        if self._is_large:
            self._house.large -= 1
            self._is_large = False

    def clear(self) -> None:
        """Forget what came: it is not going to be answered."""
        self._buffer.clear()
        self._head = self._route = self._chunks = None
        self.release()

    def _body(self, length: int) -> bytes | None:
        if self._chunks is not None:
            body = self._chunks.feed(self._buffer)
            self._hold(self._chunks.size)
            return body
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _hold(self, size: int) -> None:
        if size <= self._house.bounds.small_bytes or self._is_large:
            return
        if self._house.large >= self._house.bounds.large_at_once:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many large bodies at once", {"Retry-After": "5"})
        self._house.large += 1
        self._is_large = True
