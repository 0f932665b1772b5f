"""What is wrong with a value that somebody wrote, in words that say what to write instead; never the value itself."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# By how their patterns begin. What matches none of them keeps the words of pydantic.
_WRITTEN = {
    "^https?://": "an address, as in https://github.example.com/api/v3",
    "^(sqlite:///|": "the address of a log: sqlite:///path or postgresql://user:password@host/name",
    "^((nats|tls)://": "an address, as in nats://host:4222, or several with commas between them",
}


def complaint(said: ErrorDetails, known: Iterable[str], what: str) -> str:
    """About one value of all that are `known`; `what` such a value is called."""
    match said["type"]:
        case "extra_forbidden":
            near = get_close_matches(".".join(map(str, said["loc"])), list(known), 1)
            return f"there is no such {what}; " + (f"did you mean {near[0]}?" if near else "take it out")
        case "tuple_type" | "list_type":
            return 'Input should be a list, as in ["one", "two"]'
        case "string_pattern_mismatch":
            pattern = str(said.get("ctx", {}).get("pattern", ""))
            form = next((form for begins, form in _WRITTEN.items() if pattern.startswith(begins)), "")
            return f"Input should be {form}" if form else said["msg"]
        case _:
            return said["msg"].removeprefix("Value error, ")
