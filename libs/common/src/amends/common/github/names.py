"""Names that may become part of a command, a path or an address: what they must look like before anybody uses them."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_ADDRESS = re.compile(r"https?://[!-~]{1,390}")
_LONGEST_BRANCH = 255
# git check-ref-format: what a part or the whole of a name may not hold. A leading dash would be an option.
_NO_REF = re.compile(r"^-|^@$|[ ~^:?*\[\\]|\.\.|@\{|(^|/)\.|\.lock(/|$)|//|^/|/$|\.$|^$")


def is_repository(name: str) -> bool:
    """Whether it is `owner/repo`, and neither of them a way up."""
    return _REPOSITORY.fullmatch(name) is not None


def is_login(name: str) -> bool:
    """Whether an account may be called that."""
    return _LOGIN.fullmatch(name) is not None


def is_sha(name: str) -> bool:
    """Whether it is the whole id of a commit."""
    return _SHA.fullmatch(name) is not None


def is_address(url: str) -> bool:
    """Whether it is an address that may be shown as a link."""
    return _ADDRESS.fullmatch(url) is not None


def is_branch(name: str) -> bool:
    """Whether git takes it as a branch, and no part of it is a control or format character."""
    if len(name) > _LONGEST_BRANCH or _NO_REF.search(name):
        return False
    return (name.isascii() and name.isprintable()) or not any(unicodedata.category(letter)[0] == "C" for letter in name)


def in_path(branch: str) -> str:
    """A branch's name as part of an address, which `#` would end and `%` would change."""
    return quote(branch)
