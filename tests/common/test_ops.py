"""The operators' server: three pages, quick, read-only, and not to be held up by a slow or a rude client."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

from amends.common.ops import MOST_AT_ONCE, SECONDS, Ops, OpsNotServed, readiness

CHECKS = {"recorder": "ok", "mirror": "ok"}


@pytest.fixture
def checks() -> dict[str, str]:
    return dict(CHECKS)


@pytest.fixture
def port(checks: dict[str, str]) -> Iterator[int]:
    ops = Ops("127.0.0.1", 0, lambda: checks)
    yield int(ops.start().rpartition(":")[2])
    ops.stop()


def ask(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def raw(port: int, said: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(said)
        return b"".join(iter(lambda: connection.recv(4_096), b""))


def test_health_is_that_the_process_answers(port: int) -> None:
    assert ask(port, "/healthz")[::2] == (200, "ok\n")


def test_ready_is_that_every_check_is_ok(port: int, checks: dict[str, str]) -> None:
    status, headers, body = ask(port, "/readyz")
    assert (status, headers["Content-Type"], json.loads(body)) == (200, "application/json", checks)


def test_not_ready_says_which_check_and_why(port: int, checks: dict[str, str]) -> None:
    checks["mirror"] = "failing: not connected"
    status, _, body = ask(port, "/readyz")
    assert (status, json.loads(body)) == (503, {"recorder": "ok", "mirror": "failing: not connected"})


def test_a_check_that_fails_is_not_ready_and_no_accident() -> None:
    status, _, body = readiness(lambda: {"a": str(1 // 0)})
    assert (status, json.loads(body)) == (503, {"checks": "ZeroDivisionError: integer division or modulo by zero"})


def test_metrics_are_in_the_format_that_prometheus_reads(port: int) -> None:
    status, headers, body = ask(port, "/metrics")
    names = {family.name for family in text_string_to_metric_families(body)}
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert {"amends_events_appended", "amends_mirror_lag_events", "process_open_fds", "python_gc_collections"} <= names


def test_the_root_lists_the_three(port: int) -> None:
    assert ask(port, "/")[2].split() == ["/metrics", "/healthz", "/readyz"]


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/readyz"])
def test_head_answers_like_get_without_the_body(port: int, path: str) -> None:
    status, headers, body = ask(port, path, "HEAD")
    assert (status, body) == (200, "")
    assert int(headers["Content-Length"]) > 0


def test_a_query_changes_nothing(port: int) -> None:
    assert ask(port, "/healthz?x=1")[0] == 200


@pytest.mark.parametrize("path", ["/metrics/", "/../metrics", "/metrics%00", "/healthz/..", "/etc/passwd"])
def test_any_other_path_is_not_here_and_is_not_repeated(port: int, path: str) -> None:
    status, _, body = ask(port, path)
    assert (status, body) == (404, "not here; / lists what is\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "<SCRIPT>"])
def test_only_get_and_head_are_allowed(port: int, method: str) -> None:
    status, headers, body = ask(port, "/healthz", method)
    assert (status, headers["Allow"], body) == (405, "GET, HEAD", "GET or HEAD, please\n")


def test_it_says_nothing_about_what_it_is_made_of(port: int) -> None:
    assert ask(port, "/healthz")[1]["Server"] == "amends"


@pytest.mark.parametrize(
    "said", [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"\0" * 9_000]
)
def test_nonsense_is_refused_or_dropped_and_the_next_is_served(port: int, said: bytes) -> None:
    with suppress(ConnectionError):
        assert b"200" not in raw(port, said)
    assert ask(port, "/healthz")[0] == 200


def test_slow_clients_hold_up_nobody_for_long(port: int) -> None:
    with ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=3 * SECONDS))
            for _ in range(2 * MOST_AT_ONCE)
        ]
        slow[0].sendall(b"GET /metrics HTTP/1.1\r\n")
        assert slow[0].recv(1) == b""  # its time is over; that of the others, too
        assert ask(port, "/healthz")[0] == 200


def test_a_port_that_is_taken_is_named_with_its_setting(port: int) -> None:
    with pytest.raises(OpsNotServed, match=rf"127\.0\.0\.1:{port} cannot be served \(.*\): set ops_host, ops_port"):
        Ops("127.0.0.1", port, dict).start()


def test_it_can_be_started_and_stopped_in_no_time() -> None:
    ops = Ops("127.0.0.1", 0, dict)
    begin = time.monotonic()
    ops.start()
    started = time.monotonic() - begin
    ops.stop()
    ops.stop()
    assert started < 0.25


def test_it_serves_ipv6_where_asked() -> None:
    ops = Ops("::1", 0, dict)
    try:
        assert ops.start().startswith("http://[::1]:")
    except OpsNotServed:
        pytest.skip("no IPv6 on this machine")
    finally:
        ops.stop()
