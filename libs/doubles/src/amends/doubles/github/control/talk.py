"""Handles on what was said: threads, comments, reviews."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.acts import conversation, reviewing, threads
from amends.doubles.github.acts.words import react
from amends.doubles.github.control.actors import caller
from amends.doubles.github.state.talk import Comment, IssueComment, Review, Thread
from amends.doubles.github.state.world import World


@dataclass(frozen=True)
class CommentHandle:
    """An inline comment or one of the conversation."""

    world: World
    of: Comment | IssueComment

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def node_id(self) -> str:
        return self.of.node

    @property
    def author(self) -> str:
        return self.of.said.author.login

    @property
    def body(self) -> str:
        return self.of.said.body

    @property
    def minimized(self) -> bool:
        return self.of.said.minimized is not None

    @property
    def reactions(self) -> list[tuple[str, str]]:
        return [(one.account.login, one.content) for one in self.of.said.reactions]

    def edit(self, body: str, by: str | None = None) -> None:
        """By its author, unless somebody else is named."""
        who = caller(self.world, by or self.author)
        with self.world.lock:
            if isinstance(self.of, Comment):
                threads.edit(self.world, who, self.of, body)
            else:
                conversation.edit(self.world, who, self.of, body)

    def delete(self, by: str | None = None) -> None:
        who = caller(self.world, by or self.author)
        with self.world.lock:
            if isinstance(self.of, Comment):
                threads.delete(self.world, who, self.of)
            else:
                conversation.delete(self.world, who, self.of)

    def minimize(self, reason: str = "outdated") -> None:
        self.of.said.minimized = reason

    def react(self, content: str, by: str) -> None:
        with self.world.lock:
            react(self.world, caller(self.world, by), self.of.said, content)

    def hide(self, reads: int = 1) -> None:
        """Leave it out of the next lists, as a replica that is behind does."""
        self.world.lag.hide(self.of.node, reads)


@dataclass(frozen=True)
class ThreadHandle:
    world: World
    of: Thread

    @property
    def id(self) -> str:
        return self.of.node

    @property
    def root(self) -> CommentHandle:
        return self.comments[0]

    @property
    def comments(self) -> list[CommentHandle]:
        return [CommentHandle(self.world, one) for one in self.of.comments]

    @property
    def bodies(self) -> list[str]:
        return [one.said.body for one in self.of.comments]

    @property
    def path(self) -> str:
        return (self.of.current or self.of.origin.anchor).path

    @property
    def line(self) -> int | None:
        return None if self.of.current is None else self.of.current.line

    @property
    def start_line(self) -> int | None:
        return None if self.of.current is None else self.of.current.start_line

    @property
    def outdated(self) -> bool:
        return self.of.current is None

    @property
    def resolved(self) -> bool:
        return self.of.resolved_by is not None

    @property
    def resolved_by(self) -> str | None:
        return None if self.of.resolved_by is None else self.of.resolved_by.login

    def reply(self, body: str, by: str) -> CommentHandle:
        with self.world.lock:
            return CommentHandle(self.world, threads.reply(self.world, caller(self.world, by), self.of, body))

    def resolve(self, by: str) -> None:
        with self.world.lock:
            threads.resolve(self.world, caller(self.world, by), self.of)

    def unresolve(self, by: str) -> None:
        with self.world.lock:
            threads.unresolve(self.world, caller(self.world, by), self.of)


@dataclass(frozen=True)
class ReviewHandle:
    world: World
    of: Review

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def node_id(self) -> str:
        return self.of.node

    @property
    def author(self) -> str:
        return self.of.said.author.login

    @property
    def state(self) -> str:
        return self.of.state

    @property
    def body(self) -> str:
        return self.of.said.body

    @property
    def commit(self) -> str:
        return self.of.commit

    @property
    def threads(self) -> list[ThreadHandle]:
        """Those that began with it."""
        begun = [one.thread for one in self.of.comments if one.reply_to is None]
        return [ThreadHandle(self.world, one) for one in begun]

    def edit(self, body: str, by: str | None = None) -> None:
        with self.world.lock:
            reviewing.edit(self.world, caller(self.world, by or self.author), self.of, body)

    def dismiss(self, by: str, message: str = "no longer relevant") -> None:
        with self.world.lock:
            reviewing.dismiss(self.world, caller(self.world, by), self.of, message)

    def submit(self, event: str, body: str | None = None) -> None:
        """Publish a pending one."""
        with self.world.lock:
            reviewing.submit(self.world, caller(self.world, self.author), self.of, event, body)

    def hide(self, reads: int = 1) -> None:
        self.world.lag.hide(self.of.node, reads)
