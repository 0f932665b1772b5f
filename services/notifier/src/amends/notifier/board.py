"""One pull request as we write on it: every effect is looked for before it is made, and once more when nobody can tell.

What is ours is known by our own account's number and the marker in it: anybody can copy a marker, nobody our number.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Literal, NamedTuple
from urllib.parse import quote

from pydantic import TypeAdapter

from amends.common.delivery import Later
from amends.common.events import Author
from amends.common.github.client import Reach
from amends.common.github.errors import Denied, Limited, Missing
from amends.common.github.models import IssueComment, Label, Pull, ReviewComment
from amends.notifier import documents
from amends.notifier.messages import LABELS, Note, Turned
from amends.notifier.messages import Label as OurLabel

_FRESH = 5.0  # seconds for which a pull request is as we read it
Leave = Callable[[], Awaitable[None]]


class Stopped(Exception):
    """Nobody may be told about this now, and why."""


class Rules(NamedTuple):
    """What of the policy says whether a pull request is left alone. Whoever asks is `answered` all the same."""

    drafts: bool
    opt_out_label: str
    answered: bool = False


class Spoken(NamedTuple):
    """Where somebody said something: a comment of a thread or of the conversation, or a review."""

    kind: Literal["thread", "comment", "review"]
    number: int


Reaction = Literal["ROCKET", "CONFUSED"]


class Board:
    """The places of one pull request where people read. `leave` raises where an effect may not be made now."""

    def __init__(self, reach: Reach, number: int, ours: frozenset[int], leave: Leave, rules: Rules) -> None:
        self._reach = reach
        self._number = number
        self._ours = ours
        self._leave = leave
        self._rules = rules
        self._pull: tuple[float, Pull] | None = None
        self._talk: list[IssueComment] | None = None
        self._threads: list[ReviewComment] | None = None

    async def pull(self) -> Pull:
        """The pull request now."""
        if self._pull is None or time.monotonic() - self._pull[0] > _FRESH:
            self._pull = time.monotonic(), await self._reach.get(f"/pulls/{self._number}", _PULL)
        return self._pull[1]

    async def open(self) -> Pull:
        """The pull request, if anything may be written on it."""
        pull = await self.pull()
        if pull.locked:
            raise Stopped("locked")
        if self._rules.answered:
            return pull
        if pull.state != "open" or pull.merged:
            raise Stopped("closed")
        if pull.draft and not self._rules.drafts:
            raise Stopped("draft")
        if any(label.name == self._rules.opt_out_label for label in pull.labels):
            raise Stopped("opted_out")
        return pull

    # --- comments ----------------------------------------------------------------------------------------------------

    async def say(self, note: Note) -> str:
        """A comment in the conversation, there once; answers with its address."""
        found = await self._once(lambda: self._said(note.mark), lambda: self._post(note))
        return f"{(await self.pull()).html_url}#issuecomment-{found}"

    async def keep(self, note: Note, *, new: bool = True) -> str:
        """A comment that is edited in place; without `new` only if it is there."""
        found = await self._said(note.mark)
        if found is None:
            return await self.say(note) if new else ""
        known = next(one for one in self._talk or () if one.id == found)
        if known.body.strip() != note.body.strip():
            await self._leave()
            edited = await self._reach.patch(f"/issues/comments/{found}", {"body": note.body}, _COMMENT)
            self._talk = [edited if one.id == found else one for one in self._talk or ()]
        return f"{(await self.pull()).html_url}#issuecomment-{found}"

    async def reply(self, root: int, note: Note) -> bool:
        """An answer in a thread, there once; False where the thread is gone. What changed of it is changed there."""
        found = await self._replied(note.mark)
        if found is not None:
            known = next(one for one in self._threads or () if one.id == found)
            if known.body.strip() != note.body.strip():
                await self._may_write()
                await self._reach.patch(f"/pulls/comments/{found}", {"body": note.body}, _REPLY)
            return True
        first = next((one for one in self._threads or () if one.id == root), None)
        if first is None:
            return False
        try:
            await self._once(lambda: self._replied(note.mark), lambda: self._post_reply(first, note))
        except Missing:
            return False
        return True

    async def answer(self, to: Spoken, note: Note) -> str:
        """An answer where somebody spoke: in his thread, else in the conversation; answers with its address."""
        if to.kind == "thread":
            await self._replied(note.mark)
            said = next((one for one in self._threads or () if one.id == to.number), None)
            root = said.in_reply_to_id or said.id if said else 0
            if root and await self.reply(root, note):
                return f"{(await self.pull()).html_url}#discussion_r{root}"
        return await self.say(note)

    async def react(self, to: Spoken, reaction: Reaction) -> None:
        """A reaction to what somebody said, there once; raises Missing where that is gone."""
        places = {
            "thread": "/pulls/comments",
            "comment": "/issues/comments",
            "review": f"/pulls/{self._number}/reviews",
        }
        said = await self._reach.get(f"{places[to.kind]}/{to.number}", _COMMENT)

        async def look() -> int | None:
            data, _ = await self._reach.query(documents.REACTED, subject=said.node_id)
            return said.id if documents.reacted(data, reaction) else None

        async def act() -> int:
            await self._reach.mutate(documents.REACT, subject=said.node_id, content=reaction)
            return said.id

        await self._once(look, act)

    async def _said(self, mark: str) -> int | None:
        if self._talk is None:
            self._talk, _ = await self._reach.every(f"/issues/{self._number}/comments", _TALK)
        return await self._mine(((one.id, one) for one in self._talk), mark)

    async def _replied(self, mark: str) -> int | None:
        if self._threads is None:
            self._threads, _ = await self._reach.every(f"/pulls/{self._number}/comments", _REPLIES)
        return await self._mine(((one.id, one) for one in self._threads), mark)

    async def _mine(self, said: Iterable[tuple[int, IssueComment | ReviewComment]], mark: str) -> int | None:
        """Our own oldest comment that begins with this marker."""
        ours = {*self._ours, (await self._reach.ourselves()).id}
        found = [
            number
            for number, one in said
            if one.user is not None and one.user.id in ours and one.body.lstrip().startswith(mark)
        ]
        return min(found, default=None)

    async def _post(self, note: Note) -> int:
        made = await self._reach.post(f"/issues/{self._number}/comments", {"body": note.body}, _COMMENT)
        self._talk = [*(self._talk or ()), made]
        return made.id

    async def _post_reply(self, root: ReviewComment, note: Note) -> int:
        # GitHub ignores where a reply stands, and describes it as required all the same.
        body = {"body": note.body, "in_reply_to": root.id, "path": root.path, "commit_id": root.commit_id}
        made = await self._reach.post(f"/pulls/{self._number}/comments", body, _REPLY)
        self._threads = [*(self._threads or ()), made]
        return made.id

    async def _once(self, look: Callable[[], Awaitable[int | None]], act: Callable[[], Awaitable[int]]) -> int:
        if (found := await look()) is not None:
            return found
        await self._may_write()
        try:
            return await act()
        except Limited:
            raise
        except Later:
            # It may have been stored all the same. What the lists do not show yet, the next delivery finds.
            self._talk = self._threads = None
            if (found := await look()) is not None:
                return found
            raise

    async def _may_write(self) -> None:
        await self.open()
        await self._leave()

    # --- labels ------------------------------------------------------------------------------------------------------

    async def label(self, wanted: OurLabel | None) -> None:
        """The one of our labels that it bears from now on; people's own are left alone."""
        worn = {label.name for label in (await self.pull()).labels}
        if wanted is not None and wanted.name not in worn:
            await self._make(wanted)
            await self._leave()
            await self._reach.post(f"/issues/{self._number}/labels", {"labels": [wanted.name]}, _LABELS)
        for label in LABELS:
            if label != wanted and label.name in worn:
                await self._leave()
                await self._take_off(label)

    async def _make(self, label: OurLabel) -> None:
        try:
            await self._reach.get(f"/labels/{quote(label.name, safe='')}", _LABEL)
        except Missing:
            await self._leave()
            with suppress(Denied):  # somebody was faster; if not, putting it on says what is wrong
                await self._reach.post("/labels", label._asdict(), _LABEL)

    async def _take_off(self, label: OurLabel) -> None:
        with suppress(Missing):
            await self._reach.delete(f"/issues/{self._number}/labels/{quote(label.name, safe='')}")

    # --- asking for reviews ------------------------------------------------------------------------------------------

    async def ask(self, who: Author, seen: str) -> Turned:
        """Ask one reviewer to look, and see that he is asked; people whom GitHub does not let us ask are mentioned."""
        try:
            account = await self._reach.account(who.id)
        except Missing:
            return Turned(who.login, "left_out", seen)
        login, bot = account.login or who.login, who.kind == "bot"
        pull = await self.open()
        if who.id in await self._requested():
            return Turned(login, "asked", seen)
        author = pull.user is not None and pull.user.id == who.id
        if not author:
            await self._may_write()
            try:
                if bot:
                    await self._reach.mutate(documents.ASK, pull=pull.node_id, bots=[account.node_id])
                else:
                    path = f"/pulls/{self._number}/requested_reviewers"
                    await self._reach.post(path, {"reviewers": [login]}, _PULL)
            except (Denied, Missing):
                pass  # what counts is whether he is asked now
            if who.id in await self._requested():
                return Turned(login, "asked", seen)
        return Turned(login, "left_out" if bot else "mention", seen)

    async def _requested(self) -> set[int]:
        data, _ = await self._reach.query(documents.REQUESTED, number=self._number)
        return documents.requested(data)


_PULL = TypeAdapter(Pull)
_COMMENT = TypeAdapter(IssueComment)
_TALK = TypeAdapter(list[IssueComment])
_REPLY = TypeAdapter(ReviewComment)
_REPLIES = TypeAdapter(list[ReviewComment])
_LABEL = TypeAdapter(Label)
_LABELS = TypeAdapter(list[Label])
