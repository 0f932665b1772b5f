"""`amends doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from amends.cli.checks import Check, failed, tell
from amends.cli.output import examples, formatted, talk
from amends.cli.place import NotReachable, linked, placed, settings, the_log

if TYPE_CHECKING:
    from pathlib import Path

    from amends.common.bus.link import Link
    from amends.common.log import Log
    from amends.common.settings import Settings
    from amends.evaluator.audit import Audit

SECOND = 1_000_000
SAMPLES = 1_000


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

    This machine, GitHub (who we are there, what we may, whether webhooks arrive), the model, the log and what runs.
    With a process for each service, call it with the settings of each: it looks at what those reach.

    Exits 1 if something is wrong, 3 if the log cannot be reached. That nothing runs, or ever ran, is no fault.
    """
    from amends.cli.forge import forge
    from amends.cli.machine import machine, model

    known = settings()
    checks = tell(machine(known))
    away: NotReachable | None = None
    listed = list(known.policy.repositories or ())
    audits = whole or deep
    if not audits and (file := _unmade(known)):
        checks += tell(
            [Check("log", "warn", f"there is none yet at {file}", "`amends up` makes one, or see --database")]
        )
    else:
        try:
            with the_log() as log:
                checks += tell(_of_the_log(log, known))
                checks += tell(_of_the_bus(log, known))
                listed += _listed(log)
                checks += tell(_audited(log, known, deep=deep) if audits else ())
        except NotReachable as error:
            away = error
    checks += tell(forge(known, list(dict.fromkeys(listed))))
    checks += tell([model(known)])
    if away is not None:
        raise away
    if failed(checks):
        raise click.exceptions.Exit(1)


# --- the log ---------------------------------------------------------------------------------------------------------


def _unmade(known: Settings) -> Path | None:
    """Where the log will be, if it is a file that nobody has made so far."""
    from amends.common.log.engine import database, sqlite_file

    file = sqlite_file(database(known.database))
    return file if file and not file.exists() else None


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


def _listed(log: Log) -> list[str]:
    """The repositories that amends may work on, by the log."""
    from amends.evaluator.following import followed

    return [one.full_name for one in followed(log)]


# --- what runs -------------------------------------------------------------------------------------------------------


def _of_the_bus(log: Log, known: Settings) -> list[Check]:
    async def look(link: Link) -> list[Check]:
        return [await _evaluator(link, known), await _mirror(link, log, known.replicas)]

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


async def _mirror(link: Link, log: Log, replicas: int) -> Check:
    from amends.common.bus.link import Unanswered
    from amends.common.bus.mirror import Mirror
    from amends.evaluator.fork import ForeignMirrorError, ForkError, MirrorAheadError, one_history

    mirror = Mirror(link, replicas)
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
