"""Settings of a process: defaults, then `amends.toml`, then the environment (`AMENDS_*`). Wrong ones stop it at start.

A message names the field, where its value came from and what is expected there; never the value, which may be secret.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from inspect import isclass
from pathlib import Path
from socket import gethostname
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from amends.common.complaints import complaint
from amends.common.github.names import is_repository
from amends.common.policy import Id, Overrides
from amends.common.sections import (
    Agent,
    Fetcher,
    Fixer,
    Gateway,
    GitHub,
    Model,
    Notifier,
    Publisher,
    Sandbox,
    Slack,
    Smtp,
)

FILE = Path("amends.toml")
PREFIX = "AMENDS_"
Place: TypeAlias = tuple[str, ...]
Said: TypeAlias = dict[str, Any]

# Variables of ours that are no settings: of ./taskw, of tests, of fault runs.
_OTHERS = {"AMENDS_PYTHON", "AMENDS_FAULTS", "AMENDS_CRASH_AT", "AMENDS_SEED", "AMENDS_SNAPSHOTS"}
# What Kubernetes puts into every pod for a Service whose name begins with `amends`.
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$")


# Of an address; not by urlsplit, which refuses letters that PostgreSQL takes in a password.
_PASSWORD = re.compile(r"://[^:/@]*:([^/]+)@")


class SettingsError(Exception):
    """Some settings are wrong; the message has one line for each."""


def _with_ports(urls: str) -> str:
    """A port that is no number would only be found by the client of NATS, which has no words for it."""
    try:
        [urlsplit(url).port for url in urls.split(",")]
    except ValueError:
        raise ValueError("Input should be an address, as in nats://host:4222, with a port from 0 to 65535") from None
    return urls


class Settings(BaseModel):
    """Addresses, secrets and limits of one process. `policy` is the installation's layer, recorded when it changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    data_dir: Path = Path(".amends")
    database: Annotated[str, Field(repr=False, pattern=r"^(sqlite:///|postgres(ql)?(\+\w+)?://).")] = ""
    nats_url: Annotated[
        str,
        Field(repr=False, pattern=r"^((nats|tls)://[^\s,]+(,(nats|tls)://[^\s,]+)*)?$"),
        AfterValidator(_with_ports),
    ] = ""
    nats_user: str = ""
    nats_password: SecretStr = SecretStr("")
    nats_users_file: Path | None = None  # where there is a user for each service: lines of user:password
    replicas: Annotated[int, Field(ge=1, le=5)] = 1
    holder: Annotated[str, Field(pattern=r"^[!-~]{1,150}$")] = gethostname() or "localhost"
    ops_host: str = "127.0.0.1"
    ops_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    grace_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    answer_seconds: Annotated[float, Field(gt=0, le=600)] = 5.0
    ack_seconds: Annotated[float, Field(ge=1, le=3_600)] = 60.0
    batch: Annotated[int, Field(ge=1, le=10_000)] = 256
    our_accounts: tuple[Id, ...] = ()  # on GitHub: ids that only amends writes under
    gateway: Gateway = Gateway()
    github: GitHub = GitHub()
    fetcher: Fetcher = Fetcher()
    fixer: Fixer = Fixer()
    model: Model = Model()
    agent: Agent = Agent()
    sandbox: Sandbox = Sandbox()
    publisher: Publisher = Publisher()
    notifier: Notifier = Notifier()
    slack: Slack = Slack()
    smtp: Smtp = Smtp()
    policy: Overrides = Overrides()

    @model_validator(mode="before")
    @classmethod
    def _log_in_the_data_dir(cls, said: Said) -> Said:
        return {"database": log_at(Path(str(said.get("data_dir", ".amends")), "amends.db")), **said}

    @model_validator(mode="after")
    def _users_can_be_read(self) -> Self:
        if self.nats_users_file and self.nats_user:
            raise ValueError("give nats_user or nats_users_file, not both")
        try:
            self.nats_users  # noqa: B018 - it is only tried
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it has no lines of user:password"
            raise ValueError(f"nats_users_file: {self.nats_users_file} cannot be read ({why})") from None
        return self

    @property
    def nats_users(self) -> dict[str, str]:
        """The password of each user that the file has."""
        if self.nats_users_file is None:
            return {}
        lines = [line.partition(":") for line in self.nats_users_file.read_text(encoding="utf-8").split()]
        if not all(password for _, _, password in lines):
            raise ValueError("a line is no user:password")
        return {user: password for user, _, password in lines}

    def nats_as(self, service: str) -> str:
        """The addresses of NATS with this service's credentials in them; nothing means: start one."""
        user, password = self.nats_user, self.nats_password.get_secret_value()
        if service in self.nats_users:
            user, password = service, self.nats_users[service]
        if not user:
            return self.nats_url
        account = f"{quote(user, safe='')}:{quote(password, safe='')}@"
        return ",".join(url.replace("://", f"://{account}") for url in self.nats_url.split(",") if url)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be printed anywhere."""
        urls = (self.database, *self.nats_url.split(","))
        hooks = (secret.get_secret_value() for secret in self.gateway.webhook_secrets)
        kept = (self.github.token, self.github.reading_token, self.github.private_key, self.model.api_key)
        told = (self.slack.token, self.slack.webhook, self.smtp.password)
        ours = (secret.get_secret_value() for secret in (*kept, *told))
        found = (
            self.nats_password.get_secret_value(),
            *self.nats_users.values(),
            *hooks,
            *ours,
            *(known[1] for url in urls if (known := _PASSWORD.search(url))),
        )
        return tuple(secret for secret in found if secret)


def log_at(file: Path) -> str:
    """A file as the address of a log, in which `?` and `%` would mean something else."""
    return f"sqlite:///{str(file).replace('%', '%25').replace('?', '%3F')}"


def read(environ: Mapping[str, str] = os.environ, file: Path = FILE) -> Settings:
    """The settings of this process, or a SettingsError that names everything that is wrong."""
    said = _file(file)
    names = {PREFIX + "_".join(place).upper(): place for place in _places(Settings)}
    wrong = list(_strangers(environ, names))
    given = {names[name]: name for name in environ if name in names and not _is_link(names[name], environ[name])}
    for place, name in given.items():
        _put(said, place, _value(environ[name]))
    try:
        settings = Settings.model_validate(said)
    except ValidationError as error:
        wrong += _complaints(error, given, file)
    else:
        wrong += _no_repositories(settings, given, file)
        if not wrong:
            return settings
    raise SettingsError("\n".join(["these settings are wrong:", *(f"  {line}" for line in wrong)]))


def _file(file: Path) -> Said:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error


def _places(model: type[BaseModel], inside: Place = ()) -> Iterator[Place]:
    """Every setting by its path; sections are no settings of their own, and a list of them is one."""
    for name, field in model.model_fields.items():
        types = () if get_origin(field.annotation) is tuple else (field.annotation, *get_args(field.annotation))
        section = next((part for part in types if isclass(part) and issubclass(part, BaseModel)), None)
        yield from _places(section, (*inside, name)) if section else [(*inside, name)]


def _is_link(place: Place, text: str) -> bool:
    """Whether Kubernetes put it there: for a Service called `amends-gateway` it is AMENDS_GATEWAY_PORT."""
    return place[1:] == ("port",) and text.startswith(("tcp://", "udp://", "sctp://"))


def _put(said: Said, place: Place, value: object) -> None:
    *sections, name = place
    for section in sections:
        inner = said.setdefault(section, {})
        if not isinstance(inner, dict):
            return  # the file's own mistake is complained about
        said = inner
    said[name] = value


def _value(text: str) -> object:
    """A list is written as JSON; everything else is read by the field's type."""
    try:
        return json.loads(text) if text.startswith("[") else text
    except ValueError:
        return text


# --- what is wrong -------------------------------------------------------------------------------------------------


def _strangers(environ: Mapping[str, str], names: Mapping[str, Place]) -> Iterator[str]:
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in names and name not in _OTHERS and not _SERVICE_LINK.search(name):
            near = get_close_matches(name.removeprefix(PREFIX), [known.removeprefix(PREFIX) for known in names], 1)
            yield f"{name} (environment): there is no such setting{_meant([PREFIX + known for known in near])}"


def _complaints(error: ValidationError, given: Mapping[Place, str], file: Path) -> Iterator[str]:
    known = [".".join(place) for place in _places(Settings)]
    for said in error.errors(include_url=False, include_input=False):
        place = tuple(str(part) for part in said["loc"])
        yield f"{'.'.join(place)} ({_source(place, given, file)}): {complaint(said, known, 'setting')}"


def _no_repositories(settings: Settings, given: Mapping[Place, str], file: Path) -> Iterator[str]:
    """Events of long ago may name what they like, so this is no rule of the policy itself."""
    place = ("policy", "repositories")
    if not all(map(is_repository, settings.policy.repositories or ())):
        yield f'{".".join(place)} ({_source(place, given, file)}): each is owner/repo, as in ["octo/shop"]'


def _source(place: Place, given: Mapping[Place, str], file: Path) -> str:
    return next((name for length in range(len(place), 0, -1) if (name := given.get(place[:length]))), str(file))


def _meant(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else "; take it out"
