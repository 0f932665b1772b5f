"""What a commit of ours says: the review that asked for it, its key where it is found again, and who is to be thanked.

Pure, and made of the request alone, so that the same request gives the same commit. Nothing that anybody wrote in a
comment is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from amends.common.events import Author, Judgement, PushRequested
from amends.common.github.names import is_login

KEY = "Amends-Key"
_ITEM = "Amends-Item"
_MOST = 50


class Home(NamedTuple):
    """The pull request's address, and the account pages' that credit is given with."""

    pull: str
    git: str

    @property
    def noreply(self) -> str:
        """The domain of addresses that stand for accounts."""
        return f"users.noreply.{urlsplit(self.git).hostname or 'github.com'}"


def key_of(loop: str, n: int) -> str:
    """What the commit of a cycle is found by, for ever."""
    return f"{loop}/cycle/{n}"


def fixed(request: PushRequested) -> tuple[str, ...]:
    """The items that the commit is for."""
    return tuple(one.item for one in request.verdicts if one.judgement is Judgement.FIXED)


def message(loop: str, request: PushRequested, home: Home) -> str:
    """The whole message."""
    items = fixed(request)
    what = f"{len(items)} review comments" if len(items) != 1 else "a review comment"
    asked = [f"Asked for in {home.pull}#pullrequestreview-{review}" for review in request.reviews[:_MOST]]
    body = "\n".join(asked or [f"Asked for in {home.pull}"])
    trailers = [f"{KEY}: {key_of(loop, request.n)}", *(f"{_ITEM}: {_line(item)}" for item in items[:_MOST])]
    trailers += _thanks(request.credits, home)
    return f"Address {what}\n\n{body}\n\n" + "".join(f"{line}\n" for line in trailers)


def _thanks(credits_: tuple[Author, ...], home: Home) -> Iterator[str]:
    for author in credits_[:_MOST]:
        if is_login(author.login) and author.kind in {"user", "bot"}:
            yield f"Co-authored-by: {author.login} <{author.id}+{author.login}@{home.noreply}>"


def _line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:200]
