"""The control surface over HTTP, below /_double: what the Python handles do, for whoever drives the double from afar.

`GET /_double/state | requests | deliveries | health`, and `POST /_double/<verb>` with a JSON object. For a test or a
demo on this machine: it has no login, and takes nothing but JSON, so that no page in a browser can post to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from amends.doubles.github.control import deeds
from amends.doubles.github.http import Reply, Request, json_reply
from amends.doubles.github.journal import Asked
from amends.doubles.github.refusal import Json, Refused
from amends.doubles.github.webhooks.post import Delivery

if TYPE_CHECKING:
    from amends.doubles.github.double import GitHubDouble

Said = Mapping[str, Any]


class Wire:
    """Serves what is below /_double/."""

    def __init__(self, double: GitHubDouble) -> None:
        self._double = double

    def __call__(self, request: Request) -> Reply:
        name = request.path.removeprefix("/_double/")
        try:
            if request.method == "GET":
                return json_reply(200, _looked(self._double, name))
            return json_reply(200, _done(self._double, name, _said(request)))
        except Refused as refused:
            return json_reply(refused.status, refused.body)
        except KeyError as error:
            return json_reply(400, {"message": f"{error.args[0]}: it is missing, or there is none of that name"})
        except (TypeError, ValueError) as error:
            return json_reply(400, {"message": f"{type(error).__name__}: {error}"})


def _said(request: Request) -> Said:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refused(415, "Say it in JSON.")
    said: Said = json.loads(request.body or b"{}")
    return said


def _looked(double: GitHubDouble, name: str) -> object:
    looks: dict[str, Callable[[GitHubDouble], object]] = {
        "health": lambda one: {"api": one.api_url, "graphql": one.graphql_url, "git": one.url},
        "state": lambda one: one.dump(),
        "requests": lambda one: [_request(asked) for asked in one.requests.find()],
        "deliveries": lambda one: [_delivery(each) for each in one.webhooks.deliveries],
        "violations": lambda one: one.violations,
        "crashes": lambda one: one.requests.crashes,
        "unknown": lambda one: one.requests.unknown,
    }
    if name not in looks:
        raise Refused(404, f"There is {', '.join(looks)}.")
    return looks[name](double)


def _done(double: GitHubDouble, name: str, said: Said) -> object:
    if name not in deeds.DEEDS:
        raise Refused(404, f"There is {', '.join(sorted(deeds.DEEDS))}.")
    return deeds.DEEDS[name](double, said) or {}


def _request(asked: Asked) -> Json:
    return {
        "method": asked.method,
        "target": asked.request.target,
        "status": asked.status,
        "who": asked.who,
        "operation": asked.operation,
        "body": asked.json,
    }


def _delivery(one: Delivery) -> Json:
    outcome = None if one.outcome is None else {"code": one.outcome.code, "status": one.outcome.status}
    about = {"id": one.id, "guid": one.guid, "event": one.event, "action": one.action, "url": one.hook.url}
    return {**about, "redelivery": one.again, "outcome": outcome}
