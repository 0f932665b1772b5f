"""Fixtures that tests ask for by name, which live in tests/support, and what goes for every test."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

# In the order in which they import each other.
pytest_plugins = [
    "tests.support.nats",
    "tests.support.postgres",
    "tests.support.logs",
    "tests.support.book",
    "tests.support.scribe",
    "tests.support.fetching",
    "tests.support.model",
]


# Begun in the background of a shell (`.ci/run &`) the tests would ignore Ctrl-C, and so would all that they start and
# mean to end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What the tests themselves are told; all other variables of this beginning are somebody's settings.
TOLD = {f"AMENDS_{name}" for name in ("FAULTS", "LANES", "POINT", "SCHEDULES", "SEED", "SNAPSHOTS")}


# Side by side, whatever begins last is waited for: these take longest.
FIRST = ("faults", "connected", "cli", "stories", "publisher", "notifier", "fixer", "test_readme.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest folders come first, otherwise as they were."""
    ranks = {Path(__file__).with_name(name): rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: min(ranks.get(path, len(FIRST)) for path in (item.path, *item.path.parents)))


@pytest.fixture(scope="session", autouse=True)
def _settings_are_nobody_s() -> Iterator[None]:
    """Whoever runs the tests may have an installation of his own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [one for one in os.environ if one.startswith("AMENDS_") and one not in TOLD]:
            patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def _logging_stays_as_it_was() -> Iterator[None]:
    """What runs here as the main program of a process sends its logs elsewhere, and the next test's, too."""
    root, ours = logging.getLogger(), logging.getLogger("amends")
    kept, hooks = (root.handlers[:], root.level, ours.level), (sys.excepthook, threading.excepthook)
    yield
    root.handlers[:] = kept[0]
    root.setLevel(kept[1])  # which forgets who was enabled
    ours.setLevel(kept[2])
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(capture=False)
