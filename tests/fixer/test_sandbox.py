"""The walls of the sandbox, from inside: what a hostile command finds, reaches and uses up."""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from amends.common.sections import Sandbox as Walls
from amends.fixer.bubblewrap import Bubblewrap
from amends.fixer.sandbox import Bounds, Command, Ended, Ran, SandboxUnavailable, shell
from amends.fixer.walls import Walled
from tests.support.asynchronous import asynchronous
from tests.support.sandbox import BOUNDS, sandbox

NODE = Path("/usr/bin/node")
CANARY = f"canary-{secrets.token_hex(8)}"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def python(code: str) -> Command:
    return Command((os.path.realpath(sys.executable), "-I", "-S", "-c", textwrap.dedent(code)))


async def ran(workspace: Path, line: str, **bounds: float) -> Ran:
    return await sandbox(replace(BOUNDS, **bounds)).run(workspace, shell(line))  # type: ignore[arg-type] # all are numbers


def alive(mark: str) -> list[str]:
    """The processes of this machine whose arguments hold the mark."""
    found = []
    for name in Path("/proc").iterdir():
        with suppress(OSError):
            if mark.encode() in (name / "cmdline").read_bytes():
                found.append(name.name)
    return found


@asynchronous
async def test_inv_44_a_sandbox_that_holds_says_so() -> None:
    await sandbox().prove()


@asynchronous
async def test_inv_44_without_a_program_nothing_runs_and_the_remedy_is_said(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="no sandbox can be made here"):
        await Bubblewrap(tmp_path / "none").prove()


@asynchronous
async def test_inv_44_nothing_runs_before_the_walls_have_held(workspace: Path) -> None:
    walls = Walled(Walls())
    with pytest.raises(SandboxUnavailable, match="not tried yet"):
        await walls.run(workspace, shell("true"))
    assert await walls.tried() == ""
    assert (await walls.run(workspace, shell("true"))).passed


@asynchronous
async def test_inv_44_walls_that_do_not_hold_are_tried_again_and_run_nothing(workspace: Path) -> None:
    walls = Walled(Walls(bwrap=Path("/usr/bin/false")))
    assert "no sandbox can be made here" in await walls.tried()
    with pytest.raises(SandboxUnavailable, match="no sandbox"):
        await walls.run(workspace, shell("true"))


@asynchronous
async def test_inv_44_walls_with_a_hole_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    hole = replace(sandbox(), readable=(Path("/var/tmp"),))
    with pytest.raises(SandboxUnavailable, match=r"a file outside can be read.*a unix socket can be reached"):
        await hole.prove()


def test_inv_21_the_environment_of_the_service_is_nowhere_to_be_read(workspace: Path) -> None:
    code = """
        import asyncio, sys
        from pathlib import Path
        from amends.fixer.sandbox import shell
        from tests.support.sandbox import sandbox
        line = "env; cat /proc/*/environ /proc/*/cmdline; cat /proc/self/mountinfo"
        print(asyncio.run(sandbox().run(Path(sys.argv[1]), shell(line))).text)
    """
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path.cwd()),
        "ANTHROPIC_API_KEY": CANARY,
        "AMENDS_X": CANARY,
    }
    argv = [sys.executable, "-c", textwrap.dedent(code), str(workspace)]
    said = subprocess.run(argv, env=environ, check=True, capture_output=True, text=True).stdout
    assert "HOME=/home/agent" in said
    assert CANARY not in said


@asynchronous
async def test_inv_21_no_file_is_left_open(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    with (tmp_path / "secret").open() as held:
        os.set_inheritable(held.fileno(), True)
        said = await ran(workspace, "ls /proc/self/fd")
    assert sorted(said.text.split()) == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


@asynchronous
async def test_inv_30_files_outside_are_not_there(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(CANARY)
    (workspace / "link").symlink_to(tmp_path / "secret")
    said = await ran(workspace, f"cat {tmp_path}/secret link; ls -d /root/.ssh /var /run /home/*; cat /etc/shadow")
    assert CANARY not in said.text
    assert said.text.count("No such file") == 6


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[str, int]]:
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(str(tmp_path / "s"))
        unix.listen()
        yield str(tmp_path / "s"), tcp.getsockname()[1]


@asynchronous
async def test_inv_30_no_socket_of_the_machine_is_reached(workspace: Path, listening: tuple[str, int]) -> None:
    path, port = listening
    code = f"""
        import socket
        places = (2, ("127.0.0.1", {port})), (2, ("169.254.169.254", 80)), (2, ("1.1.1.1", 53))
        for family, where in ((1, {path!r}), *places):
            with socket.socket(family) as one:
                one.settimeout(2)
                print(one.connect_ex(where) != 0)
    """
    said = await sandbox().run(workspace, python(code))
    assert said.text.split() == ["True"] * 4


@asynchronous
async def test_inv_30_names_are_not_resolved_and_packets_go_nowhere(workspace: Path) -> None:
    code = """
        import socket
        try:
            socket.getaddrinfo("example.com", 443)
        except OSError:
            print("no names")
        try:
            socket.socket(2, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53))
        except OSError:
            print("no packets")
    """
    assert (await sandbox().run(workspace, python(code))).text.split("\n")[:2] == ["no names", "no packets"]


@asynchronous
async def test_inv_31_only_the_workspace_is_written(workspace: Path) -> None:
    said = await ran(workspace, "for d in / /usr /etc /dev /amends /root; do touch $d/x && echo $d; done; touch y")
    assert [line for line in said.text.splitlines() if line.startswith("/")] == []
    assert (workspace / "y").exists()


@asynchronous
async def test_inv_24_nothing_but_the_workspace_outlives_a_command(workspace: Path) -> None:
    await ran(workspace, "touch /tmp/x ~/x /dev/shm/x y")
    assert (await ran(workspace, "ls /tmp ~ /dev/shm; ls")).text.split() == ["/dev/shm:", "/home/agent:", "/tmp:", "y"]


@asynchronous
async def test_inv_32_a_fork_bomb_ends_and_leaves_nothing(workspace: Path) -> None:
    mark = secrets.token_hex(8)
    # It ends by itself at 32, so that nothing here suffers from it should the limit of 16 not hold.
    bomb = f"""
        import os, time
        for _ in range(5):
            try:
                os.fork()
            except OSError:
                print("no more of them", flush=True)
        time.sleep(5)
        print({mark!r})
    """
    said = await sandbox(replace(BOUNDS, processes=16)).run(workspace, python(bomb))
    assert said.ended is Ended.PROCESSES or "no more of them" in said.text
    assert said.text.count(mark) <= 16
    assert alive(mark) == []


@asynchronous
async def test_inv_32_daemons_die_with_the_command(workspace: Path) -> None:
    mark = f"9{secrets.randbelow(10**9)}"
    said = await ran(workspace, f"setsid sh -c 'sleep {mark} & sleep {mark} &' & (sleep {mark} &) ; echo started")
    assert said.passed
    assert said.seconds < 5
    assert alive(mark) == []


@asynchronous
async def test_inv_32_what_is_cancelled_dies_too(workspace: Path) -> None:
    mark = f"9{secrets.randbelow(10**9)}"
    task = asyncio.create_task(ran(workspace, f"setsid sleep {mark} & sleep {mark}"))
    while not alive(mark):  # noqa: ASYNC110 - another process tells nobody
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert alive(mark) == []


@asynchronous
async def test_inv_32_time_is_bounded(workspace: Path) -> None:
    said = await ran(workspace, "trap '' TERM INT HUP; while :; do :; done", seconds=0.5)
    assert said.ended is Ended.TIME
    assert said.seconds < 3


@pytest.mark.parametrize("where", ["/tmp", "/dev/shm", "/home/agent"])
@asynchronous
async def test_inv_32_scratch_is_bounded(workspace: Path, where: str) -> None:
    said = await ran(workspace, f"head -c 20000000 /dev/zero >{where}/x; wc -c <{where}/x")
    assert int(said.text.split()[-1]) <= BOUNDS.scratch


@asynchronous
async def test_inv_32_one_big_file_is_bounded(workspace: Path) -> None:
    await ran(workspace, "head -c 99000000 /dev/zero >x")
    assert (workspace / "x").stat().st_size <= BOUNDS.file


@asynchronous
async def test_inv_32_many_files_are_bounded(workspace: Path) -> None:
    line = "i=0; while :; do i=$((i+1)); head -c 9000000 /dev/zero >x$i; done"
    said = await ran(workspace, line)
    assert said.ended is Ended.DISK
    assert sum(file.stat().st_size for file in workspace.iterdir()) < 40 * BOUNDS.disk


@asynchronous
async def test_inv_32_memory_is_bounded(workspace: Path) -> None:
    said = await sandbox().run(workspace, python("import time\nkept = b'x' * (700 << 20)\ntime.sleep(9)"))
    assert said.ended is Ended.MEMORY


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(90):\n    os.write(os.memfd_create(str(n)), bytes(30 << 20))",
        "kept = mmap.mmap(-1, 2 << 30)\nfor n in range(0, 2 << 30, 4096):\n    kept[n] = 1",
    ],
)
@asynchronous
async def test_inv_32_memory_that_is_no_processs_own_is_bounded(workspace: Path, code: str) -> None:
    said = await sandbox().run(workspace, python(f"import mmap, os, time\n{code}\ntime.sleep(9)"))
    assert said.ended is Ended.MEMORY


@pytest.mark.skipif(not NODE.exists(), reason=f"there is no {NODE} here")
@asynchronous
async def test_what_node_reserves_and_never_touches_is_not_held_against_it(workspace: Path) -> None:
    line = "node -e 'new WebAssembly.Memory({initial: 1, maximum: 65536}); fetch(\"http://127.0.0.1:9\").catch(console.log)'"
    said = await sandbox().run(workspace, shell(line))
    assert "Out of memory" not in said.text
    assert "fetch failed" in said.text


@asynchronous
async def test_inv_32_of_much_output_the_ends_are_kept(workspace: Path) -> None:
    said = await ran(workspace, "echo first; head -c 5000000 /dev/zero; echo last", output=1_000)
    assert said.text.startswith("first\n")
    assert said.text.endswith("last\n")
    assert "bytes left out" in said.text
    assert len(said.output) < 1_100


@asynchronous
async def test_inv_32_other_commands_go_on_beside_a_hostile_one(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    hostile = asyncio.create_task(ran(workspace, "sleep 1 & sleep 1 & wait; kill -9 -1", seconds=3))
    said = [await ran(other, "echo alive") for _ in range(5)]
    await hostile
    assert [one.text for one in said] == ["alive\n"] * 5


@asynchronous
async def test_a_workspace_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(SandboxUnavailable, match="no directory"):
        await sandbox().run(tmp_path / "link", shell("ls"))


@asynchronous
async def test_what_is_given_is_read(workspace: Path) -> None:
    said = await sandbox(Bounds()).run(workspace, Command(("/bin/cat",), b"word\n" * 50_000))
    assert (said.text.startswith("word"), said.code) == (True, 0)
