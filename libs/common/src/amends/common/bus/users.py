"""Who may do what on the bus: a user for each service, as nats-server's own configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping

from amends.common.bus.consumers import DEFERRED
from amends.common.bus.mirror import STREAM
from amends.common.events import EVERYONE, REACTIONS, Reporter

EVALUATOR = (
    "events.>",
    "_INBOX.>",
    "ask.may",  # how a command finds out whether one is at work
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.CONSUMER.CREATE.{STREAM}.>",
    f"$JS.API.CONSUMER.INFO.{STREAM}.*",
    *(f"$JS.API.STREAM.{verb}.{stream}" for verb in ("INFO", "CREATE") for stream in (STREAM, DEFERRED)),
)
PEOPLE = ("gateway", "cli")  # whom people work through
RECONCILE = "reconcile.now"
QUESTIONS = {"cli": [RECONCILE], "comment-fetcher": ["ask.followed"], "notifier": ["ask.situation"]}


def may_publish(user: str) -> list[str]:
    """All that a user may say. Nobody may delete, purge or change a stream: an operator has credentials of his own."""
    if user == "evaluator":
        return list(EVALUATOR)
    allowed = [f"report.{user}", "ask.may", "blob.put", "blob.get"]
    if user in PEOPLE:
        allowed.append("ask.requeue")
    allowed += QUESTIONS.get(user, [])
    if user in REACTIONS:
        allowed += [
            f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{user}",
            f"$JS.API.CONSUMER.INFO.{STREAM}.{user}",
            f"$JS.ACK.{STREAM}.{user}.>",
            f"$JS.API.DIRECT.GET.{DEFERRED}.deferred.{user}.*",
            f"deferred.{user}.*",
        ]
    return allowed


def may_hear(user: str) -> list[str]:
    """All that a user may listen to."""
    served = {"evaluator": ["report.*", "ask.*", "blob.*"], "comment-fetcher": [RECONCILE]}
    return [f"_INBOX.{user}.>", *served.get(user, [])]


def configuration(passwords: Mapping[Reporter, str]) -> str:
    """For nats-server's `-c`: these users and no others, each held to its own. A password may be a bcrypt hash."""
    users = [
        {
            "user": user,
            "password": passwords[user],
            "permissions": {
                "publish": {"allow": may_publish(user)},
                "subscribe": {"allow": may_hear(user)},
                # Whoever it answers has asked for it: one message, to where he wants it.
                **({"allow_responses": {"max": 1, "expires": "15m"}} if user == "comment-fetcher" else {}),
            },
        }
        for user in EVERYONE
        if user in passwords
    ]
    return json.dumps({"authorization": {"users": users}}, indent=2) + "\n"
