"""Whose words count: decided by the account's number and by what it may do in the repository right now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from amends.common.events import Author, Permission
from amends.common.github.client import Reach
from amends.common.github.errors import Missing
from amends.common.github.models import Part, User, Words
from amends.common.github.names import is_login
from amends.common.github.pages import TooMany, together
from amends.common.policy import Policy
from amends.common.standing import trusted

MOST_ASKED = 500


class Allowed(Part):
    """What somebody may do, and who that is. GitHub says `write` for maintain and `read` for triage here."""

    permission: Words = ""
    user: User | None = None


_ALLOWED = TypeAdapter(Allowed)
# The last three are no answers of GitHub's own, but of forges that speak like it.
_KNOWN: dict[str, Permission] = {
    "admin": "admin", "write": "write", "read": "read", "none": "none",
    "owner": "admin", "maintain": "write", "triage": "read",
}  # fmt: skip


async def permission(reach: Reach, author: Author) -> Permission:
    """What the account of this number may do now; a login is only how to ask, and may be another's today."""
    found = await _asked(reach, author.login, author.id)
    if found is None:
        try:
            renamed = await reach.account(author.id)
        except Missing:
            return "none"
        found = await _asked(reach, renamed.login, author.id)
    return _KNOWN.get(found.permission.lower(), "none") if found else "none"


async def _asked(reach: Reach, login: str, number: int) -> Allowed | None:
    if not is_login(login):
        return None
    try:
        found = await reach.get(f"/collaborators/{login}/permission", _ALLOWED)
        whose = found.user or await reach.named(login)  # GitHub may leave out whose permission it is
    except Missing:
        return None
    return found if whose.id == number else None


@dataclass(frozen=True)
class Trust:
    """Answers for the authors that were looked up, under one policy; about anybody else the answer is no."""

    policy: Policy
    permissions: Mapping[int, Permission]

    def __call__(self, author: Author) -> bool:
        return trusted(self.policy, author, self.permissions.get(author.id)) is True


async def looked_up(reach: Reach, policy: Policy, authors: Iterable[Author]) -> Trust:
    """Ask about all of whom it matters, side by side."""
    open_questions = {author.id: author for author in authors if trusted(policy, author, None) is None}
    if len(open_questions) > MOST_ASKED:
        raise TooMany(f"{len(open_questions)} people spoke, at most {MOST_ASKED} are looked up")
    found = await together(permission(reach, author) for author in open_questions.values())
    return Trust(policy, dict(zip(open_questions, found, strict=True)))
