"""What one process of a machine has for itself: a lock on a file, which the system takes back from who has died."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path


class InUse(Exception):
    """Another amends works with it."""


@contextmanager
def owned(directory: Path, remedy: str = "stop it, or give another --data-dir") -> Iterator[None]:
    """The directory, made if it is not there, and ours alone."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(directory / "lock", f"{directory} is in use by another amends: {remedy}"):
        yield


@contextmanager
def alone_as(holder: str, nats_url: str) -> Iterator[None]:
    """No other fixer of this user works on that NATS under that name, here; who does elsewhere is not seen."""
    names = "".join(sorted(address.rpartition("@")[2].rpartition("/")[2] for address in nats_url.split(",")))
    why = f"another fixer on this machine has holder {holder!r}: give each its own, as in AMENDS_HOLDER={holder}-2"
    with _locked(_elsewhere(f"{names} {holder}"), why):
        yield


@contextmanager
def alone_on(file: Path) -> Iterator[None]:
    """No other process of this user, here, makes that file; nothing is left beside it."""
    with _locked(_elsewhere(str(file.absolute())), f"{file} is being written by another amends: let it finish"):
        yield


def _elsewhere(what: str) -> Path:
    name = sha256(what.encode(errors="surrogateescape")).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"amends-{os.getuid()}-{name}.lock"


@contextmanager
def _locked(file: Path, why: str) -> Iterator[None]:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(why) from error
        yield
    finally:
        os.close(lock)
