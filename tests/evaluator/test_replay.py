"""The log folded again from nothing, and compared with what the recorder kept."""

import pytest

from amends.common.events import Fact, FixRequested
from amends.common.frozen import changed
from amends.common.loop import MEANING, Loop, Mark
from amends.common.policy import Overrides
from amends.common.state import dump, load
from amends.evaluator.audit import drifted, events
from amends.evaluator.redecide import Redecided, redecide
from amends.evaluator.replay import Rebuilt, rebuild
from tests.support.facts import EVE, TOM, aside, command, comment, policy_changed, rejected
from tests.support.scribe import (
    CHANGE,
    Scribe,
    tamper,
    tell_of_a_mistake,
    tell_of_a_second_rejection,
    tell_of_approval,
)

COPIED = """
    INSERT INTO loops SELECT '9-pr-9', version, pos, kind, repo, number, full_name, title, url, status, n, used, human,
    blocked, updated, stuck, state, folded FROM loops WHERE kind = 'change'"""
# As if another program had got the loop stuck: that one would have left its mark at the log's end, too.
NEWER = ("UPDATE loops SET stuck = '0.0.9' WHERE kind = 'change'", "UPDATE head SET code = '0.0.9'")


def differences(one: Scribe) -> list[str]:
    return [str(difference) for difference in drifted(one.log, rebuild(events(one.log)))]


def tampered(one: Scribe, *statements: str) -> list[str]:
    tamper(one.url, *statements)
    return differences(one)


def kept(one: Scribe, name: str = CHANGE) -> Loop:
    row = one.log.loop(name)
    assert row is not None
    return load(row.state)


# --- states --------------------------------------------------------------------------------------------------------


def test_folding_the_log_gives_the_states_that_were_kept(told: Scribe) -> None:
    rebuilt = rebuild(events(told.log))
    assert {name: rebuilt.loop(name) for name in rebuilt.versions} == {
        name: kept(told, name) for name in (CHANGE, "installation")
    }


def test_a_rebuilt_log_has_the_projections_that_were_kept(told: Scribe) -> None:
    rebuilt = rebuild(events(told.log))
    assert rebuilt.projection(CHANGE).row == told.log.loop(CHANGE)
    assert list(rebuilt.projection(CHANGE).outstanding) == told.log.outstanding()
    assert rebuilt.claims(CHANGE) == told.log.claims()


def test_loops_that_do_not_fit_into_memory_are_packed_and_come_out_equal(told: Scribe) -> None:
    few, many = Rebuilt(at_hand=1).further(events(told.log)), rebuild(events(told.log))
    assert few.digest() == many.digest()


def test_two_replays_have_one_digest_and_one_more_event_gives_another(told: Scribe) -> None:
    before = rebuild(events(told.log)).digest()
    assert rebuild(events(told.log)).digest() == before
    tell_of_approval(told)
    assert rebuild(events(told.log)).digest() != before


def test_a_replay_can_go_on_where_it_stopped(told: Scribe) -> None:
    half = rebuild(events(told.log), upto_pos=9)
    assert half.further(events(told.log, after=9)).digest() == rebuild(events(told.log)).digest()


def test_a_loop_that_was_looked_at_stays_as_it_was_when_the_replay_goes_on(told: Scribe) -> None:
    half = rebuild(events(told.log), upto_pos=9)
    seen, state = half.loop(CHANGE), dump(half.loop(CHANGE))
    half.further(events(told.log, after=9))
    assert dump(seen) == state != dump(half.loop(CHANGE))


def test_a_fold_that_fails_half_way_leaves_the_loop_as_it_was(told: Scribe, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(loop: Loop, _fact: Fact, _mark: Mark) -> Loop:
        raise KeyError(changed(loop, n=99).n)

    [requested] = [row.pos for row in told.log.history(CHANGE) if row.type == "fix.requested"]
    before = rebuild(events(told.log), upto_pos=requested - 1)
    kind: type[Fact] = FixRequested
    monkeypatch.setitem(MEANING, kind, half)
    after = rebuild(events(told.log))
    assert (after.unfolded[CHANGE].pos, after.unfolded[CHANGE].error) == (requested, "KeyError")
    assert dump(after.loop(CHANGE)) == dump(before.loop(CHANGE))


def test_a_replay_to_a_position_shows_the_loop_as_it_was_there(told: Scribe) -> None:
    [requested] = [row.pos for row in told.log.history(CHANGE) if row.type == "fix.requested"]
    rebuilt = rebuild(events(told.log), upto_pos=requested)
    assert (rebuilt.pos, rebuilt.projection(CHANGE).row.status) == (requested, "collecting")


def test_a_replay_to_a_time_stops_at_the_last_event_before_it(told: Scribe) -> None:
    rows = told.log.history(CHANGE)
    rebuilt = rebuild(events(told.log), upto_time=rows[-1].time - 1)
    assert rebuilt.pos == max(row.pos for row in events(told.log) if row.time < rows[-1].time)


# --- differences ---------------------------------------------------------------------------------------------------


def test_what_is_kept_beside_a_sound_log_does_not_differ(told: Scribe) -> None:
    assert differences(told) == []


def test_a_policy_change_does_not_touch_what_was_kept_before_it(told: Scribe) -> None:
    told.tell(policy_changed("off", enabled=False), command("pause"))
    assert differences(told) == []


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE loops SET status = 'done' WHERE kind = 'change'", "status is"),
        ("UPDATE loops SET state = replace(state, 'maria', 'eve') WHERE kind = 'change'", "author.login"),
        ("UPDATE loops SET state = 'nonsense' WHERE kind = 'change'", "state is"),
        ("DELETE FROM loops WHERE kind = 'change'", "its row is missing"),
        ("UPDATE loops SET stuck = '0.1' WHERE kind = 'change'", "stuck is"),
        ("DELETE FROM timers", "timers is []"),
        ("UPDATE outstanding SET service = 'fixer'", "outstanding is"),
        ("UPDATE claims SET live = 1", "claims is"),
        ("INSERT INTO timers VALUES ('9-pr-9', 'settle/1', 1, 1, 0)", "9-pr-9: timers is"),
        (COPIED, "9-pr-9: its row is there"),
    ],
)
def test_whatever_is_tampered_with_is_found_and_named(told: Scribe, statement: str, what: str) -> None:
    assert any(what in difference for difference in tampered(told, statement))


def test_a_changed_event_is_told_as_a_difference_of_its_loop(told: Scribe) -> None:
    found = tampered(told, "UPDATE events SET data = 'nonsense' WHERE type = 'fix.started'")
    assert [difference.partition(":")[0] for difference in found] == [CHANGE]


# --- stuck loops ---------------------------------------------------------------------------------------------------


def test_a_stuck_loop_is_rebuilt_as_it_was_before_the_event_it_is_stuck_at(told: Scribe) -> None:
    tell_of_a_mistake(told)
    told.tell(aside())
    rebuilt = rebuild(events(told.log))
    assert rebuilt.projection(CHANGE).row.status == "stuck"
    assert differences(told) == []


def test_a_loop_that_a_newer_program_got_unstuck_is_folded_whole(told: Scribe) -> None:
    tell_of_a_mistake(told)
    tamper(told.url, *NEWER)
    told.tell(command("pause"))
    assert rebuild(events(told.log)).stuck == {}
    assert differences(told) == []


def test_a_loop_may_have_come_unstuck_without_a_trace_in_the_log(told: Scribe) -> None:
    tell_of_a_mistake(told)
    told.tell(policy_changed("off", enabled=False))
    tamper(told.url, *NEWER)
    told.tell(rejected(5, EVE))
    assert told.log.loops(stuck=True) == []
    assert differences(told) == []


# --- another policy ------------------------------------------------------------------------------------------------


def under(one: Scribe, **values: object) -> Redecided:
    return redecide(events(one.log), Overrides.model_validate(values))


def test_the_same_policy_decides_the_same_again(told: Scribe) -> None:
    tell_of_a_second_rejection(told)
    tell_of_approval(told)
    result = under(told)
    assert (result.divergences, result.loops, result.events) == ([], 1, told.log.head().pos)


def test_a_lower_limit_escalates_where_another_cycle_was_begun(told: Scribe) -> None:
    tell_of_a_second_rejection(told)
    [divergence] = under(told, max_cycles=1).divergences
    assert divergence.recorded[0].startswith("fix.requested cycle/2/1")
    assert divergence.other[0].endswith("escalated/max_cycles")


def test_a_longer_settle_window_would_have_waited_still(told: Scribe) -> None:
    [divergence] = under(told, settle_seconds=3_000).divergences
    assert (divergence.after, divergence.other) == ("timer.fired", ())


def test_a_trigger_that_was_not_set_would_have_begun_a_cycle_of_its_own(told: Scribe) -> None:
    told.tell(comment(50, by=TOM), comment(51, by=TOM))
    [divergence] = under(told, triggers=["comments"]).divergences
    assert (divergence.after, divergence.recorded) == ("settle/2 is over", ())
    assert divergence.other == ("fix.requested cycle/2/1/requested",)


def test_only_the_first_difference_of_a_loop_is_told(told: Scribe) -> None:
    tell_of_a_second_rejection(told)
    assert len(under(told, enabled=False).divergences) == 1


def test_a_stuck_loop_is_not_decided_on_again(told: Scribe) -> None:
    tell_of_a_mistake(told)
    told.tell(aside())
    assert under(told).divergences == []
