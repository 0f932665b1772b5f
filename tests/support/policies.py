"""Policies that examples ask for: what an installation sets beside the repository that it lists."""

from amends.common.policy import BudgetOverrides, Overrides, WaitsOverrides

ONE_CYCLE = Overrides(max_cycles=1)
THREADS = Overrides(triggers=("comments",))
CHECKS = Overrides(triggers=("checks",))
ROBOT_MAY = Overrides(bots=(500,))
ANYONE = Overrides(reviewers="anyone")
NOBODY = Overrides(reviewers=())
ONLY_TOM = Overrides(reviewers=(14,))
DRAFTS = Overrides(drafts=True)
MANY_CYCLES = Overrides(max_cycles=20)
ONE_TURN = Overrides(budget=BudgetOverrides(turns=1))
SHORT_CLAIM = Overrides(waits=WaitsOverrides(claim_grace_seconds=0), budget=BudgetOverrides(agent_seconds=60))
