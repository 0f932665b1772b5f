"""How git gets a token: as a header for one repository, from a file that is ours alone and lives as long as the call.

It is said at once: a git that waits to be asked has two requests refused and starts two processes, each time. Git would
say it wherever an answer leads, too, so it follows nobody. The token stands in no argument, no address, no environment
and no settings of a repository.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

USER = "x-access-token"
_PREFIX, _FORMER = "token-", "askpass-"
_HEADER = """[http "{url}"]
\textraHeader = Authorization: Basic {said}
"""


class Remote(NamedTuple):
    """A repository elsewhere, and the token that opens it."""

    url: str
    token: str = ""

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"

    @property
    def scheme(self) -> str:
        """How it is spoken with: https, or http where everything is on one machine."""
        return urlsplit(self.url).scheme


class BadAddress(Exception):
    """An address that git is not asked to speak with."""


@contextmanager
def told(folder: Path, remote: Remote) -> Iterator[Sequence[str]]:
    """The settings of a git that may know the token; `folder` must be nobody else's."""
    parts = urlsplit(remote.url)
    if (
        parts.scheme not in {"https", "http"}
        or not parts.hostname
        or "@" in parts.netloc
        or not remote.url.isprintable()
        or not set('"\\').isdisjoint(remote.url)
    ):
        raise BadAddress(f"{remote.url[:100]!r} is no address of a repository")
    if not remote.token:
        yield []
        return
    private = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))  # 0700
    try:
        header = private / "header"
        said = b64encode(f"{USER}:{remote.token}".encode()).decode()
        _write(header, _HEADER.format(url=remote.url, said=said))
        yield [f"include.path={header}"]
    finally:
        shutil.rmtree(private, ignore_errors=True)


def forget(folder: Path) -> None:
    """Remove what a process left here that was killed while it was told a token."""
    for left in (*folder.glob(f"{_PREFIX}*"), *folder.glob(f"{_FORMER}*")):
        shutil.rmtree(left, ignore_errors=True)


def _write(file: Path, content: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as made:
        made.write(content)
