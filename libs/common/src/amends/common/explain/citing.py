"""What an account cites: the policy's values with where they come from, and who brought something about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from amends.common.envelope import Event
from amends.common.events import Author, CommandGiven, TimerFired
from amends.common.policy import Policy
from amends.common.provenance import Layers, Setting, shown

_ESCALATIONS = {
    "max_cycles": ("max_cycles",),
    "limits": ("budget.turns", "budget.tokens", "budget.usd", "budget.wall_seconds"),
    "reraised": ("max_reraises",),
    "checks_failed": ("checks",),
    "policy": ("protected_paths", "allowed_paths"),
    "ci_not_started": ("waits.ci_seconds",),
    "workspace_lost": ("worktree_missing",),
    "head_moving": ("max_attempts",),
    "fixer_crashing": ("max_attempts",),
    "github_unavailable": ("waits.outage_seconds",),
    "github_incomplete": ("waits.outage_seconds",),
    "model_overloaded": ("waits.outage_seconds",),
}


@dataclass(frozen=True)
class Known:
    """What else the log knows: where the policy's values come from, and what happened in the settings' loops."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    error: str = ""
    events: Sequence[Event] = ()


@dataclass(frozen=True)
class Citing:
    """Words for values and for people."""

    full_name: str
    policy: Policy
    known: Known
    at: Mapping[int, Event]

    def then(self, pos: int) -> Citing:
        """What was in force before this position."""
        layers = Layers(self.full_name).tell(event for event in self.known.events if event.pos < pos)
        return replace(self, policy=layers.policy, known=replace(self.known, settings=layers.settings()))

    def values(self, *names: str) -> str:
        """These values of the policy, each with where it comes from."""
        return ", ".join(f"{name} = {shown(self._value(name))}{self._source(name)}" for name in names)

    def limits(self, reason: str) -> str:
        """The values that led to an escalation or a failure."""
        return self.values(*_ESCALATIONS.get(reason, ()))

    def _value(self, name: str) -> object:
        value: object = self.policy
        for part in name.split("."):
            value = getattr(value, part)
        return value

    def _source(self, name: str) -> str:
        setting = self.known.settings.get(name)
        return f" ({setting.source.said})" if setting else ""

    def by(self, event: Event) -> str:
        """Who did it; of a decision who brought it about, and with what."""
        said = self.at.get(event.cause) if event.cause else None
        if said is None or event.fact.by:
            return who(event)
        if isinstance(said.fact, TimerFired):
            return f"the evaluator, when {said.fact.name.partition('/')[0]} was over (event {said.pos})"
        given = self._given(event) or said
        return f"{who(given)}, with {given.type} (event {given.pos})"

    def _given(self, event: Event) -> Event | None:
        """The command that a decision is about; it may have waited for its author to be looked up."""
        of = getattr(event.fact, "of", "")
        said = (one for one in self.at.values() if one.key == of and one.loop == event.loop)
        return next((one for one in said if isinstance(one.fact, CommandGiven)), None)


def login(author: Author) -> str:
    """What the account is called."""
    return author.login or author.account


def who(event: Event) -> str:
    """Who reported it, or whose words it tells."""
    author = getattr(event.fact, "author", None)
    if isinstance(author, Author):
        return f"{login(author)} ({author.id})" if author.id else login(author)
    return event.actor or event.source
