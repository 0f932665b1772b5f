"""The evaluator's answers in words, and the exit code that belongs to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from amends.cli.output import as_json, say, say_json, shown
from amends.cli.place import Negative, NotReachable

if TYPE_CHECKING:
    from amends.common.answers import Answer


def tell(what: str, answer: Answer) -> None:
    """One line for an answer."""
    fields = plain(answer)
    if as_json():
        say_json({"what": what, **fields})
        return
    words = [f"{fields[name]}" for name in ("pos", "reason", "detail") if fields.get(name) not in {None, ""}]
    say(shown(f"{what}: {fields['answer']} {': '.join(words)}".rstrip()))


def plain(answer: Answer) -> dict[str, object]:
    """An answer as JSON."""
    from amends.common.answers import Already, Recorded, Refused

    match answer:
        case Recorded():
            return {"answer": "recorded", "pos": answer.pos}
        case Already():
            return {"answer": "already", "pos": answer.pos}
        case Refused():
            return {"answer": "refused", "reason": answer.reason, "detail": answer.detail, "until": answer.until}
        case _:
            return {"answer": "unavailable", "detail": answer.detail}


def judge(answers: Iterable[Answer]) -> None:
    """End with 3 when somebody did not answer, with 1 when something was refused."""
    said = [plain(answer)["answer"] for answer in answers]
    if "unavailable" in said:
        raise NotReachable("not everything was answered, and it may or may not be recorded: the same again is safe")
    if refused := said.count("refused"):
        raise Negative(f"{refused} of {len(said)} refused")
