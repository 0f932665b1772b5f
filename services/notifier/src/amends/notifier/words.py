"""Words from outside, made harmless: shown as they are, and nothing in them acts on anybody.

What people, models and file names say may hold images, HTML, links, mentions, words that close issues, and commands of
this or of other bots. Escaping alone is not enough: GitHub looks for mentions after it has rendered, other bots before.
So the letters that begin such things are written in their wide form, which looks alike and means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from amends.common.github.names import is_address, is_login
from amends.common.github.text import MARK, clean, visible

LINE, BLOCK, BODY = 200, 2_000, 60_000
_CUT = " [...]"
_MARKDOWN = re.compile(r"([\\`*_\[\]|~$])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WIDE = (
    (re.compile("@"), "\uff20"),
    (re.compile(r"#(?=\d)"), "\uff03"),
    (re.compile(r"(?i)\b(gh)-(?=\d)"), "\\1\uff0d"),
    (re.compile("://"), "\uff1a//"),
    (re.compile(r"(?i)\b(www)\."), "\\1\uff0e"),
    (re.compile(r"(?i)\b(mailto|xmpp):"), "\\1\uff1a"),
    (re.compile(r"(?m)^(\s*)/"), "\\1\uff0f"),
)
_PLAIN_URL = re.compile(r"[A-Za-z0-9/:._~#?=&%+-]+")
_LOGIN_OF_A_BOT = "[bot]"
Redact = Callable[[str], str]


class Words:
    """Makes words harmless. `redact` knows this process's secrets, `site` is the only place that links lead to."""

    def __init__(self, redact: Redact = clean, site: str = "") -> None:
        self._redact = redact
        self.site = site

    def plain(self, text: str, most: int = BLOCK) -> str:
        """For where nothing is rendered: visible, without secrets, of bounded length; newlines stay."""
        return cut(clean(self._redact(visible(text))).strip(), most)

    def harmless(self, text: str, most: int = BLOCK) -> str:
        """The same with nothing in it that acts: mails and chats too make links of what looks like one."""
        text = self.plain(text, most)
        for pattern, instead in _WIDE:
            text = pattern.sub(instead, text)
        return text

    def line(self, text: str, most: int = LINE) -> str:
        """One line of Markdown."""
        return _escaped(self.harmless(" ".join(self.plain(text, most).split()), most))

    def block(self, text: str, most: int = BLOCK) -> str:
        """A quotation; nothing when nothing is said."""
        lines = [_escaped(line.strip()) for line in self.harmless(text, most).split("\n")]
        return "\n".join(f"> {line}".rstrip() for line in lines) if any(lines) else ""

    def link(self, label: str, url: str) -> str:
        """A link, if it leads to where GitHub is; `label` is Markdown."""
        inside = bool(self.site) and url.startswith(f"{self.site}/")
        fit = inside and is_address(url) and _PLAIN_URL.fullmatch(url) and self._redact(url) == url
        return f"[{label}]({url})" if fit else label

    def called(self, login: str) -> str:
        """Somebody's name, without telling him."""
        return f"`{login}`" if self._is_login(login) else self.line(login) or "somebody"

    def mention(self, login: str) -> str:
        """Somebody's name so that he hears of it; never a bot's, which it would set to work."""
        bot = login.endswith(_LOGIN_OF_A_BOT)
        return f"@{login}" if self._is_login(login) and not bot else self.called(login)

    def _is_login(self, login: str) -> bool:
        return is_login(login) and self._redact(login) == login


def _escaped(line: str) -> str:
    for letter, entity in _HTML.items():
        line = line.replace(letter, entity)
    return _MARKDOWN.sub(r"\\\1", line)


def cut(text: str, most: int) -> str:
    """The text, and where it is too long a sign that it goes on."""
    return text if len(text) <= most else text[: most - len(_CUT)].rstrip() + _CUT


def mark(loop: str, key: str) -> str:
    """What is hidden in a comment of ours, so that we find it again."""
    return f"{MARK}{quote(loop, safe='')}/{quote(key, safe='/')} -->"


def sealed(marker: str, *paragraphs: str) -> str:
    """A whole comment: the marker first, so that no cut can take it."""
    said = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    if len(said) > BODY:
        said = said[:BODY].rpartition("\n")[0] + f"\n{_CUT.strip()}"
    return f"{marker}\n{said}"
