"""Files, trees, commits, branches and comparisons: what git holds, over REST."""

from __future__ import annotations

from base64 import b64encode

from amends.doubles.github.acts import tenancy
from amends.doubles.github.caller import Need
from amends.doubles.github.git import EMPTY_TREE, GitFailed
from amends.doubles.github.ids import node_id
from amends.doubles.github.refusal import Json, Refused, not_found
from amends.doubles.github.rest.call import Answer, Call
from amends.doubles.github.rest.checks import sha_of
from amends.doubles.github.rest.pages import paged
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import commits
from amends.doubles.github.shapes.protection import branch, protection
from amends.doubles.github.shapes.pulls import simple

ROUTES = Routes()
_READ = Need("contents")
_AT = "/repos/{owner}/{repo}"
_KINDS = {"blob": "file", "tree": "dir", "commit": "submodule"}


@ROUTES.on(f"GET {_AT}/contents/{{path}}", _READ)
def contents(call: Call) -> Answer:
    repo, git, path = call.repository, call.world.git, call.params["path"].strip("/")
    ref = call.query.get("ref") or repo.default_branch
    sha = git.resolve(repo.folder, ref)
    if sha is None:
        raise Refused(404, f"No commit found for the ref {ref}")
    entry = next((one for one in git.tree(repo.folder, sha, deep=True) if one.path == path), None)
    if entry is None:
        raise not_found()
    if entry.kind == "tree":
        inside = git.tree(repo.folder, f"{sha}:{path}")
        return Answer(200, [_entry(call, ref, f"{path}/{one.path}", one.sha, (one.kind, one.size)) for one in inside])
    raw = git.blob(repo.folder, entry.sha) or b""
    if call.accepts("raw"):
        return Answer(200, raw, {"content-type": "application/vnd.github.raw; charset=utf-8"})
    text = b64encode(raw).decode()
    lines = "".join(f"{text[at : at + 60]}\n" for at in range(0, len(text), 60))
    shape = _entry(call, ref, path, entry.sha, (entry.kind, len(raw)))
    return Answer(200, {**shape, "content": lines, "encoding": "base64"})


def _entry(call: Call, ref: str, path: str, sha: str, kind: tuple[str, int]) -> Json:
    repo, urls = call.repository, call.world.urls
    api, html = urls.api(f"/repos/{repo.full_name}"), urls.html(f"/{repo.full_name}/blob/{ref}/{path}")
    links = {"self": f"{api}/contents/{path}?ref={ref}", "git": f"{api}/git/blobs/{sha}", "html": html}
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": sha,
        "size": kind[1],
        "url": links["self"],
        "html_url": html,
        "git_url": links["git"],
        "download_url": None if kind[0] == "tree" else urls.html(f"/{repo.full_name}/raw/{ref}/{path}"),
        "type": _KINDS[kind[0]],
        "_links": links,
    }


@ROUTES.on(f"GET {_AT}/compare/{{basehead}}", _READ)
def compared(call: Call) -> Answer:
    repo, world, git = call.repository, call.world, call.world.git
    names = call.params["basehead"].split("...")
    ends = [git.resolve(repo.folder, name.rpartition(":")[2]) for name in names]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:  # noqa: PLR2004 - base and head
        raise not_found()
    base, head = ends[0], ends[1]
    middle = git.merge_base(repo.folder, base, head)
    if middle is None:
        raise Refused(404, f"No common ancestor between {names[0]} and {names[1]}.")
    if call.accepts("diff"):
        raw = git.patch(repo.folder, middle, head)
        return Answer(200, raw, {"content-type": "application/vnd.github.diff; charset=utf-8"})
    ahead, behind = git.log(repo.folder, base, head), git.log(repo.folder, head, base)
    status = "identical" if base == head else "diverged" if ahead and behind else "ahead" if ahead else "behind"
    shown = paged(call, ahead, lambda sha: commits.commit(world, repo, sha))
    url = world.urls.api(f"/repos/{repo.full_name}/compare/{call.params['basehead']}")
    html = world.urls.html(f"/{repo.full_name}/compare/{call.params['basehead']}")
    content = {
        "url": url,
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commits.commit(world, repo, base),
        "merge_base_commit": commits.commit(world, repo, middle),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": shown.content,
        "files": [commits.file(world, repo, head, one) for one in git.diff(repo.folder, middle, head)[:300]],
    }
    return Answer(200, content, shown.headers)


@ROUTES.on(f"GET {_AT}/commits", _READ)
def history(call: Call) -> Answer:
    repo, git = call.repository, call.world.git
    sha = git.resolve(repo.folder, call.query.get("sha") or repo.default_branch)
    if sha is None:
        raise not_found()
    shas = git.log(repo.folder, None, sha)[::-1]
    return paged(call, shas, lambda one: commits.commit(call.world, repo, one))


@ROUTES.on(f"GET {_AT}/commits/{{commit_sha}}/pulls", Need("pull_requests", also="contents"))
def pulls_of_commit(call: Call) -> Answer:
    sha, git = sha_of(call, "commit_sha"), call.world.git
    found = [one for one in call.repository.pulls if git.is_ancestor(one.repo.folder, sha, one.head)]
    inside = [one for one in found if not git.is_ancestor(one.repo.folder, sha, one.base)]
    return paged(call, inside, lambda one: simple(call.world, one))


@ROUTES.on(f"GET {_AT}/commits/{{ref}}", _READ)
def one(call: Call) -> Answer:
    repo, world = call.repository, call.world
    sha = sha_of(call)
    parents = world.git.commit(repo.folder, sha).parents
    parent = parents[0] if parents else EMPTY_TREE
    if call.accepts("diff"):
        raw = world.git.patch(repo.folder, parent, sha)
        return Answer(200, raw, {"content-type": "application/vnd.github.diff; charset=utf-8"})
    if call.accepts("sha"):
        return Answer(200, sha.encode(), {"content-type": "application/vnd.github.sha; charset=utf-8"})
    return Answer(200, commits.full_commit(world, repo, sha, world.git.diff(repo.folder, parent, sha)))


@ROUTES.on(f"GET {_AT}/git/commits/{{commit_sha}}", _READ)
def database_commit(call: Call) -> Answer:
    repo, sha = call.repository, call.params["commit_sha"]
    if call.world.git.resolve(repo.folder, sha) != sha:
        raise not_found()
    return Answer(200, commits.database_commit(call.world, repo, sha))


@ROUTES.on(f"GET {_AT}/git/ref/{{ref}}", _READ)
def ref(call: Call) -> Answer:
    repo, name = call.repository, call.params["ref"]
    sha = repo.branches.get(name.removeprefix("heads/")) if name.startswith("heads/") else None
    sha = sha or (call.world.git.resolve(repo.folder, f"refs/{name}") if "/" in name else None)
    if sha is None:
        raise not_found()
    return Answer(200, _ref(call, name, sha))


@ROUTES.on(f"GET {_AT}/git/matching-refs/{{ref}}", _READ)
def refs(call: Call) -> Answer:
    tips = {f"heads/{name}": sha for name, sha in call.repository.branches.items()}
    found = [(name, sha) for name, sha in tips.items() if name.startswith(call.params["ref"])]
    return Answer(200, [_ref(call, name, sha) for name, sha in found])


def _ref(call: Call, name: str, sha: str) -> Json:
    repo = call.repository
    api = call.world.urls.api(f"/repos/{repo.full_name}/git")
    target = {"sha": sha, "type": "commit", "url": f"{api}/commits/{sha}"}
    node = node_id("ref", f"{repo.id}:refs/{name}")
    return {"ref": f"refs/{name}", "node_id": node, "url": f"{api}/refs/{name}", "object": target}


@ROUTES.on(f"GET {_AT}/git/blobs/{{file_sha}}", _READ)
def blob(call: Call) -> Answer:
    repo, sha = call.repository, call.params["file_sha"]
    raw = call.world.git.blob(repo.folder, sha)
    if raw is None:
        raise not_found()
    if call.accepts("raw"):
        return Answer(200, raw, {"content-type": "application/vnd.github.raw; charset=utf-8"})
    url = call.world.urls.api(f"/repos/{repo.full_name}/git/blobs/{sha}")
    own = {"content": b64encode(raw).decode(), "encoding": "base64", "url": url, "sha": sha, "size": len(raw)}
    return Answer(200, {**own, "node_id": node_id("commit", f"{repo.id}:{sha}")})


@ROUTES.on(f"GET {_AT}/git/trees/{{tree_sha}}", _READ)
def tree(call: Call) -> Answer:
    repo, git = call.repository, call.world.git
    sha = git.resolve(repo.folder, call.params["tree_sha"])
    top = git.commit(repo.folder, sha).tree if sha else call.params["tree_sha"]
    api = call.world.urls.api(f"/repos/{repo.full_name}/git")
    try:
        found = git.tree(repo.folder, top, deep="recursive" in call.query)
    except GitFailed:
        raise not_found() from None
    entries = [
        {"path": one.path, "mode": one.mode, "type": one.kind, "sha": one.sha, "url": f"{api}/{one.kind}s/{one.sha}"}
        | ({"size": one.size} if one.kind == "blob" else {})
        for one in found
    ]
    return Answer(200, {"sha": top, "url": f"{api}/trees/{top}", "tree": entries, "truncated": False})


@ROUTES.on(f"GET {_AT}/branches", _READ)
def branches(call: Call) -> Answer:
    repo = call.repository
    names = sorted(repo.branches)
    if (wanted := call.query.get("protected")) is not None:
        names = [name for name in names if (name in repo.protections) == (wanted == "true")]
    return paged(call, names, lambda name: branch(call.world, repo, name))


@ROUTES.on(f"GET {_AT}/branches/{{branch}}/protection", Need("administration", "read", "admin"))
def protected(call: Call) -> Answer:
    repo, name = call.repository, call.params["branch"]
    if name not in repo.protections:
        raise Refused(404, "Branch not protected")
    return Answer(200, protection(call.world, repo, name))


@ROUTES.on(f"POST {_AT}/branches/{{branch}}/rename", Need("contents", "write", "write"))
def renamed(call: Call) -> Answer:
    repo, name, new = call.repository, call.params["branch"], call.needed("new_name")
    if name not in repo.branches:
        raise not_found()
    tenancy.rename_branch(call.world, call.caller, repo, name, new)
    return Answer(201, _full_branch(call, new))


@ROUTES.on(f"GET {_AT}/branches/{{branch}}", _READ)
def one_branch(call: Call) -> Answer:
    if call.params["branch"] not in call.repository.branches:
        raise Refused(404, "Branch not found")
    return Answer(200, _full_branch(call, call.params["branch"]))


def _full_branch(call: Call, name: str) -> Json:
    repo, world = call.repository, call.world
    api = world.urls.api(f"/repos/{repo.full_name}/branches/{name}")
    links = {"self": api, "html": world.urls.html(f"/{repo.full_name}/tree/{name}")}
    shape = branch(world, repo, name)
    return {**shape, "commit": commits.commit(world, repo, repo.branches[name]), "_links": links}
