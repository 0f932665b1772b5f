"""CodeRabbit: findings outside the diff, nitpicks and duplicates stand folded up in the body of a review."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from amends.comment_fetcher.bots.meaning import PATH, Buried, Line, Meaning, Word, lines, severity_in, span
from amends.common.policy import Severity

_SECTION = re.compile(r"^\W*(?P<name>[A-Z][\w\u2019' -]{3,60}?) \(\d+\)$")
_FILE = re.compile(rf"^{PATH} \(\d+\)$")
_FINDING = re.compile(r"^`(?P<first>\d+)(?:-(?P<last>\d+))?(?:, ?[\d, -]+)?`: ?(?P<rest>.*)$")
_POSTED = re.compile(r"Actionable comments posted: *(\d+)")
_LABEL = re.compile(r"^_[^_]+_(?: \| _[^_]+_)*$")
_PROMPT = re.compile(r"^\W*(?:Prompt for |Committable suggestion|Learnt from|Also applies to: |Suggested fix$)")
_END = re.compile(
    r"^\W*(?:Review details|Review info|Commits|Files selected|Files ignored|Configuration|Path-based|Prompt for )"
)
# Of a section that is not named here ("Comments failed to post", and whatever comes next) a finding is a finding.
_SEVERITY = {
    "nitpick comments": Severity.SUGGESTION,
    "minor comments": Severity.LOW,
    "major comments": Severity.HIGH,
    "critical comments": Severity.CRITICAL,
}
_NO_FINDINGS = re.compile(r"additional comments|end$")  # what it found right, and what it says of itself
_NOTICES = re.compile(
    r"Rate limit exceeded|exceeded the limit|Review skipped|Reviews? paused|Draft detected|review limit|quota|"
    r"out of (?:usage )?credits|unable to review|Review failed|Review was skipped|Currently processing|"
    r"auto reviews? (?:is|are) disabled",
    re.IGNORECASE,
)
_CLEAN = re.compile(r"No actionable comments were generated", re.IGNORECASE)
_SUMMARY = re.compile(r"<!-- (?:This is an auto-generated comment: summarize|walkthrough_start)", re.IGNORECASE)


@dataclass
class _Reading:
    section: str = ""
    path: str = ""
    found: list[Buried] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _place: tuple[int | None, int] | None = None
    _silent: bool = False

    def take(self, line: Line) -> None:
        if line.code:
            self._say(line.text)
        elif found := _SECTION.match(line.text):
            self._close()
            self.section, self.path = found["name"].lower(), ""
        elif _END.match(line.text):
            self._close()
            self.section, self.path = "end", ""
        elif self.section and (found := _FILE.match(line.text)):
            self._close()
            self.path = found["path"]
        elif self.path and (found := _FINDING.match(line.text)):
            self._close()
            self._place = span(found["first"], found["last"])
            self._say(found["rest"])
        else:
            self._silent = self._silent or bool(_PROMPT.match(line.text))
            self._say(line.text)

    def _say(self, text: str) -> None:
        if self._place is not None and not self._silent:
            self._text.append(text)
        elif not self.section:
            self.rest.append(text)

    def _close(self) -> None:
        text = "\n".join(self._text).strip()
        if self._place is not None and text and not _NO_FINDINGS.match(self.section):
            label = next((line for line in self._text if line.strip()), "")
            severity = severity_in(label) if _LABEL.match(label.strip()) else None
            start, end = self._place
            usual = _SEVERITY.get(self.section, Severity.MEDIUM)
            self.found.append(Buried(text, self.path, start, end, severity or usual))
        self._text, self._place, self._silent = [], None, False

    def close(self) -> None:
        self._close()


def meaning(raw: str, shown: str) -> Meaning:
    """What CodeRabbit says."""
    if _SUMMARY.search(raw):
        return Meaning(_verdict(shown))
    reading = _Reading()
    for line in lines(shown):
        reading.take(line)
    reading.close()
    rest = "\n".join(_without_boilerplate(reading.rest)).strip()
    posted = _POSTED.search(shown)
    if reading.found or (posted and int(posted[1])):
        return Meaning(Word.FINDINGS, tuple(reading.found), rest)
    word = _verdict(shown)
    return Meaning(word, (), "" if word is Word.UNAVAILABLE else rest)


def _verdict(shown: str) -> Word:
    """A notice beats a good word: a review that was cut short has seen too little to give one."""
    if _NOTICES.search(shown):
        return Word.UNAVAILABLE
    return Word.CLEAN if _CLEAN.search(shown) else Word.UNKNOWN


def _without_boilerplate(text: Iterable[str]) -> Iterable[str]:
    for line in text:
        if not (
            _POSTED.search(line) or line.startswith(("[!CAUTION]", "[!NOTE]", "Some comments are outside the diff"))
        ):
            yield line
