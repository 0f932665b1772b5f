"""The table of a model's fields."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from amends.common.answers import Report
from amends.common.docs.markdown import table
from amends.common.docs.meanings import meaning
from amends.common.docs.types import default_of, type_of


def fields_of(cls: type[BaseModel]) -> Iterator[str]:
    schema = cls.model_json_schema()
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", _type(cls, name, field), default_of(field, required=name in required), _meaning(cls, name))
        for name, field in schema["properties"].items()
        if name != "type" or cls is Report
    ]
    yield from table(("field", "type", "if left out", "meaning"), rows) if rows else ["No fields."]


def _type(cls: type[BaseModel], name: str, field: dict[str, object]) -> str:
    return "any of the reported facts" if (cls, name) == (Report, "fact") else type_of(field)


def _meaning(cls: type[BaseModel], name: str) -> str:
    return meaning(cls.__name__, "version" if (cls, name) == (Report, "schema") else name)
