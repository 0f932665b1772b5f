"""What events and reports look like, and what their codes mean."""

from __future__ import annotations

import json
from collections.abc import Iterator

from amends.common.answers import PARKED, Report
from amends.common.docs.fields import fields_of
from amends.common.docs.markdown import heading, table
from amends.common.envelope import GENESIS, MAX_ENVELOPE, Event, cloud_event, row_of
from amends.common.events import FixPushed
from amends.common.explain.reasons import (
    ENDINGS,
    ESCALATIONS,
    FAILURES,
    JUDGEMENTS,
    OUTCOMES,
    REFUSALS,
    UNHEARD_COMMANDS,
    Follows,
)
from amends.common.identity import About

ENVELOPE = {
    "specversion": "of CloudEvents",
    "id": "a UUID made of loop and key: the same intent has the same id",
    "source": "`amends/` and the service that reported it; the evaluator for decisions",
    "type": "the fact's name",
    "subject": "the loop",
    "time": "when it was recorded, by the database's clock",
    "datacontenttype": "of the data",
    "loop": "the loop",
    "pos": "its position in the log, and its sequence in the stream",
    "version": "which event of its loop it is",
    "key": "what makes it unique in its loop",
    "schema": "the fact's schema version",
    "actor": "who vouches for it, if it is somebody else than the service",
    "cause": "the position of the event that it follows from",
    "policy": "the versions of the settings that a decision was made under",
    "hash": "over the hash of the event before it, its own columns and its exact data",
    "data": "the fact's fields, always last",
}


def envelope() -> Iterator[str]:
    yield from heading(2, "The envelope")
    yield "Every event is a structured CloudEvent 1.0. All columns of its row travel, so a mirror can restore a log."
    yield f"An envelope has at most {MAX_ENVELOPE // 1024} KiB; whatever is larger is a blob, named by its sha256."
    yield ""
    yield from table(("attribute", "meaning"), [(f"`{name}`", said) for name, said in ENVELOPE.items()])
    yield ""
    yield "```json"
    yield json.dumps(example(), indent=2)
    yield "```"


def example() -> dict[str, object]:
    """One event as it travels."""
    event = Event(
        pos=128, loop="1024-pr-42", version=17, key="cycle/1/pushed", time=1_772_452_800_123_456, source="publisher",
        actor="", cause=127, policy="3.1", fact=FixPushed(n=1, sha="5" * 40, items=("thread/501",)),
    )  # fmt: skip
    said: dict[str, object] = json.loads(cloud_event(row_of(event, GENESIS)))
    return said


def reports() -> Iterator[str]:
    yield from heading(2, "Reporting a fact")
    yield "A report goes to `report.<service>` as request and reply, or to `amends report FILE`. It is answered"
    yield "`recorded` with its position, `already` with the position and the fact under that key, `refused` with a"
    yield "reason, or not at all: then it may or may not be recorded, and the same report again is safe."
    yield ""
    yield from fields_of(Report)
    yield from heading(3, "About")
    yield "It is a pull request (`repo` and `number`), a repository's policy (`repo` alone), a loop by name"
    yield "(`loop`), or nothing: the installation."
    yield ""
    yield from fields_of(About)
    yield from heading(3, "Refusals")
    rows = [
        (f"`{code}`", said.means, said.remedy, "yes" if code in PARKED else "no") for code, said in REFUSALS.items()
    ]
    yield from table(("reason", "it means", "what to do", "bytes are kept (`amends parked`)"), rows)


def codes() -> Iterator[str]:
    yield from heading(2, "Reason codes")
    yield "Of `comments.failed`, `fix.failed` and `push.refused`."
    yield ""
    rows = [
        (f"`{code}`", said.means, said.follows.value, "yes" if said.follows is Follows.ESCALATED else "no", said.remedy)
        for code, said in FAILURES.items()
    ]
    yield from table(("reason", "it means", "what follows", "cycle used", "what a human should do"), rows)
    yield from heading(3, "Escalations")
    yield "`escalated` has one of the reasons above, or one of these."
    yield ""
    own = [(f"`{code}`", said.means, said.remedy) for code, said in ESCALATIONS.items()]
    yield from table(("reason", "it means", "what to do"), own)
    for title, about, words in (
        ("Outcomes of a cycle", "Of `cycle.finished`.", OUTCOMES),
        ("Ends of a loop", "Of `loop.finished`.", ENDINGS),
        ("Judgements", "Every item version ends in exactly one.", JUDGEMENTS),
        ("Commands without effect", "Of `command.refused`.", UNHEARD_COMMANDS),
    ):
        yield from heading(3, title)
        yield about
        yield ""
        yield from table(("code", "it means"), [(f"`{code}`", said) for code, said in words.items()])
