"""One connection: a head, a body, an answer, and again. What comes meanwhile waits its turn, within bounds."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from http import HTTPStatus
from typing import cast

from amends.gateway.http.answers import Answer, later, refusal
from amends.gateway.http.heads import Refused
from amends.gateway.http.house import House, Request, Route
from amends.gateway.http.incoming import Incoming, Screened

log = logging.getLogger(__name__)
_MOST_WAITING = 64 * 1024  # bytes of the next requests that are read while this one is answered


class _Turn(Enum):
    """What the connection is waiting for."""

    IDLE = "a request, some time"
    HEAD = "the head of a request"
    BODY = "the body of a request"
    ANSWER = "the answer to a request"
    END = "the client's hanging up"


class Connection(asyncio.Protocol):
    """Reads requests one by one, has each handled, and sends the answers in their order."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._incoming = Incoming(house)
        self._turn = _Turn.HEAD
        self._task: asyncio.Task[None] | None = None
        self._paused = self._stuck = self._half_closed = False
        self.since = self.deadline = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether nothing would be lost with it but the beginning of a request."""
        return self._turn is not _Turn.ANSWER

    # --- what the transport says -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if turned_away := self._house.admit(self):
            self._transport.write(turned_away.raw(goes_on=False))
            self._transport.close()
        else:
            self._wait_for(_Turn.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self._house.guests.pop(self, None)
        self._incoming.clear()
        self._transport = None  # a request in hand is worked off all the same

    def data_received(self, data: bytes) -> None:
        if self._turn is _Turn.END:
            return
        self._incoming.add(data)
        if self._turn is not _Turn.ANSWER:
            self._advance()
        elif len(self._incoming) > _MOST_WAITING:
            self._pause()

    def eof_received(self) -> bool:
        self._half_closed = True
        return self._turn is _Turn.ANSWER  # he may still want it

    def pause_writing(self) -> None:
        self._stuck = True

    def resume_writing(self) -> None:
        self._stuck = False
        self._advance()

    # --- what the house says ---------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Its time is over."""
        match self._turn:
            case _Turn.ANSWER if self._task is not None:
                self._task.cancel()
            case _Turn.HEAD if len(self._incoming):
                self._send(refusal(HTTPStatus.REQUEST_TIMEOUT, "the head took too long"), goes_on=False)
            case _Turn.BODY:
                self._send(refusal(HTTPStatus.REQUEST_TIMEOUT, "the body took too long"), goes_on=False)
            case _:
                self.abort()

    def drain(self) -> None:
        """Finish what is in hand and go."""
        if self._turn in {_Turn.IDLE, _Turn.END} or (self._turn is _Turn.HEAD and not len(self._incoming)):
            self.abort()

    def abort(self) -> None:
        """Go at once."""
        self._house.guests.pop(self, None)
        if self._transport is not None:
            self._transport.abort()

    # --- a request -------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        if self._stuck or self._turn in {_Turn.ANSWER, _Turn.END}:
            return
        try:
            self._read()
        except Screened as screened:
            self._send(screened.answer, goes_on=False)
        except Refused as refused:
            self._send(Answer(refused.status, {"error": refused.why}, refused.headers), goes_on=False)

    def _read(self) -> None:
        if not self._incoming.in_body:
            waits_for_leave = self._incoming.begin()
            if not self._incoming.in_body:
                if self._turn is _Turn.IDLE and len(self._incoming):
                    self._wait_for(_Turn.HEAD)
                return
            self._wait_for(_Turn.BODY)
            if waits_for_leave and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if taken := self._incoming.take():
            self._wait_for(_Turn.ANSWER)
            self._task = self._loop.create_task(self._answer(*taken))

    async def _answer(self, route: Route, request: Request) -> None:
        try:
            answer = await route.handle(request)
        except asyncio.CancelledError:  # by `expire`, or with the whole process
            answer = later("not done in time: try again")
        except Exception:
            log.exception("a request could not be handled")
            answer = later("it could not be handled: try again")
        self._task = None
        self._send(answer, goes_on=request.head.goes_on)

    def _send(self, answer: Answer, *, goes_on: bool) -> None:
        goes_on = goes_on and not self._house.draining and not self._half_closed
        self._incoming.release()
        if self._transport is None:
            return
        self._transport.write(answer.raw(goes_on=goes_on))
        if not goes_on:
            self._linger(self._transport)
            return
        self._wait_for(_Turn.HEAD if len(self._incoming) else _Turn.IDLE)
        self._resume()
        if len(self._incoming):
            self._loop.call_soon(self._advance)

    def _linger(self, transport: asyncio.Transport) -> None:
        """Let him read the answer: hanging up on somebody who still sends would take it away from him."""
        self._incoming.clear()
        self._wait_for(_Turn.END)
        self._resume()
        if self._half_closed:
            transport.close()
        else:
            transport.write_eof()

    # --- bounds ----------------------------------------------------------------------------------------------------

    def _wait_for(self, turn: _Turn) -> None:
        self._turn = turn
        self.since = self._loop.time()
        self.deadline = self.since + self._house.seconds[turn.name]

    def _pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
