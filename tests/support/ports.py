"""Ports for servers that must be told one before they are started, or that keep theirs over several lives."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

_LOWEST, _MANY = 10_000, 22_000
_GIVEN: set[int] = set()


def free_port() -> int:
    """A port that nobody has now, and that no connection will be given: systems take those from higher ones."""
    while True:
        port = _LOWEST + secrets.randbelow(_MANY)
        if port not in _GIVEN:
            with suppress(OSError), socket.create_server(("127.0.0.1", port)):
                _GIVEN.add(port)
                return port
