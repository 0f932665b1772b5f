"""The one URL of the GraphQL API: who may ask, what it costs, and what a refusal looks like there."""

from __future__ import annotations

from typing import Any

from amends.doubles.github.caller import Caller
from amends.doubles.github.graphql.engine import execute, operations
from amends.doubles.github.graphql.fields import Asking
from amends.doubles.github.http import Reply, Request, json_reply
from amends.doubles.github.limits import Limits
from amends.doubles.github.refusal import Refused
from amends.doubles.github.rest.dispatch import caller_by
from amends.doubles.github.state.world import World


def serve(world: World, limits: Limits, request: Request) -> tuple[Reply, Caller]:
    caller = Caller()
    try:
        caller = _caller(world, request)
        said = document(request)
        writes = said["query"].lstrip().startswith("mutation")
        limits.take_burst(caller.bucket, 5 if writes else 1, writes=writes)
    except Refused as refused:
        return json_reply(refused.status, refused.body, refused.headers), caller
    asking = Asking(world, caller, limits)
    try:
        answer = execute(said["query"], said.get("variables"), said.get("operationName"), asking)
    except Refused as refused:
        # Unlike REST: 200, with the limit as an error.
        error = {"type": "RATE_LIMITED", "message": refused.message}
        return json_reply(200, {"errors": [error]}, refused.headers), caller
    return json_reply(200, answer, limits.headers(caller.bucket, "graphql")), caller


def _caller(world: World, request: Request) -> Caller:
    if not request.headers.get("authorization"):
        raise Refused(401, "This endpoint requires you to be authenticated.")
    return caller_by(world, request.headers)


def document(request: Request) -> dict[str, Any]:
    try:
        said = request.json()
    except ValueError:
        raise Refused(400, "Problems parsing JSON") from None
    if not isinstance(said, dict) or not isinstance(said.get("query"), str):
        raise Refused(400, "A query attribute must be specified and must be a string.")
    return said


def operation(request: Request) -> str:
    """For the journal: what was asked for."""
    try:
        return ",".join(operations(document(request)["query"]))
    except Refused:
        return ""
