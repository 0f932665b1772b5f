"""The parts of the settings that have a table of their own in the file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from amends.common.policy import Line


class Section(BaseModel):
    """A part of the settings, with a table of its own in the file.

    `FILES` are secrets that may be in files: what names the file, and which secret its first line is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    FILES: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_files(cls, said: Any) -> Any:  # noqa: ANN401 - as it was said
        """From here on the secret is a setting like any other, and where it was found is forgotten."""
        if not isinstance(said, dict):
            return said
        known = dict(said)
        for file, secret in cls.FILES.items():
            if where := known.pop(file, None):
                if known.get(secret):
                    raise ValueError(f"give {secret} or {file}, not both")
                one = isinstance(where, str | Path)
                known[secret] = _in(file, where) if one else [_in(file, path) for path in where]
        return known


def _in(setting: str, path: str | Path) -> str:
    """The secret in a file, without what editors put behind it."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"{setting}: {path} cannot be read ({why})") from None


class Bearer(Section):
    """Somebody who may use the HTTP API: his name is the actor, his token is kept only as its sha256.

    `repositories` are names, or `*` for all that the installation lists. Every token may look at their loops, and one
    that may `read` does no more than that.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$")]
    sha256: Annotated[str, Field(repr=False, pattern=r"^[0-9a-f]{64}$")]
    may: Annotated[tuple[Literal["facts", "commands", "read"], ...], Field(min_length=1)]
    repositories: Annotated[tuple[Line, ...], Field(min_length=1)]


class Gateway(Section):
    """Where the gateway listens and whom it believes. Several webhook secrets: for the time of a rotation."""

    FILES = {"webhook_secret_files": "webhook_secrets"}

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    webhook_secret_files: tuple[Path, ...] = ()
    webhook_secrets: tuple[Annotated[SecretStr, Field(min_length=1)], ...] = ()
    tokens: tuple[Bearer, ...] = ()

    @field_validator("webhook_secrets")
    @classmethod
    def _not_blank(cls, secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(not secret.get_secret_value().strip() for secret in secrets):
            raise ValueError("a secret is blank: anybody could sign with it")
        return secrets

    @field_validator("tokens")
    @classmethod
    def _told_apart(cls, tokens: tuple[Bearer, ...]) -> tuple[Bearer, ...]:
        for what in ("name", "sha256"):
            if len({getattr(token, what) for token in tokens}) < len(tokens):
                raise ValueError(f"two tokens have the same {what}: each needs one of its own")
        return tokens


# GitHub's own, and Enterprise Cloud with data residency: git is at the same name without `api.`.
_API_HOST = re.compile(r"^(https?://)api\.(?=github\.com(?::|$)|[^/:]+\.ghe\.com(?::|$))")
Address = Annotated[str, Field(pattern=r"^https?://[^\s?#@]+$", max_length=400)]


class GitHub(Section):
    """Where GitHub is, and who we are there: an App (id and key) or one token. A path in `api_url` is kept.

    `reading_token`, beside `token`, may only read: the fixer of `amends up` gets that one.
    """

    FILES = {"token_file": "token"}

    api_url: Address = "https://api.github.com"
    graphql_url: Annotated[str, Field(pattern=r"^(https?://[^\s?#@]+)?$", max_length=400)] = ""
    git_url: Annotated[str, Field(pattern=r"^(https?://[^\s?#@]+)?$", max_length=400)] = ""
    app_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9.]{0,60}$", coerce_numbers_to_str=True)] = ""
    private_key: SecretStr = SecretStr("")
    private_key_file: Path | None = None
    token_file: Path | None = None
    token: SecretStr = SecretStr("")
    reading_token: SecretStr = SecretStr("")
    at_once: Annotated[int, Field(ge=1, le=8)] = 4
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 15.0

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        keys = bool(self.private_key.get_secret_value()) + (self.private_key_file is not None)
        if self.app_id and self.token.get_secret_value():
            raise ValueError("give app_id with a private key, or token, not both")
        if self.reading_token.get_secret_value() and not self.token.get_secret_value():
            raise ValueError("reading_token goes beside token: an App's tokens are made for what each service needs")
        if keys > 1:
            raise ValueError("give private_key or private_key_file, not both")
        if bool(self.app_id) != bool(keys):
            raise ValueError("app_id and a private key (private_key or private_key_file) go together")
        return self

    @property
    def known(self) -> bool:
        """Whether we are anybody there at all."""
        return bool(self.app_id or self.token.get_secret_value())

    @property
    def rest(self) -> str:
        """The address of the REST API, without a slash at its end."""
        return self.api_url.rstrip("/")

    @property
    def graphql(self) -> str:
        """The address of the GraphQL API: as given, or where GitHub and its Enterprise Server have it."""
        return (
            self.graphql_url
            or f"{self.rest.removesuffix('/v3') if self.rest.endswith('/api/v3') else self.rest}/graphql"
        )

    @property
    def git(self) -> str:
        """The address below which repositories are: as given, or where GitHub and its Enterprises have them."""
        return self.git_url.rstrip("/") or self.site

    @property
    def site(self) -> str:
        """Where people see what the API is about: links lead there and nowhere else."""
        return _API_HOST.sub(r"\1", self.rest.removesuffix("/api/v3"))

    @property
    def without_key(self) -> GitHub:
        """The same for somebody who must neither sign nor write: of an App nothing but where GitHub is."""
        none = SecretStr("")
        token = self.reading_token if self.reading_token.get_secret_value() else self.token
        gone = {"app_id": "", "private_key": none, "private_key_file": None, "reading_token": none}
        return self.model_copy(update={**gone, "token": token})

    def key(self) -> str:
        """The App's private key, in PEM."""
        if self.private_key_file is not None:
            return self.private_key_file.read_text(encoding="ascii")
        return self.private_key.get_secret_value().replace("\\n", "\n")


class Publisher(Section):
    """In whose name commits are made, and how much one may hold. `folder` is below the data directory unless given.

    Copies of repositories may take `disk_mb` together, which is looked after every `tidy_seconds`.
    """

    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f<>\x7f]{1,100}$")] = "amends"
    email: Annotated[str, Field(pattern=r"^[^\s<>\x00-\x1f\x7f]{3,200}$")] = "amends@noreply.invalid"
    folder: Path | None = None
    max_files: Annotated[int, Field(ge=1, le=1_000)] = 50
    max_lines: Annotated[int, Field(ge=1, le=1_000_000)] = 5_000
    max_bytes: Annotated[int, Field(ge=1, le=100_000_000)] = 500_000
    disk_mb: Annotated[int, Field(ge=1, le=100_000_000)] = 20_000
    tidy_seconds: Annotated[float, Field(ge=1, le=2_592_000)] = 21_600.0


class Fetcher(Section):
    """How the comment-fetcher reads. `poll`: there are no webhooks, so that what it finds itself is all there is.

    `budget` is how many requests an hour the timer may make, `keep` the share of GitHub's own limit it leaves alone.
    """

    mode: Literal["webhooks", "poll"] = "webhooks"
    poll_seconds: Annotated[float, Field(ge=1, le=86_400)] = 120.0
    at_once: Annotated[int, Field(ge=1, le=20)] = 5
    budget: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    keep: Annotated[float, Field(ge=0, lt=1)] = 0.2
    collect_seconds: Annotated[float, Field(gt=0, le=300)] = 25.0


class Model(Section):
    """The model that the agent asks. `first_pause` is before the second try of a turn, and doubles."""

    FILES = {"api_key_file": "api_key"}

    api_key_file: Path | None = None
    api_key: SecretStr = SecretStr("")
    base_url: Address = "https://api.anthropic.com"
    name: Annotated[str, Field(pattern=r"^[!-~]{1,200}$")] = "claude-sonnet-5-5"
    effort: Literal["low", "medium", "high", "xhigh", "max"] = "medium"
    max_tokens: Annotated[int, Field(ge=1_000, le=128_000)] = 16_000
    silence_seconds: Annotated[float, Field(gt=0, le=600)] = 120.0
    tries: Annotated[int, Field(ge=1, le=20)] = 5
    first_pause: Annotated[float, Field(ge=0, le=60)] = 1.0

    @property
    def known(self) -> bool:
        """Whether there is one."""
        return bool(self.api_key.get_secret_value())


class Agent(Section):
    """Who works on what is more than a suggestion: nothing is our own agent, else a command, as a list or as one text.

    `{task}` and `{report}` in it stand for the paths of the task and of the report inside the sandbox.
    """

    command: tuple[Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]+$")], ...] = ()

    @field_validator("command", mode="before")
    @classmethod
    def _words(cls, said: object) -> object:
        if not isinstance(said, str):
            return said
        try:
            return tuple(shlex.split(said))
        except ValueError as error:
            raise ValueError(f"{error}: write it as a shell would read it, or as a list of words") from error


class Sandbox(Section):
    """What runs the code of repositories. `readable` are directories with tools they need, beside /usr."""

    bwrap: Path | None = None
    readable: tuple[Path, ...] = ()
    seconds: Annotated[float, Field(gt=0, le=7_200)] = 300.0
    memory_mb: Annotated[int, Field(ge=64, le=1_000_000)] = 4_096
    processes: Annotated[int, Field(ge=8, le=100_000)] = 512
    disk_mb: Annotated[int, Field(ge=16, le=1_000_000)] = 2_048
    scratch_mb: Annotated[int, Field(ge=1, le=100_000)] = 512


class Fixer(Section):
    """How many fixes at once, and where workspaces are (nothing: in the data directory).

    `requirements` are the files in which repositories say what they want: folders (`docs/spec/`: the `.md` files in
    it) and patterns of paths (`REQUIREMENTS.md`, `*/spec.txt`).

    Workspaces may take `disk_mb` together, and copies of repositories as much again: looked after every `tidy_seconds`.
    """

    slots: Annotated[int, Field(ge=1, le=50)] = 2
    directory: Path | None = None
    requirements: Annotated[tuple[Line, ...], Field(max_length=50)] = (".specify/",)
    disk_mb: Annotated[int, Field(ge=1, le=100_000_000)] = 20_000
    tidy_seconds: Annotated[float, Field(ge=1, le=2_592_000)] = 21_600.0


class Notifier(Section):
    """How the notifier writes on GitHub: so many replies a cycle, the rest together; so fast and no faster.

    Of several one is at work: the next takes its place after it was silent for `silent_seconds`.
    """

    replies: Annotated[int, Field(ge=0, le=100)] = 20
    apart_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    per_minute: Annotated[int, Field(ge=1, le=80)] = 70
    per_hour: Annotated[int, Field(ge=1, le=500)] = 450
    patience_seconds: Annotated[float, Field(ge=0, le=86_400)] = 1_800.0
    silent_seconds: Annotated[float, Field(ge=1, le=600)] = 15.0


class Slack(Section):
    """Where to say in Slack what a human has to know: an incoming webhook, or a bot's token and a channel's id."""

    webhook: SecretStr = SecretStr("")
    token: SecretStr = SecretStr("")
    channel: Annotated[str, Field(pattern=r"^([A-Z][A-Z0-9]{1,30})?$")] = ""  # its id: nothing is read by a name
    api_url: Address = "https://slack.com/api"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        token, webhook = self.token.get_secret_value(), self.webhook.get_secret_value()
        if token and webhook:
            raise ValueError("give webhook, or token with channel, not both")
        if bool(token) != bool(self.channel):
            raise ValueError("token and channel go together")
        if webhook and not webhook.startswith(("https://", "http://")):
            raise ValueError("webhook is the whole address, with https://")
        return self

    @property
    def known(self) -> bool:
        """Whether there is anywhere to say it."""
        return bool(self.token.get_secret_value() or self.webhook.get_secret_value())


Mailbox = Annotated[str, Field(pattern=r"^[^\s<>@,;:\\\"]{1,64}@[A-Za-z0-9.-]{1,190}$")]


class Smtp(Section):
    """Where to send mail, and to whom."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{0,255}$")] = ""
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: SecretStr = SecretStr("")
    sender: Annotated[str, Field(pattern=r"^([^\s<>@,;:\\\"]{1,64}@[A-Za-z0-9.-]{1,190})?$")] = ""
    to: tuple[Mailbox, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.host) != bool(self.sender and self.to):
            raise ValueError("host, sender and to go together")
        return self

    @property
    def known(self) -> bool:
        """Whether there is anybody to write to."""
        return bool(self.host)
