"""What it means to us when the Messages API answers with an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

from amends.common.events import Failure

_SPENT = re.compile(r"credit balance|spend|billing|usage limit", re.IGNORECASE)
_TOO_LONG = re.compile(r"prompt is too long|too many tokens|context", re.IGNORECASE)
_SECONDS = re.compile(r"\d+(\.\d+)?")
_REFUSALS = {401: Failure.MODEL_AUTH, 403: Failure.MODEL_AUTH, 404: Failure.MODEL_UNKNOWN, 413: Failure.LIMITS}
_PASSING = ("overloaded_error", "api_error", "timeout_error")


@dataclass(frozen=True)
class Fault:
    """An error as it was answered. Within a stream that began well the status is 200 and only the kind counts."""

    status: int
    kind: str = ""
    message: str = ""
    code: str = ""
    after: str = ""

    @property
    def said(self) -> str:
        return f"{self.status} {self.kind}: {self.message}"[:400]


@dataclass(frozen=True)
class Meaning:
    """Why there is no reply, whether asking again may help, and after how long."""

    reason: Failure
    passes: bool = False
    wait: float = 0.0


def meaning(fault: Fault) -> Meaning:
    """What it means."""
    wait = float(fault.after) if _SECONDS.fullmatch(fault.after) else 0.0
    if _is_spent(fault):
        return Meaning(Failure.MODEL_SPEND)
    if fault.kind in _PASSING or fault.status in (408, 409):
        return Meaning(Failure.MODEL_OVERLOADED, passes=True, wait=wait)
    if fault.status == HTTPStatus.TOO_MANY_REQUESTS:
        return Meaning(Failure.MODEL_OVERLOADED, passes=bool(fault.after), wait=wait)
    if fault.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Meaning(Failure.MODEL_OVERLOADED, passes=True, wait=wait)
    ours = Failure.LIMITS if _TOO_LONG.search(fault.said) else Failure.MALFORMED
    return Meaning(_REFUSALS.get(fault.status) or ours)


def _is_spent(fault: Fault) -> bool:
    return (
        fault.kind == "billing_error"
        or fault.status == HTTPStatus.PAYMENT_REQUIRED
        or fault.code == "enforced_spend_limit_reached"
        or bool(not fault.after and _SPENT.search(fault.said))
    )
