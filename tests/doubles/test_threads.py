"""Threads and inline comments, over REST and GraphQL."""

from __future__ import annotations

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.refusal import Refused
from tests.doubles.client import Api, Ask
from tests.doubles.receiver import Receiver

PULL = "/repos/acme/widget/pulls/1"
RESOLVE = "mutation($t:ID!){resolveReviewThread(input:{threadId:$t}){thread{isResolved}}}"
THREADS = "reviewThreads(first:%d,after:%s){totalCount pageInfo{hasNextPage endCursor} nodes{id}}"


def ids(api: Api, size: int, after: str = "null") -> tuple[list[str], str]:
    said = api.pull(THREADS % (size, after))["reviewThreads"]
    return [one["id"] for one in said["nodes"]], '"' + str(said["pageInfo"]["endCursor"]) + '"'


def bodies(api: Api, arguments: str) -> list[str]:
    said = api.pull(f"reviewThreads(first:1){{nodes{{comments({arguments}){{nodes{{body}}}}}}}}")
    return [one["body"] for one in said["reviewThreads"]["nodes"][0]["comments"]["nodes"]]


def test_threads_come_oldest_first(bob: Api, pull: PullHandle) -> None:
    made = [pull.comment("bob", f"{n}", path="app.py", line=10).id for n in range(5)]
    assert ids(bob, 100)[0] == made


def test_pages_of_threads_lead_to_the_end(bob: Api, pull: PullHandle) -> None:
    made = [pull.comment("bob", f"{n}", path="app.py", line=10).id for n in range(5)]
    first, cursor = ids(bob, 3)
    assert first + ids(bob, 3, cursor)[0] == made


def test_a_cursor_survives_the_deletion_of_what_it_names(bob: Api, pull: PullHandle) -> None:
    made = [pull.comment("bob", f"{n}", path="app.py", line=10) for n in range(4)]
    rest = [one.id for one in made[2:]]
    _, cursor = ids(bob, 2)
    made[1].root.delete()
    assert ids(bob, 9, cursor)[0] == rest


def test_comments_within_a_thread_are_paged_too(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "0", path="app.py", line=10)
    for n in range(1, 130):
        thread.reply(str(n), by="alice")
    assert bodies(bob, "first:100") == [str(n) for n in range(100)]
    assert bodies(bob, "last:30") == [str(n) for n in range(100, 130)]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [("", "MISSING_PAGINATION_BOUNDARIES"), ("(first:101)", "EXCESSIVE_PAGINATION")],
)
def test_a_list_without_a_fit_size_is_refused(bob: Api, pull: PullHandle, arguments: str, kind: str) -> None:
    said = bob.graphql(
        f'{{repository(owner:"acme",name:"widget"){{pullRequest(number:1){{reviewThreads{arguments}{{totalCount}}}}}}}}'
    )
    assert said["errors"][0]["type"] == kind


NODES = "query($i:[ID!]!){nodes(ids:$i){id}}"


def test_what_is_gone_is_null_in_its_place_among_nodes(bob: Api, pull: PullHandle) -> None:
    kept, gone = (pull.comment("bob", "hm", path="app.py", line=10).root for _ in range(2))
    gone.delete()
    said = bob.graphql(NODES, i=[gone.node_id, kept.node_id])
    assert said["data"]["nodes"] == [None, {"id": kept.node_id}]
    assert [(one["type"], one["path"]) for one in said["errors"]] == [("NOT_FOUND", ["nodes", 0])]


def test_a_hundred_nodes_are_had_by_their_ids_and_no_more(bob: Api, pull: PullHandle) -> None:
    assert len(bob.data(NODES, i=[pull.node_id] * 100)["nodes"]) == 100
    assert bob.graphql(NODES, i=[pull.node_id] * 101)["errors"][0]["type"] == "ARGUMENT_LIMIT"


def test_rest_knows_nothing_of_resolved_or_outdated(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", line=10).resolve("bob")
    assert not {"resolved", "isResolved", "outdated", "isOutdated"} & bob.json(f"{PULL}/comments")[0].keys()


def test_only_graphql_knows_what_is_hidden(bob: Api, pull: PullHandle) -> None:
    said = pull.say("carol", "Buy this.")
    said.minimize("spam")
    seen = bob.pull("comments(first:1){nodes{isMinimized minimizedReason}}")["comments"]["nodes"]
    assert seen == [{"isMinimized": True, "minimizedReason": "spam"}]
    assert bob.json("/repos/acme/widget/issues/1/comments")[0]["body"] == "Buy this."


def test_resolving_tells_of_the_thread(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    thread.resolve("alice")
    thread.unresolve("bob")
    github.webhooks.wait()
    told = receiver.find("pull_request_review_thread")
    assert [one.said["action"] for one in told] == ["resolved", "unresolved"]
    assert told[0].said["thread"]["node_id"] == thread.id


def test_an_app_needs_contents_write_to_resolve(api: Ask, installed: InstallationHandle, pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    narrow = installed.token(None, {"pull_requests": "write", "contents": "read"})
    said = api(narrow).graphql(RESOLVE, t=thread.id)
    assert said["data"] == {"resolveReviewThread": None}
    assert (said["errors"][0]["type"], said["errors"][0]["message"]) == (
        "FORBIDDEN",
        "Resource not accessible by integration",
    )
    assert not thread.resolved


def test_with_contents_write_an_app_resolves(api: Ask, installed: InstallationHandle, pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    api(installed.token()).data(RESOLVE, t=thread.id)
    assert thread.resolved_by == "amends[bot]"


def test_the_author_may_resolve_and_a_reader_may_not(pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    thread.resolve("alice")
    with pytest.raises(Refused, match="403"):
        thread.unresolve("rita")


def test_a_reply_goes_to_the_first_comment_only(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "root", path="app.py", line=10)
    reply = thread.reply("reply", by="alice")
    good = bob.post(f"{PULL}/comments", {"body": "more", "in_reply_to": thread.root.id})
    assert (good.status_code, good.json()["in_reply_to_id"]) == (201, thread.root.id)
    assert bob.post(f"{PULL}/comments", {"body": "more", "in_reply_to": reply.id}).status_code == 422


def test_a_thread_outlives_its_first_comment(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "root", path="app.py", line=10)
    root, reply = thread.root.id, thread.reply("reply", by="alice")
    thread.root.delete()
    left = bob.json(f"{PULL}/comments")
    assert [(one["id"], one["in_reply_to_id"]) for one in left] == [(reply.id, root)]


def test_with_its_last_comment_a_thread_is_gone(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", line=10).root.delete()
    assert ids(bob, 9)[0] == []


def test_each_event_of_a_comment_is_told(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    thread = pull.comment("bob", "one", path="app.py", line=10)
    thread.root.edit("two")
    thread.root.delete()
    github.webhooks.wait()
    told = receiver.find("pull_request_review_comment")
    assert [one.said["action"] for one in told] == ["created", "edited", "deleted"]
    assert told[1].said["changes"] == {"body": {"from": "one"}}


def test_what_comments_say_of_their_pull_request_is_slim(
    github: GitHubDouble, pull: PullHandle, receiver: Receiver
) -> None:
    pull.comment("bob", "hm", path="app.py", line=10)
    github.webhooks.wait()
    said = receiver.find("pull_request_review_comment")[0].said["pull_request"]
    assert not {"draft", "mergeable", "merged", "maintainer_can_modify"} & said.keys()


def test_ids_of_comments_do_not_fit_32_bits(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    said = bob.pull("reviewThreads(first:1){nodes{comments(first:1){nodes{databaseId fullDatabaseId}}}}")
    assert said["reviewThreads"]["nodes"][0]["comments"]["nodes"][0] == {
        "databaseId": None,
        "fullDatabaseId": str(thread.root.id),
    }


def test_comments_can_be_asked_for_since_a_moment(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "old", path="app.py", line=10)
    edited = pull.comment("bob", "older", path="app.py", line=9)
    github.clock.advance(60)
    since = github.clock.moment().isoformat()
    edited.root.edit("edited")
    pull.comment("bob", "new", path="app.py", line=11)
    found = bob.json(f"{PULL}/comments", since=since)
    assert [one["body"] for one in found] == ["edited", "new"]


def test_a_locked_conversation_takes_no_strangers_words(repo: RepositoryHandle, pull: PullHandle) -> None:
    pull.lock()
    with pytest.raises(Refused, match="locked"):
        pull.say("rita", "but")
    assert pull.say("bob", "closed").body == "closed"
