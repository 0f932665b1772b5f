"""Which accounts are ours: those of the settings, and the bot of our App, asked for when a process starts."""

from __future__ import annotations

import asyncio
import logging

from amends.common.delivery import Later
from amends.common.github.client import Client, Nobody
from amends.common.github.errors import Denied, Missing
from amends.common.settings import Settings

_LOG = logging.getLogger(__name__)
_PATIENCE, _PAUSE = 10.0, 1.0


async def our_accounts(settings: Settings) -> frozenset[int]:
    """The ids that only amends writes under. A token's account is not among them: its owner speaks for himself, too.

    Where GitHub cannot be asked it goes on without: then our own words are a bot's that nobody listed, and count as
    little.
    """
    known = frozenset(settings.our_accounts)
    if not settings.github.app_id:
        return known
    why = ""
    try:
        async with asyncio.timeout(_PATIENCE), Client(settings.github) as client:
            while True:
                try:
                    return known | {(await client.app_account()).id}
                except Later as later:
                    why = str(later)
                await asyncio.sleep(_PAUSE)
    except (TimeoutError, Denied, Missing, Nobody) as error:
        _LOG.warning(
            "the App's own account is not known: set our_accounts, or start again when GitHub can be asked",
            extra={"error": (why or str(error))[:400]},
        )
    return known
