"""The log's writer: the only home of writing SQL.

    with writer.transaction() as tx:
        known = tx.known([(loop, key), ...])
        stored = tx.stored(names)
        tx.append(rows)
        tx.save(loops, timers, outstanding, claims, before)
        tx.advance(head)

Leaving the block commits; an exception rolls back, and nothing was written.
"""

from amends.evaluator.writer.failures import BlobMismatch, Duplicate, Occupied, OutOfOrder, is_connection_error
from amends.evaluator.writer.pouring import NotEmpty, is_empty, pour
from amends.evaluator.writer.transaction import Pair, Tx
from amends.evaluator.writer.writer import CHECKPOINT_SECONDS, Writer

__all__ = [
    "CHECKPOINT_SECONDS",
    "BlobMismatch",
    "Duplicate",
    "NotEmpty",
    "Occupied",
    "OutOfOrder",
    "Pair",
    "Tx",
    "Writer",
    "is_connection_error",
    "is_empty",
    "pour",
]
