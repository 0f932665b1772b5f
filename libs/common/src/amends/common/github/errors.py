"""How asking GitHub may end without an answer: most come later, some never."""

from __future__ import annotations

from amends.common.delivery import Later


class Down(Later):
    """GitHub cannot be reached, or says that something is wrong with it."""


class Limited(Later):
    """GitHub wants to be left alone for a while."""


class Torn(Later):
    """An answer that is cut off or contradicts itself: nothing may be concluded from it."""


class Lacking(Down):
    """It answers, and not as a GitHub that amends can work with: an older one, or something else at this address."""


class Missing(Exception):
    """It is not there, or we may not see it."""


class Denied(Exception):
    """GitHub refuses our credentials, or what they would have to allow."""


class Elsewhere(Lacking):
    """It leads to an address that is not configured, where nothing is asked: a page to sign in on, another host."""
