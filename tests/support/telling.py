"""Texts of the notifier from stories of one pull request: nothing is sent anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

from markdown_it import MarkdownIt
from markdown_it.token import Token

from amends.common.events import AnyFact
from amends.common.redaction import Redactor
from amends.common.situation import situation
from amends.notifier.messages import Messages
from amends.notifier.words import Words
from tests.support.story import Story

SITE = "https://forge.test"
SECRET = "canary-of-a-secret"
FactT = TypeVar("FactT", bound=AnyFact)
_MARKDOWN = MarkdownIt("commonmark", {"html": True})
_CLOSING = re.compile(r"(?i)\b(clos|fix|resolv)(e|es|ed)?\b:?\s+(\S+/\S+)?(#|gh-|https?:)\S*\d")


def words() -> Words:
    return Words(Redactor([SECRET]), SITE)


def messages(story: Story) -> Messages:
    return Messages(words(), situation(story.loop, story.policy))


def last(story: Story, kind: type[FactT]) -> FactT:
    """The newest fact of a kind in the story's own loop."""
    return next(event.fact for event in reversed(story.recent) if isinstance(event.fact, kind))


def harms(body: str, mentions: tuple[str, ...] = ()) -> list[str]:
    """All in a comment that acts on somebody, by GitHub's rules and by those of bots that read the raw text."""
    found = [token.type for token in _tokens(body) if token.type in {"image", "html_inline"}]
    found += [token.content for token in _tokens(body) if token.type == "html_block" and not _is_mark(token.content)]
    links = [str(token.attrs["href"]) for token in _tokens(body) if token.type == "link_open"]
    found += [link for link in links if not link.startswith(f"{SITE}/")]
    raw = re.sub(r"\]\(https://forge\.test/[^)\s]*\)", "]", body)
    found += re.findall(r"(?i)[a-z][a-z0-9+.-]*://\S*|\bwww\.\S+", raw)
    found += [name for name in re.findall(r"@([A-Za-z0-9][\w-]*)", raw) if name not in mentions]
    found += re.findall(r"(?m)^[\s>]*/[a-z]\w*", raw)
    return found + [one[0] for one in _CLOSING.findall(raw)] + [SECRET] * (SECRET in body)


def _tokens(body: str) -> Iterator[Token]:
    for token in _MARKDOWN.parse(body):
        yield token
        yield from token.children or ()


def _is_mark(html: str) -> bool:
    return re.fullmatch(r"<!-- amends:[A-Za-z0-9._~%/-]+ -->\s*", html) is not None
