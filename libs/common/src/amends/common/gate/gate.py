"""What speaks against a change: paths, kinds and sizes of files, secrets, tests made weaker, and what nobody asked for.

Pure: it is given the bytes before and after. A change with an objection is not published; an objection that says `ask`
means that a human could do it, the others that nobody may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from amends.common.gate import paths
from amends.common.gate.hunks import unclaimed
from amends.common.gate.tests import weakened
from amends.common.redaction import Redactor

Kind = Literal["path", "hard", "policy", "ask", "link", "lfs", "mode", "size", "secret", "scope", "tests"]
_PLAIN = {"100644", "100755"}
_POINTER = b"version https://git-lfs.github.com/spec/"  # how what stands for bytes elsewhere begins
_SHOWN = 160


class Altered(NamedTuple):
    """A path that changes. No mode: it is not there, before or after; no bytes: it is not there, or no regular file."""

    path: str
    old_mode: str | None
    old: bytes | None
    mode: str | None
    new: bytes | None


class Objection(NamedTuple):
    """What speaks against it."""

    kind: Kind
    path: str
    detail: str

    @property
    def ask(self) -> bool:
        """Whether a human may decide otherwise."""
        return self.kind in {"ask", "tests", "size", "scope"}

    def __str__(self) -> str:
        return f"{self.path[:_SHOWN]}: {self.detail}" if self.path else self.detail


@dataclass(frozen=True)
class Rules:
    """What is allowed: `protected` are the policy's patterns, `secrets` what this process knows and nobody may see.

    `allowed` are patterns of what a human would have to be asked about, and has allowed already.
    """

    protected: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    files: int = 50
    lines: int = 5_000
    size: int = 500_000
    allowed: tuple[str, ...] = ()


def examined(altered: Sequence[Altered], rules: Rules, claims: Iterable[str] | None = None) -> list[Objection]:
    """All that speaks against it. `claims` are the hunks that items lay claim to; None: that is not looked at."""
    found = [objection for one in altered for objection in _path(one, rules)]
    found += _size(altered, rules)
    found += _secret(altered, Redactor(rules.secrets))
    if said := weakened((one.path, one.old, one.new) for one in altered):
        found.append(Objection("tests", "", f"tests are weaker than before: {said}"))
    if claims is not None:
        names = list(claims)
        found += [
            Objection("scope", one.path, f"lines {hunk.start} to {hunk.end} belong to no item")
            for one in altered
            for hunk in unclaimed(one.path, one.old, one.new, names)
        ]
    return found


def _path(one: Altered, rules: Rules) -> Iterator[Objection]:
    if why := paths.unfit(one.path):
        yield Objection("path", one.path, why)
    if one.mode not in {None, *_PLAIN} or one.old_mode not in {None, *_PLAIN}:
        yield Objection("link", one.path, "links and submodules are not touched")
    elif (one.mode is None) != (one.new is None) or (one.old_mode is None) != (one.old is None):
        yield Objection("mode", one.path, "its bytes and its mode do not belong together")
    if one.new is not None and _POINTER in (one.new[: len(_POINTER)], (one.old or b"")[: len(_POINTER)]):
        yield Objection("lfs", one.path, "its bytes are kept with Git LFS, where amends writes nothing")
    if paths.is_hard(one.path):
        yield Objection("hard", one.path, "no fix may touch it: it runs, grants or steers something elsewhere")
    elif pattern := paths.protected(one.path, rules.protected):
        yield Objection("policy", one.path, f"the policy protects it ({pattern})")
    elif paths.is_asked(one.path) and not paths.protected(one.path, rules.allowed):
        yield Objection("ask", one.path, "a human decides about what is fetched, built or tested (allowed_paths)")


def _size(altered: Sequence[Altered], rules: Rules) -> Iterator[Objection]:
    if len(altered) > rules.files:
        yield Objection("size", "", f"{len(altered)} files change, at most {rules.files} may")
    added = [line for one in altered for line in _added(one)]
    size = sum(map(len, added))
    if size > rules.size:
        yield Objection("size", "", f"{size} bytes are new, at most {rules.size} may be")
    if len(added) > rules.lines:
        yield Objection("size", "", f"{len(added)} lines are new, at most {rules.lines} may be")


def _secret(altered: Sequence[Altered], redactor: Redactor) -> Iterator[Objection]:
    for one in altered:
        added = b"\n".join(_added(one)).decode("utf-8", "replace")
        if redactor.finds(added) or redactor.finds(one.path):
            yield Objection("secret", one.path, "it would publish what looks like a secret")


def _added(one: Altered) -> list[bytes]:
    """The lines that were not there before."""
    known = set(one.old.split(b"\n")) if one.old else set()
    return [line for line in one.new.split(b"\n") if line not in known] if one.new else []
