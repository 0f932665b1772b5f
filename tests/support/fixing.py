"""The fixer between the double of GitHub, a model that follows a script, and a real log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amends.common.envelope import Event
from amends.common.events import AnyFact, FixFailed, FixPrepared
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.common.worker import addressed
from amends.doubles.model import Asked, ModelDouble, Says, Uses, calls
from amends.fixer.app import means, thinker
from amends.fixer.fixing import Slot
from amends.fixer.walls import Walled
from tests.support.book import Book
from tests.support.fetching import RULES, BookRecorder, Desk, at_work
from tests.support.github import Scene
from tests.support.model import model_settings


def suggests(*lines: str) -> str:
    """A comment that is nothing but a suggestion."""
    return "\n".join(["```suggestion", *lines, "```"])


@dataclass
class Bench:
    """The fixer at work on one pull request, with the comment-fetcher before it."""

    desk: Desk
    slot: Slot
    folder: Path

    @property
    def book(self) -> Book:
        return self.desk.book

    async def collected(self) -> Event:
        """What people want, collected; nobody has begun with it."""
        fetched = await self.desk.cycle()
        return next(event for event in reversed(self.book.events()) if event.fact is fetched or event.fact == fetched)

    async def fix(self, event: Event) -> list[AnyFact]:
        """Work, and have it recorded."""
        said = await self.slot.fix(event)
        for one in said:
            await self.slot.means.recorder.report(addressed(event, one))
        return list(said)

    async def fixed(self) -> FixPrepared | FixFailed:
        """From what is open on GitHub to how the attempt ended."""
        said = await self.fix(await self.collected())
        ended = said[-1]
        assert isinstance(ended, FixPrepared | FixFailed)
        return ended

    def files(self, fact: FixPrepared | FixFailed) -> dict[str, bytes | None]:
        """What is changed, by path."""
        assert isinstance(fact, FixPrepared), fact
        log = self.book.log
        return {one.path: log.blob(one.blob) if one.blob else None for one in fact.changes}

    def again(self) -> Bench:
        """The same fixer after a restart."""
        return replace(self, slot=Slot(self.slot.means, self.slot.holder, f"{self.slot.run}-later"))


@asynccontextmanager
async def fixing(
    book: Book, scene: Scene, folder: Path, double: ModelDouble | None, rules: Overrides = RULES, **settings: Any
) -> AsyncIterator[Bench]:
    """A fixer of these settings, under these rules."""
    said = {"data_dir": folder, "github": scene.app_settings, "policy": Overrides(), **settings}
    known = Settings.model_validate(said | ({"model": model_settings(double)} if double else {}))
    async with AsyncExitStack() as stack:
        desk = await stack.enter_async_context(at_work(book, scene, rules))
        thinks = await stack.enter_async_context(thinker(known))
        around = means(known, desk.client, BookRecorder(book, "fixer"), Walled(known.sandbox), thinks)
        yield Bench(desk, Slot(around, "fixer/0", "run-1"), folder)


# --- what the model says ---------------------------------------------------------------------------------------------


def triages(**kinds: str) -> Says:
    """A triage: `item_1="actionable"`; with `actionable/low` a severity."""
    items = []
    for name, said in kinds.items():
        kind, _, severity = said.partition("/")
        one = {"item": name.replace("_", "-"), "kind": kind, "severity": severity or "medium"}
        items.append({**one, "category": "logic", "reason": "because"})
    return calls(Uses("triage", {"overall": "ready", "items": items}))


def edits(path: str, old: str, new: str) -> Says:
    return calls(Uses("edit", {"path": path, "old": old, "new": new}))


def reports(**verdicts: str | tuple[str, ...]) -> Says:
    """A report: hunks of what is fixed, words for what is not (`answered: because`)."""
    items: list[dict[str, object]] = []
    for name, said in verdicts.items():
        item = name.replace("_", "-")
        if isinstance(said, tuple):
            items.append({"item": item, "verdict": "fixed", "reason": "", "hunks": list(said)})
        else:
            verdict, _, reason = said.partition(": ")
            items.append({"item": item, "verdict": verdict, "reason": reason, "hunks": []})
    return calls(Uses("report", {"items": items, "concerns": ""}))


def last_result(asked: Asked) -> str:
    """What the last tool answered."""
    return str(asked.results()[-1]["content"])


def told(book: Book, transcript: str | None) -> list[Any]:
    """The links of a transcript, the first one first."""
    links: list[Any] = []
    while transcript is not None:
        links.insert(0, json.loads(book.log.blob(transcript) or b""))
        transcript = links[0]["before"]
    return links
