"""What the double tells is what GitHub tells; and what GitHub published is there to be tried on a receiver."""

from __future__ import annotations

import pytest

from tests.contract.descriptions import Descriptions
from tests.contract.examples import examples, named, rejections
from tests.contract.tour import Toured

# What amends subscribes to (facts, section 3), without what only GitHub's own staff brings about.
SUBSCRIBED = {
    *(f"pull_request_review.{action}" for action in ("submitted", "edited", "dismissed")),
    *(f"pull_request_review_comment.{action}" for action in ("created", "edited", "deleted")),
    *(f"pull_request_review_thread.{action}" for action in ("resolved", "unresolved")),
    *(
        f"pull_request.{action}"
        for action in (
            "opened", "synchronize", "closed", "reopened", "converted_to_draft", "ready_for_review", "edited",
            "labeled", "unlabeled", "review_requested", "review_request_removed", "locked", "unlocked", "enqueued",
            "dequeued", "assigned", "unassigned",
        )
    ),
    *(f"issue_comment.{action}" for action in ("created", "edited", "deleted")),
    *("check_suite.completed", "check_run.completed", "check_run.created", "status"),
    *(f"installation.{action}" for action in ("created", "deleted", "suspend", "unsuspend")),
    *("installation_repositories.added", "installation_repositories.removed", "ping"),
}  # fmt: skip


def test_every_event_that_amends_hears_of_was_told(toured: Toured) -> None:
    assert set(toured.told.names) >= SUBSCRIBED


def test_no_event_was_other_than_described(toured: Toured) -> None:
    assert [one for one in toured.github.violations if one.startswith("told")] == []


def test_every_delivery_was_signed(toured: Toured) -> None:
    assert len(toured.told.arrived) > 100
    assert all(one.signed_with("shh") for one in toured.told.arrived)


def test_an_event_that_github_would_not_send_is_noticed(descriptions: Descriptions, toured: Toured) -> None:
    said = toured.told.find("pull_request_review.submitted")[0].said
    assert descriptions.webhook("pull_request_review", said) == []
    assert descriptions.webhook("pull_request_review", {**said, "review": {}}) != []
    assert descriptions.webhook("pull_request_review", {**said, "action": "invented"}) != []


def test_there_are_99_genuine_examples_and_none_is_a_rejection() -> None:
    states = {one["review"]["state"] for one in examples()["pull_request_review"]}
    assert len(named()) == 99
    assert "changes_requested" not in states


@pytest.mark.parametrize("payload", rejections())
def test_a_derived_rejection_is_as_described_as_its_original(
    descriptions: Descriptions, payload: dict[str, object]
) -> None:
    """Genuine examples are older than the descriptions: what they lack, the derived one lacks; nothing is added."""
    original = {**payload, "review": {**payload["review"], "state": "commented", "body": None}}  # type: ignore[dict-item]
    wrong = set(descriptions.webhook("pull_request_review", payload))
    assert wrong <= set(descriptions.webhook("pull_request_review", original))


def test_the_doubles_own_rejection_is_as_described(descriptions: Descriptions, toured: Toured) -> None:
    told = [one.said for one in toured.told.find("pull_request_review.submitted")]
    rejected = [one for one in told if one["review"]["state"] == "changes_requested"]
    assert rejected
    assert [descriptions.webhook("pull_request_review", one) for one in rejected] == [[]] * len(rejected)
