"""Slack: a channel through a bot's token, where what was said is looked for first, or an incoming webhook."""

from __future__ import annotations

from typing import Any

import httpx

from amends.common.delivery import Later
from amends.common.effects import effect
from amends.common.sections import Slack as Settings
from amends.notifier.messages import Messages, Told
from amends.notifier.tell import Claim, Turned

_LATER = 30.0
_TIMEOUT = httpx.Timeout(15.0, connect=5.0)
_LOOKED_AT = 200  # messages; ours is among the last
_PASSING = {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
Json = dict[str, Any]


class Unsure(Exception):
    """It may have arrived."""


class SlackChannel:
    """Says things in one channel of Slack."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def send(self, messages: Messages, fact: Told, claim: Claim) -> str:
        """Say it once; answers with nothing, since its address is another question."""
        text, reference = messages.slack(fact), messages.reference(fact)
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            if not self._settings.token.get_secret_value():
                await claim()
                return await self._through_webhook(client, text)
            if not await self._there(client, reference):
                try:
                    await self._call(client, "chat.postMessage", {"text": text, **_STILL})
                except Unsure as unsure:
                    if not await self._there(client, reference):
                        raise Later(_LATER, str(unsure)) from unsure
        return ""

    async def _through_webhook(self, client: httpx.AsyncClient, text: str) -> str:
        url = self._settings.webhook.get_secret_value()
        try:
            with effect("slack", "webhook"):
                response = await _sent(client.post(url, json={"text": text, **_STILL}))
            _answered(response)
        except Unsure as unsure:  # nobody can look: better said once too little here than twice
            raise Turned(f"{unsure}; it may have arrived, so it is not sent again") from unsure
        return ""

    async def _there(self, client: httpx.AsyncClient, reference: str) -> bool:
        try:
            history = await self._call(client, "conversations.history", {"limit": _LOOKED_AT})
        except Unsure as unsure:
            raise Later(_LATER, str(unsure)) from unsure
        return any(f"_{reference}_" in str(one.get("text")) for one in history.get("messages") or ())

    async def _call(self, client: httpx.AsyncClient, method: str, said: Json) -> Json:
        url = f"{self._settings.api_url.rstrip('/')}/{method}"
        headers = {"Authorization": f"Bearer {self._settings.token.get_secret_value()}"}
        body = {"channel": self._settings.channel, **said}
        with effect("slack", method):
            response = await _sent(
                client.post(url, data=body, headers=headers)  # what reads takes no JSON
                if method == "conversations.history"
                else client.post(url, json=body, headers=headers)
            )
        _answered(response)
        try:
            answer = response.json()
        except ValueError as error:
            raise Unsure("Slack's answer cannot be read") from error
        if not isinstance(answer, dict) or not answer.get("ok"):
            word = str(answer.get("error") if isinstance(answer, dict) else answer)[:200]
            if word in _PASSING:
                raise Unsure(f"Slack says {word}")
            raise Turned(f"Slack says {word}")
        return answer


_STILL: Json = {"unfurl_links": False, "unfurl_media": False}


async def _sent(request: Any) -> httpx.Response:  # noqa: ANN401 - a request of httpx under way
    try:
        response: httpx.Response = await request
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Later(_LATER, f"Slack cannot be reached ({type(error).__name__})") from error
    except httpx.HTTPError as error:
        raise Unsure(f"Slack did not answer ({type(error).__name__})") from error
    return response


def _answered(response: httpx.Response) -> None:
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        said = response.headers.get("retry-after", "")
        raise Later(min(float(said), 3_600.0) if said.isdigit() else _LATER, "Slack limits us")
    if response.is_server_error:
        raise Unsure(f"Slack answered {response.status_code}")
    if not response.is_success:
        raise Turned(f"Slack answered {response.status_code} {response.text[:100]}")
