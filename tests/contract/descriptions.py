"""GitHub's own descriptions, held against what is asked of the double and what it answers: see its `check`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphql import GraphQLError, GraphQLSchema, build_ast_schema, extend_schema, parse, validate
from jsonschema import Draft7Validator, Draft202012Validator
from openapi_core import OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from referencing import Registry
from referencing.jsonschema import DRAFT7, DRAFT202012
from werkzeug.datastructures import Headers, ImmutableMultiDict

from amends.doubles.github.http import Reply, Request
from amends.doubles.github.refusal import Json
from amends.doubles.github.rest.routes import Route

_HOST = "https://api.github.com"
# Where the descriptions are wrong about GitHub. Outdated comments have no line, and comments on a file never had one.
_NULLABLE = {"pull-request-review-comment": ("line", "position", "original_line")}
# The genuine examples have numbers here, a deleted fork leaves no repository, and a comment on a file has no line. Of
# the last ones the older description knows less than the newer one.
_TOLD_OTHERWISE = {
    ("installation", "created_at"),
    ("installation", "updated_at"),
    ("pull_request", "head", "repo"),
    ("comment", "original_line"),
    ("commit", "commit", "verification"),
    ("changes", "owner", "from"),
    ("pull_request", "requested_teams"),
}
# Refusals are described for some operations and not for others, though all of them refuse.
_REFUSALS = {400, 401, 403, 404, 405, 409, 410, 422, 429}


@lru_cache(maxsize=1)
def load() -> Descriptions:
    """The descriptions of this repository."""
    return Descriptions(Path(__file__).parent / "data")


class _Asked:
    """A request as openapi-core takes it."""

    def __init__(self, request: Request, path: str) -> None:
        self.host_url = _HOST
        self.path = path
        self.method = request.method.lower()
        self.content_type = request.headers.get("content-type", "application/json" if request.body else "")
        self.body = request.body or None
        query = ImmutableMultiDict(list(request.query.items()))
        self.parameters = RequestParameters(query=query, header=Headers(dict(request.headers)))


class _Answered:
    """An answer as openapi-core takes it."""

    def __init__(self, reply: Reply) -> None:
        self.status_code = reply.status
        self.content_type = reply.headers.get("content-type", "application/json").partition(";")[0]
        self.headers: Mapping[str, Any] = {name: value for name, value in reply.headers.items() if name != "link"}
        self.data = reply.body


class Descriptions:
    """Each is read when it is first needed: reading takes most of a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> bytes:
        return gzip.decompress((self.folder / name).read_bytes())

    @cached_property
    def openapi(self) -> OpenAPI:
        return OpenAPI.from_dict(_corrected(json.loads(self.read("openapi.json.gz"))))

    @cached_property
    def schema(self) -> GraphQLSchema:
        beyond = parse((self.folder / "beyond.graphql").read_text(encoding="utf-8"))
        published = build_ast_schema(parse(self.read("schema.graphql.gz").decode()), assume_valid=True)
        return extend_schema(published, beyond, assume_valid=True)

    @cached_property
    def _told(self) -> tuple[Json, Registry[Any]]:
        said = json.loads(self.read("webhooks.openapi.json.gz"))
        return said, Registry().with_resource("urn:told", DRAFT202012.create_resource(said))

    @cached_property
    def _strict(self) -> tuple[Json, Registry[Any]]:
        said = json.loads(self.read("webhooks.schema.json.gz"))
        return said, Registry().with_resource("urn:strict", DRAFT7.create_resource(said))

    def rest(self, request: Request, path: str, route: Route, reply: Reply) -> list[str]:
        """What is wrong with a REST request that found its route, and with its answer."""
        asked = _Asked(request, _path(path, route))
        name = f"{route.method} {route.template}"
        # A refused request is the asker's affair: the answer says what is wrong with it.
        wrong = (
            [] if reply.status in _REFUSALS else _sentences(self.openapi.iter_request_errors(asked), f"asked {name}")
        )
        if reply.status == 304 or not _is_json(reply):
            return wrong
        if reply.status in _REFUSALS and not self._describes(route, reply.status):
            return wrong
        errors = self.openapi.iter_response_errors(asked, _Answered(reply))
        return wrong + _sentences(errors, f"answered {name} {reply.status}")

    def _describes(self, route: Route, status: int) -> bool:
        operation = self.openapi.spec / "paths" / route.template / route.method.lower() / "responses"
        return str(status) in operation

    def graphql(self, request: Request) -> list[str]:
        """What GitHub's schema says against a document."""
        try:
            document = parse(json.loads(request.body)["query"])
        except (ValueError, KeyError, TypeError, GraphQLError):
            return ["asked GraphQL something that is no document"]
        return [f"asked GraphQL: {error.message}" for error in validate(self.schema, document)]

    def webhook(self, event: str, said: Json) -> list[str]:
        """What is wrong with an event, by both descriptions that there are."""
        action = said.get("action")
        found = self._webhook_openapi(event, action, said)
        return found + self._webhook_schema(event, action, said)

    def _webhook_openapi(self, event: str, action: object, said: Json) -> list[str]:
        full, registry = self._told
        name = "-".join([event, action] if isinstance(action, str) else [event]).replace("_", "-")
        if name not in full["webhooks"]:
            return [f"told {event}.{action}, which openapi-webhooks does not have"]
        reference = full["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        checker = Draft202012Validator({"$ref": f"urn:told{reference}"}, registry=registry)
        return _told(f"told {event}.{action}", checker.iter_errors(said))

    def _webhook_schema(self, event: str, action: object, said: Json) -> list[str]:
        full, registry = self._strict
        name = f"{event}${action or 'event'}"
        if name not in full["definitions"]:
            return []
        checker = Draft7Validator({"$ref": f"urn:strict#/definitions/{name}"}, registry=registry)
        return _told(f"told {event}.{action} (strictly)", checker.iter_errors(said))


def _told(about: str, errors: Iterable[Any]) -> list[str]:
    return [_fault(about, error) for error in errors if _stands(error)]


def _stands(error: Any) -> bool:
    """Whether it is more than what is told otherwise; of several alternatives one is enough."""
    if _names(error.absolute_path) in _TOLD_OTHERWISE:
        return False
    ways: dict[object, list[Any]] = {}
    for inner in error.context or ():
        ways.setdefault(inner.schema_path[0], []).append(inner)
    return not any(all(not _stands(inner) for inner in way) for way in ways.values())


def _names(path: Iterable[str | int]) -> tuple[str, ...]:
    """Where something is, whatever its number in a list."""
    return tuple(part for part in path if isinstance(part, str))


def _corrected(said: Json) -> Json:
    schemas = said["components"]["schemas"]
    schemas["pull-request-simple"]["properties"]["labels"]["items"]["properties"]["description"]["nullable"] = True
    # Whoever has an installation is not a user and an enterprise at once.
    listed = _schema(said, "/app/installations")
    listed["items"]["properties"]["account"] = {"$ref": "#/components/schemas/simple-user"}
    # A folder is a list, and has no `type` to tell it by.
    del _schema(said, "/repos/{owner}/{repo}/contents/{path}")["discriminator"]
    for name, properties in _NULLABLE.items():
        for each in properties:
            schemas[name]["properties"][each]["nullable"] = True
    for schema in schemas.values():
        for part in schema.get("properties", {}).values():
            # Nullable, but with null not among the values: openapi-core takes that at its word.
            if part.get("nullable") and "enum" in part and None not in part["enum"]:
                part["enum"].append(None)
    return said


def _schema(said: Json, path: str) -> Json:
    """Of what a GET of this path answers."""
    schema: Json = said["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    return schema


def _fault(about: str, error: Any) -> str:
    leaf = error
    while leaf.context:
        leaf = min(leaf.context, key=lambda one: len(one.context or ()))
    return f"{about}: {'.'.join(str(part) for part in leaf.absolute_path)}: {leaf.message[:300]}"


def _is_json(reply: Reply) -> bool:
    return reply.headers.get("content-type", "").startswith("application/json")


def _path(path: str, route: Route) -> str:
    """With the slashes inside of parameters escaped, which openapi-core would take for others."""
    words = path.split("/")
    if words[1] == "repositories":
        path = "/".join(["/repos", "owner", "repo", *words[3:]])
    match = route.pattern.fullmatch(path)
    if match is None:
        return path
    return route.template.format(**{name: quote(value, safe="") for name, value in match.groupdict().items()})


def _sentences(errors: Iterable[Exception], about: str) -> list[str]:
    found: list[str] = []
    for error in errors:
        inner = getattr(error.__cause__ or error, "schema_errors", None)
        if inner:
            found += [_fault(about, one) for one in inner]
        elif isinstance(error, OpenAPIError):
            found.append(f"{about}: {error} {error.__cause__ or ''}".rstrip())
    return found
