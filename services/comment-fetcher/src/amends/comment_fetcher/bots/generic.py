"""Any other bot: what it lists under a file and a line is taken apart, the rest stays as it is. It is never clean."""

from __future__ import annotations

import re

from amends.comment_fetcher.bots.meaning import PATH, Buried, Meaning, Word, lines, severity_in, span

_PLACE = re.compile(
    rf"^(?:[-*] |\d+\. |#{{1,6}} )?(?:\W{{0,3}}\[?(?P<label>[A-Za-z ]{{3,12}})\]?:? )?[*`\[]{{0,4}}{PATH}"
    r"(?::L?(?P<first>\d+)(?:-L?(?P<last>\d+))?|[`*]{0,3},? \(?lines? (?P<one>\d+)(?:[-\u2013](?P<other>\d+))?\)?)"
    r"[*`\]]{0,4}(?:\([^)]*\))?(?:\s*[-:\u2013\u2014]\s*(?P<rest>.*))?$"
)
_HEADING = re.compile(r"^#{1,6} |^---+$")
# What became of the bot's own work. Findings speak of limits, quotas and errors, too, and are none of these.
_NOTICES = re.compile(
    r"(?:(?:rate|usage|token|credit) limit|quota|credits)(?: (?:was|is|has been))? (?:exceeded|reached|hit|exhausted)|"
    r"(?:exceeded|reached|hit) (?:your|our) (?:\w+ ){0,3}(?:limit|quota)|be(?:en|ing) rate[- ]limited|out of credits|"
    r"trial (?:has )?(?:ended|expired)|review (?:was )?skipped|(?:unable|failed) to review|"
    r"(?:unable to (?:complete|process)|failed to run) (?:the|this|your) (?:review|analysis|request|pull request)|"
    r"an (?:internal )?error occurred(?: (?:while|during|when) (?:review|process|analy|generat|running)|\W*\Z)",
    re.IGNORECASE,
)


def meaning(raw: str, shown: str) -> Meaning:  # noqa: ARG001 - what is hidden has no meaning here
    """What a bot says whose form we do not know."""
    found: list[tuple[re.Match[str] | None, list[str]]] = []
    rest: list[str] = []
    for line in lines(shown):
        if not line.code and (place := _PLACE.match(line.text)):
            found.append((place, [place["rest"] or ""]))
        elif not line.code and _HEADING.match(line.text):
            rest.append(line.text)
            found.append((None, rest))
        else:
            (found[-1][1] if found else rest).append(line.text)
    buried = tuple(_buried(place, text) for place, text in found if place and "".join(text).strip())
    if buried:
        return Meaning(Word.FINDINGS, buried, "\n".join(rest).strip())
    if _NOTICES.search(shown):
        return Meaning(Word.UNAVAILABLE)
    return Meaning(Word.UNKNOWN, (), shown)


def _buried(place: re.Match[str], text: list[str]) -> Buried:
    start, end = span(place["first"] or place["one"], place["last"] or place["other"])
    return Buried("\n".join(text).strip(), place["path"], start, end, severity_in(place["label"] or ""))
