"""Whether a change makes tests weaker: fewer tests or assertions than before, or more that are skipped. Pure.

It reads no language for real: it counts words that mean a test, an assertion or a skip in those that people use.
Whoever writes the tests may mean us harm, so no pattern looks further than it has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_TEST_FILE = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testing|e2e)/|(^|/)(test_[^/]*|[^/]*_test|[^/]*_spec|[^/]*[.-](test|spec)s?)\.[^/]+$"
    r"|(^|/)[^/]*(Test|Tests|Spec|IT)\.(java|kt|scala|cs|swift|php|groovy)$"
)
_TEST = re.compile(
    r"^[^\S\n]*(?:async\s+)?def\s+test"
    r"|^[^\S\n]*(?:it|test|specify|scenario)(?:\.each\b[^(]{0,5000}\([^)]{0,5000}\))?\s*[(\"'{ ]|^func\s+(?:Test|Fuzz)"
    r"|@Test\b|@ParameterizedTest|#\[(?:\w+::)*test|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|\bTEST(?:_F|_P)?\s*\(",
    re.MULTILINE,
)
_ASSERTION = re.compile(
    r"\bassert\w*!?[ (.]|\bexpect\w*\s*[(.]|\.should\b|\bshould\.\w+|\brequire\.\w+\(|\bt\.(?:Error|Fatal|Fail)"
    r"|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)\w*\s*\(|\bverify\s*\(|\bpytest\.(?:raises|warns)\b|\.must\w*\b"
)
_SKIPPED = re.compile(
    r"\bpytest\.(?:mark\.)?(?:skip|xfail)|\bskip(?:If|Unless|Test|_test)?\s*\(|\b(?:it|test|describe|context)\.(?:skip|only|todo|fails)\b"
    r"|\b(?:xit|xdescribe|xtest|xcontext|fit|fdescribe)\s*\(|@(?:Ignore|Disabled)\b|#\[ignore|\bt\.Skip|Skip\s*=\s*\""
)
_EMPTY = re.compile(
    r"\bassert\s+(?:True|1)\s*(?:$|#|,)|\bassertTrue\(\s*[Tt]rue\s*\)|\bexpect\(\s*(?:true|1)\s*\)|\bassert!\(\s*true\s*\)"
    r"|\|\|\s*true\b",
    re.MULTILINE,
)


class _Count(NamedTuple):
    tests: int = 0
    assertions: int = 0
    skipped: int = 0
    empty: int = 0

    def __add__(self, other: object) -> _Count:
        if not isinstance(other, _Count):
            return NotImplemented
        return _Count(*(mine + yours for mine, yours in zip(self, other, strict=True)))


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return _TEST_FILE.search(path) is not None


def weakened(changed: Iterable[tuple[str, bytes | None, bytes | None]]) -> str:
    """How the tests are weaker than before, over all files together: what moves from one to another is not lost."""
    before, after = _Count(), _Count()
    for path, old, new in changed:
        if is_test(path):
            before += _counted(old)
            after += _counted(new)
    said = []
    if after.tests < before.tests:
        said.append(f"{before.tests - after.tests} fewer tests")
    if after.assertions - after.empty < before.assertions - before.empty:
        said.append(f"{before.assertions - before.empty - after.assertions + after.empty} fewer assertions")
    if after.skipped > before.skipped:
        said.append(f"{after.skipped - before.skipped} more skipped")
    return ", ".join(said)


def _counted(content: bytes | None) -> _Count:
    if not content:
        return _Count()
    text = content.decode("utf-8", "replace")
    return _Count(*(len(pattern.findall(text)) for pattern in (_TEST, _ASSERTION, _SKIPPED, _EMPTY)))
