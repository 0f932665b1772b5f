"""Which accounts are ours: those of the settings, and that of our App or token, asked for when a process starts."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from amends.common.delivery import Later
from amends.common.github.auth import Scope
from amends.common.github.client import Client, Nobody
from amends.common.github.errors import Denied, Missing
from amends.common.github.sightings import Ours
from amends.common.settings import Settings

_LOG = logging.getLogger(__name__)
_PATIENCE, _PAUSE = 10.0, 1.0


async def our_accounts(settings: Settings) -> Ours:
    """The accounts of the settings, which only amends writes under, the App's bot, and that of a token.

    Where GitHub cannot be asked it goes on without. Then the App's words are a bot's that nobody listed, and count as
    little; a token's are taken for its owner's, until it is started again.
    """
    known = Ours(frozenset(settings.our_accounts))
    if not settings.github.known:
        return known
    why = ""
    try:
        async with asyncio.timeout(_PATIENCE), Client(settings.github) as client:
            while True:
                try:
                    if settings.github.app_id:
                        return replace(known, alone=known.alone | {(await client.app_account()).id})
                    return replace(known, shared=frozenset({(await client.ourselves(Scope())).id}))
                except Later as later:
                    why = str(later)
                await asyncio.sleep(_PAUSE)
    except (TimeoutError, Denied, Missing, Nobody) as error:
        _LOG.warning(
            "our own account is not known: set our_accounts, or start again when GitHub can be asked",
            extra={"error": (why or str(error))[:400]},
        )
    return known
