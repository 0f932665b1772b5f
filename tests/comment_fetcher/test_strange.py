"""Reading a GitHub that is odd wherever its documentation allows it: all is read, or it is said what is in the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr, TypeAdapter

from amends.cli.checks import Check
from amends.cli.forge import forge as looked_at
from amends.comment_fetcher.reading import Reader
from amends.comment_fetcher.sighted import Before, Sight, sighted
from amends.comment_fetcher.trust import permission
from amends.common.events import Author, CommentAdded, ReviewRejected
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Down, Lacking, Torn
from amends.common.github.models import IssueComment
from amends.common.github.sightings import EPOCH, NOBODY
from amends.common.policy import Overrides
from amends.common.sections import Fetcher, GitHub
from amends.common.settings import Settings
from tests.support.asynchronous import asynchronous
from tests.support.strange import TOKEN, strange
from tests.support.strange_graphql import Forge
from tests.support.strange_rest import NUMBER

LEGAL = ["offsets", "fractions", "gzip", "chunked", "http10", "nodate", "int_nodes", "null_nodes", "few odd_links"]
REFUSED = {
    "no_graphql": (Lacking, "there is no GraphQL API at http://"),
    "old_schema": (Lacking, "a newer Enterprise Server does: Field 'fullDatabaseId' doesn't exist"),
    "web_page": (Torn, "a web page came instead of GitHub's answer"),
    "partial": (Down, "Something went wrong while executing your query"),
    "unnumbered": (Torn, "GitHub does not say the repository's number"),
}
_TALK = TypeAdapter(list[IssueComment])


def settings(forge: Forge) -> GitHub:
    return GitHub(api_url=forge.api, token=SecretStr(TOKEN))


@asynccontextmanager
async def reached(folder: Path, odd: str) -> AsyncIterator[Reach]:
    """Bob rejects with a suggestion, alice asks why, and there is some talk."""
    with strange(folder, *odd.split()) as forge:
        thread = forge.thread("bob", "```suggestion\nb = 23\n```", forge.review("bob", "CHANGES_REQUESTED", "Look."))
        forge.reply("alice", "Why?", thread)
        for number in range(7):
            forge.say("alice", f"talk {number}")
        async with Client(settings(forge)) as client:
            yield await client.named(forge.name)


@pytest.mark.parametrize("odd", LEGAL)
@asynchronous
async def test_all_is_read_however_it_is_said(tmp_path: Path, odd: str) -> None:
    async with reached(tmp_path, odd) as reach:
        snapshot = await Reader().read(reach, NUMBER)
        facts = sighted(snapshot, Sight(NOBODY, EPOCH), Before())
        expects = [fact.node for fact in facts if isinstance(fact, CommentAdded | ReviewRejected)]
        again = await Reader().read(reach, NUMBER, expects)
        talk, _ = await reach.every(f"/issues/{NUMBER}/comments", _TALK)
    said = ["pr.observed", "review.rejected", *["comment.added"] * 9, "thread.unresolved"]
    assert [fact.type for fact in facts] == said
    assert [one.comment.body for one in snapshot.threads[0].said] == ["```suggestion\nb = 23\n```", "Why?"]
    assert [one.comment.body for one in snapshot.talk] == [one.body for one in talk] == [f"talk {n}" for n in range(7)]
    assert (again.lagging, snapshot.reviews[0].comment.id > 2**53) == ((), True)


@asynchronous
async def test_what_webhooks_gave_no_global_name_is_found_in_the_lists_by_its_number(tmp_path: Path) -> None:
    async with reached(tmp_path, "unnamed") as reach:
        snapshot = await Reader().read(reach, NUMBER)
        kinds = (("review", snapshot.reviews), ("thread", snapshot.threads[0].said), ("comment", snapshot.talk))
        unnamed = [f"{kind}-{said.comment.id}" for kind, all_ in kinds for said in all_]
        assert (await Reader().read(reach, NUMBER, unnamed)).lagging == ()
    assert {said.node[:5] for said in snapshot.threads[0].said} == {"PRRC_"}


@pytest.mark.parametrize("odd", REFUSED)
@asynchronous
async def test_what_cannot_be_read_is_said_and_is_never_nothing(tmp_path: Path, odd: str) -> None:
    kind, words = REFUSED[odd]
    async with reached(tmp_path, odd) as reach:
        with pytest.raises(kind) as refused:
            await Reader().read(reach, NUMBER)
    assert words in str(refused.value)


@asynchronous
async def test_whose_permission_it_is_is_looked_up_where_github_does_not_say(tmp_path: Path) -> None:
    async with reached(tmp_path, "gzip") as reach:
        assert await permission(reach, Author(id=12, login="bob")) == "write"
        assert await permission(reach, Author(id=999, login="bob")) == "none"


def doctored(forge: Forge, name: str) -> dict[str, Check]:
    known = Settings(github=settings(forge), fetcher=Fetcher(mode="poll"), policy=Overrides())
    return {check.name: check for check in looked_at(known, [name]) if check.status == "fail"}


@pytest.mark.parametrize(
    ("odd", "check", "words"),
    [
        ("no_graphql", "reading", "there is no GraphQL API"),
        ("old_schema", "reading", "a newer Enterprise Server does"),
        ("no_git", "cloning", "git cannot read http://"),
        ("renamed", "repository", "acme/old is called Acme/shop.js now"),
    ],
)
def test_the_doctor_says_what_a_github_lacks(tmp_path: Path, odd: str, check: str, words: str) -> None:
    with strange(tmp_path, odd) as forge:
        found = doctored(forge, "acme/old" if odd == "renamed" else forge.name)
    assert list(found) == [check]
    assert words in found[check].found


def test_the_doctor_has_no_complaint_about_one_that_is_only_odd(tmp_path: Path) -> None:
    with strange(tmp_path, "offsets", "gzip", "chunked") as forge:
        assert doctored(forge, forge.name) == {}


def test_git_is_where_the_repository_says_on_the_same_host(tmp_path: Path) -> None:
    with strange(tmp_path, "scm") as forge:
        assert doctored(forge, forge.name) == {}


def test_an_address_that_is_not_the_apis_is_said(tmp_path: Path) -> None:
    with strange(tmp_path) as forge:
        forge.api = forge.api.removesuffix("/v3")
        assert "does not answer like a GitHub" in doctored(forge, forge.name)["github"].found


def test_a_github_with_a_certificate_of_its_own_is_read_and_cloned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with strange(tmp_path, "tls") as forge:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert doctored(forge, forge.name) == {}


def test_a_certificate_that_nobody_vouches_for_is_named_with_the_remedy(tmp_path: Path) -> None:
    with strange(tmp_path, "tls") as forge:
        found = doctored(forge, forge.name)["github"].found
    assert "its certificate is not believed (self" in found
    assert "SSL_CERT_FILE" in found


def test_a_github_behind_a_proxy_is_read_and_cloned_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with strange(tmp_path) as forge:
        here = urlsplit(forge.api)
        monkeypatch.setenv("http_proxy", f"http://{here.netloc}")  # it takes whole addresses, and looks at no host
        forge.api = f"http://github.corp.test{here.path}"
        assert doctored(forge, forge.name) == {}
        assert forge.hosts == {"github.corp.test"}
        forge.hosts.clear()
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        forge.api = here.geturl()
        assert doctored(forge, forge.name) == {}  # what is on this machine is no matter for a proxy
