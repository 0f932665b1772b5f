"""A pull request with everything that is said about it, as it stood while it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from amends.comment_fetcher.shapes import Blob, CheckSeen, PullSeen, RemarkSeen, Reply, Spoken, ThreadSeen, user_of
from amends.common.github.models import IssueComment, Pull, Review, ReviewComment, User
from amends.common.github.sightings import node

Comment = ReviewComment | IssueComment | Review


@dataclass(frozen=True)
class Said:
    """Somebody's words, and who changed them last (None: nobody, or nobody we could know)."""

    comment: Comment
    editor: User | None = None
    edited: bool = False
    minimized: bool = False

    @property
    def node(self) -> str:
        """Its name in facts."""
        kind = {ReviewComment: "thread", IssueComment: "comment", Review: "review"}[type(self.comment)]
        return node(self.comment.node_id, kind, self.comment.id)


@dataclass(frozen=True)
class Thread:
    """Comments on one place, the first one first. An outdated one has no line in today's file, and none is guessed."""

    node: str
    root: int
    said: tuple[Said, ...]
    path: str
    line: int | None = None
    start_line: int | None = None
    side: str = "RIGHT"
    start_side: str = ""
    whole_file: bool = False
    resolved: bool = False
    outdated: bool = False


@dataclass(frozen=True)
class Snapshot:
    """All of it. `unseen` are parts that our token may not see; `lagging` is what is there but in no list yet."""

    repo: int
    full_name: str
    seen: PullSeen
    reviews: tuple[Said, ...] = ()
    talk: tuple[Said, ...] = ()
    threads: tuple[Thread, ...] = ()
    checks: tuple[CheckSeen, ...] = ()
    policy: Blob | None = None
    unseen: frozenset[str] = frozenset()
    lagging: tuple[str, ...] = ()

    @property
    def pull(self) -> Pull:
        """The pull request itself."""
        return self.seen.pull

    def everything(self) -> Iterator[Said]:
        """All that anybody said."""
        yield from self.reviews
        yield from self.talk
        for thread in self.threads:
            yield from thread.said


Bodies = Mapping[int, ReviewComment]


def said(spoken: Spoken, comment: Comment) -> Said:
    """Words that came with who wrote and who changed them."""
    return Said(comment, user_of(spoken.editor), spoken.last_edited_at is not None, spoken.is_minimized)


def wanted(threads: Iterable[tuple[ThreadSeen, list[Reply]]], bodies: Bodies) -> list[str]:
    """The comments whose words are not known in the version that the threads show; and those that no thread shows."""
    listed = {reply.full_database_id: reply for _, replies in threads for reply in replies}
    changed = [
        reply.id
        for number, reply in listed.items()
        if number not in bodies or bodies[number].updated_at != reply.updated_at
    ]
    return [
        *changed,
        *(node(body.node_id, "thread", number) for number, body in bodies.items() if number not in listed),
    ]


def assembled(
    threads: Iterable[tuple[ThreadSeen, list[Reply]]], bodies: Bodies, fresh: Mapping[int, RemarkSeen]
) -> tuple[Thread, ...]:
    """The threads with their words. `fresh` is what was asked for by name: what is not in it either is gone by now."""
    found: list[Thread] = []
    listed: set[int] = set()
    for seen, replies in threads:
        listed |= {reply.full_database_id for reply in replies}
        words = [one for reply in replies if (one := _words(reply, bodies, fresh)) is not None]
        if words:
            found.append(_thread(seen, words))
    late = [remark for number, remark in fresh.items() if number not in listed]
    return tuple(_with_late(found, late))


def _words(reply: Reply, bodies: Bodies, fresh: Mapping[int, RemarkSeen]) -> Said | None:
    number = reply.full_database_id
    if remark := fresh.get(number):
        return said(remark, remark.comment)
    body = bodies.get(number)
    if body is None or body.updated_at != reply.updated_at:
        return None
    named = (
        body if body.node_id == reply.id else body.model_copy(update={"node_id": reply.id})
    )  # one name for both ways
    return Said(named, user_of(reply.editor), reply.last_edited_at is not None, reply.is_minimized)


def _thread(seen: ThreadSeen, words: list[Said]) -> Thread:
    whole_file = seen.subject_type == "FILE"
    current = not (seen.is_outdated or whole_file)
    return Thread(
        node=seen.id,
        root=_root(words[0]),
        said=tuple(words),
        path=seen.path,
        line=seen.line if current else None,
        start_line=seen.start_line if current else None,
        side=seen.diff_side,
        start_side=seen.start_diff_side,
        whole_file=whole_file,
        resolved=seen.is_resolved,
        outdated=seen.is_outdated,
    )


def _root(first: Said) -> int:
    """The comment that a thread is named after; it keeps its name when that one was deleted."""
    comment = first.comment
    return (comment.in_reply_to_id if isinstance(comment, ReviewComment) else None) or comment.id


def _with_late(threads: list[Thread], late: list[RemarkSeen]) -> Iterator[Thread]:
    """What was said after the threads were listed: in its thread, or as one of its own that nobody has resolved yet."""
    words: dict[int, list[Said]] = {}
    for remark in late:
        one = said(remark, remark.comment)
        words.setdefault(_root(one), []).append(one)
    for thread in threads:
        more = words.pop(thread.root, [])
        yield Thread(**{**thread.__dict__, "said": (*thread.said, *more)}) if more else thread
    for root, begun in words.items():
        comment = begun[0].comment
        yield Thread("", root, tuple(begun), comment.path if isinstance(comment, ReviewComment) else "", outdated=True)
