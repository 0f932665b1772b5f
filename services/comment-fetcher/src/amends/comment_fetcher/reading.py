"""Reads a pull request whole: its lists through GraphQL, the words of its threads in bulk through REST.

GraphQL alone knows what is resolved, which comments make a thread, and who edited them; REST has the words in numbered
pages that can be asked for all at once. Each checks the other: a comment that only one of them shows, or in another
version, is asked for by its name. Words that are remembered are used only where the version is still the same.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from amends.comment_fetcher.documents import Asked, List, chunks, nodes_document, pull_document
from amends.comment_fetcher.memory import Kept, Memory
from amends.comment_fetcher.shapes import (
    Blob,
    CheckSeen,
    Listed,
    PullSeen,
    RemarkSeen,
    Reply,
    RepositorySeen,
    ReviewSeen,
    Shape,
    TalkSeen,
    ThreadSeen,
    rollup_page,
)
from amends.comment_fetcher.snapshot import Snapshot, assembled, said, wanted
from amends.comment_fetcher.strand import Gap, Page, Span, Strand
from amends.common.github.client import Json, Reach
from amends.common.github.errors import Denied, Missing, Torn
from amends.common.github.models import Part, ReviewComment
from amends.common.github.pages import TooMany, together
from amends.common.github.sightings import node
from amends.common.identity import PullId

S = TypeVar("S", bound=Shape)
MOST_ROUNDS = 60
MOST_PAGES = 100
MOST_NAMED = 300  # more comments than these are read in pages again
_MOST_THREADS = 10_000
_TRIES = 3
_SOON = 30.0
_SECONDS = 3.0
_REMARKS = TypeAdapter(list[ReviewComment])
_ONE: TypeAdapter[Json] = TypeAdapter(Json)
# Made once: pydantic forgets a generic that nobody holds, and would make it anew for every page.
_THREADS, _REVIEWS, _TALK, _REPLIES = Listed[ThreadSeen], Listed[ReviewSeen], Listed[TalkSeen], Listed[Reply]
_MAY_LACK = {"checks", "policy"}
_DRAFT = "PENDING"
_PATHS = {"thread": "/pulls/comments/{0}", "comment": "/issues/comments/{0}", "review": "/pulls/{1}/reviews/{0}"}
_NUMBERED = re.compile(r"(thread|comment|review)-([0-9]{1,19})")


class HeadMoved(Exception):
    """Somebody pushed while it was read."""


class Key(NamedTuple):
    """One of the lists: of the pull request, or the comments of one thread."""

    list: List
    of: str = ""


@dataclass
class Index:
    """The lists as far as they are read."""

    strands: dict[Key, Strand[Any]]
    seen: PullSeen | None = None
    full_name: str = ""
    policy: Blob | None = None
    unseen: set[str] = field(default_factory=set)

    def all(self, list_: List, of: str = "") -> list[Any]:
        """The entries of one list."""
        strand = self.strands.get(Key(list_, of))
        return strand.entries() if strand else []

    def threads(self) -> list[tuple[ThreadSeen, list[Reply]]]:
        """The threads with all their comments; drafts, which a token's owner is shown of his own, are not said yet."""
        found: list[ThreadSeen] = self.all("threads")
        listed = [(thread, self.all("replies", thread.id) or thread.comments.nodes) for thread in found]
        return [(thread, [one for one in replies if one.state != _DRAFT]) for thread, replies in listed]

    def nodes(self) -> set[str]:
        """The names of all that is in the lists, and those that it has where webhooks give none."""
        remarks = [reply for _, replies in self.threads() for reply in replies]
        spoken = (("review", self.all("reviews")), ("comment", self.all("talk")), ("thread", remarks))
        return {
            name for kind, all_ in spoken for one in all_ for name in (one.id, node("", kind, one.full_database_id))
        }


class Named(NamedTuple):
    """What came of asking for things by their names."""

    remarks: dict[int, RemarkSeen]
    there: frozenset[str]


class Reader:
    """Reads pull requests, and remembers the words it has read."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or Memory()

    def forget(self) -> None:
        """Begin anew with everything."""
        self._memory = Memory()

    async def read(self, reach: Reach, number: int, expects: Sequence[str] = ()) -> Snapshot:
        """All of it, or an exception: never a part. What is expected and in no list is looked up by itself."""
        for _ in range(_TRIES):
            try:
                return await self._read(reach, number, expects)
            except HeadMoved:
                continue
        raise Torn(_SOON, "the head moves while the pull request is read")

    async def _read(self, reach: Reach, number: int, expects: Sequence[str]) -> Snapshot:
        of, began = PullId(reach.place.repo, number), reach.now
        kept = self._memory.get(of)
        if kept.bodies:
            index, pages, bodies = await self._index(reach, number, kept), kept.pages, dict(kept.bodies)
        else:
            work: tuple[Awaitable[Any], ...] = (
                self._index(reach, number, kept),
                _words(reach, number, kept.pages),
            )
            index, (listed, pages) = await together(work)
            bodies = {body.id: body for body in listed}
        threads = index.threads()
        names = wanted(threads, bodies)
        if len(names) > MOST_NAMED:
            listed, pages = await _words(reach, number, pages)
            bodies = {body.id: body for body in listed}
            names = wanted(threads, bodies)
        there = index.nodes()
        unseen = [one for one in dict.fromkeys((*expects, *filter(_NUMBERED.fullmatch, names))) if one not in there]
        named = await _named(reach, number, names, unseen)
        known = bodies | {id_: remark.comment for id_, remark in named.remarks.items()}
        listed_ids = {reply.full_database_id for _, replies in threads for reply in replies}
        settled = {id_: body for id_, body in known.items() if id_ in listed_ids and _settled(body, began)}
        self._memory.keep(of, Kept(_cursors(index), pages, settled))
        taken = {remark.id for remark in named.remarks.values()}
        lagging = tuple(one for one in unseen if one in named.there and one not in taken)
        return _snapshot(reach, index, assembled(threads, bodies, named.remarks), lagging)

    async def _index(self, reach: Reach, number: int, kept: Kept) -> Index:
        lists: tuple[List, ...] = ("threads", "reviews", "talk", "checks")
        index = Index({Key(one): Strand(_name, (), kept.cursors.get(one, ())) for one in lists})
        for round_ in range(MOST_ROUNDS):
            gaps = [(key, gap) for key, strand in index.strands.items() for gap in reversed(strand.gaps())]
            if not gaps:
                return index
            asked = [Asked(key.list, span, key.of) for key, gap in gaps for span in gap.spans]
            parts = list(chunks(asked))
            answers = await together(
                _asked(reach, number, part, policy=round_ == place == 0) for place, part in enumerate(parts)
            )
            _fold(index, gaps, [page for answer in answers for page in _taken(index, answer)])
        raise TooMany(f"its lists do not end within {MOST_ROUNDS} rounds of requests")


# --- asking ----------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """What came of one query: its data, what is wrong with parts of it, and what was asked."""

    data: Json
    asked: Sequence[Asked]
    unseen: frozenset[str]
    repository: RepositorySeen
    seen: PullSeen


async def _asked(reach: Reach, number: int, asked: Sequence[Asked], *, policy: bool) -> Answer:
    document = pull_document(number, asked, policy=policy)
    data, errors = await reach.query(document.text, **document.variables)
    unseen = frozenset(_unseen(error, asked) for error in errors if error.get("type") != "NOT_FOUND")
    found = data.get("repository")
    if found is None:
        reach.lost()
        raise Missing(f"{reach.place.full_name} is not there, or we may not see it")
    if found.get("pullRequest") is None:
        raise Torn(_SOON, f"{reach.place.full_name}#{number} is not shown (yet)")
    try:
        repository = RepositorySeen.model_validate(found)
        seen = PullSeen.model_validate(found["pullRequest"])
    except ValidationError as error:
        raise _strange(error) from error
    if other := repository.other_than(reach.place.repo):
        reach.lost()
        raise Torn(_SOON, f"{reach.place.full_name}: {other}")
    return Answer(data, asked, unseen, repository, seen)


def _unseen(error: Json, asked: Sequence[Asked]) -> str:
    """Which part we may not see. Most of it we need; without checks and policy the rest is still whole."""
    for step in error.get("path") or []:
        if step == "policy":
            return "policy"
        if isinstance(step, str) and re.fullmatch(r"a[0-9]+", step) and asked[int(step[1:])].list in _MAY_LACK:
            return asked[int(step[1:])].list
    raise Denied(f"GitHub does not show us everything: {str(error.get('message', ''))[:200]}")


def _taken(index: Index, answer: Answer) -> list[Page[Any]]:
    """The pages of an answer, in the order in which they were asked for."""
    if index.seen is not None and index.seen.head_ref_oid != answer.seen.head_ref_oid:
        raise HeadMoved
    index.seen = answer.seen
    index.full_name = answer.repository.name_with_owner
    index.policy = index.policy or answer.repository.policy
    index.unseen |= answer.unseen
    inside, beside = answer.data["repository"]["pullRequest"], answer.data
    try:
        return [_page(one, (beside if one.of else inside).get(f"a{place}")) for place, one in enumerate(answer.asked)]
    except ValidationError as error:
        raise _strange(error) from error


def _page(asked: Asked, value: Any) -> Page[Any]:  # noqa: ANN401 - JSON
    listed: Listed[Any]
    match asked.list:
        case "threads":
            listed = _THREADS.model_validate(value)
        case "reviews":
            listed = _REVIEWS.model_validate(value)
        case "talk":
            listed = _TALK.model_validate(value)
        case "checks":
            listed = rollup_page(value)
        case "replies":  # the thread itself may be gone by now
            listed = _REPLIES.model_validate((value or {}).get("comments") or {})
    return page_of(asked.span, listed)


def page_of(span: Span, listed: Listed[S]) -> Page[S]:
    """A page as the strand takes it."""
    turn = listed.page_info
    return Page(
        span, listed.nodes, turn.start_cursor, turn.end_cursor, turn.has_previous_page, turn.has_next_page,
        listed.total_count,
    )  # fmt: skip


def _fold(index: Index, gaps: Sequence[tuple[Key, Gap]], pages: list[Page[Any]]) -> None:
    """Put the pages where they were missing; of one strand the last gap comes first, so that places stay right."""
    for key, gap in gaps:
        new, pages = pages[: len(gap.spans)], pages[len(gap.spans) :]
        index.strands[key] = index.strands[key].filled(gap, new)
        if key.list == "threads":
            _look_into(index, [thread for page in new for thread in page.entries])
    if len(index.strands) > _MOST_THREADS or len(index.all("threads")) > _MOST_THREADS:
        raise TooMany(f"more than {_MOST_THREADS} threads")


def _look_into(index: Index, threads: Sequence[ThreadSeen]) -> None:
    """A thread that holds more comments than came with it is a list of its own."""
    for thread in threads:
        key = Key("replies", thread.id)
        if thread.comments.page_info.has_next_page and key not in index.strands:
            index.strands[key] = Strand(_name, (page_of(Span(), thread.comments),))


def _name(entry: ThreadSeen | ReviewSeen | TalkSeen | CheckSeen | Reply) -> str:
    return entry.id


async def _words(reach: Reach, number: int, known: int) -> tuple[list[ReviewComment], int]:
    return await reach.every(f"/pulls/{number}/comments", _REMARKS, known, MOST_PAGES)


class _Node(Part):
    """Something that is there."""

    id: str


async def _named(reach: Reach, number: int, names: Sequence[str], unseen: Sequence[str]) -> Named:
    """The comments of these names, and whether those that are in no list are there at all."""
    askable = [name for name in dict.fromkeys((*names, *unseen)) if name and not _NUMBERED.fullmatch(name)]
    remarks: dict[int, RemarkSeen] = {}
    there = set(await _numbered(reach, number, unseen))
    if askable:
        document = nodes_document(askable)
        data, errors = await reach.query(document.text, **document.variables)
        if any(error.get("type") != "NOT_FOUND" for error in errors):
            raise Denied(f"GitHub does not show us everything: {str(errors[0].get('message', ''))[:200]}")
        try:
            for place in range(len(document.variables)):
                for found in data.get(f"b{place}") or []:
                    _take(found, set(names), remarks, there)
        except ValidationError as error:
            raise _strange(error) from error
    return Named(remarks, frozenset(there))


def _take(found: Json | None, names: set[str], remarks: dict[int, RemarkSeen], there: set[str]) -> None:
    if found is None:
        return
    there.add(_Node.model_validate(found).id)
    if found.get("__typename") == "PullRequestReviewComment" and found["id"] in names:
        remark = RemarkSeen.model_validate(found)
        if remark.state != _DRAFT:
            remarks[remark.full_database_id] = remark


async def _numbered(reach: Reach, number: int, unseen: Sequence[str]) -> list[str]:
    """What a forge without global names has, by kind and number."""
    there = []
    for name in unseen:
        if found := _NUMBERED.fullmatch(name):
            try:
                await reach.get(_PATHS[found[1]].format(found[2], number), _ONE)
            except Missing:
                continue
            there.append(name)
    return there


def _settled(body: ReviewComment, began: float) -> bool:
    """Whether its date tells its version: dates have whole seconds, and within one there may be two versions."""
    return body.updated_at is not None and body.updated_at.timestamp() < began - _SECONDS


def _cursors(index: Index) -> dict[str, tuple[str, ...]]:
    return {key.list: strand.cursors() for key, strand in index.strands.items() if not key.of}


def _strange(error: ValidationError) -> Torn:
    first = error.errors(include_url=False, include_input=False)[0]
    return Torn(_SOON, f"GitHub's answer cannot be read: {first['loc']} {first['msg']}"[:300])


def _snapshot(reach: Reach, index: Index, threads: Any, lagging: tuple[str, ...]) -> Snapshot:  # noqa: ANN401
    if index.seen is None:
        raise Torn(_SOON, "nothing was read")
    if index.full_name:
        reach.called(index.full_name)
    return Snapshot(
        repo=reach.place.repo,
        full_name=index.full_name or reach.place.full_name,
        seen=index.seen,
        reviews=tuple(said(one, one.review) for one in index.all("reviews") if one.state != _DRAFT),
        talk=tuple(said(one, one.comment) for one in index.all("talk")),
        threads=threads,
        checks=tuple(index.all("checks")),
        policy=index.policy,
        unseen=frozenset(index.unseen),
        lagging=lagging,
    )
