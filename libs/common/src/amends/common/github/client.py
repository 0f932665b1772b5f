"""GitHub for one process: whom we are there, what is where, and one reach for each repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeVar
from urllib.parse import quote

import jwt
from pydantic import SecretStr, TypeAdapter, ValidationError

from amends.common.github.auth import READING, AppTokens, Credentials, Permissions, Scope, StandingToken
from amends.common.github.errors import Denied, Down, Lacking, Missing, Torn
from amends.common.github.exchange import Call, Exchange, Told, Unauthorized
from amends.common.github.limits import Gate, github_time
from amends.common.github.models import App, Installation, Repository, User
from amends.common.github.names import is_repository
from amends.common.github.pacing import Pacer, Rate
from amends.common.github.pages import SIZE, Page, every, last_page
from amends.common.github.text import paired
from amends.common.sections import GitHub

T = TypeVar("T")
_SOON = 30.0
_LIMITS = {"RATE_LIMIT", "RATE_LIMITED"}
_REFUSALS = {"FORBIDDEN", "INSUFFICIENT_SCOPES", "UNAUTHORIZED"}
# A query that does not fit the schema: GitHub gives a code for it, others have their words for it.
_UNKNOWN = re.compile(r"doesn't (?:exist on type|accept argument)|Cannot query field|Unknown (?:type|argument|field)")
_LACKING = 300.0
_BASE = re.compile(r"https?://[A-Za-z0-9._:/~\[\]-]{1,390}")
Json = dict[str, Any]
Count = Callable[[], None]


class Nobody(Exception):
    """No credentials for GitHub are set, or none that can be used; the message names the setting."""


class Place(NamedTuple):
    """A repository, the installation through which we reach it (0 with a token), and below which address git is."""

    repo: int
    full_name: str
    installation: int = 0
    git: str = ""


class Loan(Protocol):
    """A token that somebody else made, and where it leads."""

    @property
    def place(self) -> Place: ...
    @property
    def token(self) -> SecretStr: ...


class Lender(Protocol):
    """Whoever has the key that we must not hold."""

    async def borrow(self, repo: int, refused: str = "", gone: str = "") -> Loan:
        """A token for this repository; another one than `refused`. It is not called `gone` any more."""
        ...


class LentTokens:
    """Tokens that somebody lends us, each for one repository; what they allow is for him to say."""

    def __init__(self, lender: Lender) -> None:
        self.lender = lender

    async def token(self, scope: Scope, refused: str = "") -> str:
        """A token for the repository of this scope."""
        loan = await self.lender.borrow(scope.repositories[0], refused)
        return loan.token.get_secret_value()


class Client:
    """Finds repositories and gives out reaches. Everything that is shared is kept here: connections, tokens, gates."""

    def __init__(
        self, settings: GitHub, permissions: Permissions = READING, rate: Rate | None = None,
        lender: Lender | None = None,
    ) -> None:  # fmt: skip
        if lender is None and not settings.known:
            raise Nobody("GitHub does not know us: set github.app_id and its private key, or github.token")
        self._settings = settings
        self._permissions = permissions
        self._exchange = Exchange(settings)
        self._app = self._as_app_of(settings) if settings.app_id else None
        self._lender = lender
        token = settings.token.get_secret_value()
        self.credentials: Credentials = LentTokens(lender) if lender else self._app or StandingToken(token)
        self._gates: dict[int, Gate] = {}
        self._rate = rate or Rate()
        self._pacers: dict[int, Pacer] = {}
        self._self: User | None = None
        self._places: dict[int, Place] = {}
        self._gone: dict[int, str] = {}

    def _as_app_of(self, settings: GitHub) -> AppTokens:
        """The App, which can sign: what is wrong with its key is said now and not in the middle of work."""
        try:
            app = AppTokens(settings.app_id, settings.key(), self._grant)
            app.signature()
        except (OSError, ValueError, jwt.PyJWTError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is no RSA key in PEM"
            raise Nobody(
                f"the App's key cannot be used ({said}): set github.private_key, github.private_key_file"
            ) from None
        return app

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exchange.leave()

    @property
    def requests(self) -> int:
        """How many requests were made so far."""
        return self._exchange.made

    @property
    def now(self) -> float:
        """The time on GitHub's clock."""
        return self._exchange.github_now

    @property
    def git_url(self) -> str:
        """Below which all repositories are."""
        return self._settings.git

    # --- finding -----------------------------------------------------------------------------------------------------

    async def repository(self, repo: int) -> Reach:
        """The repository of this number, whatever it is called today."""
        if repo not in self._places and self._lender:
            self._places[repo] = (await self._lender.borrow(repo, gone=self._gone.pop(repo, ""))).place
        if repo not in self._places:
            await self._find(f"/repositories/{repo}")
        if repo not in self._places:
            raise Missing(f"repository {repo} turned out to be another one")
        return self._reach(self._places[repo])

    async def named(self, full_name: str) -> Reach:
        """The repository of this name."""
        if not is_repository(full_name):
            raise Missing(f"{full_name[:100]!r} is no name of a repository")
        known = (place for place in self._places.values() if place.full_name.lower() == full_name.lower())
        return self._reach(next(known, None) or await self._find(f"/repos/{full_name}"))

    async def ourselves(self, scope: Scope) -> User:
        """The account that all we write is by: the App's bot, or whose token it is."""
        if self._self is None:
            path = f"/users/{quote(f'{await self._slug()}[bot]', safe='')}" if self._app else "/user"
            told = await self._ask(Call("GET", f"{self._settings.rest}{path}"), scope)
            self._self = read(told.content, _USER)
        return self._self

    async def app_account(self) -> User:
        """The account of the App's bot, before any repository is known; Missing where it is installed nowhere."""
        told = await self._as_app(Call("GET", f"{self._settings.rest}/app/installations", {"per_page": 1}))
        for installation in read(told.content, _INSTALLATIONS):
            return await self.ourselves(Scope(installation.id, (), (("metadata", "read"),)))
        raise Missing("the App is not installed anywhere")

    async def _slug(self) -> str:
        told = await self._as_app(Call("GET", f"{self._settings.rest}/app"))
        return read(told.content, _APP).slug

    def learn(self, repo: int, full_name: str) -> None:
        """Remember what a repository is called now."""
        if repo in self._places and is_repository(full_name):
            self._places[repo] = self._places[repo]._replace(full_name=full_name)

    def forget(self, repo: int) -> None:
        """Look anew next time: it may have been moved, or be out of reach."""
        if place := self._places.pop(repo, None):
            self._gone[repo] = place.full_name

    async def _find(self, path: str) -> Place:
        installation = await self._installation(path) if self._app else 0
        scope = Scope(installation, (), (("metadata", "read"),) if installation else ())
        told = await self._ask(Call("GET", f"{self._settings.rest}{path}"), scope)
        found = read(told.content, _REPOSITORY)
        if not is_repository(found.full_name):
            raise Torn(_SOON, "a repository without a name")
        self._places[found.id] = Place(found.id, found.full_name, installation, self._git_of(found))
        return self._places[found.id]

    def _git_of(self, found: Repository) -> str:
        """Where it says itself, if that is below the site that is configured; else where the settings have all."""
        base, site = found.clone_url.removesuffix(f"/{found.full_name}.git"), self._settings.site
        believed = base != found.clone_url and base.startswith(f"{site}/") and _BASE.fullmatch(base)
        return base if believed and not self._settings.git_url else self._settings.git

    async def _installation(self, path: str) -> int:
        told = await self._as_app(Call("GET", f"{self._settings.rest}{path}/installation"))
        return read(told.content, _INSTALLATION).id

    def _reach(self, place: Place) -> Reach:
        narrow = Scope(place.installation, (place.repo,), self._permissions) if place.installation else Scope()
        return Reach(self, place, narrow)

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _ask(self, call: Call, scope: Scope) -> Told:
        """Ask with a token of this scope; one that is refused is replaced once."""
        gate = self.gate(scope.installation)
        gate.check()
        token = await self.credentials.token(scope)
        try:
            return await self._exchange.send(call, token, gate)
        except Unauthorized:
            token = await self.credentials.token(scope, token)
        try:
            return await self._exchange.send(call, token, gate)
        except Unauthorized as error:
            raise Denied(str(error)) from error

    async def _as_app(self, call: Call) -> Told:
        """Ask as the App itself; a refusal may come of our clock, which is then set right."""
        if self._app is None:
            raise Denied("only an App can ask this")
        gate = self.gate(-1)
        try:
            told = await self._exchange.send(call, self._app.signature(), gate)
        except Unauthorized as error:
            self._app.heard(error.at)
        else:
            return told
        try:
            return await self._exchange.send(call, self._app.signature(), gate)
        except Unauthorized as error:
            raise Denied(str(error)) from error

    async def _grant(self, path: str, body: Mapping[str, object]) -> tuple[bytes, float]:
        told = await self._as_app(Call("POST", f"{self._settings.rest}{path}", body=body))
        return told.content, github_time(told.headers)

    async def about_us(self, path: str, query: Mapping[str, str | int] | None = None) -> Told:
        """What GitHub says to whoever we are: to the App itself, or to the one token."""
        call = Call("GET", f"{self._settings.rest}{path}", query)
        return await (self._as_app(call) if self._app else self._ask(call, Scope()))

    def gate(self, installation: int) -> Gate:
        """Where all requests under one set of limits pass."""
        return self._gates.setdefault(installation, Gate(self._settings.at_once))

    async def rest(self, scope: Scope, path: str, query: Mapping[str, str | int] | None) -> Told:
        """An answer of the REST API."""
        return await self._ask(Call("GET", f"{self._settings.rest}{path}", query), scope)

    async def write(self, scope: Scope, method: str, path: str, body: object) -> Told:
        """Change something, when its turn comes and once. What fails may have taken effect: look, then try again."""
        async with self._pacer(scope.installation).turn():
            call = Call(method, f"{self._settings.rest}{path}", body=body, safe=False)
            return await self._ask(call, scope)

    def _pacer(self, installation: int) -> Pacer:
        return self._pacers.setdefault(installation, Pacer(self._rate))

    async def mutate(self, scope: Scope, document: str, variables: Mapping[str, object]) -> tuple[Json, list[Json]]:
        """Change something through GraphQL: as `write`."""
        async with self._pacer(scope.installation).turn():
            return await self.graphql(scope, document, variables, safe=False)

    async def graphql(
        self, scope: Scope, document: str, variables: Mapping[str, object], *, safe: bool = True
    ) -> tuple[Json, list[Json]]:
        """What the GraphQL API says, and what of it is missing or refused."""
        body = {"query": document, "variables": variables}
        told = await self._ask(Call("POST", self._settings.graphql, body=body, safe=safe), scope)
        said = read(told.content, _GRAPHQL)
        data, errors = said.get("data"), said.get("errors") or []
        self._look_for_limits(errors, told, scope)
        refused = any(error.get("type") in _REFUSALS or (not safe and error.get("type")) for error in errors)
        if data is None and (strange := next((error for error in errors if _is_unknown(error)), None)):
            why = "this GitHub's GraphQL does not know all that amends asks, a newer Enterprise Server does"
            raise Lacking(_LACKING, f"{why}: {_words([strange])}")
        if data is None and not refused:
            raise Down(_SOON, f"GitHub could not answer the query: {_words(errors)}")
        return data or {}, errors

    def _look_for_limits(self, errors: list[Json], told: Told, scope: Scope) -> None:
        if any("secondary rate" in str(error.get("message")) for error in errors):
            raise self.gate(scope.installation).refused(told.headers)  # the hour's own reset has no part in it
        if any(error.get("type") in _LIMITS for error in errors):
            raise self.gate(scope.installation).refused({**told.headers, "x-ratelimit-remaining": "0"})


class Reach:
    """One repository, as far as our token reaches. `count` is told of every request."""

    def __init__(self, client: Client, place: Place, scope: Scope, count: Count | None = None) -> None:
        self._client = client
        self._scope = scope
        self._count = count
        self.place = place

    def counted(self, count: Count) -> Reach:
        """The same, for somebody who has to count: `count` may raise, and then nothing is asked."""
        return Reach(self._client, self.place, self._scope, count)

    def called(self, full_name: str) -> None:
        """It turned out to be called that."""
        self._client.learn(self.place.repo, full_name)

    def lost(self) -> None:
        """It is not where we thought it was."""
        self._client.forget(self.place.repo)

    @property
    def now(self) -> float:
        """The time on GitHub's clock, as far as it was heard."""
        return self._client.now

    @property
    def share(self) -> float:
        """How much of the hour's requests is left."""
        return self._client.gate(self.place.installation).share

    async def token(self, permissions: Permissions, refused: str = "") -> str:
        """A token for this repository alone and no more than these permissions; another one than `refused`."""
        installation = self.place.installation
        narrow = Scope(installation, (self.place.repo,), permissions) if installation else Scope()
        return await self._client.credentials.token(narrow, refused)

    @property
    def clone_url(self) -> str:
        """Where git finds it: below the site that is configured, whatever anybody says."""
        return f"{self.place.git or self._client.git_url}/{self.place.full_name}.git"

    async def get(self, path: str, kind: TypeAdapter[T]) -> T:
        """One object below the repository."""
        told = await self._rest(path, None)
        return read(told.content, kind)

    async def ourselves(self) -> User:
        """The account that all we write is by."""
        self._spend()
        return await self._client.ourselves(self._scope)

    async def account(self, number: int) -> User:
        """The account of this number, whatever it is called today."""
        self._spend()
        told = await self._client.rest(self._scope, f"/user/{number}", None)
        return read(told.content, _USER)

    async def named(self, login: str) -> User:
        """The account that is called this today; the login is one (`is_login`)."""
        self._spend()
        told = await self._client.rest(self._scope, f"/users/{login}", None)
        return read(told.content, _USER)

    async def every(
        self, path: str, kind: TypeAdapter[list[T]], known: int = 1, most: int = 100
    ) -> tuple[list[T], int]:
        """A list below the repository, whole, and how many pages it had."""

        async def turn(number: int) -> Page[T]:
            told = await self._rest(path, {"per_page": SIZE, "page": number})
            entries = read(told.content, kind)
            return Page(entries, last_page(told.headers, number, full=len(entries) >= SIZE))

        return await every(turn, known, most)

    async def query(self, document: str, **variables: object) -> tuple[Json, list[Json]]:
        """A GraphQL query about the repository, whose owner and name are given as variables; safe to repeat.

        With the data comes what is wrong with parts of it: what is missing, what we may not see.
        """
        self._spend()
        owner, _, name = self.place.full_name.partition("/")
        data, errors = await self._client.graphql(self._scope, document, {"owner": owner, "name": name, **variables})
        known = {"NOT_FOUND", *_REFUSALS}
        if strange := [error for error in errors if error.get("type") not in known]:
            raise Down(_SOON, f"GitHub could not answer the query: {_words(strange)}")
        return data, errors

    async def post(self, path: str, body: object, kind: TypeAdapter[T]) -> T:
        """Make something below the repository."""
        return read((await self._write("POST", path, body)).content, kind)

    async def patch(self, path: str, body: object, kind: TypeAdapter[T]) -> T:
        """Change something below the repository."""
        return read((await self._write("PATCH", path, body)).content, kind)

    async def delete(self, path: str) -> None:
        """Take something away below the repository."""
        await self._write("DELETE", path, None)

    async def mutate(self, document: str, **variables: object) -> Json:
        """A GraphQL mutation; what is refused is Denied."""
        self._spend()
        data, errors = await self._client.mutate(self._scope, document, variables)
        if errors:
            raise Denied(_words(errors))
        return data

    async def _write(self, method: str, path: str, body: object) -> Told:
        self._spend()
        return await self._client.write(self._scope, method, f"/repos/{self.place.full_name}{path}", body)

    async def _rest(self, path: str, query: Mapping[str, str | int] | None) -> Told:
        self._spend()
        return await self._client.rest(self._scope, f"/repos/{self.place.full_name}{path}", query)

    def _spend(self) -> None:
        if self._count is not None:
            self._count()


def read(content: bytes, kind: TypeAdapter[T]) -> T:
    """What the answer says. One that is cut off, or is something else, is no answer."""
    try:
        return kind.validate_json(content)
    except ValidationError:
        pass  # perhaps for a lone surrogate in somebody's words, which no strict parser takes
    try:
        return kind.validate_json(paired(content))
    except ValidationError as error:
        if content.lstrip()[:1] == b"<":
            raise Torn(_SOON, "a web page came instead of GitHub's answer: see github.api_url, and proxies") from error
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Torn(_SOON, f"GitHub's answer cannot be read: {where or 'it'}: {first['msg']}"[:300]) from error


def _is_unknown(error: Json) -> bool:
    code = str((error.get("extensions") or {}).get("code", ""))
    return code in {"undefinedField", "undefinedType"} or bool(_UNKNOWN.search(str(error.get("message"))))


def _words(errors: list[Json]) -> str:
    return "; ".join(str(error.get("message", ""))[:120] for error in errors[:3]) or "no data"


_REPOSITORY = TypeAdapter(Repository)
_INSTALLATION = TypeAdapter(Installation)
_INSTALLATIONS = TypeAdapter(list[Installation])
_USER = TypeAdapter(User)
_APP = TypeAdapter(App)
_GRAPHQL: TypeAdapter[Json] = TypeAdapter(Json)
