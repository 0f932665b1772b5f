"""Whether a change may be called a fix: what the gate says of it, whose each hunk is, and what the checks say.

The checks are the policy's, run in the sandbox. One that fails is run on the base, too: a change need not mend what was
broken before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from amends.common.events import Check
from amends.common.gate import Altered, Objection, Rules, examined, hunks
from amends.common.policy import Severity
from amends.fixer.agent import Judged
from amends.fixer.sandbox import Sandbox, shell
from amends.fixer.tools import shortened
from amends.fixer.verdicts import Report

_MOST_SAID = 6_000
_MOST_SHOWN = 40_000


@dataclass(frozen=True)
class Checked:
    """What the checks say, and what of it speaks against the change."""

    checks: tuple[Check, ...] = ()
    against: str = ""


@dataclass
class Checks:
    """Runs the policy's checks in a directory; `before` opens one with the files of the base."""

    sandbox: Sandbox
    lines: tuple[str, ...]
    before: Callable[[Callable[[Path], Awaitable[None]]], Awaitable[None]]
    known: dict[str, bool] = field(default_factory=dict)

    async def run(self, workspace: Path) -> Checked:
        """All of them on the changed files; those that fail on the base as well."""
        found: list[Check] = []
        said: list[str] = []
        for line in self.lines:
            ran = await self.sandbox.run(workspace, shell(line))
            if ran.passed:
                found.append(Check(name=line, after="passed"))
                continue
            passed = await self._passed_before(line)
            found.append(Check(name=line, before="passed" if passed else "failed", after="failed"))
            if passed:
                said.append(f"the check `{line}` failed, and passes without your changes:\n{_short(ran.text)}")
        return Checked(tuple(found), "\n\n".join(said))

    async def _passed_before(self, line: str) -> bool:
        async def tried(path: Path) -> None:
            self.known[line] = (await self.sandbox.run(path, shell(line))).passed

        if line not in self.known:
            await self.before(tried)
        return self.known[line]


def _short(text: str) -> str:
    return shortened(text, _MOST_SAID)


@dataclass
class Proof:
    """Looks at reports of the agent. What was accepted last is kept: those bytes, and no others, are the fix.

    `suggested` are hunks that belong to items already.
    """

    path: Path
    altered: Callable[[], Awaitable[Sequence[Altered]]]
    rules: Rules
    checks: Checks | None
    suggested: frozenset[str] = frozenset()
    accepted: tuple[Altered, ...] | None = None
    checked: Checked = Checked()

    async def judge(self, report: Report, _below: Mapping[str, Severity]) -> Judged:
        """What speaks against it, in words for whoever has to mend it."""
        altered = tuple(await self.altered())
        there = frozenset(named(altered))
        claims = {hunk for one in report.items if one.verdict == "fixed" for hunk in one.hunks}
        paths = {one.path for one in altered}
        if unknown := sorted(claims - there - paths):
            return Judged(f"there is no hunk {', '.join(unknown)}. There are: {', '.join(sorted(there)) or 'none'}")
        if objections := examined(altered, self.rules, claims | self.suggested):
            return Judged("\n".join(["This speaks against it:", *(f"- {one}" for one in objections)]))
        checked = await self.checked_in(self.path)
        if checked.against:
            return Judged(checked.against)
        self.accepted, self.checked = altered, checked
        return Judged(hunks=there | paths)

    async def checked_in(self, workspace: Path) -> Checked:
        """What the checks say of a directory."""
        return Checked() if self.checks is None else await self.checks.run(workspace)

    async def shown(self) -> str:
        """Every hunk that differs, with its name."""
        altered = await self.altered()
        text = "\n\n".join(_shown(one) for one in altered)
        return shortened(text, _MOST_SHOWN) if text else "[nothing differs]"


def named(altered: Sequence[Altered]) -> list[str]:
    """The names of all hunks."""
    return [hunk.name for one in altered for hunk in hunks(one.path, one.old, one.new)]


def separated(
    altered: Sequence[Altered], rules: Rules
) -> tuple[tuple[Altered, ...], Mapping[str, Objection], tuple[Objection, ...]]:
    """The files that nothing speaks against, what speaks against each of the others, and against all together."""
    bad = {one.path: one for one in examined(altered, rules) if one.path}
    good = tuple(one for one in altered if one.path not in bad)
    return good, bad, tuple(examined(good, rules))


def _shown(one: Altered) -> str:
    names = ", ".join(hunk.name for hunk in hunks(one.path, one.old, one.new))
    old, new = (_lines(content) for content in (one.old, one.new))
    diff = "".join(unified_diff(old, new, f"a/{one.path}", f"b/{one.path}", n=2))
    return f"{names}\n{diff}"


def _lines(content: bytes | None) -> list[str]:
    text = "" if content is None else content.decode(errors="replace")
    return [f"{line}\n" for line in text.split("\n")]
