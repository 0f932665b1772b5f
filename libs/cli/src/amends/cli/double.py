"""`amends double`: stand-ins for what amends talks to, to try it on."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, talk

if TYPE_CHECKING:
    from amends.cli.demo.scene import Scene
    from amends.doubles.github import GitHubDouble

_ADDRESSES = {"url": "at", "api_url": "REST", "graphql_url": "GraphQL", "git_url": "git", "control_url": "control"}


@click.group()
def double() -> None:
    """Run a stand-in for what amends talks to."""


@double.command(
    short_help="Run a GitHub of your own.",
    epilog=examples(
        "amends double github --example --port 8081",
        "curl http://127.0.0.1:8081/_double/state",
        "curl http://127.0.0.1:8081/_double/comment --json \\",
        '  \'{"repo": "acme/shop", "pull": 1, "by": "bob", "body": "Why?", "path": "basket.py", "line": 5}\'',
        "curl http://127.0.0.1:8081/_double/webhook --json \\",
        '  \'{"url": "http://127.0.0.1:8080/webhooks/github", "secret": "s", "app": "amends"}\'',
        'curl http://127.0.0.1:8081/_double/fault --json \'{"method": "GET", "path": "/pulls", "status": 502}\'',
    ),
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Where it listens. [default: any that is free]")
@click.option("--prefix", default="/api/v3", show_default=True, help="Path prefix of the REST API.")
@click.option("--example", "with_example", is_flag=True, help="Begin with a pull request that is asked for changes.")
@formatted
def github(port: int, prefix: str, *, with_example: bool) -> None:
    """Run a GitHub of your own on this machine: REST, GraphQL, webhooks, and git over HTTP.

    It keeps to GitHub's rules, begins empty, and is gone when Ctrl-C ends it. Under /_double it is told what people
    do and what goes wrong: a GET lists the state, the requests and the deliveries, a POST of JSON does something
    (repo, token, pull, commit, review, comment, reply, resolve, change, check, webhook, mishap, fault, ...; one that
    is not known is answered with the list). There is no login: do not let others reach it.
    """
    from amends.cli.demo.scene import Scene
    from amends.doubles.github import GitHubDouble

    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        running = GitHubDouble(port=port, prefix=prefix)
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror}") from error
    with running:
        scene = Scene(running) if with_example else None
        if scene is not None:
            scene.discounts()
            scene.bob_asks_for_changes()
        _introduce(running, scene)
        talk("amends: a GitHub of your own is up. Ctrl-C ends it, and everything in it.")
        over.wait()


def _introduce(double: GitHubDouble, scene: Scene | None) -> None:
    addresses = {
        "url": double.url,
        "api_url": double.api_url,
        "graphql_url": double.graphql_url,
        "git_url": f"{double.url}/OWNER/NAME.git",
        "control_url": f"{double.url}/_double",
    }
    if as_json():
        say_json({**addresses, **({} if scene is None else _example(scene))})
        return
    for name, address in addresses.items():
        say(f"{_ADDRESSES[name]:<8} {address}")
    if scene is not None:
        say(f"\nacme/shop#1, which bob wants changed: {double.url}/acme/shop/pull/1")
        say("For amends, as octocat:")
        for name in ("api_url", "graphql_url"):
            say(f"  export AMENDS_GITHUB_{name.upper()}={addresses[name]}")
        say(f"  export AMENDS_GITHUB_TOKEN={_token(scene)}")


def _example(scene: Scene) -> dict[str, object]:
    return {
        "pull_url": f"{scene.github.url}/acme/shop/pull/1",
        "token": _token(scene),
        "app_id": scene.app.id,
        "private_key": scene.app.pem,
    }


def _token(scene: Scene) -> str:
    return scene.github.token("octocat")  # who may do anything
