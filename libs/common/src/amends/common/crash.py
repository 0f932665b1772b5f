"""Named points where a test may end the process as a power cut would: nothing is flushed, nothing is said.

`AMENDS_CRASH_AT=recorder.appended:3` ends it when that point is reached for the third time. Nobody else sets it.
"""

from __future__ import annotations

import os
from itertools import count

POINTS = (
    "recorder.received", "recorder.locked", "recorder.decided", "recorder.appended", "recorder.projected",
    "recorder.committed", "recorder.answered", "recorder.parked", "recorder.blob", "relay.read", "relay.published",
    "clock.due", "clock.fired",
)  # fmt: skip

_NAME, _, _NTH = os.environ.get("AMENDS_CRASH_AT", "").partition(":")
_PASSED = count(1)


def crash_point(name: str) -> None:
    """End here, if this is where a test wants the end."""
    if name == _NAME and next(_PASSED) >= int(_NTH or 1):
        os._exit(137)
