"""Email: one message over SMTP, with an id of its own that is the same however often it has to be tried."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from hashlib import sha256

from amends.common.delivery import Later
from amends.common.effects import effect
from amends.common.sections import Smtp
from amends.notifier.messages import Messages, Told
from amends.notifier.tell import Claim, Turned

_LATER, _SECONDS = 60.0, 20.0
_PERMANENT = 500
_ACCEPTED = 250


class MailChannel:
    """Sends to everybody who is listed."""

    def __init__(self, settings: Smtp) -> None:
        self._settings = settings

    async def send(self, messages: Messages, fact: Told, claim: Claim) -> str:
        """Send it; the library waits, so it does that in a thread."""
        message = letter(self._settings, messages.subject(fact), messages.plain(fact), messages.reference(fact))
        loop = asyncio.get_running_loop()

        def claimed() -> None:
            asyncio.run_coroutine_threadsafe(_awaited(claim), loop).result()

        await asyncio.to_thread(self._deliver, message, claimed)
        return ""

    def _deliver(self, message: EmailMessage, claimed: Callable[[], None]) -> None:
        try:
            with _left_politely(self._connected()) as server:
                _handed_over(server, self._settings, message, claimed)
        except (OSError, smtplib.SMTPException) as error:
            raise _judged(error) from error

    def _connected(self) -> smtplib.SMTP:
        known = self._settings
        context = ssl.create_default_context()
        if known.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(known.host, known.port, timeout=_SECONDS, context=context)
        else:
            server = smtplib.SMTP(known.host, known.port, timeout=_SECONDS)
        try:
            if known.security == "starttls":
                server.starttls(context=context)
            if known.user:
                _logged_in(server, known)
        except BaseException:
            server.close()
            raise
        return server


@contextmanager
def _left_politely(server: smtplib.SMTP) -> Iterator[smtplib.SMTP]:
    """Whatever it answers to our goodbye: what became of the message was said before."""
    try:
        yield server
    finally:
        with suppress(OSError):  # of which all of smtplib's own are
            server.quit()
        server.close()


def _logged_in(server: smtplib.SMTP, known: Smtp) -> None:
    try:
        server.login(known.user, known.password.get_secret_value())
    except smtplib.SMTPServerDisconnected as error:  # as many do after some wrong passwords: no more of them
        raise Turned("the mail server hung up over the login") from error


def letter(known: Smtp, subject: str, text: str, reference: str) -> EmailMessage:
    """The message; its headers are the library's, which lets no line into them that is none."""
    message = EmailMessage(policy=SMTP)
    message["Subject"] = " ".join(subject.split())
    message["From"] = Address("amends", addr_spec=known.sender)
    message["To"] = [Address(addr_spec=one) for one in known.to]
    message["Message-ID"] = f"<{sha256(reference.encode()).hexdigest()[:32]}@{known.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte="base64")
    return message


async def _awaited(claim: Claim) -> None:
    await claim()


def _handed_over(server: smtplib.SMTP, known: Smtp, message: EmailMessage, claimed: Callable[[], None]) -> None:
    server.ehlo_or_helo_if_needed()
    code, said = server.mail(known.sender)
    if code != _ACCEPTED:
        raise smtplib.SMTPSenderRefused(code, said, known.sender)
    refused = _refused(server, known)
    claimed()
    _said(server, message)
    if refused:
        raise Turned(f"{len(refused)} of {len(known.to)} recipients were refused, the others have it")


def _said(server: smtplib.SMTP, message: EmailMessage) -> None:
    """From here on nobody can tell what became of it, unless the server says so."""
    try:
        with effect("mail", "DATA"):
            code, said = server.data(message.as_bytes())
    except smtplib.SMTPResponseException:
        raise
    except OSError as error:  # of which all of smtplib's own are
        raise Turned(f"the mail server went away ({error}); it may have arrived, so it is not sent again") from error
    if code != _ACCEPTED:
        raise smtplib.SMTPDataError(code, said)


def _refused(server: smtplib.SMTP, known: Smtp) -> dict[str, tuple[int, bytes]]:
    """The recipients that the server does not want; an error when it wants none."""
    refused: dict[str, tuple[int, bytes]] = {}
    for one in known.to:
        code, said = server.rcpt(one)
        if code // 100 != 2:  # noqa: PLR2004 - of SMTP's codes
            refused[one] = code, said
    if len(refused) == len(known.to):
        raise smtplib.SMTPRecipientsRefused(refused)
    return refused


def _judged(error: Exception) -> Exception:
    """Whether it makes sense to try again."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            codes = [code for code, _ in error.recipients.values()]
            final = all(code >= _PERMANENT for code in codes)
            why = f"the mail server refuses the recipients ({', '.join(map(str, codes))})"
        case smtplib.SMTPResponseException():
            final, why = error.smtp_code >= _PERMANENT, f"the mail server refuses it ({error.smtp_code})"
        case smtplib.SMTPNotSupportedError() | ssl.SSLCertVerificationError():
            final, why = True, f"the mail server cannot be used ({error})"
        case _:
            final, why = False, f"the mail server cannot be reached ({type(error).__name__})"
    return Turned(why) if final else Later(_LATER, why)
