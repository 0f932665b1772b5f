"""Each invariant violated once, on purpose: the audit names it, where it shows, and what to do."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from amends.common.answers import Recorded
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.evaluator.audit import Audit, audit, events
from amends.evaluator.audit_mirror import audit_mirror
from tests.support.asynchronous import asynchronous
from tests.support.facts import comment, policy_changed
from tests.support.nats import NatsServer, linked
from tests.support.scribe import (
    CHANGE,
    Scribe,
    scribe,
    tamper,
    tell_of_a_cycle,
    tell_of_a_mistake,
    tell_of_a_refused_push,
    tell_of_a_second_rejection,
    tell_of_approval,
)

# The constraints go with the table; what is copied has none.
LOOSE = (
    "CREATE TABLE loose AS SELECT * FROM events",
    "DROP TABLE events",
    "ALTER TABLE loose RENAME TO events",
)


def violations(one: Scribe, *statements: str) -> dict[str, str]:
    """The first violation of each invariant after the database was changed, but for the triggers that are gone."""
    tamper(one.url, *statements)
    found: dict[str, str] = {}
    for violation in audit(one.log, deep=True).violations:
        if violation.invariant != "I4":
            found.setdefault(violation.invariant, str(violation))
    return found


def test_a_sound_log_has_no_violations_and_everything_is_counted(told: Scribe) -> None:
    tell_of_a_second_rejection(told)
    tell_of_approval(told)
    result = audit(told.log, deep=True)
    assert (result.violations, result.notes) == ([], [])
    assert (result.events, result.loops, result.blobs) == (told.log.head().pos, 2, 1)


def test_an_empty_log_is_sound(sqlite_url: str) -> None:
    with scribe(sqlite_url) as one:
        assert audit(one.log).counts == {}


def test_a_log_is_sound_in_each_database(database_url: str) -> None:
    with scribe(database_url) as one:
        tell_of_a_cycle(one)
        assert (audit(one.log, deep=True).violations, one.log.unguarded()) == ([], [])


def test_a_log_may_be_written_while_it_is_audited(told: Scribe) -> None:
    def write() -> None:
        for number in range(100):
            told.tell(policy_changed(f"n{number}", max_cycles=3), comment(1_000 + number))

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        audits = [audit(told.log).counts for _ in range(4)]
        written.result()
    assert audits == [{}] * 4


def test_i1_a_missing_event_is_a_gap(told: Scribe) -> None:
    found = violations(told, "DELETE FROM events WHERE pos = 5")
    assert found["I1"].startswith("I1 at position 6: positions 5 to 5 are missing; restore a backup")


def test_i1_a_lost_end_is_told_by_the_head(told: Scribe) -> None:
    last = told.log.head().pos
    found = violations(told, "DELETE FROM events WHERE pos = (SELECT max(pos) FROM events)")
    assert f"the log ends here with position {last - 1}, and its head says {last}" in found["I1"]


def test_i1_time_does_not_run_backwards(told: Scribe) -> None:
    assert "its time is before" in violations(told, "UPDATE events SET time = 1 WHERE pos = 5")["I1"]


def test_i2_a_loops_versions_have_no_gap(told: Scribe) -> None:
    found = violations(told, *LOOSE, "UPDATE events SET version = version + 1 WHERE pos = 6")
    assert f"{CHANGE} has version" in found["I2"]


def test_i3_a_key_is_there_once(told: Scribe) -> None:
    found = violations(told, *LOOSE, "UPDATE events SET key = 'pr/1' WHERE pos = 6")
    assert found["I3"].startswith(f"I3 at position 6: {CHANGE} has the key 'pr/1' twice")


def test_i4_a_missing_trigger_is_named(told: Scribe) -> None:
    tamper(told.url)
    named = [str(violation) for violation in audit(told.log).violations]
    assert any("the trigger events_never_update is missing" in violation for violation in named)
    assert audit(told.log).counts == {"I4": 7}


def test_i5_a_decision_stands_beside_the_fact_that_caused_it(told: Scribe) -> None:
    found = violations(told, "UPDATE events SET cause = 3 WHERE type = 'fix.requested'")
    assert "fix.requested was not recorded together with what caused it (3)" in found["I5"]


def test_i5_a_decision_has_the_time_of_its_fact(told: Scribe) -> None:
    assert "I5" in violations(told, "UPDATE events SET time = time + 1 WHERE type = 'cycle.finished'")


def test_i5_nothing_is_caused_by_what_comes_later(told: Scribe) -> None:
    assert "which is not before it" in violations(told, "UPDATE events SET cause = 99 WHERE pos = 5")["I5"]


def test_i7_a_projection_that_the_log_does_not_say_is_named(told: Scribe) -> None:
    found = violations(told, "UPDATE loops SET used = 7 WHERE kind = 'change'")
    assert found == {"I7": f"I7 {CHANGE}: used is 7, and the log says 1; report it as a bug, with this line"}


def test_i8_a_changed_event_breaks_the_chain(told: Scribe) -> None:
    found = violations(told, "UPDATE events SET data = replace(data, 'maria', 'carla') WHERE pos = 5")
    assert found["I8"].startswith("I8 at position 5: its hash is not that of its content")


def test_i8_a_changed_hash_breaks_the_chain(told: Scribe) -> None:
    assert "I8" in violations(told, "UPDATE events SET hash = zeroblob(32) WHERE pos = 5")


def test_an_event_that_cannot_be_read_does_not_stop_the_audit(told: Scribe) -> None:
    found = violations(told, "UPDATE events SET data = 'x' WHERE type = 'comments.fetched'")
    assert set(found) == {"I7", "I8"}


def test_a_blob_that_an_event_names_must_be_there(told: Scribe) -> None:
    assert "is missing" in violations(told, "DELETE FROM blobs")["blobs"]


def test_a_blob_must_be_what_its_name_says(told: Scribe) -> None:
    assert "is damaged" in violations(told, "UPDATE blob_chunks SET data = x'00'")["blobs"]


def test_a_patch_that_a_refused_push_names_must_be_there(told: Scribe) -> None:
    patch = told.put(b"a patch")
    tell_of_a_refused_push(told, patch)
    assert f"blob {patch} is missing" in violations(told, f"DELETE FROM blobs WHERE sha = '{patch}'")["blobs"]  # noqa: S608


@pytest.mark.parametrize("column", ["loop", "version", "schema", "time", "cause"])
@pytest.mark.parametrize("last", [False, True])
def test_i8_a_column_of_another_type_is_named_and_the_audit_goes_on(told: Scribe, column: str, *, last: bool) -> None:
    pos = told.log.head().pos if last else 5
    found = violations(told, f"UPDATE events SET {column} = x'ff' WHERE pos = {pos}")  # noqa: S608
    assert found["I8"].startswith(f"I8 at position {pos}: ")


@pytest.mark.parametrize("what", ["loops SET folded", "loops SET state", "loops SET title", "timers SET due"])
def test_i7_a_view_of_another_type_is_named(told: Scribe, what: str) -> None:
    assert "I7" in violations(told, f"UPDATE {what} = x'ff'")


def test_a_heads_hash_of_another_type_is_named(told: Scribe) -> None:
    assert "and its head says 'x'" in violations(told, "UPDATE head SET hash = 'x'")["I1"]


def test_a_part_of_a_blob_of_another_type_is_damage(told: Scribe) -> None:
    assert "is damaged" in violations(told, "UPDATE blob_chunks SET data = 'x'")["blobs"]


def test_an_event_of_a_newer_program_does_not_stop_the_audit(told: Scribe) -> None:
    found = violations(told, "UPDATE events SET schema = 2 WHERE type = 'comments.fetched'")
    assert "UnknownFactError" in found["I7"]


def test_a_stuck_loop_is_no_violation_but_noted(told: Scribe) -> None:
    tell_of_a_mistake(told)
    result = audit(told.log)
    assert result.violations == []
    assert result.notes[0].startswith(f"{CHANGE} is stuck under")


# --- the mirror ----------------------------------------------------------------------------------------------------


async def mirrored(told: Scribe, link: Link, epoch: str = "") -> Mirror:
    mirror = Mirror(link)
    await mirror.create(1, epoch or told.log.head().epoch)
    await mirror.publish(list(events(told.log)))
    return mirror


@pytest.mark.connected
@asynchronous
async def test_i6_a_mirror_that_is_the_log_is_compared_message_by_message(told: Scribe, nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        result = Audit()
        await audit_mirror(result, told.log, await mirrored(told, link))
    assert (result.mirrored, result.counts, result.notes) == (told.log.head().pos, {}, [])


@pytest.mark.connected
@asynchronous
async def test_i6_a_mirror_that_lags_is_noted_and_one_that_is_not_there_too(told: Scribe, nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        result = Audit()
        await audit_mirror(result, told.log, Mirror(link))
        mirror = await mirrored(told, link)
        assert isinstance(told.tell(policy_changed("more", max_cycles=3))[0], Recorded)
        await audit_mirror(result, told.log, mirror, samples=3)
    assert result.notes == [
        "there is no mirror yet: the relay makes it",
        "the mirror is 1 events behind: the relay brings them",
    ]
    assert result.counts == {}


@pytest.mark.connected
@asynchronous
async def test_i6_a_message_that_is_another_event_is_a_fork(told: Scribe, nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, result = await mirrored(told, link), Audit()
        tamper(told.url, "UPDATE events SET hash = zeroblob(32) WHERE pos = 5")
        await audit_mirror(result, told.log, mirror)
    assert [violation.pos for violation in result.violations] == [5]


@pytest.mark.connected
@asynchronous
async def test_i6_a_mirror_of_another_log_or_ahead_of_this_one_is_named(told: Scribe, nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, result = await mirrored(told, link), Audit()
        tamper(told.url, "UPDATE head SET pos = pos - 1")
        await audit_mirror(result, told.log, mirror)
        tamper(told.url, "UPDATE head SET epoch = 'other'")
        await audit_mirror(result, told.log, mirror)
    assert [violation.what.partition(" ")[0] for violation in result.violations] == ["the", "the"]
