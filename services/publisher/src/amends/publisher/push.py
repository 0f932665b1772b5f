"""Answers `push.requested`: one commit, made of bytes on the cycle's base, on the pull request's branch; or why not.

Nothing that the fixer says is believed: the bytes are compared with their names, the base with the change set, the
gate looks again, and what is pushed is compared with what was asked for. Before every effect the world is looked at:
a commit that carries the cycle's key already is this cycle's, whoever pushed it when.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from amends.common.answers import Go, Recorder, Report, Stop, Unavailable
from amends.common.delivery import Later, Never, pull_of
from amends.common.envelope import Event
from amends.common.events import AccessChanged, AnyFact, Failure, FixPushed, Judgement, PushRefused, PushRequested
from amends.common.gate import Altered, Rules, examined, hunks
from amends.common.git import (
    Access,
    Author,
    Edit,
    Entry,
    GitFailed,
    Moved,
    Pushed,
    Rejected,
    Remote,
    Repositories,
    Repository,
    Unknown,
)
from amends.common.git.remotely import Broken, NoRef, Unsafe, broken
from amends.common.github.client import Client
from amends.common.github.errors import Denied, Missing
from amends.common.identity import PullId
from amends.common.patience import report_until_answered
from amends.common.sections import Publisher as Section
from amends.common.worker import addressed
from amends.publisher import measures
from amends.publisher.changeset import Malformed, altered
from amends.publisher.live import Live, Refused, pushable, seen
from amends.publisher.message import Home, fixed, key_of, message

log = logging.getLogger(__name__)
_SOON = 10.0
_SHOWN = 2_000
_PATIENCE = 30.0
_LONGEST_PATH, _MOST_LINES = 300, 500
Said = AnyFact | Report
_STOPPED = {"closed": Failure.CLOSED, "merged": Failure.CLOSED, "draft": Failure.DRAFT, "fork": Failure.FORK}


class Superseded(Exception):
    """Somebody else answers this request, or nobody needs to."""


@dataclass(frozen=True)
class Job:
    """One request with all that it is about."""

    event: Event
    request: PushRequested
    at: PullId
    repository: Repository

    @property
    def ours(self) -> str:
        """The ref of our own that names the branch as it was fetched."""
        return f"refs/amends/heads/{self.at.number}"

    @property
    def key(self) -> str:
        return key_of(self.event.loop, self.request.n)


class Made(NamedTuple):
    """The cycle's commit, and the lines that are new in it."""

    sha: str
    wrote: tuple[str, ...] = ()


@dataclass(frozen=True)
class Publisher:
    """Publishes. `secrets` are those that this process knows: none may be in a commit."""

    client: Client
    access: Access
    repositories: Repositories
    recorder: Recorder
    settings: Section
    secrets: tuple[str, ...] = field(default=(), repr=False)

    async def publish(self, event: Event) -> Sequence[Said]:
        """The facts that answer the request."""
        request, began = event.fact, time.monotonic()
        if not isinstance(request, PushRequested):
            raise Never(f"{event.type} asks for no push")
        at = pull_of(event.loop)
        job = Job(event, request, at, self.repositories.of(at.repo))
        try:
            async with job.repository.used():
                facts: list[Said] = [await self._once(job)]
        except Superseded:
            return []
        except Refused as refused:
            said = _refused(job, refused.reason, str(refused))
            facts = [said.model_copy(update={"patch": await self._patch(job)}) if refused.branch else said]
        except Unsafe as error:
            facts = [_refused(job, Failure.REFUSED, str(error))]
        except (Denied, Missing) as error:
            self.client.forget(at.repo)
            lost = AccessChanged(access="lost", reason=str(error)[:400])
            facts = [lost, _refused(job, Failure.ACCESS_LOST, str(error))]
        last = facts[-1]
        measures.published("refused" if isinstance(last, PushRefused) else "pushed", time.monotonic() - began)
        return facts

    async def _once(self, job: Job) -> FixPushed:
        try:
            return await self._published(job)
        except (Broken, GitFailed) as error:
            if not broken(error):
                raise
            await job.repository.renew(str(error))
        return await self._published(job)

    async def _published(self, job: Job) -> FixPushed:
        try:
            head = await self._fetched(job)
        except Refused:
            await self._looked(job)  # what the pull request says goes before what its branch does
            raise
        # Before anything can speak against it: what is pushed is pushed, and an attempt that did not know would begin
        # on top of it and push again.
        if (found := await self._already(job, head)) is not None:
            return self._pushed(job, Made(found, _written(await self._altered(job))), adopted=True)
        live = await self._looked(job)
        if head != job.request.base:
            if await self._covered(job, head):
                return self._pushed(job, Made(head), adopted=True)  # a human made the same change: that is as good
            raise Refused(Failure.MOVED, f"the branch is at {head} and not at {job.request.base} any more")
        made = await self._committed(job, live)
        await self._may(job)
        return await self._sent(job, made)

    # --- looking -----------------------------------------------------------------------------------------------------

    async def _may(self, job: Job) -> None:
        match await self.recorder.may(job.event.pos):
            case Go():
                return
            case Stop(reason="superseded"):
                raise Superseded
            case Stop(reason=reason):
                raise Refused(_STOPPED.get(reason, Failure.CANCELLED), reason)
            case Unavailable(detail=detail):
                raise Later(_SOON, detail)

    async def _looked(self, job: Job) -> Live:
        """The pull request as it is now, which the log hears of first: whether it may be pushed to is said there."""
        reach = await self.client.repository(job.at.repo)
        live = await seen(reach, job.at)
        await report_until_answered(self.recorder, addressed(job.event, live.standing), _PATIENCE)
        await pushable(reach, job.at, live, job.request.head_ref)
        await self._may(job)
        return live

    async def _fetched(self, job: Job) -> str:
        """The branch's head, and everything up to it."""
        branch = f"refs/heads/{job.request.head_ref}"

        async def fetch(remote: Remote) -> None:
            await job.repository.fetch(remote, [f"+{branch}:{job.ours}"])
            known = await job.repository.resolve(job.ours) == job.request.base
            if not (known or await job.repository.has(job.request.base)):
                await job.repository.fetch(remote, [f"+{job.request.base}:refs/amends/bases/{job.at.number}"])

        try:
            await self.access.using(job.at.repo, fetch)
        except NoRef as error:
            if await self._is_there(job):
                raise Refused(Failure.MOVED, "the commit that the cycle began with is nowhere any more") from error
            raise Refused(Failure.BRANCH_GONE, f"the branch {job.request.head_ref} is gone") from error
        head = await job.repository.resolve(job.ours)
        if head is None:
            raise Broken(f"{job.ours} is not there after it was fetched")
        return head

    async def _is_there(self, job: Job) -> bool:
        return await self._now(job) is not None

    async def _now(self, job: Job) -> str | None:
        """Where the branch is at this moment."""
        branch = job.request.head_ref

        async def look(remote: Remote) -> str | None:
            return (await job.repository.heads(remote, branch)).get(branch)

        return await self.access.using(job.at.repo, look)

    async def _already(self, job: Job, head: str) -> str | None:
        """The cycle's commit, if it is on the branch: with the key and with the change, for a key can be copied."""
        if head == job.request.base or not await job.repository.is_ancestor(job.request.base, head):
            return None
        found = await job.repository.find_trailer(job.request.base, head, job.key)
        return found if found is not None and await self._holds(job, found) else None

    async def _covered(self, job: Job, head: str) -> bool:
        """Whether the branch went on from the base and has every change now, byte for byte."""
        return await job.repository.is_ancestor(job.request.base, head) and await self._holds(job, head)

    async def _holds(self, job: Job, commit: str) -> bool:
        tree = await job.repository.tree(commit)
        for change in job.request.changes:
            entry, content = tree.get(change.path), await self._bytes(change.blob)
            if (content is None) != (entry is None):
                return False
            if entry and content is not None and entry != (change.mode, await job.repository.write(content)):
                return False
        return bool(job.request.changes)

    # --- making ------------------------------------------------------------------------------------------------------

    async def _bytes(self, blob: str | None) -> bytes | None:
        if blob is None:
            return None
        content = await self.recorder.get(blob)
        if content is None:
            raise Refused(Failure.MALFORMED, f"nobody ever put the blob {blob}")
        return content

    async def _altered(self, job: Job) -> list[Altered]:
        tree = await job.repository.tree(job.request.base)
        changes = job.request.changes
        there = {entry.blob for one in changes if (entry := tree.get(one.path)) and entry.mode.startswith("100")}
        async with aclosing(job.repository.contents(there)) as contents:
            old = {blob: content async for blob, content in contents}
        named = {one.blob for one in changes if one.blob}
        new = {blob: await self._bytes(blob) or b"" for blob in named}
        try:
            return altered(changes, tree, old, new)
        except Malformed as error:
            raise Refused(Failure.MALFORMED, str(error)) from error

    async def _committed(self, job: Job, live: Live) -> Made:
        """The commit, which is on no branch yet: what it changes is what the gate looked at, and nothing else."""
        changes = await self._altered(job)
        self._passed(job, changes)
        repository, base = job.repository, job.request.base
        edits = [Edit(one.path, one.mode or "", await _kept(repository, one.new)) for one in changes]
        tree = await repository.write_tree(base, edits)
        when = datetime.fromtimestamp(job.event.time // 1_000_000, UTC)
        author = Author(self.settings.name, self.settings.email, when)
        said = message(job.event.loop, job.request, Home(live.pull.html_url, self.client.git_url))
        sha = await repository.commit([base], tree, said, author)
        made = {path: after for path, (_, after) in (await repository.changed(base, sha)).items()}
        if not made:
            raise Refused(Failure.NO_CHANGE, "the change set changes nothing on its base")
        if made != {edit.path: Entry(edit.mode, edit.blob) if edit.blob else None for edit in edits}:
            raise Refused(Failure.MALFORMED, "the commit would not be what the gate looked at")
        await repository.name(f"refs/amends/made/{job.at.number}", sha)
        return Made(sha, _written(changes))

    def _passed(self, job: Job, changes: Sequence[Altered]) -> None:
        limits = self.settings
        most, allowed = (limits.max_files, limits.max_lines, limits.max_bytes), job.request.allowed
        rules = Rules(job.request.protected, self.secrets, *most, allowed)
        claims = [hunk for one in job.request.verdicts if one.judgement is Judgement.FIXED for hunk in one.hunks]
        if objections := examined(changes, rules, claims):
            raise Refused(Failure.POLICY, "; ".join(map(str, objections))[:_SHOWN])

    async def _patch(self, job: Job) -> str | None:
        """The fix for whoever may push it: kept as a blob, if nothing speaks against it."""

        async def fetch(remote: Remote) -> None:
            if not await job.repository.has(job.request.base):
                await job.repository.fetch(remote, [f"+{job.request.base}:refs/amends/bases/{job.at.number}"])

        try:
            async with job.repository.used():
                await self.access.using(job.at.repo, fetch)
                changes = await self._altered(job)
                self._passed(job, changes)
                tree = await self._tree(job, changes)
                return await self.recorder.put(await job.repository.patch(f"{job.request.base}^{{tree}}", tree))
        except (Refused, Missing, Denied, GitFailed, Broken) as error:
            log.info("a fix cannot be told as a patch", extra={"loop": job.event.loop, "error": str(error)[:200]})
            return None

    async def _tree(self, job: Job, changes: Sequence[Altered]) -> str:
        edits = [Edit(one.path, one.mode or "", await _kept(job.repository, one.new)) for one in changes]
        return await job.repository.write_tree(job.request.base, edits)

    # --- pushing -----------------------------------------------------------------------------------------------------

    async def _sent(self, job: Job, made: Made) -> FixPushed:
        request, sha = job.request, made.sha

        async def push(remote: Remote) -> Pushed | Moved | Rejected | Unknown:
            return await job.repository.push(remote, request.head_ref, sha, request.base)

        match await self.access.using(job.at.repo, push):
            case Pushed():
                return await self._proved(job, made)
            case Rejected(detail=detail):
                if await self._now(job) != request.base:  # it moved between two words of the same conversation
                    return await self._overtaken(job, detail)
                raise Refused(Failure.REFUSED, f"GitHub does not take the commit: {detail[-600:]}", branch=True)
            case Moved(detail=detail):
                return await self._overtaken(job, detail)
            case Unknown(detail=detail):
                if await self._now(job) == sha:
                    return self._pushed(job, made)
                raise Later(_SOON, f"it is not known whether the push arrived: {detail[-300:]}")

    async def _overtaken(self, job: Job, detail: str) -> FixPushed:
        head = await self._fetched(job)
        if (found := await self._already(job, head)) is not None:
            return self._pushed(job, Made(found), adopted=True)
        raise Refused(Failure.MOVED, f"the branch moved while the commit was made: {detail[-300:]}")

    async def _proved(self, job: Job, made: Made) -> FixPushed:
        """The branch is at the commit, or went on from there: seen, not assumed."""
        now, sha = await self._now(job), made.sha
        if now != sha:
            head = await self._fetched(job)
            if not await job.repository.is_ancestor(sha, head):
                raise Refused(Failure.MOVED, f"the branch is at {now}, although the push of {sha} was taken")
        return self._pushed(job, made)

    def _pushed(self, job: Job, made: Made, *, adopted: bool = False) -> FixPushed:
        items = fixed(job.request)
        return FixPushed(n=job.request.n, sha=made.sha, items=items, adopted=adopted, wrote=made.wrote)


def _written(changes: Sequence[Altered]) -> tuple[str, ...]:
    """The lines that were not there before, as files have them now."""
    there = (one for one in changes if one.new is not None and len(one.path) < _LONGEST_PATH)
    found = (hunk for one in there for hunk in hunks(one.path, one.new, one.old) if hunk.start <= hunk.end)
    return tuple(hunk.name for hunk in islice(found, _MOST_LINES))


async def _kept(repository: Repository, content: bytes | None) -> str | None:
    return None if content is None else await repository.write(content)


def _refused(job: Job, reason: Failure, detail: str) -> PushRefused:
    return PushRefused(n=job.request.n, k=job.request.k, reason=reason, detail=detail[:_SHOWN])
