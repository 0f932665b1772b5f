"""What people see of a text on GitHub, and nothing else: the words that may reach a prompt.

The text is read as Markdown and written again from what is shown. So HTML comments, definitions of links, titles,
attributes and whatever else a page hides has no way through; what stands in code is shown there and stays. Writing it
again until nothing changes makes it the same however often it is done. This is one defence and never the only one:
formulas, for one, can hide words too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from amends.common.github.text import storable

LONGEST = 65_536  # characters of a comment on GitHub
_PASSES = 6
# Without one of these nothing can be hidden but characters.
_SUSPICIOUS = re.compile(r"[<&\[\\]|```|~~~")
_PARSER = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable(["table", "strikethrough"])
# Unicode's default ignorable code points, the turners of direction, and fillers that show nothing.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_IGNORABLE}]")
# Joiners write whole languages, and selectors and tags make emoji: where they do, once, and nowhere else.
_SELDOM = re.compile("[\u200c\u200d\ufe00-\ufe0f]+")
_FLAG = re.compile("\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
                   "\U000e0077\U000e006c\U000e0073)\U000e007f)")  # fmt: skip
_KEPT_FLAG = "\uf8ff{}\uf8ff"
_FLAGS = ("\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
          "\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
          "\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f")  # fmt: skip
_UNSPOKEN_TAGS = frozenset({"script", "style", "template", "title", "textarea", "noscript", "svg", "math", "iframe"})
# GitHub shows these tags as words. Where one of them ends we hide what is in it; one that never ends hides nothing.
_WORD_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)(?=[\s/>]|\Z)",
    re.IGNORECASE | re.ASCII,
)
_COMMENT = re.compile(
    r"<!--.*?(?:--!?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<![A-Za-z].*?(?:>|\Z)", re.DOTALL
)
_PLAIN = re.compile(r"[<>\[\]&`~\\!#*_|]")
_FENCE = re.compile(r"`{3,}")
_BREAK = re.compile(r"<br\s*/?>")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?[0-9A-Za-z]+;)|(?<=\])(?=[:(\[])|^\[(?=[^\]]*\]:)|\\(?=[!-/:-@\[-`{-~])")


class Suggestion(NamedTuple):
    """A suggested change: the lines that are to stand there. Only an exact one may be taken over as it is."""

    text: str
    exact: bool


def visible(text: str) -> str:
    """The text without what is hidden in it; doing it twice changes nothing."""
    text = _shown(storable(text[:LONGEST]))
    for _ in range(_PASSES):
        again = _written(text) if _SUSPICIOUS.search(text) else text
        if again == text:
            return text
        text = again
    return _shown(_PLAIN.sub(" ", text))


def suggestions(text: str) -> tuple[Suggestion, ...]:
    """The changes that a comment suggests, in order: closed blocks of backticks whose first word is `suggestion`."""
    text = storable(text[:LONGEST])
    if "suggestion" not in text:
        return ()
    lines = text.split("\n")
    return tuple(
        Suggestion(_shown(token.content), _shown(token.content) == token.content and _is_flush(token, lines))
        for token in _PARSER.parse(text)
        if token.type == "fence" and token.info.split()[:1] == ["suggestion"] and _is_closed(token, lines)
    )


def _is_flush(token: Token, lines: Sequence[str]) -> bool:
    """Whether it stands at the margin: how much of its indentation belongs to the lines within is a matter of taste."""
    return token.level == 0 and token.map is not None and lines[token.map[0]].startswith("`")


def _is_closed(token: Token, lines: Sequence[str]) -> bool:
    if token.map is None or not token.markup.startswith("`"):
        return False
    start, end = token.map
    return end - start > 1 and lines[end - 1].strip(" \t>") == token.markup + "`" * (
        len(lines[end - 1].strip(" \t>")) - len(token.markup)
    )


# --- characters ------------------------------------------------------------------------------------------------------


def _shown(text: str) -> str:
    """Without characters that show nothing."""
    if text.isascii():
        return text
    kept = _FLAG.sub(lambda flag: _KEPT_FLAG.format(_FLAGS.index(flag[0][1:])), text.replace("\uf8ff", ""))
    kept = _SELDOM.sub(_seldom, _INVISIBLE.sub("", kept))
    for number, tags in enumerate(_FLAGS):
        kept = kept.replace(_KEPT_FLAG.format(number), f"\U0001f3f4{tags}")
    return kept


def _seldom(found: re.Match[str]) -> str:
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    one = found[0][0]
    if one in "\ufe0e\ufe0f":  # how an emoji or a digit looks, and then perhaps what it is joined to
        joined = "\u200d" if found[0] == f"{one}\u200d" and _is_symbol(after) else ""
        return one + joined if before and (_is_symbol(before) or before in "0123456789#*") else ""
    if one in "\u200c\u200d" and len(found[0]) == 1:
        between = _is_letter(before) and _is_letter(after)
        return one if between or (one == "\u200d" and _is_symbol(before) and _is_symbol(after)) else ""
    return ""


def _is_letter(letter: str) -> bool:
    """Of a script that is written with joiners: not one of ours, where they would only hide."""
    return bool(letter) and not letter.isascii() and unicodedata.category(letter)[0] in "LM"


def _is_symbol(letter: str) -> bool:
    return bool(letter) and unicodedata.category(letter) in {"So", "Sk", "Sm", "Po"} and not letter.isascii()


# --- Markdown --------------------------------------------------------------------------------------------------------


def _written(text: str) -> str:
    """The text written again from what is shown of it."""
    return _shown("\n".join(_Page().write(_PARSER.parse(text)))).strip("\n")


@dataclass
class _Before:
    """What stands before the lines of a quotation or of an entry of a list: at first, and then."""

    first: str
    onward: str
    begun: bool = False

    def take(self) -> str:
        """For the next line."""
        begun, self.begun = self.begun, True
        return self.onward if begun else self.first


class _Page:
    """Writes blocks one below the other."""

    def __init__(self) -> None:
        self._before: list[_Before] = []
        self._numbers: list[int] = []
        self._row: list[str] | None = None
        self._heading = ""
        self._below = 0

    def write(self, tokens: Sequence[Token]) -> Iterator[str]:
        """The lines of a text."""
        for token in tokens:
            if token.type == "inline" and self._row is not None:
                self._row.append(_inline(token.children or []).replace("\n", " "))
            elif token.nesting:
                yield from self._turn(token)
            elif (content := _leaf(token)) is not None:
                yield from self._lines(self._heading + content, token.map or [self._below, self._below])

    def _turn(self, token: Token) -> Iterator[str]:  # noqa: C901 - one arm for each kind of block
        """Into a block that holds others, or out of it."""
        match token.type:
            case "blockquote_open":
                self._before.append(_Before("> ", "> "))
            case "bullet_list_open" | "ordered_list_open":
                self._numbers.append(int(token.attrGet("start") or 1) if token.tag == "ol" else -1)
            case "list_item_open":
                mark = "- " if self._numbers[-1] < 0 else f"{self._numbers[-1]}. "
                self._numbers[-1] += self._numbers[-1] >= 0
                self._before.append(_Before(mark, " " * len(mark)))
            case "blockquote_close" | "list_item_close":
                self._before.pop()
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "heading_open" | "heading_close":
                self._heading = f"{'#' * int(token.tag[1:])} " if token.nesting > 0 else ""
            case "tr_open":
                self._row = []
            case "tr_close":
                yield from self._lines(" | ".join(self._row or []), [self._below, self._below + 1])
                self._row = None
            case "table_open" if token.map and token.map[0] > self._below:
                yield from self._gap(token.map[0])

    def _gap(self, line: int) -> Iterator[str]:
        if line > self._below:
            yield "".join(one.onward for one in self._before if one.begun).rstrip()
        self._below = line

    def _lines(self, content: str, place: Sequence[int]) -> Iterator[str]:
        yield from self._gap(place[0])
        for line in content.split("\n"):
            yield ("".join([one.take() for one in self._before]) + line).rstrip()
        self._below = place[1]


def _leaf(token: Token) -> str | None:
    match token.type:
        case "inline":
            return _inline(token.children or [])
        case "fence":
            return _fenced(token)
        case "code_block":
            return "\n".join(f"    {line}" for line in token.content.rstrip("\n").split("\n"))
        case "html_block":
            return _html(token.content)
        case "hr":
            return "---"
        case _:
            return None


def _fenced(token: Token) -> str:
    longest = max((len(run) for run in _FENCE.findall(token.content)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{''.join(token.info.split()[:1])}\n{token.content}{fence}"


def _inline(children: Sequence[Token]) -> str:
    return "".join(_spans(children))


def _spans(children: Sequence[Token]) -> Iterator[str]:  # noqa: C901 - one arm for each kind of span
    links: list[str] = []
    for token in children:
        match token.type:
            case "text":
                yield _escaped(token.content)
            case "code_inline":
                yield f"{token.markup}{_padded(token.content)}{token.markup}"
            case "softbreak" | "hardbreak":
                yield "\n"
            case "link_open":
                links.append(str(token.attrGet("href") or ""))
                yield "["
            case "link_close":
                yield f"]({links.pop()})"
            case "image":
                yield "[image]"
            case "html_inline" if _WORD_TAG.match(token.content):
                yield _escaped(token.content)
            case "html_inline":
                yield "\n" if _BREAK.fullmatch(token.content) else ""
            case _:
                yield token.markup if token.nesting else ""


def _escaped(text: str) -> str:
    """Words that look like markup and are none, so that the next reader sees words, too."""
    return _MARKUP.sub(r"\\\g<0>", text)


def _padded(code: str) -> str:
    return f" {code} " if code.startswith("`") or code.endswith("`") else code


class _Text(HTMLParser):
    """Collects what a browser would show of HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - hidden, all
        if not self._inside and tag in _UNSPOKEN_TAGS:
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.shown.append(data)


def _html(html: str) -> str | None:
    parser = _Text()
    parser.feed(_with_words(_COMMENT.sub(" ", html)))
    parser.close()
    lines = (line.strip() for line in "".join(parser.shown).split("\n"))
    return "\n".join(_escaped(line) for line in lines if line) or None


def _with_words(html: str) -> str:
    """The HTML in which a tag that begins what never ends is the word that GitHub shows."""
    ends = {found["name"].lower(): found.start() for found in _WORD_TAG.finditer(html) if found["end"]}
    return _WORD_TAG.sub(
        lambda found: f"&lt;{found[0][1:]}" if found.start() > ends.get(found["name"].lower(), -1) else found[0], html
    )
