"""What can be done to the double over HTTP: one verb each, the fields named as in the Python handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from amends.doubles.github.control.actors import MAINTAINER
from amends.doubles.github.control.apps import AppHandle
from amends.doubles.github.control.pulls import Place, PullHandle
from amends.doubles.github.control.repositories import Opening, Push, RepositoryHandle, Rule
from amends.doubles.github.control.talk import CommentHandle, ReviewHandle, ThreadHandle
from amends.doubles.github.faults import Effect
from amends.doubles.github.refusal import Json, Refused, not_found
from amends.doubles.github.webhooks.disorder import Mishap

if TYPE_CHECKING:
    from amends.doubles.github.double import GitHubDouble

Said = Mapping[str, Any]
Deed = Callable[["GitHubDouble", Said], Json | None]


def _rest(said: Said, *names: str) -> dict[str, Any]:
    """All fields but these."""
    return {name: value for name, value in said.items() if name not in names}


def _repo(double: GitHubDouble, said: Said) -> RepositoryHandle:
    if double.world.find_repository(said["repo"]) is None:
        raise not_found()
    return double.repo(said["repo"])


def _pull(double: GitHubDouble, said: Said) -> PullHandle:
    return _repo(double, said).get_pull(said["pull"])


def _thread(double: GitHubDouble, said: Said) -> ThreadHandle:
    """By its node id, or by the id of its first comment."""
    wanted = said["thread"]
    found = (one for one in _pull(double, said).threads if wanted in {one.id, one.root.id})
    if (thread := next(found, None)) is None:
        raise not_found()
    return thread


def _app(double: GitHubDouble, slug: str) -> AppHandle:
    found = next((one for one in double.world.apps if one.slug == slug), None)
    return double.app(slug) if found is None else AppHandle(double.world, found)


def user(double: GitHubDouble, said: Said) -> Json:
    account = double.user(said["login"], said.get("kind", "User"))
    account.reviews_on_request = bool(said.get("reviews_on_request", False))
    return {"id": account.id, "login": account.login}


def repo(double: GitHubDouble, said: Said) -> Json:
    made = double.repo(said["repo"], said.get("files"), private=said.get("private", True))
    for login, role in said.get("collaborators", {}).items():
        made.collaborator(login, role)
    if "jobs" in said:
        made.jobs(**said["jobs"])
    if "protect" in said:
        made.protect(said["protect"].get("branch"), **cast("Rule", _rest(said["protect"], "branch")))
    return {"id": made.id, "clone_url": made.clone_url, "branches": made.branches}


def app(double: GitHubDouble, said: Said) -> Json:
    made = double.app(said["slug"], said.get("permissions"))
    return {"id": made.id, "client_id": made.client_id, "pem": made.pem, "login": made.login}


def install(double: GitHubDouble, said: Said) -> Json:
    chosen = said.get("repositories")
    repositories = None if chosen is None else [double.repo(name) for name in chosen]
    return {"id": _app(double, said["app"]).install(said["account"], repositories).id}


def token(double: GitHubDouble, said: Said) -> Json:
    return {"token": double.token(said["login"], said.get("permissions"))}


def webhook(double: GitHubDouble, said: Said) -> Json:
    to = _app(double, said["app"]) if "app" in said else None
    return {"id": double.webhooks.to(said["url"], said["secret"], to, tuple(said.get("events", ("*",)))).id}


def pull(double: GitHubDouble, said: Said) -> Json:
    rest = cast("Opening", _rest(said, "repo", "head", "by", "files"))
    made = _repo(double, said).pull(said["head"], said["by"], said.get("files"), **rest)
    return {"number": made.number, "head": made.head, "url": double.url + f"/{made.repo.name}/pull/{made.number}"}


def commit(double: GitHubDouble, said: Said) -> Json:
    rest = cast("Push", _rest(said, "repo", "branch", "files"))
    return {"sha": _repo(double, said).commit(said["branch"], said["files"], **rest)}


def review(double: GitHubDouble, said: Said) -> Json:
    made = _pull(double, said).review(said["by"], said["state"], said.get("body", ""), said.get("comments", ()))
    return {"id": made.id, "threads": [one.id for one in made.threads]}


def comment(double: GitHubDouble, said: Said) -> Json:
    """Inline with a path, in the conversation without one."""
    if "path" not in said:
        return {"id": _pull(double, said).say(said["by"], said["body"]).id}
    place = cast("Place", _rest(said, "repo", "pull", "by", "body"))
    made = _pull(double, said).comment(said["by"], said["body"], **place)
    return {"id": made.root.id, "thread": made.id}


def reply(double: GitHubDouble, said: Said) -> Json:
    return {"id": _thread(double, said).reply(said["body"], said["by"]).id}


def resolve(double: GitHubDouble, said: Said) -> None:
    thread, by = _thread(double, said), said["by"]
    (thread.unresolve if said.get("resolved") is False else thread.resolve)(by)


def _spoken(double: GitHubDouble, said: Said) -> CommentHandle | ReviewHandle:
    """A comment or a review by its id."""
    pull = _pull(double, said)
    inline = [one for thread in pull.threads for one in thread.comments]
    every: list[CommentHandle | ReviewHandle] = [*pull.conversation, *inline, *pull.reviews]
    if (found := next((one for one in every if one.id == said["id"]), None)) is None:
        raise not_found()
    return found


def edit(double: GitHubDouble, said: Said) -> None:
    _spoken(double, said).edit(said["body"], said.get("by"))


def delete(double: GitHubDouble, said: Said) -> None:
    found = _spoken(double, said)
    if isinstance(found, ReviewHandle):
        raise Refused(422, "A submitted review stays.")
    found.delete(said.get("by"))


def dismiss(double: GitHubDouble, said: Said) -> None:
    found = _spoken(double, said)
    if not isinstance(found, ReviewHandle):
        raise Refused(422, "Only reviews are dismissed.")
    found.dismiss(said.get("by", MAINTAINER))


def change(double: GitHubDouble, said: Said) -> None:
    """A pull request's state: closed, reopened, merged, drafted, labelled, locked, queued."""
    one, by = _pull(double, said), said.get("by", MAINTAINER)
    does: dict[str, Callable[[Any], object]] = {
        "open": lambda on: (one.reopen if on else one.close)(by),
        "merged": lambda _: one.merge(by),
        "draft": lambda on: one.draft(on=on, by=by),
        "locked": lambda on: one.lock(by=by) if on else one.unlock(by),
        "queued": lambda on: one.queue(on=on, by=by),
        "label": lambda name: one.label(name, by=by),
        "unlabel": lambda name: one.unlabel(name, by),
        "base": lambda name: one.retarget(name, by),
        "reviewers": lambda logins: one.request_review(*logins, by=by),
    }
    for name, value in _rest(said, "repo", "pull", "by").items():
        does[name](value)


def check(double: GitHubDouble, said: Said) -> None:
    """A check run, or with `state` a status, on a pull request's head."""
    if "state" in said:
        _pull(double, said).status(said["name"], said["state"])
    else:
        _pull(double, said).check(said["name"], said.get("conclusion"), said.get("summary"))


def fault(double: GitHubDouble, said: Said) -> None:
    double.faults.next(said["method"], said.get("path", ""), **cast("Effect", _rest(said, "method", "path")))


def mishap(double: GitHubDouble, said: Said) -> None:
    double.webhooks.add(Mishap(**said))


def calm(double: GitHubDouble, _: Said) -> None:
    """No faults and no mishaps any more."""
    double.faults.clear()
    double.webhooks.post.disorder.clear()


def hold(double: GitHubDouble, _: Said) -> None:
    double.webhooks.hold()


def release(double: GitHubDouble, said: Said) -> None:
    double.webhooks.release(said.get("seed"), backwards=said.get("backwards", False))


def redeliver(double: GitHubDouble, said: Said) -> Json:
    return {"id": double.webhooks.post.redeliver(said["id"]).id}


def clock(double: GitHubDouble, said: Said) -> Json:
    double.clock.advance(said["seconds"])
    return {"now": double.clock.now().isoformat()}


def settings(double: GitHubDouble, said: Said) -> None:
    """`latency`, and the limits by their names."""
    for name, value in said.items():
        setattr(double if name == "latency" else double.limits, name, value)


def delete_user(double: GitHubDouble, said: Said) -> None:
    double.delete_user(said["login"])


def rename(double: GitHubDouble, said: Said) -> None:
    _repo(double, said).rename(said["name"])


DEEDS: dict[str, Deed] = {
    deed.__name__: deed
    for deed in (
        user, repo, app, install, token, webhook, pull, commit, review, comment, reply, resolve, edit, delete, dismiss,
        change, check, fault, mishap, calm, hold, release, redeliver, clock, settings, delete_user,
        rename,
    )
}  # fmt: skip
