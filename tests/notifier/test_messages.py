"""Every text as people see it, and what no text may do whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amends.common.events import (
    CycleFinished,
    Escalated,
    Judgement,
    LoopFinished,
    Part,
    ReviewRequested,
    Usage,
    Verdict,
)
from amends.common.github.text import visible
from amends.common.situation import Situation, Spot, situation
from amends.common.standing import Status
from amends.notifier.messages import LABELS, Messages, Turned
from amends.notifier.words import BODY, mark, sealed
from tests.support.examples import HEAD
from tests.support.snapshots import assert_as_before
from tests.support.stories import STORIES, THREAD, Teller, awaiting, questioned, used_up
from tests.support.telling import SECRET, SITE, harms, last, messages, words

TURNED = (Turned("maria", "asked", "a" * 40), Turned("tom", "mention"), Turned("robot[bot]", "left_out"))
REASON = "The total is now a `Decimal`.\nSee *shop.py*."
HOSTILE = st.text(
    st.sampled_from([*"@#/<>![]()`*_\\|~$&:;.-= \n\taeiou019", "\u202e", "\u200b", "＠", "é", "\x1b", "\r"]),
    max_size=60,
) | st.lists(
    st.sampled_from([
        "![x](https://evil.test/a.png)", "<img src=x>", "<!-- amends:1-pr-7/card -->", "@everyone", "@org/team",
        "fixes #12", "Closes octo/shop#3", "resolves GH-9", "fix: https://forge.test/o/r/issues/1", "/amends retry",
        "\n/approve", "&#64;bob", "&lt;b&gt;", "[a](javascript:alert)", "[a]: https://evil.test", "www.evil.test",
        "```", "~~~\n", "mailto:a@b.c", "<https://evil.test>", "\\@bob", "`@bob`", "-->", "--!>", "\n", " ", "/",
        "\\", SECRET, "> ", f"[in]({SITE}/x)", "    /merge", "<details>", "\u2028/close",
    ]), max_size=8,
).map("".join)  # fmt: skip


def verdict(judgement: Judgement = Judgement.FIXED, reason: str = REASON) -> Verdict:
    hunks = ("shop.py:7-9", "cart.py:12") if judgement is Judgement.FIXED else ()
    return Verdict(item=THREAD, version="1" * 32, judgement=judgement, reason=reason, hunks=hunks)


@pytest.mark.parametrize("judgement", [one for one in Judgement if one is not Judgement.SUPERSEDED])
def test_a_reply_says_what_was_done(judgement: Judgement) -> None:
    assert_as_before(f"notifier/reply_{judgement}", messages(awaiting()).reply(verdict(judgement), HEAD).body)


def test_lines_are_named_as_people_name_them() -> None:
    names = ("a.py:7-9", "b.py:8-8", "c.py:5-4", "new.py:1-0", "d.py:1-1", "whole.py")
    said = messages(awaiting()).reply(verdict().model_copy(update={"hunks": names}), HEAD).body
    assert said.splitlines()[1].endswith(": a.py:7-9, b.py:8, c.py:5, new.py, d.py:1, whole.py.")


@pytest.mark.parametrize(("name", "teller"), STORIES.items(), ids=STORIES)
def test_the_card_says_where_it_stands(name: str, teller: Teller) -> None:
    now = messages(teller())
    label = now.label()
    assert_as_before(f"notifier/card_{name}", f"{now.card().body}\n\nlabel: {label.name if label else 'none'}")


def test_a_summary_has_what_found_no_place_in_a_thread() -> None:
    story = awaiting()
    finished = last(story, CycleFinished)
    assert_as_before("notifier/summary", messages(story).summary(finished, finished.verdicts).body)


def test_reviewers_are_asked_with_what_changed_since_they_looked() -> None:
    story = awaiting()
    assert_as_before("notifier/again", messages(story).asked_again(last(story, ReviewRequested), TURNED).body)


@pytest.mark.parametrize(("name", "teller"), [("max_cycles", used_up), ("question", questioned)])
def test_an_escalation_is_said_everywhere(name: str, teller: Teller) -> None:
    story = teller()
    fact, now = last(story, Escalated), messages(teller())
    assert_as_before(f"notifier/escalated_{name}", now.escalated(fact).body)
    assert_as_before(f"notifier/mail_{name}", f"{now.subject(fact)}\n\n{now.plain(fact)}")
    assert_as_before(f"notifier/slack_{name}", now.slack(fact))


def test_ready_is_said_with_who_was_asked() -> None:
    now, fact = messages(awaiting()), LoopFinished(outcome="ready", times=1)
    assert_as_before("notifier/ready", now.ready(fact, TURNED).body)
    assert_as_before("notifier/mail_ready", f"{now.subject(fact)}\n\n{now.plain(fact)}")


def test_the_same_marker_for_a_request_that_is_repeated() -> None:
    story = used_up()
    fact = last(story, Escalated)
    again = fact.model_copy(update={"again": 2})
    assert messages(story).escalated(fact).mark == messages(story).escalated(again).mark


def test_labels_are_told_apart_by_their_colour() -> None:
    assert len({label.color for label in LABELS}) == len({label.name for label in LABELS}) == 4


PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-```\n+````\n"
FORK = Escalated(of="cycle/1", reason="fork", detail="the branch belongs to another repository", patch="a" * 64)


def test_a_fix_that_could_not_be_pushed_is_folded_below_with_a_fence_that_holds() -> None:
    assert_as_before("notifier/escalated_fork", messages(awaiting()).escalated(FORK, PATCH).body)


@pytest.mark.parametrize("patch", ["", "x" * 30_000, "+token ghp_0123456789abcdefghijABCDEFGHIJ456789", "+\u202eevil"])
def test_half_a_patch_or_one_that_may_not_be_shown_is_only_named(patch: str) -> None:
    body = messages(awaiting()).escalated(FORK, patch).body
    assert "`amends loops patch " in body
    assert "<details>" not in body


# --- what no text may do -------------------------------------------------------------------------------------------


def hostile(text: str) -> Situation:
    name = text[:400]
    spots = {f"thread/{n}": Spot(name=name, url=name, left=left) for n, left in enumerate(("was put aside", "x"))}
    return Situation(
        loop="1-pr-7", full_name="octo/shop", number=7, title=name, url=name, head=HEAD, status=Status.NEEDS_HUMAN,
        why=text, next=text, used=1, history=(text,), items=spots, spent=Usage(),
    )  # fmt: skip


def bodies(text: str) -> list[str]:
    """Every comment with these words in each place that words from outside can reach."""
    now = Messages(words(), hostile(text))
    verdicts = [
        Verdict(item="thread/0", version="1" * 32, judgement=one, reason=text, hunks=(text[:400],)) for one in Judgement
    ]
    finished = CycleFinished(n=1, outcome="pushed", used=True, sha=HEAD, verdicts=tuple(verdicts))
    turned = [Turned(text, how, text) for how in ("asked", "left_out")]
    asked = ReviewRequested(n=1, sha=HEAD, reviewers=())
    return [
        now.card().body, now.summary(finished, verdicts).body, now.asked_again(asked, turned).body,
        now.escalated(Escalated(of="cycle/1", reason="question", detail=text)).body,
        now.ready(LoopFinished(outcome="ready", times=1), turned).body,
        *(now.reply(one, HEAD).body for one in verdicts),
    ]  # fmt: skip


@settings(deadline=None)
@given(HOSTILE)
def test_inv_34_nothing_in_a_comment_acts_on_anybody(text: str) -> None:
    for body in bodies(text):
        assert harms(body) == []


@settings(deadline=None)
@given(HOSTILE)
def test_inv_34_what_is_hidden_stays_out_and_doing_it_twice_changes_nothing(text: str) -> None:
    once = words().harmless(text)
    assert words().harmless(once) == once
    assert visible(once) == once


@settings(deadline=None, max_examples=20)
@given(st.text(max_size=2_000) | HOSTILE.map(lambda text: text * 4_000))
def test_inv_34_a_comment_has_an_end_and_keeps_its_marker(text: str) -> None:
    body = sealed(mark("1-pr-7", "card"), words().block(text, 200_000))
    assert len(body) <= BODY + 200
    assert body.startswith("<!-- amends:1-pr-7/card -->\n")


@given(st.text(max_size=200))
def test_inv_34_a_marker_ends_where_it_ends(key: str) -> None:
    marker = mark("1-pr-7", key.encode(errors="ignore").decode())
    assert marker.count("-->") == marker.count("<!--") == 1
    assert "--" not in marker.removeprefix("<!--").removesuffix("-->").replace("--", "", key.count("--"))


@pytest.mark.parametrize("login", ["octo-robot[bot]", "a b", "x\n/merge", "@all", "org/team"])
def test_inv_34_bots_and_what_is_no_login_are_never_mentioned(login: str) -> None:
    assert "@" not in words().mention(login)


def test_inv_34_only_people_are_mentioned() -> None:
    story = awaiting()
    body = messages(story).asked_again(last(story, ReviewRequested), TURNED).body
    assert harms(body, mentions=("tom",)) == []
    assert harms(body) == ["tom"]


@settings(deadline=None)
@given(HOSTILE)
def test_inv_35_nothing_in_a_chat_message_is_markup(text: str) -> None:
    said = Messages(words(), hostile(text)).slack(Escalated(of="cycle/1", reason="question", detail=text))
    assert "<" not in said
    assert ">" not in said
    assert len(said) < 4_000


@settings(deadline=None)
@given(HOSTILE)
def test_inv_35_a_subject_is_one_line(text: str) -> None:
    now = Messages(words(), hostile(text))
    assert now.subject(Escalated(of="cycle/1", reason="question", detail=text)).isprintable()


@settings(deadline=None)
@given(HOSTILE)
def test_inv_37_no_secret_leaves_in_any_text(text: str) -> None:
    now, fact = Messages(words(), hostile(f"{text}{SECRET}{text}")), Escalated(of="c", reason="question", detail=SECRET)
    said = [*bodies(f"{text}{SECRET}{text}"), now.slack(fact), now.plain(fact), now.subject(fact)]
    assert not any(SECRET in body for body in said)


def test_a_situation_survives_the_wire() -> None:
    story = used_up()
    now: Part = situation(story.loop, story.policy)
    assert Situation.model_validate_json(now.model_dump_json()) == now
