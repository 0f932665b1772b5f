"""`amends events`."""

import json

import pytest

from tests.support.command import called, lines, started, stopped
from tests.support.facts import command, observed
from tests.support.scribe import CHANGE, Scribe


def tailed(one: Scribe, *arguments: str) -> list[int]:
    result = called("events", "tail", *arguments, "--database", one.url)
    assert result.exit_code == 0, result.output
    return [line["pos"] for line in lines(result.stdout)]


def test_tail_shows_the_last_ten(told: Scribe) -> None:
    end = told.log.head().pos
    assert tailed(told) == list(range(end - 9, end + 1))


def test_tail_shows_as_many_as_are_wanted_and_none_if_none_are(told: Scribe) -> None:
    end = told.log.head().pos
    assert (tailed(told, "-n", "2"), tailed(told, "-n", "0"), tailed(told, "-n", "99")[0]) == ([end - 1, end], [], 1)


def test_tail_goes_on_from_a_position(told: Scribe) -> None:
    end = told.log.head().pos
    assert tailed(told, "--from-pos", "3") == list(range(3, end + 1))
    assert tailed(told, "--from-pos", "3", "-n", "2") == [3, 4]
    assert tailed(told, "--from-pos", str(end + 1)) == []


def test_tail_goes_on_from_a_time(told: Scribe) -> None:
    assert len(tailed(told, "--since", "10m")) == told.log.head().pos
    assert tailed(told, "--since", "2999-01-01") == []


@pytest.mark.parametrize("pos", [1, 2, 7, 17])
def test_from_a_time_on_means_from_the_first_event_at_that_time(told: Scribe, pos: int) -> None:
    rows = told.log.rows(0)
    same = next(row.pos for row in rows if row.time == rows[pos - 1].time)
    [moment] = {line["time"] for line in lines(called("events", "show", str(pos), "--database", told.url).stdout)}
    assert tailed(told, "--since", moment)[0] == same


def test_tail_shows_only_some_types_or_one_loop(told: Scribe) -> None:
    result = called("events", "tail", "--type", "fix.*", "--type", "review.rejected", "--database", told.url)
    assert {line["type"].partition(".")[0] for line in lines(result.stdout)} == {"fix", "review"}
    assert len(tailed(told, "-n", "99", "--loop", "installation")) == 2
    assert len(tailed(told, "-n", "99", "--loop", "octo/shop#7")) == len(told.log.history(CHANGE))


def test_json_lines_are_cloud_events_that_hold_everything(told: Scribe) -> None:
    [event] = lines(called("events", "show", "5", "--database", told.url).stdout)
    assert (event["specversion"], event["pos"], event["loop"]) == ("1.0", 5, CHANGE)
    assert event["data"]["author"]["login"] == "maria"


def test_text_is_one_line_for_each_event(told: Scribe) -> None:
    result = called("events", "tail", "-n", "3", "-o", "text", "--database", told.url)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["15", "16", "17"]


def test_a_type_that_there_is_not_is_refused_with_the_nearest(told: Scribe) -> None:
    result = called("events", "tail", "--type", "fix.pusht", "--database", told.url)
    assert (result.exit_code, "did you mean fix.pushed?" in result.output) == (2, True)


def test_show_tells_everything_of_an_event_in_words(told: Scribe) -> None:
    result = called("events", "show", "5", "-o", "text", "--database", told.url)
    assert "review.rejected schema 1" in result.stdout
    assert '"login": "maria"' in result.stdout


def test_a_value_is_one_line_whatever_letters_it_has(told: Scribe) -> None:
    told.tell(observed(51, title="first\u2028second\x85third", head="c" * 40))
    shown = called("events", "show", str(told.log.head().pos), "-o", "text", "--database", told.url).stdout
    assert '"title": "first\\u2028second\\x85third",\n' in shown


def test_a_position_behind_the_end_is_a_negative_result(told: Scribe) -> None:
    result = called("events", "show", "99", "--database", told.url)
    assert (result.exit_code, "it ends at 17" in result.output) == (1, True)


def test_following_from_a_position_leaves_nothing_out_and_ends_after_so_many(told: Scribe) -> None:
    end = told.log.head().pos
    arguments = ("--from-pos", "3", "-n", str(end - 1), "--database", told.url)
    with started(["events", "tail", "-f", *arguments]) as following:
        assert following.stdout is not None
        first = [json.loads(following.stdout.readline())["pos"] for _ in range(3, end + 1)]
        told.tell(command("pause"))
        rest = [line["pos"] for line in lines(following.stdout.read())]
        code = following.wait(timeout=10)
    assert (first + rest, code) == (list(range(3, end + 2)), 0)


def test_following_shows_what_is_recorded_line_by_line(told: Scribe) -> None:
    with started(("events", "tail", "-f", "-n", "1", "--database", told.url)) as following:
        assert following.stdout is not None
        assert lines(following.stdout.readline())[0]["pos"] == 17
        told.tell(command("pause"))
        assert [lines(following.stdout.readline())[0]["pos"] for _ in range(3)] == [18, 19, 20]
        assert stopped(following) == 130
