"""Deliveries on a real socket with a real recorder behind it: believed when signed, 202 when they are in the log."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlencode

import pytest

from amends.common.answers import Answer, Go, Refused, Report, Unavailable
from amends.common.events import Author, CommandGiven, PrObserved, ReviewRejected
from amends.common.identity import About
from amends.common.metrics import REGISTRY
from amends.evaluator.recorder import LocalRecorder
from tests.contract.examples import named
from tests.support.asynchronous import asynchronous
from tests.support.gateway import (
    OURS,
    SECRET,
    Running,
    delivery,
    example,
    exchange,
    gateway,
    raw,
    remark,
    review,
    signature,
)

BODY = raw(review())


class Instead:
    """A recorder that always says the same."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def report(self, report: Report) -> Answer:
        return self._answer

    async def may(self, pos: int, run: str = "") -> Go:
        return Go()

    async def put(self, content: bytes) -> str:
        raise NotImplementedError

    async def get(self, sha: str) -> bytes | None:
        raise NotImplementedError


def counted(event: str, outcome: str) -> float:
    return REGISTRY.get_sample_value("amends_webhooks_total", {"event": event, "outcome": outcome}) or 0.0


# --- what is believed ----------------------------------------------------------------------------------------------


@asynchronous
async def test_a_rejection_is_in_the_log_when_it_is_answered(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("pull_request_review", review())
        facts = [event.fact for event in running.events() if event.source == "gateway"]
    assert (reply.status, len(reply.said["recorded"])) == (202, 2)
    assert [type(fact) for fact in facts] == [PrObserved, ReviewRejected]


@asynchronous
async def test_during_a_rotation_both_secrets_are_believed(sqlite_url: str) -> None:
    async with gateway(sqlite_url, webhook_secrets=("the next one", SECRET)) as running:
        old = await running.deliver("ping", {})
        new = await running.deliver("ping", {}, X_Hub_Signature_256=signature(b"{}", "the next one"))
        other = await running.deliver("ping", {}, X_Hub_Signature_256=signature(b"{}", "the one before"))
    assert (old.status, new.status, other.status) == (202, 202, 401)


@asynchronous
async def test_inv_01_without_a_secret_nothing_is_believed_and_the_start_says_so(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with gateway(sqlite_url, webhook_secrets=()) as running:
            replies = [await running.deliver("ping", {}, X_Hub_Signature_256=signature(b"{}", "")) for _ in range(2)]
    assert {reply.status for reply in replies} == {503}
    assert "gateway.webhook_secrets is not set" in caplog.text


BROKEN = [
    "", "sha256=", "sha256", "=", signature(BODY).upper(), signature(BODY)[:-1], f"{signature(BODY)}0",
    signature(BODY).replace("sha256=", "sha1="), signature(BODY).removeprefix("sha256="), f"sha256={'g' * 64}",
    f"sha256={chr(0xb2) * 64}", signature(BODY, "wrong"), signature(BODY[:-1]), f"{signature(BODY)}, {signature(BODY)}",
    f"sha256={'0' * 64}", "x" * 5_000,
]  # fmt: skip


@asynchronous
async def test_inv_02_every_broken_signature_is_a_401(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        for header in BROKEN:
            await running.deliver("pull_request_review", BODY, X_Hub_Signature_256=header)
        assert running.statuses == [401] * len(BROKEN)
        assert running.events() == []


@asynchronous
async def test_inv_02_an_old_signature_alone_is_none(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        sent = delivery(
            "ping", {}, X_Hub_Signature_256="", X_Hub_Signature="sha1=5d61605c3feea9799210ddcb71307d4ba264225f"
        )
        assert (await exchange(running.address, sent)).status == 401


@asynchronous
async def test_inv_02_two_signatures_are_refused_though_one_is_right(sqlite_url: str) -> None:
    twice = delivery("ping", {}).replace(b"X-GitHub-Delivery", f"X-Hub-Signature-256: {signature(b'')}\r\nX".encode())
    async with gateway(sqlite_url) as running:
        reply = await exchange(running.address, twice)
    assert (reply.status, reply.said) == (400, {"error": "x-hub-signature-256 stands there twice"})


@asynchronous
async def test_inv_02_nothing_is_parsed_before_it_is_believed(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("pull_request", b"{", X_Hub_Signature_256=signature(b"["))
        signed = await running.deliver("pull_request", b"{")
    assert (reply.status, signed.status) == (401, 400)


FORM = "application/x-www-form-urlencoded"


@asynchronous
async def test_a_delivery_may_be_a_form_which_is_how_github_sends_it_unless_told(sqlite_url: str) -> None:
    said = review()
    said["review"]["body"] = "Größer & <schöner> = 100 %"
    async with gateway(sqlite_url) as running:
        form = await running.deliver(
            "pull_request_review", urlencode({"payload": raw(said)}).encode(), Content_Type=FORM
        )
        again = await running.deliver("pull_request_review", raw(said), Content_Type=FORM)  # as curl calls it
        assert (form.status, again.said) == (202, form.said)
        assert [type(event.fact) for event in running.events()][-1] is ReviewRejected


@asynchronous
async def test_inv_03_a_form_that_holds_no_payload_or_two_is_refused(sqlite_url: str) -> None:
    forms = (b"", b"x=1", b"payload=%ff", b"payload=\xff", b"payload={}&payload={}", b"a&" * 50 + b"payload={}")
    async with gateway(sqlite_url) as running:
        replies = [await running.deliver("pull_request_review", one, Content_Type=FORM) for one in forms]
        assert running.events() == []
    assert {(reply.status, reply.said["error"].partition(":")[0]) for reply in replies} == {(400, "payload")}


# --- what is refused or ignored ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"X_GitHub_Event": ""},
        {"X_GitHub_Event": "pull request"},
        {"Content_Type": "text/plain"},
        {"Content_Type": ""},
    ],
)
@asynchronous
async def test_inv_03_a_delivery_that_does_not_say_what_it_is_is_refused(
    sqlite_url: str, fields: dict[str, str]
) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("pull_request_review", review(), **fields)
    assert reply.status == 400
    assert reply.said["error"].startswith(("X-GitHub-Event: ", "Content-Type: "))


@asynchronous
async def test_what_is_ignored_is_acknowledged_with_its_reason(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("issue_comment", example("issue_comment", "created"))
    assert (reply.status, reply.said) == (202, {"ignored": "not_a_pull_request"})


@asynchronous
async def test_an_event_that_nobody_has_heard_of_is_acknowledged_whatever_it_is_called(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("merge_queue_v2", {"action": "begun"})
    assert (reply.status, reply.said) == (202, {"ignored": "not_followed"})


@asynchronous
async def test_inv_07_a_repository_that_nobody_listed_leaves_no_event(sqlite_url: str) -> None:
    async with gateway(sqlite_url, "octo/other") as running:
        reply = await running.deliver("pull_request_review", review())
        assert running.events() == []
    assert reply.said == {"ignored": "not_configured"}


@asynchronous
async def test_a_renamed_repository_is_known_by_its_id(sqlite_url: str) -> None:
    renamed = review(2)
    for place in (renamed["repository"], renamed["pull_request"]["base"]["repo"]):
        place["full_name"] = "Codertocat/Moved"
    async with gateway(sqlite_url) as running:
        await running.deliver("pull_request_review", review(1))
        reply = await running.deliver("pull_request_review", renamed)
        assert len({event.loop for event in running.events()}) == 1
    assert "recorded" in reply.said


@asynchronous
async def test_inv_16_what_we_said_ourselves_is_no_feedback(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        reply = await running.deliver("issue_comment", remark("/amends fix", id=OURS))
        assert running.events() == []
    assert reply.said == {"ignored": "our_own"}


@asynchronous
async def test_inv_20_a_secret_in_a_command_is_not_in_the_log(sqlite_url: str) -> None:
    long = "ghs_" + "aB3.x-Y_" * 65
    async with gateway(sqlite_url) as running:
        await running.deliver("issue_comment", remark(f"/amends refine use {long} and AKIAABCDEFGHIJKLMNOP"))
        said = "".join(event.fact.model_dump_json() for event in running.events())
    assert "[redacted]" in said
    assert long[:30] not in said
    assert "AKIA" not in said


@asynchronous
async def test_inv_37_our_own_secret_in_a_title_is_not_in_the_log(sqlite_url: str) -> None:
    payload = example("pull_request", "opened")
    payload["pull_request"]["title"] = f"use {SECRET}"
    async with gateway(sqlite_url) as running:
        await running.deliver("pull_request", payload)
        titles = [event.fact.title for event in running.events() if isinstance(event.fact, PrObserved)]
    assert titles == ["use [redacted]"]


@asynchronous
async def test_believed_deliveries_are_timed(sqlite_url: str) -> None:
    def timed() -> float:
        return REGISTRY.get_sample_value("amends_webhook_seconds_count") or 0.0

    before = timed()
    async with gateway(sqlite_url) as running:
        await running.deliver("ping", {})
        await running.deliver("ping", {}, X_Hub_Signature_256=signature(b""))
    assert timed() == before + 1


# --- when it cannot be recorded ------------------------------------------------------------------------------------


@asynchronous
async def test_what_may_not_be_in_the_log_is_a_503(sqlite_url: str) -> None:
    async with gateway(sqlite_url, reports=Instead(Unavailable("no answer"))) as running:
        reply = await running.deliver("pull_request_review", review())
    assert (reply.status, "retry-after" in reply.fields) == (503, True)


@asynchronous
async def test_a_refusal_for_now_is_a_503(sqlite_url: str) -> None:
    async with gateway(sqlite_url, reports=Instead(Refused("not_ready", "starting"))) as running:
        assert (await running.deliver("pull_request_review", review())).status == 503


@asynchronous
async def test_a_final_refusal_is_acknowledged_because_the_same_would_only_come_again(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = counted("pull_request_review", "refused")
    async with gateway(sqlite_url, reports=Instead(Refused("unstorable", "it cannot be kept"))) as running:
        reply = await running.deliver("pull_request_review", review())
    assert (reply.status, "it cannot be kept" in reply.said["refused"]) == (202, True)
    assert counted("pull_request_review", "refused") == before + 1
    assert "a delivery is not recorded" in caplog.text


@asynchronous
async def test_what_is_refused_for_good_is_parked(sqlite_url: str) -> None:
    async with gateway(sqlite_url) as running:
        assert running.recorder is not None
        local = LocalRecorder(running.recorder, "gateway", running.log.blob)
        fact = CommandGiven(id="1", name="refine", text="a\0b", author=Author(id=1, kind="user"))
        answer = await local.report(Report(fact=fact, about=About(repo=1, number=2)))
        (parked,) = running.log.parked()
    assert isinstance(answer, Refused)
    assert (answer.reason, parked.reason) == ("hostile_text", "hostile_text")


# --- all of them ---------------------------------------------------------------------------------------------------


def everything(url: str) -> AbstractAsyncContextManager[Running]:
    return gateway(url, *{payload["repository"]["full_name"] for _, payload in named() if "repository" in payload})


@asynchronous
async def test_all_99_genuine_payloads_are_taken(sqlite_url: str) -> None:
    async with everything(sqlite_url) as running:
        replies = [await running.deliver(event, payload) for event, payload in named()]
    assert (len(replies), {reply.status for reply in replies}) == (99, {202})
    assert {next(iter(reply.said)) for reply in replies} == {"recorded", "ignored"}


@asynchronous
async def test_a_body_of_25_megabytes_is_taken_and_no_larger_one(sqlite_url: str) -> None:
    body = b'{"zen":"' + b"x" * (25 * 1024 * 1024 - 10) + b'"}'
    async with gateway(sqlite_url) as running:
        assert (await running.deliver("ping", body)).status == 202
        announced = delivery("ping", b"", Content_Length=str(25 * 1024 * 1024 + 1))
        assert (await exchange(running.address, announced)).status == 413
