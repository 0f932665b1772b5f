"""The agent's way of working: triage, tools, limits, reports that are looked at, and every odd reply of a model."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amends.common.events import Failure, FixFailed, FixPrepared, Judgement, Verdict
from amends.common.policy import Budget, BudgetOverrides, Overrides
from amends.doubles.model import Asked, Breaks, Denies, ModelDouble, Says, Uses, calls, text
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fetching import RULES
from tests.support.fixing import edits, fixing, last_result, reports, told, triages
from tests.support.github import LINES, Scene

CHANGED = LINES.replace("line 10\n", "line ten\n")
ACTIONABLE = triages(item_1="actionable")
EDIT = edits("app.py", "line ten", "line X")
FIXED = reports(item_1=("app.py:10-10",))


class Place:
    """A pull request with one comment of prose on it, and a model."""

    def __init__(self, book: Book, scene: Scene, folder: Path, double: ModelDouble) -> None:
        self.book, self.scene, self.folder, self.double = book, scene, folder, double
        scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Better."}])

    async def ended(self, **rules: Any) -> FixPrepared | FixFailed:
        """How the attempt ends under these rules."""
        ruled = RULES.model_copy(update=rules)
        async with fixing(self.book, self.scene, self.folder, self.double, ruled) as bench:
            return await bench.fixed()

    async def failed(self, **rules: Any) -> Failure:
        ended = await self.ended(**rules)
        assert isinstance(ended, FixFailed), ended
        return ended.reason

    async def prepared(self, **rules: Any) -> FixPrepared:
        ended = await self.ended(**rules)
        assert isinstance(ended, FixPrepared), ended
        return ended

    def blob(self, fact: FixPrepared, path: str) -> str:
        sha = next(one.blob for one in fact.changes if one.path == path)
        return (self.book.log.blob(sha or "") or b"").decode()

    def said(self, fact: FixPrepared | FixFailed) -> list[Any]:
        """What is kept of the conversation, turn by turn."""
        return told(self.book, fact.transcript)

    def results(self) -> list[str]:
        """What the tools answered, one for each turn but the first."""
        return [last_result(asked) for asked in self.double.asked[1:]]


@pytest.fixture
def place(sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble) -> Place:
    return Place(sqlite_book, scene, tmp_path, double)


def thread(fact: FixPrepared) -> Verdict:
    return next(one for one in fact.verdicts if one.item.startswith("thread/"))


@asynchronous
async def test_what_was_asked_for_is_done_and_named(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED)
    fact = await place.prepared()
    assert place.blob(fact, "app.py") == CHANGED.replace("line ten", "line X")
    assert (thread(fact).judgement, thread(fact).hunks) == (Judgement.FIXED, ("app.py:10-10",))


@asynchronous
async def test_a_question_is_answered_without_touching_code(place: Place) -> None:
    place.double.says(triages(item_1="question"), reports(item_1="answered: Because it is the tenth."))
    fact = await place.prepared()
    assert fact.changes == ()
    assert (thread(fact).judgement, thread(fact).reason) == (Judgement.ANSWERED, "Because it is the tenth.")


@asynchronous
async def test_what_cannot_be_done_is_handed_to_a_human(place: Place) -> None:
    sorted_ = [{"item": "item-1", "kind": "needs_human", "severity": "high", "category": "logic", "reason": "Which?"}]
    place.double.says(calls(Uses("triage", {"overall": "blocked", "items": sorted_})))
    fact = await place.prepared()
    assert (thread(fact).judgement, thread(fact).reason, fact.changes) == (Judgement.NEEDS_HUMAN, "Which?", ())


@asynchronous
async def test_nothing_is_changed_before_the_triage(place: Place) -> None:
    place.double.says(EDIT, ACTIONABLE, EDIT, FIXED)
    await place.prepared()
    assert place.results()[:3] == ["call `triage` first", "noted", "edited"]


@asynchronous
async def test_below_the_threshold_it_is_put_off_and_the_agent_is_told(place: Place) -> None:
    place.double.says(triages(item_1="actionable/low"), reports(item_1="deferred: told to"))
    fact = await place.prepared()
    assert thread(fact).judgement is Judgement.DEFERRED
    assert "below the threshold" in thread(fact).reason
    assert "Do not work on item-1" in place.results()[0]


@asynchronous
async def test_every_request_begins_with_the_bytes_of_the_one_before(place: Place) -> None:
    place.double.says(ACTIONABLE, calls(Uses("view", {"path": "app.py", "start": 8, "end": 12})), EDIT, FIXED)
    await place.prepared()
    asked = place.double.asked
    assert [json.dumps([one.body["tools"], one.body["system"]]) for one in asked[1:]] == [
        json.dumps([asked[0].body["tools"], asked[0].body["system"]])
    ] * 3
    assert all(later.messages[: len(one.messages)] == one.messages for one, later in pairwise(asked))
    assert all(later.whole.startswith(one.whole[:-1]) for one, later in pairwise(asked))


@asynchronous
async def test_what_it_cost_is_told_and_every_turn_is_kept(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED)
    fact = await place.prepared()
    spent = [link["tokens"] for link in place.said(fact) if link["tokens"]]
    assert fact.usage.turns == len(spent) == 3
    assert fact.usage.tokens == sum(sum(one.values()) for one in spent)
    assert spent[2]["read"] > spent[2]["written"] > 0
    assert fact.usage.usd_micro > 0


# --- reports that are looked at --------------------------------------------------------------------------------------


@asynchronous
async def test_a_hunk_that_belongs_to_no_item_is_refused(place: Place) -> None:
    place.double.says(
        ACTIONABLE, EDIT, edits("app.py", "line 2\n", "line two\n"), FIXED,
        edits("app.py", "line two\n", "line 2\n"), FIXED,
    )  # fmt: skip
    fact = await place.prepared()
    assert "lines 2 to 2 belong to no item" in place.results()[3]
    assert place.blob(fact, "app.py") == CHANGED.replace("line ten", "line X")


@asynchronous
async def test_a_report_that_lies_about_hunks_is_refused(place: Place) -> None:
    place.double.says(ACTIONABLE, reports(item_1=("app.py:3-3",)), reports(item_1="declined: It is good as it is."))
    fact = await place.prepared()
    assert "there is no hunk app.py:3-3" in place.results()[1]
    assert (thread(fact).judgement, fact.changes) == (Judgement.DECLINED, ())


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        (calls(Uses("report", {"items": []})), "missing: item-1"),
        (reports(item_1="answered: "), "needs a reason"),
        (reports(item_2="answered: x"), "there is no item-2"),
        (calls(Uses("report", {"items": "all good"})), "items: Input should be"),
        (calls(Uses("report", {"items": [{"item": "item-1", "verdict": "done"}]})), "items.0.verdict"),
    ],
)
@asynchronous
async def test_a_report_that_does_not_fit_is_asked_for_again(place: Place, report: Says, complaint: str) -> None:
    place.double.says(ACTIONABLE, report, reports(item_1="declined: No."))
    await place.prepared()
    assert complaint in place.results()[1]


@asynchronous
async def test_inv_27_a_protected_path_ends_the_attempt_with_the_list(place: Place) -> None:
    path = ".github/workflows/ci.yml"
    place.double.says(ACTIONABLE, calls(Uses("create", {"path": path, "content": "on: push\n"})))
    place.double.always = reports(item_1=(path,))
    ended = await place.ended()
    assert isinstance(ended, FixFailed)
    assert (ended.reason, path in ended.detail) == (Failure.POLICY, True)
    assert len(place.double.asked) == 6


@asynchronous
async def test_inv_28_a_secret_in_the_change_is_refused(place: Place) -> None:
    secret = f"ghp_{'a1B2' * 9}"
    place.double.says(ACTIONABLE, edits("app.py", "line ten", f"token = '{secret}'"))
    place.double.always = FIXED
    assert await place.failed() is Failure.POLICY


# --- checks ----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_check_that_the_change_breaks_is_shown_to_the_agent(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED, edits("app.py", "line X", "line Y"), FIXED)
    fact = await place.prepared(checks=("! grep -n 'line X' app.py",))
    assert "passes without your changes" in place.results()[2]
    assert "10:line X" in place.results()[2]
    assert [(one.before, one.after) for one in fact.checks] == [("skipped", "passed")]


@asynchronous
async def test_a_check_that_failed_before_need_not_be_mended(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED)
    fact = await place.prepared(checks=("true", "false"))
    assert [(one.name, one.before, one.after) for one in fact.checks] == [
        ("true", "skipped", "passed"),
        ("false", "failed", "failed"),
    ]


@asynchronous
async def test_what_a_check_writes_is_no_part_of_the_fix(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED)
    fact = await place.prepared(checks=("echo x >report.xml; echo y >>app.py",))
    assert [one.path for one in fact.changes] == ["app.py"]
    assert place.blob(fact, "app.py").count("y\n") == 0


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget",
    [BudgetOverrides(turns=3), BudgetOverrides(tokens=9_000), BudgetOverrides(run_usd=0.02)],
)
@asynchronous
async def test_rel_11_endless_turns_end_at_the_limit(place: Place, budget: BudgetOverrides) -> None:
    place.double.says(ACTIONABLE)
    place.double.always = calls(Uses("list", {"path": None}))
    assert await place.failed(budget=budget) is Failure.LIMITS
    assert len(place.double.asked) <= 12


@asynchronous
async def test_limits_are_looked_at_before_a_turn_and_not_after(place: Place) -> None:
    place.double.says(ACTIONABLE)
    assert await place.failed(budget=BudgetOverrides(turns=1)) is Failure.LIMITS
    assert len(place.double.asked) == 1


@asynchronous
async def test_time_is_a_limit(place: Place) -> None:
    place.double.says(Says(("slow",), seconds=9))
    assert await place.failed(budget=BudgetOverrides(agent_seconds=1)) is Failure.LIMITS


@asynchronous
async def test_a_pause_between_two_turns_ends_the_run(place: Place) -> None:
    async with fixing(place.book, place.scene, place.folder, place.double, RULES) as bench:

        def paused(_: Asked) -> Says:
            bench.desk.rules(Overrides(enabled=False))
            return calls(Uses("list", {"path": None}))

        place.double.says(ACTIONABLE, paused)
        ended = await bench.fixed()
    assert isinstance(ended, FixFailed)
    assert (ended.reason, len(place.double.asked)) == (Failure.CANCELLED, 2)


# --- odd replies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("always", "reason"),
    [
        (text("I will not.", "refusal"), Failure.REFUSED),
        (text("Done."), Failure.MALFORMED),
        (Says(("long",), "max_tokens"), Failure.LIMITS),
        (Says(("long",), "model_context_window_exceeded"), Failure.LIMITS),
        (Says((), "end_turn"), Failure.MALFORMED),
        (calls(Uses("view", raw='{"path": nonsense')), Failure.MALFORMED),
        (Denies(429, "rate_limit_error", headers={"retry-after": "0"}), Failure.MODEL_OVERLOADED),
        (Breaks(text("half"), after=3, kind="overloaded_error"), Failure.MODEL_OVERLOADED),
        (Denies(529, "overloaded_error"), Failure.MODEL_OVERLOADED),
        (Breaks(text("half"), after=3), Failure.MODEL_OVERLOADED),
        (Denies(401, "authentication_error"), Failure.MODEL_AUTH),
        (Denies(429, "rate_limit_error", code="enforced_spend_limit_reached"), Failure.MODEL_SPEND),
        (Denies(404, "not_found_error"), Failure.MODEL_UNKNOWN),
    ],
)
@asynchronous
async def test_rel_11_each_way_to_fail_has_its_reason(
    place: Place, always: Says | Denies | Breaks, reason: Failure
) -> None:
    place.double.always = always
    assert await place.failed() is reason


@asynchronous
async def test_rel_11_a_call_in_a_reply_that_was_cut_is_not_done(place: Place) -> None:
    place.double.says(ACTIONABLE, Says((Uses("edit", {"path": "app.py", "old": "line 1\n", "new": ""}),), "max_tokens"))
    place.double.says(reports(item_1="declined: No."))
    fact = await place.prepared()
    assert fact.changes == ()
    assert place.double.asked[2].results()[0]["content"] == "cut off, not done"


@asynchronous
async def test_rel_11_a_reminder_brings_back_a_model_that_forgot_to_report(place: Place) -> None:
    place.double.says(ACTIONABLE, text("I am done."), reports(item_1="declined: No."))
    await place.prepared()
    assert place.double.asked[2].messages[-1]["content"][0]["text"] == "Call `report` to end."


@pytest.mark.parametrize("odd", [Says(()), Says(("",)), Says((" \n",), "tool_use"), Says(("Well.",), "tool_use")])
@asynchronous
async def test_rel_11_a_reply_without_words_or_calls_ends_nothing(place: Place, odd: Says) -> None:
    place.double.says(ACTIONABLE, odd, EDIT, FIXED)
    assert place.blob(await place.prepared(), "app.py") == CHANGED.replace("line ten", "line X")


@asynchronous
async def test_a_name_that_is_no_text_is_shown_to_the_agent_as_it_can_be(place: Place) -> None:
    odd = calls(Uses("run", {"command": 'printf x > "$(printf "odd\\377")"'}))
    tidied = calls(Uses("run", {"command": "rm odd*"}))
    place.double.says(ACTIONABLE, odd, calls(Uses("list", {"path": None})), EDIT, FIXED, tidied, FIXED)
    await place.prepared()
    assert (r"odd\udcff" in place.results()[2], r"odd\udcff: it holds what cannot be seen" in place.results()[4]) == (
        True, True,
    )  # fmt: skip


@asynchronous
async def test_a_name_that_is_no_text_ends_an_attempt_with_words(place: Place) -> None:
    place.double.says(ACTIONABLE, calls(Uses("run", {"command": 'printf x > "$(printf "odd\\377")"'})))
    place.double.always = reports(item_1="declined: No.")
    ended = await place.ended()
    assert isinstance(ended, FixFailed)
    assert (ended.reason, "it holds what cannot be seen" in ended.detail) == (Failure.POLICY, True)


@asynchronous
async def test_tools_that_are_not_there_or_asked_wrongly_answer_with_what_is_wrong(place: Place) -> None:
    place.double.says(
        ACTIONABLE,
        calls(Uses("fly", {})),
        calls(Uses("view", {})),
        calls(Uses("edit", {"path": "app.py", "old": "line 1", "new": "x"})),
        calls(Uses("view", {"path": "../../etc/passwd", "start": None, "end": None})),
        calls(Uses("create", {"path": ".git/hooks/post-commit", "content": "x"})),
        calls(Uses("run", {"command": ""})),
        reports(item_1="declined: No."),
    )
    await place.prepared()
    said = place.results()[1:7]
    assert [
        part in one
        for part, one in zip(["no tool", "KeyError", "11 times", "below", "no git", "give"], said, strict=True)
    ]
    assert all(asked.results()[0]["is_error"] for asked in place.double.asked[2:8])


@asynchronous
async def test_everything_that_was_said_is_kept_once_and_in_its_order(place: Place) -> None:
    place.double.says(ACTIONABLE, EDIT, FIXED)
    links = place.said(await place.prepared())
    said = [message for link in links for message in link["said"]]
    assert said[0]["system"].startswith("You amend a pull request")
    assert [one["role"] for one in said[1:]] == ["user", "assistant"] * 3 + ["user"]
    assert said[1:-2] == place.double.asked[-1].messages
    assert said[-1]["content"][0]["content"] == "accepted"


@asynchronous
async def test_a_failed_attempt_still_says_what_it_cost(place: Place) -> None:
    place.double.says(ACTIONABLE, text("No.", "refusal"))
    ended = await place.ended()
    assert isinstance(ended, FixFailed)
    assert (ended.usage.turns, bool(ended.transcript)) == (2, True)


def test_a_budget_of_the_policy_has_all_the_limits() -> None:
    assert Budget().run_usd < Budget().usd
