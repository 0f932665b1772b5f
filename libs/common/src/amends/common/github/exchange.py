"""One request to GitHub and what becomes of it: tried again where that is safe, and failing in our own words."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx
from githubkit import GitHubCore, UnauthAuthStrategy
from githubkit.exception import GitHubException, RequestError, RequestFailed

from amends.common.effects import effect
from amends.common.github.errors import Denied, Down, Elsewhere, Lacking, Missing, Torn
from amends.common.github.limits import Gate, Headers, github_time, is_limit
from amends.common.github.measures import ended, sent_away
from amends.common.github.transport import GuardedTransport
from amends.common.sections import GitHub

AGENT = "amends"
_CONNECT = 5.0
_TRIES = 3
_FIRST_PAUSE = 0.2
_AWAY = 30.0  # seconds until it makes sense to ask a GitHub again that does not answer
_VERSION = {"X-GitHub-Api-Version": "2022-11-28"}
_LACKING = 300.0
_UNBELIEVED = re.compile(r"certificate verify failed: ([^(\]]+?) *(?:\(|\]|$)")
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}


class Unauthorized(Exception):
    """The token is not taken, or not any more; `at` is GitHub's own time."""

    def __init__(self, said: str, at: float) -> None:
        super().__init__(said)
        self.at = at


@dataclass(frozen=True)
class Call:
    """What to ask. `safe`: asking twice does no more than asking once."""

    method: str
    url: str
    query: Mapping[str, str | int] | None = None
    body: object = None
    safe: bool = True


@dataclass(frozen=True)
class Told:
    """What GitHub answered."""

    content: bytes
    headers: Headers


class Exchange:
    """Sends requests for as long as the process lives, over one pool of connections."""

    def __init__(self, settings: GitHub) -> None:
        self._transport = GuardedTransport((settings.rest, settings.graphql))
        self._core = GitHubCore(
            UnauthAuthStrategy(),  # the token is a matter of each request: githubkit's own caches forget the host
            base_url=settings.rest,
            user_agent=AGENT,
            timeout=httpx.Timeout(settings.timeout_seconds, connect=_CONNECT),
            async_transport=self._transport,
            http_cache=False,  # tokens rotate, and every tag with them
            auto_retry=False,  # it would repeat writes, and sleep for an hour
        )
        self.made = 0
        self._graphql = settings.graphql
        self._heard = 0.0

    @property
    def github_now(self) -> float:
        """The time on GitHub's clock; long ago, as long as nothing was heard from it."""
        return self._heard + time.monotonic() if self._heard else 0.0

    async def leave(self) -> None:
        """Close all connections."""
        await self._transport.leave()

    async def send(self, call: Call, token: str, gate: Gate) -> Told:
        """The answer, or why there is none."""
        pause = _FIRST_PAUSE
        for _ in range(_TRIES - 1):
            try:
                return await self._once(call, token, gate)
            except Down as down:
                if not call.safe or isinstance(down, Lacking):
                    raise
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads a herd, guards nothing
            pause *= 3
        return await self._once(call, token, gate)

    async def _once(self, call: Call, token: str, gate: Gate) -> Told:
        async with gate.passing():
            self.made += 1
            try:
                with effect("http", call):
                    response = await self._core.arequest(
                        call.method,
                        call.url,
                        params=call.query,
                        json=call.body,
                        headers={**_VERSION, "Authorization": f"Bearer {token}"},
                    )
            except RequestFailed as failed:
                refusal = _refusal(failed, gate)
                if isinstance(refusal, Missing) and call.url == self._graphql:
                    why = f"there is no GraphQL API at {call.url}, and amends needs it: see github.graphql_url"
                    raise Lacking(_LACKING, why) from failed
                raise refusal from failed
            except RequestError as error:
                ended("failed")
                raise _accident(error.exc) from error
            except GitHubException as error:
                ended("failed")
                raise Down(_AWAY, f"GitHub could not be asked: {error!r}"[:300]) from error
        ended("answered")
        gate.answered(response.headers)
        self._heard = github_time(response.headers) - time.monotonic()
        return Told(response.content, response.headers)


def _refusal(failed: RequestFailed, gate: Gate) -> Exception:
    status, headers, body = failed.response.status_code, failed.response.headers, failed.response.content
    if is_limit(status, headers, body):
        limited = gate.refused(headers)
        ended("limited")
        sent_away(limited.delay)
        return limited
    ended("refused")
    said = f"{status} {_message(body)} ({failed.request.method} {failed.request.url.path})"
    if status == HTTPStatus.UNAUTHORIZED:
        return Unauthorized(said, github_time(headers))
    if status in _GONE:
        return Missing(said)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return Down(_AWAY, f"GitHub answered {said}")
    return Denied(said)


def _message(body: bytes) -> str:
    try:
        said = json.loads(body)
    except ValueError:
        return ""
    return str(said.get("message", ""))[:200] if isinstance(said, dict) else ""


def _accident(error: Exception) -> Exception:
    match error:
        case Elsewhere():
            return error
        case httpx.TooManyRedirects() | httpx.DecodingError():
            return Torn(_AWAY, f"GitHub's answer cannot be read: {error}")
        case httpx.ConnectError() if found := _UNBELIEVED.search(str(error)):
            why = f"its certificate is not believed ({found[1]}): SSL_CERT_FILE names the file of its authority"
            return Down(_AWAY, f"GitHub cannot be reached: {why}")
        case httpx.TimeoutException():
            return Down(_AWAY, f"GitHub did not answer in time ({type(error).__name__})")
        case _:
            return Down(_AWAY, f"GitHub cannot be reached: {error!r}"[:300])
