"""GitHub Copilot: what it is not sure of stands folded up in the body of its review, under the file and the line."""

from __future__ import annotations

import re

from amends.comment_fetcher.bots.meaning import PATH, Buried, Meaning, Word, lines, span
from amends.common.policy import Severity

_SUPPRESSED = re.compile(
    r"^\W*(?:Comments suppressed due to low confidence|Suppressed comments)(?: \(\d+\))?$", re.IGNORECASE
)
_PLACE = re.compile(rf"^\*\*`?{PATH}:(?P<first>\d+)(?:-(?P<last>\d+))?`?\*\*$")
_END = re.compile(
    r"^(?:---+|#{1,6} .*|\W*(?:Tip|Feedback|Add Copilot|You can also share your feedback|Show a summary)\b.*)$"
)
_NONE = re.compile(r"generated no (?:new )?comments|no new comments", re.IGNORECASE)
_SOME = re.compile(r"generated (\d+) (?:new )?comments?", re.IGNORECASE)
_FILES = re.compile(r"reviewed (\d+) out of (\d+) changed files", re.IGNORECASE)
_UNABLE = re.compile(
    r"wasn['\u2019]t able to review|unable to (?:run|review|generate)|encountered an error|could not review|quota|"
    r"rate limit|"
    r"(?:has|have) reached (?:your|the) .*limit|exceeds the maximum",
    re.IGNORECASE,
)


def meaning(raw: str, shown: str) -> Meaning:  # noqa: ARG001 - all that Copilot means is shown
    """What Copilot says."""
    buried = tuple(_suppressed(shown))
    some = _SOME.search(shown)
    if buried or (some and int(some[1])):
        return Meaning(Word.FINDINGS, buried)
    if _UNABLE.search(shown):
        return Meaning(Word.UNAVAILABLE)
    if not _NONE.search(shown):
        return Meaning(Word.UNKNOWN)
    files = _FILES.search(shown)  # of files that it did not look at it says nothing
    return Meaning(Word.CLEAN if files and files[1] == files[2] else Word.UNKNOWN)


def _suppressed(shown: str) -> list[Buried]:
    found: list[tuple[re.Match[str], list[str]]] = []
    inside = False
    for line in lines(shown):
        if not line.code and _SUPPRESSED.match(line.text):
            inside = True
        elif inside and not line.code and (place := _PLACE.match(line.text)):
            found.append((place, []))
        elif inside and not line.code and _END.match(line.text):
            inside = False
        elif inside and found:
            found[-1][1].append(line.text)
    return [_buried(place, text) for place, text in found if "".join(text).strip()]


def _buried(place: re.Match[str], text: list[str]) -> Buried:
    start, end = span(place["first"], place["last"])
    return Buried(
        "\n".join(text).strip().removeprefix("- ").removeprefix("* "), place["path"], start, end, Severity.LOW
    )
