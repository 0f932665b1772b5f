"""What a killed attempt leaves behind: the sums of its turns, what was said in them, and what the cut one may cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import Failure, FixFailed, Usage
from amends.common.metrics import REGISTRY
from amends.doubles.model import ModelDouble, Says
from amends.fixer import measures
from amends.fixer.dialogue import Tokens
from amends.fixer.record import Line, Record, Records
from tests.support.asynchronous import asynchronous, until
from tests.support.book import Book
from tests.support.command import called, lines
from tests.support.fixing import Bench, edits, fixing, told, triages
from tests.support.github import Scene

SLOW = Says(("thinking",), seconds=30)


@asynccontextmanager
async def cut_off(book: Book, scene: Scene, folder: Path, double: ModelDouble) -> AsyncIterator[tuple[Bench, Event]]:
    """A fixer that died in its third turn."""
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Better."}])
    double.says(triages(item_1="actionable"), edits("app.py", "line ten", "line X"), SLOW)
    async with fixing(book, scene, folder, double) as bench:
        event = await bench.collected()
        task = asyncio.create_task(bench.slot.fix(event))
        await until(lambda: len(double.asked) == 3)
        task.cancel()
        await asyncio.wait({task})
        yield bench, event


def crashed(said: object) -> FixFailed:
    assert isinstance(said, FixFailed)
    assert said.reason is Failure.CRASHED
    return said


@asynchronous
async def test_rel_04_what_a_killed_attempt_spent_is_not_lost(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with cut_off(sqlite_book, scene, tmp_path, double) as (bench, event):
        fact = crashed((await bench.again().fix(event))[-1])
    ended = [link["tokens"] for link in told(sqlite_book, fact.transcript)]
    assert len(ended) == 2
    assert fact.usage.turns == 3
    assert fact.usage.tokens == sum(sum(one.values()) for one in ended)


@asynchronous
async def test_rel_04_the_turn_that_was_cut_counts_with_what_it_may_cost(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with cut_off(sqlite_book, scene, tmp_path, double) as (bench, event):
        left = bench.slot.means.records.left(event.loop, "1/1", bench.slot.run)
        fact = crashed((await bench.again().fix(event))[-1])
    assert left is not None
    assert left.at_most > 16_000 * 10
    assert fact.usage.usd_micro == left.usage.usd_micro + left.at_most


@asynchronous
async def test_rel_04_where_the_disk_is_gone_too_all_that_was_reserved_counts(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with cut_off(sqlite_book, scene, tmp_path, double) as (bench, event):
        next((tmp_path / "fixer/attempts").iterdir()).unlink()
        fact = crashed((await bench.again().fix(event))[-1])
    assert (fact.usage.usd_micro, fact.transcript) == (2_000_000, None)


@asynchronous
async def test_what_another_attempt_left_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    records = Records(tmp_path, kept)
    await records.begun("1-pr-7", "1/1", "run-1")
    assert records.left("1-pr-7", "1/1", "run-1") == Line(step="1/1", run="run-1")
    assert records.left("1-pr-7", "1/2", "run-1") is None
    assert records.left("1-pr-7", "1/1", "run-2") is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"step": 1}', b"\xff"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1-pr-7.json").write_bytes(content)
    assert Records(tmp_path, kept).left("1-pr-7", "1/1", "run-1") is None


async def kept(content: bytes) -> str:
    return f"sha-{len(content)}"


async def away(_: bytes) -> str:
    raise Later(5, "nobody keeps it")


@asynchronous
async def test_a_turn_goes_on_while_nobody_keeps_words_and_they_are_kept_later(tmp_path: Path) -> None:
    record = Record(tmp_path / "x.json", away, Line(step="1/1", run="r"))
    await record.closed(Usage(turns=1), [{"role": "user"}], Tokens(fresh=3))
    record.put = kept
    assert record.line.transcript is None
    assert await record.said(rest=[{"role": "assistant"}]) == f"sha-{len(LINK)}"
    assert await record.said() == f"sha-{len(LINK)}"


LINK = b'{"before": null, "said": [{"role": "user"}, {"role": "assistant"}], "tokens": null}'


@asynchronous
async def test_what_was_said_can_be_read_turn_by_turn(
    sqlite_url: str, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    with closing(Book(sqlite_url)) as book:
        async with cut_off(book, scene, tmp_path, double) as (bench, event):
            await bench.again().fix(event)
        pos = next(one.pos for one in book.events() if isinstance(one.fact, FixFailed))
    said = called("events", "transcript", str(pos), "--database", sqlite_url, "-o", "text").output
    assert said.index("You amend a pull request") < said.index('"name": "triage"') < said.index('"name": "edit"')
    assert "20 said]" in said
    told = lines(called("events", "transcript", str(pos), "--database", sqlite_url).stdout)
    assert [one["role"] for one in told if "role" in one] == ["user", "assistant", "user", "assistant"]
    none = called("events", "transcript", "1", "--database", sqlite_url)
    assert (none.exit_code, "has no transcript" in none.output) == (1, True)


def test_only_what_is_there_is_counted_as_a_metric() -> None:
    def counted() -> tuple[float, float]:
        said = REGISTRY.get_sample_value("amends_llm_tokens_total", {"model": "other", "kind": "said"})
        cost = REGISTRY.get_sample_value("amends_llm_cost_usd_total", {"model": "claude-sonnet-5-5"})
        return said or 0, cost or 0

    said, cost = counted()
    measures.turned("made-up-by-somebody", Tokens(said=5))
    measures.turned("claude-sonnet-5-5-20261001", Tokens(fresh=1_000_000))
    assert counted()[0] == said + 5
    assert counted()[1] == pytest.approx(cost + 2)


@asynchronous
async def test_attempts_are_counted_by_how_they_end(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    def counted(result: str) -> float:
        return REGISTRY.get_sample_value("amends_fix_attempts_total", {"result": result}) or 0

    before = counted("crashed")
    async with cut_off(sqlite_book, scene, tmp_path, double) as (bench, event):
        await bench.again().fix(event)
    assert counted("crashed") == before + 1
    assert REGISTRY.get_sample_value("amends_sandbox_available") == 1
