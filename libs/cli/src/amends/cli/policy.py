"""`amends policy`: what is in force and where it comes from, changes of the installation, and a file's check."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, shown
from amends.cli.people import numbered
from amends.cli.place import Negative, NotReachable, Wrong, asked, operator, placed, repository, the_log

if TYPE_CHECKING:
    from amends.common.events import PolicyChanged
    from amends.common.log import Log
    from amends.common.provenance import Layers

_ASSIGNMENT = re.compile(r"(?P<name>[a-z_]+(?:\.[a-z_]+)?)(?P<how>[+-]?=)(?P<value>.*)", re.DOTALL)


@click.group()
def policy() -> None:
    """Show, change and check the rules.

    Three layers, later ones win: the defaults; the installation, for all repositories and for single ones; and
    .github/amends.yml on a repository's default branch, which may tighten and never widen.
    """


@policy.command(epilog=examples("amends policy show --repo octo/shop", "amends policy show --repo octo/shop --explain"))
@click.option("--repo", metavar="OWNER/REPO", required=True, callback=repository, help="For this repository.")
@click.option("--explain", "why", is_flag=True, help="Say where each value comes from.")
@placed("data_dir", "database")
@formatted
def show(repo: str, *, why: bool) -> None:
    """Show every value in force for a repository."""
    from amends.common.provenance import shown as written

    with the_log() as log:
        layers = _layers(log, repo)
    settings = layers.settings()
    if as_json():
        say_json({"repo": repo, "error": layers.error, "values": _plain(layers)})
        return
    if layers.error:
        say(shown(f"# the file is wrong, the last good one is in force: {layers.error}"))
    longest = max(len(f"{name} = {written(setting.value)}") for name, setting in settings.items())
    for name, setting in settings.items():
        line = f"{name} = {written(setting.value)}"
        say(shown(f"{line:<{min(longest, 50)}}  # {setting.source.said}" if why else line))


def _plain(layers: Layers) -> dict[str, object]:
    return {
        name: {"value": setting.value, **setting.source._asdict(), "why": setting.source.said}
        for name, setting in layers.settings().items()
    }


@policy.command(
    "set",
    epilog=examples(
        "amends policy set max_cycles=3 budget.usd=5",
        "amends policy set repositories+=octo/shop",
        "amends policy set reviewers=[maria,tom] --repo octo/shop",
        "amends policy set triggers=[comments,checks] --repo octo/shop",
    ),
)
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--repo", metavar="OWNER/REPO", callback=repository, help="For this repository alone.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@placed("data_dir", "database", "nats_url")
@formatted
def set_(changes: tuple[str, ...], repo: str | None, *, dry_run: bool) -> None:
    """Change the installation's layer, and show what becomes different by it.

    A list is replaced by KEY=[a,b], or changed by KEY+=[a] and KEY-=[a]. In reviewers and bots logins become numbers,
    if GitHub can be asked; a reviewer must be somebody who may write. A change applies from the next cycle on; what is
    tighter applies at once.
    """
    _change(repo, partial(_changed, changes), dry_run=dry_run)


@policy.command(
    epilog=examples("amends policy unset max_cycles budget.usd", "amends policy unset triggers --repo octo/shop")
)
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
@click.option("--repo", metavar="OWNER/REPO", callback=repository, help="For this repository alone.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@placed("data_dir", "database", "nats_url")
@formatted
def unset(names: tuple[str, ...], repo: str | None, *, dry_run: bool) -> None:
    """Take values out of the installation's layer, so that those of the layer below are in force again."""
    _change(repo, partial(_taken_out, names), dry_run=dry_run)


def _change(repo: str | None, made: Callable[[Layers, str | None], PolicyChanged], *, dry_run: bool) -> None:
    with the_log() as log:
        before, after = _layers(log, repo or ""), _layers(log, repo or "")
    fact = made(before, repo)
    if repo:
        after.own = fact.over(after.own)
    else:
        after.installation = fact.over(after.installation)
    differing = _difference(before, after, repo)
    pos = _reported(fact) if differing and not dry_run else 0
    _tell(differing, fact, after if repo else None, pos)


def _changed(changes: tuple[str, ...], layers: Layers, repo: str | None) -> PolicyChanged:
    values: dict[str, Any] = {}
    for change in changes:
        _put(values, change, layers)
    return _made({"values": values}, repo)


def _taken_out(names: tuple[str, ...], _layers: Layers, repo: str | None) -> PolicyChanged:
    return _made({"values": {}, "unset": names}, repo)


def _made(said: dict[str, Any], repo: str | None) -> PolicyChanged:
    from uuid import uuid4

    from pydantic import ValidationError

    from amends.common.complaints import complaint
    from amends.common.events import PolicyChanged
    from amends.common.github.names import is_repository
    from amends.common.policy import NAMES

    try:
        fact = PolicyChanged.model_validate({"request": f"cli-{uuid4().hex[:16]}", "repository": repo or "", **said})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        first["loc"] = first["loc"][1:]
        place = ".".join(map(str, first["loc"]))
        said_ = complaint(first, NAMES, "value")
        raise Wrong(f"{place}: {said_}" if place else said_) from error
    if not all(map(is_repository, fact.values.repositories or ())):
        raise Wrong("repositories: each is owner/repo, as in repositories=[octo/shop]")
    return fact


def _put(values: dict[str, Any], change: str, layers: Layers) -> None:
    """A change of one value, as it will be validated."""
    import yaml

    found = _ASSIGNMENT.fullmatch(change)
    if found is None:
        raise Wrong(f"{change}: say KEY=VALUE")
    try:
        value = yaml.safe_load(found["value"])
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: 2026-02-30 is no date
        raise Wrong(f"{found['name']}: its value cannot be read: {str(error).splitlines()[0]}") from error
    if value is None:
        value = ""
    value = numbered(found["name"], value, layers.full_name or next(iter(layers.installation.repositories or ()), ""))
    if found["how"] != "=":
        value = _listed(layers, found["name"], found["how"], value)
    outer, _, inner = found["name"].partition(".")
    if inner:
        section = values.setdefault(outer, {})
        if not isinstance(section, dict):
            raise Wrong(f"{outer}: say it as a whole or value by value, not both")
        section[inner] = value
    else:
        values[outer] = value


def _listed(layers: Layers, name: str, how: str, value: object) -> list[object]:
    from amends.common.policy import Policy, flat

    known = {**flat(Policy()), "repositories": (), **flat(layers.installation), **flat(layers.own)}.get(name)
    if not isinstance(known, tuple):
        raise Wrong(f"{name}: only a list is changed with {how}")
    said = value if isinstance(value, list) else [value]
    if how == "+=":
        return [*known, *(one for one in said if one not in known)]
    return [one for one in known if one not in said]


def _difference(before: Layers, after: Layers, repo: str | None) -> dict[str, tuple[object, object]]:
    """What is set otherwise; for a repository what it has and what it will have."""
    from amends.common.policy import flat

    layers = (before.own, after.own) if repo else (before.installation, after.installation)
    old, new = flat(layers[0]), flat(layers[1])
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def _reported(fact: PolicyChanged) -> int:
    from amends.common.answers import Already, Recorded, Refused, Report
    from amends.common.identity import About

    answer = asked(lambda recorder: recorder.report(Report(fact=fact, about=About(), actor=operator())))
    match answer:
        case Recorded() | Already():
            return answer.pos
        case Refused():
            raise Negative(f"refused ({answer.reason}): {shown(answer.detail)}")
        case _:
            raise NotReachable(f"the evaluator did not answer ({shown(answer.detail)}): `amends doctor` looks")


def _tell(differing: dict[str, tuple[object, object]], fact: PolicyChanged, after: Layers | None, pos: int) -> None:
    from amends.common.provenance import shown as written

    def _or_not_set(value: object) -> str:
        return "(not set)" if value is None else written(value)

    if as_json():
        changed = {name: {"before": old, "after": new} for name, (old, new) in differing.items()}
        say_json({"repo": fact.repository, "pos": pos, "changed": changed})
        return
    for name, (old, new) in differing.items():
        say(shown(f"{name}: {_or_not_set(old)} -> {_or_not_set(new)}"))
        kept = after.settings().get(name) if after else None
        if kept and new is not None and kept.value != new:
            say(shown(f"  in force is {written(kept.value)}: {kept.source.said}"))
    say(f"recorded as event {pos}" if pos else "nothing was changed")


@policy.command(epilog=examples("amends policy validate .github/amends.yml"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@formatted
def validate(file: Path) -> None:
    """Check a repository's policy file; exit 1 and the line, if something in it is wrong."""
    from amends.comment_fetcher.policyfile import policy_seen
    from amends.comment_fetcher.shapes import Blob
    from amends.common.policy import flat

    content = file.read_bytes()
    try:
        text: str | None = content.decode()
    except UnicodeDecodeError:
        text = None
    fact = policy_seen(Blob(oid="0" * 40, byte_size=len(content), text=text))
    if as_json():
        say_json({"file": str(file), "line": fact.line, "error": fact.error})
    if fact.error:
        raise Negative(shown(f"{file}:{fact.line}: {fact.error}"))
    if not as_json():
        say(f"{file}: {len(flat(fact.values)) if fact.values else 0} values, all of them good")


def _layers(log: Log, repo: str) -> Layers:
    """What the log says about a repository's policy; of one that was never seen only the installation's part."""
    from amends.common.envelope import event_of
    from amends.common.identity import INSTALLATION
    from amends.common.provenance import Layers

    rows = log.history(INSTALLATION)
    known = next(iter(log.loops(repo=repo, limit=1)), None) if repo else None
    if known is not None and known.repo is not None:
        rows = rows + log.history(f"{known.repo}-policy")
    return Layers(repo).tell(event_of(row) for row in rows if row.type.startswith("policy."))
