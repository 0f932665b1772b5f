"""Waits: the settle window, claims and stalled steps, requests that nobody answers. Time enters only as timers."""

import pytest

from amends.common.events import (
    AnyFact,
    Author,
    DeliveryParked,
    Escalated,
    FixStarted,
    Notified,
    NotifyFailed,
    PushRequested,
    Reporter,
    TimerFired,
)
from amends.common.policy import Overrides
from amends.common.standing import requests, timers, window
from tests.support.facts import (
    EVE,
    MARIA,
    believed,
    checked,
    closed,
    command,
    comment,
    failed,
    fetched,
    item,
    observed,
    prepared,
    pushed,
    refused,
    rejected,
    started,
    verdict,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import SHORT_CLAIM, THREADS

HOUR = 3_600


# --- the settle window ---------------------------------------------------------------------------------------------


def test_the_window_is_over_when_it_has_been_quiet_for_so_long() -> None:
    story = settling(THREADS).after(20).when(comment()).after(29).then()
    story.after(1).then("fix.requested 1/1")


def chatter(seconds: int, every: int = 20) -> Telling:
    """Somebody says something every few seconds."""
    story = settling(THREADS)
    for second in range(0, seconds, every):
        story.when(comment(100 + second)).after(every)
    return story


def test_the_window_is_over_after_ten_times_that_in_all() -> None:
    chatter(280).then()
    chatter(300).then("fix.requested 1/1")


def test_the_window_is_a_setting() -> None:
    settling(Overrides(settle_seconds=5)).after(4).then().after(1).then("fix.requested 1/1")


def test_a_window_of_zero_waits_for_nothing() -> None:
    settling(Overrides(settle_seconds=0)).after(0).then("fix.requested 1/1")


def test_an_old_standing_rejection_does_not_shorten_the_window_of_new_feedback() -> None:
    story = awaiting_review().after(5_000).so_far().when(comment()).after(29).then()
    story.after(1).then("fix.requested 2/1")


def test_an_old_comment_that_begins_to_count_does_not_shorten_the_window() -> None:
    given(comment()).after(5_000).when(*believed(rejected())).after(29).then().after(1).then("fix.requested 1/1")


def test_what_came_just_before_the_end_of_a_cycle_settles_in_full() -> None:
    story = fixing(THREADS).when(comment(5)).after(600).when(comment(6), prepared(), pushed()).so_far()
    story.after(29).then().after(1).then("fix.requested 2/1")


def test_a_settle_timer_of_an_old_generation_means_nothing() -> None:
    story = settling(THREADS)
    old = window(story.loop, story.policy)
    assert old is not None
    story.when(comment(), TimerFired(name=old.name, generation=old.generation)).then()


def test_there_is_no_window_where_nothing_counts() -> None:
    story = given(comment())
    assert window(story.loop, story.policy) is None
    assert [timer for timer in timers(story.loop, story.policy) if not timer.deadline] == []


# --- steps that stall ----------------------------------------------------------------------------------------------


def late(story: Telling, name: str) -> TimerFired:
    """The timer of this name, as it is set now."""
    timer = next(timer for timer in timers(story.loop, story.policy) if timer.name.startswith(name))
    assert timer.deadline
    return TimerFired(name=timer.name, generation=timer.generation)


def test_a_collection_that_nobody_makes_becomes_the_next_attempt() -> None:
    collecting().after(599).then().after(1).then("fix.requested 1/2")


def test_a_collection_that_stalls_three_times_is_a_humans() -> None:
    story = collecting().after(1_800)
    story.then("fix.requested 1/2", "fix.requested 1/3", "cycle.finished 1 failed stalled", "escalated stalled")
    assert (story.loop.used, story.status) == (0, "needs_human")


def test_a_collection_that_no_fixer_claims_becomes_the_next_attempt() -> None:
    collecting().when(fetched(item())).after(12 * HOUR - 1).then().after(1).then("fix.requested 1/2")


def test_a_claim_whose_holder_is_gone_ends_the_attempt() -> None:
    fixing(SHORT_CLAIM).after(119).then().after(1).then("fix.requested 1/2")


def test_a_claim_of_an_attempt_that_was_cut_off_does_not_end_the_next() -> None:
    story = fixing()
    claim = late(story, "claim")
    story.when(failed("crashed"), fetched(item(), k=2), started(k=2)).so_far().when(claim).then()


def test_a_claim_holds_longer_than_the_agent_may_take() -> None:
    story = fixing()
    timer = next(timer for timer in timers(story.loop, story.policy) if timer.name == "claim/1/1")
    assert timer.due - story.time > story.policy.budget.agent_seconds * 1_000_000


def test_a_late_deadline_means_nothing_when_the_answer_came_meanwhile() -> None:
    story = collecting()
    collect = late(story, "collect")
    story.when(fetched(item()))
    start = late(story, "start")
    story.when(collect, started(), start)
    claim = late(story, "claim")
    story.when(prepared(), claim).then("push.requested 1/1")
    push = late(story, "push")
    story.when(pushed()).so_far().when(push).then()


def test_what_was_held_for_a_dead_claim_is_counted_as_spent() -> None:
    story = fixing(SHORT_CLAIM).after(120)
    assert story.loop.spent.usd_micro == 2_000_000
    assert [claim.live for claim in story.loop.claims.values()] == [False]


def test_what_a_live_claim_reserves_is_settled_by_what_it_used() -> None:
    story = fixing()
    assert [(claim.live, claim.usd_micro) for claim in story.loop.claims.values()] == [(True, 2_000_000)]
    story.when(prepared())
    assert [(claim.live, claim.usd_micro) for claim in story.loop.claims.values()] == [(False, 0)]


# --- requests that nobody answers ----------------------------------------------------------------------------------


def test_a_push_that_nobody_makes_is_asked_for_again() -> None:
    story = pushing().after(599).then().after(1).then("push.requested 1/1 again 1")
    assert story.last(PushRequested).key == "cycle/1/1/push/again/1"


def test_a_push_is_asked_for_again_five_times_and_then_a_human_is_asked() -> None:
    story = pushing().after(6 * 600)
    again = [f"push.requested 1/1 again {times}" for times in range(1, 6)]
    story.then(*again, "cycle.finished 1 failed stalled", "escalated stalled")
    assert story.loop.used == 0


def test_a_push_that_is_made_in_the_end_is_not_asked_for_again() -> None:
    pushing().after(700).so_far().when(pushed()).so_far().after(600).then()


def answer(cls: type[Notified] | type[NotifyFailed], pos: int) -> AnyFact:
    return cls(of=pos, channel="github")


def test_what_nobody_told_is_asked_for_again_every_hour_five_times_and_then_it_is_stalled() -> None:
    story = fixing().when(failed("policy")).so_far().after(5 * HOUR)
    assert [line for line in story.decided if line.startswith("escalated")] == [
        f"escalated policy again {times}" for times in range(1, 6)
    ]
    story.so_far().after(HOUR)
    assert story.decided == ["escalated stalled", "escalated stalled"]
    story.so_far().after(100 * HOUR).then()


@pytest.mark.parametrize("cls", [Notified, NotifyFailed])
def test_what_was_told_is_not_asked_for_again(cls: type[Notified] | type[NotifyFailed]) -> None:
    story = fixing().when(failed("policy")).so_far()
    story.when(*(answer(cls, pos) for pos in story.loop.asks)).after(100 * HOUR).then()


def test_a_channel_that_was_told_leaves_the_others_to_be_told() -> None:
    story = given(*believed(rejected())).when(command("ready")).so_far()
    (pos,) = story.loop.asks
    story.when(Notified(of=pos, channel="github", last=False)).after(HOUR).then("loop.finished ready again 1")


def test_asking_again_changes_nothing_else() -> None:
    story = fixing().when(failed("policy")).so_far()
    before = (story.loop.used, story.loop.n, story.loop.history, story.loop.finishes)
    story.after(3 * HOUR)
    assert (story.loop.used, story.loop.n, story.loop.history, story.loop.finishes) == before


def test_asking_a_question_again_asks_no_new_question() -> None:
    story = fixing().when(prepared(verdict(judgement="needs_human"), changes=()))
    story.so_far().after(HOUR)
    assert story.last(Escalated).again == 1
    assert story.loop.items["review/1"].questioned == story.loop.items["review/1"].version


def test_an_author_whom_nobody_looks_up_is_shown_to_a_human_once() -> None:
    story = given(rejected()).after(6 * HOUR - 1).then().after(1).then("escalated stalled")
    assert (story.last(Escalated).stops, story.status) == (False, "watching")
    story.when(checked(rejected())).after(30).then("fix.requested 1/1")


def test_an_author_who_was_looked_up_in_time_is_not_waited_for() -> None:
    story = given(rejected(by=EVE), checked(rejected(by=EVE), "read")).so_far()
    story.after(100 * HOUR).then()


def test_who_gave_a_command_and_is_not_looked_up_is_shown_to_a_human_once() -> None:
    order = command("fix", by=MARIA)
    story = given(rejected(by=EVE), checked(rejected(by=EVE), "read"), order)
    story.after(6 * HOUR - 1).then().after(1).then("escalated stalled")
    said = story.last(Escalated)
    assert (said.detail, said.stops) == ("nobody looked up who said fix (maria)", False)
    story.after(100 * HOUR).so_far().when(checked(order)).then("command.accepted fix", "fix.requested 1/1")


def test_commands_that_became_late_during_a_pause_are_told_of_together() -> None:
    orders = [command("fix", by=MARIA, id_=f"c-{number}") for number in range(4)]
    story = given(command("pause"), *orders).after(6 * HOUR).then()
    story.when(command("resume"))
    story.then("command.accepted resume", "loop.resumed", "escalated stalled")


def test_a_command_of_a_closed_pull_request_is_waited_for_when_that_is_open_again() -> None:
    story = given(command("fix", by=MARIA), closed(60)).after(100 * HOUR).so_far()
    story.when(observed(120)).after(0).then("escalated stalled")


def test_a_command_with_the_longest_name_can_be_waited_for_accepted_and_refused() -> None:
    longest = command("fix", by=MARIA, id_="x" * 200)
    given(longest).after(6 * HOUR).then("escalated stalled")
    given(rejected()).when(*believed(longest)).then("command.accepted fix", "fix.requested 1/1")
    given().when(*believed(longest, "read")).then("command.refused fix untrusted")


# --- what was given up ---------------------------------------------------------------------------------------------


def given_up(story: Telling, service: Reporter = "comment-fetcher") -> Telling:
    """The service parks the newest thing that it owes an answer to."""
    of = [owed.pos for owed in requests(story.loop, story.policy) if owed.service == service][-1]
    return story.when(DeliveryParked(of=of, service=service, error="KeyError")).so_far()


@pytest.mark.parametrize(
    "story",
    [
        given_up(given(rejected())).when(checked(rejected())),
        given_up(given(command("fix", by=MARIA))).when(checked(command("fix", by=MARIA))),
        given_up(collecting()).when(fetched(item())),
        given_up(collecting().when(fetched(item())), "fixer").when(started(), prepared()),
        given_up(pushing(), "publisher").when(pushed()),
    ],
)
def test_what_was_given_up_and_answered_after_all_is_given_up_no_more(story: Telling) -> None:
    assert story.loop.parked == {}


@pytest.mark.parametrize(
    ("story", "service", "seconds"),
    [
        (collecting(), "comment-fetcher", 600),
        (pushing(), "publisher", 600),
        (given(rejected()), "comment-fetcher", 6 * HOUR),
    ],
)
def test_what_was_given_up_is_so_until_it_is_asked_again(story: Telling, service: Reporter, seconds: int) -> None:
    assert len(given_up(story, service).loop.parked) == 1
    assert story.after(seconds).loop.parked == {}


def test_an_event_that_nobody_owes_an_answer_to_is_not_given_up() -> None:
    assert given().when(DeliveryParked(of=1, service="notifier", error="KeyError")).loop.parked == {}


def test_not_more_than_a_few_are_remembered() -> None:
    reviews = [rejected(number, by=Author(id=number)) for number in range(100, 160)]
    story = given(*reviews)
    for owed in requests(story.loop, story.policy):
        story.when(DeliveryParked(of=owed.pos, service="comment-fetcher", error="KeyError"))
    assert len(story.loop.parked) == 50


# --- what is owed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "services"),
    [
        (given(), []),
        (given(rejected()), ["comment-fetcher"]),
        (given(command("fix", by=MARIA)), ["comment-fetcher"]),
        (settling(), []),
        (collecting(), ["comment-fetcher"]),
        (collecting().when(fetched(item())), ["fixer"]),
        (fixing(), ["fixer"]),
        (pushing(), ["publisher"]),
        (pushing().when(pushed()), ["notifier", "notifier"]),
    ],
)
def test_each_service_owes_what_it_was_asked_for(story: Telling, services: list[str]) -> None:
    assert [request.service for request in requests(story.loop, story.policy)] == services


def test_a_request_is_owed_from_where_it_was_asked_last() -> None:
    story = pushing().after(600)
    (owed,) = requests(story.loop, story.policy)
    assert story.events[owed.pos - 1].key == "cycle/1/1/push/again/1"


# --- superseded work -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fact",
    [
        fetched(item(), n=1, k=1),
        prepared(n=1, k=1),
        failed("policy", n=1, k=1),
        FixStarted(n=1, k=1, holder="fixer/9", run="run-9"),
        prepared(n=9, k=1),
        pushed(9),
    ],
    ids=lambda fact: fact.type,
)
def test_what_an_attempt_that_is_over_reports_changes_nothing(fact: AnyFact) -> None:
    story = collecting().after(600).so_far()
    before = (story.loop.cycle, story.loop.phase, story.loop.items)
    story.when(fact).then()
    assert (story.loop.cycle, story.loop.phase, story.loop.items) == before


def test_a_push_of_an_earlier_attempt_that_is_found_late_ends_the_cycle_and_loses_nothing() -> None:
    story = pushing().when(refused("moved")).then("fix.requested 1/2").when(pushed())
    story.then("cycle.finished 1 pushed used").after(30).then("fix.requested 2/1")
