"""Clocks that are wrong: a process whose clock is off by so many seconds, which may change while it runs."""

from __future__ import annotations

from pathlib import Path

SHIFTED = Path(__file__).parent / "shifted"


class WrongClock:
    """The clock of the processes that are started with its `environment`."""

    def __init__(self, file: Path, seconds: int) -> None:
        self._file = file
        self.jump(seconds)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to live by it."""
        return {"PYTHONPATH": str(SHIFTED), "FAULTS_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """From now on it is off by so much."""
        written = self._file.with_suffix(".new")
        written.write_text(str(seconds), encoding="utf-8")
        written.replace(self._file)
