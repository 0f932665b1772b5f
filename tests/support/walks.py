"""Random walks for hypothesis, and how many of them: always the same few, or (AMENDS_FAULTS=long) many new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from amends.common.policy import Overrides
from tests.support.world import RULES, Step

LONG = os.environ.get("AMENDS_FAULTS") == "long"
LONGER = 40
USUAL = (
    *("act", "act", "act", "act", "act", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver"),
    *("work", "work", "work", "work", "work", "work", "finish", "finish", "finish", "fire", "fire", "fire"),
    *("proceed", "proceed", "proceed", "proceed", "proceed", "command", "crash", "resend", "lose", "reconcile", "wake"),
)
RULEBOOKS = (
    RULES,
    RULES.model_copy(update={"triggers": ("comments", "checks"), "max_cycles": 4}),
    RULES.model_copy(update={"max_cycles": 1, "max_fixers": 1}),
)


def examples(number: int) -> settings:
    """So many examples of a property; they take as long as they take."""
    return settings(
        max_examples=number * LONGER if LONG else number,
        derandomize=not LONG,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


def walks(*more: str, least: int = 60, most: int = 140) -> st.SearchStrategy[list[Step]]:
    """What happens, with some deeds beside the usual ones."""
    deeds = st.sampled_from(("nothing", *USUAL, *more))
    return st.lists(st.builds(Step, deeds, st.integers(0, 2**24 - 1)), min_size=least, max_size=most)


def rulebooks() -> st.SearchStrategy[Overrides]:
    """Policies to walk under."""
    return st.sampled_from(RULEBOOKS)
