"""Faults, limits and replicas that are behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle
from tests.doubles.client import Api

PULL = "/repos/acme/widget/pulls/1"
SAY = "/repos/acme/widget/issues/1/comments"


def test_a_fault_is_used_once(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("GET", "/pulls/1", status=502)
    assert [bob.get(PULL).status_code for _ in range(2)] == [502, 200]
    assert github.faults.unused == []


def test_a_write_that_is_refused_was_not_stored(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("POST", "/comments", status=502)
    assert bob.post(SAY, {"body": "hm"}).status_code == 502
    assert pull.conversation == []


def test_a_write_may_be_stored_and_its_answer_lost(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("POST", "/comments", status=502, stored=True)
    assert bob.post(SAY, {"body": "hm"}).status_code == 502
    assert [one.body for one in pull.conversation] == ["hm"]


@pytest.mark.parametrize("stored", [True, False])
def test_a_request_may_hang(github: GitHubDouble, bob: Api, pull: PullHandle, stored: bool) -> None:
    github.faults.next("POST", "/comments", hang=True, stored=stored)
    with pytest.raises(httpx.ReadTimeout):
        bob.http.post(SAY, json={"body": "hm"}, timeout=0.1)
    assert len(pull.conversation) == stored


def test_a_connection_may_break_within_the_answer(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("POST", "/comments", broken=True)
    with pytest.raises(httpx.RemoteProtocolError):
        bob.post(SAY, {"body": "hm"})
    assert len(pull.conversation) == 1


def test_json_may_be_cut_short(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("GET", "/pulls/1", cut=0.5)
    answer = bob.get(PULL)
    assert answer.status_code == 200
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        answer.json()


def test_links_may_lead_in_a_circle(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    pull.say("bob", "hm")
    github.faults.next("GET", "issues/1/comments", link="loop")
    answer = bob.get(SAY, per_page=100)
    assert answer.links["next"]["url"] == str(answer.url)


def test_a_late_page_may_fail(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    [pull.say("bob", str(n)) for n in range(5)]
    github.faults.next("GET", r"issues/1/comments.*page=3", status=502)
    said = [bob.get(SAY, per_page=2, page=page).status_code for page in (1, 2, 3, 3)]
    assert said == [200, 200, 502, 200]


def test_graphql_faults_find_documents(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("GRAPHQL", "reviewThreads", status=200, body={"errors": [{"message": "Something went wrong"}]})
    assert bob.pull("title") == {"title": "Pull feature"}
    assert "errors" in bob.graphql("{repository(owner:1){reviewThreads}}")


def test_something_may_happen_just_before_a_page_is_read(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    first = pull.say("bob", "one")
    pull.say("bob", "two")
    github.faults.next("GET", "page=2", before=first.delete)
    pages = [bob.json(SAY, per_page=1, page=page) for page in (1, 2)]
    assert [[one["body"] for one in page] for page in pages] == [["one"], []]


def test_an_answer_may_be_changed(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.faults.next("GET", "/pulls/1", change=lambda said: {**said, "user": None})
    assert bob.json(PULL)["user"] is None


@pytest.mark.parametrize(("status", "retry_after"), [(403, 7), (429, 7), (403, None)])
def test_a_secondary_limit_says_when_or_does_not(
    github: GitHubDouble, bob: Api, pull: PullHandle, status: int, retry_after: int | None
) -> None:
    github.faults.secondary_limit("POST", "/comments", retry_after=retry_after, status=status)
    answer = bob.post(SAY, {"body": "hm"})
    assert (answer.status_code, "secondary rate limit" in answer.text) == (status, True)
    assert answer.headers.get("retry-after") == (None if retry_after is None else str(retry_after))


def test_who_writes_too_much_in_a_minute_is_stopped(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.limits.content_per_minute = 3
    said = [bob.post(SAY, {"body": str(n)}).status_code for n in range(4)]
    assert said == [201, 201, 201, 403]
    github.clock.advance(61)
    assert bob.post(SAY, {"body": "later"}).status_code == 201


def test_too_many_at_once_are_stopped(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.limits.concurrent, github.latency = 3, 0.5
    with ThreadPoolExecutor(5) as pool:
        said = sorted(pool.map(lambda _: bob.get(PULL).status_code, range(5)))
    assert said == [200, 200, 200, 403, 403]


def test_the_hourly_points_are_counted_and_told(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    before = bob.get(PULL).headers
    after = bob.get(PULL).headers
    assert int(before["x-ratelimit-remaining"]) - int(after["x-ratelimit-remaining"]) == 1
    assert bob.json("/rate_limit")["resources"]["core"]["remaining"] == int(after["x-ratelimit-remaining"])


def test_used_up_points_come_back_with_the_hour(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.limits.exhaust()
    answer = bob.get(PULL)
    assert (answer.status_code, answer.headers["x-ratelimit-remaining"]) == (403, "0")
    github.clock.advance(3_601)
    assert bob.get(PULL).status_code == 200


def test_every_answer_has_the_date_of_githubs_clock(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.clock.stop(datetime(2030, 1, 1, tzinfo=UTC))
    assert bob.get(PULL).headers["date"] == "Tue, 01 Jan 2030 00:00:00 GMT"


def test_graphql_tells_of_its_limit_in_a_good_answer(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.limits.exhaust()
    answer = bob.http.post(github.graphql_url, json={"query": "{viewer{login}}"})
    assert (answer.status_code, answer.json()["errors"][0]["type"]) == (200, "RATE_LIMITED")


FRAGMENT = "fragment T on PullRequestReviewThread{...on Node{id} comments(last:50){nodes{id}}} query($f:Int=100)"
REACTIONS = "nodes{reactions(first:9){nodes{id}}}"


@pytest.mark.parametrize(
    ("head", "fields", "weight"),
    [
        ("", "id", (0, 1)),
        ("", "reviewThreads(first:100){nodes{id}}", (100, 1)),
        (FRAGMENT, "reviewThreads(first:$f){nodes{...T}}", (100 + 100 * 50, 1)),
        ("", f"reviewThreads(first:100){{nodes{{comments(last:90){{{REACTIONS}}}}}}}", (100 + 9_000 + 81_000, 91)),
    ],
)
def test_graphql_counts_what_might_come(
    bob: Api, pull: PullHandle, head: str, fields: str, weight: tuple[int, int]
) -> None:
    said = bob.data(f'{head}{{rateLimit{{cost nodeCount}} node(id:"{pull.node_id}"){{...on PullRequest{{{fields}}}}}}}')
    assert (said["rateLimit"]["nodeCount"], said["rateLimit"]["cost"]) == weight


def test_half_a_million_nodes_is_the_most_graphql_may_be_asked_for(bob: Api, pull: PullHandle) -> None:
    deep = "reviewThreads(first:100){nodes{comments(first:100){nodes{reactions(first:%d){nodes{id}}}}}}"
    said = [bob.graphql(f'{{node(id:"{pull.node_id}"){{...on PullRequest{{{deep % size}}}}}}}') for size in (48, 49)]
    assert ["errors" in one for one in said] == [False, True]
    assert said[1]["errors"][0]["type"] == "MAX_NODE_LIMIT_EXCEEDED"


def test_what_did_not_change_costs_nothing(bob: Api, pull: PullHandle) -> None:
    first = bob.get(PULL)
    again = bob.http.get(PULL, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert bob.get(PULL).headers["x-ratelimit-used"] == "2"


def test_an_etag_belongs_to_a_token(alice: Api, bob: Api, pull: PullHandle) -> None:
    assert alice.get(PULL).headers["etag"] != bob.get(PULL).headers["etag"]


def test_a_pull_request_may_not_be_there_yet(bob: Api, pull: PullHandle) -> None:
    pull.lose(reads=2)
    assert [bob.get(PULL).status_code for _ in range(3)] == [404, 404, 200]


def test_nor_may_it_be_there_in_graphql(bob: Api, pull: PullHandle) -> None:
    pull.lose()
    query = '{repository(owner:"acme",name:"widget"){pullRequest(number:1){id}}}'
    said = [bob.graphql(query) for _ in range(2)]
    assert (said[0]["data"], said[0]["errors"][0]["type"]) == ({"repository": {"pullRequest": None}}, "NOT_FOUND")
    assert said[1]["data"]["repository"]["pullRequest"]["id"] == pull.node_id


def test_the_head_may_be_an_earlier_one(bob: Api, pull: PullHandle) -> None:
    before = pull.head
    pull.push({"a": "b\n"}, by="alice")
    pull.stale(reads=1)
    assert [bob.json(PULL)["head"]["sha"] for _ in range(2)] == [before, pull.head]


def test_a_new_comment_may_be_missing_from_lists(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.lag.new = 1
    pull.say("bob", "hm")
    assert [len(bob.json(SAY)) for _ in range(2)] == [0, 1]


def test_whether_it_merges_may_not_be_known_yet(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.lag.unknown_mergeable(pull.node_id)
    said = [(one["mergeable"], one["mergeable_state"]) for one in (bob.json(PULL), bob.json(PULL))]
    assert said == [(None, "unknown"), (True, "clean")]


def test_every_answer_may_be_slow(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    github.latency = 0.05
    bob.get(PULL)
    assert github.requests.find("GET", "/pulls/1")[0].seconds >= 0.05
