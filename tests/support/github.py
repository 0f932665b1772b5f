"""The GitHub that tests of the product talk to: the double on a free port, with an App, people and a pull request.

    with github() as double:
        scene = set_scene(double)
        client = Client(scene.app_settings)                 # or scene.token_settings
        double.webhooks.to(gateway_url, "secret", scene.app)
        thread = scene.pull.comment("bob", "Why?", path="app.py", line=10)
        double.before_request = lambda asked: thread.reply("Because.", by="alice")
        double.faults.next("GET", "/comments", status=502)
        assert double.requests.count("GRAPHQL") <= 2

People act through `scene.repo` and `scene.pull`; whoever is named for the first time is made. `double.requests` is what
was asked; with `github(checked=True)` nothing may have been asked or answered otherwise than GitHub describes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice

from pydantic import SecretStr

from amends.common.sections import GitHub
from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import AppHandle, InstallationHandle
from amends.doubles.github.control.pulls import Inline, PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.control.talk import ThreadHandle
from tests.contract.descriptions import load

LINES = "".join(f"line {n}\n" for n in range(1, 21))


@contextmanager
def github(*, latency: float = 0.0, checked: bool = False) -> Iterator[GitHubDouble]:
    """A GitHub of its own, in a thread; `latency` seconds before every answer, each `checked` for about 10 ms."""
    with GitHubDouble() as double:
        double.latency = latency
        if checked:
            double.check(load())
        yield double
    if wrong := [*double.violations, *(double.requests.unknown if checked else ())]:
        raise AssertionError("not as GitHub describes it:\n" + "\n".join(wrong))


@dataclass(frozen=True)
class Scene:
    """acme/widget: alice, bob and carol may write, rita may read; alice's pull request changes line 10 of app.py.

    The App amends is installed on it, with all that its services need.
    """

    double: GitHubDouble
    repo: RepositoryHandle
    pull: PullHandle
    app: AppHandle
    installation: InstallationHandle

    @property
    def app_settings(self) -> GitHub:
        """The product's `[github]`, as the App."""
        return GitHub(
            api_url=self.double.api_url,
            graphql_url=self.double.graphql_url,
            app_id=str(self.app.id),
            private_key=SecretStr(self.app.pem),
        )

    @property
    def token_settings(self) -> GitHub:
        """The same as a person with a token."""
        token = SecretStr(self.double.token("octocat"))
        return GitHub(api_url=self.double.api_url, graphql_url=self.double.graphql_url, token=token)


def set_scene(double: GitHubDouble) -> Scene:
    repo = double.repo("acme/widget", {"app.py": LINES, "old.py": LINES})
    for login in ("alice", "bob", "carol"):
        repo.collaborator(login, "write")
    repo.collaborator("rita", "read")
    app = double.app("amends")
    pull = repo.pull("feature", by="alice", files={"app.py": LINES.replace("line 10\n", "line ten\n")})
    return Scene(double, repo, pull, app, app.install("acme", [repo]))


@dataclass(frozen=True)
class Crowd:
    """How much is said about a pull request: inline comments spread over reviews, and comments in the conversation."""

    inline: int = 250
    reviews: int = 40
    talk: int = 120


def crowd(repo: RepositoryHandle, size: Crowd | None = None) -> PullHandle:
    """A pull request with as many words as the promises speak of; each inline comment begins a thread."""
    asked = size or Crowd()
    lines = [f"crowded {n}\n" for n in range(1, asked.inline + 1)]
    pull = repo.pull("crowded", by="alice", files={"crowd.py": "".join(lines)}, title="Crowded")
    where = iter(range(1, asked.inline + 1))
    for n, by in zip(range(asked.reviews), cycle(("bob", "carol"))):
        share = (asked.inline - n - 1) // asked.reviews + 1 if asked.reviews else 0
        inline: list[Inline] = [
            {"path": "crowd.py", "line": line, "body": f"inline {line}"} for line in islice(where, share)
        ]
        pull.review(by, "changes_requested" if n % 4 == 0 else "commented", f"review {n}", inline)
    for n, by in zip(range(asked.talk), cycle(("alice", "bob", "carol"))):
        pull.say(by, f"talk {n}")
    return pull


def lengthen(thread: ThreadHandle, replies: int) -> None:
    """Replies by two people in turn. As on GitHub, each of them is a review of its own, without words."""
    for n, by in zip(range(replies), cycle(("alice", "bob"))):
        thread.reply(f"reply {n}", by)
