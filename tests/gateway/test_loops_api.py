"""`/api/loops`: who may look and who may command, how mistakes are named, and that the same twice is once."""

from __future__ import annotations

import pytest

from amends.common.answers import Unavailable
from amends.common.events import AnyFact, CommandGiven
from amends.common.identity import INSTALLATION
from tests.gateway.test_intake import Instead
from tests.support.asynchronous import asynchronous
from tests.support.gateway import REPO, Json, Reply, Running, bearer, exchange, gateway, raw, request, seen

NAME, LOOP = "Codertocat%2FHello-World%232", f"{REPO}-pr-2"
TOKEN = "agent-token-0123456789"


async def told(running: Running, said: object, loop: str = NAME, token: str = TOKEN, **fields: str) -> Reply:
    """A command to a loop."""
    body = said if isinstance(said, bytes) else raw(said)
    sent = request(f"/api/loops/{loop}/commands", body, Authorization=f"Bearer {token}", **fields)
    return await exchange(running.address, sent)


async def shown(running: Running, path: str, token: str = TOKEN) -> Reply:
    """What the API shows."""
    return await exchange(running.address, request(path, method="GET", Authorization=f"Bearer {token}"))


def given(running: Running) -> list[AnyFact]:
    return [event.fact for event in running.events() if isinstance(event.fact, CommandGiven)]


# --- commands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [NAME, LOOP, "codertocat%2fhello-world%232"])
@asynchronous
async def test_a_command_goes_to_the_loop_that_is_named(sqlite_url: str, loop: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await told(await seen(running), {"name": "pause", "text": "a release", "id": "r1"}, loop)
        (fact,) = given(running)
    assert isinstance(fact, CommandGiven)
    assert (fact.id, fact.text, fact.author.login, fact.author.kind) == ("agent/r1", "a release", "agent", "token")
    assert (reply.status, reply.said["loop"], reply.said["outcome"]) == (201, LOOP, "accepted")


@asynchronous
async def test_a_command_that_the_loop_refuses_is_answered_with_its_reason(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await told(await seen(running), {"name": "retry", "id": "r1"})
    assert (reply.status, reply.said["outcome"], reply.said["reason"]) == (201, "refused", "nothing_to_retry")
    assert reply.said["why"] == "nothing failed and no question is open"


@asynchronous
async def test_a_command_to_a_paused_loop_waits(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await told(await seen(running), {"name": "pause", "id": "r1"})
        reply = await told(running, {"name": "stop", "id": "r2"})
    assert reply.said["outcome"] == "waiting"


@asynchronous
async def test_the_same_key_again_is_the_same_command_and_another_command_a_conflict(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        pause, stop = {"name": "pause"}, {"name": "stop"}
        replies = [await told(running, said, Idempotency_Key="k1") for said in (pause, pause, stop)]
        assert len(given(running)) == 1
    assert [reply.status for reply in replies] == [201, 200, 409]
    assert [reply.said.get("outcome") for reply in replies] == ["accepted", "accepted", None]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"name": "merge", "id": "1"}, "name: "),
        ({"id": "1"}, "name: "),
        ({"name": "fix"}, "id: "),
        ({"name": "fix", "id": "a b"}, "id: "),
        ({"name": "refine", "id": "1"}, "text: "),
        ({"name": "refine", "id": "1", "text": " \t"}, "text: "),
        ({"name": "refine", "id": "1", "text": "x" * 20_001}, "text: "),
        ({"name": "fix", "id": "1", "max_cycles": 9}, "max_cycles: "),
        (b"[]", "the body: "),
        (b'{"name":"fix","name":"stop","id":"1"}', "the key "),
        (b"\xff", "the body: "),
    ],
)
@asynchronous
async def test_inv_29_a_mistake_is_answered_with_its_field_and_commands_nothing(
    sqlite_url: str, said: object, field: str
) -> None:
    async with gateway(sqlite_url) as running:
        reply = await told(await seen(running), said)
        assert given(running) == []
    assert (reply.status, str(reply.said["error"])[: len(field)]) == (422, field)


@pytest.mark.parametrize("loop", ["Codertocat%2FHello-World%233", "7-pr-1", "nobody", "..", "%00", "%ff", "a%2fb"])
@asynchronous
async def test_an_unknown_loop_is_not_found(sqlite_url: str, loop: str) -> None:
    async with gateway(sqlite_url) as running:
        replies = [await told(await seen(running), {"name": "fix", "id": "1"}, loop)]
        replies.append(await shown(running, f"/api/loops/{loop}"))
    assert [(reply.status, str(reply.said["error"])[:6]) for reply in replies] == [(404, "loop: ")] * 2


@pytest.mark.parametrize("path", ["/api/loops/", "/api/loops//commands", "/api/loops/a/b", "/api/loops/a/commands/"])
@asynchronous
async def test_a_path_that_is_none_is_not_here(sqlite_url: str, path: str) -> None:
    async with gateway(sqlite_url) as running:
        assert (await shown(running, path)).said == {"error": "not here"}


@pytest.mark.parametrize(
    ("token", "status"),
    [(bearer(may=("facts",)), 403), (bearer(may=("read",)), 403), (bearer(repositories=("octo/other",)), 404)],
)
@asynchronous
async def test_inv_38_a_token_commands_what_the_settings_say_and_nothing_else(
    sqlite_url: str, token: Json, status: int
) -> None:
    async with gateway(sqlite_url, tokens=(token,)) as running:
        reply = await told(await seen(running), {"name": "fix", "id": "1"})
        assert given(running) == []
    assert reply.status == status


@asynchronous
async def test_inv_38_without_a_token_nothing_is_shown_and_nothing_taken(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        replies = [await told(running, {"name": "fix", "id": "1"}, token="another")]
        replies += [await shown(running, path, "another") for path in ("/api/loops", f"/api/loops/{NAME}")]
        assert given(running) == []
    assert {reply.status for reply in replies} == {401}


@asynchronous
async def test_the_kill_switch_is_for_tokens_of_all_repositories(sqlite_url: str) -> None:
    few = bearer("few", "few-token", repositories=("Codertocat/Hello-World",))
    async with gateway(sqlite_url, tokens=(bearer(), few)) as running:
        await seen(running)
        pause = {"name": "pause", "id": "1"}
        replies = [await told(running, pause, INSTALLATION, token) for token in ("few-token", TOKEN)]
        resumed = await told(running, {"name": "resume", "id": "2"}, INSTALLATION)
    assert [reply.status for reply in replies] == [404, 201]
    assert [replies[1].said["outcome"], resumed.said["outcome"]] == ["accepted", "accepted"]


@asynchronous
async def test_a_command_that_may_not_be_recorded_is_to_be_sent_again(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
    async with gateway(sqlite_url, reports=Instead(Unavailable("no answer"))) as running:
        reply = await told(running, {"name": "fix", "id": "1"})
    assert (reply.status, "retry-after" in reply.fields) == (503, True)


@asynchronous
async def test_inv_20_secrets_in_a_commands_text_are_not_in_the_log(sqlite_url: str) -> None:
    leak = f"use ghs_{'a1B2' * 9} and a secret that nobody guesses"
    async with gateway(sqlite_url) as running:
        await told(await seen(running), {"name": "refine", "id": "1", "text": leak})
        (fact,) = given(running)
    assert isinstance(fact, CommandGiven)
    assert fact.text == "use [redacted] and [redacted]"


# --- looking -------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_loop_is_shown_with_its_status_why_and_what_comes_next(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await shown(await seen(running), f"/api/loops/{NAME}")
    assert (reply.status, reply.said["name"], reply.said["status"]) == (200, "Codertocat/Hello-World#2", "watching")
    assert all(reply.said[part] for part in ("why", "next", "conditions", "turns", "orders", "last"))
    assert reply.said["account"] == {"done": [], "undone": []}


@asynchronous
async def test_a_loop_is_shown_with_an_account_of_what_is_not_done(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await told(await seen(running), {"name": "pause", "id": "r1"})
        account = (await shown(running, f"/api/loops/{NAME}")).said["account"]
    assert [deed["what"] for deed in account["done"]] == ["the command 'pause' was obeyed", "it was paused"]
    assert account["undone"][0]["why"].startswith("paused by agent, with command.given")


@asynchronous
async def test_a_list_of_loops_may_be_of_one_status_or_one_repository(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        queries = ("", "?status=watching&limit=1", "?repo=codertocat/hello-world", "?status=done", "?repo=octo/x")
        replies = [await shown(running, f"/api/loops{query}") for query in queries]
    found = [[loop["loop"] for loop in reply.said["loops"]] for reply in replies]
    assert LOOP in found[0]
    assert [len(names) for names in found[1:]] == [1, 1, 0, 0]


@pytest.mark.parametrize("query", ["status=odd", "limit=0", "limit=x", "limit=501", "surprise=1", "%ff=1"])
@asynchronous
async def test_a_query_that_means_nothing_is_answered_with_its_field(sqlite_url: str, query: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await shown(running, f"/api/loops?{query}")
    assert (reply.status, str(reply.said["error"]).split(":")[0] in {"status", "limit", "surprise", "?"}) == (422, True)


@asynchronous
async def test_a_token_sees_the_loops_of_its_repositories_and_no_others(sqlite_url: str) -> None:
    tokens = (bearer(), bearer("other", "other-token", may=("read",), repositories=("octo/other",)))
    async with gateway(sqlite_url, tokens=tokens) as running:
        await seen(running)
        paths = ("/api/loops", "/api/loops?repo=Codertocat/Hello-World", f"/api/loops/{LOOP}")
        replies = [await shown(running, path, "other-token") for path in paths]
    assert [reply.status for reply in replies] == [200, 403, 404]
    assert replies[0].said == {"loops": []}


@asynchronous
async def test_looking_is_safe_and_takes_no_body(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        sent = request(f"/api/loops/{LOOP}", b"{}", "GET", Authorization=f"Bearer {TOKEN}")
        before = len(running.events())
        reply = await exchange(running.address, sent)
        posted = await exchange(running.address, request(f"/api/loops/{LOOP}", b"{}", Authorization=f"Bearer {TOKEN}"))
        assert len(running.events()) == before
    assert (reply.status, posted.status, posted.fields["allow"]) == (413, 405, "GET")
