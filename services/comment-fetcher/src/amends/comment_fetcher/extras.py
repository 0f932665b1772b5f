"""What is looked up beside the pull request itself, and only when it matters: its base, its head, its conflicts."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from amends.comment_fetcher.checks import failing
from amends.comment_fetcher.documents import base_checks_document, policy_document
from amends.comment_fetcher.policyfile import policy_seen
from amends.comment_fetcher.shapes import CheckSeen, RepositorySeen, rollup_page
from amends.comment_fetcher.snapshot import Snapshot
from amends.common.events import PolicyObserved
from amends.common.github.client import Reach
from amends.common.github.errors import Missing, Torn
from amends.common.github.models import Many, Part, Words
from amends.common.github.names import in_path, is_sha
from amends.common.github.pages import TooMany, together
from amends.common.github.text import name

_SOON = 30.0
MOST_PATHS = 100
_MOST_PAGES = 50
UNKNOWN = "(GitHub does not say where)"


class _File(Part):
    filename: Words = ""


class Compared(Part):
    """How two commits stand to each other, and the files that differ since their common ancestor."""

    status: Words = ""
    files: Many[_File] = ()


_COMPARED = TypeAdapter(Compared)


async def is_behind(reach: Reach, known: str, shown: str) -> bool:
    """Whether GitHub shows us a commit that is older than one we have been told of."""
    if known == shown or not is_sha(known):
        return False
    try:
        compared = await reach.get(f"/compare/{known}...{shown}?per_page=1", _COMPARED)
    except Missing:  # the one we were told of is gone: somebody rewrote the branch
        return False
    return compared.status == "behind"


async def conflicts(reach: Reach, snapshot: Snapshot) -> tuple[str, ...]:
    """The paths that both sides changed, if the two do not merge. GitHub does not say where exactly they clash."""
    pull = snapshot.pull
    if snapshot.seen.mergeable != "CONFLICTING" or not is_sha(pull.head.sha):
        return ()
    base, head = in_path(pull.base.ref), pull.head.sha
    try:
        ours, theirs = await together(
            reach.get(f"/compare/{one}...{other}?per_page=1", _COMPARED) for one, other in ((base, head), (head, base))
        )
    except Missing:
        return (UNKNOWN,)
    both = {file.filename for file in ours.files} & {file.filename for file in theirs.files}
    return tuple(sorted(name(path) for path in both))[:MOST_PATHS] or (UNKNOWN,)


async def failing_on_base(reach: Reach, branch: str) -> frozenset[str]:
    """The checks that fail on the base as it is: the change is not to blame for them."""
    found: list[CheckSeen] = []
    after: str | None = None
    for _ in range(_MOST_PAGES):
        document = base_checks_document(branch, after)
        data, _errors = await reach.query(document.text, **document.variables)
        ref: Any = (data.get("repository") or {}).get("ref") or {}
        try:
            page = rollup_page((ref.get("target") or {}).get("statusCheckRollup"))
        except ValidationError as error:
            raise Torn(_SOON, "the checks of the base cannot be read") from error
        found += page.nodes
        if not page.page_info.has_next_page:
            return frozenset(check.called for check in failing(found))
        after = page.page_info.end_cursor
    raise TooMany(f"more than {_MOST_PAGES} pages of checks on the base")


async def policy(reach: Reach) -> PolicyObserved:
    """The repository's policy as it is now."""
    document = policy_document()
    data, errors = await reach.query(document.text)
    if data.get("repository") is None or errors:
        reach.lost()
        raise Missing(f"{reach.place.full_name} is not there, or we may not see its files")
    try:
        seen = RepositorySeen.model_validate(data["repository"])
    except ValidationError as error:
        raise Torn(_SOON, "the policy file cannot be read") from error
    if other := seen.other_than(reach.place.repo):
        reach.lost()
        raise Torn(_SOON, f"{reach.place.full_name}: {other}")
    return policy_seen(seen.policy)
