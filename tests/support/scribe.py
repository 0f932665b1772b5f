"""A log written by the real recorder, report by report, and what a tamperer does to it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from amends.common.answers import Answer, Report
from amends.common.events import AnyFact, PolicyChanged, PolicyObserved, TimerFired
from amends.common.identity import About
from amends.common.log import Log
from amends.evaluator.recorder import Recorder
from amends.evaluator.writer import Writer
from tests.support.book import Book, broken, reported
from tests.support.facts import CHANGE as CHANGED
from tests.support.facts import (
    FULL_NAME,
    MARIA,
    NEXT,
    approved,
    believed,
    fetched,
    item,
    observed,
    policy_changed,
    prepared,
    pushed,
    refused,
    rejected,
    started,
    verdict,
)

REPO, NUMBER = 1, 7
PULL = About(repo=REPO, number=NUMBER)
CHANGE = f"{REPO}-pr-{NUMBER}"


class Scribe:
    """The recorder of one log; timers fire when it is told to look at the clock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.log = Log(url)
        self._recorder = Recorder(Writer(url))
        self._recorder.start()
        self._recorder.open()

    def tell(self, *facts: AnyFact, about: About = PULL) -> list[Answer]:
        """Report facts, each by the first who may, one after the other."""
        return [self._tell(fact, about) for fact in facts]

    def look_at_the_clock(self) -> None:
        """Fire what is due."""
        for timer in self.log.timers(time.time_ns() // 1_000):
            self._tell(TimerFired(name=timer.name, generation=timer.generation), About(loop=timer.loop))

    def put(self, content: bytes) -> str:
        """Keep a blob."""
        with closing(Writer(self.url)) as writer:
            return writer.put_blob(content)

    def close(self) -> None:
        self._recorder.close()
        self.log.close()

    def _tell(self, fact: AnyFact, about: About) -> Answer:
        if isinstance(fact, PolicyChanged):
            about = About()
        if isinstance(fact, PolicyObserved):
            about = About(repo=REPO)
        return self.submit(fact.by[0], Report(fact=fact, about=about))

    def submit(self, service: str, report: Report) -> Answer:
        """Report anything."""
        return self._recorder.submit(service, report).result(timeout=10)


@contextmanager
def scribe(url: str) -> Iterator[Scribe]:
    """A scribe for the length of a block."""
    opened = Scribe(url)
    try:
        yield opened
    finally:
        opened.close()


def tell_of_a_cycle(one: Scribe) -> None:
    """Maria asks for changes; they are collected, fixed and pushed."""
    one.tell(policy_changed("listed", repositories=(FULL_NAME,), settle_seconds=0))
    one.tell(observed(), *believed(rejected()))
    one.look_at_the_clock()
    change = CHANGED.model_copy(update={"blob": one.put(b"a mended shop")})
    fix = prepared(changes=(change,))
    one.tell(fetched(item()), started(), fix, pushed(), observed(40, head=NEXT))


@pytest.fixture
def told(sqlite_url: str) -> Iterator[Scribe]:
    """The log of one cycle, and its recorder."""
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
        yield one


def tell_of_a_second_rejection(one: Scribe) -> None:
    """She asks for more."""
    one.tell(*believed(rejected(3, MARIA, "and this", NEXT)))
    one.look_at_the_clock()


def tell_of_a_refused_push(one: Scribe, patch: str) -> None:
    """She asks for more, and what is done about it cannot be pushed: it is kept as a patch."""
    tell_of_a_second_rejection(one)
    change = CHANGED.model_copy(update={"blob": one.put(b"a shop mended twice")})
    fix = prepared(verdict("review/3"), n=2, base=NEXT, changes=(change,))
    push = refused("fork", 2).model_copy(update={"patch": patch})
    one.tell(fetched(item("review/3"), n=2), started(n=2), fix, push)


def tell_of_a_mistake(one: Scribe) -> None:
    """A program with a mistake in its decider meets a third rejection: the loop is stuck there."""
    with closing(Book(one.url)) as book:
        book.record(reported(rejected(4, MARIA, "and that", NEXT), NUMBER), decider=broken)


def tell_of_approval(one: Scribe) -> None:
    """She is satisfied."""
    one.tell(*believed(approved(9, head=NEXT)))


def tamper(url: str, *statements: str) -> None:
    """Change the database as somebody would who may do everything; its triggers are gone afterwards."""
    with closing(sqlite3.connect(Path(url.removeprefix("sqlite:///")))) as connection, connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
