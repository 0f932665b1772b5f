"""`POST /api/facts`: what a token may say, how mistakes are named, and that the same twice is once."""

from __future__ import annotations

import pytest

from amends.common.answers import Unavailable
from amends.common.events import AnyFact, CommandGiven, Finding, ReviewApproved, ReviewRejected
from amends.common.policy import Severity
from amends.gateway.app import NotServed
from tests.gateway.test_intake import Instead
from tests.support.asynchronous import asynchronous
from tests.support.gateway import Json, Running, bearer, exchange, gateway, request, seen

PULL = "Codertocat/Hello-World#2"
HEAD = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
FINDING = {"text": "close it", "severity": "high", "category": "logic", "path": "a.py", "line": 3}
REJECTED: Json = {
    "type": "review.rejected", "pull": PULL, "review": 7, "head": HEAD, "summary": "two things", "findings": [FINDING],
}  # fmt: skip
APPROVED: Json = {"type": "review.approved", "pull": PULL, "review": 8, "head": HEAD}
COMMAND: Json = {"type": "command.given", "pull": PULL, "id": "run-1", "name": "retry"}
PRINTED = "REVIEW_RESULT: changes_requested\nFINDINGS_COUNT: 1\nSEVERITY: high\nSUMMARY: It leaks."


def said(running: Running) -> list[AnyFact]:
    return [event.fact for event in running.events() if event.source == "gateway"][1:]


@asynchronous
async def test_a_rejection_is_recorded_with_its_findings_and_the_tokens_name(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await (await seen(running)).ask(REJECTED)
        (fact,) = said(running)
        assert {event.actor for event in running.events() if event.pos == reply.said["recorded"]} == {"agent"}
    assert isinstance(fact, ReviewRejected)
    assert (reply.status, fact.author.login, fact.author.kind, fact.head) == (201, "agent", "token", HEAD)
    assert fact.findings == (Finding(text="close it", severity=Severity.HIGH, category="logic", path="a.py", line=3),)


@asynchronous
async def test_an_approval_and_a_command_are_recorded(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        assert [(await running.ask(one)).status for one in (APPROVED, COMMAND)] == [201, 201]
        approved, command = said(running)
    assert isinstance(approved, ReviewApproved)
    assert isinstance(command, CommandGiven)
    assert (command.id, command.author.login) == ("agent/run-1", "agent")


@asynchronous
async def test_what_an_existing_agent_prints_is_taken_as_it_is(sqlite_url: str) -> None:
    query = f"?pull=Codertocat/Hello-World%232&review=9&head={HEAD}"
    async with gateway(sqlite_url) as running:
        reply = await (await seen(running)).ask(PRINTED, query=query)
        (fact,) = said(running)
    assert (reply.status, isinstance(fact, ReviewRejected) and fact.summary) == (201, "It leaks.")


@asynchronous
async def test_what_is_printed_is_read_in_the_letters_that_it_is_said_to_be_in(sqlite_url: str) -> None:
    text = "REVIEW_RESULT: changes_requested\nSUMMARY: Gr\u00f6\u00dfe"
    query = f"?pull=Codertocat/Hello-World%232&head={HEAD}"
    forms = ("ISO-8859-1", '"utf-16"', "Windows-1252")
    async with gateway(sqlite_url) as running:
        await seen(running)
        for number, form in enumerate(forms, 1):
            body = text.encode(form.strip('"'))
            await running.ask(body, query=f"{query}&review={number}", Content_Type=f"text/plain; charset={form}")
        strange = await running.ask(text, query=f"{query}&review=9", Content_Type="text/plain; charset=rot13")
        assert [fact.summary for fact in said(running) if isinstance(fact, ReviewRejected)] == ["Gr\u00f6\u00dfe"] * 3
    assert (strange.status, strange.said["error"]) == (415, "Content-Type: rot13 is not read here: send UTF-8")


# --- twice ---------------------------------------------------------------------------------------------------------


@asynchronous
async def test_the_same_again_is_answered_with_what_is_recorded(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        first, again = [await running.ask(REJECTED) for _ in range(2)]
        assert len(said(running)) == 1
    assert (first.status, again.status, again.said["already"]) == (201, 200, first.said["recorded"])


@asynchronous
async def test_a_command_goes_by_its_idempotency_key(sqlite_url: str) -> None:
    unnamed = {**COMMAND, "id": ""}
    async with gateway(sqlite_url) as running:
        await seen(running)
        replies = [await running.ask(unnamed, Idempotency_Key=key) for key in ("k1", "k1", "k2", "a b")]
    assert [reply.status for reply in replies] == [201, 200, 201, 422]
    assert replies[3].said["error"].startswith("id: ")


@pytest.mark.parametrize("other", [{**REJECTED, "summary": "three things"}, {**APPROVED, "review": 7}])
@asynchronous
async def test_a_number_that_was_used_for_something_else_is_a_conflict(sqlite_url: str, other: Json) -> None:
    async with gateway(sqlite_url) as running:
        await (await seen(running)).ask(REJECTED)
        assert (await running.ask(other)).status == 409


# --- who may -------------------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_38_without_a_token_nothing_is_taken(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
        wrong = [await running.ask(REJECTED, token=token) for token in ("", "agent-token-012345678", "x" * 600)]
        none = await exchange(running.address, request("/api/facts", b"{}"))
        assert said(running) == []
    assert {reply.status for reply in (*wrong, none)} == {401}
    assert none.fields["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("token", "sent", "why"),
    [
        (bearer(may=("facts",)), COMMAND, "add `commands` to its `may`"),
        (bearer(may=("commands",)), REJECTED, "add `facts` to its `may`"),
        (bearer(repositories=("octo/other",)), REJECTED, "add it to its `repositories`"),
    ],
)
@asynchronous
async def test_a_token_may_what_the_settings_say_and_nothing_else(
    sqlite_url: str, token: Json, sent: Json, why: str
) -> None:
    async with gateway(sqlite_url, tokens=(token,)) as running:
        reply = await (await seen(running)).ask(sent)
        assert said(running) == []
    assert (reply.status, reply.said["error"].endswith(why)) == (403, True)


@asynchronous
async def test_two_tokens_whose_reviews_would_have_the_same_numbers_stop_the_start(sqlite_url: str) -> None:
    tokens = (bearer("agent-214"), bearer("agent-266", "another"))
    with pytest.raises(NotServed, match="rename one"):
        async with gateway(sqlite_url, tokens=tokens):
            pass


# --- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pull": "nobody"}, "pull: "),
        ({"review": 0}, "review: "),
        ({"review": None}, "review: "),
        ({"type": "review.invented"}, "type: "),
        ({"head": "main"}, "head: "),
        ({"verdict": "bad"}, "verdict: "),
        ({"findings": [{"severity": "high"}]}, "findings.0.text: "),
        ({"findings": [{**FINDING, "severity": "grave"}]}, "findings.0.severity: "),
        ({"findings": [], "summary": ""}, "findings: "),
        ({"findings": [FINDING] * 101}, "findings: "),
    ],
)
@asynchronous
async def test_a_mistake_is_answered_with_its_field(sqlite_url: str, changes: Json, field: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await (await seen(running)).ask({**REJECTED, **changes})
        assert said(running) == []
    assert (reply.status, reply.said["error"][: len(field)]) == (422, field)


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 422), (b"[]", 422), (b"\xff", 422), (b'{"type":"a","type":"b"}', 422), (b"x" * 210_000, 413)],
)
@asynchronous
async def test_inv_03_a_body_that_is_none_is_refused(sqlite_url: str, body: bytes, status: int) -> None:
    async with gateway(sqlite_url) as running:
        assert (await running.ask(body)).status == status


@asynchronous
async def test_an_unknown_pull_request_is_not_found(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.ask(REJECTED)
    assert (reply.status, reply.said["error"][:6]) == (404, "pull: ")


@asynchronous
async def test_what_may_not_be_recorded_is_to_be_sent_again(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        await seen(running)
    async with gateway(sqlite_url, reports=Instead(Unavailable("no answer"))) as running:
        reply = await running.ask(REJECTED)
    assert (reply.status, "retry-after" in reply.fields) == (503, True)


@asynchronous
async def test_inv_20_secrets_in_findings_are_not_in_the_log(sqlite_url: str) -> None:
    leak = {**FINDING, "text": f"it logs ghs_{'a1B2' * 9} and a secret that nobody guesses"}
    async with gateway(sqlite_url) as running:
        await (await seen(running)).ask({**REJECTED, "findings": [leak]})
        (fact,) = said(running)
    assert isinstance(fact, ReviewRejected)
    assert fact.findings[0].text == "it logs [redacted] and [redacted]"
