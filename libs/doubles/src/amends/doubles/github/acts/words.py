"""Texts: how they come to be, change, and are reacted to."""

from __future__ import annotations

from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import invalid
from amends.doubles.github.state.talk import Reaction, Said
from amends.doubles.github.state.world import World

LONGEST = 65_536
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def said(world: World, caller: Caller, body: str) -> Said:
    now = world.clock.moment()
    return Said(caller.someone, body, now, now, caller.via)


def check_body(body: str | None, *, may_be_empty: bool = False) -> str:
    if not may_be_empty and not (body or "").strip():
        raise invalid("Body can't be blank", message="Validation Failed")
    if len(body or "") > LONGEST:
        raise invalid(f"Body is too long (maximum is {LONGEST} characters)", message="Validation Failed")
    return body or ""


def react(world: World, caller: Caller, text: Said, content: str) -> tuple[Reaction, bool]:
    """The reaction and whether it is new: one account has each at most once."""
    if content not in REACTIONS:
        raise invalid(f"{content} is not a reaction", message="Validation Failed")
    for one in text.reactions:
        if one.account is caller.someone and one.content == content:
            return one, False
    reaction = Reaction(world.ids.take("reaction"), caller.someone, content, world.clock.moment())
    text.reactions.append(reaction)
    return reaction, True


def unreact(text: Said, reaction: int) -> bool:
    kept = [one for one in text.reactions if one.id != reaction]
    gone = len(kept) < len(text.reactions)
    text.reactions[:] = kept
    return gone
