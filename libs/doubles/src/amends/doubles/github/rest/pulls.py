"""Pull requests: listed, opened, edited, merged; their files, commits and diffs."""

from __future__ import annotations

from amends.doubles.github.acts import pulls as acts
from amends.doubles.github.acts import pushes
from amends.doubles.github.acts.pushes import RefChange
from amends.doubles.github.anchors import files_of, merge_base
from amends.doubles.github.caller import Need, demand
from amends.doubles.github.refusal import Refused, field_error, invalid, not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import commits, pulls
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Pull

ROUTES = Routes()
READ, WRITE = Need("pull_requests"), Need("pull_requests", "write")
_AT = "/repos/{owner}/{repo}/pulls"
_MOST_FILES, _MOST_COMMITS = 3_000, 250


@ROUTES.on(f"GET {_AT}", READ)
def listed(call: Call) -> Answer:
    query = call.query
    state, head, base = query.get("state", "open"), query.get("head"), query.get("base")
    if state not in {"open", "closed", "all"}:
        raise invalid(field_error("PullRequest", "state", "invalid"))
    found = [
        one
        for one in call.repository.pulls
        if (state == "all" or one.issue.open == (state == "open"))
        and (not head or head == f"{one.head_owner.login}:{one.head_ref}")
        and (not base or base == one.base_ref)
        and not call.world.lag.missing(one.node)
    ]
    sort = query.get("sort", "created")
    down = query.get("direction", "asc" if "sort" in query and sort != "created" else "desc") == "desc"
    found.sort(key=lambda one: (one.issue.said.updated if sort == "updated" else one.issue.said.created, one.number))
    shown = found[::-1] if down else found
    return paged(call, shown, lambda one: pulls.simple(call.world, one, seen_head(call, one)))


@ROUTES.on(f"POST {_AT}", WRITE)
def opened(call: Call) -> Answer:
    repo, world = call.repository, call.world
    owner, _, ref = call.needed("head").rpartition(":")
    source: Repository | None = repo
    if owner and owner.casefold() != repo.owner.login.casefold():
        forks = (one for one in world.repositories.values() if one.parent is repo and not one.gone)
        source = next((one for one in forks if one.owner.login.casefold() == owner.casefold()), None)
    if source is None:
        raise invalid(field_error("PullRequest", "head", "invalid"))
    opening = acts.Opening(call.needed("title"), ref, call.needed("base"), call.text("body") or "", source)
    opening = acts.replace_flags(opening, call.fields.get("draft"), call.fields.get("maintainer_can_modify"))
    pull = acts.open_pull(world, call.caller, repo, opening)
    pushes.run_checks(world, call.caller, pull)
    return Answer(201, pulls.full(world, pull), {"location": world.urls.api(f"{call.path}/{pull.number}")})


def seen_head(call: Call, pull: Pull) -> str:
    """The head as the API shows it, which may lag behind."""
    return call.world.lag.head(pull.node, pull.head)


@ROUTES.on(f"GET {_AT}/{{pull_number}}", READ)
def one(call: Call) -> Answer:
    pull, world = call.pull(), call.world
    if call.accepts("diff") or call.accepts("patch"):
        raw = world.git.patch(pull.repo.folder, merge_base(world, pull, pull.head), pull.head)
        return Answer(200, raw, {"content-type": "application/vnd.github.diff; charset=utf-8"})
    computed = not world.lag.unmerged(pull.node)
    return Answer(200, pulls.full(world, pull, seen_head(call, pull), computed=computed))


@ROUTES.on(f"PATCH {_AT}/{{pull_number}}", WRITE)
def edited(call: Call) -> Answer:
    pull, world, caller = call.pull(), call.world, call.caller
    if caller.account is not pull.author:
        demand(caller, pull.repo, Need("pull_requests", "write", "write"))
    acts.retitle(world, caller, pull, call.text("title"), call.text("body"))
    if (base := call.text("base")) is not None:
        acts.retarget(world, caller, pull, base)
    state = call.text("state")
    if state not in {None, "open", "closed"}:
        raise invalid(field_error("PullRequest", "state", "invalid"))
    if state == "closed":
        acts.close(world, caller, pull.issue)
    if state == "open":
        acts.reopen(world, caller, pull.issue)
    return Answer(200, pulls.full(world, pull))


@ROUTES.on(f"GET {_AT}/{{pull_number}}/files", READ)
def files(call: Call) -> Answer:
    pull = call.pull()
    found = files_of(call.world, pull)[:_MOST_FILES]
    return paged(call, found, lambda file: commits.file(call.world, pull.repo, pull.head, file))


@ROUTES.on(f"GET {_AT}/{{pull_number}}/commits", READ)
def commits_of(call: Call) -> Answer:
    pull, git = call.pull(), call.world.git
    base = merge_base(call.world, pull, pull.head)
    shas = git.log(pull.repo.folder, base, pull.head)[:_MOST_COMMITS]
    return paged(call, shas, lambda sha: commits.commit(call.world, pull.repo, sha))


@ROUTES.on(f"GET {_AT}/{{pull_number}}/merge", READ)
def is_merged(call: Call) -> Answer:
    if call.pull().merged is None:
        raise not_found()
    return NO_CONTENT


@ROUTES.on(f"PUT {_AT}/{{pull_number}}/merge", Need("contents", "write", "write"))
def merged(call: Call) -> Answer:
    pull, world = call.pull(), call.world
    if pull.merged is not None:
        raise Refused(405, "Pull Request is not mergeable")
    acts.check_mergeable(world, pull, call.text("sha"))
    before = pull.repo.branches[pull.base_ref]
    sha = acts.merge(world, call.caller, pull, call.text("commit_message") or "")
    pushes.note(world, call.caller, pull.repo, [RefChange(f"refs/heads/{pull.base_ref}", before, sha)])
    return Answer(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})
