"""Three real nats-servers that are one cluster, with the users that amends ships and an operator beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amends.common.bus.users import configuration
from amends.common.events import EVERYONE
from tests.support.nats import NatsServer
from tests.support.ports import free_port

OPERATOR = "operator"
SIZE = 3


class Cluster:
    """Its servers, which a test may kill and start one by one. Everybody's password is his name."""

    def __init__(self, folder: Path) -> None:
        routes = [free_port() for _ in range(SIZE)]
        self.servers = [self._server(folder / f"nats-{number}", routes, number) for number in range(SIZE)]
        self.dead: set[int] = set()

    @staticmethod
    def _server(folder: Path, routes: list[int], number: int) -> NatsServer:
        folder.mkdir(parents=True)
        said = json.loads(configuration({user: user for user in EVERYONE}))
        said["accounts"]["evaluator"]["users"].append({"user": OPERATOR, "password": OPERATOR})
        said["server_name"] = folder.name
        said["cluster"] = {
            "name": "amends",
            "listen": f"127.0.0.1:{routes[number]}",
            "routes": [f"nats://127.0.0.1:{port}" for port in routes],
        }
        (folder / "nats.conf").write_text(json.dumps(said))
        return NatsServer(folder, folder / "nats.conf")

    def start(self) -> Cluster:
        for server in self.servers:
            server.start()
        return self

    def end(self) -> None:
        for server in self.servers:
            server.kill()

    def kill(self, number: int) -> None:
        """As a power cut would, but for the disk's cache."""
        self.servers[number].kill()
        self.dead.add(number)

    def revive(self) -> None:
        """Start again who was killed."""
        for number in self.dead:
            self.servers[number].start()
        self.dead.clear()

    def address(self, user: str) -> str:
        """All of them, as this user comes to them."""
        return ",".join(server.url.replace("//", f"//{user}:{user}@") for server in self.servers)

    @property
    def plain(self) -> str:
        """All of them, for who says elsewhere who he is."""
        return ",".join(server.url for server in self.servers)

    @property
    def url(self) -> str:
        """One that lives, as somebody who may do everything."""
        living = next(server for number, server in enumerate(self.servers) if number not in self.dead)
        return living.url.replace("//", f"//{OPERATOR}:{OPERATOR}@")


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A running one for the length of a block."""
    servers = Cluster(folder)
    try:
        yield servers.start()
    finally:
        servers.end()
