"""A mail server of somebody else's making, aiosmtpd: with STARTTLS, a certificate of its own, and a login."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from tests.support.certificates import certificate
from tests.support.ports import free_port

USER, PASSWORD = "amends", "canary-of-a-password"


@dataclass
class Postbox:
    """What arrived, as it was sent."""

    port: int
    certificate: Path
    envelopes: list[Envelope] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:  # noqa: N802 - theirs
        self.envelopes.append(envelope)
        return "250 OK"

    @property
    def letters(self) -> list[EmailMessage]:
        return [
            message_from_bytes(one.content, policy=default) for one in self.envelopes if isinstance(one.content, bytes)
        ]

    def authenticated(self, _server: Any, _session: Any, _envelope: Any, _how: str, data: Any) -> AuthResult:
        right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        self.logins.append("let in" if right else "turned away")
        return AuthResult(success=right)


@contextmanager
def postbox(folder: Path) -> Iterator[Postbox]:
    """At work for the length of a block: nothing without STARTTLS, nobody without a login."""
    shown, kept = certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(shown, kept)
    box = Postbox(free_port(), shown)
    controller = Controller(
        box, hostname="127.0.0.1", port=box.port, tls_context=context, require_starttls=True, auth_required=True,
        auth_require_tls=True, authenticator=box.authenticated,
    )  # fmt: skip
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
