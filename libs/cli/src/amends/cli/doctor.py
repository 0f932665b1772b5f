"""`amends doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from amends.cli.output import as_json, coloured, examples, formatted, say, say_json, shown, talk
from amends.cli.place import NotReachable, linked, placed, settings, the_log

if TYPE_CHECKING:
    from amends.common.bus.link import Link
    from amends.common.log import Log
    from amends.common.settings import Settings
    from amends.evaluator.audit import Audit
    from amends.fixer.walls import Walled

SECOND = 1_000_000
SAMPLES = 1_000


class Check(NamedTuple):
    """One thing that was looked at: ok, warn or fail, and what would mend it."""

    name: str
    status: str
    found: str
    remedy: str = ""


@click.command(
    short_help="Say what is wrong, and what to do about it.",
    epilog=examples("amends doctor", "amends doctor --log --deep"),
)
@click.option("--log", "whole", is_flag=True, help="Also audit the whole log: invariants I1 to I8, event by event.")
@click.option("--deep", is_flag=True, help="With --log: also every blob, and every message of the mirror.")
@placed("data_dir", "database", "nats_url")
@formatted
def doctor(*, whole: bool, deep: bool) -> None:
    """Look at everything, and say what is wrong and what to do about it. Nothing is changed.

    Exits 1 if something is wrong, 3 if the log cannot be reached. That nothing runs is no fault.
    """
    known = settings()
    with the_log() as log:
        checks = [*_of_the_log(log, known)]
        _tell(checks)
        bus = _of_the_bus(log, known)
        _tell(bus)
        fixer = _of_the_fixer(known)
        _tell(fixer)
        checks += [*bus, *fixer]
        if whole or deep:
            audited = _audited(log, known, deep=deep)
            _tell(audited)
            checks += audited
    if any(check.status == "fail" for check in checks):
        raise click.exceptions.Exit(1)


def _tell(checks: list[Check]) -> None:
    for check in checks:
        if as_json():
            say_json(check._asdict())
            continue
        say(f"{coloured(check.status, f'{check.status:<5}')} {check.name:<10} {shown(check.found)}")
        if check.remedy:
            say(f"{'':<16} -> {shown(check.remedy)}")


# --- the log ---------------------------------------------------------------------------------------------------------


def _of_the_log(log: Log, known: Settings) -> Iterator[Check]:
    from amends.evaluator.migrate import at_head

    head = log.head()
    yield Check("log", "ok", f"{head.pos} events, {log.size() / 1e6:.1f} MB, last written by amends {head.code or '-'}")
    if not at_head(known.database):
        yield Check("schema", "fail", "it is not this program's", "`amends migrate`, or use the version that wrote it")
    missing = log.unguarded()
    guarded = "events and blobs are guarded against change"
    restore = "compare with a backup, then make them again"
    yield (
        Check("guards", "fail", f"missing: {', '.join(missing)}", restore)
        if missing
        else Check("guards", "ok", guarded)
    )
    stuck = log.loops(stuck=True)
    if stuck:
        names = ", ".join(row.loop for row in stuck[:5])
        yield Check("stuck", "fail", f"{len(stuck)} loops: {names}", "report it as a bug; a newer version tries again")
    if parked := log.parked():
        yield Check("parked", "warn", f"{len(parked)} refused reports are kept", "`amends parked list`")
    now = time.time_ns() // 1_000
    late = [request for request in log.outstanding() if request.due < now]
    if late:
        oldest = min(late, key=lambda request: request.due)
        found = f"{len(late)} requests are overdue, the oldest by {(now - oldest.due) // SECOND} s: {oldest.service}"
        yield Check("overdue", "warn", found, f"see that {oldest.service} runs; the evaluator asks again by itself")


# --- what runs -------------------------------------------------------------------------------------------------------


def _of_the_bus(log: Log, known: Settings) -> list[Check]:
    async def look(link: Link) -> list[Check]:
        return [await _evaluator(link, known), await _mirror(link, log)]

    try:
        return linked(look, known, "evaluator")
    except NotReachable as error:
        return [Check("evaluator", "warn", error.message)]


async def _evaluator(link: Link, known: Settings) -> Check:
    from amends.common.answers import Unavailable
    from amends.common.bus.reporter import NatsRecorder

    began = time.perf_counter()
    answer = await NatsRecorder(link, "cli", known.answer_seconds).may(0)
    if isinstance(answer, Unavailable):
        return Check("evaluator", "fail", f"it does not answer: {answer.detail}", "start it, or look at its /readyz")
    return Check("evaluator", "ok", f"it answers in {(time.perf_counter() - began) * 1_000:.1f} ms")


async def _mirror(link: Link, log: Log) -> Check:
    from amends.common.bus.link import Unanswered
    from amends.common.bus.mirror import Mirror
    from amends.evaluator.fork import ForeignMirrorError, ForkError, MirrorAheadError, one_history

    mirror = Mirror(link)
    try:
        state = await mirror.state()
        if state is None:
            return Check("mirror", "warn", "there is none", "the relay makes it when the evaluator runs")
        head = log.head()
        await one_history(state, head, log, mirror)
    except (ForeignMirrorError, ForkError, MirrorAheadError) as error:
        found, _, remedy = str(error).partition(": ")
        return Check("mirror", "fail", found, remedy)
    except Unanswered as error:
        return Check("mirror", "warn", f"it cannot be looked at: {error}", "the evaluator's own /readyz knows more")
    except LookupError as error:
        return Check("mirror", "fail", str(error))
    if state.drift:
        return Check("mirror", "warn", f"not as configured: {'; '.join(state.drift)}", "the stream was changed by hand")
    return Check("mirror", "ok", f"events {state.first} to {state.last}, {max(0, head.pos - state.last)} behind")


# --- what changes code -----------------------------------------------------------------------------------------------


def _of_the_fixer(known: Settings) -> list[Check]:
    import asyncio
    import os

    from amends.fixer.walls import Walled

    walls = Walled(known.sandbox)
    trouble = asyncio.run(walls.tried())
    found, _, remedy = trouble.rpartition(": ")
    checks = [Check("sandbox", "warn", found, remedy) if trouble else Check("sandbox", "ok", "it holds: canaries stay")]
    if known.agent.command and not trouble:
        checks.append(_of_the_command(known, walls))
    if os.geteuid() == 0:
        remedy = "run the fixer as a user of its own: the kernel does not count the processes of root"
        checks.append(Check("user", "warn", "this is root", remedy))
    return checks


def _of_the_command(known: Settings, walls: Walled) -> Check:
    import asyncio

    from amends.fixer.commanded import missing

    words = known.agent.command
    if trouble := asyncio.run(missing(words, walls)):
        found, _, remedy = trouble.partition(": install")
        return Check("agent", "warn", found, f"install{remedy}")
    if not known.model.known:
        return Check("agent", "warn", f"{words[0]} has no model", "set model.api_key: the broker adds it outside")
    return Check("agent", "ok", f"{words[0]} is there inside the sandbox")


# --- every event -----------------------------------------------------------------------------------------------------


def _audited(log: Log, known: Settings, *, deep: bool) -> list[Check]:
    from amends.evaluator.audit import audit

    result = audit(log, deep=deep)
    try:
        linked(lambda link: _reflected(link, result, log, None if deep else SAMPLES), known, "evaluator")
    except NotReachable as error:
        talk(f"The mirror was not compared: {error.message}")
    checks = [Check(each.invariant, "fail", each.found, each.remedy) for each in result.violations]
    checks += [Check("note", "warn", note) for note in result.notes]
    counted = f"{result.events} events, {result.loops} loops, {result.blobs} blobs, {result.mirrored} mirrored messages"
    total = sum(result.counts.values())
    wrong = ", ".join(f"{name} {count}" for name, count in sorted(result.counts.items()))
    verdict = Check("audit", "fail", f"{total} violations ({wrong}) in {counted}") if total else None
    return [*checks, verdict or Check("audit", "ok", f"I1 to I8 hold: {counted}; digest {result.digest[:16]}")]


async def _reflected(link: Link, result: Audit, log: Log, samples: int | None) -> None:
    from amends.common.bus.mirror import Mirror
    from amends.evaluator.audit_mirror import audit_mirror

    await audit_mirror(result, log, Mirror(link), samples)
