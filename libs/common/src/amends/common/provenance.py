"""Where each value of a policy comes from: which layer, which event, whose. Folded from the log like the policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from amends.common.envelope import Event
from amends.common.events import PolicyChanged, PolicyObserved
from amends.common.policy import Overrides, Policy, effective, flat, merged

FILE = ".github/amends.yml"
OF_THE_LOG = frozenset({"killed", "fixing_off", "fixing_on_pos", "versions"})  # what is the case, and no setting


class Source(NamedTuple):
    """The layer that a value is of, and the event that set it there. `asked`: what the file wants and may not have."""

    layer: Literal["default", "installation", "file"] = "default"
    pos: int = 0
    actor: str = ""
    blob: str = ""
    asked: object = None

    @property
    def said(self) -> str:
        """In words."""
        place = f"{FILE} at {self.blob[:7]}" if self.layer == "file" else self.layer
        event = f", event {self.pos}" if self.pos else ""
        by = f" by {self.actor}" if self.actor and self.layer != "file" else ""
        cut = f"; {FILE} asks for {shown(self.asked)}, which would widen it" if self.asked is not None else ""
        return f"{place}{event}{by}{cut}"


class Setting(NamedTuple):
    """A value in force, and where it comes from."""

    value: object
    source: Source


@dataclass
class Layers:
    """The three layers for one repository, as far as the log was told."""

    full_name: str
    installation: Overrides = Overrides()
    own: Overrides = Overrides()
    file: Overrides = Overrides()
    error: str = ""
    _set: dict[str, Source] = field(default_factory=dict)
    _set_own: dict[str, Source] = field(default_factory=dict)
    _read: Source = field(default_factory=Source)

    def tell(self, events: Iterable[Event]) -> Layers:
        """Changes of the policy, in the order of the log."""
        for event in events:
            match event.fact:
                case PolicyChanged() as fact if not fact.repository:
                    self.installation = fact.over(self.installation)
                    self._set = _sources(self._set, fact, event)
                case PolicyChanged() as fact if fact.repository.lower() == self.full_name.lower():
                    self.own = fact.over(self.own)
                    self._set_own = _sources(self._set_own, fact, event)
                case PolicyObserved() as fact:
                    self._observe(event, fact)
                case _:
                    pass
        return self

    def _observe(self, event: Event, fact: PolicyObserved) -> None:
        if fact.values is None or fact.error:
            self.error = f"line {fact.line or '?'}: {fact.error} (event {event.pos}, {fact.blob[:7]})"
            return
        self.file, self.error = fact.values, ""
        self._read = Source("file", event.pos, event.actor, fact.blob)

    @property
    def policy(self) -> Policy:
        """The values in force."""
        return effective(merged(self.installation, self.own), self.file, self.full_name)

    def settings(self) -> dict[str, Setting]:
        """Every value in force with its source, by its name."""
        granted = effective(merged(self.installation, self.own), Overrides(), self.full_name)
        wide, asked = flat(granted), flat(self.file)
        return {
            name: Setting(value, self._source(name, value, wide[name], asked.get(name)))
            for name, value in flat(self.policy).items()
            if name not in OF_THE_LOG
        }

    def _source(self, name: str, value: object, wide: object, asked: object) -> Source:
        set_here = self._set_own.get(name) or self._set.get(name)
        if name == "enabled" and (set_here is None or not value):
            set_here = set_here or self._set.get("repositories")
        source = set_here or Source()
        if asked is None:
            return source
        if value != wide or asked == wide:
            return self._read if value != wide else source
        return source._replace(asked=asked)


def _sources(known: dict[str, Source], fact: PolicyChanged, event: Event) -> dict[str, Source]:
    kept = {name: source for name, source in known.items() if name not in fact.unset}
    return kept | dict.fromkeys(flat(fact.values), _of(event))


def _of(event: Event) -> Source:
    return Source("installation", event.pos, event.actor or event.source)


def shown(value: object) -> str:
    """A value as people write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return f"[{', '.join(map(str, value))}]"
        case str():
            return value or "''"
        case _:
            return str(value)
