"""Runs a document that was validated before: what each selection means is worked out once, then applied to every item.

graphql-core's own executor asks the same questions again for every item, and takes five times as long over a page of a
hundred threads; a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    is_abstract_type,
    is_leaf_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_directive_values
from graphql.type import GraphQLIncludeDirective, GraphQLSkipDirective

from amends.doubles.github.graphql.fields import TYPES, Asking, Resolver
from amends.doubles.github.refusal import Json, Refused

Path = tuple[Any, ...]
Complete = Callable[[Any, Path], Any]


class _Null(Exception):
    """Null where there has to be something: it goes up to where null may be."""


@dataclass(frozen=True)
class _Step:
    """One field of one selection, ready to be answered."""

    key: str
    resolve: Resolver
    arguments: Mapping[str, Any]
    complete: Complete
    nodes: Sequence[FieldNode]
    required: bool


@dataclass
class Run:
    """One operation with its variables."""

    schema: GraphQLSchema
    document: DocumentNode
    variables: VariableValues
    asking: Asking
    name_of: Callable[[object], str]
    errors: list[GraphQLError] = field(default_factory=list)
    _plans: dict[tuple[str, tuple[int, ...]], list[_Step]] = field(default_factory=dict)

    def run(self, operation: OperationDefinitionNode) -> Json | None:
        root = self.schema.get_root_type(operation.operation)
        try:
            return self._object(cast("GraphQLObjectType", root).name, [operation.selection_set], None, ())
        except _Null:
            return None

    def _object(self, kind: str, selections: Sequence[SelectionSetNode], thing: Any, path: Path) -> Json:  # noqa: ANN401
        plan = self._plan(kind, selections)
        return {step.key: self._answer(step, thing, (*path, step.key)) for step in plan}

    def _answer(self, step: _Step, thing: Any, path: Path) -> Any:  # noqa: ANN401
        try:
            return step.complete(step.resolve(thing, self.asking, step.arguments), path)
        except Refused as refused:
            self._refuse(refused, step.nodes, path)
        except _Null:
            if not step.required:
                return None
            raise
        if step.required:
            raise _Null
        return None

    def _refuse(self, refused: Refused, nodes: Sequence[FieldNode], path: Path) -> None:
        said = {"type": refused.kind}
        self.errors.append(GraphQLError(refused.message, nodes, path=list(path), extensions=said))

    def _plan(self, kind: str, selections: Sequence[SelectionSetNode]) -> list[_Step]:
        key = (kind, tuple(id(one) for one in selections))
        if key not in self._plans:
            fields: dict[str, list[FieldNode]] = {}
            for selection in selections:
                for node in self._collect(kind, selection):
                    fields.setdefault(node.alias.value if node.alias else node.name.value, []).append(node)
            self._plans[key] = [self._step(kind, name, nodes) for name, nodes in fields.items()]
        return self._plans[key]

    def _collect(self, kind: str, selection: SelectionSetNode) -> Iterator[FieldNode]:
        for node in selection.selections:
            if not self._included(node):
                continue
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, InlineFragmentNode):
                if node.type_condition is None or self._fits(kind, node.type_condition.name.value):
                    yield from self._collect(kind, node.selection_set)
            elif isinstance(node, FragmentSpreadNode):
                fragment = self._fragment(node.name.value)
                if self._fits(kind, fragment.type_condition.name.value):
                    yield from self._collect(kind, fragment.selection_set)

    def _included(self, node: Any) -> bool:  # noqa: ANN401 - any selection
        skip = get_directive_values(GraphQLSkipDirective, node, self.variables)
        include = get_directive_values(GraphQLIncludeDirective, node, self.variables)
        return not (skip and skip["if"]) and (include is None or include["if"])

    def _fits(self, kind: str, condition: str) -> bool:
        if kind == condition:
            return True
        wider = self.schema.type_map[condition]
        own = cast("GraphQLObjectType", self.schema.type_map[kind])
        return is_abstract_type(wider) and self.schema.is_sub_type(wider, own)

    def _fragment(self, name: str) -> FragmentDefinitionNode:
        fragments = (one for one in self.document.definitions if isinstance(one, FragmentDefinitionNode))
        return next(one for one in fragments if one.name.value == name)

    def _step(self, kind: str, key: str, nodes: list[FieldNode]) -> _Step:
        name = nodes[0].name.value
        if name == "__typename":
            return _Step(key, lambda _, __, ___: kind, {}, lambda value, _: value, nodes, required=True)
        known = cast("GraphQLObjectType", self.schema.type_map[kind]).fields[name]
        arguments = get_argument_values(known, nodes[0], self.variables)
        complete = self._completion(known.type, nodes)
        return _Step(key, TYPES[kind][name], arguments, complete, nodes, isinstance(known.type, GraphQLNonNull))

    def _completion(self, kind: GraphQLOutputType, nodes: Sequence[FieldNode]) -> Complete:
        """How a value of this type becomes JSON."""
        if isinstance(kind, GraphQLNonNull):
            return _required(self._completion(kind.of_type, nodes))
        if isinstance(kind, GraphQLList):
            return self._list(kind, nodes)
        if is_leaf_type(kind):
            return lambda value, _: value
        selections = [node.selection_set for node in nodes if node.selection_set is not None]
        if isinstance(kind, GraphQLObjectType):
            own = kind.name
            return lambda value, path: None if value is None else self._object(own, selections, value, path)
        return lambda value, path: None if value is None else self._object(self.name_of(value), selections, value, path)

    def _list(self, kind: GraphQLList[Any], nodes: Sequence[FieldNode]) -> Complete:
        inner = self._completion(kind.of_type, nodes)
        required = isinstance(kind.of_type, GraphQLNonNull)

        def item(value: Any, path: Path) -> Any:  # noqa: ANN401
            if isinstance(value, Refused):
                self._refuse(value, nodes, path)
                return None
            try:
                return inner(value, path)
            except _Null:
                if required:
                    raise
                return None

        return lambda value, path: None if value is None else [item(one, (*path, n)) for n, one in enumerate(value)]


def _required(inner: Complete) -> Complete:
    def complete(value: Any, path: Path) -> Any:  # noqa: ANN401
        made = inner(value, path)
        if made is None:
            raise TypeError(f"{'.'.join(map(str, path))} has to be something")
        return made

    return complete
