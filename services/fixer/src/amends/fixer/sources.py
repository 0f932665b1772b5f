"""What is read of a pull request before anything is changed: how it stands now, its files, what is demanded of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from fnmatch import fnmatchcase
from typing import NamedTuple

from pydantic import TypeAdapter

from amends.common.delivery import Later
from amends.common.events import CommentsFetched, Failure
from amends.common.git import Access, Entry, GitFailed, Remote, Repository
from amends.common.git.remotely import Broken, Unsafe, broken
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Missing
from amends.common.github.models import Pull
from amends.common.identity import PullId
from amends.common.policy import Policy
from amends.fixer.agent import Stopped

_PULL = TypeAdapter(Pull)
_PLAIN = {"100644", "100755"}
_MOST = 40_000  # characters of requirements


class Source(NamedTuple):
    """A pull request as it was read: its head is in the repository."""

    title: str
    base: str
    onto: str
    tree: Mapping[str, Entry]


async def source(client: Client, access: Access, repository: Repository, at: PullId, of: CommentsFetched) -> Source:
    """Where work begins; raises Stopped when it may not."""
    async with _foreseen():
        live = await _live(await client.repository(at.repo), at)
        _fit(live, at, of)
        return await _read(access, repository, at, (live, of.head))


async def base_branch(access: Access, repository: Repository, at: PullId, of: Source) -> str | None:
    """Where the branch is now that the pull request is to go into: what the forge says beside it may be old."""

    async def found(remote: Remote) -> str | None:
        return (await repository.heads(remote, of.onto)).get(of.onto)

    async with _foreseen():
        sha = await access.using(at.repo, found)
        await _here(access, repository, at, [sha] if sha else [])
        return sha


@asynccontextmanager
async def _foreseen() -> AsyncIterator[None]:
    """What may go wrong on the way, as the end of an attempt."""
    try:
        yield
    except Later as error:
        raise Stopped(Failure.GITHUB_UNAVAILABLE, str(error), error.delay) from error
    except (Missing, Denied) as error:
        raise Stopped(Failure.ACCESS_LOST, str(error)) from error
    except Unsafe as error:
        raise Stopped(Failure.REFUSED, f"git does not take the repository over: {error}") from error
    except (Broken, GitFailed) as error:
        raise Stopped(Failure.WORKSPACE_LOST, str(error)) from error


async def _read(access: Access, repository: Repository, at: PullId, of: tuple[Pull, str]) -> Source:
    """The files of the head, from a copy that is made anew if it turns out to be broken."""
    live, head = of
    try:
        await _here(access, repository, at, [head])
        return Source(live.title, head, live.base.ref, await repository.tree(head))
    except (Broken, GitFailed) as error:
        if not broken(error):
            raise
        await repository.renew(str(error))
    await _here(access, repository, at, [head])
    return Source(live.title, head, live.base.ref, await repository.tree(head))


async def _live(reach: Reach, at: PullId) -> Pull:
    return await reach.get(f"/pulls/{at.number}", _PULL)


def _fit(live: Pull, at: PullId, of: CommentsFetched) -> None:
    rules = of.rules or Policy()
    home = live.head.repo.id if live.head.repo else None
    if live.state != "open":
        raise Stopped(Failure.CLOSED, "the pull request is closed")
    if live.draft and not rules.drafts:
        raise Stopped(Failure.DRAFT, "the pull request is a draft")
    if home != at.repo:
        raise Stopped(Failure.FORK, "the branch belongs to another repository")
    if live.head.sha != of.head:
        raise Stopped(Failure.MOVED, f"the head is {live.head.sha} now")


async def _here(access: Access, repository: Repository, at: PullId, commits: Iterable[str]) -> None:
    await repository.ensure()
    missing = [commit for commit in commits if not await repository.has(commit)]
    if not missing:
        return

    async def fetched(remote: Remote) -> None:
        await repository.fetch(remote, [f"+{commit}:refs/amends/pull/{at.number}/{commit}" for commit in missing])

    await access.using(at.repo, fetched)


async def contents(repository: Repository, tree: Mapping[str, Entry], paths: Iterable[str]) -> dict[str, bytes]:
    """The bytes of these paths, as far as they are regular files."""
    found = {path: tree[path].blob for path in paths if path in tree and tree[path].mode in _PLAIN}
    async with aclosing(repository.contents(dict.fromkeys(found.values()))) as read:
        kept = {blob: content async for blob, content in read}
    return {path: kept[blob] for path, blob in found.items()}


async def requirements(
    repository: Repository, of: Source, onto: str | None, patterns: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """What the base branch demands, and what the pull request itself would have it demand."""
    parting = await repository.parting(onto, of.base) if onto else None
    before = await repository.tree(parting) if parting else {}
    base = await repository.tree(onto) if onto else {}
    agreed = {path: entry for path, entry in base.items() if _is_requirement(path, patterns)}
    proposed = {
        path: entry
        for path, entry in of.tree.items()
        if _is_requirement(path, patterns) and entry not in (agreed.get(path), before.get(path))
    }
    return await _texts(repository, agreed), await _texts(repository, proposed)


def _is_requirement(path: str, patterns: Sequence[str]) -> bool:
    """A folder, with a slash at its end, stands for the texts in it; anything else is a pattern of whole paths."""
    return any(
        path.startswith(one) and path.endswith(".md") if one.endswith("/") else fnmatchcase(path, one)
        for one in patterns
    )


async def _texts(repository: Repository, entries: Mapping[str, Entry]) -> dict[str, str]:
    texts: dict[str, str] = {}
    room = _MOST
    for path, content in (await contents(repository, entries, sorted(entries))).items():
        text = content.decode(errors="replace")[:room]
        room -= len(text)
        if text:
            texts[path] = text
    return texts
