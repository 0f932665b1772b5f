"""`amends up` and `amends run`: start what there is."""

from __future__ import annotations

import click

from amends.cli.output import examples
from amends.cli.place import placed, settings


@click.command(
    short_help="Run everything in one process.",
    epilog=examples(
        "amends up",
        "amends up --data-dir /var/lib/amends --ops-port 9090",
        "amends up --database postgresql://amends@db/amends",
        "AMENDS_GATEWAY_WEBHOOK_SECRETS='[\"...\"]' amends up --port 8080",
    ),
)
@placed("data_dir", "database", "nats_url", "gateway_port", "ops_port")
def up() -> None:
    """Run everything in one process: nats-server, log and all services.

    The data directory is made if it is not there. Ctrl-C stops it; what is queued is recorded first.
    """
    from amends.cli.up import main

    raise click.exceptions.Exit(main(settings()))


@click.group()
def run() -> None:
    """Run one service as a process of its own."""


@run.command(
    epilog=examples("AMENDS_DATABASE=postgresql://amends@db/amends amends run evaluator --nats nats://nats:4222")
)
@placed("data_dir", "database", "nats_url", "ops_port")
def evaluator() -> None:
    """Record, decide, mirror, and keep time: the one writer of the log."""
    from amends.cli.up import serve

    raise click.exceptions.Exit(serve(settings()))


@run.command(
    epilog=examples(
        "AMENDS_GATEWAY_WEBHOOK_SECRETS='[\"...\"]' amends run gateway --nats nats://nats:4222 --port 8080",
    )
)
@placed("database", "nats_url", "gateway_port", "ops_port")
def gateway() -> None:
    """Take webhooks and the HTTP API, and report what they say.

    Point the webhook of the GitHub App (content type application/json) at /webhooks/github. Its secret goes into
    `gateway.webhook_secrets`: two of them while it is being changed. Without one every delivery is answered 503.

    POST /api/facts is for reviewers outside GitHub: each has a token in `gateway.tokens` (name, sha256 of the token,
    may = facts and/or commands, repositories); `gateway.host` is 127.0.0.1 unless it is set. The log is only read.
    """
    from amends.gateway.app import serve

    raise click.exceptions.Exit(serve(settings()))


@run.command(
    "comment-fetcher",
    epilog=examples("AMENDS_GITHUB_TOKEN=... amends run comment-fetcher --nats nats://nats:4222"),
)
@placed("nats_url", "ops_port")
def comment_fetcher() -> None:
    """Read GitHub: collect feedback, check authors, and find what no webhook told.

    `github.api_url` and `github.graphql_url` say where GitHub is; `github.app_id` with `github.private_key_file`, or
    `github.token`, who we are there. `fetcher.poll_seconds` is how often it looks around, `fetcher.mode = "poll"` that
    no webhooks come at all.
    """
    from amends.comment_fetcher.app import serve

    raise click.exceptions.Exit(serve(settings()))


@run.command(
    epilog=examples("AMENDS_GITHUB_TOKEN=... AMENDS_MODEL_API_KEY=... amends run fixer --nats nats://nats:4222")
)
@placed("data_dir", "nats_url", "ops_port")
def fixer() -> None:
    """Change code: apply suggestions, and have the agent work on the rest, in a sandbox.

    `model.api_key`, `model.base_url` and `model.name` say which model; without a key only suggestions are applied.
    `sandbox.*` bounds what runs the code of repositories: bubblewrap, of the system or as it came with amends.
    Repositories and workspaces are kept in `fixer.directory`. Run it as a user of its own, not as root.
    """
    from amends.fixer.app import serve

    raise click.exceptions.Exit(serve(settings()))


@run.command(
    epilog=examples("AMENDS_GITHUB_TOKEN=... amends run publisher --nats nats://nats:4222"),
)
@placed("data_dir", "nats_url", "ops_port")
def publisher() -> None:
    """Write to GitHub: push the commits that fixes become, and resolve the threads that they serve.

    It needs `contents: write`, no more than `pull_requests: read` beside it, and git on this machine. Commits are made
    in the name of `publisher.name` and `publisher.email`; `github.git_url` says where repositories are, if that is not
    where `github.api_url` is.
    """
    from amends.publisher.app import serve

    raise click.exceptions.Exit(serve(settings()))


@run.command(
    epilog=examples("AMENDS_GITHUB_TOKEN=... AMENDS_SLACK_WEBHOOK=... amends run notifier --nats nats://nats:4222"),
)
@placed("nats_url", "ops_port")
def notifier() -> None:
    """Tell people: answer threads, ask for reviews, keep the status card and labels, call for a human.

    It needs `pull_requests: write` and `issues: write`, and writes no faster than `notifier.per_minute` and `.per_hour`
    say. `slack.webhook`, or `slack.token` with `slack.channel`, and `smtp.host` with `smtp.sender` and `smtp.to` are
    where it calls for a human beside GitHub. Of several one tells; the next takes over after `notifier.silent_seconds`.
    """
    from amends.notifier.app import serve

    raise click.exceptions.Exit(serve(settings()))
