"""What reviewing bots mean: findings that they bury in a text, and notices that are none.

A bot's silence means nothing: only what says in so many words that all is well counts as that, and what a bot could
not do is never taken for a good word.
"""

from __future__ import annotations

from amends.comment_fetcher.bots import coderabbit, copilot, generic
from amends.comment_fetcher.bots.meaning import Meaning

_ADAPTERS = {"coderabbitai": coderabbit.meaning, "copilot": copilot.meaning}


def meaning(login: str, raw: str, shown: str) -> Meaning:
    """What a bot says with a text: `raw` as it was sent, `shown` what people see of it.

    Which adapter reads it is a matter of form and not of trust, so the name is good enough.
    """
    name = login.lower().removesuffix("[bot]")
    found = next((adapter for prefix, adapter in _ADAPTERS.items() if name.startswith(prefix)), generic.meaning)
    return found(raw, shown)
