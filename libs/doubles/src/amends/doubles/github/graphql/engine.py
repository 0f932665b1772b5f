"""Executes GraphQL documents: parsed and validated once each, errors in GitHub's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    GraphQLUnionType,
    OperationDefinitionNode,
    build_schema,
    execute_sync,
    get_operation_ast,
    get_variable_values,
    parse,
    validate,
)

import amends.doubles.github.graphql.mutations  # noqa: F401 - makes all fields known
from amends.doubles.github.graphql.checks import Rollup
from amends.doubles.github.graphql.fields import ABSTRACT, TYPES, Asking, Resolver
from amends.doubles.github.graphql.repositories import Blob
from amends.doubles.github.graphql.running import Run
from amends.doubles.github.graphql.weight import MOST_NODES, Weight, weigh
from amends.doubles.github.refusal import Json, Refused
from amends.doubles.github.state.accounts import Account, App, Team
from amends.doubles.github.state.repositories import CheckRun, CheckSuite, CommitAt, Label, Repository, Status
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review, Thread

_NAMES: dict[type, str] = {
    App: "App",
    Blob: "Blob",
    CheckRun: "CheckRun",
    CheckSuite: "CheckSuite",
    Comment: "PullRequestReviewComment",
    CommitAt: "Commit",
    Issue: "Issue",
    IssueComment: "IssueComment",
    Label: "Label",
    Pull: "PullRequest",
    Repository: "Repository",
    Review: "PullRequestReview",
    Rollup: "StatusCheckRollup",
    Status: "StatusContext",
    Team: "Team",
    Thread: "PullRequestReviewThread",
}


def type_name(thing: object, *_context: object) -> str:
    """Which type a thing has where several are possible."""
    return thing.kind if isinstance(thing, Account) else _NAMES[type(thing)]


def _resolver(answer: Resolver) -> Callable[..., Any]:
    def resolve(thing: Any, info: GraphQLResolveInfo[Asking], **arguments: Any) -> Any:  # noqa: ANN401
        try:
            return answer(thing, info.context, arguments)
        except Refused as refused:
            raise GraphQLError(refused.message, extensions={"type": refused.kind}) from refused

    return resolve


@lru_cache(maxsize=1)
def schema() -> GraphQLSchema:
    text = (files("amends.doubles.github.graphql") / "schema.graphql").read_text(encoding="utf-8")
    built = build_schema(text, assume_valid_sdl=True)
    for name, fields in TYPES.items():
        kind = cast("GraphQLObjectType", built.type_map[name])
        for field, answer in fields.items():
            kind.fields[field].resolve = _resolver(answer)
    for name in ABSTRACT:
        either = built.type_map[name]
        if isinstance(either, GraphQLInterfaceType | GraphQLUnionType):
            either.resolve_type = type_name
    return built


@lru_cache(maxsize=512)
def _checked(document: str) -> tuple[DocumentNode | None, list[GraphQLError]]:
    try:
        parsed = parse(document)
    except GraphQLError as error:
        return None, [error]
    return parsed, validate(schema(), parsed)


def operations(document: str) -> list[str]:
    """What a document asks for at its top: `resolveReviewThread`, `repository`."""
    parsed, _ = _checked(document)
    if parsed is None:
        return []
    tops = [one for one in parsed.definitions if isinstance(one, OperationDefinitionNode)]
    return [field.name.value for one in tops for field in one.selection_set.selections if hasattr(field, "name")]


def execute(document: str, variables: Mapping[str, Any] | None, name: str | None, asking: Asking) -> Json:
    """`data` and `errors`; as on GitHub an error's `type` stands beside its message. Refused only for the limits."""
    parsed, errors = _checked(document)
    operation = get_operation_ast(parsed, name) if parsed is not None else None
    if parsed is None or operation is None or errors:
        return {"errors": [_shown(error) for error in errors or [GraphQLError("Which operation is meant?")]]}
    given = get_variable_values(schema(), operation.variable_definitions or (), dict(variables or {}))
    if isinstance(given, list):
        return {"errors": [_shown(error) for error in given]}
    weight = weigh(parsed, operation, given.coerced)
    asking.limits.take(asking.caller.bucket, "graphql", weight.cost)
    if weight.nodes > MOST_NODES:
        return {"errors": [_too_heavy(weight)]}
    if any(word in document for word in ("__schema", "__type(")):
        return {"data": execute_sync(schema(), parsed, context_value=asking, operation_name=name).data}
    run = Run(schema(), parsed, given, replace(asking, weight=weight), type_name)
    data = run.run(operation)
    return {"data": data, "errors": [_shown(error) for error in run.errors]} if run.errors else {"data": data}


def _too_heavy(weight: Weight) -> Json:
    said = (
        f"This query requests up to {weight.nodes:,} possible nodes which exceeds the maximum limit of {MOST_NODES:,}."
    )
    return {"type": "MAX_NODE_LIMIT_EXCEEDED", "message": said}


def _shown(error: GraphQLError) -> Json:
    said: Json = dict(error.formatted)
    extensions = said.pop("extensions", {})
    kind = extensions.get("type")
    return {"type": kind, **said} if kind else {**said, "extensions": {"code": "undefinedField"}}
