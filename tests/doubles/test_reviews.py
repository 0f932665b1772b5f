"""What GitHub makes of reviews."""

from __future__ import annotations

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.refusal import Refused
from tests.doubles.client import Api
from tests.doubles.receiver import Receiver

PULL = "/repos/acme/widget/pulls/1"
OPINIONS = "latestOpinionatedReviews(first:10){nodes{state author{login}}}"


def opinions(api: Api) -> list[tuple[str, str]]:
    nodes = api.pull(OPINIONS)["latestOpinionatedReviews"]["nodes"]
    return [(one["author"]["login"], one["state"]) for one in nodes]


@pytest.mark.parametrize("event", ["APPROVE", "REQUEST_CHANGES"])
def test_nobody_judges_his_own_pull_request(alice: Api, pull: PullHandle, event: str) -> None:
    answer = alice.post(f"{PULL}/reviews", {"event": event, "body": "mine"})
    assert answer.status_code == 422
    assert "your own pull request" in answer.text


def test_commenting_on_ones_own_is_fine(alice: Api, pull: PullHandle) -> None:
    assert alice.post(f"{PULL}/reviews", {"event": "COMMENT", "body": "mine"}).status_code == 200


def test_a_review_answers_200_and_not_201(bob: Api, pull: PullHandle) -> None:
    answer = bob.post(f"{PULL}/reviews", {"event": "APPROVE"})
    assert (answer.status_code, answer.json()["state"]) == (200, "APPROVED")


def test_a_later_comment_does_not_clear_a_rejection(bob: Api, pull: PullHandle) -> None:
    pull.review("bob", "changes_requested", "No.")
    pull.review("bob", "commented", "Still.")
    assert opinions(bob) == [("bob", "CHANGES_REQUESTED")]


def test_an_approval_supersedes_a_rejection(bob: Api, pull: PullHandle) -> None:
    pull.review("bob", "changes_requested", "No.")
    pull.review("bob", "approved")
    assert opinions(bob) == [("bob", "APPROVED")]


def test_a_rejection_survives_a_push(bob: Api, pull: PullHandle) -> None:
    pull.review("bob", "changes_requested", "No.")
    pull.push({"app.py": "all new\n"}, by="alice")
    assert opinions(bob) == [("bob", "CHANGES_REQUESTED")]


def test_a_dismissal_rewrites_the_review_in_place(alice: Api, pull: PullHandle, receiver: Receiver) -> None:
    review = pull.review("bob", "changes_requested", "No.")
    answer = alice.send("PUT", f"{PULL}/reviews/{review.id}/dismissals", {"message": "done"})
    assert (answer.json()["id"], answer.json()["state"], answer.json()["body"]) == (review.id, "DISMISSED", "No.")


def test_a_comment_can_not_be_dismissed(alice: Api, pull: PullHandle) -> None:
    review = pull.review("bob", "commented", "Hm.")
    answer = alice.send("PUT", f"{PULL}/reviews/{review.id}/dismissals", {"message": "done"})
    assert answer.status_code == 422


def test_webhooks_tell_states_in_lower_case_and_rest_in_capitals(
    github: GitHubDouble, bob: Api, pull: PullHandle, receiver: Receiver
) -> None:
    pull.review("bob", "changes_requested", "No.")
    github.webhooks.wait()
    assert receiver.find("pull_request_review.submitted")[0].said["review"]["state"] == "changes_requested"
    assert bob.json(f"{PULL}/reviews")[0]["state"] == "CHANGES_REQUESTED"


def test_a_pending_review_is_its_authors_secret(alice: Api, bob: Api, pull: PullHandle, receiver: Receiver) -> None:
    bob.post(f"{PULL}/reviews", {"body": "draft", "comments": [{"path": "app.py", "line": 10, "body": "hm"}]})
    assert [one["state"] for one in bob.json(f"{PULL}/reviews")] == ["PENDING"]
    assert alice.json(f"{PULL}/reviews") == []
    assert alice.json(f"{PULL}/comments") == []
    assert alice.pull("reviewThreads(first:9){totalCount}")["reviewThreads"]["totalCount"] == 0
    assert receiver.find("pull_request_review") == []


def test_submitting_a_pending_review_publishes_its_comments(
    github: GitHubDouble, bob: Api, pull: PullHandle, receiver: Receiver
) -> None:
    comment = {"path": "app.py", "line": 10, "body": "hm"}
    review = bob.post(f"{PULL}/reviews", {"comments": [comment]}).json()["id"]
    bob.post(f"{PULL}/reviews/{review}/events", {"event": "REQUEST_CHANGES", "body": "No."})
    github.webhooks.wait()
    told = [name for name in receiver.names if "review" in name]
    assert told == ["pull_request_review.submitted", "pull_request_review_comment.created"]


def test_who_may_only_read_dismisses_nothing(github: GitHubDouble, pull: PullHandle) -> None:
    review = pull.review("bob", "changes_requested", "No.")
    with pytest.raises(Refused, match="403"):
        review.dismiss("rita")


def test_one_has_one_pending_review_at_a_time(bob: Api, pull: PullHandle) -> None:
    bob.post(f"{PULL}/reviews", {"body": "one"})
    assert bob.post(f"{PULL}/reviews", {"body": "two"}).status_code == 422


def test_a_rejection_without_a_word_is_refused(pull: PullHandle) -> None:
    with pytest.raises(Refused, match="leave a comment"):
        pull.review("bob", "changes_requested")


def test_one_bad_comment_refuses_the_whole_review(bob: Api, pull: PullHandle) -> None:
    comments = [{"path": "app.py", "line": 10, "body": "good"}, {"path": "nowhere.py", "line": 1, "body": "bad"}]
    assert bob.post(f"{PULL}/reviews", {"event": "COMMENT", "comments": comments}).status_code == 422
    assert bob.json(f"{PULL}/reviews") == bob.json(f"{PULL}/comments") == []


def test_every_comment_belongs_to_a_review_even_one_made_alone(bob: Api, pull: PullHandle) -> None:
    pull.comment("rita", "alone", path="app.py", line=10)
    review = bob.json(f"{PULL}/reviews")[0]
    assert (review["state"], review["body"]) == ("COMMENTED", "")
    assert bob.json(f"{PULL}/comments")[0]["pull_request_review_id"] == review["id"]


def test_the_list_of_a_reviews_comments_knows_no_lines(bob: Api, pull: PullHandle) -> None:
    review = pull.review("rita", "commented", "", [{"path": "app.py", "line": 10, "body": "hm"}])
    assert "line" not in bob.json(f"{PULL}/reviews/{review.id}/comments")[0]


def test_the_decision_stays_until_the_reviewer_changes_it(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.protect(approvals=1)
    pull.review("bob", "changes_requested", "No.")
    pull.request_review("bob")
    assert bob.pull("reviewDecision")["reviewDecision"] == "CHANGES_REQUESTED"


def test_nothing_is_decided_where_no_review_is_required(bob: Api, pull: PullHandle) -> None:
    pull.review("bob", "approved")
    assert bob.pull("reviewDecision")["reviewDecision"] is None


def test_the_opinion_of_who_may_only_read_decides_nothing(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.protect(approvals=1)
    pull.review("rita", "approved")
    assert bob.pull("reviewDecision")["reviewDecision"] == "REVIEW_REQUIRED"


def test_a_push_dismisses_approvals_where_that_is_set_and_only_those(repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.protect(approvals=1, dismiss_stale=True)
    approval, rejection = pull.review("bob", "approved"), pull.review("rita", "changes_requested", "No.")
    pull.push({"app.py": "new\n"}, by="alice")
    assert (approval.state, rejection.state) == ("DISMISSED", "CHANGES_REQUESTED")


def test_who_pushed_last_may_not_approve_where_that_is_set(repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.protect(approvals=1, last_push_approval=True)
    pull.push({"app.py": "new\n"}, by="bob")
    pull.review("bob", "approved")
    assert pull.decision == "REVIEW_REQUIRED"


def test_an_edit_keeps_the_earlier_text_and_names_its_editor(
    github: GitHubDouble, alice: Api, pull: PullHandle, receiver: Receiver
) -> None:
    review = pull.review("bob", "changes_requested", "No.")
    review.edit("Yes, please.", by="alice")
    edits = alice.pull("reviews(first:1){nodes{body editor{login} userContentEdits(first:9){nodes{diff}}}}")
    node = edits["reviews"]["nodes"][0]
    assert (node["body"], node["editor"]["login"]) == ("Yes, please.", "alice")
    assert [one["diff"] for one in node["userContentEdits"]["nodes"]] == ["Yes, please.", "No."]
    github.webhooks.wait()
    assert receiver.find("pull_request_review.edited")[0].said["changes"] == {"body": {"from": "No."}}


def test_what_a_deleted_account_said_stays_by_nobody(github: GitHubDouble, alice: Api, pull: PullHandle) -> None:
    pull.review("bob", "changes_requested", "No.")
    github.delete_user("bob")
    assert alice.json(f"{PULL}/reviews")[0]["user"] is None
    assert alice.pull("reviews(first:1){nodes{author{login}}}")["reviews"]["nodes"][0]["author"] is None
