"""How GitHub says no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

DOCUMENTATION = "https://docs.github.com/rest"


class Refused(Exception):
    """GitHub refuses; `errors` are the details of a 422, `headers` what a limit adds."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Json | str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {message} {list(errors) or ''}".rstrip())
        self.status = status
        self.message = message
        self.errors = list(errors)
        self.headers = dict(headers or {})

    @property
    def body(self) -> Json:
        errors = {"errors": self.errors} if self.errors else {}
        return {"message": self.message, **errors, "documentation_url": DOCUMENTATION, "status": str(self.status)}

    @property
    def kind(self) -> str:
        """What GraphQL calls it."""
        kinds = {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 422: "UNPROCESSABLE"}
        return kinds.get(self.status, "INTERNAL")


def not_found() -> Refused:
    return Refused(404, "Not Found")


def forbidden(message: str = "Resource not accessible by integration") -> Refused:
    return Refused(403, message)


def invalid(*errors: Json | str, message: str = "Validation Failed") -> Refused:
    return Refused(422, message, errors)


def field_error(resource: str, field: str, code: str, message: str = "") -> Json:
    """One entry of a 422's `errors`."""
    said = {"message": message} if message else {}
    return {"resource": resource, "code": code, "field": field, **said}
