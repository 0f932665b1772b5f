"""One turn with the model, over HTTP: what comes back, what is tried again, and what an error means."""

import time
from collections.abc import Mapping

import pytest

from amends.common.events import Failure
from amends.doubles.model import Asked, Breaks, Denies, ModelDouble, Says, Uses, calls, text
from amends.fixer.dialogue import Json, Opening, Reply, TurnFailed
from amends.fixer.model import Claude
from tests.support.asynchronous import asynchronous
from tests.support.model import model_settings

OPENING = Opening("Be good.", [{"name": "view", "description": "See.", "input_schema": {"type": "object"}}])
HELLO: list[Json] = [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]
SOON: Mapping[str, str] = {"retry-after": "0"}


async def turn(double: ModelDouble, seconds: float = 10.0, **other: object) -> Reply:
    async with Claude(model_settings(double, **other)) as model:
        return await model.turn(OPENING, HELLO, seconds)


async def failure(double: ModelDouble, seconds: float = 10.0) -> TurnFailed:
    with pytest.raises(TurnFailed) as caught:
        await turn(double, seconds)
    return caught.value


@asynchronous
async def test_a_reply_has_its_words_its_calls_and_its_cost(double: ModelDouble) -> None:
    double.says(Says(("I look.", Uses("view", {"path": "ä.py"})), output_tokens=7))
    reply = await turn(double)
    assert (reply.stop, reply.text, reply.tokens.said) == ("calls", "I look.", 7)
    assert [(call.name, call.given) for call in reply.calls] == [("view", {"path": "ä.py"})]
    assert reply.said["content"][1]["id"] == reply.calls[0].id


@asynchronous
async def test_what_is_sent_can_be_cached_and_thinks(double: ModelDouble) -> None:
    double.says(text("Yes."))
    await turn(double)
    body = double.asked[0].body
    assert (body["thinking"], body["stream"]) == ({"type": "adaptive"}, True)
    assert body["cache_control"] == body["system"][0]["cache_control"] == {"type": "ephemeral"}


@asynchronous
async def test_inv_21_keys_and_addresses_of_the_environment_are_not_used(
    double: ModelDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    double.says(text("Yes."))
    assert (await turn(double)).text == "Yes."


@pytest.mark.parametrize(
    "trouble",
    [
        Denies(429, "rate_limit_error", headers=SOON),
        Denies(529, "overloaded_error"),
        Denies(500, "api_error"),
        Breaks(text("half of it"), after=3),
        Breaks(text("half of it"), after=0),
        Breaks(text("half of it"), after=3, kind="overloaded_error"),
        Breaks(text("half of it"), after=3, kind="api_error"),
    ],
)
@asynchronous
async def test_rel_10_what_passes_is_asked_again(double: ModelDouble, trouble: Denies | Breaks) -> None:
    double.says(trouble, trouble, text("Whole."))
    assert (await turn(double)).text == "Whole."
    assert double.asked[0].body == double.asked[2].body


@asynchronous
async def test_what_was_paid_for_replies_that_broke_is_counted(double: ModelDouble) -> None:
    double.says(Breaks(text("half of it"), after=3), text("Whole."))
    reply = await turn(double)
    double.says(text("Whole."))
    alone = await turn(double)
    assert reply.tokens.all > alone.tokens.all
    double.always = Breaks(text("half of it"), after=3)
    assert (await failure(double)).tokens.all > 0


@pytest.mark.parametrize(
    "trouble",
    [Denies(529, "overloaded_error"), Breaks(text("half"), after=3), Denies(429, "rate_limit_error", headers=SOON)],
)
@asynchronous
async def test_rel_10_what_does_not_pass_is_an_outage(double: ModelDouble, trouble: Denies | Breaks) -> None:
    double.always = trouble
    assert (await failure(double)).reason is Failure.MODEL_OVERLOADED
    assert len(double.asked) == 3


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (Denies(401, "authentication_error"), Failure.MODEL_AUTH),
        (Denies(403, "permission_error"), Failure.MODEL_AUTH),
        (Denies(402, "billing_error"), Failure.MODEL_SPEND),
        (Denies(429, "rate_limit_error", code="enforced_spend_limit_reached"), Failure.MODEL_SPEND),
        (Denies(429, "rate_limit_error", "You reached your spend limit"), Failure.MODEL_SPEND),
        (Denies(400, "invalid_request_error", "Your credit balance is too low"), Failure.MODEL_SPEND),
        (Denies(404, "not_found_error", "model: claude-none"), Failure.MODEL_UNKNOWN),
        (Denies(400, "invalid_request_error", "prompt is too long: 9 > 8"), Failure.LIMITS),
        (Denies(413, "request_too_large"), Failure.LIMITS),
        (Denies(400, "invalid_request_error", "tools.0: no"), Failure.MALFORMED),
        (Denies(429, "rate_limit_error", "slow down"), Failure.MODEL_OVERLOADED),
    ],
)
@asynchronous
async def test_rel_10_what_will_not_pass_is_not_asked_again(
    double: ModelDouble, trouble: Denies, reason: Failure
) -> None:
    double.always = trouble
    assert (await failure(double)).reason is reason
    assert len(double.asked) == 1


@asynchronous
async def test_a_long_wait_is_handed_on_and_not_waited_for(double: ModelDouble) -> None:
    double.says(Denies(429, "rate_limit_error", headers={"retry-after": "3600"}))
    failed = await failure(double)
    assert (failed.reason, failed.retry_after) == (Failure.MODEL_OVERLOADED, 3600)


@asynchronous
async def test_a_turn_ends_with_its_time(double: ModelDouble) -> None:
    double.says(Says(("late",), seconds=5))
    began = time.monotonic()
    assert (await failure(double, seconds=0.3)).reason is Failure.LIMITS
    assert time.monotonic() - began < 2


@asynchronous
async def test_an_address_where_nobody_is_is_an_outage(double: ModelDouble) -> None:
    with pytest.raises(TurnFailed) as caught:
        await turn(double, base_url="http://127.0.0.1:9")
    assert caught.value.reason is Failure.MODEL_OVERLOADED


@pytest.mark.parametrize(
    ("stop", "meant"),
    [("max_tokens", "cut"), ("refusal", "refusal"), ("model_context_window_exceeded", "context"), ("end_turn", "end")],
)
@asynchronous
async def test_a_reply_says_how_it_ended(double: ModelDouble, stop: str, meant: str) -> None:
    double.says(text("words", stop))
    assert (await turn(double)).stop == meant


@pytest.mark.parametrize("raw", ['{"path": nonsense', "[1]", "null", '"a"', "3"])
@asynchronous
async def test_calls_that_are_no_json_or_no_object_are_asked_for_again(double: ModelDouble, raw: str) -> None:
    double.says(calls(Uses("view", raw=raw)), calls(Uses("view", {"path": "a"})))
    assert (await turn(double)).calls[0].given == {"path": "a"}


@asynchronous
async def test_a_wrong_key_is_told_from_an_outage(double: ModelDouble) -> None:
    with pytest.raises(TurnFailed) as caught:
        await turn(double, api_key="wrong")
    assert caught.value.reason is Failure.MODEL_AUTH


def test_a_step_may_depend_on_what_was_asked(double: ModelDouble) -> None:
    asked = Asked({"messages": [{"role": "user", "content": "x"}]}, {})
    double.says(lambda seen: text(str(len(seen.messages))))
    step = double.script.popleft()
    assert callable(step)
    assert step(asked) == text("1")
