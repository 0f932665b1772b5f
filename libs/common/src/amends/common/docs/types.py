"""A field's type in words, from its JSON schema: what may be in it, and what stands there when nothing is said."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from amends.common.events import Digest, Sha, Token
from amends.common.identity import LOOP
from amends.common.policy import Severity

Schema: TypeAlias = dict[str, Any]

_PATTERNS = {
    TypeAdapter(Sha).json_schema()["pattern"]: "commit sha",
    TypeAdapter(Digest).json_schema()["pattern"]: "hex digest",
    TypeAdapter(Token).json_schema()["pattern"]: "token",
    LOOP.pattern: "loop name",
}
_ENDLESS = 10**9
_WORDS = {
    "Failure": "[reason code](#reason-codes)",
    "Judgement": "[judgement](#judgements)",
    "Severity": ", ".join(f"`{severity}`" for severity in Severity),
}


def type_of(schema: Schema) -> str:
    """The type in words, with a link to a part's own table."""
    if "$ref" in schema:
        return _linked(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(type_of(inner) for inner in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "string":
            return _text(schema)
        case "integer" | "number" as kind:
            return _number("integer" if kind == "integer" else "number", schema)
        case kind:
            return str(kind)


def _linked(name: str) -> str:
    return _WORDS.get(name) or f"[{name}](#{name.lower()})"


def _list(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"({', '.join(type_of(inner) for inner in schema['prefixItems'])})"
    most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
    return f"list of {type_of(schema['items'])}{most}"


def _text(schema: Schema) -> str:
    if schema.get("format") == "date-time":
        return "date and time with zone"
    most = f" of at most {schema['maxLength']:,} characters" if "maxLength" in schema else ""
    return f"{_PATTERNS.get(schema.get('pattern'), 'text')}{most}"


def _number(kind: str, schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return kind
    return f"{kind} from {least:,}" + (f" to {most:,}" if most is not None and most <= _ENDLESS else "")


def default_of(schema: Schema, *, required: bool) -> str:
    """What holds when the field is left out."""
    if required:
        return "required"
    value = schema.get("default")
    if value is None:
        return "nothing"
    return "its defaults" if isinstance(value, dict) else f"`{json.dumps(value)}`"
