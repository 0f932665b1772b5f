"""Commits, files, trees, comparisons as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from amends.doubles.github.clock import stamp
from amends.doubles.github.diff import FileDiff
from amends.doubles.github.git import Commit, Person
from amends.doubles.github.ids import node_id
from amends.doubles.github.refusal import Json
from amends.doubles.github.shapes.accounts import maybe_user
from amends.doubles.github.state.accounts import Account
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import World

_UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def account_of(world: World, person: Person) -> Account | None:
    """Whose address it is: GitHub's own form `id+login@users.noreply...`."""
    number = person.email.partition("+")[0]
    return world.accounts.get(int(number)) if number.isdigit() else None


def person(one: Person) -> Json:
    return {"name": one.name, "email": one.email, "date": stamp(one.at)}


def git_commit(world: World, repo: Repository, sha: str) -> Json:
    """The `commit` part: what git itself knows."""
    one = world.git.commit(repo.folder, sha)
    api = world.urls.api(f"/repos/{repo.full_name}/git")
    return {
        "author": person(one.author),
        "committer": person(one.committer),
        "message": one.message,
        "tree": {"sha": one.tree, "url": f"{api}/trees/{one.tree}"},
        "url": f"{api}/commits/{sha}",
        "comment_count": 0,
        "verification": _UNSIGNED,
    }


def commit(world: World, repo: Repository, sha: str) -> Json:
    one = world.git.commit(repo.folder, sha)
    api, html = world.urls.api(f"/repos/{repo.full_name}"), world.urls.html(f"/{repo.full_name}")
    return {
        "sha": sha,
        "node_id": node_id("commit", f"{repo.id}:{sha}"),
        "commit": git_commit(world, repo, sha),
        "url": f"{api}/commits/{sha}",
        "html_url": f"{html}/commit/{sha}",
        "comments_url": f"{api}/commits/{sha}/comments",
        "author": maybe_user(world.urls, account_of(world, one.author)),
        "committer": maybe_user(world.urls, account_of(world, one.committer)),
        "parents": _parents(world, repo, one, "/commits/"),
    }


def full_commit(world: World, repo: Repository, sha: str, files: Sequence[FileDiff]) -> Json:
    added, deleted = sum(one.additions for one in files), sum(one.deletions for one in files)
    stats = {"total": added + deleted, "additions": added, "deletions": deleted}
    return {**commit(world, repo, sha), "stats": stats, "files": [file(world, repo, sha, one) for one in files]}


def database_commit(world: World, repo: Repository, sha: str) -> Json:
    """As `git/commits/{sha}` has it."""
    one = world.git.commit(repo.folder, sha)
    shape = git_commit(world, repo, sha)
    del shape["comment_count"]
    html = world.urls.html(f"/{repo.full_name}/commit/{sha}")
    own = {"sha": sha, "node_id": node_id("commit", f"{repo.id}:{sha}"), "html_url": html}
    return {**own, **shape, "parents": _parents(world, repo, one, "/git/commits/")}


def _parents(world: World, repo: Repository, one: Commit, path: str) -> list[Json]:
    api, html = world.urls.api(f"/repos/{repo.full_name}"), world.urls.html(f"/{repo.full_name}")
    return [{"sha": sha, "url": api + path + sha, "html_url": f"{html}/commit/{sha}"} for sha in one.parents]


def told_commit(world: World, repo: Repository, sha: str) -> Json:
    """As check suites and pushes carry it."""
    one = world.git.commit(repo.folder, sha)
    people = {
        key: {"name": who.name, "email": who.email}
        for key, who in (("author", one.author), ("committer", one.committer))
    }
    return {"id": sha, "tree_id": one.tree, "message": one.message, "timestamp": stamp(one.committer.at), **people}


def file(world: World, repo: Repository, sha: str, one: FileDiff) -> Json:
    api, html = world.urls.api(f"/repos/{repo.full_name}"), world.urls.html(f"/{repo.full_name}")
    shape: Json = {
        "sha": one.sha,
        "filename": one.path,
        "status": one.status,
        "additions": one.additions,
        "deletions": one.deletions,
        "changes": one.additions + one.deletions,
        "blob_url": f"{html}/blob/{sha}/{one.path}",
        "raw_url": f"{html}/raw/{sha}/{one.path}",
        "contents_url": f"{api}/contents/{one.path}?ref={sha}",
    }
    if one.patch is not None:
        shape["patch"] = one.patch
    return shape if one.previous is None else {**shape, "previous_filename": one.previous}
