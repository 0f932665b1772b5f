"""What whoever gave a command gets back: a reaction as receipt, and words where that alone would not help him."""

from __future__ import annotations

import re
from contextlib import suppress

from amends.common.events import CommandAccepted, CommandGiven, CommandRefused
from amends.common.github.errors import Missing
from amends.common.situation import Accounted, Asked
from amends.notifier.board import Board, Reaction, Spoken
from amends.notifier.messages import Messages, Note

_PLACE = re.compile(r"(thread|comment|review)-([0-9]{1,19})")


def place(command: CommandGiven | None) -> Spoken | None:
    """Where it was said; None if that was not on GitHub, where the answer is on the log."""
    found = _PLACE.fullmatch(command.id) if command and command.author.kind == "user" else None
    match found and found[1]:
        case "thread" | "comment" | "review" as kind if found:
            return Spoken(kind, int(found[2]))
        case _:
            return None


async def answered(
    board: Board, to: Spoken, fact: CommandAccepted | CommandRefused, messages: Messages, asked: Asked
) -> str:
    """React, and say what there is to say; answers with the address of that."""
    reaction: Reaction = "ROCKET" if isinstance(fact, CommandAccepted) else "CONFUSED"
    with suppress(Missing):  # he has deleted it since
        await board.react(to, reaction)
    note = _note(fact, messages, asked)
    return await board.answer(to, note) if note else ""


def _note(fact: CommandAccepted | CommandRefused, messages: Messages, asked: Asked) -> Note | None:
    by = asked.command.author.login if asked.command else ""
    match fact:
        case CommandRefused(reason="untrusted"):
            return None  # whoever has no say here cannot make us speak either
        case CommandRefused():
            return messages.refused(fact, by)
        case CommandAccepted(name="help"):
            return messages.helped(fact, by)
        case CommandAccepted(name="explain"):
            return messages.explained(fact, by, asked.account or Accounted())
        case CommandAccepted(name="fix" | "retry" | "refine" | "reset") if asked.situation.hindered:
            return messages.hindered(fact, by)
        case _:
            return None
