"""Who may use the HTTP API: bearer tokens, known by their sha256."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from hashlib import sha256
from http import HTTPStatus

from amends.common.sections import Bearer
from amends.gateway import asking, measures
from amends.gateway.exchange import Answer, Head, refusal

_BEARER = re.compile(r"[Bb]earer +([!-~]{1,512})")


class Clash(Exception):
    """The reviews of two callers would have the same numbers: rename one of their tokens."""


class Callers:
    """Who may call, by the sha256 of his token."""

    def __init__(self, tokens: Sequence[Bearer]) -> None:
        places: dict[int, str] = {}
        for token in tokens:
            other = places.setdefault(asking.caller(token.name), token.name)
            if other != token.name:
                raise Clash(f"gateway.tokens: {other} and {token.name} cannot be told apart by a number: rename one")
        self._tokens = tuple(tokens)

    def who(self, head: Head) -> Bearer | None:
        """Whose token came with the request. All are compared: how long it takes tells nothing."""
        found = _BEARER.fullmatch(head.text(b"authorization"))
        digest = sha256(found[1].encode() if found else b"").hexdigest()
        matches = [token for token in self._tokens if hmac.compare_digest(token.sha256, digest)]
        return matches[0] if found and matches else None


def reaches(token: Bearer, full_name: str) -> bool:
    """Whether the token is for this repository; what belongs to none is for those that are for all."""
    return bool({full_name.lower(), "*"} & {name.lower() for name in token.repositories})


def unknown() -> Answer:
    """The answer to somebody without a token of ours."""
    why = "Authorization: Bearer and a token of gateway.tokens, please"
    return refusal(HTTPStatus.UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


def counted(answer: Answer) -> Answer:
    """The answer, counted."""
    measures.asked(answer.status.value)
    return answer
