"""`amends parked`: what is shown of bytes that could not be recorded."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from amends.evaluator.writer import Writer
from tests.support.command import called, lines
from tests.support.scribe import Scribe, scribe

BYTES = b'{"nonsense": "\x1b[2J\xff\x00"}'


@pytest.fixture
def parked(sqlite_url: str) -> Iterator[Scribe]:
    """A log with a report that was refused twice."""
    with scribe(sqlite_url) as one, closing(Writer(sqlite_url)) as writer:
        for _ in range(2):
            writer.park("gateway", "malformed", BYTES, "fact: \x1b[31mfield required", "report.gateway")
        yield one


def test_the_list_says_what_was_refused_and_how_often_it_came(parked: Scribe) -> None:
    [found] = lines(called("parked", "list", "--database", parked.url).stdout)
    assert (found["id"], found["reason"], found["times"], found["size"]) == (1, "malformed", 2, len(BYTES))
    text = called("parked", "list", "-o", "text", "--database", parked.url).stdout
    assert r"fact: \x1b[31mfield required" in text


def test_nothing_parked_is_said_on_stderr(sqlite_url: str) -> None:
    result = called("parked", "list", "-o", "text", "--database", sqlite_url)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Nothing is parked.\n")


def test_the_bytes_are_shown_without_what_a_terminal_would_obey(parked: Scribe) -> None:
    text = called("parked", "show", "1", "-o", "text", "--database", parked.url).stdout
    assert r'{"nonsense": "\x1b[2J\xff\x00"}' in text
    assert "2 times" in text


def test_raw_bytes_are_written_as_they_came(parked: Scribe) -> None:
    assert called("parked", "show", "1", "--raw", "--database", parked.url).stdout_bytes == BYTES


def test_what_is_not_parked_is_a_negative_result(parked: Scribe) -> None:
    assert called("parked", "show", "7", "--database", parked.url).exit_code == 1
