"""What deliveries say: GitHub's own examples, payloads derived from them, and what is ignored, by name."""

from __future__ import annotations

import sys
from typing import get_args

import pytest

from amends.common.events import (
    ChecksFinished,
    CommandGiven,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    PrClosed,
    PrObserved,
    ReviewApproved,
    ReviewCommented,
    ReviewDismissed,
    ReviewRejected,
    ThreadResolved,
)
from amends.common.github.sightings import Ours
from amends.gateway.found import Ignored, Observed, Reason
from amends.gateway.observe import observe
from amends.gateway.payloads import Unreadable
from tests.contract.examples import named, rejections
from tests.support.gateway import OURS, REPO, Json, example, raw, remark, review


def seen(event: str, payload: Json) -> Observed:
    found = observe(event, raw(payload), Ours(frozenset({OURS})))
    assert isinstance(found, Observed)
    return found


def facts(event: str, payload: Json) -> list[object]:
    return [fact for _, fact in seen(event, payload).facts]


def ignored(event: str, payload: Json) -> str:
    found = observe(event, raw(payload), Ours(frozenset({OURS})))
    assert isinstance(found, Ignored)
    return found.reason


def said(event: str, payload: Json) -> str:
    found = observe(event, raw(payload))
    if isinstance(found, Ignored):
        return f"ignored: {found.reason}"
    check = [f"{found.check.type} by its commit"] if found.check else []
    access = [f"{found.access.fact.type} {found.access.fact.access}"] if found.access else []
    return ", ".join([*(fact.type for _, fact in found.facts), *check, *access])


def test_all_99_genuine_payloads_give_a_fact_or_a_named_reason(capsys: pytest.CaptureFixture[str]) -> None:
    table = [(f"{event}.{payload.get('action', '')}", said(event, payload)) for event, payload in named()]
    with capsys.disabled():
        sys.stdout.writelines(f"\n{event:48}{outcome}" for event, outcome in table)
    assert len(table) == 99
    assert [row for row in table if not row[1]] == []


@pytest.mark.parametrize("payload", rejections())
def test_a_derived_rejection_is_a_rejection(payload: Json) -> None:
    (rejected,) = [fact for fact in facts("pull_request_review", payload) if isinstance(fact, ReviewRejected)]
    assert (rejected.review, rejected.head) == (payload["review"]["id"], payload["review"]["commit_id"])
    assert (rejected.body is None) == (payload["review"]["body"] is None)


# --- pull requests -------------------------------------------------------------------------------------------------


def test_a_pull_request_is_seen_as_it_stands() -> None:
    (pull,) = facts("pull_request", example("pull_request", "synchronize"))
    assert isinstance(pull, PrObserved)
    assert (pull.full_name, pull.head_ref, pull.base_ref) == ("Codertocat/Hello-World", "changes", "master")
    assert (pull.head_repo, pull.draft, pull.author.login) == (REPO, False, "Codertocat")


def test_a_merged_pull_request_is_closed() -> None:
    payload = example("pull_request", "closed")
    payload["pull_request"] |= {"merged": True, "merged_at": "2026-03-02T12:00:00Z"}
    (closed,) = facts("pull_request", payload)
    assert isinstance(closed, PrClosed)
    assert closed.merged


@pytest.mark.parametrize("field", ["draft", "merged", "merged_at", "labels", "user", "title", "html_url"])
@pytest.mark.parametrize("action", ["opened", "closed"])
def test_what_a_pull_request_event_may_leave_out_is_not_so(action: str, field: str) -> None:
    payload = example("pull_request", action)
    payload["pull_request"].pop(field)
    (pull,) = facts("pull_request", payload)
    assert isinstance(pull, PrClosed if action == "closed" else PrObserved)
    assert isinstance(pull, PrClosed) or not pull.draft


def test_a_deleted_fork_leaves_a_pull_request_without_a_head_repository() -> None:
    payload = example("pull_request", "opened")
    payload["pull_request"]["head"]["repo"] = None
    (pull,) = facts("pull_request", payload)
    assert isinstance(pull, PrObserved)
    assert pull.head_repo is None


@pytest.mark.parametrize("ref", ["-rf", "a..b", "a b", "a~1", "a\\b", "x.lock", "/a", "a/", "a\u202eb", "@{u}", ""])
def test_inv_09_a_pull_request_with_a_branch_that_git_refuses_is_not_followed(ref: str) -> None:
    payload = example("pull_request", "opened")
    payload["pull_request"]["head"]["ref"] = ref
    assert ignored("pull_request", payload) == "not_whole"


def test_an_address_that_is_none_is_not_kept() -> None:
    payload = example("pull_request", "opened")
    payload["pull_request"]["html_url"] = "javascript:alert(1)"
    (pull,) = facts("pull_request", payload)
    assert isinstance(pull, PrObserved)
    assert pull.url == ""


# --- reviews -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["changes_requested", "CHANGES_REQUESTED", "Changes_Requested"])
def test_a_state_is_read_in_any_case(state: str) -> None:
    assert isinstance(facts("pull_request_review", review(state=state))[1], ReviewRejected)


def test_one_delivery_tells_of_the_review_and_of_the_pull_request() -> None:
    kinds = [type(fact) for fact in facts("pull_request_review", review(state="approved"))]
    assert kinds == [PrObserved, ReviewApproved]


def test_a_review_of_a_slim_pull_request_tells_of_the_review_alone() -> None:
    payload = review(state="commented")
    del payload["pull_request"]["draft"]
    assert [type(fact) for fact in facts("pull_request_review", payload)] == [ReviewCommented]


def test_a_dismissal_is_told_with_its_author() -> None:
    dismissed = facts("pull_request_review", example("pull_request_review", "dismissed"))[1]
    assert isinstance(dismissed, ReviewDismissed)
    assert dismissed.author.login == "Codertocat"


def test_an_edited_review_is_an_edited_comment_and_the_review_in_case_it_was_missed() -> None:
    found = facts("pull_request_review", review(action="edited"))[1:]
    assert [type(fact) for fact in found] == [ReviewRejected, CommentEdited]


@pytest.mark.parametrize("state", ["pending", "invented", ""])
def test_a_review_that_is_not_sent_off_says_nothing(state: str) -> None:
    assert ignored("pull_request_review", review(state=state)) == "not_submitted"


def test_a_deleted_account_is_a_ghost() -> None:
    payload = review()
    payload["review"]["user"] = None
    (rejected,) = [fact for fact in facts("pull_request_review", payload) if isinstance(fact, ReviewRejected)]
    assert (rejected.author.id, rejected.author.kind) == (0, "ghost")


def test_inv_16_what_our_own_account_says_is_no_feedback() -> None:
    payload = review()
    payload["review"]["user"]["id"] = OURS
    assert [type(fact) for fact in facts("pull_request_review", payload)] == [PrObserved]
    assert ignored("issue_comment", remark("hello", id=OURS)) == "our_own"


def test_a_bot_is_known_by_its_type() -> None:
    payload = review()
    payload["review"]["user"] |= {"type": "Bot", "login": "robot[bot]"}
    (rejected,) = [fact for fact in facts("pull_request_review", payload) if isinstance(fact, ReviewRejected)]
    assert (rejected.author.kind, rejected.author.login) == ("bot", "robot[bot]")


def test_a_login_that_is_none_is_not_kept() -> None:
    payload = review()
    payload["review"]["user"]["login"] = "maria`whoami`"
    (rejected,) = [fact for fact in facts("pull_request_review", payload) if isinstance(fact, ReviewRejected)]
    assert (rejected.author.id, rejected.author.login) == (payload["review"]["user"]["id"], "")


# --- comments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes", [{"line": None, "position": None}, {"subject_type": "file", "line": None}, {"start_line": 3}]
)
def test_a_line_comment_is_told_wherever_it_is_anchored(changes: Json) -> None:
    payload = example("pull_request_review_comment", "created")
    payload["comment"] |= changes
    (comment,) = facts("pull_request_review_comment", payload)
    assert isinstance(comment, CommentAdded)
    assert (comment.kind, comment.root, comment.comment) == ("thread", payload["comment"]["id"], comment.root)


def test_a_reply_belongs_to_its_threads_root() -> None:
    payload = example("pull_request_review_comment", "created")
    payload["comment"]["in_reply_to_id"] = 17
    (comment,) = facts("pull_request_review_comment", payload)
    assert isinstance(comment, CommentAdded)
    assert comment.root == 17


def test_edits_and_deletions_are_told() -> None:
    edited, deleted = (example("pull_request_review_comment", action) for action in ("edited", "deleted"))
    assert isinstance(facts("pull_request_review_comment", edited)[0], CommentEdited)
    assert isinstance(facts("pull_request_review_comment", deleted)[0], CommentDeleted)


def test_a_conversation_counts_on_pull_requests_alone() -> None:
    assert isinstance(facts("issue_comment", remark("hello"))[0], CommentAdded)
    assert ignored("issue_comment", example("issue_comment", "created")) == "not_a_pull_request"


def test_a_resolved_thread_is_named_after_its_root_and_dated_by_github() -> None:
    payload = example("pull_request_review_thread", "resolved", updated_at="2026-03-02T12:00:00Z")
    (resolved,) = [fact for fact in facts("pull_request_review_thread", payload) if isinstance(fact, ThreadResolved)]
    assert resolved.root == payload["thread"]["comments"][0]["id"]
    assert resolved.updated_at is not None


def test_a_thread_without_comments_cannot_be_named() -> None:
    payload = example("pull_request_review_thread", "resolved")
    payload["thread"]["comments"] = []
    assert ignored("pull_request_review_thread", payload) == "not_named"


# --- commands ------------------------------------------------------------------------------------------------------


def commands(event: str, payload: Json) -> list[CommandGiven]:
    return [fact for fact in facts(event, payload) if isinstance(fact, CommandGiven)]


def test_inv_29_a_command_at_the_start_of_a_line_is_given_by_its_comment() -> None:
    (command,) = commands("issue_comment", remark("Well.\n/amends retry", number=31))
    assert (command.id, command.name, command.author.login) == ("comment-31", "retry", "Codertocat")


def test_a_review_may_hold_a_command() -> None:
    (command,) = commands("pull_request_review", review(body="/amends refine use a set"))
    assert (command.id, command.name, command.text) == ("review-1", "refine", "use a set")


def test_an_edit_is_a_command_only_of_the_one_who_wrote_the_comment() -> None:
    payload = remark("/amends accept", action="edited")
    assert [command.name for command in commands("issue_comment", payload)] == ["accept"]
    payload["sender"] = payload["sender"] | {"id": 77}
    assert commands("issue_comment", payload) == []


@pytest.mark.parametrize("user", [{"type": "Bot"}, {"id": OURS}])
def test_inv_16_bots_and_we_ourselves_give_no_commands(user: Json) -> None:
    found = observe("issue_comment", raw(remark("/amends fix", **user)), Ours(frozenset({OURS})))
    assert not isinstance(found, Observed) or not any(isinstance(fact, CommandGiven) for _, fact in found.facts)


# --- checks --------------------------------------------------------------------------------------------------------


def run(**changes: object) -> Json:
    payload = example("check_run", "completed")
    payload["check_run"] |= changes
    return payload


def test_a_failed_check_is_told_without_saying_that_it_is_required() -> None:
    (check,) = facts("check_run", run(conclusion="failure"))
    assert isinstance(check, ChecksFinished)
    assert (check.conclusion, check.required) == ("failure", None)


@pytest.mark.parametrize("conclusion", ["cancelled", "stale", "action_required", None])
def test_a_check_that_says_nothing_of_the_code_is_undecided(conclusion: str | None) -> None:
    assert ignored("check_run", run(conclusion=conclusion)) == "undecided"


def test_a_check_of_a_fork_is_told_by_its_commit() -> None:
    found = seen("check_run", run(pull_requests=[]))
    assert found.check is not None
    assert found.facts == ()


def test_a_check_is_not_told_to_pull_requests_of_other_repositories() -> None:
    foreign = {"number": 9, "base": {"repo": {"id": 1}}}
    assert seen("check_run", run(pull_requests=[foreign])).facts == ()


def test_a_checks_name_becomes_one_token() -> None:
    (check,) = facts("check_run", run(name="Tests (ubuntu, 3.11) \u2014 all"))
    assert isinstance(check, ChecksFinished)
    assert check.name == "Tests%20(ubuntu,%203.11)%20%E2%80%94%20all"


# --- access and the rest -------------------------------------------------------------------------------------------


def test_an_app_that_is_taken_away_loses_its_repositories() -> None:
    access = seen("installation", example("installation", "deleted")).access
    assert access is not None
    assert (access.fact.access, access.repositories) == ("lost", ((1296269, "octocat/Hello-World"),))


def test_a_suspended_app_loses_all_of_its_owner() -> None:
    access = seen("installation", example("installation", "suspend")).access
    assert access is not None
    assert (access.fact.access, access.owner) == ("lost", "Codertocat")


@pytest.mark.parametrize("event", ["push", "star", "workflow_run", "invented"])
def test_what_we_do_not_follow_is_ignored_by_name(event: str) -> None:
    assert ignored(event, {"zen": "whatever"}) == "not_followed"


def test_every_reason_is_a_word() -> None:
    assert all(reason.replace("_", "").isalpha() for reason in get_args(Reason))


# --- what is refused -----------------------------------------------------------------------------------------------


def refusal(event: str, body: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        observe(event, body)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the body: Invalid JSON"),
        (b"[]", "the body: Input should be an object"),
        (b'{"action":', "the body: Invalid JSON"),
        (b'{"action":"opened"}', "pull_request: Field required"),
        (b'{"pull_request":{"number":1},"repository":{"id":1}}', "repository.full_name: "),
        (b'{"pull_request":{"number":1}}', "repository: it is missing"),
        (b'{"pull_request":{"number":1e99},"repository":{"id":1}}', "pull_request.number: "),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "the body: Invalid JSON: recursion limit"),
        (b'{"action":"\xff"}', "the body: Invalid JSON"),
    ],
)
def test_inv_03_what_is_outside_the_schema_is_refused_and_the_field_is_named(body: bytes, why: str) -> None:
    assert refusal("pull_request", body).startswith(why)


def test_inv_03_a_key_that_stands_twice_is_refused() -> None:
    body = raw(review())
    twice = body[:-1] + b',"repository":{"id":1,"full_name":"evil/other"}}'
    assert "the key 'repository' stands there twice" in refusal("pull_request_review", twice)


def test_inv_03_a_key_that_stands_twice_in_the_repository_is_refused() -> None:
    body = raw(review()).replace(b'"repository":{', b'"repository":{"i\\u0064":1,', 1)
    assert "the key 'id' stands there twice" in refusal("pull_request_review", body)


@pytest.mark.parametrize(("field", "value"), [("id", 1), ("full_name", "evil/other")])
def test_inv_03_two_repositories_that_disagree_are_refused(field: str, value: object) -> None:
    payload = review()
    payload["pull_request"]["base"]["repo"][field] = value
    assert refusal("pull_request_review", raw(payload)).startswith("pull_request.base.repo: ")


@pytest.mark.parametrize("name", ["", "a", "a/b/c", "../b", "a/..", "a/b c", "\u00e4/b", "a/b\n", "-" * 101 + "/b"])
def test_inv_09_a_repository_that_is_not_called_owner_name_is_refused(name: str) -> None:
    payload = review()
    payload["repository"]["full_name"] = payload["pull_request"]["base"]["repo"]["full_name"] = name
    assert refusal("pull_request_review", raw(payload)).startswith("repository.full_name: ")


def test_a_lone_surrogate_costs_its_own_letter_and_nothing_else() -> None:
    body = raw(review()).replace(b'"Please."', b'"\\ud83d Please.\\ud83d\\ude00 \\udc00"')
    found = observe("pull_request_review", body)
    assert isinstance(found, Observed)
    assert len(found.facts) == 2


def test_missing_optional_fields_are_missed_by_nobody() -> None:
    slim: Json = {
        "action": "submitted",
        "review": {"id": 5, "state": "approved"},
        "pull_request": {"number": 3},
        "repository": {"id": 7, "full_name": "octo/shop"},
    }
    (approved,) = facts("pull_request_review", slim)
    assert isinstance(approved, ReviewApproved)
    assert (approved.node, approved.author.kind, approved.head) == ("review-5", "ghost", "")
