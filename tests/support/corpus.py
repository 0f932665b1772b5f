"""The corpus: stored events of every type and schema version there ever was, and what each of them made of its loop.

    python -m tests.support.corpus add       append an example of every type and version that has none
    python -m tests.support.corpus again     fold the rows anew and record what they make of their loops

Rows are never changed or removed: logs in the field hold them, too. What they make of a loop may be recorded again
when a reader of the difference finds it right. Each line is a row and what has changed with it in the loop's essence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amends.common.envelope import FACTS, GENESIS, Event, Row, event_of, row_of
from amends.common.events import AnyFact, PolicyChanged, PolicyObserved
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.loop import Loop, evolve
from amends.common.policy import Policy
from amends.common.standing import counting, opinions, policy_for, questions, status
from tests.support.examples import EXAMPLES, NOON
from tests.support.stories import whole_life

FOLDER = Path(__file__).parents[1] / "data" / "corpus"
SINGLES = "examples"  # one row for each type and version, in the order in which they came to be
STORY = "story"  # a pull request's life, decided by the real decider
PULL, REPOSITORY = "1-pr-7", policy_loop("1-pr-7")
ADD = "python -m tests.support.corpus add"
Essence = dict[str, str]


class Line(NamedTuple):
    """A stored row, and what was different in its loop after it."""

    row: Row
    then: Essence


def read(name: str) -> list[Line]:
    """The lines of one part of the corpus."""
    file = FOLDER / f"{name}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Line(_row(said["row"]), said["then"]) for said in map(json.loads, lines)]


def _row(said: dict[str, object]) -> Row:
    data, hash_ = str(said["data"]).encode(), bytes.fromhex(str(said["hash"]))
    return Row(**{**said, "data": data, "hash": hash_})  # type: ignore[arg-type]  # the columns are as they were written


def written() -> set[tuple[str, int]]:
    """Every type and version in the corpus."""
    return {(line.row.type, line.row.schema) for name in (SINGLES, STORY) for line in read(name)}


# --- folding -------------------------------------------------------------------------------------------------------


def folded(rows: list[Row]) -> Iterator[tuple[Row, Loop, Essence]]:
    """Each row with its loop after it, and what has changed in the loop's essence."""
    loops: dict[str, Loop] = {}
    known: dict[str, Essence] = {}
    for row in rows:
        loop = evolve(loops.get(row.loop, Loop(row.loop)), event_of(row))
        loops[row.loop] = loop
        policy = policy_for(loop, _of(loops, INSTALLATION), _of(loops, policy_loop(row.loop)))
        before, now = known.get(row.loop, {}), essence(loop, policy)
        known[row.loop] = now
        changed = {name: said for name, said in now.items() if before.get(name, "") != said}
        yield row, loop, changed | {name: "" for name in before if name not in now}


def _of(loops: dict[str, Loop], name: str) -> Loop:
    return loops.get(name, Loop(name))


def essence(loop: Loop, policy: Policy) -> Essence:
    """What matters of a loop, in words that outlive the fields it is kept in; what is empty is left out."""
    said: dict[str, object] = {
        "status": status(loop, policy).value,
        "head": loop.pull.head if loop.pull else "",
        "cycle": f"{loop.n}/{loop.k}" if loop.cycle else "",
        "failed": loop.cycle.failed.reason.value if loop.cycle and loop.cycle.failed else "",
        "used": loop.used,
        "granted": loop.granted,
        "paused": loop.paused,
        "finished": loop.finished,
        "human": loop.human,
        "pushed": loop.pushed,
        "spent": loop.spent.usd_micro,
        "fixing off": loop.fixing_off,
        "rules": loop.rules.model_dump_json(exclude_none=True).strip("{}"),
        "commands": sorted(loop.commands),
        "asked": sorted(ask.fact.type for ask in loop.asks.values()),
        "counts": sorted(counting(loop, policy)),
        "questions": sorted(questions(loop, policy)),
        **{f"opinion of {review.author.account}": review.verb for review in opinions(loop, policy)},
        **{f"item {id_}": dict(item.verdicts) for id_, item in loop.items.items()},
        **{f"cycle {past.n}": f"{past.outcome} {past.reason}".strip() for past in loop.history},
    }
    return {name: _plain(value) for name, value in said.items() if value}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


# --- writing -------------------------------------------------------------------------------------------------------


def add() -> int:
    """Append what is missing; answers how much that was."""
    if not read(STORY):
        _write(STORY, whole_life().rows)
    rows = [line.row for line in read(SINGLES)]
    missing = [fact for fact in EXAMPLES if (fact.type, fact.schema_version) not in {(r.type, r.schema) for r in rows}]
    for fact in missing:
        rows.append(row_of(_event(fact, rows), rows[-1].hash if rows else GENESIS))
    _write(SINGLES, rows)
    return len(missing)


def again() -> None:
    """Record anew what the rows make of their loops."""
    for name in (SINGLES, STORY):
        _write(name, [line.row for line in read(name)])


def _event(fact: AnyFact, rows: list[Row]) -> Event:
    loop = INSTALLATION if isinstance(fact, PolicyChanged) else REPOSITORY if isinstance(fact, PolicyObserved) else PULL
    version = sum(row.loop == loop for row in rows) + 1
    decided = not fact.by
    return Event(
        pos=len(rows) + 1, loop=loop, version=version, key=f"{fact.key}/{version}" if fact.slot else fact.key,
        time=int(NOON.timestamp()) * 1_000_000 + len(rows), source="evaluator" if decided else fact.by[0], actor="",
        cause=len(rows) or None if decided else None, policy="1.0" if decided else "", fact=fact,
    )  # fmt: skip


def _write(name: str, rows: list[Row]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"row": _said(row), "then": then}, ensure_ascii=False) for row, _, then in folded(rows)]
    (FOLDER / f"{name}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")


def _said(row: Row) -> dict[str, object]:
    return {**row._asdict(), "data": row.data.decode(), "hash": row.hash.hex()}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["add"]:
            sys.stdout.write(f"{add()} of {len(FACTS)} types added\n")
        case ["again"]:
            again()
        case _:
            sys.exit(__doc__)
