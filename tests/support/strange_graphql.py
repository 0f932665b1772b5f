"""The same as GraphQL shows it: by GitHub's own schema, executed by graphql-core."""

from __future__ import annotations

import gzip
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLScalarType, GraphQLSchema, build_schema, graphql_sync

from tests.support.strange_rest import GONE, NUMBER, REPO, Answer, Json, Shop


@cache
def _schema() -> GraphQLSchema:
    text = gzip.decompress((Path(__file__).parents[1] / "contract/data/schema.graphql.gz").read_bytes()).decode()
    schema = build_schema(text, assume_valid=True)
    numbers = schema.type_map["BigInt"]
    assert isinstance(numbers, GraphQLScalarType)
    setattr(numbers, "serialize", str)  # noqa: B010 - as GitHub sends them; mypy does not let a method be replaced
    return schema


class Forge(Shop):
    """Both ways to ask."""

    def graphql(self, said: Json) -> Answer:
        if "no_graphql" in self.odd:
            return GONE
        if "web_page" in self.odd:
            return 200, "<html>Sign in</html>", {"Content-Type": "text/html"}
        if "old_schema" in self.odd and "fullDatabaseId" in said["query"]:
            why = {"code": "undefinedField", "typeName": "PullRequestReview", "fieldName": "fullDatabaseId"}
            words = "Field 'fullDatabaseId' doesn't exist on type 'PullRequestReview'"
            return 200, {"errors": [{"path": ["query"], "extensions": why, "message": words}]}, {}
        done = graphql_sync(_schema(), said["query"], self._root(), variable_values=said.get("variables"))
        errors = [{"message": error.message, "path": error.path} for error in done.errors or ()]
        return 200, {"data": done.data, **({"errors": errors} if errors else {})}, {}

    def _root(self) -> Json:
        def resolve(_info: object, input: Json) -> Json:  # noqa: A002 - GraphQL's name
            thread = next(one for one in self.threads if self._global("PRRT", one) == input["threadId"])
            thread["resolved"] = True
            return {"thread": self._thread(thread)}

        def nodes(_info: object, ids: list[str]) -> list[Json | None]:
            known = {one["id"]: one for one in self._everything()}
            return [known.get(id_) for id_ in ids]

        return {
            "repository": lambda _info, owner, name, **_asked: self._seen(f"{owner}/{name}"),
            "node": lambda info, id: nodes(info, [id])[0],  # noqa: A006 - GraphQL's name
            "nodes": nodes,
            "resolveReviewThread": resolve,
        }

    def _everything(self) -> Iterator[Json]:
        yield from (self._thread(thread) for thread in self.threads)
        yield from (self._remarked(thread, one) for thread, one in self._remarks())
        yield from (self._spoken("IssueComment", "IC", one) for one in self.talk)
        yield from (self._reviewed(one) for one in self.reviews)

    def _seen(self, full_name: str) -> Json | None:
        if full_name.lower() != self.name.lower():
            return None
        number = None if "unnumbered" in self.odd else REPO
        pull = self._pull_seen()
        listed = {"pullRequests": self._list([pull]), "pullRequest": pull}
        return {"id": "R_77", "databaseId": number, "nameWithOwner": self.name, "object": None, **listed}

    def _pull_seen(self) -> Json:
        asked = [{"requestedReviewer": self._actor(login)} for login in self.requested]
        reviews = self._list([self._reviewed(one) for one in self.reviews])
        words = self._list([self._spoken("IssueComment", "IC", one) for one in self.talk])
        state = {"state": "OPEN", "isDraft": False, "locked": False, "mergeable": "UNKNOWN", "title": "A change"}
        head = {"headRefName": "topic", "headRefOid": self.sha("topic"), "headRef": {"name": "topic"}}
        lists = {"reviews": self._broken if "partial" in self.odd else reviews, "comments": words, "labels": None}
        return {
            "id": "PR_7", "number": NUMBER, "url": f"{self.api}/pull/7", "updatedAt": self._now.isoformat(), **state,
            **head, "headRepository": {"databaseId": REPO}, "baseRefName": "main", "author": self._actor("alice"),
            **lists, "reviewThreads": self._list([self._thread(one) for one in self.threads]),
            "reviewRequests": self._list(asked), "statusCheckRollup": None,
        }  # fmt: skip

    @staticmethod
    def _broken(_info: object, **_asked: object) -> Json:
        raise RuntimeError("Something went wrong while executing your query. Please include `ABCD:1234`.")

    def _actor(self, login: str) -> Json:
        return {"__typename": "User", "login": login, "databaseId": self.people[login]}

    def _global(self, kind: str, one: Json) -> str:
        return str(self._global_id(kind, one["id"]))

    def _spoken(self, kind: str, short: str, one: Json) -> Json:
        dates = {"createdAt": one["at"], "updatedAt": one["at"], "lastEditedAt": None, "isMinimized": False}
        named = {"__typename": kind, "id": self._global(short, one), "fullDatabaseId": one["id"]}
        return {**named, **dates, "body": one["body"], "author": self._actor(one["who"]), "editor": None}

    def _reviewed(self, one: Json) -> Json:
        told = {"state": one["state"], "submittedAt": one["at"], "commit": {"oid": one["sha"]}}
        return {**self._spoken("PullRequestReview", "PRR", one), **told}

    def _remarked(self, thread: Json, one: Json) -> Json:
        to = None if one["id"] == thread["id"] else {"fullDatabaseId": thread["id"]}
        of = {"fullDatabaseId": one["review"]} if one["review"] else None
        place = {"path": "a.py", "diffHunk": thread["hunk"], "replyTo": to, "pullRequestReview": of}
        return {**self._spoken("PullRequestReviewComment", "PRRC", one), **place, "state": "SUBMITTED"}

    def _thread(self, one: Json) -> Json:
        words = [self._remarked(one, comment) for comment in one["comments"]]
        told = {"isResolved": one["resolved"], "isOutdated": False, "path": "a.py", "line": 2, "startLine": None}
        sides = {"diffSide": "RIGHT", "startDiffSide": None, "subjectType": "LINE", "comments": self._list(words)}
        return {"__typename": "PullRequestReviewThread", "id": self._global("PRRT", one), **told, **sides}

    def _list(self, entries: list[Json]) -> Callable[..., Json]:
        def page(_info: object, first: int = 0, last: int = 0, **asked: Any) -> Json:
            begin = int(b64decode(asked["after"])) + 1 if asked.get("after") else 0
            end = int(b64decode(asked["before"])) if asked.get("before") else len(entries)
            places = list(range(begin, end))
            places = places[:first] if first else places[-last:]
            cursors = [b64encode(str(place).encode()).decode() for place in places]
            more = {"hasNextPage": bool(places) and places[-1] + 1 < len(entries)}
            more["hasPreviousPage"] = bool(places) and places[0] > 0
            nodes = [None] * ("null_nodes" in self.odd) + [entries[place] for place in places]
            turn = {"startCursor": [*cursors, None][0], "endCursor": [None, *cursors][-1], **more}
            return {"totalCount": len(entries), "pageInfo": turn, "nodes": nodes}

        return page
