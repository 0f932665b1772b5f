"""The double as an ASGI application: REST, GraphQL, git and the control surface behind one address.

Every request is written down, may be spoiled by a fault, and may be checked against GitHub's own descriptions.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Protocol

from amends.doubles.github import git_http
from amends.doubles.github.caller import Caller
from amends.doubles.github.faults import Fault, Faults
from amends.doubles.github.graphql import endpoint
from amends.doubles.github.http import Receive, Reply, Request, Scope, Send, json_reply, read, write
from amends.doubles.github.journal import Asked, Journal
from amends.doubles.github.limits import Limits
from amends.doubles.github.pages import page
from amends.doubles.github.refusal import Json
from amends.doubles.github.rest.dispatch import Rest
from amends.doubles.github.rest.routes import Route
from amends.doubles.github.state.world import World, graphql_path


class Contract(Protocol):
    """What GitHub's descriptions say of a request and its answer: sentences about what is wrong."""

    def rest(self, request: Request, path: str, route: Route, reply: Reply) -> list[str]: ...
    def graphql(self, request: Request) -> list[str]: ...
    def webhook(self, event: str, said: Json) -> list[str]: ...


@dataclass(repr=False)
class Application:
    """`latency` is added to every answer; `before` is called right before each; `control` serves /_double."""

    world: World
    rest: Rest
    limits: Limits
    faults: Faults
    journal: Journal = field(default_factory=Journal)
    latency: float = 0.0
    before: Callable[[Asked], object] | None = None
    contract: Contract | None = None
    control: Callable[[Request], Reply] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = await read(scope, receive)
        if request.path.startswith("/_double/") and self.control is not None:
            await write(send, await asyncio.to_thread(self.control, request))
            return
        who = request.headers.get("authorization", "")
        crowded = self.limits.enter(who)
        try:
            await self._answer(request, receive, send, crowded=crowded)
        finally:
            self.limits.leave(who)

    async def _answer(self, request: Request, receive: Receive, send: Send, *, crowded: bool) -> None:
        asked = Asked(request, self.world.clock.now())
        fault = self.faults.take(*self._seen_as(request))
        self.journal.start(asked)
        started = time.monotonic()
        if delay := self.latency + (fault.delay if fault else 0.0):
            await asyncio.sleep(delay)
        reply = self._crowded() if crowded else await self._guarded(request, asked, fault)
        asked.seconds = time.monotonic() - started
        if fault is not None and fault.hang:
            await self._until_gone(receive)
            return
        asked.status = reply.status
        await write(send, self._signed(reply), promised=_promised(reply, fault))

    def _signed(self, reply: Reply) -> Reply:
        """With what every answer of GitHub has; the date is that of the double's clock."""
        number = len(self.journal.entries)
        own = {
            "date": formatdate(self.world.clock.now().timestamp(), usegmt=True),
            "server": "github.com",
            "x-github-request-id": f"D0{number:06X}:{number:04X}:{number:06X}",
        }
        return Reply(reply.status, reply.body, {**own, **reply.headers})

    def _crowded(self) -> Reply:
        refused = self.limits.secondary()
        return json_reply(refused.status, refused.body, refused.headers)

    def _seen_as(self, request: Request) -> tuple[str, str]:
        """How a fault finds it: GraphQL by what the document says."""
        if request.path == graphql_path(self.world.urls.prefix):
            return "GRAPHQL", request.body.decode("utf-8", "replace")
        return request.method, request.target

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _guarded(self, request: Request, asked: Asked, fault: Fault | None) -> Reply:
        try:
            return await self._reply(request, asked, fault)
        except Exception:  # noqa: BLE001 - the double's own mistake, told where tests look
            self.journal.crashes.append(f"{request.method} {request.target}\n{traceback.format_exc()}")
            return json_reply(500, {"message": "The double itself is broken; see its crashes."})

    async def _reply(self, request: Request, asked: Asked, fault: Fault | None) -> Reply:
        if self.before is not None:
            self.before(asked)
        if fault is not None and fault.before is not None:
            fault.before()
        if fault is not None and fault.prevents:
            return fault.spoil(Reply(503), "")
        reply = await self._served(request, asked)
        if fault is not None and fault.after is not None:
            fault.after()
        return reply if fault is None else fault.spoil(reply, self.world.urls.root + request.target)

    async def _served(self, request: Request, asked: Asked) -> Reply:
        visit = git_http.visit(request)
        if visit is not None:
            reply, caller = await asyncio.to_thread(git_http.serve, self.world, visit)
            asked.operation = "git"
        else:
            with self.world.lock:
                reply, caller = self._api(request, asked)
        asked.who = _name(caller)
        return reply

    def _api(self, request: Request, asked: Asked) -> tuple[Reply, Caller]:
        prefix = self.world.urls.prefix
        if request.path == graphql_path(prefix):
            asked.operation = endpoint.operation(request)
            if self.contract is not None:
                self.journal.violations += self.contract.graphql(request)
            return endpoint.serve(self.world, self.limits, request)
        if not request.path.startswith(f"{prefix}/"):
            return page(self.world, request), Caller()
        path = request.path.removeprefix(prefix)
        served = self.rest.serve(request, path)
        if served.route is not None:
            asked.operation = f"{served.route.method} {served.route.template}"
            if self.contract is not None:
                self.journal.violations += self.contract.rest(request, path, served.route, served.reply)
        elif self.rest.routes.find(request.method, _as_named(path)) is None:
            self.journal.unknown.append(f"{request.method} {path}")
        return served.reply, served.caller


def _as_named(path: str) -> str:
    words = path.split("/")
    return "/".join(["", "repos", "o", "r", *words[3:]]) if words[1] == "repositories" else path


def _name(caller: Caller) -> str:
    if caller.account is not None:
        return caller.account.login
    return f"app {caller.app.slug}" if caller.app else ""


def _promised(reply: Reply, fault: Fault | None) -> int | None:
    """More than there is, for a connection that breaks."""
    return len(reply.body) + 1_000 if fault is not None and fault.broken else None
