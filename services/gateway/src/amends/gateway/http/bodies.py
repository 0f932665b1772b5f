"""The body of a request, gathered as it comes: so many bytes, or chunks, and never more than allowed."""

from __future__ import annotations

import re
from http import HTTPStatus

from amends.gateway.http.heads import Refused

_SIZE = re.compile(rb"[0-9a-fA-F]{1,7}")
_LONGEST_LINE = 16


class Chunks:
    """Chunks put together. No extensions and no trailers: nobody who delivers webhooks sends any."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._body = bytearray()  # not a list: a chunk may be one byte
        self._size = 0
        self._due = 0  # bytes of the present chunk that are still to come, its CRLF included
        self._last = False

    @property
    def size(self) -> int:
        """The bytes that were announced."""
        return self._size

    def feed(self, buffer: bytearray) -> bytes | None:
        """Take what can be taken out of the buffer; the whole body, once it is there."""
        while True:
            if self._due:
                if not self._chunk(buffer):
                    return None
                continue
            line = self._line(buffer)
            if line is None:
                return None
            if self._last:
                if line:
                    raise _bad("trailers are not taken")
                return bytes(self._body)
            self._begin(line)

    def _begin(self, line: bytes) -> None:
        if not _SIZE.fullmatch(line):
            raise _bad("a chunk's size is not a hexadecimal number")
        size = int(line, 16)
        self._size += size
        if self._size > self._most:
            raise too_large(self._most)
        self._last = size == 0
        self._due = size + 2 if size else 0

    def _chunk(self, buffer: bytearray) -> bool:
        """Take more of the present chunk; whether it is whole."""
        if self._due > 2:  # noqa: PLR2004 - the CRLF after it
            part = buffer[: self._due - 2]
            self._body += part
            del buffer[: len(part)]
            self._due -= len(part)
        if self._due > 2 or len(buffer) < self._due:  # noqa: PLR2004 - as above
            return False
        if buffer[:2] != b"\r\n":
            raise _bad("a chunk does not end where it should")
        del buffer[:2]
        self._due = 0
        return True

    def _line(self, buffer: bytearray) -> bytes | None:
        end = buffer.find(b"\r\n", 0, _LONGEST_LINE)
        if end < 0:
            if len(buffer) >= _LONGEST_LINE:
                raise _bad("a chunk's size is not a hexadecimal number")
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 2]
        return line


def too_large(most: int) -> Refused:
    """The refusal of a body that is larger than allowed."""
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most} bytes")


def _bad(why: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, why)
