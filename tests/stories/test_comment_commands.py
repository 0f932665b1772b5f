"""`/amends ...` in comments, from GitHub's webhook to the loop's answer: who is heard, and what is no command."""

from __future__ import annotations

import pytest

from amends.common.events import (
    AuthorChecked,
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CommentsFetched,
    FixPrepared,
    FixRequested,
    FixStarted,
    Judgement,
    Verdict,
)
from amends.common.feedback import from_blob
from amends.common.loop import Loop
from amends.common.standing import Status, policy_for, status
from amends.common.state import load
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene
from tests.support.steering import Steered, steered


def stands(one: Steered) -> Status:
    row = one.log.loop("installation")
    assert row is not None
    return status(one.loop, policy_for(one.loop, load(row.state), Loop("")))


@asynchronous
async def test_inv_47_a_command_leaves_a_trail_from_the_comment_to_what_came_of_it(
    sqlite_url: str, scene: Scene
) -> None:
    async with steered(sqlite_url, scene) as one:
        said = scene.pull.say("bob", "Not now.\n/amends pause until monday")
        await one.heard()
        trail = [event for event in one.events() if event.key.startswith(f"command/comment-{said.id}")]
    given, checked, accepted, paused = trail
    assert isinstance(given.fact, CommandGiven)
    assert isinstance(checked.fact, AuthorChecked)
    assert isinstance(accepted.fact, CommandAccepted)
    assert (given.fact.author.login, given.fact.text, checked.fact.permission) == ("bob", "until monday", "write")
    assert (given.actor, accepted.cause, paused.cause) == ("github/bob", checked.pos, checked.pos)
    assert accepted.fact.of == given.key
    assert accepted.policy


@pytest.mark.parametrize("who", ["rita", "eve", "b0b"])
@asynchronous
async def test_inv_29_only_trusted_people_command_and_others_are_answered_with_the_reason(
    sqlite_url: str, scene: Scene, who: str
) -> None:
    async with steered(sqlite_url, scene) as one:
        said = scene.pull.say(who, "/amends stop")
        await one.heard()
        assert one.answered() == ["refused stop untrusted"]
        [refused] = [event.fact for event in one.events() if isinstance(event.fact, CommandRefused)]
        assert (refused.of, one.loop.finished) == (f"command/comment-{said.id}", "")


@pytest.mark.parametrize("who", ["renovate[bot]", "amends[bot]"])
@asynchronous
async def test_inv_16_no_bot_commands_and_least_of_all_ourselves(sqlite_url: str, scene: Scene, who: str) -> None:
    async with steered(sqlite_url, scene) as one:
        one.rules(bots=[scene.double.bot(who).id] if who.startswith("renovate") else [])
        scene.pull.say(who, "/amends stop")
        await one.heard()
        assert (one.given(), one.loop.finished) == ([], "")


@pytest.mark.parametrize(
    "body",
    [
        "please say /amends stop", "> /amends stop", "`/amends stop`", "```\n/amends stop\n```", "    /amends stop",
        "<!-- /amends stop -->", "<!-- amends: 1-pr-1/card -->\n/amends stop", "/amendsstop", "\u200bx /amends stop",
    ],
)  # fmt: skip
@asynchronous
async def test_inv_29_what_is_quoted_shown_or_hidden_commands_nothing(sqlite_url: str, scene: Scene, body: str) -> None:
    async with steered(sqlite_url, scene) as one:
        scene.pull.say("bob", body)
        await one.heard()
        assert one.given() == []


@pytest.mark.parametrize(
    ("body", "name", "text"),
    [
        ("/amends max_cycles=99", "help", "max_cycles=99"),
        ("/amends policy set reviewers=anyone", "help", "policy"),
        ("/amends retry --max-cycles 99 && rm -rf /", "retry", "--max-cycles 99 && rm -rf /"),
        ("/amends retry ghs_" + "a1B2" * 9, "retry", "[redacted]"),
        ("/amends fix\x00\x1b[2J $(id)", "help", "fix[2J"),
        ("/amends STOP; /amends reset", "help", "STOP;"),
        ("/amends pause\n/amends resume", "pause", ""),
    ],
)
@asynchronous
async def test_inv_29_hostile_arguments_are_words_and_change_no_setting(
    sqlite_url: str, scene: Scene, body: str, name: str, text: str
) -> None:
    async with steered(sqlite_url, scene) as one:
        before = one.log.loop("installation")
        scene.pull.say("bob", body)
        await one.heard()
        assert [(found[0], found[1].lower()) for found in one.given()] == [(name, text.lower())]
        assert one.log.loop("installation") == before


@asynchronous
async def test_a_word_that_is_no_command_is_answered_with_help_and_named(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        scene.pull.say("bob", "/amends frobnicate now")
        await one.heard()
        [accepted] = [event.fact for event in one.events() if isinstance(event.fact, CommandAccepted)]
        assert (accepted.name, accepted.text) == ("help", "frobnicate")


@asynchronous
async def test_commands_are_heard_in_threads_and_in_reviews_too(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        thread = scene.pull.comment("bob", "Why?", path="app.py", line=10)
        thread.reply("/amends pause", "alice")
        await one.heard()
        scene.pull.review("carol", "commented", "/amends resume")
        await one.heard()
        assert one.answered() == ["accepted pause", "accepted resume"]


@asynchronous
async def test_inv_13_a_command_that_somebody_else_wrote_into_a_comment_is_none(sqlite_url: str, scene: Scene) -> None:
    scene.repo.collaborator("mallory", "write")
    async with steered(sqlite_url, scene) as one:
        scene.pull.say("bob", "harmless").edit("/amends stop", by="mallory")
        await one.heard()
        assert (one.given(), one.loop.finished) == ([], "")


@asynchronous
async def test_a_command_that_is_delivered_twice_is_given_once(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        scene.double.webhooks.duplicate("issue_comment", copies=3, new_ids=True)
        scene.pull.say("bob", "/amends pause")
        await one.heard()
        assert one.answered() == ["accepted pause"]


# --- what commands are not -----------------------------------------------------------------------------------------


@asynchronous
async def test_a_command_is_no_feedback_and_costs_no_run(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        scene.pull.say("bob", "/amends fix")
        await one.heard()
        assert one.loop.history[-1].outcome == "nothing_to_do"
        assert one.loop.items == {}


@asynchronous
async def test_what_is_said_beside_a_command_is_feedback(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        scene.pull.say("bob", "Rename it, please.\n/amends fix now\nThanks.")
        await one.heard()
        fetched = next(event.fact for event in one.events() if isinstance(event.fact, CommentsFetched))
        assert texts(one, fetched) == {"Rename it, please.\nThanks."}


@pytest.mark.parametrize("said", ["/amends explain", "/amends help", "/amends retry"])
@asynchronous
async def test_a_command_in_the_thread_of_a_rejection_does_not_open_it_again(
    sqlite_url: str, scene: Scene, said: str
) -> None:
    async with steered(sqlite_url, scene) as one:
        await cycle(one, Judgement.DECLINED)
        scene.pull.threads[0].reply(said, "bob")
        await one.heard()
        one.settles()
        assert (len(one.answered()), one.loop.n) == (1, 1)


# --- answers -------------------------------------------------------------------------------------------------------


def texts(one: Steered, fetched: CommentsFetched) -> set[str]:
    content = one.log.blob(fetched.texts) if fetched.texts else None
    return {remark.text for item in (from_blob(content) if content else ()) for remark in item.remarks}


async def cycle(one: Steered, judgement: Judgement) -> CommentsFetched:
    """Bob's rejection is collected, and a fixer has one verdict for everything."""
    if not one.scene.pull.reviews:
        one.scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Why?"}])
    await one.heard()
    one.settles()
    await one.heard()
    fetched = next(event.fact for event in reversed(one.events()) if isinstance(event.fact, CommentsFetched))
    content = one.log.blob(fetched.texts) if fetched.texts else None
    verdicts = tuple(
        Verdict(item=item.item, version=item.version, judgement=judgement, reason="1. keep it\n2. rename it")
        for item in (from_blob(content) if content else ())
    )
    step = {"n": fetched.n, "k": fetched.k, "run": "run-1"}
    one.says(FixStarted.model_validate({**step, "holder": "fixer/0"}))
    one.says(FixPrepared.model_validate({**step, "base": fetched.head, "verdicts": verdicts}))
    return fetched


@pytest.mark.parametrize("answer", ["1", "2", "Rename it to basket."])
@asynchronous
async def test_an_answer_in_the_thread_of_a_question_resumes_the_loop_with_the_question(
    sqlite_url: str, scene: Scene, answer: str
) -> None:
    async with steered(sqlite_url, scene) as one:
        await cycle(one, Judgement.NEEDS_HUMAN)
        assert stands(one) is Status.NEEDS_HUMAN
        thread = scene.pull.threads[0]
        thread.reply("Which one?\n1. keep it\n2. rename it\n<!-- amends: reply -->", "amends[bot]")
        thread.reply(answer, "bob")
        await one.heard()
        assert stands(one) is Status.SETTLING
        again = await cycle(one, Judgement.DECLINED)
        assert again.n == 2
        assert {"Why?", "Which one?\n1. keep it\n2. rename it", answer} <= {text.strip() for text in texts(one, again)}


@asynchronous
async def test_refine_answers_a_question_too(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        await cycle(one, Judgement.NEEDS_HUMAN)
        scene.pull.say("alice", "/amends refine 2, and say why in the code")
        await one.heard()
        one.settles()
        await one.heard()
        request = next(event.fact for event in reversed(one.events()) if isinstance(event.fact, FixRequested))
        assert (request.n, [text.text for text in request.texts]) == (2, ["2, and say why in the code"])
        fetched = next(event.fact for event in reversed(one.events()) if isinstance(event.fact, CommentsFetched))
        assert {"Why?", "2, and say why in the code"} <= texts(one, fetched)


@asynchronous
async def test_a_strangers_answer_resumes_nothing(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene) as one:
        await cycle(one, Judgement.NEEDS_HUMAN)
        scene.pull.threads[0].reply("1", "rita")
        await one.heard()
        one.settles()
        await one.heard()
        assert (stands(one), one.loop.used) == (Status.NEEDS_HUMAN, 1)
