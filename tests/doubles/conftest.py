"""The fixtures of the double's own tests: a small world with a pull request, and who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import AppHandle, InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from tests.doubles.client import Api, Ask
from tests.doubles.receiver import Receiver
from tests.support.github import LINES


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    with GitHubDouble() as double:
        yield double


@pytest.fixture
def repo(github: GitHubDouble) -> RepositoryHandle:
    """acme/widget: alice and bob may write, rita may read."""
    made = github.repo("acme/widget", {"app.py": LINES, "old.py": LINES})
    made.collaborator("alice", "write")
    made.collaborator("bob", "write")
    made.collaborator("rita", "read")
    return made


@pytest.fixture
def pull(repo: RepositoryHandle) -> PullHandle:
    """Alice's, which changes line 10 of app.py."""
    return repo.pull("feature", by="alice", files={"app.py": LINES.replace("line 10\n", "line ten\n")})


@pytest.fixture
def api(github: GitHubDouble) -> Iterator[Ask]:
    """The API by any token, or by none."""
    with ExitStack() as stack:
        yield lambda token: stack.enter_context(Api(github, token))


@pytest.fixture
def alice(github: GitHubDouble, repo: RepositoryHandle) -> Iterator[Api]:
    with Api(github, github.token("alice")) as one:
        yield one


@pytest.fixture
def bob(github: GitHubDouble, repo: RepositoryHandle) -> Iterator[Api]:
    with Api(github, github.token("bob")) as one:
        yield one


@pytest.fixture
def app(github: GitHubDouble) -> AppHandle:
    return github.app("amends")


@pytest.fixture
def installed(app: AppHandle, repo: RepositoryHandle) -> InstallationHandle:
    """The App on acme/widget, with what amends asks for."""
    return app.install("acme", [repo])


@pytest.fixture
def receiver(github: GitHubDouble) -> Iterator[Receiver]:
    """Hears of everything, with the secret `shh`."""
    with Receiver() as one:
        github.webhooks.to(one.url, "shh")
        yield one
