"""A service's worker on the bus, as the settings want it: how long a delivery may be silent is said in one place."""

from __future__ import annotations

from amends.common.answers import Recorder
from amends.common.bus.inbox import BusInbox, Watch
from amends.common.bus.link import Link
from amends.common.events import Reporter
from amends.common.settings import Settings
from amends.common.worker import Handler, Pace, Worker

_BEATS = 4  # while a delivery may be silent; some are late, and some are lost


def worker(settings: Settings, link: Link, service: Reporter, handler: Handler, recorder: Recorder) -> Worker:
    """One that works on one event at a time."""
    silent = settings.ack_seconds
    inbox = BusInbox(link, service, Watch(ack_wait=silent))
    return Worker(service, handler, recorder, inbox, Pace(heartbeat=silent / _BEATS))
