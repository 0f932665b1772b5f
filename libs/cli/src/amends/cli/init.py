"""`amends init`: asks for what amends has to know, looks whether it works, and writes it down without a secret."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from amends.cli.checks import Check, failed, tell
from amends.cli.output import as_json, examples, formatted, say, say_json
from amends.cli.place import Negative, Wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amends.common.settings import Settings

GITHUB = "https://api.github.com"
PORT = 8080
_VARIABLES = {"database": "DATABASE", "nats": "NATS_PASSWORD"}
_IN_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@dataclass(frozen=True)
class Answers:
    """What was said, by flags or when asked. Of secrets only where they are."""

    repositories: tuple[str, ...] = ()
    app_id: str = ""
    private_key_file: Path | None = None
    token_file: Path | None = None
    webhook_secret_file: Path | None = None
    model_key_file: Path | None = None
    mode: str = ""
    api_url: str = GITHUB
    data_dir: Path = Path(".amends")
    database: str = ""
    nats: str = ""
    port: int = PORT
    file: Path = Path("amends.toml")

    @property
    def secrets(self) -> Path:
        """Where secrets are put that were typed or made."""
        return self.data_dir / "secrets"


@click.command(
    short_help="Ask what amends has to know, try it, write it down.",
    epilog=examples(
        "amends init",
        "amends init --repository octo/shop --token-file token --mode poll",
        "amends init --repository octo/shop --app-id 123 --private-key-file app.pem --model-key-file key",
    ),
)
@click.option("--repository", "repositories", multiple=True, metavar="OWNER/NAME", help="May be said more than once.")
@click.option("--app-id", default="", help="Of the GitHub App; goes with its key.")
@click.option("--private-key-file", type=_IN_FILE, help="The App's private key, in PEM.")
@click.option("--token-file", type=_IN_FILE, help="A token instead of an App. [or AMENDS_GITHUB_TOKEN]")
@click.option("--webhook-secret-file", type=_IN_FILE, help="[default: one is made, where webhooks are wanted]")
@click.option("--model-key-file", type=_IN_FILE, help="The key of the model. [or AMENDS_MODEL_API_KEY]")
@click.option("--mode", type=click.Choice(["webhooks", "poll"]), default=None, help="poll: no inbound HTTP at all.")
@click.option("--api-url", default=GITHUB, show_default=True, help="Of an Enterprise Server: https://HOST/api/v3")
@click.option("--data-dir", type=click.Path(path_type=Path), default=Path(".amends"), show_default=True)
@click.option("--database", default="", metavar="URL", help="postgresql://...  [default: SQLite in the data directory]")
@click.option("--nats", default="", metavar="URL", help="[default: `amends up` runs one of its own]")
@click.option("--port", type=click.IntRange(1, 65_535), default=PORT, show_default=True, help="Of the webhooks.")
@click.option("--file", type=click.Path(path_type=Path), default=Path("amends.toml"), show_default=True)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@formatted
def init(*, force: bool, **given: Any) -> None:  # noqa: ANN401 - the options, which make Answers
    """Ask for what amends has to know, try each part for real, and write amends.toml.

    What flags do not say is asked for on a terminal; anywhere else what is missing is named, and the exit code is 2.
    No secret is written into the file: it names files, which only you can read. What is in the environment stays there.

    Exits 1 if something does not work yet; the file is written all the same, and `amends doctor` looks again.
    """
    said = Answers(**{name: value for name, value in given.items() if value is not None})
    _free(said.file, force=force)
    answers = _complete(said) if sys.stdin.isatty() else said
    if missing := list(_missing(answers)):
        raise Wrong("\n".join(["this has to be said:", *(f"  {one}" for one in missing)]))
    answers, made = _with_secret(replace(answers, mode=answers.mode or "webhooks"))
    text = toml(answers)
    checks = tell(_tried(_written(answers.file, text)))
    _tell_next(answers, made=made, good=not failed(checks))
    if failed(checks):
        raise click.exceptions.Exit(1)


def _free(file: Path, *, force: bool) -> None:
    if not file.exists() or force:
        return
    if not sys.stdin.isatty() or not click.confirm(f"{file} is there already. Write over it?", err=True):
        raise Negative(f"{file} is there already: give --force to write over it, or another --file")


# --- asking --------------------------------------------------------------------------------------------------------


def _complete(said: Answers) -> Answers:
    """Ask for what flags did not say."""
    said = _placed(said)
    if not said.repositories:
        names = click.prompt("Repositories amends may work on (owner/name, several with commas)", err=True)
        said = replace(said, repositories=tuple(name.strip() for name in names.split(",") if name.strip()))
    if not _identified(said):
        said = _identify(said)
    if not said.mode:
        told = click.confirm("Can GitHub reach this machine with webhooks? (no: it is looked at on a timer)", err=True)
        said = replace(said, mode="webhooks" if told else "poll")
    if said.mode == "webhooks" and said.webhook_secret_file is None:
        words = "File of the webhook's secret (empty: one is made)"
        file = click.prompt(words, default="", show_default=False, err=True)
        said = replace(said, webhook_secret_file=Path(file) if file else None)
    if said.model_key_file is None and not os.environ.get("AMENDS_MODEL_API_KEY"):
        key = click.prompt(
            "Key of the model (empty: only suggestions are applied)", default="", hide_input=True, show_default=False,
            err=True,
        )  # fmt: skip
        said = replace(said, model_key_file=_kept(said, "model-key", key) if key else None)
    return said


def _placed(said: Answers) -> Answers:
    """Where everything is kept; nothing said means here, and in what amends brings along."""
    ask = partial(click.prompt, show_default=False, err=True)
    data = said.data_dir
    if data == Path(".amends"):
        data = Path(click.prompt("Directory of all data", default=str(data), err=True))
    database = said.database or ask("PostgreSQL address (empty: SQLite in that directory)", default="")
    nats = said.nats or ask("NATS address (empty: `amends up` runs one of its own)", default="")
    return replace(said, data_dir=data, database=database, nats=nats)


def _identify(said: Answers) -> Answers:
    app = said.app_id or click.prompt(
        "Id of the GitHub App (empty: use a token)", default="", show_default=False, err=True
    )
    if not app:
        token = click.prompt("Token", hide_input=True, err=True)
        return replace(said, token_file=_kept(said, "github-token", token))
    key = said.private_key_file or Path(click.prompt("File of the App's private key", type=_IN_FILE, err=True))
    return replace(said, app_id=app, private_key_file=key)


def _identified(said: Answers) -> bool:
    """Whether it is said who we are on GitHub; the environment may say it, too."""
    token = said.token_file is not None or bool(os.environ.get("AMENDS_GITHUB_TOKEN"))
    return token or bool(said.app_id and said.private_key_file)


def _missing(said: Answers) -> Iterator[str]:
    if not said.repositories:
        yield "--repository OWNER/NAME: what amends may work on"
    if bool(said.app_id) != bool(said.private_key_file):
        yield "--app-id and --private-key-file go together"
    elif not _identified(said):
        yield "--app-id with --private-key-file, or --token-file: who amends is on GitHub"
    if said.app_id and said.token_file:
        yield "an App or a token, not both"
    for flag, url in (("database", said.database), ("nats", said.nats)):
        if urlsplit(url).password:
            yield f"--{flag} without its password, which would stand in the file: AMENDS_{_VARIABLES[flag]} may have it"


def _kept(said: Answers, name: str, secret: str) -> Path:
    """A file of the secret's own, for nobody else to read."""
    from amends.common.bus.embedded import write_private

    said.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    said.secrets.mkdir(exist_ok=True, mode=0o700)
    write_private(said.secrets / name, secret)
    return said.secrets / name


def _with_secret(said: Answers) -> tuple[Answers, bool]:
    """Where webhooks are wanted they have to be signed: with the secret that there is, or with one that is made now."""
    from secrets import token_urlsafe

    if said.mode == "poll" or said.webhook_secret_file is not None or os.environ.get("AMENDS_GATEWAY_WEBHOOK_SECRETS"):
        return said, False
    there = said.secrets / "webhook-secret"
    made = there if there.exists() else _kept(said, there.name, token_urlsafe(32))
    return replace(said, webhook_secret_file=made), True


# --- writing -------------------------------------------------------------------------------------------------------


def toml(said: Answers) -> str:
    """The file. Pure."""
    webhooks = said.mode == "webhooks"
    secret = [said.webhook_secret_file] if said.webhook_secret_file and webhooks else []
    tables: dict[str, dict[str, object]] = {
        "": {"data_dir": said.data_dir, "database": said.database, "nats_url": said.nats},
        "github": {
            "api_url": said.api_url if said.api_url != GITHUB else "", "app_id": said.app_id,
            "private_key_file": said.private_key_file, "token_file": said.token_file,
        },
        "fetcher": {"mode": said.mode},
        "gateway": {"port": said.port if webhooks else 0, "webhook_secret_files": secret},
        "model": {"api_key_file": said.model_key_file},
        "policy": {"repositories": said.repositories},
    }  # fmt: skip
    lines = ["# Written by `amends init`. Secrets are in the files that are named here, or in the environment."]
    for name, values in tables.items():
        said_here = [
            f"{key} = {json.dumps(_plain(value), ensure_ascii=False)}" for key, value in values.items() if value
        ]
        lines += [*(["", f"[{name}]"] if name and said_here else []), *said_here]
    return "\n".join((*lines, ""))


def _plain(value: object) -> object:
    """As JSON knows it, which for these is TOML as well."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def _written(file: Path, text: str) -> Settings:
    """The file, once it was read as `amends up` will read it: with what the environment adds."""
    from amends.common.settings import SettingsError, read

    beside = file.with_name(f"{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    try:
        known = read(os.environ, beside)
    except SettingsError as error:
        beside.unlink()
        raise Wrong(str(error).replace(str(beside), "init")) from error
    beside.replace(file)
    return known


# --- trying --------------------------------------------------------------------------------------------------------


def _tried(known: Settings) -> Iterator[Check]:
    """Each part, for real."""
    from amends.cli.forge import forge
    from amends.cli.machine import machine, model, nats, postgres

    yield from machine(known)
    yield from postgres(known)
    yield from nats(known)
    yield from forge(known, known.policy.repositories or ())
    yield model(known)


def _tell_next(said: Answers, *, made: bool, good: bool) -> None:
    if as_json():
        say_json({"written": str(said.file), "mode": said.mode, "webhook_secret_file": said.webhook_secret_file})
        return
    say(f"\n{said.file} is written. What to do next:")
    if said.mode == "webhooks":
        say(f"  let https://YOUR-HOST/webhooks/github lead to port {said.port} of this machine, and give that address,")
        say("  content type application/json, and the secret to GitHub as webhook" + " (it was made now):" * made)
        say(f"    cat {said.webhook_secret_file}" if said.webhook_secret_file else "    AMENDS_GATEWAY_WEBHOOK_SECRETS")
    up, doctor = "  amends up          starts it", "  amends doctor      looks at all of this again"
    say("\n".join([up, doctor] if good else ["  put right what failed above", doctor, up]))
