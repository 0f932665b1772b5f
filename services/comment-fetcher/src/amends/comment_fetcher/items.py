"""A snapshot as items: what trusted people said in it, each piece in its version, with its words. Pure.

An item's version is made of its comments by trusted people only, so that our own replies and what strangers say bring
no new one. Words that somebody edited count when their editor is trusted, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from amends.comment_fetcher.bots import meaning
from amends.comment_fetcher.bots.meaning import Buried, Word, severity_in
from amends.comment_fetcher.shapes import CheckSeen
from amends.comment_fetcher.snapshot import Said, Snapshot, Thread
from amends.comment_fetcher.visible import suggestions, visible
from amends.common.events import Author, Collected, FixRequested, ItemKind, LeftOut, Text, seen_as
from amends.common.feedback import Anchor, Feedback, Remark, Side, Suggestion
from amends.common.gate.hunks import Hunk, claimed
from amends.common.github.commands import beside_order
from amends.common.github.models import Review, ReviewComment
from amends.common.github.sightings import Ours, author, check_name, only_orders, whose
from amends.common.github.text import body_hash, clean, name
from amends.common.loop import digest
from amends.common.policy import Severity

MOST_SEEN = 5_000
_LONGEST_CHECK = 4_000
_LONGEST_HUNK = 8_000
Trusts = Callable[[Author], bool]


@dataclass(frozen=True)
class Collection:
    """All items, their words, and who was not listened to."""

    items: tuple[Collected, ...]
    feedback: tuple[Feedback, ...]
    seen: tuple[str, ...]
    strangers: tuple[int, ...]
    left_out: LeftOut


class Voice(NamedTuple):
    """One comment by somebody who is trusted."""

    said: Said
    author: Author

    @property
    def version(self) -> str:
        return f"{self.said.node} {body_hash(self.said.comment.body)}"


@dataclass
class Hearing:
    """Listens to some and not to others, and counts. `ours` are the ids that we write under."""

    trusts: Trusts
    ours: Ours
    rejecting: frozenset[str]
    strangers: set[int] = field(default_factory=set)
    untrusted: int = 0
    bots: int = 0
    own: int = 0

    def voices(self, said: Iterable[Said]) -> list[Voice]:
        """Those whose words count."""
        return [Voice(one, who) for one in said if self._counts(one, who := whose(one.comment, self.ours))]

    def _counts(self, said: Said, who: Author) -> bool:
        if not self.trusts(who):
            self.untrusted += who.kind in {"user", "ghost"}
            self.bots += who.kind == "bot"
            self.own += who.kind == "self"
            if who.kind == "user":
                self.strangers.add(who.id)
            return False
        if self._edited_by_another(said) and not self.trusts(author(said.editor, self.ours)):
            self.untrusted += 1
            return False
        return True

    @staticmethod
    def _edited_by_another(said: Said) -> bool:
        by = said.comment.user
        return said.edited and (said.editor is None or by is None or said.editor.id != by.id)

    def speaker(self, voices: Sequence[Voice]) -> Author:
        """Whose item it is: of several people the one who rejects."""
        asking = (voice.author for voice in voices if voice.author.account in self.rejecting)
        return next(asking, voices[0].author)


def speakers(snapshot: Snapshot, ours: Ours) -> set[Author]:
    """All who said or edited something."""
    users = [user for said in snapshot.everything() for user in (said.comment.user, said.editor)]
    return {author(user, ours) for user in users if user is not None}


def collected(
    snapshot: Snapshot, request: FixRequested, trusts: Trusts, ours: Ours, failing: Sequence[CheckSeen]
) -> Collection:
    """Everything that the snapshot holds for this request. `failing`: required checks that fail because of the change.

    The words of a version that has its verdict are not needed again.
    """
    hearing = Hearing(trusts, ours, frozenset(request.rejecting))
    found = [
        *(one for thread in snapshot.threads if (one := _thread(thread, hearing, snapshot))),
        *(one for said in snapshot.reviews for one in _body(said, "review", hearing, snapshot)),
        *(one for said in snapshot.talk for one in _body(said, "comment", hearing, snapshot)),
        *(_check(check, snapshot) for check in failing),
        *(_text(text) for text in request.texts),
    ]
    found = _with_questions(found, request)
    closed = {(one.item, one.version) for one in request.closed}
    said = sorted(snapshot.everything(), key=_dated, reverse=True)
    known = {seen_as(one.node, body_hash(one.comment.body)): None for one in said[:MOST_SEEN]}
    return Collection(
        tuple(_indexed(one, request) for one in found),
        tuple(one for one in found if (one.item, one.version) not in closed),
        tuple(known),
        tuple(sorted(hearing.strangers)),
        LeftOut(untrusted=hearing.untrusted, bots=hearing.bots, own=hearing.own),
    )


def _with_questions(found: Sequence[Feedback], request: FixRequested) -> list[Feedback]:
    """What we asked goes with what it was asked about, unless it stands there in our own words."""
    asked = {one.item: one for one in request.questions}
    return [
        one.model_copy(update={"question": clean(asked[one.item].text), "answers": asked[one.item].answers})
        if one.item in asked and not any(remark.author.kind == "self" for remark in one.remarks)
        else one
        for one in found
    ]


def _dated(said: Said) -> float:
    comment = said.comment
    at = comment.updated_at or (comment.submitted_at if isinstance(comment, Review) else comment.created_at)
    return at.timestamp() if at else 0.0


def _indexed(one: Feedback, request: FixRequested) -> Collected:
    anchor = one.anchor or Anchor(path="")
    line = Hunk(anchor.path, anchor.origin_line or 0, anchor.origin_line or 0)
    on_ours = bool(request.pushed) and anchor.origin_commit == request.pushed and anchor.side == "RIGHT"
    return Collected(
        id=one.item, kind=one.kind, version=one.version, author=one.author, review=one.review, resolved=one.resolved,
        ours=on_ours and any(claimed(lines).holds(line) for lines in request.wrote),
        outdated=anchor.outdated, path=name(anchor.path), line=anchor.line, severity=one.severity,
    )  # fmt: skip


def versioned(said: Iterable[str]) -> str:
    """The version of an item that says these things."""
    return sha256("\n".join(said).encode()).hexdigest()[:32]


# --- threads ---------------------------------------------------------------------------------------------------------


def _thread(thread: Thread, hearing: Hearing, snapshot: Snapshot) -> Feedback | None:
    voices = hearing.voices(said for said in thread.said if not only_orders(said.comment))
    if not voices:
        return None
    shown = [voice for voice in voices if not voice.said.minimized]
    speaker = hearing.speaker(voices)
    first = thread.said[0].comment
    return Feedback(
        item=f"thread/{thread.root}",
        kind="thread",
        version=versioned(voice.version for voice in voices),
        author=speaker,
        remarks=tuple(_remark(voice, suggesting=True) for voice in _with_ours(thread, shown, hearing.ours)),
        anchor=_anchor(thread),
        review=first.pull_request_review_id if isinstance(first, ReviewComment) else None,
        resolved=thread.resolved or not shown,
        severity=_labelled(shown[0]) if shown else None,
        url=f"{snapshot.seen.url}#discussion_r{thread.root}",
    )


def _with_ours(thread: Thread, shown: Sequence[Voice], ours: Ours) -> list[Voice]:
    """What they say, and what we said before the last of them: `1` means nothing without the question."""
    last = thread.said.index(shown[-1].said) if shown else 0
    heard = {voice.said.node: voice for voice in shown}
    own = (Voice(said, whose(said.comment, ours)) for said in thread.said[:last] if not said.minimized)
    heard |= {voice.said.node: voice for voice in own if voice.author.kind == "self"}
    return [heard[said.node] for said in thread.said if said.node in heard]


def _labelled(voice: Voice) -> Severity | None:
    """Bots say in the first line how bad it is."""
    lines = voice.said.comment.body.strip().splitlines() if voice.author.kind == "bot" else []
    return severity_in(lines[0]) if lines else None


def _anchor(thread: Thread) -> Anchor:
    first = thread.said[0].comment
    origin = first if isinstance(first, ReviewComment) else ReviewComment(id=0)
    return Anchor(
        path=clean(thread.path), side=_side(thread.side) or "RIGHT", line=thread.line, start_line=thread.start_line,
        start_side=_side(thread.start_side), whole_file=thread.whole_file, outdated=thread.outdated,
        origin_commit=origin.original_commit_id, origin_line=origin.original_line,
        origin_start_line=origin.original_start_line, hunk=clean(origin.diff_hunk)[-_LONGEST_HUNK:],
    )  # fmt: skip


def _side(said: str) -> Side | None:
    match said:
        case "LEFT":
            return "LEFT"
        case "RIGHT":
            return "RIGHT"
        case _:
            return None


def _remark(voice: Voice, *, suggesting: bool = False) -> Remark:
    comment = voice.said.comment
    found = suggestions(comment.body) if suggesting and voice.author.kind != "self" else ()
    return Remark(
        id=comment.id,
        author=voice.author,
        text=clean(visible(beside_order(comment.body) if voice.author.kind == "user" else comment.body)),
        suggestions=tuple(
            Suggestion(text=clean(one.text), exact=one.exact and clean(one.text) == one.text) for one in found
        ),
        edited=voice.said.edited,
        at=comment.submitted_at if isinstance(comment, Review) else comment.created_at,
    )


# --- bodies of reviews, and the conversation -------------------------------------------------------------------------


def _body(said: Said, kind: ItemKind, hearing: Hearing, snapshot: Snapshot) -> Iterator[Feedback]:
    """One item, or for a bot that buries several findings in one text, one for each and one for the rest."""
    comment = said.comment
    rejects = isinstance(comment, Review) and comment.state.upper() == "CHANGES_REQUESTED"
    if not (comment.body.strip() or rejects) or (only_orders(comment) and not rejects):
        return
    for voice in hearing.voices([said]):
        whole = _whole(voice, kind, snapshot)
        yield from _taken_apart(voice, whole, rejects=rejects) if voice.author.kind == "bot" else [whole]


def _whole(voice: Voice, kind: ItemKind, snapshot: Snapshot) -> Feedback:
    number, hidden = voice.said.comment.id, voice.said.minimized
    mark = "pullrequestreview" if kind == "review" else "issuecomment"
    return Feedback(
        item=f"{kind}/{number}",
        kind=kind,
        version=versioned([voice.version]),
        author=voice.author,
        remarks=() if hidden else (_remark(voice),),
        review=number if kind == "review" else None,
        resolved=hidden,
        url=f"{snapshot.seen.url}#{mark}-{number}",
    )


def _taken_apart(voice: Voice, whole: Feedback, *, rejects: bool) -> Iterator[Feedback]:
    """A notice is no feedback; but a rejection always leaves an item behind, whatever its words come to."""
    meant = meaning(voice.author.login, voice.said.comment.body, visible(voice.said.comment.body))
    for buried in meant.buried:
        yield _finding(voice, whole, buried)
    rest = meant.rest if meant.word is not Word.UNAVAILABLE else ""
    if rest.strip():
        remarks = tuple(remark.model_copy(update={"text": clean(rest)}) for remark in whole.remarks)
        version = versioned([f"{voice.said.node} {body_hash(rest)}"])
        yield whole.model_copy(update={"remarks": remarks, "version": version})
    elif rejects and not meant.buried:
        yield whole


def _finding(voice: Voice, whole: Feedback, buried: Buried) -> Feedback:
    text = body_hash(f"{buried.path}:{buried.line}\n{buried.text}")
    remarks = tuple(remark.model_copy(update={"text": clean(buried.text)}) for remark in whole.remarks)
    place = Anchor(path=clean(buried.path), line=None, origin_line=buried.line, origin_start_line=buried.start_line)
    return whole.model_copy(
        update={
            "item": f"finding/{voice.said.comment.id}/{text[:16]}",
            "kind": "finding",
            "version": versioned([f"{voice.said.node} {text}"]),
            "remarks": remarks,
            "anchor": place if buried.path else None,
            "severity": buried.severity,
        }
    )


# --- what nobody said in a comment -----------------------------------------------------------------------------------


def _check(check: CheckSeen, snapshot: Snapshot) -> Feedback:
    called = check_name(check.called)
    who = Author(id=0, login=called, kind="token")
    words = [f"{check.called}: {check.ended.lower()}", check.title, check.summary, check.description]
    text = clean(visible("\n\n".join(word for word in words if word)))[:_LONGEST_CHECK]
    return Feedback(
        item=f"check/{called}", kind="check", version=snapshot.pull.head.sha, author=who,
        remarks=(Remark(id=0, author=who, text=text),), url=check.details_url or check.target_url,
    )  # fmt: skip


def _text(text: Text) -> Feedback:
    return Feedback(
        item=text.item,
        kind="command" if text.item.startswith("command/") else "finding",
        version=digest(text.text),
        author=text.author,
        remarks=(Remark(id=0, author=text.author, text=clean(visible(text.text))),),
        anchor=Anchor(path=text.path, line=text.line) if text.path else None,
        severity=text.severity,
    )
