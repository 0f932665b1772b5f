"""Who we are to GitHub: an App that signs for itself and gets narrow tokens for an hour, or one standing token.

Tokens are made once however many ask at the same time, belong to one installation, its repositories and permissions,
and are shared by everybody in the process: the client, and git.
"""

from __future__ import annotations

import time
from asyncio import Lock
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import RSAAlgorithm
from pydantic import TypeAdapter, ValidationError

from amends.common.github.errors import Torn
from amends.common.github.models import Part

SIGNED_SECONDS = 540  # GitHub takes ten minutes at most, and clocks differ
_BEFORE = 60
_MARGIN = 300.0  # a token that ends sooner than this is not begun with
_USABLE = 30.0
Permissions = tuple[tuple[str, str], ...]
READING: Permissions = (
    ("checks", "read"), ("contents", "read"), ("issues", "read"), ("metadata", "read"), ("pull_requests", "read"),
    ("statuses", "read"),
)  # fmt: skip
PUSHING: Permissions = (("contents", "write"), ("metadata", "read"))
PUBLISHING: Permissions = (*PUSHING, ("pull_requests", "read"))
CLONING: Permissions = (("contents", "read"), ("metadata", "read"))
FIXING: Permissions = (*CLONING, ("pull_requests", "read"))
WATCHING: Permissions = (
    ("checks", "read"), ("contents", "read"), ("metadata", "read"), ("pull_requests", "read"), ("statuses", "read")
)  # fmt: skip
TELLING: Permissions = (("issues", "write"), ("metadata", "read"), ("pull_requests", "write"))


class Scope(NamedTuple):
    """What a token is for. Installation 0: there is one token for everything."""

    installation: int = 0
    repositories: tuple[int, ...] = ()
    permissions: Permissions = ()


class Credentials(Protocol):
    """Where tokens come from."""

    async def token(self, scope: Scope, refused: str = "") -> str:
        """A token for this; another one than `refused`, which GitHub did not take."""
        ...


class Granted(Part):
    """A token of an installation."""

    token: str
    expires_at: datetime


class Made(NamedTuple):
    """A token, and until when it is good by our steady clock."""

    token: str
    ends: float


class StandingToken:
    """A personal access token: good until somebody revokes it."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self, scope: Scope, refused: str = "") -> str:  # noqa: ARG002 - there is only the one
        """The one token."""
        return self._token


# Asks for a token as the App: the path and the body; answers with the body and GitHub's own time.
Ask = Callable[[str, Mapping[str, object]], Awaitable[tuple[bytes, float]]]


@lru_cache(maxsize=8)
def _read(pem: str) -> RSAPrivateKey:
    """Once in a process: it takes a hundred times as long as to sign with it, and everybody waits."""
    key = RSAAlgorithm(RSAAlgorithm.SHA256).prepare_key(pem)
    if not isinstance(key, RSAPrivateKey):
        raise jwt.InvalidKeyError("it is the public one")
    return key


class AppTokens:
    """Tokens of a GitHub App's installations."""

    def __init__(self, app_id: str, key: str, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._app_id = app_id
        self._key = _read(key)
        self._ask = ask
        self._clock = clock
        self._ahead = 0.0
        self._made: dict[Scope, Made] = {}
        self._locks: dict[Scope, Lock] = {}

    def signature(self) -> str:
        """What proves that we are the App, for a few minutes, by GitHub's clock as far as we know it."""
        now = int(time.time() + self._ahead)
        said = {"iss": self._app_id, "iat": now - _BEFORE, "exp": now - _BEFORE + SIGNED_SECONDS}
        return jwt.encode(said, self._key, algorithm="RS256")

    def heard(self, github_time: float) -> None:
        """Note how far our clock is from GitHub's."""
        ahead = github_time - time.time()
        self._ahead = ahead if abs(ahead) > _USABLE else 0.0

    async def token(self, scope: Scope, refused: str = "") -> str:
        """A token for this scope: the one that there is, or a new one that everybody who waits will share."""
        if (found := self._good(scope, refused)) is None:
            async with self._locks.setdefault(scope, Lock()):
                if (found := self._good(scope, refused)) is None:
                    found = self._made[scope] = await self._new(scope)
        return found.token

    def _good(self, scope: Scope, refused: str) -> Made | None:
        found = self._made.get(scope)
        usable = found is not None and found.token != refused and found.ends - self._clock() > _MARGIN
        return found if usable else None

    async def _new(self, scope: Scope) -> Made:
        body: dict[str, object] = {}
        if scope.repositories:
            body["repository_ids"] = list(scope.repositories)
        if scope.permissions:
            body["permissions"] = dict(scope.permissions)
        path = f"/app/installations/{scope.installation}/access_tokens"
        asked = self._clock()
        content, github_time = await self._ask(path, body)
        try:
            granted = _GRANTED.validate_json(content)
        except ValidationError as error:
            raise Torn(_USABLE, "the answer to our request for a token cannot be read") from error
        # By the difference of two of GitHub's own dates: however wrong our clock is, the hour has its length.
        return Made(granted.token, asked + granted.expires_at.timestamp() - github_time)


_GRANTED = TypeAdapter(Granted)
