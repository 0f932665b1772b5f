"""Reactions: to an issue, to what is said in its conversation, and to inline comments."""

from __future__ import annotations

from collections.abc import Callable

from amends.doubles.github.acts.words import react, unreact
from amends.doubles.github.caller import Need
from amends.doubles.github.refusal import not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import talk
from amends.doubles.github.state.talk import Said

Saying = Callable[[Call], Said]


def add_reactions(routes: Routes, at: str, needs: tuple[Need, Need], said: Saying) -> None:
    """What is said there may be reacted to, by whoever may read or write it."""
    reads, writes = needs

    @routes.on(f"GET {at}/reactions", reads)
    def listed(call: Call) -> Answer:
        return paged(call, said(call).reactions, lambda one: talk.reaction(call.world, one))

    @routes.on(f"POST {at}/reactions", writes)
    def reacted(call: Call) -> Answer:
        reaction, new = react(call.world, call.caller, said(call), call.needed("content"))
        return Answer(201 if new else 200, talk.reaction(call.world, reaction))


def add_withdrawal(routes: Routes, at: str, need: Need, said: Saying) -> None:
    """A reaction there may be taken back."""

    @routes.on(f"DELETE {at}/reactions/{{reaction_id}}", need)
    def unreacted(call: Call) -> Answer:
        if not unreact(said(call), call.number("reaction_id")):
            raise not_found()
        return NO_CONTENT
