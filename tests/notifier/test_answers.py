"""What whoever gives a command on GitHub gets back, and where people hear of a policy file that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.events import CommandAccepted, CommandRefused, Judgement, PolicyObserved, PrObserved
from amends.common.identity import About
from amends.common.policy import Overrides
from amends.doubles.github.faults import Effect
from amends.evaluator.batch import Said
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.github import Scene
from tests.support.notifying import Desk, Killed, at_work
from tests.support.snapshots import assert_as_before

US, HUMAN = "amends[bot]", Judgement.NEEDS_HUMAN


def answers(desk: Desk) -> list[str]:
    """What we said in the conversation because of a command or of the policy file."""
    return [body for body in desk.talk() if "/command/" in body.partition("\n")[0] or "/policy/" in body]


# --- commands --------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_command_that_takes_effect_gets_a_reaction_as_receipt(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends pause")
        desk.orders(said)
        await desk.hear(CommandAccepted)
        await desk.hear(CommandAccepted)
        assert said.reactions == [(US, "rocket")]
        assert (answers(desk), desk.said()) == ([], ["github"])


@asynchronous
async def test_the_receipt_is_given_where_the_command_was_given(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        thread = scene.pull.threads[0]
        thread.reply("/amends pause", "bob")
        desk.orders(thread)
        await desk.hear(CommandAccepted)
        assert thread.comments[-1].reactions == [(US, "rocket")]
        review = scene.pull.review("carol", "commented", "/amends resume")
        desk.orders(review)
        await desk.hear(CommandAccepted)
        assert [(one.account.login, one.content) for one in review.of.said.reactions] == [(US, "rocket")]


@asynchronous
async def test_a_command_that_is_refused_is_answered_with_the_reason(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends retry")
        desk.orders(said)
        await desk.hear(CommandRefused)
        await desk.hear(CommandRefused)
        assert said.reactions == [(US, "confused")]
        [answer] = answers(desk)
        assert_as_before("notifier/refused", answer.replace(str(said.id), "77").replace(desk.name, "1-pr-1"))


@asynchronous
async def test_a_command_that_begins_nothing_in_a_fork_is_answered_with_the_reason(
    scene: Scene, sqlite_book: Book
) -> None:
    fork = scene.repo.fork("eve")
    foreign = scene.repo.pull("elsewhere", by="eve", files={"app.py": "x\n" * 20}, source=fork)
    async with at_work(sqlite_book, replace(scene, pull=foreign)) as desk:
        desk.rejects()
        said = foreign.say("bob", "/amends fix")
        desk.orders(said)
        await desk.hear(CommandAccepted)
        await desk.hear(CommandAccepted)
        [answer] = answers(desk)
        assert_as_before("notifier/begins_nothing", answer.replace(str(said.id), "77").replace(desk.name, "1-pr-1"))


@pytest.mark.parametrize(
    ("state", "words"), [("draft", "draft: mark the pull"), ("label", "opted out: remove the label")]
)
@asynchronous
async def test_so_it_is_where_nothing_else_would_be_said(
    scene: Scene, sqlite_book: Book, state: str, words: str
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        scene.pull.draft() if state == "draft" else scene.pull.label("amends: off")
        desk.observe()
        desk.orders(scene.pull.say("bob", "/amends reset"))
        await desk.hear(CommandAccepted)
        assert [words in answer for answer in answers(desk)] == [True]


@pytest.mark.parametrize("order", ["pause", "fix"])
@asynchronous
async def test_a_command_that_nothing_hinders_gets_no_words(scene: Scene, sqlite_book: Book, order: str) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.orders(scene.pull.say("bob", f"/amends {order}"))
        await desk.hear(CommandAccepted)
        assert answers(desk) == []


@asynchronous
async def test_in_a_thread_a_command_is_answered_in_the_thread(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        thread = scene.pull.threads[0]
        thread.reply("/amends resume", "bob")
        desk.orders(thread)
        await desk.hear(CommandRefused)
        assert "`bob`: `/amends resume` was not done: there is nothing to resume." in thread.bodies[-1]
        assert answers(desk) == []


@asynchronous
async def test_inv_29_whoever_has_no_say_gets_a_reaction_and_no_word_and_leaves_no_trace_of_it_in_the_log(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("rita", "/amends stop")
        desk.orders(said, "read")
        before = len(sqlite_book.rows())
        await desk.hear(CommandRefused)
        assert said.reactions == [(US, "confused")]
        assert (desk.talk(), len(sqlite_book.rows())) == ([], before)


@asynchronous
async def test_a_word_that_is_no_command_is_answered_with_those_that_are(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends frobnicate @alice now")
        desk.orders(said)
        await desk.hear(CommandAccepted)
        [answer] = answers(desk)
        assert_as_before("notifier/help", answer.replace(str(said.id), "77").replace(desk.name, "1-pr-1"))


@asynchronous
async def test_explain_is_answered_with_what_is_missing_and_what_was_done_and_not_done(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(HUMAN, Judgement.DECLINED)
        desk.orders(scene.pull.say("bob", "/amends explain"))
        await desk.hear(CommandAccepted)
        [answer] = answers(desk)
    assert "`bob`: **needs a human.**" in answer
    for said in (
        "What is missing:",
        "Done:",
        "cycle 1, attempt 1 was begun",
        "Not done:",
        "only a human can answer it",
    ):
        assert said in answer
    assert "max\\_cycles = 2" in answer


@asynchronous
async def test_who_asks_on_a_closed_pull_request_is_answered_and_on_a_locked_one_nobody(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.closes()
        desk.orders(scene.pull.say("bob", "/amends retry"))
        await desk.hear(CommandRefused)
        assert len(answers(desk)) == 1
        late = scene.pull.say("bob", "/amends accept")
        scene.pull.lock()
        desk.orders(late)
        await desk.hear(CommandRefused)
        assert (len(answers(desk)), late.reactions) == (1, [])
        assert desk.said()[-1] == "github: locked"


@asynchronous
async def test_inv_07_in_a_repository_that_is_not_listed_nobody_is_answered(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene, Overrides(repositories=("acme/other",))) as desk:
        desk.observe()
        said = scene.pull.say("bob", "/amends help")
        desk.orders(said)
        await desk.hear(CommandAccepted)
        assert (desk.talk(), said.reactions) == ([], [])


@asynchronous
async def test_what_the_log_was_told_by_a_token_is_answered_there_and_not_on_github(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.commands("retry")
        await desk.hear(CommandRefused)
        assert (desk.talk(), desk.said()) == ([], [])


@asynchronous
async def test_a_command_that_was_deleted_since_is_answered_without_a_reaction(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends retry")
        desk.orders(said)
        said.delete()
        await desk.hear(CommandRefused)
        assert len(answers(desk)) == 1


FAULTS: dict[str, Effect] = {
    "502 and stored": {"status": 502, "stored": True},
    "502 and not stored": {"status": 502},
    "broken off": {"broken": True},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("method", "path"), [("GRAPHQL", ""), ("POST", "/issues/1/comments")])
@asynchronous
async def test_an_answer_of_github_that_is_lost_makes_no_receipt_and_no_answer_double(
    fault: str, method: str, path: str, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends retry")
        desk.orders(said)
        one = scene.double.faults.next(method, path, **FAULTS[fault])
        one.skip = 1 if method == "GRAPHQL" else 0  # the first only looks
        for _ in range(2):
            try:
                await desk.hear(CommandRefused)
            except Later:
                continue
        assert (said.reactions, len(answers(desk))) == ([(US, "confused")], 1)
        assert scene.double.faults.unused == []


@asynchronous
async def test_killed_before_the_report_the_next_life_answers_nothing_twice(scene: Scene, sqlite_book: Book) -> None:
    def dies(name: str) -> None:
        if name == "report":
            raise Killed(name)

    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        said = scene.pull.say("bob", "/amends retry")
        desk.orders(said)
        desk.recorder.port = dies
        with pytest.raises(Killed):
            await desk.hear(CommandRefused)
        desk.recorder.port = lambda _: None
        await desk.hear(CommandRefused)
        assert (said.reactions, len(answers(desk)), desk.said()) == ([(US, "confused")], 1, ["github"])


# --- the policy file -------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_policy_file_that_cannot_be_used_is_told_once_with_its_line_and_the_last_good_one_stays(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.observe()
        desk.writes_policy("max_cycles: Input should be a valid integer <img src=x> @alice", 3)
        await desk.hear(PolicyObserved)
        await desk.hear(PolicyObserved)
        [answer] = answers(desk)
        assert_as_before("notifier/policy", answer.replace(str(scene.repo.id), "1"))
        assert desk.said() == ["github"]


@asynchronous
async def test_the_card_says_that_the_policy_file_cannot_be_used_until_it_can(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.writes_policy("max_cycles: no", 3)
        desk.rejects()
        desk.fixes(Judgement.DECLINED)
        await desk.react()
        assert "`.github/amends.yml`: line 3: max\\_cycles: no. The last good policy stays in force." in desk.card()


@asynchronous
async def test_of_a_policy_file_that_can_be_used_nobody_hears(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.observe()
        desk.writes_policy("", 0)
        await desk.hear(PolicyObserved)
        assert (desk.talk(), desk.said()) == ([], [])


@asynchronous
async def test_another_mistake_in_the_policy_file_is_told_again(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.observe()
        for line in (3, 4):
            desk.writes_policy("no", line, str(line) * 40)
            await desk.hear(PolicyObserved)
        assert len(answers(desk)) == 2


@asynchronous
async def test_who_died_over_it_does_not_say_it_again_on_another_pull_request(scene: Scene, sqlite_book: Book) -> None:
    elsewhere = scene.repo.pull("other", by="alice", files={"other.py": "1"})
    async with at_work(sqlite_book, scene) as desk:
        observed = {"full_name": "acme/widget", "author": desk.who("alice"), "head_repo": scene.repo.id}
        other = PrObserved.model_validate(
            {
                **observed,
                "head": elsewhere.head,
                "head_ref": "other",
                "base_ref": "main",
                "updated_at": datetime.now(UTC),
            }
        )
        about = About(repo=scene.repo.id, number=elsewhere.number)
        sqlite_book.record(Said("gateway", Report(fact=other, about=about)))
        desk.observe()
        desk.writes_policy("no", 3)
        desk.recorder.port = dies_at(nth=2)  # it was said, and is not reported
        with pytest.raises(Killed):
            await desk.hear(PolicyObserved)
        desk.recorder.port = lambda _: None
        desk.closes()
        await desk.hear(PolicyObserved)
        assert (len(answers(desk)), elsewhere.conversation, desk.said()) == (1, [], ["github"])


def dies_at(nth: int) -> Callable[[str], None]:
    """Right before the n-th report."""
    reports = count(1)

    def passing(name: str) -> None:
        if name == "report" and next(reports) == nth:
            raise Killed

    return passing


@asynchronous
async def test_with_no_open_pull_request_a_policy_file_is_told_of_nowhere(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.observe()
        desk.closes()
        desk.writes_policy("no", 3)
        await desk.hear(PolicyObserved)
        assert (desk.talk(), desk.said()) == ([], [])
