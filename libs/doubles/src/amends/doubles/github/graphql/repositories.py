"""Where queries begin: repositories, nodes, the viewer, the rate limit."""

from __future__ import annotations

from typing import Any

from amends.doubles.github.caller import Need, demand, role_of, sees
from amends.doubles.github.clock import stamp
from amends.doubles.github.graphql.connections import MOST, BadPage, Page, connection, page
from amends.doubles.github.graphql.fields import Arguments, Asking, add
from amends.doubles.github.graphql.people import shown
from amends.doubles.github.graphql.pulls import ref_of
from amends.doubles.github.graphql.said import repository_of
from amends.doubles.github.refusal import Refused
from amends.doubles.github.state.accounts import Account
from amends.doubles.github.state.repositories import CheckRun, CheckSuite, CommitAt, Repository
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review, Thread

_PULLS = Need("pull_requests")


def _repository(_: object, asking: Asking, arguments: Arguments) -> Repository:
    """A former name is followed, unless one asks not to."""
    name = f"{arguments['owner']}/{arguments['name']}"
    repo = asking.world.find_repository(name)
    moved = repo is not None and repo.full_name.casefold() != name.casefold()
    if repo is None or not sees(asking.caller, repo) or (moved and arguments.get("followRenames") is False):
        raise Refused(404, f"Could not resolve to a Repository with the name '{name}'.")
    return repo


def home_of(thing: object) -> Repository | None:
    """The repository that decides who may see something, None for what everybody may."""
    match thing:
        case Repository():
            return thing
        case Thread():
            return thing.pull.repo
        case Comment() | IssueComment() | Review() | Issue() | Pull():
            return repository_of(thing)
        case CheckRun():
            return thing.suite.repo
        case CheckSuite() | CommitAt():
            return thing.repo
        case _:
            return None


def find(asking: Asking, node: str) -> Any:  # noqa: ANN401 - any node
    """What a global id stands for. Ids are global: whose it is has to be asked of what is found."""
    thing = asking.world.nodes.get(node)
    home = home_of(thing)
    if thing is None or (home is not None and not sees(asking.caller, home)):
        raise Refused(404, f"Could not resolve to a node with the global id of '{node}'")
    if home is not None and not isinstance(thing, Repository | CommitAt):
        demand(asking.caller, home, Need("pull_requests", also="issues"))
    return thing


def _nodes(_: object, asking: Asking, arguments: Arguments) -> list[Any]:
    """Each for itself: what is not there is null in its place, and an error with that path."""
    if (count := len(arguments["ids"])) > MOST:
        raise BadPage("ARGUMENT_LIMIT", f"You may not provide more than {MOST} node ids; you provided {count}.")
    return [_found(asking, node) for node in arguments["ids"]]


def _found(asking: Asking, node: str) -> Any:  # noqa: ANN401 - any node, or why there is none
    try:
        return find(asking, node)
    except Refused as refused:
        return refused


def _pull(repo: Repository, asking: Asking, arguments: Arguments) -> Pull:
    demand(asking.caller, repo, _PULLS)
    issue = repo.issues.get(arguments["number"])
    if issue is None or issue.pull is None or asking.world.lag.missing(issue.pull.node):
        raise Refused(404, f"Could not resolve to a PullRequest with the number of {arguments['number']}.")
    return issue.pull


def _either(repo: Repository, asking: Asking, arguments: Arguments) -> Pull | Issue:
    demand(asking.caller, repo, Need("issues", also="pull_requests"))
    issue = repo.issues.get(arguments["number"])
    if issue is None:
        raise Refused(404, f"Could not resolve to an issue or pull request with the number of {arguments['number']}.")
    return issue.pull or issue


def _pulls(repo: Repository, asking: Asking, arguments: Arguments) -> Page:
    demand(asking.caller, repo, _PULLS)
    states, base, head = (arguments.get(name) for name in ("states", "baseRefName", "headRefName"))
    labels = set(arguments.get("labels") or [])
    found = [
        one
        for one in repo.pulls
        if (not states or ("MERGED" if one.merged else "OPEN" if one.issue.open else "CLOSED") in states)
        and base in {None, one.base_ref}
        and head in {None, one.head_ref}
        and (not labels or labels & {label.name for label in one.issue.labels})
        and not asking.world.lag.missing(one.node)
    ]
    order = arguments.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    by_update = order["field"] == "UPDATED_AT"
    found.sort(key=lambda one: (one.issue.said.updated if by_update else one.issue.said.created, one.number))
    if order["direction"] == "DESC":
        found.reverse()
    return page("pullRequests", arguments, found, lambda one: one.id)


def _object(repo: Repository, asking: Asking, arguments: Arguments) -> object:
    """A commit by name or id, or the blob of `branch:path`."""
    demand(asking.caller, repo, Need("contents"))
    said = arguments.get("expression") or arguments.get("oid") or ""
    name, colon, path = said.partition(":")
    sha = asking.world.git.resolve(repo.folder, name)
    if sha is None:
        return None
    if not colon:
        return asking.world.commit(repo, sha)
    entry = next((one for one in asking.world.git.tree(repo.folder, sha, deep=True) if one.path == path), None)
    return None if entry is None or entry.kind != "blob" else Blob(repo, entry.sha)


class Blob:
    """A file's content."""

    def __init__(self, repo: Repository, sha: str) -> None:
        self.repo = repo
        self.sha = sha

    def raw(self, asking: Asking) -> bytes:
        return asking.world.git.blob(self.repo.folder, self.sha) or b""


def _text(one: Blob, asking: Asking, _: Arguments) -> str | None:
    raw = one.raw(asking)
    return None if b"\0" in raw else raw.decode("utf-8", "replace")


def _ref(repo: Repository, _: Asking, arguments: Arguments) -> object:
    return ref_of(repo, arguments["qualifiedName"].removeprefix("refs/heads/"))


def _role(repo: Repository, account: Account) -> str:
    return role_of(repo, account).upper()


def _collaborators(repo: Repository, asking: Asking, arguments: Arguments) -> Page:
    demand(asking.caller, repo, Need("metadata", "read", "write"))
    everyone = [one for one in asking.world.accounts.values() if one.kind == "User" and not one.gone]
    named = repo.collaborators.keys() | repo.owner.members | {repo.owner.id}
    login = arguments.get("login")
    found = [one for one in everyone if one.id in named and login in {None, one.login}]
    made = page("collaborators", arguments, found, lambda one: one.id)
    return Page(
        made.nodes, made.cursors, made.has_next, made.has_previous, made.total, [(repo, one) for one in made.nodes]
    )


add(
    "Query",
    {
        "repository": _repository,
        "node": lambda _, asking, arguments: find(asking, arguments["id"]),
        "nodes": _nodes,
        "viewer": lambda _, asking, __: asking.caller.someone,
        "user": lambda _, asking, arguments: _user(asking, arguments["login"]),
        "rateLimit": lambda _, asking, __: asking.limits.shown(asking.caller.bucket, "graphql"),
    },
)


def _user(asking: Asking, login: str) -> Account:
    account = asking.world.find_account(login)
    if account is None or account.kind != "User":
        raise Refused(404, f"Could not resolve to a User with the login of '{login}'.")
    return account


add(
    "Repository",
    {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: one.id,
        "name": lambda one, _, __: one.name,
        "nameWithOwner": lambda one, _, __: one.full_name,
        "owner": lambda one, _, __: shown(one.owner),
        "url": lambda one, asking, _: asking.world.urls.html(f"/{one.full_name}"),
        "isPrivate": lambda one, _, __: one.private,
        "isFork": lambda one, _, __: one.parent is not None,
        "isArchived": lambda one, _, __: one.archived,
        "parent": lambda one, _, __: one.parent,
        "createdAt": lambda one, _, __: stamp(one.created),
        "updatedAt": lambda one, _, __: stamp(one.updated),
        "pushedAt": lambda one, _, __: stamp(one.updated),
        "defaultBranchRef": lambda one, _, __: ref_of(one, one.default_branch),
        "ref": _ref,
        "object": _object,
        "pullRequest": _pull,
        "pullRequests": _pulls,
        "issueOrPullRequest": _either,
        "label": lambda one, _, arguments: next((each for each in one.labels if each.name == arguments["name"]), None),
        "labels": lambda one, _, arguments: page("labels", arguments, one.labels, lambda each: each.id),
        "viewerPermission": lambda one, asking, _: _role(one, asking.caller.someone),
        "collaborators": _collaborators,
    },
)
connection(
    "User",
    name="RepositoryCollaborator",
    edge_fields={"permission": lambda pair: _role(*pair)},
)
add(
    "Blob",
    {
        "id": lambda one, _, __: f"B_{one.sha}",
        "oid": lambda one, _, __: one.sha,
        "byteSize": lambda one, asking, _: len(one.raw(asking)),
        "isBinary": lambda one, asking, _: b"\0" in one.raw(asking),
        "isTruncated": lambda _, __, ___: False,
        "text": _text,
    },
)
add(
    "RateLimit",
    {
        "cost": lambda _, asking, __: asking.weight.cost,
        "limit": lambda one, _, __: one["limit"],
        "remaining": lambda one, _, __: one["remaining"],
        "used": lambda one, _, __: one["used"],
        "nodeCount": lambda _, asking, __: asking.weight.nodes,
        "resetAt": lambda one, asking, _: stamp(asking.world.clock.now().fromtimestamp(one["reset"]).astimezone()),
    },
)
