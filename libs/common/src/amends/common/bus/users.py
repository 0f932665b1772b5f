"""Who may do what on the bus: a user for each service, as nats-server's own configuration.

Each user has an account of his own, which imports what he may ask for and knows nothing else. Permissions alone would
not hold him: whatever answers him does so at the subject he names, with the rights of nats-server. In one account, an
acknowledgement that is to be answered at `$JS.API.STREAM.DELETE.EVENTS` deletes the stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from amends.common.bus.consumers import DEFERRED, STANDING
from amends.common.bus.mirror import STREAM
from amends.common.events import EVERYONE, REACTIONS, Reporter

EVALUATOR = (
    "events.>",
    "_R_.>",  # where nats-server passes answers on to who has asked in another account
    "_INBOX.evaluator.>",
    "ask.may",  # how a command finds out whether one is at work
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.CONSUMER.CREATE.{STREAM}.>",
    f"$JS.API.CONSUMER.INFO.{STREAM}.*",
    *(f"$JS.API.STREAM.{verb}.{stream}" for verb in ("INFO", "CREATE") for stream in (STREAM, DEFERRED)),
)
PEOPLE = ("gateway", "cli")  # whom people work through
RECONCILE = "reconcile.now"
_LONGEST_LOOK = "15m"
FETCHER: Reporter = "comment-fetcher"
RECORDER: Reporter = "evaluator"
QUESTIONS: dict[str, list[str]] = {"cli": [RECONCILE], FETCHER: ["ask.followed"], "notifier": ["ask.situation"]}


def may_publish(user: str) -> list[str]:
    """All that a user may say. Nobody may delete, purge or change a stream: an operator has credentials of his own."""
    if user == RECORDER:
        return list(EVALUATOR)
    allowed = [f"report.{user}", "ask.may", "blob.put", "blob.get"]
    if user in PEOPLE:
        allowed.append("ask.requeue")
    allowed += QUESTIONS.get(user, [])
    if user in REACTIONS:
        allowed += [
            f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{user}",
            f"{STANDING}.{user}",
            f"$JS.ACK.{STREAM}.{user}.>",
            f"$JS.API.DIRECT.GET.{DEFERRED}.deferred.{user}.*",
            f"deferred.{user}.*",
        ]
    return allowed


def may_hear(user: str) -> list[str]:
    """All that a user may listen to."""
    served: dict[str, list[str]] = {RECORDER: ["report.*", "ask.*", "blob.*", f"{STANDING}.*"], FETCHER: [RECONCILE]}
    return [f"_INBOX.{user}.>", *served.get(user, [])]


def configuration(passwords: Mapping[Reporter, str]) -> str:
    """For nats-server's `-c`: these users and no others, each held to its own. A password may be a bcrypt hash."""
    known = [user for user in EVERYONE if user in passwords]
    accounts = {str(user): _account(user, passwords[user]) for user in known}
    accounts[RECORDER]["jetstream"] = "enabled"
    for subject, users in _asked(known).items():
        owner = FETCHER if subject == RECONCILE else RECORDER
        accounts[owner]["exports"].append({"service": subject, "accounts": users, **_answered(subject)})
        for user in users:
            accounts[user]["imports"].append({"service": {"account": owner, "subject": subject}})
    return json.dumps({"accounts": accounts}, indent=2) + "\n"


def _account(user: Reporter, password: str) -> dict[str, Any]:
    permissions = {
        "publish": {"allow": may_publish(user)},
        "subscribe": {"allow": may_hear(user)},
        # Whoever it answers has asked for it: one message, to where he wants it.
        **({"allow_responses": {"max": 1, "expires": _LONGEST_LOOK}} if user == FETCHER else {}),
    }
    return {
        "users": [{"user": user, "password": password, "permissions": permissions}],
        "imports": [],
        "exports": [],
    }


def _asked(known: Sequence[Reporter]) -> dict[str, list[str]]:
    """What is asked of somebody else, and by whom. JetStream is the evaluator's."""
    asked: dict[str, list[str]] = {}
    for user in known:
        for subject in may_publish(user) if user != RECORDER else ():
            asked.setdefault(subject, []).append(user)
    return asked


def _answered(subject: str) -> dict[str, str]:
    """How often, and how late, if not once and soon."""
    if subject.startswith("$JS.API.CONSUMER.MSG.NEXT."):
        return {"response_type": "stream"}
    return {"response_threshold": _LONGEST_LOOK} if subject == RECONCILE else {}
