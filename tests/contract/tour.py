"""A visit to every route of the double's REST API, every event it tells, and every field of its GraphQL schema."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import jwt

from amends.doubles.github import GitHubDouble
from amends.doubles.github.acts import pulls
from amends.doubles.github.control.actors import caller
from amends.doubles.github.control.apps import AppHandle
from amends.doubles.github.control.pulls import PullHandle
from tests.contract.descriptions import load
from tests.contract.visits import VISITS, Guest, Visit, places
from tests.doubles.client import Api
from tests.doubles.receiver import Receiver
from tests.support.github import LINES


@dataclass(frozen=True)
class Toured:
    """What was seen: `github` with its journal, and the events that were told."""

    github: GitHubDouble
    told: Receiver


@contextmanager
def open_tour() -> Iterator[tuple[GitHubDouble, PullHandle]]:
    """The story before the tour, to look around in."""
    with GitHubDouble() as github:
        github.check(load())
        app = github.app("amends")
        pull = _story(github)
        app.install("acme", [pull.repo])
        pulls.open_issue(github.world, caller(github.world, "bob"), pull.repo.of, "An issue", "Text.")
        yield github, pull


@contextmanager
def tour() -> Iterator[Toured]:
    with ExitStack() as stack:
        github = stack.enter_context(GitHubDouble())
        receiver = stack.enter_context(Receiver())
        github.check(load())
        app = github.app("amends", {**_EVERYTHING})
        github.webhooks.to(receiver.url, "shh")
        github.webhooks.to(receiver.url, "shh", app)
        pull = _story(github)
        guest = _guest(github, app, stack)
        _tenancy(github, app)
        for visit in VISITS:
            _go(github, guest, pull, visit)
        _endings(github, pull)
        github.webhooks.wait()
        yield Toured(github, receiver)


_EVERYTHING = {
    **dict.fromkeys(("pull_requests", "contents", "issues", "checks", "statuses", "administration"), "write"),
    "repository_hooks": "write",
}


def _guest(github: GitHubDouble, app: AppHandle, stack: ExitStack) -> Guest:
    now = int(time.time())
    installation = app.install("acme", [github.repo("acme/widget")])
    key = jwt.encode({"iat": now, "exp": now + 500, "iss": str(app.id)}, app.pem, algorithm="RS256")
    tokens = {
        "octocat": github.token("octocat"),
        "bob": github.token("bob"),
        "app": key,
        "installation": installation.token(),
    }
    return Guest({name: stack.enter_context(Api(github, token)) for name, token in tokens.items()})


def _story(github: GitHubDouble) -> PullHandle:
    """A pull request with everything on it that a route can show."""
    github.organization("acme", "mia")
    repo = github.repo("acme/widget", {"app.py": LINES, "old.py": LINES, "docs/a.md": "a\n"})
    for login in ("alice", "bob", "carol"):
        repo.collaborator(login, "write")
    repo.team("core", ["carol"])
    repo.jobs(build="success", lint="failure")
    repo.protect(approvals=1, checks=("build",), dismiss_stale=True, resolve_conversations=True)
    repo.commit("release", {"r": "r\n"})
    repo.commit("second", {"s": "s\n"})
    pull = repo.pull("feature", by="alice", files={"app.py": LINES.replace("line 10\n", "line ten\n")}, body="Please.")
    _reviews(github, pull)
    _conversation(pull)
    pull.push({"app.py": "new\n" + LINES.replace("line 10\n", "line 10!\n"), "old.py": None, "b": b"\0"}, by="alice")
    return pull


def _reviews(github: GitHubDouble, pull: PullHandle) -> None:
    inline = [
        {"path": "app.py", "line": 10, "body": "Why?"},
        {"path": "app.py", "line": 10, "side": "LEFT", "body": "Gone?"},
        {"path": "app.py", "start_line": 8, "line": 9, "body": "Here."},
        {"path": "app.py", "body": "The file."},
    ]
    rejection = pull.review("bob", "changes_requested", "No.", inline)  # type: ignore[arg-type]
    rejection.threads[0].reply("Because.", by="alice").react("+1", by="bob")
    rejection.threads[0].resolve("alice")
    rejection.threads[0].unresolve("bob")
    rejection.threads[1].root.edit("Gone??", by="alice")
    rejection.threads[2].reply("Soon deleted.", by="alice").delete()
    rejection.edit("No!")
    pull.review("carol", "approved").dismiss("octocat")
    pull.review("carol", "approved")
    pull.review("mia", "commented", "Hm.")
    pull.review("dave", "commented", "Bye.", [{"path": "app.py", "line": 11, "body": "Bye."}])
    github.delete_user("dave")


def _conversation(pull: PullHandle) -> None:
    said = pull.say("bob", "Hello.")
    said.edit("Hello!")
    said.react("eyes", by="alice")
    pull.say("amends[bot]", "I am a bot.")
    pull.say("bob", "Never mind.").delete()
    pull.request_review("bob", "mia")
    pull.label("bug", "help wanted")
    pull.unlabel("bug")
    pull.assign("alice")
    pull.status("ci/legacy", "failure")
    pull.status("ci/legacy", "success")
    pull.check("lint", "success", "All good.")
    pull.edit("A better title", "Please look.")


def _go(github: GitHubDouble, guest: Guest, pull: PullHandle, visit: Visit) -> None:
    path = visit.path.format(**places(github, pull))
    github.webhooks.wait()
    answer: httpx.Response = guest.by[visit.by].send(visit.method, path, visit.sent(github, pull))
    assert answer.status_code == visit.status, f"{visit.method} {path}: {answer.status_code} {answer.text[:300]}"


def _endings(github: GitHubDouble, pull: PullHandle) -> None:
    """What can only happen last."""
    pull.draft()
    pull.draft(on=False)
    pull.lock("spam")
    pull.unlock()
    pull.queue()
    pull.queue(on=False)
    pull.close()
    pull.reopen()
    repo = pull.repo
    pull.retarget("releases")
    fork = repo.fork("stranger")
    foreign = repo.pull("topic", by="stranger", files={"z": "z\n"}, source=fork)
    foreign.push({"z": "zz\n"}, by="stranger")
    fork.delete()
    other = github.repo("acme/other")
    other.rename("another")
    other.transfer("globex")
    other.archive()


def _tenancy(github: GitHubDouble, app: AppHandle) -> None:
    """Another installation, with all that happens to one."""
    other = app.install("globex", [github.repo("globex/one")])
    other.add(github.repo("globex/two"))
    other.remove(github.repo("globex/one"))
    other.suspend()
    other.suspend(on=False)
    other.uninstall()
