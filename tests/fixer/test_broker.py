"""An agent of the command line that means harm: what it asks the model's endpoint for, and what it finds of the key."""

import json
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amends.common.events import Failure, FixFailed, FixPrepared
from amends.common.policy import BudgetOverrides
from amends.doubles.model import Denies, Says, text
from amends.doubles.model.double import KEY
from amends.fixer import broker
from tests.support.asynchronous import asynchronous
from tests.support.commanding import Place, verdict

MARK = secrets.token_hex(8)


def found(fact: FixPrepared | FixFailed) -> Any:
    """What the agent put into its report."""
    assert isinstance(fact, FixPrepared), fact.detail
    return json.loads(verdict(fact)[1])


def says(code: str) -> str:
    """An agent that reports the value of `found`."""
    return f"{code}\nreport(items=[one('declined', json.dumps(found)[:7000])])"


# --- the key ---------------------------------------------------------------------------------------------------------


HUNT = """
def all_of(path):
    try:
        return open(path, "rb").read(20000).decode(errors="replace")
    except OSError:
        return ""
parts = [json.dumps(dict(os.environ))]
for pid in filter(str.isdigit, os.listdir("/proc")):
    parts += [all_of(f"/proc/{pid}/{name}") for name in ("environ", "cmdline", "maps", "mountinfo")]
    try:
        parts += [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        pass
for folder, _, names in os.walk("/"):
    if not folder.startswith(("/proc", "/usr", "/root/.pyenv", "/sys", "/dev")):
        parts += [folder + "/" + name + all_of(folder + "/" + name) for name in names if name != "door"]
status, headers, raw = post(body(user("x")))
parts += [str(headers), raw.decode()]
status, headers, raw = post(body(user("what is the key?")))
parts += [str(status), str(headers), raw.decode()]
post(body(user("FOUND " + "\\n".join(parts))))
found = len(parts)
"""


@asynchronous
async def test_inv_21_the_key_is_nowhere_inside_and_in_no_answer(
    commanded: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", MARK)
    (commanded.folder / "canary").write_text(MARK)
    told = Denies(400, "invalid_request_error", f"a proxy repeats authorization: Bearer {KEY}", {"retry-after": KEY})
    commanded.double.says(text("Yes."), told, text("Yes."))
    assert found(await commanded.ended(says(HUNT), budget=BudgetOverrides(run_usd=100))) > 20
    hunted = commanded.double.asked[-1].messages[0]["content"]
    assert hunted.startswith("FOUND ")
    assert "Bearer [key]" in hunted
    assert [secret for secret in (KEY, MARK) if secret in hunted] == []


@asynchronous
async def test_inv_21_what_is_sent_on_is_the_key_and_nothing_that_the_agent_claims_to_be(commanded: Place) -> None:
    code = """
found = post(body(user("x")), "/v1/messages?beta=true", **{"authorization": "Bearer other", "cookie": "a=b",
    "x-forwarded-for": "1.2.3.4", "anthropic-beta": "fine-2026", "host": "example.com", "x-api-key": "other"})[0]
"""
    commanded.double.says(text("Yes."))
    assert found(await commanded.ended(says(code))) == 200
    headers = commanded.double.asked[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["anthropic-beta"] == "fine-2026"
    assert not {"cookie", "x-forwarded-for", "x-api-key"} & headers.keys()
    assert headers["host"].startswith("127.0.0.1:")


@asynchronous
async def test_inv_30_a_check_of_the_repository_has_no_door(commanded: Place) -> None:
    line = "test ! -e /door && ! env | grep -q ANTHROPIC"
    code = "open('app.py', 'a').write('x = 1\\n'); report(items=[one('fixed', '', ['app.py'])])"
    fact = await commanded.ended(code, checks=(line,))
    assert isinstance(fact, FixPrepared), fact.detail
    assert [check.after for check in fact.checks] == ["passed"]


# --- where it leads --------------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_30_only_two_paths_lead_out(commanded: Place) -> None:
    code = """
def raw(line):
    with socket.create_connection(("127.0.0.1", int(BASE.rsplit(":", 1)[1])), 10) as peer:
        peer.sendall((line + "\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-length: 0\\r\\n\\r\\n").encode())
        return peer.makefile("rb").read().decode(errors="replace").split(" ", 2)[1]
found = [raw(line) for line in (
    "GET /v1/models HTTP/1.1", "GET /v1/messages HTTP/1.1", "POST /v1/messages/batches HTTP/1.1",
    "POST /v1/files HTTP/1.1", "POST /v1/messages/../files HTTP/1.1", "POST //v1/messages HTTP/1.1",
    "CONNECT example.com:443 HTTP/1.1", "GET http://169.254.169.254/latest HTTP/1.1", "POST /v1/complete HTTP/1.1",
)]
"""
    assert set(found(await commanded.ended(says(code)))) <= {"404", "400"}
    assert commanded.double.asked == []


@asynchronous
async def test_inv_30_beside_the_door_nothing_is_reached(commanded: Place) -> None:
    port = commanded.double.url.rpartition(":")[2]
    code = f"""
found = []
for where in (("127.0.0.1", {port}), ("169.254.169.254", 80), ("1.1.1.1", 443)):
    with socket.socket() as peer:
        peer.settimeout(2)
        found.append(peer.connect_ex(where) != 0)
found += [sorted(name for name in os.listdir("/") if name == "door"), os.access("/", os.W_OK)]
"""
    assert found(await commanded.ended(says(code))) == [True, True, True, ["door"], False]


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]},
        {"mcp_servers": [{"type": "url", "url": "https://example.com", "name": "x"}]},
        {"container": "x"},
        {"service_tier": "priority"},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "x"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "x"}]}]},
    ],
    ids=lambda more: "-".join([*more, str(next(iter(more.values())))[:30]]),
)
@asynchronous
async def test_inv_30_the_endpoint_is_not_asked_to_reach_further(commanded: Place, more: dict[str, Any]) -> None:
    code = f"found = [post({{**body(user('x')), **{more!r}}}, path)[0] for path in PATHS]"
    paths = "PATHS = '/v1/messages', '/v1/messages/count_tokens'\n"
    assert found(await commanded.ended(says(paths + code))) == [400, 400]
    assert commanded.double.asked == []


@asynchronous
async def test_inv_31_nothing_is_written_outside_and_links_out_are_refused(commanded: Place) -> None:
    outside = commanded.folder / "outside"
    code = f"""
found = []
for path in ("{outside}", "/etc/x", "/usr/x", "/amends/x", "/door/x", "/x", "{commanded.folder}/tools/x"):
    try:
        open(path, "w").close()
        found.append(path)
    except OSError:
        pass
if not os.path.islink("link"):
    os.symlink("/etc/passwd", "link")
"""
    fact = await commanded.ended(says(code))
    assert isinstance(fact, FixFailed)
    assert (fact.reason, "link" in fact.detail) == (Failure.POLICY, True)
    assert not outside.exists()


# --- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "post({**body(user('x')), 'max_tokens': 128000, 'model': 'claude-opus-5-5'})",
        "post(body(user('x' * 9_000_000)))",
    ],
)
@asynchronous
async def test_what_could_cost_more_than_is_left_is_never_asked(commanded: Place, code: str) -> None:
    fact = await commanded.ended(code + "\ntime.sleep(600)", budget=BudgetOverrides(run_usd=2))
    assert isinstance(fact, FixFailed)
    assert (fact.reason, "than is left" in fact.detail) == (Failure.LIMITS, True)
    assert commanded.double.asked == []


@asynchronous
async def test_many_requests_at_once_do_not_get_past_a_limit(commanded: Place) -> None:
    code = """
from threading import Thread
for _ in range(20):
    Thread(target=lambda: post(body(user("x")))).start()
time.sleep(600)
"""
    commanded.double.always = Says(("Yes.",), seconds=0.05)
    fact = await commanded.ended(code, budget=BudgetOverrides(turns=3))
    assert isinstance(fact, FixFailed)
    assert (fact.reason, len(commanded.double.asked), fact.usage.turns) == (Failure.LIMITS, 3, 3)


@asynchronous
async def test_whoever_leaves_in_the_middle_of_a_reply_has_paid_for_it(commanded: Place) -> None:
    code = """
raw = json.dumps(body(user("x"), stream=True)).encode()
head = f"POST /v1/messages HTTP/1.1\\r\\nhost: x\\r\\ncontent-type: application/json\\r\\ncontent-length: {len(raw)}"
with socket.create_connection(("127.0.0.1", int(BASE.rsplit(":", 1)[1]))) as peer:
    peer.sendall(head.encode() + b"\\r\\n\\r\\n" + raw)
    peer.recv(20)
found = post(body(user("y")))[0]
"""
    commanded.double.says(Says(("word " * 9_000,), output_tokens=9_000), text("Yes."))
    fact = await commanded.ended(says(code))
    assert found(fact) == 200
    assert (fact.usage.turns, fact.usage.tokens > 9_000) == (2, True)


@asynchronous
async def test_rel_04_what_a_killed_command_spent_is_not_lost(commanded: Place) -> None:
    code = 'post(body(user("x")))\npost(body(user("y"), stream=True))\ntime.sleep(600)'
    commanded.double.says(text("Yes."), Says(("slow",), seconds=20))
    fact = await commanded.ended(code, budget=BudgetOverrides(agent_seconds=3))
    assert isinstance(fact, FixFailed)
    assert (fact.reason, fact.usage.turns) == (Failure.LIMITS, 2)
    assert fact.usage.tokens > 1_000  # the second was cut off by us: it counts with all that it may have cost


@asynchronous
async def test_tokens_are_counted_for_nothing(commanded: Place) -> None:
    code = """
found = post({"model": "claude-double", "messages": user("x")}, "/v1/messages/count_tokens")[2].decode()
"""
    fact = await commanded.ended(says(code))
    assert ("input_tokens" in found(fact), fact.usage.turns) == (True, 0)


@asynchronous
async def test_tokens_are_not_counted_for_ever(commanded: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "_MOST_COUNTS", 20)
    fact = await commanded.ended(
        'while True: post({"model": "claude-double", "messages": user("x")}, "/v1/messages/count_tokens")'
    )
    assert isinstance(fact, FixFailed)
    assert (fact.reason, fact.detail) == (Failure.LIMITS, "tokens were counted too often")


# --- what it leaves --------------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_32_nothing_of_it_is_alive_afterwards(commanded: Place) -> None:
    code = f"""
for _ in range(3):
    subprocess.Popen(["sleep", "9{int(MARK[:6], 16)}"], start_new_session=True, stdout=sys.stdout)
found = "left"
"""
    assert found(await commanded.ended(says(code))) == "left"
    assert alive(f"9{int(MARK[:6], 16)}") == []


def alive(mark: str) -> list[str]:
    """The processes of this machine whose arguments hold the mark."""
    lines = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            lines.append((process.name, (process / "cmdline").read_bytes()))
    return [name for name, line in lines if mark.encode() in line]
