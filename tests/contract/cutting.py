"""Cuts GitHub's descriptions down to what the double has: the paths of its routes, the fields of its resolvers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from graphql import (
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputObjectTypeExtensionNode,
    InterfaceTypeDefinitionNode,
    NamedTypeNode,
    Node,
    ObjectTypeDefinitionNode,
    ScalarTypeDefinitionNode,
    TypeNode,
    UnionTypeDefinitionNode,
    Visitor,
    print_ast,
    visit,
)

Json = dict[str, Any]
_WORDS = {"summary", "examples", "example", "externalDocs", "x-github", "x-githubEnterpriseOverlays"}
_BUILT_IN = {"Int", "Float", "String", "Boolean", "ID"}


def openapi(full: Json, paths: Mapping[str, Iterable[str]]) -> Json:
    """The operations that are asked for (path -> methods) and every component that they need."""
    kept: Json = {}
    for path, methods in paths.items():
        there = full["paths"].get(path, {})
        wanted = {method.lower() for method in methods}
        kept[path] = {name: _plain(part) for name, part in there.items() if name in wanted or name == "parameters"}
    cut = {"openapi": full["openapi"], "info": full["info"], "servers": full["servers"], "paths": kept}
    return {**cut, "components": _components(full, kept)}


def webhooks(full: Json, events: Iterable[str]) -> Json:
    """The webhooks of these events, as component schemas by the name of event and action."""
    prefixes = tuple(f"{event.replace('_', '-')}" for event in events)
    kept = {name: _plain(part) for name, part in full["webhooks"].items() if name.startswith(prefixes)}
    cut = {"openapi": full["openapi"], "info": full["info"], "webhooks": kept}
    return {**cut, "components": _components(full, kept)}


def _plain(part: Any) -> Any:
    """Without prose, which is most of it. A description has to stay, if empty; a property may well be called so."""
    match part:
        case {"properties": dict() as properties, **rest}:
            return {**_plain(rest), "properties": {name: _plain(one) for name, one in properties.items()}}
        case dict():
            return {name: _said(name, one) for name, one in part.items() if name not in _WORDS}
        case list():
            return [_plain(one) for one in part]
        case _:
            return part


def _said(name: str, part: Any) -> Any:
    return "" if name == "description" and isinstance(part, str) else _plain(part)


def _components(full: Json, kept: Any) -> Json:
    found: dict[str, Json] = {}
    waiting = list(_references(kept))
    while waiting:
        kind, name = waiting.pop().removeprefix("#/components/").split("/", 1)
        if kind == "examples" or name in found.get(kind, {}):
            continue
        part = _plain(full["components"][kind][name])
        found.setdefault(kind, {})[name] = part
        waiting += _references(part)
    return {kind: dict(sorted(parts.items())) for kind, parts in sorted(found.items())}


def _references(part: Any) -> Iterator[str]:
    match part:
        case {"$ref": str() as reference}:
            yield reference
        case dict():
            for one in part.values():
                yield from _references(one)
        case list():
            for one in part:
                yield from _references(one)
        case _:
            pass


def sdl(full: DocumentNode, types: Mapping[str, Iterable[str]], abstract: Mapping[str, Iterable[str]]) -> str:
    """The schema of exactly these fields, with the inputs, enums and scalars that they need."""
    by_name = {one.name.value: one for one in full.definitions if hasattr(one, "name")}
    kept: dict[str, str] = {}
    waiting: set[str] = set()
    for name, fields in sorted({**types, **abstract}.items()):
        definition = by_name.get(name)
        if definition is None:
            raise LookupError(f"GitHub has no type {name}")
        if isinstance(definition, UnionTypeDefinitionNode):
            kept[name] = _union(definition, types)
            continue
        assert isinstance(definition, ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode)
        chosen = _fields(definition, set(fields))
        waiting |= {used for field in chosen for used in _used(field)}
        kept[name] = _typed(definition, chosen, types, abstract)
    kept |= _leaves(by_name, waiting - kept.keys())
    return "\n\n".join(["schema { query: Query mutation: Mutation }", *(kept[name] for name in sorted(kept))]) + "\n"


def _fields(
    definition: ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode, wanted: set[str]
) -> list[FieldDefinitionNode]:
    chosen = [field for field in definition.fields or () if field.name.value in wanted]
    missing = wanted - {field.name.value for field in chosen}
    if missing:
        raise LookupError(f"GitHub's {definition.name.value} has no {', '.join(sorted(missing))}")
    return chosen


def _typed(
    definition: ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode,
    fields: list[FieldDefinitionNode],
    types: Mapping[str, Iterable[str]],
    abstract: Mapping[str, Iterable[str]],
) -> str:
    own = {field.name.value for field in fields}
    named = [one.name.value for one in definition.interfaces or ()]
    held = [name for name in named if name in abstract and set(abstract[name]) <= own]
    word = "type" if isinstance(definition, ObjectTypeDefinitionNode) else "interface"
    implements = f" implements {' & '.join(held)}" if held and definition.name.value in types else ""
    lines = [f"  {_line(field)}" for field in fields]
    return "\n".join([f"{word} {definition.name.value}{implements} {{", *lines, "}"])


def _line(field: FieldDefinitionNode) -> str:
    arguments = [_argument(one) for one in field.arguments or ()]
    inside = f"({', '.join(arguments)})" if arguments else ""
    return f"{field.name.value}{inside}: {print_ast(field.type)}"


def _argument(one: Any) -> str:
    default = f" = {print_ast(one.default_value)}" if one.default_value else ""
    return f"{one.name.value}: {print_ast(one.type)}{default}"


def _used(field: FieldDefinitionNode) -> Iterator[str]:
    yield _base(field.type)
    for argument in field.arguments or ():
        yield _base(argument.type)


def _base(node: TypeNode) -> str:
    while not isinstance(node, NamedTypeNode):
        node = node.type  # type: ignore[attr-defined]
    return node.name.value


def _union(definition: UnionTypeDefinitionNode, types: Mapping[str, Iterable[str]]) -> str:
    members = [one.name.value for one in definition.types or () if one.name.value in types]
    return f"union {definition.name.value} = {' | '.join(members)}"


def _leaves(by_name: Mapping[str, Any], waiting: set[str]) -> dict[str, str]:
    """Inputs, enums and scalars, with what inputs need in turn."""
    kept: dict[str, str] = {}
    queue = sorted(waiting - _BUILT_IN)
    while queue:
        name = queue.pop()
        if name in kept:
            continue
        definition = by_name[name]
        match definition:
            case EnumTypeDefinitionNode():
                kept[name] = (
                    f"enum {name} {{\n" + "\n".join(f"  {one.name.value}" for one in definition.values or ()) + "\n}"
                )
            case ScalarTypeDefinitionNode():
                kept[name] = f"scalar {name}"
            case InputObjectTypeDefinitionNode():
                kept[name] = (
                    f"input {name} {{\n" + "\n".join(f"  {_argument(one)}" for one in definition.fields or ()) + "\n}"
                )
                queue += sorted({_base(one.type) for one in definition.fields or ()} - _BUILT_IN - kept.keys())
            case _:
                raise LookupError(f"{name} is answered somewhere, and no field of it is known")
    return kept


def schemas(full: Json, events: Iterable[str]) -> Json:
    """The JSON schemas of these events and what they refer to."""
    wanted = tuple(f"{event}$" for event in events)
    found: Json = {name: part for name, part in full["definitions"].items() if name.startswith(wanted)}
    waiting = list(_references(found))
    while waiting:
        name = waiting.pop().removeprefix("#/definitions/")
        if name not in found:
            found[name] = full["definitions"][name]
            waiting += _references(found[name])
    return {"$schema": full["$schema"], "definitions": _plain(dict(sorted(found.items())))}


def without_prose(full: DocumentNode) -> str:
    """The whole schema but for its descriptions, which are most of it."""
    return print_ast(visit(full, _NoProse())) + "\n"


class _NoProse(Visitor):
    def enter(self, node: Node, *_: Any) -> Node:
        return replace(cast("Any", node), description=None) if hasattr(node, "description") else node


def extended(full: DocumentNode, beyond: DocumentNode) -> DocumentNode:
    """With the fields that GitHub has and does not publish."""
    more = {one.name.value: one for one in beyond.definitions if isinstance(one, InputObjectTypeExtensionNode)}
    made = [_more(one, more) for one in full.definitions]
    return DocumentNode(definitions=tuple(made))


def _more(one: Any, more: Mapping[str, InputObjectTypeExtensionNode]) -> Any:
    if not isinstance(one, InputObjectTypeDefinitionNode) or one.name.value not in more:
        return one
    return InputObjectTypeDefinitionNode(
        name=one.name, fields=(*(one.fields or ()), *(more[one.name.value].fields or ()))
    )
