"""`amends explain`."""

import pytest

from tests.support.command import called, lines
from tests.support.facts import command, comment, policy_changed
from tests.support.scribe import CHANGE, Scribe, tell_of_a_mistake


def explained(one: Scribe, *arguments: str) -> dict[str, object]:
    result = called("explain", *arguments, "--database", one.url)
    assert result.exit_code == 0, result.output
    [explanation] = lines(result.stdout)
    assert isinstance(explanation, dict)
    return explanation


def test_it_says_where_the_loop_stands_why_and_what_comes_next(told: Scribe) -> None:
    explanation = explained(told, "octo/shop#7")
    assert (explanation["status"], explanation["name"]) == ("awaiting_review", "octo/shop#7")
    assert all(explanation[name] for name in ("why", "next", "turns", "conditions", "orders", "last"))


def test_it_reads_as_a_text(told: Scribe) -> None:
    text = called("explain", CHANGE, "-o", "text", "--database", told.url).stdout
    assert text.splitlines()[1].startswith("awaiting_review at version")
    assert "amends loops" in text


def test_it_can_say_so_of_any_position(told: Scribe) -> None:
    [requested] = [row.pos for row in told.log.history(CHANGE) if row.type == "fix.requested"]
    explanation = explained(told, CHANGE, "--at", str(requested))
    assert (explanation["status"], explanation["pos"]) == ("collecting", requested)


def test_a_position_before_the_loop_is_a_negative_result(told: Scribe) -> None:
    result = called("explain", CHANGE, "--at", "1", "--database", told.url)
    assert (result.exit_code, "had no events yet at position 1" in result.output) == (1, True)


def test_the_installation_can_be_explained_too(told: Scribe) -> None:
    assert explained(told, "installation")["loop"] == "installation"


def test_what_changed_in_the_installation_since_counts_now_but_not_then(told: Scribe) -> None:
    before = told.log.head().pos
    told.tell(policy_changed("off", enabled=False))
    assert "not enabled" in str(explained(told, CHANGE)["conditions"])
    assert "not enabled" not in str(explained(told, CHANGE, "--at", str(before))["conditions"])


def test_it_accounts_for_what_was_done_under_the_values_of_that_position(told: Scribe) -> None:
    told.tell(policy_changed("more", max_cycles=7))
    account = explained(told, CHANGE)["account"]
    assert isinstance(account, dict)
    [begun] = [deed for deed in account["done"] if deed["what"] == "cycle 1, attempt 1 was begun"]
    assert begun["under"].startswith("max_cycles = 2 (default)")


def test_a_paused_loop_says_who_has_to_resume_it(told: Scribe) -> None:
    told.tell(command("pause"))
    explanation = explained(told, CHANGE)
    assert (explanation["status"], "resume" in str(explanation["orders"])) == ("paused", True)


def test_it_shows_the_last_fifty_events_or_as_many_as_are_wanted(told: Scribe) -> None:
    told.tell(*(comment(number) for number in range(100, 160)))
    known = len(told.log.history(CHANGE))
    shown = [len(listed(explained(told, CHANGE, *wanted))) for wanted in ((), ("--events", "2"), ("--events", "999"))]
    assert shown == [50, 2, known]
    assert listed(explained(told, CHANGE, "--events", "0")) == []
    assert f"Last events (50 of {known}):" in called("explain", CHANGE, "-o", "text", "--database", told.url).stdout


@pytest.mark.parametrize("events", ["0", "2", "50"])
def test_why_a_loop_is_stuck_is_said_however_long_ago_it_was(told: Scribe, events: str) -> None:
    tell_of_a_mistake(told)
    told.tell(*(comment(number) for number in range(100, 110)))
    explanation = explained(told, CHANGE, "--events", events)
    assert str(explanation["stuck"]).startswith("KeyError in amends")
    assert len(listed(explanation)) == min(int(events), len(told.log.history(CHANGE)))


def listed(explanation: dict[str, object]) -> list[object]:
    last = explanation["last"]
    assert isinstance(last, list)
    return last
