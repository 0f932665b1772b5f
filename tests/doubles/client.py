"""Asks the double as anybody may, with a token; and as git does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from amends.doubles.github import GitHubDouble

Json = dict[str, Any]


class Api:
    """REST and GraphQL by one token, or anonymously."""

    def __init__(self, github: GitHubDouble, token: str | None = None) -> None:
        self.github = github
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(base_url=github.api_url, headers=headers, timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def get(self, path: str, **query: object) -> httpx.Response:
        return self.http.get(path, params={name: str(value) for name, value in query.items()})

    def json(self, path: str, **query: object) -> Any:
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        return self.http.request(method, path, json=body)

    def post(self, path: str, body: object = None) -> httpx.Response:
        return self.send("POST", path, body)

    def graphql(self, query: str, **variables: object) -> Json:
        answer = self.http.post(self.github.graphql_url, json={"query": query, "variables": variables})
        said: Json = answer.json()
        return said

    def data(self, query: str, **variables: object) -> Json:
        """The answer's data, when there are no errors."""
        said = self.graphql(query, **variables)
        assert "errors" not in said, said["errors"]
        data: Json = said["data"]
        return data

    def pull(self, fields: str, number: int = 1, repo: str = "acme/widget") -> Json:
        """Fields of one pull request."""
        owner, _, name = repo.partition("/")
        inner = f"repository(owner:$o,name:$r){{pullRequest(number:$n){{{fields}}}}}"
        said = self.data(f"query($o:String!,$r:String!,$n:Int!){{{inner}}}", o=owner, r=name, n=number)
        found: Json = said["repository"]["pullRequest"]
        return found


Ask = Callable[[str | None], Api]


class Git:
    """A clone of one repository, pushing and fetching with a token."""

    def __init__(self, folder: Path, url: str, token: str | None) -> None:
        self.folder = folder
        parts = urlsplit(url)
        self.url = f"{parts.scheme}://x-access-token:{token}@{parts.netloc}{parts.path}" if token else url
        self.folder.mkdir()
        self.run("init", "--quiet", "--initial-branch=main")

    def run(self, *arguments: str) -> str:
        done = self.try_to(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_to(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "test",
            "GIT_AUTHOR_EMAIL": "test@example.org",
            "GIT_COMMITTER_NAME": "test",
            "GIT_COMMITTER_EMAIL": "test@example.org",
        }
        command = ["git", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def fetch(self, ref: str) -> None:
        self.run("fetch", "--quiet", self.url, ref)
        self.run("checkout", "--quiet", "--detach", "FETCH_HEAD")

    def commit(self, path: str, content: str) -> str:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        self.run("add", "--all")
        self.run("commit", "--quiet", "--message", f"Change {path}")
        return self.run("rev-parse", "HEAD").strip()

    def push(self, ref: str, *options: str) -> subprocess.CompletedProcess[str]:
        return self.try_to("push", "--porcelain", *options, self.url, f"HEAD:{ref}")
