"""How git gets a token: by asking a script that answers one address only, from a file that is ours alone.

So the token stands in no argument, no address, no config and no environment, and goes to nobody else when an address
leads elsewhere.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

USER = "x-access-token"
_PREFIX = "askpass-"
_SCRIPT = """#!/bin/sh
case "$1" in
  "Password for '$AMENDS_ASKED_AS': ") exec cat "$AMENDS_ASKED_FILE" ;;
  *) echo "refusing to tell a password to anybody else" >&2; exit 1 ;;
esac
"""


class Remote(NamedTuple):
    """A repository elsewhere, and the token that opens it."""

    url: str
    token: str = ""

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"

    @property
    def address(self) -> str:
        """As git is given it: who asks is in it, so that only the password is asked for."""
        return self.url.replace("://", f"://{USER}@", 1) if self.token else self.url

    @property
    def scheme(self) -> str:
        """How it is spoken with: https, or http where everything is on one machine."""
        return urlsplit(self.url).scheme


class BadAddress(Exception):
    """An address that git is not asked to speak with."""


@contextmanager
def told(folder: Path, remote: Remote) -> Iterator[Mapping[str, str]]:
    """The environment of a git that may know the token; `folder` must be nobody else's."""
    parts = urlsplit(remote.url)
    if (
        parts.scheme not in {"https", "http"}
        or not parts.hostname
        or "@" in parts.netloc
        or not remote.url.isprintable()
    ):
        raise BadAddress(f"{remote.url[:100]!r} is no address of a repository")
    if not remote.token:
        yield {}
        return
    private = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))  # 0700
    try:
        script, secret = private / "askpass", private / "token"
        _write(secret, f"{remote.token}\n", 0o600)
        _write(script, _SCRIPT, 0o700)
        yield {
            "GIT_ASKPASS": str(script),
            "AMENDS_ASKED_AS": f"{parts.scheme}://{USER}@{parts.netloc}",
            "AMENDS_ASKED_FILE": str(secret),
        }
    finally:
        shutil.rmtree(private, ignore_errors=True)


def forget(folder: Path) -> None:
    """Remove what a process left here that was killed while it was told a token."""
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def _write(file: Path, content: str, mode: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as made:
        made.write(content)
