"""Git over smart HTTP: `git http-backend` on real repositories, behind GitHub's tokens, permissions and protections."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from amends.doubles.github.acts.pushes import RefChange, may_push, note, refusals
from amends.doubles.github.caller import Caller, Need, allows, sees
from amends.doubles.github.git import http_environment
from amends.doubles.github.http import Reply, Request
from amends.doubles.github.refusal import Refused
from amends.doubles.github.rest.dispatch import caller_by
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import World

_PATH = re.compile(r"/(?P<name>[^/]+/[^/]+?)(\.git)?/(?P<rest>info/refs|git-upload-pack|git-receive-pack)")


@dataclass(frozen=True)
class Visit:
    """One of the requests that a fetch or a push consists of."""

    name: str
    rest: str
    request: Request

    @property
    def pushes(self) -> bool:
        return "git-receive-pack" in (self.rest, self.request.query.get("service"))


def visit(request: Request) -> Visit | None:
    match = _PATH.fullmatch(request.path)
    return None if match is None else Visit(match["name"], match["rest"], request)


def serve(world: World, one: Visit) -> tuple[Reply, Caller]:
    """Blocks as long as git takes; the state is locked only before and after."""
    try:
        with world.lock:
            caller = caller_by(world, one.request.headers)
            repo = _admitted(world, caller, one)
            changes = list(_commands(one)) if one.rest == "git-receive-pack" else []
            environment = _environment(world, caller, repo, one, changes)
    except Refused as refused:
        return _refusal(refused), Caller()
    reply = _backend(environment, one.request.body)
    if changes:
        with world.lock:
            note(world, caller, repo, changes)
    return reply, caller


def _admitted(world: World, caller: Caller, one: Visit) -> Repository:
    repo = world.find_repository(one.name)
    if repo is None or not sees(caller, repo) or not allows(caller, repo, Need("contents")):
        if caller.grant is None:
            raise Refused(401, "Authentication required.")
        raise Refused(404, "Repository not found.")
    if repo.full_name.casefold() != one.name.casefold():
        url = f"{world.urls.git(repo)}/{one.rest}"
        query = one.request.query_string
        raise Refused(301, "Moved Permanently", headers={"location": f"{url}?{query}" if query else url})
    if not one.pushes:
        return repo
    if caller.account is None:
        raise Refused(401, "Authentication required.")
    if repo.archived:
        raise Refused(403, "This repository was archived so it is read-only.")
    if not may_push(caller, repo):
        raise Refused(403, f"Permission to {repo.full_name}.git denied to {caller.account.login}.")
    return repo


def _refusal(refused: Refused) -> Reply:
    headers = {"content-type": "text/plain", **refused.headers}
    if refused.status == 401:  # noqa: PLR2004 - git asks its credential helper only if told to
        headers["www-authenticate"] = 'Basic realm="GitHub"'
    return Reply(refused.status, refused.message.encode(), headers)


def _body(one: Visit) -> bytes:
    return (
        gzip.decompress(one.request.body)
        if "gzip" in one.request.headers.get("content-encoding", "")
        else one.request.body
    )


def _commands(one: Visit) -> Iterator[RefChange]:
    """The head of a push: old, new and name of each ref, up to the flush packet."""
    raw, at = _body(one), 0
    while at + 4 <= len(raw) and (length := int(raw[at : at + 4], 16)):
        words = raw[at + 4 : at + length].partition(b"\0")[0].decode("utf-8", "replace").split()
        at += length
        if len(words) == 3:  # noqa: PLR2004 - not a `shallow` line
            yield RefChange(words[2], words[0], words[1])


def _environment(
    world: World, caller: Caller, repo: Repository, one: Visit, changes: list[RefChange]
) -> dict[str, str]:
    reasons = refusals(caller, repo, changes) if changes else {}
    held = caller.grant.permissions if caller.grant is not None else None
    app = held is not None and "workflows" not in held
    tip = repo.branches.get(repo.default_branch, "")
    request = one.request
    return {
        **http_environment(),
        "GIT_PROJECT_ROOT": str(world.git.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repo.folder.name}/{one.rest}",
        "QUERY_STRING": request.query_string,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_USER": caller.account.login if caller.account else "",
        "REMOTE_ADDR": "127.0.0.1",
        "AMENDS_DOUBLE_REFUSALS": "\n".join(f"{ref}\t{reason}" for ref, reason in reasons.items()),
        "AMENDS_DOUBLE_NO_WORKFLOWS": tip if app else "",
    }


def _backend(environment: dict[str, str], body: bytes) -> Reply:
    done = subprocess.run(
        ["git", "http-backend"],  # noqa: S607 - the git of this machine
        input=body,
        env=environment,
        capture_output=True,
        check=False,
        timeout=120,
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    pairs = (line.partition(": ") for line in head.decode().split("\r\n") if ": " in line)
    headers = {name.lower(): value for name, _, value in pairs}
    status = int(headers.pop("status", "200 OK").split()[0])
    headers.pop("content-length", None)
    return Reply(status, content, headers)
