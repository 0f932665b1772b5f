"""What a process has for itself on its machine."""

import os
import signal
from pathlib import Path

import pytest

from amends.common.owned import InUse, alone_as, owned


def test_a_directory_is_one_process_s_and_its_successor_s(tmp_path: Path) -> None:
    with owned(tmp_path / "data"), pytest.raises(InUse, match="data is in use by another amends: stop it"):
        owned(tmp_path / "data").__enter__()
    with owned(tmp_path / "data"):
        pass


def test_who_was_killed_holds_nothing(tmp_path: Path) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with owned(tmp_path):
            os.write(write, b"!")
            signal.pause()
    os.read(read, 1)
    with pytest.raises(InUse):
        owned(tmp_path).__enter__()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with owned(tmp_path):
        pass


@pytest.mark.parametrize(
    ("holder", "url", "refused"),
    [
        ("mary", "nats://fixer:other@bus:4222", True),
        ("mary", "nats://bus:4222,nats://bus2:4222", False),
        ("anne", "nats://fixer:secret@bus:4222", False),
    ],
)
def test_a_holder_is_one_for_each_nats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str, url: str, refused: bool
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with alone_as("mary", "nats://fixer:secret@bus:4222"):
        try:
            with alone_as(holder, url):
                assert not refused
        except InUse:
            assert refused
