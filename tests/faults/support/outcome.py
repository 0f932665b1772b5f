"""What is left of a story when all has settled: comparable between runs, whoever died on the way.

Left out is what no two runs have in common (ids, times, hashes, ports), and what a second try may honestly add: how
often it was tried, what that cost, and how often a card was edited.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from amends.common.envelope import Event
from amends.common.log import Log
from amends.common.loop import Item, Loop
from tests.faults.support.checks import audited, doubles, gaps, projections_differ, stored
from tests.faults.support.house import House
from tests.faults.support.reflection import compared

_OURS = "amends[bot]"
# Facts of which there must be as many as without a crash; an attempt may have been made again.
_ONCE = ("push.requested", "fix.pushed", "cycle.finished", "review.requested", "escalated", "loop.finished")
_NEVER = ("delivery.parked", "loop.stuck", "notify.failed", "push.refused")
_WORDS = (
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "#"),
    (re.compile(r"\b[0-9a-f]{7}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{40}\b"), "#"),
    (re.compile(r"\d{7,}"), "#"),
    (re.compile(r"(Spent[^:]*:) [^.]*\.\d\d of .* tokens\."), r"\1 #"),
)
Outcome = Mapping[str, Any]


def outcome(house: House) -> Outcome:
    """All of it."""
    out, events = house.outside, house.events()
    [(name, repository)] = out.github.dump()["repositories"].items()
    return {
        "github": {name: _plain(_of_repository(repository))},
        "files": {path: str(out.scene.repo.read(path, "feature")) for path in ("app.py", "old.py")},
        "slack": sorted(_plain(out.slack.texts)),
        "mail": sorted({str(one["Message-ID"]): _plain(one.get_content()) for one in out.mail.letters}.values()),
        "loop": _of_loop(house.loop),
        "facts": dict(sorted(_counted(events).items())),
    }


def wrong(house: House) -> list[str]:
    """What must not be so, however the story went."""
    rows = stored(house.database)
    _, differing = compared(rows, house.database, house.outside.nats.url)
    twice = (one for one in doubles(rows) if not one.startswith("pr.observed"))  # a label is put on, off and on again
    said = [*gaps(rows), *twice, *audited(house.database), *projections_differ(house.database), *differing]
    with closing(Log(house.database)) as log:
        said += [f"parked: {one.reason} {one.detail}" for one in log.parked()]
    said += [f"{event.type} at {event.pos}: {event.fact}"[:300] for event in house.events() if event.type in _NEVER]
    return said


def differences(found: object, expected: object, path: str = "") -> Iterator[str]:
    """Where two outcomes differ."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for name in sorted({*found, *expected}, key=str):
            yield from differences(found.get(name), expected.get(name), f"{path}.{name}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif found != expected:
        yield f"{path[1:]}: {str(found)[:600]!r}, without a crash {str(expected)[:600]!r}"


def _of_repository(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**said, "issues": {number: _of_issue(one) for number, one in said["issues"].items()}}


def _of_issue(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The conversation by its words: who of two was faster, the card or the summary, is of no matter."""
    talk = sorted((_edited(one) for one in said["comments"]), key=lambda one: str(_plain(one["body"])))
    threads = [{**one, "comments": [_edited(each) for each in one["comments"]]} for one in said["threads"]]
    return {**said, "comments": talk, "threads": threads}


def _edited(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**said, "versions": 0} if said["author"] == _OURS else said


def _plain(said: Any) -> Any:
    match said:
        case dict():
            return {name: _plain(value) for name, value in said.items()}
        case list():
            return [_plain(one) for one in said]
        case str():
            for pattern, word in _WORDS:
                said = pattern.sub(word, said)
            return said
        case _:
            return said


def _of_loop(loop: Loop) -> Mapping[str, Any]:
    return {
        "phase": str(loop.phase), "n": loop.n, "used": loop.used, "granted": loop.granted, "finished": loop.finished,
        "human": loop.human, "hold": loop.hold, "paused": loop.paused, "asks": len(loop.asks),
        "parked": dict(loop.parked), "cycle": loop.cycle is None, "conflicts": list(loop.conflicts),
        "live": sum(one.live for one in loop.claims.values()),
        "items": sorted((_of_item(item) for item in loop.items.values()), key=str),
        "reviews": sorted([one.author.login, one.verb, str(one.permission)] for one in loop.reviews.values()),
        "history": [[one.n, one.outcome, [[str(name), count] for name, count in one.verdicts]] for one in loop.history],
    }  # fmt: skip


def _of_item(item: Item) -> Mapping[str, Any]:
    return {
        "kind": item.kind, "path": item.path, "line": item.line, "fixed": item.fixed, "resolved": item.resolved,
        "absent": item.absent, "waived": item.waived, "verdicts": [str(one) for one in item.verdicts.values()],
    }  # fmt: skip


def _counted(events: list[Event]) -> Counter[str]:
    return Counter(event.type for event in events if event.type in _ONCE)
