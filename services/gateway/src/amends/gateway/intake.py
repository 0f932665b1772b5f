"""`POST /webhooks/github`: believed when it is signed, and answered 202 when what it says is in the log, not before."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from urllib.parse import parse_qs

from amends.common.github.sightings import Ours
from amends.common.log import LogUnreachable
from amends.gateway import measures
from amends.gateway.exchange import Answer, Head, Request, Route, later, refusal
from amends.gateway.found import Ignored, Observed
from amends.gateway.observe import observe
from amends.gateway.payloads import Unreadable
from amends.gateway.reporting import Desk, Outcome
from amends.gateway.signatures import Secrets, well_formed

log = logging.getLogger(__name__)
MOST_BYTES = 25 * 1024 * 1024  # GitHub sends no larger ones
_SIGNATURE = b"x-hub-signature-256"
_EVENT = re.compile(r"[a-z0-9_]{1,64}")
_DELIVERY = re.compile(r"[A-Za-z0-9-]{1,64}")


class Intake:
    """Takes deliveries: first whether they may be believed, then what they say, then where it belongs."""

    def __init__(self, secrets: Secrets, desk: Desk, ours: Ours) -> None:
        self._secrets = secrets
        self._desk = desk
        self._ours = ours

    @property
    def route(self) -> Route:
        """Where deliveries come in."""
        return Route("POST", self._handle, MOST_BYTES, self._screen)

    def _screen(self, head: Head) -> Answer | None:
        """What is wrong before a byte of the body is here."""
        if not self._secrets:
            return later("no webhook secret is set here (gateway.webhook_secrets): nothing can be believed", 60)
        return None if well_formed(head.fields.get(_SIGNATURE)) else _unsigned()

    async def _handle(self, request: Request) -> Answer:
        head = request.head
        digest = well_formed(head.fields.get(_SIGNATURE))
        if digest is None or not self._secrets.signed(request.body, digest):
            return _unsigned()
        with measures.WEBHOOK_SECONDS.time():
            return await self._believed(head, request.body)

    async def _believed(self, head: Head, body: bytes) -> Answer:
        event = head.text(b"x-github-event")
        delivery = head.text(b"x-github-delivery")
        audit = {"event": event[:64], "delivery": delivery if _DELIVERY.fullmatch(delivery) else ""}
        if not _EVENT.fullmatch(event):
            return _unreadable(audit, "X-GitHub-Event: it is missing")
        try:
            found = observe(event, _payload(head.media, body), self._ours)
            outcome = await self._desk.report(found) if isinstance(found, Observed) else found
        except Unreadable as unreadable:
            return _unreadable(audit, str(unreadable))
        except LogUnreachable as unreachable:
            outcome = Outcome("unavailable", f"the log cannot be read: {unreachable}")
        return _ignored(audit, outcome) if isinstance(outcome, Ignored) else _told(audit, outcome)


def _payload(media: str, body: bytes) -> bytes:
    """The JSON that was sent: by itself, or as the one field of a form, which is how GitHub sends it unless told."""
    match media:
        case "application/json":
            return body
        case "application/x-www-form-urlencoded":
            if body[:1] == b"{":  # what curl calls a form unless it is told otherwise
                return body
            try:
                [payload] = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=8).get("payload", [])
            except ValueError as error:
                raise Unreadable("payload: a form holds it once, or choose application/json for the webhook") from error
            return payload.encode()
        case _:
            raise Unreadable("Content-Type: choose application/json for the webhook")


def _unsigned() -> Answer:
    measures.delivered("", "unsigned")
    why = "X-Hub-Signature-256: it is missing or not right; set the same secret here and in the webhook"
    return refusal(HTTPStatus.UNAUTHORIZED, why)


def _unreadable(audit: dict[str, str], why: str) -> Answer:
    log.warning("a delivery cannot be read", extra=audit | {"why": why})
    measures.delivered(audit["event"], "unreadable")
    return refusal(HTTPStatus.BAD_REQUEST, why)


def _ignored(audit: dict[str, str], found: Ignored) -> Answer:
    where = {"repo": found.repo, "full_name": found.full_name}
    log.info("a delivery is ignored", extra={**audit, **where, "why": found.reason})
    measures.delivered(audit["event"], "ignored")
    return Answer(HTTPStatus.ACCEPTED, {"ignored": found.reason})


def _told(audit: dict[str, str], outcome: Outcome) -> Answer:
    measures.delivered(audit["event"], outcome.kind)
    if outcome.kind == "recorded":
        return Answer(HTTPStatus.ACCEPTED, {"recorded": outcome.positions})
    log.warning("a delivery is not recorded", extra={**audit, "outcome": outcome.kind, "why": outcome.why})
    if outcome.kind == "unavailable":
        return later("it may or may not be in the log: deliver it again")
    # For good: GitHub would only send the same again. What it was is kept in `parked`, where somebody can look at it.
    return Answer(HTTPStatus.ACCEPTED, {"recorded": outcome.positions, "refused": outcome.why})
