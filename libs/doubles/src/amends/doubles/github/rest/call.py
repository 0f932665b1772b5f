"""One REST request as its handler sees it, and the answer it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import Json, Refused, field_error, invalid, not_found
from amends.doubles.github.state.accounts import App
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review
from amends.doubles.github.state.world import World


@dataclass(frozen=True)
class Answer:
    """`content` is JSON to be, or bytes as they are; None is an empty body."""

    status: int = 200
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


NO_CONTENT = Answer(204)


@dataclass(frozen=True)
class Call:
    """A request that found its route; `repo` is set below /repos/{owner}/{repo}."""

    world: World
    caller: Caller
    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    repo: Repository | None = None

    @property
    def repository(self) -> Repository:
        if self.repo is None:
            raise not_found()
        return self.repo

    @property
    def app(self) -> App:
        if self.caller.app is None:
            raise Refused(401, "A JSON web token could not be decoded")
        return self.caller.app

    @property
    def fields(self) -> Json:
        """The body, which has to be an object; none at all is an empty one."""
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise Refused(422, "Invalid request.\n\nFor 'links/0/schema', the body is not an object.")
        return self.body

    def number(self, name: str) -> int:
        """A number in the path."""
        return int(self.params[name])

    def pull(self) -> Pull:
        issue = self.repository.issues.get(self.number("pull_number"))
        if issue is None or issue.pull is None or self._not_there_yet(issue.pull):
            raise not_found()
        return issue.pull

    def _not_there_yet(self, pull: Pull) -> bool:
        return self.method == "GET" and self.world.lag.missing(pull.node)

    def issue(self) -> Issue:
        issue = self.repository.issues.get(self.number("issue_number"))
        if issue is None or (issue.pull is not None and self._not_there_yet(issue.pull)):
            raise not_found()
        return issue

    def review(self) -> Review:
        """Somebody else's pending review does not exist."""
        number = self.number("review_id")
        found = next((one for one in self.pull().reviews if one.id == number), None)
        if found is None or (found.state == "PENDING" and found.said.author is not self.caller.account):
            raise not_found()
        return found

    def comment(self) -> Comment:
        number = self.number("comment_id")
        threads = (thread for pull in self.repository.pulls for thread in pull.threads)
        found = next((one for thread in threads for one in thread.comments if one.id == number), None)
        hidden = found is not None and found.review.state == "PENDING"
        if found is None or (hidden and found.said.author is not self.caller.account):
            raise not_found()
        return found

    def issue_comment(self) -> IssueComment:
        number = self.number("comment_id")
        found = (one for issue in self.repository.issues.values() for one in issue.comments if one.id == number)
        if (one := next(found, None)) is None:
            raise not_found()
        return one

    def text(self, name: str) -> str | None:
        """An optional string of the body."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise invalid(
                field_error("Request", name, "invalid", f"{name} is not a string."), message="Invalid request."
            )
        return value

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise Refused(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return value

    def integer(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise Refused(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not an integer.")
        return value

    def names(self, name: str) -> list[str]:
        """A list of strings of the body."""
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Refused(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not an array of strings.")
        return value

    @property
    def since(self) -> datetime | None:
        """`since` of the query; what cannot be read is refused."""
        text = self.query.get("since")
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise invalid(field_error("Request", "since", "invalid"), message="Validation Failed") from None
        return moment if moment.tzinfo is not None else moment.astimezone()

    def accepts(self, kind: str) -> bool:
        """Whether the media type asked for is diff, patch, raw ..."""
        accept = self.headers.get("accept", "")
        return any(f"application/vnd.github.{version}{kind}" in accept for version in ("", "v3.", "VERSION."))
