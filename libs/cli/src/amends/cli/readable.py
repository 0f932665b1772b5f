"""Whether a repository can be read as the services read it: through GraphQL, and with git. Nothing is kept."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from amends.cli.checks import Check
from amends.comment_fetcher.documents import Asked, List, pull_document
from amends.comment_fetcher.strand import Span
from amends.common.delivery import Later
from amends.common.git import Access, GitFailed, Remote, Repository
from amends.common.github.auth import CLONING
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Missing

_LISTS: tuple[List, ...] = ("threads", "reviews", "talk", "checks")


async def readable(client: Client, name: str) -> list[Check]:
    """Both ways, for a repository that is there."""
    try:
        reach = await client.named(name)
    except (Denied, Missing):
        return []  # what is wrong with it was told already
    checks = [await _queried(reach, name), await _listed(client, reach, name)]
    if (now := reach.place.full_name).lower() != name.lower():
        remedy = f"put {now} in its place in policy.repositories: by its old name nothing starts"
        checks.append(Check("repository", "fail", f"{name} is called {now} now", remedy))
    return checks


async def _queried(reach: Reach, name: str) -> Check:
    """All that is asked of a pull request; whether there is one of this number makes no difference."""
    document = pull_document(1, [Asked(one, Span()) for one in _LISTS], policy=True)
    try:
        data, errors = await reach.query(document.text, **document.variables)
    except (Later, Denied, Missing) as error:
        return Check("reading", "fail", f"{name}: {error}", "without it no feedback is found: see github.graphql_url")
    unseen = [str(error.get("message", ""))[:200] for error in errors if error.get("type") != "NOT_FOUND"]
    if unseen or data.get("repository") is None:
        why = "; ".join(unseen) or "it is not there, or hidden from us"
        return Check("reading", "fail", f"{name}: GraphQL does not show it whole: {why}", "see what we may there")
    return Check("reading", "ok", f"{name}: GraphQL shows all that is asked")


async def _listed(client: Client, reach: Reach, name: str) -> Check:
    with TemporaryDirectory(prefix="amends-") as folder:
        repository = Repository(Path(folder, "look.git"))

        async def look(remote: Remote) -> object:
            return await repository.heads(remote, "amends")

        try:
            await Access(client, CLONING).using(reach.place.repo, look)
        except (Later, Denied, Missing, GitFailed, OSError) as error:
            return Check(
                "cloning", "fail", f"{name}: git cannot read {reach.clone_url}: {error}",
                "see github.git_url, below which git finds all repositories, and what the token may",
            )  # fmt: skip
    return Check("cloning", "ok", f"{name}: git can read {reach.clone_url}")
