"""The event log: its tables and its reader. The only home of SQLAlchemy among the shared parts."""

from amends.common.log.engine import LogUnreachable
from amends.common.log.reader import BlobDamaged, Log
from amends.common.rows import ClaimRow, Head, LoopRow, OutstandingRow, ParkedRow, Stored, TimerRow

__all__ = [
    "BlobDamaged",
    "ClaimRow",
    "Head",
    "Log",
    "LogUnreachable",
    "LoopRow",
    "OutstandingRow",
    "ParkedRow",
    "Stored",
    "TimerRow",
]
