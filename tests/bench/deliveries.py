"""Signed webhooks of 25 KB as GitHub sends them: reviews that ask for changes, each with its comments. No two alike.

Standard library only, because whoever sends them shall not wait for our imports.
"""

from __future__ import annotations

import copy
import hmac
import json
from collections.abc import Iterator
from typing import NamedTuple

from tests.contract.examples import Json, examples

SECRET = "the secret of the bench"  # noqa: S105 - opens nothing
REPOSITORY = "Codertocat/Hello-World"
SIZE = 25_000
COMMENTS = 4  # of each review
_ID, _NUMBER = 777_000_000_001, 888_000_001
_DIGITS = (len(str(_ID)), len(str(_NUMBER)))


class Template(NamedTuple):
    """A body in which two numbers stand for an object's and for the pull request's."""

    event: str
    body: bytes

    def delivery(self, id_: int, number: int) -> bytes:
        """The whole request."""
        ids, numbers = _DIGITS
        body = self.body.replace(str(_ID).encode(), b"%0*d" % (ids, id_ + 10 ** (ids - 1)))
        body = body.replace(str(_NUMBER).encode(), b"%0*d" % (numbers, number + 10 ** (numbers - 1)))
        signature = hmac.digest(SECRET.encode(), body, "sha256").hex()
        return (
            b"POST /webhooks/github HTTP/1.1\r\nHost: amends.example\r\nUser-Agent: GitHub-Hookshot/044aadd\r\n"
            b"Accept: */*\r\nContent-Type: application/json\r\nX-GitHub-Hook-ID: 292430182\r\n"
            b"X-GitHub-Hook-Installation-Target-ID: 79929171\r\nX-GitHub-Hook-Installation-Target-Type: repository\r\n"
            b"X-GitHub-Event: %s\r\nX-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-%012d\r\nX-Hub-Signature-256: sha256=%s\r\n"
            b"Content-Length: %d\r\n\r\n" % (self.event.encode(), id_, signature.encode(), len(body))
        ) + body


def templates() -> tuple[Template, Template]:
    """A review and a comment."""
    review, comment = copy.deepcopy(examples()["pull_request_review"][3]), copy.deepcopy(_a_comment())
    said = {"id": _ID, "node_id": f"PRR_{_ID}", "state": "changes_requested", "body": "Please mend this."}
    review["review"] |= said
    comment["comment"] |= {"id": _ID, "node_id": f"PRRC_{_ID}", "body": "This leaks a file handle."}
    return _padded("pull_request_review", review), _padded("pull_request_review_comment", comment)


def lane(number: int) -> Iterator[bytes]:
    """What one connection sends, without end: one pull request after the other."""
    review, comment = templates()
    for pull in range(number * 100_000, (number + 1) * 100_000):
        yield review.delivery(pull * 10, pull)
        for said in range(1, COMMENTS + 1):
            yield comment.delivery(pull * 10 + said, pull)


def _a_comment() -> Json:
    return examples()["pull_request_review_comment"][1]


def _padded(event: str, payload: Json) -> Template:
    payload["pull_request"] |= {"number": _NUMBER, "body": ""}
    missing = SIZE - len(_compact(payload))
    payload["pull_request"]["body"] = ("What this changes, and why it does. " * 400)[: max(0, missing)]
    return Template(event, _compact(payload))


def _compact(payload: Json) -> bytes:
    return json.dumps(payload, separators=(",", ":")).encode()
