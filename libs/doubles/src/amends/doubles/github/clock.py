"""The double's clock: the wall's, until a test stops or advances it. GitHub tells whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    """Real time plus what a test added; `stop` holds it still."""

    def __init__(self) -> None:
        self._ahead = timedelta()
        self._stopped: datetime | None = None

    def now(self) -> datetime:
        return (self._stopped or datetime.now(UTC)) + self._ahead

    def moment(self) -> datetime:
        """Now, as GitHub stores it."""
        return self.now().replace(microsecond=0)

    def advance(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)

    def stop(self, at: datetime | None = None) -> None:
        """From here on only `advance` moves it."""
        self._stopped, self._ahead = at or self.now(), timedelta()


def stamp(moment: datetime) -> str:
    """A time as the API writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def maybe_stamp(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(moment)
