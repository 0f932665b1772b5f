"""From a request to its handler: who asks, which repository, whether he may, and what refusals look like."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, replace

from amends.doubles.github.caller import Caller, caller_of, demand, sees
from amends.doubles.github.http import Reply, Request, dumps, json_reply
from amends.doubles.github.limits import Limits
from amends.doubles.github.refusal import Refused, not_found
from amends.doubles.github.rest import apps, checks, comments, contents, issues, pulls, repositories, reviews
from amends.doubles.github.rest.call import Answer, Call
from amends.doubles.github.rest.routes import Route, Routes
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import World
from amends.doubles.github.tokens import app_of

VERSIONS = {"2022-11-28", "2026-03-10"}


def table(*others: Routes) -> Routes:
    """All routes; reviews before comments, because the more special one has to be asked first."""
    own = [pulls.ROUTES, reviews.ROUTES, comments.ROUTES, issues.ROUTES, checks.ROUTES, contents.ROUTES]
    return Routes(*own, repositories.ROUTES, apps.ROUTES, *others)


def caller_by(world: World, headers: Mapping[str, str]) -> Caller:
    """By token, by JWT, by Basic with a token as the password; nobody without any."""
    scheme, _, said = headers.get("authorization", "").partition(" ")
    if not said:
        return Caller()
    token = said.strip()
    if scheme.lower() == "basic":
        token = b64decode(token).decode().partition(":")[2]
    if token.startswith("eyJ"):
        return app_of(world, token)
    return caller_of(world, token)


@dataclass(frozen=True)
class Served:
    """An answer, with the route it came by."""

    reply: Reply
    caller: Caller
    route: Route | None = None


class Rest:
    """The REST API of one world."""

    def __init__(self, world: World, limits: Limits, routes: Routes) -> None:
        self.world = world
        self.limits = limits
        self.routes = routes

    def serve(self, request: Request, path: str) -> Served:
        """Answer a request whose path is without the prefix."""
        caller, route, headers = Caller(), None, {}
        try:
            _check_agent(request)
            caller = caller_by(self.world, request.headers)
            if path != "/rate_limit":
                self.limits.take(caller.bucket, "core")
            headers = self.limits.headers(caller.bucket, "core")
            call, route = self._call(request, path, caller)
            self._check_burst(request, caller, route)
            answer = route.handler(call)
        except Refused as refused:
            reply = json_reply(refused.status, refused.body, {**headers, **refused.headers})
            return Served(reply, caller, route)
        return Served(self._reply(request, answer, headers, caller), caller, route)

    def _check_burst(self, request: Request, caller: Caller, route: Route) -> None:
        writes = request.method not in {"GET", "HEAD"}
        content = writes and request.method == "POST" and "access_tokens" not in route.template
        self.limits.take_burst(caller.bucket, 5 if writes else 1, writes=content)

    def _call(self, request: Request, path: str, caller: Caller) -> tuple[Call, Route]:
        version = request.headers.get("x-github-api-version")
        if version is not None and version not in VERSIONS:
            raise Refused(400, f"Invalid API version: {version}")
        path, repo = self._repository(request, path, caller)
        found = self.routes.find(request.method, path)
        if found is None:
            raise not_found()
        route, params = found
        if repo is not None and route.need is not None:
            demand(caller, repo, route.need)
        call = Call(self.world, caller, request.method, path, params, request.query, request.headers, None, repo)
        return replace(call, body=_body(request)), route

    def _repository(self, request: Request, path: str, caller: Caller) -> tuple[str, Repository | None]:
        """By name or by number. A former name redirects to the number, which never changes."""
        words = path.split("/")
        if words[1] == "repositories" and len(words) > 2:  # noqa: PLR2004 - "", repositories, id
            repo = self.world.repositories.get(int(words[2])) if words[2].isdigit() else None
            if repo is None or repo.gone:
                raise not_found()
            return "/".join(["/repos", repo.full_name, *words[3:]]), repo
        if words[1] != "repos" or len(words) < 4:  # noqa: PLR2004 - "", repos, owner, repo
            return path, None
        repo = self.world.repository(f"{words[2]}/{words[3]}")
        installed = caller.app is not None and self.world.installation_of(caller.app, repo) is not None
        if not installed and not sees(caller, repo):
            raise not_found()
        if repo.full_name.casefold() != f"{words[2]}/{words[3]}".casefold():
            raise _moved(self.world, request, repo, words[4:])
        return path, repo

    def _reply(self, request: Request, answer: Answer, headers: Mapping[str, str], caller: Caller) -> Reply:
        own = {"x-github-media-type": "github.v3; format=json", **headers, **answer.headers}
        if caller.grant is not None and caller.grant.classic:
            own["x-oauth-scopes"] = ", ".join(caller.grant.scopes)
        if answer.content is None:
            return Reply(answer.status, b"", own)
        raw = answer.content if isinstance(answer.content, bytes) else dumps(answer.content)
        own.setdefault("content-type", "application/json; charset=utf-8")
        if request.method == "GET" and answer.status == 200:  # noqa: PLR2004 - only what was found has an ETag
            tag = _etag(raw, request.headers.get("authorization", ""))
            own |= {"etag": tag, "cache-control": "private, max-age=60, s-maxage=60", "vary": "Accept, Authorization"}
            if tag in request.headers.get("if-none-match", ""):
                self.limits.give_back(caller.bucket, "core")
                return Reply(304, b"", own)
        return Reply(answer.status, raw, own)


def _moved(world: World, request: Request, repo: Repository, rest: list[str]) -> Refused:
    url = world.urls.api("/".join([f"/repositories/{repo.id}", *rest]))
    url += f"?{request.query_string}" if request.query_string else ""
    status = 301 if request.method in {"GET", "HEAD"} else 307
    return Refused(status, "Moved Permanently" if status == 301 else "Temporary Redirect", headers={"location": url})  # noqa: PLR2004


def _check_agent(request: Request) -> None:
    if not request.headers.get("user-agent"):
        said = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header."
        raise Refused(403, said)


def _body(request: Request) -> object:
    if not request.body or request.method == "GET":
        return None
    try:
        return json.loads(request.body)
    except ValueError:
        raise Refused(400, "Problems parsing JSON") from None


def _etag(raw: bytes, authorization: str) -> str:
    """Another token, another tag: tokens of an App rotate every hour."""
    return 'W/"' + hashlib.sha256(authorization.encode() + b"\0" + raw).hexdigest() + '"'
