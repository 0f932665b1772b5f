"""The recorder as a service behind the bus sees it: the same meaning as in one process."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from amends.common.answers import Answer, Followed, Go, Malformed, Refused, Report, Stop, Unavailable, parse
from amends.common.bus import wire
from amends.common.bus.link import SECONDS, Link, Unanswered
from amends.common.delivery import Later, Never
from amends.common.effects import effect
from amends.common.envelope import MAX_ENVELOPE
from amends.common.situation import Asked

_TRIES = 3
_AWAY = 10.0  # seconds until work that needs a blob is tried again


class NatsRecorder:
    """Reports under the name of one service, which the evaluator holds to what it may report."""

    def __init__(self, link: Link, service: str, seconds: float = SECONDS) -> None:
        self._link = link
        self._service = service
        self._seconds = seconds

    async def report(self, report: Report) -> Answer:
        """Record a fact and what it causes. `Unavailable` is ambiguous; the same report again is safe."""
        raw = report.model_dump_json(by_alias=True).encode()
        if len(raw) > MAX_ENVELOPE and (refused := _refusal(raw)):
            return refused
        try:
            with effect("report", report.fact):
                return wire.answer_from(await self._ask(f"report.{self._service}", raw))
        except Unanswered as unanswered:
            return Unavailable(str(unanswered))

    async def may(self, pos: int, run: str = "") -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may still have its effect."""
        try:
            asked = wire.MayAsked(pos=pos, run=run).model_dump_json().encode()
            with effect("ask", "ask.may"):
                return wire.leave_from(await self._ask("ask.may", asked))
        except Unanswered as unanswered:
            return Unavailable(str(unanswered))

    async def requeue(self, asked: wire.Requeued) -> Answer:
        """Have something that was parked worked on again."""
        try:
            return wire.answer_from(await self._ask("ask.requeue", asked.model_dump_json().encode()))
        except Unanswered as unanswered:
            return Unavailable(str(unanswered))

    async def followed(self) -> Sequence[Followed]:
        """The repositories that the installation lists, and the pull requests that are open in the log."""
        answer = await self._insist("ask.followed", b"")
        followed = wire.followed_from(answer)
        if followed is None:
            raise Later(_AWAY, f"what is followed was not told: {wire.answer_from(answer)}")
        return followed

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of the notifier, and how its loop stands; None where there is none."""
        answer = await self._insist("ask.situation", wire.MayAsked(pos=pos).model_dump_json().encode())
        if answer == wire.MISSING:
            return None
        if (found := wire.situation_from(answer)) is None:
            raise Later(_AWAY, f"how the loop stands was not told: {wire.answer_from(answer)}")
        return found

    async def put(self, content: bytes) -> str:
        """Keep these bytes and answer with their sha256; put first, report after."""
        if len(content) > wire.PARTS * wire.CHUNK:
            raise Never(f"a blob has at most {wire.PARTS * wire.CHUNK} bytes, not {len(content)}")
        chunks = wire.chunks(content)
        for chunk in chunks:
            answer = await self._insist("blob.put", wire.chunk_bytes(chunk))
            if answer != wire.KEPT:
                raise Later(_AWAY, f"part {chunk.n} of a blob was not kept: {wire.answer_from(answer)}")
        return chunks[0].sha

    async def get(self, sha: str) -> bytes | None:
        """The bytes of this sha256, None when nobody ever put them."""
        content = bytearray()
        n, of = 0, 1
        while n < of:
            answer = await self._insist("blob.get", wire.ChunkAsked(sha=sha, n=n).model_dump_json().encode())
            if answer == wire.MISSING:
                return None
            chunk = wire.chunk_from(answer)
            if chunk is None or (chunk.sha, chunk.n) != (sha, n):
                raise Later(_AWAY, f"part {n} of blob {sha} did not come: {wire.answer_from(answer)}")
            content += chunk.data
            n, of = n + 1, chunk.of
        if sha256(content).hexdigest() != sha:
            raise Later(_AWAY, f"what came for blob {sha} is something else")
        return bytes(content)

    async def _ask(self, subject: str, payload: bytes) -> bytes:
        return (await self._link.request(subject, payload, seconds=self._seconds)).data

    async def _insist(self, subject: str, payload: bytes) -> bytes:
        why = ""
        for _ in range(_TRIES):
            try:
                with effect("ask", subject):
                    return await self._ask(subject, payload)
            except Unanswered as unanswered:
                why = str(unanswered)
        raise Later(_AWAY, why)


def _refusal(raw: bytes) -> Refused | None:
    """What the recorder would say to bytes that are too many, in its own words."""
    try:
        parse(raw)
    except Malformed as malformed:
        return malformed.refused
    return None
