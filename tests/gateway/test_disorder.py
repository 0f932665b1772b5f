"""INV-06: dropped and told again, doubled, reordered, replayed, late, early: as if each delivery had come once."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from amends.common.answers import Report
from amends.common.events import AuthorChecked, Fact, FixRequested, ReviewApproved, ReviewCommented, ReviewRejected
from amends.common.identity import About, policy_loop
from amends.common.loop import Loop
from amends.common.standing import opinions, policy_for
from amends.evaluator.migrate import migrate
from amends.evaluator.projections import load
from tests.support.asynchronous import asynchronous
from tests.support.book import fired
from tests.support.gateway import REPO, Json, Running, about, delivery, example, gateway, line, remark, review
from tests.support.ledgers import ledger, said_review, undated

Delivery = tuple[str, Json]
LOOP = f"{REPO}-pr-2"
FIRST, SECOND = "a" * 40, "b" * 40
MARIA = {"id": 21, "login": "maria", "type": "User"}
BOB = {"id": 22, "login": "bob", "type": "User"}


def at(payload: Json, minute: int, head: str = SECOND) -> Json:
    """The payload as it was sent at this minute, when this was the pull request's head."""
    payload = copy.deepcopy(payload)
    payload["pull_request"] |= {"updated_at": f"2026-03-02T12:{minute:02}:00Z"}
    payload["pull_request"]["head"]["sha"] = head
    return payload


def reviewed(minute: int, number: int, state: str, by: Json, action: str = "submitted") -> Delivery:
    said = review(number, state, f"{state} by {by['login']}", action=action, sender=by)
    said["review"] |= {"user": by, "commit_id": SECOND, "submitted_at": f"2026-03-02T12:{number:02}:00Z"}
    return "pull_request_review", at(said, minute)


def remarked(minute: int, number: int, action: str, body: str, root: int | None = None) -> Delivery:
    comment = {"user": MARIA, "body": body, "in_reply_to_id": root, "updated_at": f"2026-03-02T12:{minute:02}:00Z"}
    said = about(example("pull_request_review_comment", "created"), "comment", number, **comment)
    return "pull_request_review_comment", at({**said, "action": action, "sender": MARIA}, minute)


def talked(minute: int, action: str, body: str) -> Delivery:
    said = remark(body, 51, action, **BOB)
    said["comment"]["updated_at"] = f"2026-03-02T12:{minute:02}:00Z"
    return "issue_comment", said


def turned(minute: int, action: str) -> Delivery:
    said = {**reviewed(minute, 1, "commented", MARIA)[1], "action": action, "thread": {"comments": [{"id": 41}]}}
    return "pull_request_review_thread", {**said, "updated_at": f"2026-03-02T12:{minute:02}:00Z"}


def checked(minute: int, conclusion: str) -> Delivery:
    said = example("check_run", "completed")
    said["check_run"] |= {
        "head_sha": SECOND,
        "conclusion": conclusion,
        "completed_at": f"2026-03-02T12:{minute:02}:00Z",
    }
    return "check_run", said


STORY: list[Delivery] = [
    ("pull_request", at(example("pull_request", "opened"), 0, FIRST)),
    ("pull_request", at(example("pull_request", "synchronize"), 1)),
    reviewed(11, 11, "changes_requested", MARIA),
    remarked(12, 41, "created", "this is wrong"),
    remarked(13, 42, "created", "and this", root=41),
    remarked(14, 42, "edited", "and that", root=41),
    remarked(15, 43, "created", "never mind", root=41),
    remarked(16, 43, "deleted", "never mind", root=41),
    reviewed(17, 12, "approved", BOB),
    reviewed(18, 13, "commented", MARIA),
    reviewed(19, 12, "dismissed", BOB, "dismissed"),
    talked(20, "created", "by the way"),
    talked(21, "edited", "by the way!"),
    turned(22, "resolved"),
    turned(23, "unresolved"),
    checked(24, "failure"),
    checked(25, "success"),
    reviewed(26, 14, "changes_requested", MARIA),
]


async def told(url: str, deliveries: Sequence[Delivery], lines: int = 1) -> tuple[object, object, list[Fact]]:
    """The ledger, the standing opinions and what is decided in the end, after these deliveries."""
    migrate(url)
    async with gateway(url) as running:
        queue = [delivery(event, payload, X_GitHub_Delivery=f"d-{n}") for n, (event, payload) in enumerate(deliveries)]
        statuses = await asyncio.gather(*(_sent(running, queue[n::lines]) for n in range(lines)))
        assert {status for each in statuses for status in each} == {202}
        decided = _settled(running)
        loop, installation = _loop(running, LOOP), _loop(running, "installation")
        policy = policy_for(loop, installation, _loop(running, policy_loop(LOOP)))
        return ledger(loop), [*map(said_review, opinions(loop, policy))], decided


async def _sent(running: Running, queue: Sequence[bytes]) -> list[int]:
    statuses = []
    async with line(running.address) as connection:
        for sent in queue:
            await connection.send(sent)
            statuses.append((await connection.reply()).status)
    return statuses


def _settled(running: Running) -> list[Fact]:
    """Every author is looked up and may write, and the settle window is over: what follows."""
    assert running.recorder is not None
    where, opinionated = About(repo=REPO, number=2), ReviewRejected | ReviewApproved | ReviewCommented
    facts = {event.key: event.fact for event in running.events()}
    for key, fact in sorted(facts.items()):
        if isinstance(fact, opinionated):
            lookup = AuthorChecked(of=key, author=fact.author, permission="write")
            running.recorder.submit("comment-fetcher", Report(fact=lookup, about=where)).result()
    end = running.log.head().pos
    for timer in running.log.timers_of(LOOP):
        if not timer.deadline:
            over = fired(timer, "operator")
            running.recorder.submit(over.service, over.report).result()
    return [undated(event.fact) for event in running.events() if event.pos > end and event.cause is not None]


def _loop(running: Running, name: str) -> Loop:
    row = running.log.loop(name)
    return load(row.state) if row else Loop(name)


def days_late(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Everything once, and at the end its beginning again, as GitHub redelivers what was lost days ago."""
    return [*deliveries, *deliveries[:6]]


def before_it_was_seen(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """All that is said, and only then the pull request itself."""
    return [*deliveries[2:], *deliveries[:2]]


def shuffled(seed: int, times: int = 1) -> list[Delivery]:
    several = [*STORY] * times
    Random(seed).shuffle(several)
    return several


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, object, list[Fact]]:
    return asyncio.run(told(f"sqlite:///{tmp_path_factory.mktemp('clean')}/log.db", STORY))


def test_a_clean_story_ends_in_one_request_to_fix(clean: tuple[object, object, list[Fact]]) -> None:
    (requested,) = clean[2]
    assert isinstance(requested, FixRequested)
    assert (requested.n, requested.k) == (1, 1)


DISORDERS = {
    "doubled 50 times over 8 connections": (shuffled(1, 50), 8),
    "each 50 times in a row": ([one for one in STORY for _ in range(50)], 4),
    "backwards": (STORY[::-1], 1),
    "days late": (days_late(STORY), 1),
    "before it was seen": (before_it_was_seen(STORY), 1),
    "lost, and all told again": ([*STORY[::3], *STORY], 1),
    **{f"shuffled, seed {seed}": (shuffled(seed), 1 + seed % 3) for seed in range(2, 14)},
}


@pytest.mark.parametrize("name", DISORDERS)
@asynchronous
async def test_inv_06_disorder_changes_nothing(
    name: str, tmp_path: Path, clean: tuple[object, object, list[Fact]]
) -> None:
    deliveries, lines = DISORDERS[name]
    assert await told(f"sqlite:///{tmp_path}/log.db", deliveries, lines) == clean


@asynchronous
async def test_inv_06_after_the_end_a_late_delivery_is_recorded_and_starts_nothing(sqlite_url: str) -> None:
    ended = at(example("pull_request", "closed"), 40)
    ended["pull_request"] |= {"state": "closed", "merged": True}
    assert (await told(sqlite_url, [*STORY[:2], ("pull_request", ended), *STORY[2:]]))[2] == []
