"""Logs: one line a record, nothing that a terminal or a parser trips over, and no secret in any form we know."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.envelope import Event
from amends.common.events import AnyFact
from amends.common.logs import log_event, set_up
from amends.common.redaction import Redactor
from tests.support.examples import EXAMPLES

SECRET = 'pass"wörd\\42'
LONG_JWT = f"ghs_1234_eyJhbGciOiJSUzI1NiJ9.{'A1b2' * 120}.{'x-_Y' * 80}"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    set_up("info", [SECRET], stream)
    return stream


def event(fact: AnyFact) -> Event:
    return Event(
        pos=5, loop="1-pr-7", version=4, key=fact.key, time=0, source="fixer", actor="", cause=3, policy="", fact=fact
    )


def last(stream: io.StringIO) -> dict[str, object]:
    said: dict[str, object] = json.loads(stream.getvalue().splitlines()[-1])
    return said


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_is_one_line_with_loop_key_and_cause(stream: io.StringIO, fact: AnyFact) -> None:
    log_event(event(fact))
    assert last(stream).items() >= {"message": fact.type, "loop": "1-pr-7", "key": fact.key, "cause": 3}.items()
    assert len(stream.getvalue().splitlines()) == 1


def test_a_failure_is_a_warning_with_its_reason(stream: io.StringIO) -> None:
    log_event(event(next(fact for fact in EXAMPLES if fact.type == "fix.failed")))
    assert last(stream).items() >= {"level": "warning", "reason": "no_change"}.items()


def test_what_is_below_the_level_is_not_said(stream: io.StringIO) -> None:
    logging.getLogger("amends.x").debug("detail")
    logging.getLogger("somebody.else").info("chatter")
    assert stream.getvalue() == ""


@given(st.text(), st.text(), st.text())
def test_inv_36_whatever_is_logged_is_one_json_line_without_control_bytes(message: str, value: str, error: str) -> None:
    stream = io.StringIO()
    handler = _handler(stream)
    record = logging.makeLogRecord({"msg": message, "given": value, "exc_info": _raised(error)})
    handler.handle(record)
    line = stream.getvalue()
    assert line.endswith("\n")
    assert all(" " <= letter <= "~" for letter in line[:-1])
    assert json.loads(line)["message"] == message[:4_000] or "redacted" in line or "\x7f" in message


def _handler(stream: io.StringIO) -> logging.Handler:
    set_up("info", [], stream)
    return logging.getLogger().handlers[0]


def _raised(text: str) -> Any:
    nothing: dict[str, str] = {}
    try:
        nothing[text]
    except KeyError:
        return sys.exc_info()
    return None


def test_a_wrong_format_string_does_not_cost_the_record(stream: io.StringIO) -> None:
    record = logging.LogRecord("amends.x", logging.WARNING, "x.py", 1, "%d pushed", ("none",), None)
    logging.getLogger().handlers[0].handle(record)
    assert last(stream)["message"] == "%d pushed ('none',)"


def test_an_exception_is_part_of_its_line(stream: io.StringIO) -> None:
    logging.getLogger("amends.x").error("failed", exc_info=_raised(SECRET))
    assert "KeyError: '[redacted]'" in str(last(stream)["trace"])


@pytest.mark.parametrize(
    "text",
    [
        SECRET, b64encode(SECRET.encode()).decode(), SECRET.encode().hex(), "pass%22w%C3%B6rd%5C42", LONG_JWT,
        "ghp_" + "a1" * 18, "github_pat_" + "A1_" * 20, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "sk-ant-api03-" + "x" * 40, "xoxb-123456789012-abcdefABCDEF", "AKIAIOSFODNN7EXAMPLE", "postgresql://eva:pw@db/a",
        "https://x-access-token:tok@forge.test/o/r.git", "Authorization: Bearer abcdefghijklmnop0123",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        "https://hooks.slack.com/services/T000/B000/XXXX",
    ],
)  # fmt: skip
def test_a_secret_is_taken_out_wherever_it_stands(stream: io.StringIO, text: str) -> None:
    logging.getLogger("amends.x").warning("saw %s", text, extra={"given": {"nested": [text]}})
    assert "[redacted]" in stream.getvalue()
    hidden = text.rpartition("Bearer ")[2].rpartition("services")[2]
    assert json.dumps(hidden)[1:-1] not in stream.getvalue()
    assert [part for part in ("tok@", ":pw@", "MIIEow", "A1b2A1b2") if part in stream.getvalue()] == []


def test_ordinary_words_are_left_alone() -> None:
    text = f"github token of octo/shop, cycle/1/1/pushed {'a' * 40}, see https://forge.test/o/r/pull/7#discussion_r1"
    assert Redactor(["abc"])(text) == text


def test_at_a_terminal_it_is_short_and_can_do_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setenv("NO_COLOR", "1")
    set_up("info", [SECRET], stream)
    logging.getLogger("amends.x").warning("saw %s", f"\x1b[2J{SECRET}", extra={"loop": "1-pr-7", "cause": None})
    assert stream.getvalue()[9:] == "warning saw ?[2J[redacted]  loop=1-pr-7\n"


def test_at_a_terminal_levels_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    set_up("info", [], stream)
    logging.getLogger("amends.x").error("no")
    assert (stream.getvalue()[:5], stream.getvalue()[-5:]) == ("\x1b[31m", "\x1b[0m\n")


@pytest.mark.parametrize("cause", ["raise LookupError('tok:s3cr3t')", "Thread(target=[].pop).start()"])
def test_an_unhandled_exception_is_a_line_too(cause: str) -> None:
    code = f"from threading import Thread; from amends.common.logs import set_up; set_up('info', ['s3cr3t']); {cause}"
    stderr = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    said = json.loads(stderr)
    assert (said["level"], said["message"]) == ("critical", "unhandled")
    assert "s3cr3t" not in stderr
