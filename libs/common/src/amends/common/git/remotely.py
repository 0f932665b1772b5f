"""What a remote said to git, in the words that everything that asks GitHub uses."""

from __future__ import annotations

import re

from amends.common.git.process import GitFailed
from amends.common.github.errors import Denied, Down, Missing

_AGAIN = 30.0
_DENIED = re.compile(
    r"Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|returned error: 40[13]"
    r"|Permission to .* denied|Write access to repository not granted|HTTP 40[13]|remote: Invalid username or"
)
_MISSING = re.compile(r"Repository not found|repository '.*' not found|returned error: 40[4]|HTTP 404")
_NO_REF = re.compile(r"couldn't find remote ref|not our ref|unadvertised object")
_LED = re.compile(r"returned error: 30[12378]")
_BROKEN = re.compile(
    r"not a git repository|bad object|corrupt|missing (?:blob|tree|commit)|unable to read (?:sha1|tree|tip)"
    r"|loose object .* is|packfile .* (?:cannot|is)|did not send all necessary objects|broken|bad tree|invalid index"
)


class NoRef(Missing):
    """The repository is there, the branch or commit is not."""


class Renamed(Missing):
    """The repository is not under this address any more; git does not follow, since it would take the token along."""


class Unsafe(GitFailed):
    """The repository holds objects that git does not take over, since they were made to do harm."""


class Broken(Exception):
    """Our own copy of the repository is damaged: it is set aside, and fetched anew."""


def meant(failed: GitFailed) -> Exception:
    """What it means that a fetch, a push or a look at a remote failed."""
    words = failed.words
    if _NO_REF.search(words):
        return NoRef(words[-300:])
    if _DENIED.search(words):
        return Denied(words[-300:])
    if _MISSING.search(words):
        return Missing(words[-300:])
    if _LED.search(words):
        return Renamed(f"{words[-300:]}: is `github.git_url` where the repositories are?")
    if "fsck error" in words:
        return Unsafe("fetch", failed.code, words.encode())
    if broken(failed):
        return Broken(words[-300:])
    return Down(_AGAIN, f"git could not reach GitHub: {words[-300:]}")


def broken(error: Exception) -> bool:
    """Whether this says that our own copy is damaged."""
    return isinstance(error, Broken) or (isinstance(error, GitFailed) and _BROKEN.search(error.words) is not None)
