"""`amends report` and `amends parked`."""

import json
from pathlib import Path

import pytest

from amends.common.events import DeliveryParked, PrClosed
from amends.common.identity import About
from amends.common.log import Log, OutstandingRow
from tests.cli.conftest import opened, reported
from tests.support.command import called, lines
from tests.support.facts import at, believed, rejected

pytestmark = pytest.mark.connected
CLOSED = PrClosed(merged=True, updated_at=at(90))


def line(number: int, **changes: object) -> str:
    fact = json.loads(CLOSED.model_dump_json()) | changes
    return json.dumps({"about": {"repo": 1, "number": number}, "fact": fact})


def test_each_report_gets_its_answer_and_the_same_again_is_already_there(running: Path) -> None:
    opened(running, 201)
    results = [called("report", "-", "--data-dir", str(running), given=line(201)) for _ in range(2)]
    [[first], [second]] = [lines(result.stdout) for result in results]
    assert (first["answer"], second["answer"], second["pos"]) == ("recorded", "already", first["pos"])


@pytest.mark.parametrize("form", ["{0}\n\n{1}\n", "[{0},\n{1}]", "{0}\r\n{1}"])
def test_reports_come_as_lines_or_as_a_list(running: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / "facts"
    file.write_text(form.format(line(202), line(203)))
    result = called("report", str(file), "--data-dir", str(running))
    assert (result.exit_code, len(lines(result.stdout))) == (0, 2)


def test_one_report_may_be_written_over_several_lines(running: Path) -> None:
    pretty = json.dumps(json.loads(line(204)), indent=2)
    assert called("report", "-", "--data-dir", str(running), given=pretty).exit_code == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (line(205, type="pr.exploded"), "unknown_type"),
        (line(205, merged="perhaps"), "malformed"),
        ("nonsense", "malformed"),
        ("[" * 10_000, "malformed"),
        (line(205, updated_at="\udc00"), "hostile_text"),
        (line(205, surprise="\x00"), "hostile_text"),
    ],
)
def test_what_cannot_be_recorded_is_refused_with_a_reason_and_exit_code_1(
    running: Path, text: str, reason: str
) -> None:
    result = called("report", "-", "--data-dir", str(running), given=text)
    assert (result.exit_code, lines(result.stdout)[0]["reason"]) == (1, reason)


def test_the_evaluator_holds_a_name_to_what_it_may_report(running: Path) -> None:
    result = called(
        "report",
        "-",
        "--as",
        "fixer",
        "--data-dir",
        str(running),
        given=line(206),
    )
    assert (result.exit_code, lines(result.stdout)[0]["reason"]) == (1, "not_entitled")


def test_nothing_to_report_is_a_usage_error(running: Path) -> None:
    assert called("report", "-", "--data-dir", str(running), given=" \n").exit_code == 2


def test_without_an_evaluator_nothing_is_lost_without_a_word(tmp_path: Path) -> None:
    result = called("report", "-", "--data-dir", str(tmp_path), given=line(1))
    assert (result.exit_code, "start `amends up`" in result.output) == (3, True)


def test_a_nats_that_is_not_there_is_not_reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENDS_ANSWER_SECONDS", "0.5")
    result = called("report", "-", "--nats", "nats://127.0.0.1:1", "--data-dir", str(tmp_path), given=line(1))
    assert (result.exit_code, "NATS cannot be reached" in result.output) == (3, True)


# --- parked --------------------------------------------------------------------------------------------------------


def test_an_event_that_a_service_gave_up_on_is_listed_and_can_be_tried_again(running: Path) -> None:
    loop = opened(running, 207, *believed(rejected())[:1])
    [asked] = [row for row in outstanding(running) if row.loop == loop]
    given_up = DeliveryParked(of=asked.pos, service="comment-fetcher", error="KeyError", deliveries=20)
    reported(running, About(loop=loop), given_up)
    listed = [each for each in lines(called("parked", "list", "--data-dir", str(running)).stdout) if "loop" in each]
    assert [(each["loop"], each["error"]) for each in listed] == [(loop, "KeyError")]
    result = called("parked", "requeue", "--pos", str(asked.pos), "--data-dir", str(running))
    assert (result.exit_code, lines(result.stdout)[0]["answer"]) == (0, "recorded")


def outstanding(directory: Path) -> list[OutstandingRow]:
    log = Log(f"sqlite:///{directory}/amends.db")
    rows = log.outstanding()
    log.close()
    return rows


def test_requeueing_needs_something_to_requeue(running: Path) -> None:
    assert called("parked", "requeue", "--data-dir", str(running)).exit_code == 2
    assert called("parked", "requeue", "999", "--data-dir", str(running)).exit_code == 1
