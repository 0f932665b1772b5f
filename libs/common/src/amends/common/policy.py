"""What is allowed and how much: three layers of settings, folded from the log, later ones may only tighten."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Said = TypeVar("Said")

Id = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Seconds = Annotated[int, Field(ge=0, le=366 * 86_400)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
Prose = Annotated[str, StringConstraints(max_length=20_000)]


def size(value: object) -> int:
    """How many bytes it takes in an event."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def _at_most(most: int) -> AfterValidator:
    def bounded(value: Said) -> Said:
        if (found := size(value)) > most:
            raise ValueError(f"it takes {found} bytes as JSON, at most {most} are allowed: make it shorter")
        return value

    return AfterValidator(bounded)


# Policy travels in every `fix.requested`, which has an end: so all that a layer may set has one, each value for itself,
# since a change sets some and leaves the others.
LONG_PROMPT, LONG_LINES = 32 * 1024, 16 * 1024
People = Annotated[tuple[Id, ...], Field(max_length=500)]
Lines = Annotated[tuple[Line, ...], Field(max_length=500)]
ShortLines = Annotated[Lines, _at_most(LONG_LINES)]
Prompt = Annotated[Prose, _at_most(LONG_PROMPT)]
MOST_PATHS = 4 * LONG_LINES  # of the layers together, and of what a running cycle saw them say before
EVERYTHING = ("**",)

Trigger = Literal["comments", "checks"]
Missing = Literal["recreate", "fail"]
Channel = Literal["github", "slack", "email"]
Triggers = Annotated[tuple[Trigger, ...], Field(max_length=10)]
Channels = Annotated[tuple[Channel, ...], Field(max_length=10)]
Reviewers = Literal["write", "anyone"] | People


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    SUGGESTION = "suggestion"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Budget(_Part):
    """What one pull request may cost before a human is asked (`day_usd`: the installation, `run_usd`: one run)."""

    turns: Count = 200
    tokens: Annotated[int, Field(ge=0, le=10**12)] = 10_000_000
    usd: Dollars = 10.0
    run_usd: Dollars = 2.0
    day_usd: Dollars = 100.0
    agent_seconds: Seconds = 600
    wall_seconds: Seconds = 7_200
    comments_per_hour: Count = 60


class Waits(_Part):
    """How long each step may take before the evaluator asks again."""

    collect_seconds: Seconds = 600
    start_seconds: Seconds = 43_200
    claim_grace_seconds: Seconds = 300
    push_seconds: Seconds = 600
    ci_seconds: Seconds = 600
    tell_seconds: Seconds = 3_600
    author_seconds: Seconds = 21_600
    outage_seconds: Seconds = 21_600
    retry_seconds: Seconds = 60
    retry_max_seconds: Seconds = 1_800


class Policy(_Part):
    """The values in force for one repository, complete."""

    enabled: bool = False
    killed: bool = False
    fixing_off: str = ""
    fixing_on_pos: int = 0
    versions: str = ""
    triggers: tuple[Trigger, ...] = ()
    reviewers: Reviewers = "write"
    bots: People = ()
    max_cycles: Annotated[int, Field(ge=1, le=100)] = 2
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 3
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    max_reraises: Annotated[int, Field(ge=1, le=100)] = 2
    max_fixers: Annotated[int, Field(ge=0, le=1_000)] = 2
    settle_seconds: Seconds = 30
    severity_threshold: Severity = Severity.MEDIUM
    custom_prompt: Prose = ""
    checks: Lines = ()
    protected_paths: tuple[Line, ...] = ()
    allowed_paths: tuple[Line, ...] = ()
    resolve_threads: bool = True
    worktree_missing: Missing = "recreate"
    drafts: bool = False
    opt_out_label: str = "amends: off"
    notify: tuple[Channel, ...] = ("github", "slack", "email")  # of those that the settings know
    budget: Budget = Budget()
    waits: Waits = Waits()


class BudgetOverrides(_Part):
    """The budget's values that one layer sets."""

    turns: Count | None = None
    tokens: Annotated[int, Field(ge=0, le=10**12)] | None = None
    usd: Dollars | None = None
    run_usd: Dollars | None = None
    day_usd: Dollars | None = None
    agent_seconds: Seconds | None = None
    wall_seconds: Seconds | None = None
    comments_per_hour: Count | None = None


class WaitsOverrides(_Part):
    """The waits that one layer sets."""

    collect_seconds: Seconds | None = None
    start_seconds: Seconds | None = None
    claim_grace_seconds: Seconds | None = None
    push_seconds: Seconds | None = None
    ci_seconds: Seconds | None = None
    tell_seconds: Seconds | None = None
    author_seconds: Seconds | None = None
    outage_seconds: Seconds | None = None
    retry_seconds: Seconds | None = None
    retry_max_seconds: Seconds | None = None


class Overrides(_Part):
    """One layer: only what it sets. The installation's also lists the repositories amends may work on."""

    repositories: tuple[Line, ...] | None = None
    enabled: bool | None = None
    triggers: Triggers | None = None
    reviewers: Reviewers | None = None
    bots: People | None = None
    max_cycles: Annotated[int, Field(ge=1, le=100)] | None = None
    max_iterations: Annotated[int, Field(ge=1, le=100)] | None = None
    max_attempts: Annotated[int, Field(ge=1, le=20)] | None = None
    max_reraises: Annotated[int, Field(ge=1, le=100)] | None = None
    max_fixers: Annotated[int, Field(ge=0, le=1_000)] | None = None
    settle_seconds: Seconds | None = None
    severity_threshold: Severity | None = None
    custom_prompt: Prompt | None = None
    checks: ShortLines | None = None
    protected_paths: ShortLines | None = None
    allowed_paths: ShortLines | None = None
    resolve_threads: bool | None = None
    worktree_missing: Missing | None = None
    drafts: bool | None = None
    opt_out_label: Line | None = None
    notify: Channels | None = None
    budget: BudgetOverrides | None = None
    waits: WaitsOverrides | None = None


NAMES = frozenset(
    {name for name in Overrides.model_fields if name not in {"budget", "waits"}}
    | {f"budget.{name}" for name in BudgetOverrides.model_fields}
    | {f"waits.{name}" for name in WaitsOverrides.model_fields}
)


def merged(older: Overrides, newer: Overrides) -> Overrides:
    """The same layer after a change: what `newer` sets replaces, the rest stays."""
    return _over(older, newer)


def without(layer: Overrides, names: Collection[str]) -> Overrides:
    """The same layer without these values: `max_cycles`, `budget.usd`."""
    update: dict[str, object] = {name: None for name in names if "." not in name}
    for section in {name.partition(".")[0] for name in names if "." in name}:
        part = getattr(layer, section)
        if isinstance(part, _Part):
            inner = {name.partition(".")[2]: None for name in names if name.startswith(f"{section}.")}
            left = part.model_copy(update=inner)
            update[section] = left if flat(left) else None
    return layer.model_copy(update=update)


def flat(part: BaseModel) -> dict[str, object]:
    """Every value that is set, by its name as people write it: `budget.usd`."""
    found: dict[str, object] = {}
    for name, value in part:
        if isinstance(value, BaseModel):
            found |= {f"{name}.{inner}": one for inner, one in flat(value).items()}
        elif value is not None:
            found[name] = value
    return found


def shared_values(values: Overrides) -> list[str]:
    """Those that are of the whole installation: of one repository they would mean nothing."""
    shared = ("repositories", "max_fixers", "budget.day_usd")
    return [name for name in flat(values) if name in shared]


PartT = TypeVar("PartT", bound=_Part)


def _over(older: PartT, newer: _Part) -> PartT:
    update = {}
    for name, value in newer:
        if value is None:
            continue
        before = getattr(older, name)
        update[name] = _over(before, value) if isinstance(value, _Part) and before is not None else value
    return older.model_copy(update=update)


def effective(  # noqa: PLR0913 - three layers, and what the installation's loop says beside its own
    installation: Overrides,
    repository: Overrides,
    full_name: str,
    *,
    versions: str = "",
    killed: bool = False,
    fixing_off: str = "",
    fixing_on_pos: int = 0,
) -> Policy:
    """Defaults, then the installation's layer, then the repository's, which may tighten but never widen."""
    listed = full_name.lower() in {name.lower() for name in installation.repositories or ()}
    own = installation.model_copy(
        update={"repositories": None, "enabled": listed and installation.enabled is not False}
    )
    wide = _over(Policy(versions=versions, killed=killed, fixing_off=fixing_off, fixing_on_pos=fixing_on_pos), own)
    return tightened(wide, repository)


def tightened(wide: Policy, by: Overrides) -> Policy:
    """`wide` with a repository's own values; those that grant something are cut down to what `wide` grants."""
    update = {}
    for name, value in by:
        if value is not None and name != "repositories":
            update[name] = _GRANTS[name](getattr(wide, name), value) if name in _GRANTS else value
    return wide.model_copy(update=update)


def _narrower(wide: Reviewers, by: Reviewers) -> Reviewers:
    if by in ("anyone", wide):
        return wide
    if isinstance(wide, str):
        return by
    if isinstance(by, str):
        return wide
    return tuple(person for person in wide if person in by)


def tightest(rules: Policy, now: Policy) -> Policy:
    """The rules that a cycle began under, with what has become tighter since; the rest changes with the next cycle."""
    if rules is now:  # as nearly always
        return rules
    update = {name: both(getattr(rules, name), getattr(now, name)) for name, both in _GRANTS.items()}
    update["triggers"] = tuple(trigger for trigger in rules.triggers if trigger in now.triggers)
    return rules.model_copy(update=update)


def _all_paths(wide: tuple[str, ...], by: tuple[str, ...]) -> tuple[str, ...]:
    """Both; where that is more than can be told, nothing at all may be touched."""
    both = (*wide, *(path for path in by if path not in wide))
    return both if size(both) <= MOST_PATHS else EVERYTHING


def _least(wide: Budget, by: Budget | BudgetOverrides) -> Budget:
    return wide.model_copy(update={name: min(getattr(wide, name), value) for name, value in by if value is not None})


# How a repository's value meets the installation's, for every value that grants something.
_GRANTS: dict[str, Callable[[Any, Any], object]] = {
    "enabled": lambda wide, by: wide and by,
    "reviewers": _narrower,
    "bots": lambda wide, by: tuple(bot for bot in wide if bot in by),
    "max_cycles": min,
    "max_iterations": min,
    "max_attempts": min,
    "max_reraises": min,
    "max_fixers": lambda wide, _: wide,
    "protected_paths": _all_paths,
    "allowed_paths": lambda wide, by: tuple(path for path in wide if path in by),
    "worktree_missing": lambda wide, by: "fail" if "fail" in (wide, by) else wide,
    "notify": lambda wide, by: tuple(channel for channel in wide if channel in by),
    "budget": _least,
    "waits": lambda wide, _: wide,
}
