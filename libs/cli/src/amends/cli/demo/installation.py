"""The amends of the demo: a directory with settings as an operator writes them, and a real `amends up` on it."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amends.common.bus.embedded import write_private
from amends.common.settings import log_at, read

if TYPE_CHECKING:
    from amends.cli.demo.scene import Scene
    from amends.common.sections import Sandbox

_PATIENCE = 60.0
_GRACE = 5.0
_GATEWAY = re.compile(r"amends: up\..* gateway (http://[^\s,]+)")


class NotUp(Exception):
    """`amends up` does not run, and what it said last."""


class Mind(NamedTuple):
    """The model: what people are told it is, and the settings that lead to it."""

    name: str
    settings: Mapping[str, str]
    scripted: bool


class Installation:
    """A directory that `amends` can be called in, and what runs on it."""

    def __init__(self, root: Path, mind: Mind) -> None:
        self.root = root
        self.mind = mind
        self.secret = secrets.token_urlsafe(24)
        self._said = root / "up.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> str:
        """The address of its log."""
        return log_at(self.root / ".amends" / "amends.db")

    @property
    def sandbox(self) -> Sandbox:
        """What runs code here."""
        return read(self._of_the_machine, Path(os.devnull)).sandbox

    @property
    def _of_the_machine(self) -> dict[str, str]:
        """What the caller says about sandboxes is of this machine, and not of an amends of his own."""
        return {name: value for name, value in os.environ.items() if name.startswith("AMENDS_SANDBOX_")}

    def settle(self, scene: Scene) -> None:
        """Write its settings, and the secrets that they name."""
        folder = self.root / "secrets"
        folder.mkdir(mode=0o700)
        write_private(folder / "github-app.pem", scene.app.pem)
        write_private(folder / "webhook-secret", self.secret)
        (self.root / "amends.toml").write_text(_settings(scene), encoding="utf-8")

    @contextmanager
    def up(self) -> Iterator[str]:
        """`amends up` for the length of a block, and the address of its gateway."""
        # A group of its own, so that Ctrl-C is ours alone and nothing of it is left when its end takes too long.
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "amends.cli", "up"],
                cwd=self.root, env=self._environment(), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                process_group=0,
            )  # fmt: skip
        try:
            yield self._ready()
        finally:
            self._end(self._process)

    def look(self) -> None:
        """See that it still runs."""
        if self._process is None or self._process.poll() is not None:
            raise NotUp(f"`amends up` ended: {self._last_words()}")

    def _ready(self) -> str:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if found := _GATEWAY.search(self._said.read_text(errors="replace")):
                return found[1]
            self.look()
            time.sleep(0.02)
        raise NotUp(f"`amends up` is not ready after {_PATIENCE:.0f} s: {self._last_words()}")

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):  # the whole group, whoever of it is left
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _last_words(self) -> str:
        return (self._said.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1][:400]

    def _environment(self) -> dict[str, str]:
        """Nothing of what the caller has set for an amends of his own, and the way to the model."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AMENDS_", "ANTHROPIC_"))}
        near = ",".join(filter(None, (kept.get("NO_PROXY") or kept.get("no_proxy"), "127.0.0.1,localhost")))
        return {**kept, "NO_PROXY": near, "no_proxy": near, **self._of_the_machine, **self.mind.settings}


def _settings(scene: Scene) -> str:
    """As an operator writes them, but for waits that are made for people."""
    github = scene.github
    check = f"{Path(os.path.realpath(sys.executable))} -m unittest -q"
    return f"""# The amends of a demo.
our_accounts = [{scene.app.account_id}]

[github]
api_url = "{github.api_url}"
graphql_url = "{github.graphql_url}"
git_url = "{github.url}"
app_id = "{scene.app.id}"
private_key_file = "secrets/github-app.pem"

[gateway]
webhook_secret_files = ["secrets/webhook-secret"]

[notifier]
apart_seconds = 0

[policy]
repositories = ["{scene.repo.name}"]
checks = [{json.dumps(check)}]
settle_seconds = 1
"""
