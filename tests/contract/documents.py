"""GraphQL documents that ask for every field the double has, made from its schema."""

from __future__ import annotations

from collections.abc import Iterator

from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLUnionType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    get_named_type,
    is_required_argument,
    parse,
    visit,
)
from graphql.language import FieldNode

from amends.doubles.github.graphql.engine import schema

_ARGUMENTS = {
    "first": "first:20",
    "number": "number:1",
    "qualifiedName": 'qualifiedName:"refs/heads/main"',
    "expression": 'expression:"main:app.py"',
    "pullRequestNumber": "pullRequestNumber:1",
    "name": 'name:"help wanted"',
}
_ALWAYS = {"first", "expression", "pullRequestNumber"}


def everything_of(kind: str, depth: int = 1) -> str:
    """A document for one node: all its fields, theirs, and so on."""
    return f"query($id:ID!){{node(id:$id){{... on {kind}{{{_fields(kind, depth)}}}}}}}"


def _fields(kind: str, depth: int) -> str:
    found = schema().type_map[kind]
    if not isinstance(found, GraphQLObjectType):
        return "__typename"
    return " ".join(line for name, field in found.fields.items() for line in _line(kind, name, field, depth))


def _line(kind: str, name: str, field: GraphQLField, depth: int) -> Iterator[str]:
    inner = get_named_type(field.type)
    # An alias keeps apart what several types of a union call the same.
    ask = f"{kind}_{name}:{name}{_arguments(field)}"
    if not isinstance(inner, GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType):
        yield ask
    elif depth > 0:
        # A connection is no step of its own.
        step = 0 if inner.name.endswith(("Connection", "Edge")) or inner.name == "PageInfo" else 1
        yield f"{ask}{{{_selection(inner, depth - step)}}}"


def _selection(kind: GraphQLNamedType, depth: int) -> str:
    if isinstance(kind, GraphQLObjectType):
        return _fields(kind.name, depth)
    assert isinstance(kind, GraphQLInterfaceType | GraphQLUnionType)
    own = " ".join(f"{kind.name}_{name}:{name}" for name in _plain(kind))
    parts = [f"... on {one.name}{{{_fields(one.name, depth)}}}" for one in schema().get_possible_types(kind)]
    return " ".join(["__typename", own, *(parts if depth > 0 else ())])


def _plain(kind: GraphQLInterfaceType | GraphQLUnionType) -> list[str]:
    if isinstance(kind, GraphQLUnionType):
        return []
    branching = (GraphQLObjectType, GraphQLInterfaceType, GraphQLUnionType)
    return [
        name
        for name, one in kind.fields.items()
        if not one.args and not isinstance(get_named_type(one.type), branching)
    ]


def _arguments(field: GraphQLField) -> str:
    wanted = [
        text
        for name, text in _ARGUMENTS.items()
        if name in field.args and (name in _ALWAYS or is_required_argument(field.args[name]))
    ]
    return f"({','.join(wanted)})" if wanted else ""


class _Seen(Visitor):
    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self.info = info
        self.fields: set[tuple[str, str]] = set()

    def enter_field(self, node: FieldNode, *_: object) -> None:
        parent = self.info.get_parent_type()
        if parent is not None:
            self.fields.add((parent.name, node.name.value))


def fields_in(document: str) -> set[tuple[str, str]]:
    """(type, field) of everything that a document asks for."""
    info = TypeInfo(schema())
    seen = _Seen(info)
    visit(parse(document), TypeInfoVisitor(info, seen))
    return seen.fields
