"""About the API itself: rate limits and addresses."""

from __future__ import annotations

from amends.doubles.github.limits import Limits
from amends.doubles.github.rest.call import Answer, Call
from amends.doubles.github.rest.routes import Routes


def routes(limits: Limits) -> Routes:
    table = Routes()

    @table.on("GET /rate_limit")
    def rate_limit(call: Call) -> Answer:
        """Asking costs nothing."""
        core, graphql = (limits.shown(call.caller.bucket, name) for name in ("core", "graphql"))
        return Answer(200, {"resources": {"core": core, "search": core, "graphql": graphql}, "rate": core})

    @table.on("GET /meta")
    def meta(_: Call) -> Answer:
        return Answer(200, {"verifiable_password_authentication": False, "hooks": ["127.0.0.1/32"]})

    @table.on("GET /zen")
    def zen(_: Call) -> Answer:
        return Answer(200, b"Design for failure.", {"content-type": "text/plain;charset=utf-8"})

    return table
