"""A repository's own policy file as a fact: what it sets, or what is wrong in which line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import ValidationError

from amends.comment_fetcher.shapes import Blob
from amends.common.complaints import complaint
from amends.common.events import PolicyObserved
from amends.common.github.names import is_sha
from amends.common.github.text import clean
from amends.common.policy import NAMES, Overrides

MOST_BYTES = 64 * 1024
_LONGEST = 400
_DEEPEST = 8


class Wrong(Exception):
    """Something in the file, and in which line."""

    def __init__(self, said: str, line: int) -> None:
        super().__init__(said)
        self.line = line


def policy_seen(blob: Blob | None) -> PolicyObserved:
    """What the file says; a repository without one sets nothing."""
    if blob is None:
        return PolicyObserved(blob="", values=Overrides())
    oid = blob.oid if is_sha(blob.oid) else ""
    try:
        values = _values(blob)
    except Wrong as wrong:
        return PolicyObserved(blob=oid, error=clean(str(wrong))[:_LONGEST], line=wrong.line)
    return PolicyObserved(blob=oid, values=values)


def _values(blob: Blob) -> Overrides:
    if blob.text is None or blob.is_binary or blob.is_truncated or blob.byte_size > MOST_BYTES:
        raise Wrong(f"a policy file is text of at most {MOST_BYTES} bytes", 1)
    root = _root(blob.text)
    if root is None:
        return Overrides()
    said = yaml.constructor.SafeConstructor().construct_document(root)
    if not isinstance(said, dict):
        raise Wrong("a policy file holds settings by name", _line(root))
    if "repositories" in said:
        raise Wrong("repositories: only the installation lists them", _line(_at(root, ("repositories",))))
    try:
        return Overrides.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Wrong(f"{where}: {complaint(first, NAMES, 'value')}", _line(_at(root, first["loc"]))) from error


def _root(text: str) -> yaml.Node | None:
    """The file as nodes that know their lines."""
    try:
        _look_over(text)
        root: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Wrong(f"this is no YAML: {error.problem}", line) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise Wrong(f"this is no YAML: {str(error).splitlines()[0]}", 1) from error
    for node in _below(root):
        _check(node)
    return root


def _look_over(text: str) -> None:
    """Before anything is built of it: aliases could make much of little, and depth takes its time."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise Wrong("aliases are not taken", line)
        if depth > _DEEPEST:
            raise Wrong("this is nested too deep", line)


def _below(node: yaml.Node | None) -> Iterator[yaml.Node]:
    waiting = [node] if node else []
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, yaml.MappingNode):
            waiting += [part for pair in one.value for part in pair]
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value


def _check(node: yaml.Node) -> None:
    if node.tag not in _TAGS:
        raise Wrong(f"{node.tag} is not taken", _line(node))
    if isinstance(node, yaml.MappingNode):
        names = [key.value if isinstance(key, yaml.ScalarNode) else None for key, _ in node.value]
        for (key, _), name in zip(node.value, names, strict=True):
            if name is None or key.tag != _NAME:
                raise Wrong("a setting's name is a word", _line(key))
            if names.count(name) > 1:
                raise Wrong(f"{name} is there twice", _line(key))


_NAME = "tag:yaml.org,2002:str"
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq")}


def _at(node: yaml.Node, place: tuple[int | str, ...]) -> yaml.Node:
    """The node at a place, or the last one on the way there."""
    for part in place:
        inner: Any = None
        if isinstance(node, yaml.MappingNode):
            inner = next((pair for pair in node.value if pair[0].value == part), None)
            inner = inner and (inner[0] if isinstance(inner[1], yaml.ScalarNode) else inner[1])
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            inner = node.value[part]
        if inner is None:
            return node
        node = inner
    return node


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
