"""Logs on stderr: one JSON object a line, or a short human form at a terminal; without control bytes and secrets."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

from amends.common.envelope import Event
from amends.common.redaction import Redactor

LONGEST = 4_000  # characters of one value: a diff or a blob has no place in a log
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS = {"DEBUG": "2", "INFO": "0", "WARNING": "33", "ERROR": "31", "CRITICAL": "31;1"}
_FACTS = logging.getLogger("amends.facts")
_LEVELS = {
    "comments.failed": logging.WARNING,
    "fix.failed": logging.WARNING,
    "push.refused": logging.WARNING,
    "notify.failed": logging.WARNING,
    "delivery.parked": logging.WARNING,
    "escalated": logging.WARNING,
    "loop.stuck": logging.ERROR,
}


def log_event(event: Event) -> None:
    """One line for a recorded fact; failures stand out, and say why."""
    level = _LEVELS.get(event.fact.type, logging.INFO)
    if not _FACTS.isEnabledFor(level):
        return
    said: dict[str, object] = {
        "pos": event.pos, "loop": event.loop, "key": event.key, "cause": event.cause, "source": event.source,
    }  # fmt: skip
    if level != logging.INFO:
        said |= {name: value for name in ("reason", "error", "detail") if (value := getattr(event.fact, name, ""))}
    _FACTS.log(level, event.fact.type, extra=said)


def set_up(level: str, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Send all logs of this process to stderr; call it once, first of all."""
    stream = stream or sys.stderr
    redactor = Redactor(secrets)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Human(redactor, _coloured(stream)) if stream.isatty() else _Json(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # libraries speak up when something is wrong
    logging.getLogger("amends").setLevel(level.upper())
    logging.captureWarnings(capture=True)
    sys.excepthook = _unhandled
    threading.excepthook = _unhandled_in_thread


def say(line: str) -> None:
    """A line for whoever started it, who may have gone: a terminal that closed, a full disk, ends no service."""
    with suppress(OSError):
        sys.stderr.write(f"amends: {line}\n")
        sys.stderr.flush()


def _coloured(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _unhandled(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        logging.getLogger("amends").critical("unhandled", exc_info=(kind, error, trace))


def _unhandled_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        _unhandled(args.exc_type, args.exc_value, args.exc_traceback)


# --- forms ---------------------------------------------------------------------------------------------------------


class _Json(logging.Formatter):
    """One line of ASCII: whatever was said, no byte of it can be a control byte."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_extra(record),
        }
        if record.exc_info and record.exc_info[0]:
            said["trace"] = self.formatException(record.exc_info)[-LONGEST:]
        return self._redactor(json.dumps(said, default=str)).replace("\x7f", "?")


class _Human(logging.Formatter):
    """For eyes: time, level, message, then what belongs to it."""

    def __init__(self, redactor: Redactor, coloured: bool) -> None:  # noqa: FBT001 - there is one caller
        super().__init__()
        self._redactor = redactor
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{name}={value}" for name, value in _extra(record).items() if value not in {None, ""})
        time = datetime.fromtimestamp(record.created, UTC)
        lines = [f"{time:%H:%M:%S} {record.levelname.lower():<8}{_message(record)}  {extra}".rstrip()]
        if record.exc_info and record.exc_info[0]:
            lines += self.formatException(record.exc_info)[-LONGEST:].splitlines()
        shown = [_printable(self._redactor(line)) for line in lines]
        if self._coloured:
            shown[0] = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{shown[0]}\x1b[0m"
        return "\n    ".join(shown)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()[:LONGEST]
    except (TypeError, ValueError):  # a wrong format string must not cost us the record
        return f"{record.msg} {record.args}"[:LONGEST]


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: _short(value) for name, value in vars(record).items() if name not in _OWN}


def _short(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:LONGEST]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
