"""What a loop knows, without where in the log it came from: the same, however the same things arrived."""

from __future__ import annotations

from amends.common.events import AnyFact, Escalated, Fact
from amends.common.frozen import replace
from amends.common.loop import Hint, Item, Loop, Mark, Review


def undated(fact: AnyFact) -> Fact:
    """A decision without where in the log its reason was."""
    return fact.model_copy(update={"of": ""}) if isinstance(fact, Escalated) else fact


def said_hint(hint: Hint) -> Hint:
    outside = hint.author.kind == "token"  # the forge has no date of what did not come from it: the log's stands there
    return replace(hint, mark=Mark(), updated=0 if outside else hint.updated)


def said_item(item: Item) -> Item:
    return replace(
        item,
        mark=Mark(),
        voices=tuple(sorted(item.voices)),
        hints={node: said_hint(hint) for node, hint in item.hints.items()},
        asked={node: said_hint(hint) for node, hint in item.asked.items()},
    )


def said_review(review: Review) -> Review:
    return replace(review, mark=Mark())


def ledger(loop: Loop) -> object:
    """What was said, by whom, and what became of it, whenever it arrived."""
    items = {id_: said_item(item) for id_, item in loop.items.items()}
    reviews = {id_: said_review(review) for id_, review in loop.reviews.items()}
    return items, reviews, loop.pull, loop.closed, loop.hold, loop.phase
