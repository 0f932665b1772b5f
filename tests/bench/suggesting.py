"""Ten suggestions in five files, through the fixer and the publisher as they are, and a real log."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from amends.common.events import FixPrepared, FixPushed
from amends.common.github.auth import PUBLISHING
from amends.common.github.client import Client
from amends.doubles.github.control.pulls import Inline
from amends.evaluator.migrate import migrate
from tests.support.book import Book
from tests.support.fixing import fixing, suggests
from tests.support.github import LINES, Scene, github, set_scene
from tests.support.publishing import crew_of

FILES = [f"pkg/module{number}.py" for number in range(5)]


def once(folder: Path) -> float:
    """Seconds from `comments.fetched` to `fix.pushed`."""
    folder.mkdir()
    url = f"sqlite:///{folder}/log.db"
    migrate(url)
    book = Book(url)
    try:
        with github() as double:
            return asyncio.run(_story(book, set_scene(double), folder))
    finally:
        book.close()


async def _story(book: Book, scene: Scene, folder: Path) -> float:
    scene.pull.push(dict.fromkeys(FILES, LINES), by="alice")
    said: list[Inline] = [
        {"path": path, "line": line, "body": suggests(f"better {line}")} for path in FILES for line in (3, 12)
    ]
    scene.pull.review("bob", "changes_requested", "", said)
    async with fixing(book, scene, folder, None) as bench, Client(scene.app_settings, PUBLISHING) as client:
        crew = crew_of(bench.desk, client, folder / "publisher")
        collected = await bench.collected()
        began = time.perf_counter()
        prepared = (await bench.fix(collected))[-1]
        await crew.publish()
        seconds = time.perf_counter() - began
    if not isinstance(prepared, FixPrepared) or prepared.usage.turns:
        raise AssertionError(prepared)
    if crew.last(FixPushed).sha != scene.pull.head or len(crew.last(FixPushed).items) != 2 * len(FILES):
        raise AssertionError(crew.last(FixPushed))
    content = scene.repo.read(FILES[4], "feature") or b""
    if b"better 3\n" not in content or b"better 12\n" not in content:
        raise AssertionError(content)
    return seconds
