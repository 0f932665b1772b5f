"""Slack and email against servers that others have made: npm's emulate, and aiosmtpd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from amends.common.events import Judgement
from amends.common.sections import Slack, Smtp
from amends.notifier import mail
from amends.notifier.mail import MailChannel
from amends.notifier.slack import SlackChannel
from amends.notifier.tell import Channel
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.emulate import Workspace, emulated
from tests.support.github import Scene
from tests.support.notifying import RULES, SECRET, Desk, Killed, at_work
from tests.support.postbox import PASSWORD, USER, Postbox, postbox

HUMAN = Judgement.NEEDS_HUMAN
RULED = RULES.model_copy(update={"notify": ("github", "slack", "email")})
HOSTILE = (
    "<!channel> *boo* <https://evil.test|click> &amp;\r\n.\r\nMAIL FROM:<x@evil.test>\r\nBcc: all@evil.test\r\n"
    + SECRET
)


@pytest.fixture
def slack() -> Iterator[Workspace]:
    with emulated() as workspace:
        yield workspace


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postbox]:
    """A mail server whose certificate is believed."""
    with postbox(tmp_path) as running:
        monkeypatch.setenv("SSL_CERT_FILE", str(running.certificate))
        yield running


def by_token(workspace: Workspace) -> dict[str, Channel]:
    return {"slack": SlackChannel(Slack(token=SecretStr("xoxb-1"), channel=workspace.channel, api_url=workspace.api))}


def by_mail(box: Postbox, **other: object) -> dict[str, Channel]:
    known = {
        "host": "localhost", "port": box.port, "user": USER, "password": PASSWORD, "sender": "amends@acme.test",
        "to": ("a@acme.test", "b@acme.test"),
    }  # fmt: skip
    return {"email": MailChannel(Smtp.model_validate({**known, **other}))}


def question(desk: Desk, reason: str = "Which?") -> None:
    desk.rejects()
    desk.fixes(HUMAN, reason=reason)


# --- Slack -----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_an_escalation_stands_in_the_channel_once_and_hostile_words_in_it_mean_nothing(
    slack: Workspace, scene: Scene, sqlite_book: Book
) -> None:
    scene.pull.edit(title=HOSTILE)
    async with at_work(sqlite_book, scene, RULED, channels=by_token(slack)) as desk:
        question(desk, HOSTILE)
        await desk.react(2)
        assert (sorted(desk.said()), desk.owed) == (["github", "github", "slack"], [])
    [text] = slack.texts()
    assert text.startswith("*[amends] acme/widget#1 needs a human: ")
    assert not {"<", ">"} & set(text)
    assert (SECRET in text, "https://evil" in text) == (False, False)


@asynchronous
async def test_killed_after_slack_has_it_the_next_life_finds_it_in_the_channel(
    slack: Workspace, scene: Scene, sqlite_book: Book
) -> None:
    def dies(name: str) -> None:
        if name == "report" and slack.texts():
            raise Killed(name)

    async with at_work(sqlite_book, scene, RULED, channels=by_token(slack)) as desk:
        question(desk)
        desk.recorder.port = dies
        with pytest.raises(Killed):
            await desk.react()
        desk.recorder.port = lambda _: None
        await desk.react()
        assert (len(slack.texts()), desk.owed) == (1, [])


@asynchronous
async def test_a_channel_that_is_not_there_is_said(slack: Workspace, scene: Scene, sqlite_book: Book) -> None:
    known = Slack(token=SecretStr("xoxb-1"), channel="C0NOWHERE", api_url=slack.api)
    async with at_work(sqlite_book, scene, RULED, channels={"slack": SlackChannel(known)}) as desk:
        question(desk)
        await desk.react()
        assert "slack: Slack says channel_not_found" in desk.said()
        assert desk.owed == []


# --- email -----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_letter_goes_through_starttls_and_a_login_to_everybody_and_hostile_words_make_no_second_one(
    box: Postbox, scene: Scene, sqlite_book: Book
) -> None:
    scene.pull.edit(title=HOSTILE)
    async with at_work(sqlite_book, scene, RULED, channels=by_mail(box)) as desk:
        question(desk, HOSTILE)
        await desk.react(2)
        assert (sorted(desk.said()), desk.owed) == (["email", "github", "github"], [])
    [envelope], [letter] = box.envelopes, box.letters
    assert (envelope.mail_from, envelope.rcpt_tos) == ("amends@acme.test", ["a@acme.test", "b@acme.test"])
    assert (letter["Bcc"], letter["To"], box.logins) == (None, "a@acme.test, b@acme.test", ["let in"])
    assert letter["Subject"].startswith("[amends] acme/widget#1 needs a human: ")
    assert (SECRET in letter.get_content(), "https://evil" in letter.get_content()) == (False, False)


@asynchronous
async def test_a_login_that_is_turned_away_is_said_without_the_password(
    box: Postbox, scene: Scene, sqlite_book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "_SECONDS", 3.0)  # aiosmtpd hangs up without a word
    async with at_work(sqlite_book, scene, RULED, channels=by_mail(box, password="wrong-canary")) as desk:
        question(desk)
        await desk.react()
        assert "email: the mail server hung up over the login" in desk.said()
        assert (box.envelopes, desk.owed) == ([], [])
        assert not any("wrong-canary" in said for said in desk.said())


@asynchronous
async def test_a_certificate_that_nobody_vouches_for_gets_neither_password_nor_letter(
    tmp_path: Path, scene: Scene, sqlite_book: Book
) -> None:
    with postbox(tmp_path) as box:
        async with at_work(sqlite_book, scene, RULED, channels=by_mail(box)) as desk:
            question(desk)
            await desk.react()
            assert any("the mail server cannot be used" in said for said in desk.said())
            assert (box.envelopes, box.logins, desk.owed) == ([], [], [])


@asynchronous
async def test_a_server_that_wants_starttls_gets_no_letter_without_it(
    box: Postbox, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene, RULED, channels=by_mail(box, security="none", user="")) as desk:
        question(desk)
        await desk.react()
        assert "email: the mail server refuses it (530)" in desk.said()
        assert (box.envelopes, desk.owed) == ([], [])
