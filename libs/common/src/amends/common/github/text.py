"""Text from outside made storable: what passed here can be stored, published, logged, put in argv and mailed."""

from __future__ import annotations

import re
from hashlib import sha256

from amends.common.redaction import Redactor

EMPTY = "0" * 16
MARK = "<!-- amends:"  # how all that amends writes on GitHub begins
_NEWLINES = re.compile(r"\r\n?")
# C0 and C1 but for tab and newline, lone surrogates, and the two code points that are no characters.
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# What a reader on GitHub does not see. Joiners stay: whole languages and many emoji are written with them.
_COMMENTS = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)
_INVISIBLE = re.compile(
    r"[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_redacted = Redactor()


def storable(text: str) -> str:
    """The text with one kind of newline and without what no store keeps; doing it twice changes nothing."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSTORABLE.sub("", _NEWLINES.sub("\n", text))


def legible(text: str) -> str:
    """The text with a number for each half of a letter, as names that are no UTF-8 hold: nothing sends those."""
    return text.encode(errors="backslashreplace").decode()


def clean(text: str) -> str:
    """The text, storable and without what looks like a secret: the only form in which words enter the log."""
    return _redacted(storable(text))


def name(text: str, longest: int = 400) -> str:
    """A name in one line, cut to a length."""
    return " ".join(clean(text).split())[:longest]


def visible(text: str) -> str:
    """What people see of a text: no HTML comments, none of the characters that show nothing or turn others round."""
    # A space for each comment: its two neighbours must not make another one.
    return _COMMENTS.sub(" ", _INVISIBLE.sub("", storable(text)))


def body_hash(text: str | None) -> str:
    """What tells one version of a text from the next, however it came to us; nothing said has a hash of its own."""
    said = storable(text or "")
    return sha256(said.encode()).hexdigest()[:32] if said.strip() else EMPTY


def paired(json: bytes) -> bytes:
    """JSON text whose lone surrogates are replaced; with them in it no strict parser reads any of the rest."""
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found["lone"] else found[0], json)
