"""What a review agent prints at its end, read as a review. Pure.

    REVIEW_RESULT: changes_requested
    FINDINGS_COUNT: 2
    SEVERITY: high
    SUMMARY: The token is logged, and the retry never stops.

The last of each field counts: what is above it may be the prompt. A summary goes on to the next field, or to the end of
its fence. `BLOCKING_ISSUES`, a JSON list of objects with `severity` and `description`, is understood too. Nothing said
is not approval, and neither is one with findings that are grave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amends.common.events import Finding
from amends.common.github.text import clean, name
from amends.common.policy import Severity

LONGEST = 20_000
MOST_FINDINGS = 100
MOST_LINES = 1_000_000
_FIELD = re.compile(
    r"(?im)^[ \t>*_#`-]*(?:[0-9]{1,2}[.)][ \t*_`]*)?"
    r"(?P<field>REVIEW_RESULT|FINDINGS_COUNT|SEVERITY|SUMMARY|BLOCKING_ISSUES)[ \t*_`]*[:=][ \t*_`]*"
)
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")
_FENCE = re.compile(r"(?m)^[ \t>]*(?:```|~~~)")
_RESULTS = {
    **dict.fromkeys(("approved", "approve", "pass", "passed"), True),
    **dict.fromkeys(("changes_requested", "request_changes", "rejected", "needs_work", "critical_issues"), False),
    **dict.fromkeys(("fail", "failed", "reject", "changes_required", "blocked"), False),
}
_SEVERITIES = {
    **{severity.value: severity for severity in Severity},
    "blocker": Severity.CRITICAL,
    "major": Severity.HIGH,
    "moderate": Severity.MEDIUM,
    "minor": Severity.LOW,
    "nit": Severity.SUGGESTION,
    "info": Severity.SUGGESTION,
    "none": Severity.SUGGESTION,
}
_GRAVE = frozenset({Severity.CRITICAL, Severity.HIGH})


class Unclear(Exception):
    """A review that cannot be understood; the message names the field and the remedy."""


@dataclass(frozen=True)
class Opinion:
    """What the agent thinks."""

    approved: bool
    summary: str = ""
    findings: tuple[Finding, ...] = ()


def opinion(text: str) -> Opinion:
    """The review that this text ends with, or Unclear."""
    said = _fields(clean(_COLOURS.sub("", text.removeprefix("\ufeff"))))
    results = map(_result, reversed(said["REVIEW_RESULT"]))
    result = next((result for result in results if result is not None), None)
    if result is None:
        raise Unclear("REVIEW_RESULT: write approved or changes_requested")
    summary = _last(said["SUMMARY"])[:LONGEST]
    severity = next((_SEVERITIES[word] for word in map(_word, reversed(said["SEVERITY"])) if word in _SEVERITIES), None)
    findings = tuple(_issues(_last(said["BLOCKING_ISSUES"])))[:MOST_FINDINGS]
    grave = severity in _GRAVE and _last(said["FINDINGS_COUNT"]) not in {"", "0"}
    if result and not grave and not any(finding.severity in _GRAVE for finding in findings):
        return Opinion(approved=True, summary=summary)
    if not findings and not summary:
        raise Unclear("SUMMARY: say what is to be changed")
    return Opinion(approved=False, summary=summary, findings=findings or (summarised(summary, severity),))


def summarised(summary: str, severity: Severity | None = None) -> Finding:
    """A summary as the one finding, when nothing is said in detail."""
    return Finding(text=summary, severity=severity or Severity.MEDIUM)


def _fields(text: str) -> Mapping[str, list[str]]:
    """What was said after each field, up to the next one or the end of a fence; but for a summary in one paragraph."""
    said: dict[str, list[str]] = {
        field: [] for field in ("REVIEW_RESULT", "FINDINGS_COUNT", "SEVERITY", "SUMMARY", "BLOCKING_ISSUES")
    }
    found = list(_FIELD.finditer(text))
    ends = [*(one.start() for one in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):  # where nothing is found there is still an end
        field, rest = match["field"].upper(), _FENCE.split(text[match.end() : end], maxsplit=1)[0].strip()
        said[field].append(rest if field == "SUMMARY" else rest.partition("\n\n")[0])
    return said


def _result(said: str) -> bool | None:
    """Approval has to stand there alone; a rejection may go on, unless it goes on with an approval."""
    word = _word(said)
    if word in _RESULTS:
        return _RESULTS[word]
    begins = any(re.match(rf"{known}(?:_|\W)", word) for known, good in _RESULTS.items() if not good)
    return False if begins and not any(known in word for known, good in _RESULTS.items() if good) else None


def _last(said: list[str]) -> str:
    """The last that is more than the prompt's `<placeholder>`."""
    return next((one for one in reversed(said) if one and not (one[0] == "<" and one[-1] == ">")), "")


def _word(said: str) -> str:
    """The first line as one word, without what stands around it: quotes, emphasis, a coloured sign."""
    line = re.sub(r"[\s-]+", "_", said.splitlines()[0].lower()) if said else ""
    return re.sub(r"^[\W_]+|[\W_]+$", "", line)


def _issues(said: str) -> Iterator[Finding]:
    start = said.find("[")
    if start < 0:
        return
    try:
        issues, _ = json.JSONDecoder().raw_decode(said, start)
    except (ValueError, RecursionError):
        return
    for issue in issues:
        if isinstance(issue, dict) and (text := clean(str(issue.get("description") or "")).strip()):
            yield Finding(
                text=text[:LONGEST],
                severity=_SEVERITIES.get(_word(str(issue.get("severity") or "")), Severity.MEDIUM),
                category=name(str(issue.get("category") or "")),
                path=name(str(issue.get("path") or issue.get("file") or "")),
                line=_line(issue.get("line")),
            )


def _line(said: object) -> int | None:
    return said if type(said) is int and 0 < said <= MOST_LINES else None
