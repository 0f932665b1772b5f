"""`amends reconcile`: have the running comment-fetcher look around on GitHub now."""

from __future__ import annotations

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, shown
from amends.cli.place import Negative, NotReachable, linked, placed, settings

SECONDS = 600.0


@click.command(
    short_help="Find now what no webhook told.",
    epilog=examples("amends reconcile", "amends reconcile octo/shop"),
)
@click.argument("repository", default="")
@placed("data_dir", "nats_url")
@formatted
def reconcile(repository: str) -> None:
    """Have the comment-fetcher look at every open pull request of REPOSITORY, or of all that the installation lists.

    What it finds is reported as if a webhook had told it; what the log knows stays as it is. It works by itself every
    `fetcher.poll_seconds`; this is for those who do not want to wait.
    """
    from amends.common.bus.errands import Looked, look_around
    from amends.common.bus.link import Link, Unanswered

    async def ask(link: Link) -> Looked:
        return await look_around(link, repository, SECONDS)

    try:
        looked = linked(ask, settings())
    except Unanswered as unanswered:
        raise NotReachable(
            f"no comment-fetcher answers ({shown(str(unanswered))}): is GitHub configured where amends runs?"
        ) from unanswered
    if as_json():
        say_json(looked.model_dump(mode="json"))
    else:
        say(f"{looked.repositories} repositories, {looked.pulls} pull requests read, {looked.found} new facts")
    if looked.missed:
        raise Negative("not everything was seen: " + "; ".join(map(shown, looked.missed[:10])))
