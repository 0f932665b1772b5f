"""Whether GitHub knows us, lets us do what we have to, and reaches us: looked at for `amends doctor` and `amends init`.

Nothing is changed there, and nothing is asked that an App or a token of the right kind could not be asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field, TypeAdapter

from amends.cli.checks import Check
from amends.cli.readable import readable
from amends.common.delivery import Later
from amends.common.github.auth import PUBLISHING, READING, TELLING
from amends.common.github.client import Client, Nobody, read
from amends.common.github.errors import Denied, Missing
from amends.gateway.observe import WANTED

if TYPE_CHECKING:
    from amends.common.github.exchange import Told
    from amends.common.settings import Settings

T = TypeVar("T")
HOOK = "/webhooks/github"
_LEVELS = ("none", "read", "write", "admin")
NEEDED = {
    area: max((level for name, level in (*READING, *PUBLISHING, *TELLING) if name == area), key=_LEVELS.index)
    for area, _ in READING
}
_SKEW = 30.0
_SOON = 7 * 86_400
_DELIVERIES = 1
_UNSIGNED = "let `amends init` make a secret, or set gateway.webhook_secret_files; or set fetcher.mode to poll"


class _App(BaseModel):
    slug: str = ""
    html_url: str = ""
    permissions: dict[str, str] = {}
    events: list[str] = []


class _Installation(BaseModel):
    permissions: dict[str, str] = {}
    suspended_at: datetime | None = None


class _Permissions(BaseModel):
    push: bool = False


class _Repository(BaseModel):
    permissions: _Permissions = _Permissions()


class _User(BaseModel):
    login: str = ""


class _Config(BaseModel):
    url: str | None = None


class _Hook(BaseModel):
    id: int
    active: bool = True
    config: _Config = _Config()


class _Delivery(BaseModel):
    delivered_at: Annotated[str, Field(max_length=40)] = ""
    status: str = ""
    status_code: int = 0


class Unanswered(Exception):
    """GitHub does not say it; the check says why."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.found)
        self.check = check


def forge(known: Settings, repositories: Sequence[str]) -> list[Check]:
    """All that GitHub can tell about us and about these repositories."""
    if not known.github.known:
        remedy = "set github.app_id and private_key_file, or token_file; `amends init` asks for them"
        return [Check("github", "warn", "nobody is known: GitHub is not read, nothing is fixed", remedy)]
    return asyncio.run(_looked(known, repositories))


async def _looked(known: Settings, repositories: Sequence[str]) -> list[Check]:
    checks: list[Check] = []
    try:
        async with Client(known.github) as client:
            look = Look(known, client)
            try:
                checks += await (look.app(repositories) if known.github.app_id else look.token(repositories))
                for name in repositories:
                    checks += await readable(client, name)
            except Unanswered as unanswered:
                checks.append(unanswered.check)
            except (Later, Missing) as error:
                found = f"{known.github.rest} does not answer like a GitHub: {error}"
                checks.append(Check("github", "fail", found, "see github.api_url: it needs its path, such as /api/v3"))
            checks += look.clock()
    except Nobody as error:
        found, _, remedy = str(error).partition(": ")
        checks.append(Check("github", "fail", found, remedy))
    return checks


class Look:
    """One look at GitHub."""

    def __init__(self, known: Settings, client: Client) -> None:
        self._known = known
        self._client = client

    # --- an App -------------------------------------------------------------------------------------------------------

    async def app(self, repositories: Sequence[str]) -> list[Check]:
        """The App, what it may, where it is installed, and whether its webhook arrives."""
        app = _read(await self._asked("/app"), _App)
        checks = [Check("github", "ok", f"App {app.slug} at {self._known.github.rest}")]
        where = "the App's settings, Permissions & events"
        checks.append(_permitted("permissions", app.permissions, f"grant it in {where}"))
        if absent := [event for event in WANTED if event not in app.events]:
            remedy = f"subscribe to them in {where}; until then they are found on the timer"
            checks.append(Check("events", "warn", f"not subscribed to {', '.join(absent)}", remedy))
        else:
            checks.append(Check("events", "ok", f"subscribed to all {len(WANTED)} that are wanted"))
        checks += [await self._installed(app, name) for name in repositories]
        return [*checks, *_listed(repositories), await self._delivered("/app/hook")]

    async def _installed(self, app: _App, name: str) -> Check:
        try:
            found = _read(await self._asked(f"/repos/{name}/installation"), _Installation)
        except Missing:
            remedy = f"install it: {app.html_url}/installations/new, or correct policy.repositories"
            return Check("repository", "fail", f"{name}: the App is not installed there, or there is none", remedy)
        if found.suspended_at is not None:
            return Check("repository", "fail", f"{name}: the installation is suspended", "its owner can lift that")
        permitted = _permitted("repository", found.permissions, "the owner has to accept the App's new permissions")
        return permitted._replace(found=f"{name}: {permitted.found}")

    # --- a token ------------------------------------------------------------------------------------------------------

    async def token(self, repositories: Sequence[str]) -> list[Check]:
        """The token, whose it is, what it may, and whether a webhook arrives."""
        told = await self._asked("/user")
        login = _read(told, _User).login
        checks = [Check("github", "ok", f"token of {login} at {self._known.github.rest}"), *_scoped(told)]
        checks += [await self._pushes(name, login) for name in repositories]
        checks += _listed(repositories)
        if repositories:
            checks.append(await self._hooked(repositories[0]))
        return checks

    async def _pushes(self, name: str, login: str) -> Check:
        try:
            found = _read(await self._asked(f"/repos/{name}"), _Repository)
        except Missing:
            remedy = "let the token see it (fine-grained tokens list repositories), or correct policy.repositories"
            return Check("repository", "fail", f"{name}: it is not there, or hidden from the token", remedy)
        if not found.permissions.push:
            return Check("repository", "fail", f"{name}: {login} may not push", f"give {login} write access to {name}")
        return Check("repository", "ok", f"{name}: {login} may push")

    async def _hooked(self, name: str) -> Check:
        """A repository's webhook is for its administrators' eyes."""
        try:
            hooks = read((await self._asked(f"/repos/{name}/hooks")).content, TypeAdapter(list[_Hook]))
        except (Missing, Unanswered):
            return self._expected() or Check(
                "webhook", "warn", f"this token may not look at the webhooks of {name}",
                f"see that one with content type application/json leads to {HOOK} of the gateway",
            )  # fmt: skip
        ours = next((one for one in hooks if one.active and (one.config.url or "").endswith(HOOK)), None)
        if ours is None:
            return self._expected() or Check(
                "webhook", "fail", f"{name} has none that leads to {HOOK}", "make one, or set fetcher.mode to poll"
            )
        return await self._delivered(f"/repos/{name}/hooks/{ours.id}", ours.config)

    # --- both ---------------------------------------------------------------------------------------------------------

    def _expected(self) -> Check | None:
        """Whether webhooks are wanted and believed at all; nothing when they are."""
        fetcher = self._known.fetcher
        if fetcher.mode == "poll":
            return Check("webhook", "ok", f"none is needed: GitHub is looked at every {fetcher.poll_seconds:g} s")
        if not self._known.gateway.webhook_secrets:
            return Check("webhook", "fail", "no webhook is believed, because there is no secret", _UNSIGNED)
        return None

    async def _delivered(self, path: str, config: _Config | None = None) -> Check:
        """How the last delivery ended: GitHub's own word on whether it reaches us."""
        if (said := self._expected()) is not None:
            return said
        try:
            config = config or _read(await self._asked(f"{path}/config"), _Config)
            told = await self._asked(f"{path}/deliveries", {"per_page": _DELIVERIES})
        except Missing:
            config, told = config or _Config(), None
        if not config.url:
            return Check("webhook", "warn", "the App has no webhook", f"set its URL to https://YOUR-GATEWAY{HOOK}")
        if not config.url.endswith(HOOK):
            return Check("webhook", "fail", f"it leads to {config.url}", f"its URL has to end in {HOOK}")
        last = next(iter(read(told.content, TypeAdapter(list[_Delivery])) if told else ()), None)
        return _arrived(config.url, last)

    def clock(self) -> Iterator[Check]:
        """How far ours is from GitHub's, whose answers have whole seconds."""
        if not self._client.now:
            return
        ahead = time.time() - self._client.now
        if abs(ahead) > _SKEW:
            found = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} GitHub's"
            yield Check("clock", "warn", found, "let NTP set it: Apps are refused by wrong clocks, and logs mislead")
        else:
            yield Check("clock", "ok", "within 30 s of GitHub's")

    async def _asked(self, path: str, query: Mapping[str, str | int] | None = None) -> Told:
        try:
            return await self._client.about_us(path, query)
        except Denied as error:
            who = "the App's id and key" if self._known.github.app_id else "the token"
            remedy = "see github.app_id and private_key_file" if self._known.github.app_id else "make another token"
            raise Unanswered(Check("github", "fail", f"GitHub does not take {who}: {error}", remedy)) from error
        except Later as error:
            remedy = "see github.api_url, the network, and githubstatus.com"
            raise Unanswered(Check("github", "fail", f"GitHub does not answer: {error}", remedy)) from error


def _read(told: Told, kind: type[T]) -> T:
    return read(told.content, TypeAdapter(kind))


def _permitted(name: str, held: Mapping[str, str], remedy: str) -> Check:
    lacks = [f"{area}: {level}" for area, level in NEEDED.items() if _rank(held.get(area)) < _rank(level)]
    if lacks:
        return Check(name, "fail", f"lacks {', '.join(lacks)}", remedy)
    return Check(name, "ok", "all that is needed")


def _rank(level: str | None) -> int:
    return _LEVELS.index(level) if level in _LEVELS else 0


def _scoped(told: Told) -> Iterator[Check]:
    """What a classic token may is in a header; of a fine-grained one only trying would tell."""
    scopes = told.headers.get("x-oauth-scopes")
    if scopes is None:
        needs = ", ".join(f"{area}: {level}" for area, level in NEEDED.items())
        yield Check("scopes", "warn", "a fine-grained token does not say what it may", f"it needs {needs}")
    elif "repo" not in {scope.strip() for scope in scopes.split(",")}:
        remedy = "make one with the scope repo, or better a GitHub App"
        yield Check("scopes", "fail", f"the token has the scopes {scopes or 'none'}", remedy)
    else:
        yield Check("scopes", "ok", f"the token has {scopes}")
    ends = told.headers.get("github-authentication-token-expiration", "")
    if (left := _left(ends)) is not None and left < _SOON:
        yield Check("expiry", "warn", f"the token ends on {ends}", "make another one, and put it in its place")


def _left(ends: str) -> float | None:
    try:
        return datetime.fromisoformat(ends.replace(" UTC", "+00:00")).timestamp() - time.time()
    except ValueError:
        return None


def _listed(repositories: Iterable[str]) -> Iterator[Check]:
    if not list(repositories):
        remedy = "set policy.repositories, or `amends policy set repositories=...`"
        yield Check("repository", "warn", "amends may work on none", remedy)


def _arrived(url: str, last: _Delivery | None) -> Check:
    if last is None:
        return Check("webhook", "warn", f"{url} was not tried yet", "let something happen there, and look again")
    when = f"the last delivery to {url}, {last.delivered_at},"
    match last.status_code:
        case code if 200 <= code < 300:  # noqa: PLR2004 - what HTTP calls success
            return Check("webhook", "ok", f"{when} arrived")
        case 401:
            return Check("webhook", "fail", f"{when} was not believed", "put the same secret on both sides")
        case code:
            remedy = "GitHub has to reach that address: see DNS, TLS, the firewall, and that the gateway runs"
            return Check("webhook", "fail", f"{when} failed: {code or ''} {last.status}", remedy)
