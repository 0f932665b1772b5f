"""Finds what no webhook told: looks at every open pull request now and then, and reports what it shows.

The log knows by the keys what it has heard already. What was reported once is not reported again by this process, and
a pull request that looks as it did last time is not read at all, so that a quiet repository costs one request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic import ValidationError

from amends.comment_fetcher import extras, measures
from amends.comment_fetcher.checks import failing
from amends.comment_fetcher.documents import open_document
from amends.comment_fetcher.policyfile import policy_seen
from amends.comment_fetcher.reading import Reader
from amends.comment_fetcher.shapes import OpenPage, OpenSeen
from amends.comment_fetcher.sighted import Before, Sight, before, sighted
from amends.common.answers import Followed, Recorded, Recorder, Refused, Report, Unavailable
from amends.common.delivery import Later
from amends.common.events import AccessChanged, AnyFact
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Down, Limited, Missing, Torn
from amends.common.github.pages import TooMany
from amends.common.github.sightings import Ours
from amends.common.identity import About
from amends.common.loop import digest
from amends.common.patience import report_until_answered
from amends.common.sections import Fetcher

log = logging.getLogger(__name__)
_SOON = 30.0
_HOUR = 3_600.0
_ANSWER_SECONDS = 30.0
_PATIENCE = 900.0
_SETTLING = 3.0
_AT_ONCE = 64  # reports that wait together make one transaction
# What no date and no count betrays (a resolved thread, an edit) is found when a pull request is read all the same.
_WHOLE_SECONDS = {"webhooks": 3_600.0, "poll": 600.0}
_MOST_PAGES = 50


class Spent(Later):
    """The requests that the timer may make in an hour are made."""


class Unanswered(Exception):
    """The recorder is away."""


# The repositories that the installation lists, each with the pull requests that are open in the log.
Following = Callable[[], Awaitable[Sequence[Followed]]]


@dataclass
class Budget:
    """So many requests an hour, by a clock that only goes forward."""

    most: int
    clock: Callable[[], float] = time.monotonic
    _made: deque[float] = field(default_factory=deque)

    def spend(self) -> None:
        """Count a request, or refuse it."""
        now = self.clock()
        while self._made and self._made[0] <= now - _HOUR:
            self._made.popleft()
        if len(self._made) >= self.most:
            raise Spent(self._made[0] + _HOUR - now, f"{self.most} requests were made within an hour")
        self._made.append(now)


@dataclass
class Known:
    """A pull request as it was last time: how it looked, when it was read, and what was reported of it."""

    looks: OpenSeen | None = None
    read_at: float = float("-inf")
    earlier: Before = field(default_factory=Before)
    said: frozenset[str] = frozenset()


@dataclass
class Tally:
    """What a round has looked at and found. `missed` says why something could not be looked at."""

    repositories: int = 0
    pulls: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list)
    away: bool = False  # nobody could say what is followed: nothing was asked of GitHub


@dataclass
class Reconciler:
    """Looks at what is followed, so many repositories and pull requests at once."""

    client: Client
    recorder: Recorder
    followed: Following
    settings: Fetcher
    ours: Ours
    reader: Reader = field(default_factory=Reader)
    lost: set[int] = field(default_factory=set)
    clock: Callable[[], float] = time.monotonic
    trouble: str = ""
    away_seconds: float = 5.0  # until a round that met no recorder comes again

    def __post_init__(self) -> None:
        self._budget = Budget(self.settings.budget, self.clock)
        self._free = asyncio.Semaphore(self.settings.at_once)
        self._looking = asyncio.Lock()
        self._known: dict[tuple[int, int], Known] = {}
        self._policies: dict[int, str] = {}
        self._out_of_reach: set[str] = set()
        self._renamed: set[str] = set()
        self._whole_at = self.clock()
        self._pause = self.settings.poll_seconds

    async def run(self) -> None:
        """Round after round; one that is under way may be left where it is."""
        while True:
            await self._round()
            await asyncio.sleep(self._pause)

    def health(self) -> str:
        """`ok`, or what has been in the way for so long that somebody should know."""
        blind = self.clock() - self._whole_at
        patient = blind < max(_PATIENCE, 5 * self.settings.poll_seconds)
        return "ok" if patient or not self.trouble else f"nothing was seen whole for {blind:.0f} s: {self.trouble}"

    async def _round(self) -> None:
        tally = await self.look()
        self.trouble = "; ".join(tally.missed)[:400]
        self._pause = min(self.settings.poll_seconds, self.away_seconds) if tally.away else self.settings.poll_seconds
        if not tally.missed:
            self._whole_at = self.clock()
        else:
            log.warning("reconciling was cut short", extra={"missed": tally.missed[:10]})
        measures.reconciled(tally.found, whole=not tally.missed)

    async def look(self, only: str = "", *, asked: bool = False) -> Tally:
        """One round, of all repositories or of one. What a human `asked` for is read anew and costs no budget."""
        tally = Tally()
        async with self._looking:
            try:
                followed = await self.followed()
            except Later as away:
                return Tally(missed=[f"the recorder: {away}"], away=True)
            listed = [one for one in followed if only.lower() in {"", one.full_name.lower()}]
            if only and not listed:
                tally.missed.append(f"{only}: the installation does not list it")
            if asked:
                self.forget()
            count = None if asked else self._budget.spend
            await _all(self._spared(one.full_name, self._repository(one, tally, count), tally) for one in listed)
        return tally

    async def _spared(self, what: str, work: Awaitable[None], tally: Tally) -> bool:
        """What goes wrong with one does not keep the others; whether all went well."""
        try:
            await work
        except (Down, Torn, Limited, Spent, TooMany, Unanswered) as error:
            tally.missed.append(f"{what}: {error}")
        except (Missing, Denied) as error:
            self._out_of_reach.add(what.partition("#")[0].lower())
            tally.missed.append(f"{what} is out of reach: {error}")
        else:
            return True
        return False

    def forget(self) -> None:
        """Read everything anew next time; what was deleted since is still noticed."""
        self._known = {key: replace(known, looks=None, said=frozenset()) for key, known in self._known.items()}

    # --- one repository ----------------------------------------------------------------------------------------------

    async def _repository(self, one: Followed, tally: Tally, count: Callable[[], None] | None) -> None:
        async with self._free:
            reach = await self.client.named(one.full_name)
            reach = reach.counted(count) if count else reach
            if count and reach.share < self.settings.keep:
                raise Spent(_SOON, f"less than {self.settings.keep:.0%} of GitHub's own limit is left")
            shown = await self._shown(reach)
        tally.repositories += 1
        repo = reach.place.repo
        self._look_at_name(one.full_name, reach.place.full_name)
        back = repo in self.lost or one.full_name.lower() in self._out_of_reach
        numbers = {seen.number for seen in shown}
        gone = [OpenSeen(number=number) for number in one.numbers if number not in numbers and one.repo == repo]
        seen = await _all(
            self._spared(f"{one.full_name}#{looks.number}", self._pull(reach, looks, tally, back=back), tally)
            for looks in (*shown, *gone)
        )
        if all(seen):
            self.lost.discard(repo)
            self._out_of_reach.discard(one.full_name.lower())
        for key in [key for key in self._known if key[0] == repo and key[1] not in numbers]:
            del self._known[key]

    def _look_at_name(self, listed: str, called: str) -> None:
        """The policy goes by names, since an old one may be another's tomorrow: a human has to list the new one."""
        if called.lower() not in {listed.lower(), *self._renamed}:
            self._renamed.add(called.lower())
            why = "a repository is called otherwise now: nothing is begun there until that name is listed"
            log.warning(why, extra={"listed": listed, "called": called})

    async def _shown(self, reach: Reach) -> list[OpenSeen]:
        """All open pull requests, and on the way the repository's policy."""
        found: list[OpenSeen] = []
        after: str | None = None
        for _ in range(_MOST_PAGES):
            document = open_document(after, policy=after is None)
            data, errors = await reach.query(document.text, **document.variables)
            page = _page(reach, data)
            if after is None and not errors:
                await self._policy(reach, page)
            found += page.pull_requests.nodes
            turn = page.pull_requests.page_info
            if not turn.has_next_page:
                return found
            if not turn.end_cursor or turn.end_cursor == after:
                raise Torn(_SOON, "the list of open pull requests leads nowhere")
            after = turn.end_cursor
        raise TooMany(f"more than {_MOST_PAGES} pages of open pull requests")

    async def _policy(self, reach: Reach, page: OpenPage) -> None:
        fact, repo = policy_seen(page.policy), reach.place.repo
        said = _name(fact)
        if self._policies.get(repo) != said:
            await self._send([Report(fact=fact, about=About(repo=repo))])
            self._policies[repo] = said

    # --- one pull request --------------------------------------------------------------------------------------------

    async def _pull(self, reach: Reach, looks: OpenSeen, tally: Tally, *, back: bool) -> None:
        key = (reach.place.repo, looks.number)
        known = self._known.get(key, Known())
        recent = self.clock() - known.read_at < _WHOLE_SECONDS[self.settings.mode]
        if known.looks == looks and recent and not back:
            return
        async with self._free:
            snapshot = await self.reader.read(reach, looks.number, tuple(known.earlier.comments))
            if snapshot.lagging:
                raise Torn(_SOON, f"{len(snapshot.lagging)} comments are there and in no list")
            failed = [check for check in failing(snapshot.checks) if check.is_required]
            on_base = await extras.failing_on_base(reach, snapshot.pull.base.ref) if failed else frozenset()
        tally.pulls += 1
        sight = Sight(self.ours, datetime.fromtimestamp(reach.now, UTC), on_base)
        facts: list[AnyFact] = [AccessChanged(access="granted")] if back else []
        facts += sighted(snapshot, sight, known.earlier)
        fresh = [fact for fact in facts if _name(fact) not in known.said]
        about = About(repo=key[0], number=key[1])
        tally.found += await self._send([Report(fact=fact, about=about) for fact in fresh])
        said = frozenset(map(_name, facts))
        self._known[key] = Known(_settled(looks, reach.now), self.clock(), before(snapshot, self.ours), said)

    async def _send(self, reports: Sequence[Report]) -> int:
        """Report all of it, how it stands first; how many of them were news."""
        news = 0
        batches = [reports[:1], *(reports[start : start + _AT_ONCE] for start in range(1, len(reports), _AT_ONCE))]
        for batch in batches:
            for report, answer in zip(batch, await _all(map(self._reported, batch)), strict=True):
                if isinstance(answer, Unavailable):
                    raise Unanswered(f"the recorder is away: {answer.detail}")
                if isinstance(answer, Refused):
                    log.warning("a sighting was refused", extra={"fact": report.fact.type, "answer": str(answer)[:300]})
                news += isinstance(answer, Recorded)
        return news

    async def _reported(self, report: Report) -> object:
        return await report_until_answered(self.recorder, report, _ANSWER_SECONDS)


def _settled(looks: OpenSeen, now: float) -> OpenSeen | None:
    """How it looks, unless it may change and look the same: GitHub's dates have whole seconds."""
    return looks if looks.updated_at and looks.updated_at.timestamp() < now - _SETTLING else None


def _page(reach: Reach, data: dict[str, object]) -> OpenPage:
    if data.get("repository") is None:
        reach.lost()
        raise Missing("it is not there, or we may not see it")
    try:
        page = OpenPage.model_validate(data["repository"])
    except ValidationError as error:
        raise Torn(_SOON, f"the open pull requests cannot be read: {error.errors()[0]['msg']}") from error
    if other := page.other_than(reach.place.repo):
        reach.lost()
        raise Torn(_SOON, f"{reach.place.full_name}: {other}")
    reach.called(page.name_with_owner)
    return page


def _name(fact: AnyFact) -> str:
    """The same for what says the same, whenever it was."""
    return digest(fact.model_dump_json())


async def _all(work: Iterable[Awaitable[object]]) -> list[object]:
    return list(await asyncio.gather(*work))
