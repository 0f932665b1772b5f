"""What a document may come to: GitHub counts nodes and points by the sizes asked for, before it runs anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

MOST_NODES = 500_000
_REQUESTS_A_POINT = 100


@dataclass(frozen=True)
class Weight:
    """`requests`: how many lists would have to be read, one for each thing that has one."""

    nodes: int
    requests: int

    @property
    def cost(self) -> int:
        return max(1, round(self.requests / _REQUESTS_A_POINT))


NOTHING = Weight(0, 0)


def weigh(document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> Weight:
    fragments = {
        one.name.value: one.selection_set for one in document.definitions if isinstance(one, FragmentDefinitionNode)
    }

    def inside(selection: SelectionSetNode | None, many: int) -> Weight:
        parts = [] if selection is None else [part(node, many) for node in selection.selections]
        return Weight(sum(one.nodes for one in parts), sum(one.requests for one in parts))

    def part(node: object, many: int) -> Weight:
        match node:
            case FragmentSpreadNode():
                return inside(fragments[node.name.value], many)
            case FieldNode() if (size := _size(node, variables)) is not None:
                below = inside(node.selection_set, many * size)
                return Weight(many * size + below.nodes, many + below.requests)
            case FieldNode() | InlineFragmentNode():
                return inside(node.selection_set, many)
            case _:
                return NOTHING

    return inside(operation.selection_set, 1)


def _size(field: FieldNode, variables: Mapping[str, Any]) -> int | None:
    """Of a list, how much of it is asked for."""
    for argument in field.arguments or ():
        if argument.name.value in {"first", "last"}:
            said = argument.value
            if isinstance(said, VariableNode):
                return variables.get(said.name.value)
            return int(said.value) if isinstance(said, IntValueNode) else None
    return None
