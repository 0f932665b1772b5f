"""A service's worker on the bus, as the settings want it: how long a delivery may be silent is said in one place."""

from __future__ import annotations

from amends.common.answers import Recorder
from amends.common.bus.inbox import BusInbox, Watch
from amends.common.bus.link import Link
from amends.common.bus.seat import Seat, SeatedInbox
from amends.common.events import Reporter
from amends.common.settings import Settings
from amends.common.worker import Handler, Pace, Worker

_BEATS = 4  # while a delivery may be silent; some are late, and some are lost


def worker(settings: Settings, link: Link, service: Reporter, handler: Handler, recorder: Recorder) -> Worker:
    """One that works on one event at a time."""
    return Worker(service, handler, recorder, _inbox(settings, link, service), _pace(settings))


def seated_worker(settings: Settings, seat: Seat, handler: Handler, recorder: Recorder) -> Worker:
    """One that works on one event at a time, while its process has the seat of its service."""
    inbox = SeatedInbox(_inbox(settings, seat.link, seat.service), seat)
    return Worker(seat.service, handler, recorder, inbox, _pace(settings))


def _inbox(settings: Settings, link: Link, service: Reporter) -> BusInbox:
    return BusInbox(link, service, Watch(ack_wait=settings.ack_seconds))


def _pace(settings: Settings) -> Pace:
    return Pace(heartbeat=settings.ack_seconds / _BEATS)
