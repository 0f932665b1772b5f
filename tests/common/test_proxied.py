"""A GitHub behind a company's proxy, with the company's own certificate: we read it, and git fetches from it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr, TypeAdapter

from amends.common.git import Remote, Repositories, Repository
from amends.common.github.client import Client
from amends.common.github.errors import Down
from amends.common.github.models import Pull
from amends.common.sections import GitHub
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene
from tests.support.proxied import HOST, Company, company

TUNNEL = f"CONNECT {HOST}:443"
US = f"basic {b64encode(b'user:pass').decode()}".lower()


@pytest.fixture
def theirs(tmp_path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Company]:
    for name in ("http_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    with company(tmp_path, scene.double.url) as found:
        monkeypatch.setenv("https_proxy", found.proxy)
        monkeypatch.setenv("SSL_CERT_FILE", str(found.authority))
        yield found


@pytest.fixture
def known(scene: Scene) -> GitHub:
    paths = (url.removeprefix(scene.double.url) for url in (scene.double.api_url, scene.double.graphql_url))
    api, graphql = (f"https://{HOST}{path}" for path in paths)
    return GitHub(api_url=api, graphql_url=graphql, token=SecretStr(scene.double.token("octocat")))


@asynchronous
async def test_github_is_read_through_the_tunnel(theirs: Company, known: GitHub) -> None:
    async with Client(known) as client:
        reach = await client.named("acme/widget")
        pull = await reach.get("/pulls/1", TypeAdapter(Pull))
    assert (pull.number, reach.clone_url) == (1, f"https://{HOST}/acme/widget.git")
    assert set(theirs.asked) == {(TUNNEL, US)}


@asynchronous
async def test_a_certificate_that_nobody_told_us_to_believe_is_not_believed(
    theirs: Company, known: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    async with Client(known) as client:
        with pytest.raises(Down, match="SSL_CERT_FILE names the file of its authority"):
            await client.named("acme/widget")
    assert set(theirs.asked) == {(TUNNEL, US)}


@asynchronous
async def test_git_goes_through_the_tunnel_too(theirs: Company, scene: Scene, tmp_path: Path) -> None:
    ours: Repository = Repositories(tmp_path / "git").of(1)
    remote = Remote(f"https://{HOST}/acme/widget.git", scene.double.token("octocat"))
    await ours.fetch(remote, ["+refs/pull/1/head:refs/amends/pull/1"])
    assert await ours.resolve("refs/amends/pull/1") == scene.pull.head
    assert theirs.asked == [(TUNNEL, ""), (TUNNEL, US)]  # git asks first which way of saying who it is is wanted


@asynchronous
async def test_git_believes_no_certificate_that_it_was_not_told_of(
    theirs: Company, scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    remote = Remote(f"https://{HOST}/acme/widget.git", scene.double.token("octocat"))
    with pytest.raises(Down, match="certificate"):
        await Repositories(tmp_path / "git").of(1).fetch(remote, ["+refs/pull/1/head:refs/amends/pull/1"])
    assert theirs.asked
