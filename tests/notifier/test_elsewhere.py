"""Slack and email: what arrives, once, whatever became of the other channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr, ValidationError

from amends.common.events import Failure, Judgement, PolicyChanged
from amends.common.policy import Overrides
from amends.common.sections import Slack, Smtp
from amends.notifier.mail import MailChannel
from amends.notifier.slack import SlackChannel
from amends.notifier.tell import Channel
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.elsewhere import MailDouble, SlackDouble, mail, slack
from tests.support.github import Scene
from tests.support.notifying import RULES, SECRET, Desk, Killed, at_work

HUMAN = Judgement.NEEDS_HUMAN
RULED = RULES.model_copy(update={"notify": ("github", "slack", "email")})
HOSTILE = "<!channel> *boo* <https://evil.test|click>\r\nBcc: all@evil.test\r\n" + SECRET


@pytest.fixture
def there() -> Iterator[SlackDouble]:
    with slack() as double:
        yield double


def by_token(double: SlackDouble) -> SlackChannel:
    return SlackChannel(Slack(token=SecretStr("xoxb-1"), channel="C1", api_url=double.url))


def by_webhook(double: SlackDouble) -> SlackChannel:
    return SlackChannel(Slack(webhook=SecretStr(f"{double.url}/hook")))


def by_mail(double: MailDouble, *to: str) -> MailChannel:
    known = Smtp(
        host="127.0.0.1", port=double.port, security="none", sender="amends@acme.test", to=to or ("a@acme.test",)
    )
    return MailChannel(known)


def question(desk: Desk) -> None:
    """Something that people elsewhere have to hear of."""
    desk.rejects()
    desk.fixes(HUMAN)


# --- Slack ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [by_token, by_webhook])
@asynchronous
async def test_an_escalation_arrives_in_slack_once(
    channel: Callable[[SlackDouble], SlackChannel], there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene, RULED, channels={"slack": channel(there)}) as desk:
        question(desk)
        await desk.react(2)
        assert sorted(desk.said()) == ["github", "github", "slack"]
        assert desk.owed == []
    assert len(there.texts) == 1
    assert "*[amends] acme/widget#1 needs a human" in there.texts[0]


@asynchronous
async def test_inv_35_hostile_titles_are_text_in_slack(there: SlackDouble, scene: Scene, sqlite_book: Book) -> None:
    scene.pull.edit(title=HOSTILE)
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        question(desk)
        await desk.react()
    assert not {"<", ">"} & set(there.texts[0])
    assert SECRET not in there.texts[0]
    assert "https://evil" not in there.texts[0]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("fault", [502, "internal_error"])
@asynchronous
async def test_a_lost_answer_of_slack_doubles_nothing_and_loses_nothing(
    fault: int | str, stored: bool, there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    there.faults, there.stored = [fault], stored
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        question(desk)
        await desk.react(2)
        assert (len(there.texts), desk.owed) == (1, [])
        assert "slack" in desk.said()


@asynchronous
async def test_a_webhook_that_may_have_arrived_is_not_sent_again(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    there.faults, there.stored = [502], True
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_webhook(there)}) as desk:
        question(desk)
        await desk.react(2)
        assert (there.posts, desk.owed) == (1, [])
        assert any("it may have arrived" in said for said in desk.said())


@asynchronous
async def test_killed_after_slack_has_it_the_next_process_finds_it_there(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    def dies(name: str) -> None:
        if name == "report" and there.texts:
            raise Killed(name)

    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        question(desk)
        desk.recorder.port = dies
        with pytest.raises(Killed):
            await desk.react()
        desk.recorder.port = lambda _: None
        await desk.react()
        assert (len(there.texts), desk.owed) == (1, [])


# --- what nobody can look into ---------------------------------------------------------------------------------------


def dying(name: str, when: Callable[[], object]) -> Callable[[str], None]:
    def dies(called: str) -> None:
        if called == name and when():
            raise Killed(called)

    return dies


@asynchronous
async def test_killed_between_a_webhook_and_the_report_nothing_is_sent_again_and_that_is_said(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    channels: dict[str, Channel] = {"slack": by_webhook(there)}
    async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
        question(desk)
        desk.recorder.port = dying("report", lambda: there.texts)
        with pytest.raises(Killed):
            await desk.react()
    async with at_work(sqlite_book, scene, None, channels=channels) as desk:
        await desk.react(2)
        assert (there.posts, desk.owed) == (1, [])
        assert any(said.startswith("slack: unknown: it was begun before") for said in desk.said())


@asynchronous
async def test_killed_between_a_letter_and_the_report_nothing_is_sent_again_and_that_is_said(
    scene: Scene, sqlite_book: Book
) -> None:
    async with mail() as box:
        channels: dict[str, Channel] = {"email": by_mail(box)}
        async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
            question(desk)
            desk.recorder.port = dying("report", lambda: box.raw)
            with pytest.raises(Killed):
                await desk.react()
        async with at_work(sqlite_book, scene, None, channels=channels) as desk:
            await desk.react(2)
            assert (len(box.letters), desk.owed) == (1, [])
            assert any(said.startswith("email: unknown: it was begun before") for said in desk.said())


@asynchronous
async def test_a_letter_whose_claim_was_recorded_and_not_answered_is_sent(scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box, at_work(sqlite_book, scene, RULED, channels={"email": by_mail(box)}) as desk:
        question(desk)
        desk.recorder.unheard = ["notify.started"]
        await desk.react()
        assert (len(box.letters), "email" in desk.said(), desk.owed) == (1, True, [])


@asynchronous
async def test_killed_before_a_letter_is_begun_the_next_life_sends_it(scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box:
        channels: dict[str, Channel] = {"email": by_mail(box)}
        async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
            question(desk)
            box.answers = {"RCPT": "451 later"}
            assert len(await desk.react()) == 1
        async with at_work(sqlite_book, scene, None, channels=channels) as desk:
            await desk.react()
            assert (len(box.letters), "email" in desk.said(), desk.owed) == (1, True, [])


@asynchronous
async def test_asked_again_what_was_begun_for_the_first_time_is_not_sent_a_second_one(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    channels: dict[str, Channel] = {"slack": by_webhook(there)}
    async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
        question(desk)
        desk.recorder.port = dying("report", lambda: there.texts)
        with pytest.raises(Killed):
            await desk.react()
    async with at_work(sqlite_book, scene, None, channels=channels) as desk:
        sqlite_book.waits(4_000)  # nobody answered, so the evaluator asks again
        await desk.react(2)
        assert (there.posts, desk.owed) == (1, [])


@asynchronous
async def test_a_webhook_that_slack_put_off_is_sent_later_by_the_same_life(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    there.faults = [429]
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_webhook(there)}) as desk:
        question(desk)
        assert len(await desk.react()) == 1
        await desk.react()
        assert (len(there.texts), "slack" in desk.said(), desk.owed) == (1, True, [])


# --- each for itself -----------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_35_a_channel_that_refuses_keeps_no_other_waiting(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    there.faults = ["channel_not_found"]
    async with mail() as box:
        channels: dict[str, Channel] = {"slack": by_token(there), "email": by_mail(box)}
        async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
            question(desk)
            await desk.react()
            assert sorted(desk.said()) == ["email", "github", "github", "slack: Slack says channel_not_found"]
            assert (len(box.letters), desk.owed) == (1, [])


@asynchronous
async def test_while_github_is_away_the_others_are_told_and_once(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        question(desk)
        scene.double.faults.next("*", "/repos/", status=503, times=20)
        assert len(await desk.react()) == 2
        assert desk.said() == ["slack"]
        scene.double.faults.clear()
        assert await desk.react() == []
        assert (sorted(desk.said()), len(there.texts), desk.owed) == (["github", "github", "slack"], 1, [])


@asynchronous
async def test_nobody_to_tell_is_an_answer_too(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene, RULED.model_copy(update={"notify": ()})) as desk:
        question(desk)
        await desk.react()
        assert (desk.talk(), desk.owed) == ([], [])
        assert all(said.startswith("nobody: there is nobody to tell") for said in desk.said())


@asynchronous
async def test_what_stays_refused_is_given_up_after_a_while(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        question(desk)
        scene.installation.uninstall()
        assert len(await desk.react()) == 2
        desk.teller.age = lambda _: 3_600.0
        await desk.react()
        assert desk.owed == []
        assert all(said.startswith("github: 40") for said in desk.said())


@asynchronous
async def test_a_policy_may_narrow_the_channels(there: SlackDouble, scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        desk.says(PolicyChanged(request="quiet", values=Overrides(notify=("github",))))
        question(desk)
        await desk.react()
        assert (there.texts, desk.owed) == ([], [])


# --- email ---------------------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_35_a_hostile_title_makes_no_header_and_no_link(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.edit(title=HOSTILE)
    async with mail() as box:
        async with at_work(sqlite_book, scene, RULED, channels={"email": by_mail(box)}) as desk:
            question(desk)
            await desk.react()
        [letter] = box.letters
    assert letter["Bcc"] is None
    assert letter["Subject"].startswith("[amends] acme/widget#1 needs a human: ")
    assert letter["To"] == "a@acme.test"
    assert SECRET not in letter.get_content()
    assert "https://evil" not in letter.get_content()


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "END"])
@asynchronous
async def test_what_the_mail_server_wants_later_is_tried_later(verb: str, scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box:
        box.answers = {verb: "451 later"}
        async with at_work(sqlite_book, scene, RULED, channels={"email": by_mail(box)}) as desk:
            question(desk)
            assert len(await desk.react()) == 1
            await desk.react()
            assert ("email" in desk.said(), desk.owed) == (True, [])
        assert len({one["Message-ID"] for one in box.letters}) == 1


@asynchronous
async def test_what_the_mail_server_refuses_is_said(scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box:
        box.refused = {"a@acme.test"}
        async with at_work(sqlite_book, scene, RULED, channels={"email": by_mail(box)}) as desk:
            question(desk)
            await desk.react()
            assert "email: the mail server refuses the recipients (550)" in desk.said()
            assert desk.owed == []


@asynchronous
async def test_one_refused_recipient_keeps_no_other_from_his_mail(scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box:
        box.refused = {"gone@acme.test"}
        channel = by_mail(box, "gone@acme.test", "a@acme.test")
        async with at_work(sqlite_book, scene, RULED, channels={"email": channel}) as desk:
            question(desk)
            await desk.react()
            assert "email: 1 of 2 recipients were refused, the others have it" in desk.said()
        assert len(box.letters) == 1


@asynchronous
async def test_a_mail_whose_fate_nobody_knows_is_not_sent_again(scene: Scene, sqlite_book: Book) -> None:
    async with mail() as box:
        box.answers = {"END": ""}
        async with at_work(sqlite_book, scene, RULED, channels={"email": by_mail(box)}) as desk:
            question(desk)
            await desk.react(2)
            assert any("it may have arrived" in said for said in desk.said())
            assert (len(box.letters), desk.owed) == (1, [])


@pytest.mark.parametrize("refused", [set[str](), {"gone@acme.test"}])
@asynchronous
async def test_a_mail_is_sent_once_however_the_server_says_goodbye(
    refused: set[str], scene: Scene, sqlite_book: Book
) -> None:
    async with mail() as box:
        box.answers, box.refused = {"QUIT": "421 too many connections"}, refused
        channel = by_mail(box, "a@acme.test", "gone@acme.test")
        async with at_work(sqlite_book, scene, RULED, channels={"email": channel}) as desk:
            question(desk)
            assert await desk.react(2) == []
        assert len(box.letters) == 1


@pytest.mark.parametrize(
    ("section", "values"),
    [
        (Slack, {"token": "xoxb-1"}),
        (Slack, {"token": "xoxb-1", "channel": "C1", "webhook": "https://hooks.test/x"}),
        (Slack, {"webhook": "hooks.test/x"}),
        (Smtp, {"host": "mail.test"}),
        (Smtp, {"host": "mail.test", "sender": "a@b.c", "to": ["a@b.c\r\nBcc: x@y.z"]}),
        (Smtp, {"host": "mail.test", "sender": "a b@c", "to": ["a@b.c"]}),
    ],
)
def test_settings_that_would_reach_nobody_are_refused(section: type[Slack | Smtp], values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        section.model_validate(values)


# --- what concerns everybody ---------------------------------------------------------------------------------------


@asynchronous
async def test_what_stops_the_whole_installation_is_said_where_people_are(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene, RULED, channels={"slack": by_token(there)}) as desk:
        desk.rejects()
        desk.fails(Failure.MODEL_AUTH)
        await desk.react()
        assert (desk.said(), desk.owed) == (["slack"], [])
    assert there.texts[0].startswith("*[amends] the installation needs a human: ")


@asynchronous
async def test_with_no_channel_but_github_the_installation_has_nobody_to_tell(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fails(Failure.MODEL_AUTH)
        await desk.react()
        assert desk.owed == []
        assert desk.said() == ["nobody: there is nobody to tell: see `notify` and the settings"]


@asynchronous
async def test_inv_37_a_secret_in_what_the_agent_says_reaches_nobody(
    there: SlackDouble, scene: Scene, sqlite_book: Book
) -> None:
    token = "ghs_" + "x" * 40
    async with mail() as box:
        channels: dict[str, Channel] = {"slack": by_token(there), "email": by_mail(box)}
        async with at_work(sqlite_book, scene, RULED, channels=channels) as desk:
            desk.rejects()
            desk.fixes(HUMAN, reason=f"the key is {SECRET}, the token {token}")
            await desk.react()
            seen = [desk.page(), *there.texts, *(one.get_content() for one in box.letters), *desk.said()]
        assert len(seen) == 7
        assert not any(SECRET in text or token in text for text in seen)
