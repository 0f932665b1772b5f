"""Whether GitHub sent it: an HMAC over the raw bytes, compared in constant time, before anything reads them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable

_SIGNATURE = re.compile(rb"sha256=([0-9a-f]{64})")


def well_formed(header: bytes | None) -> bytes | None:
    """The hexadecimal digest that an `X-Hub-Signature-256` holds; None for whatever else it may be."""
    found = _SIGNATURE.fullmatch(header) if header is not None else None
    return found[1] if found else None


class Secrets:
    """The webhook's secrets: one, or two while it is being changed."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secret.encode() for secret in secrets if secret)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def signed(self, body: bytes, digest: bytes) -> bool:
        """Whether one of them signed this body. All are tried: how long it takes tells nothing."""
        matches = [
            hmac.compare_digest(hmac.digest(secret, body, "sha256").hex().encode(), digest) for secret in self._secrets
        ]
        return any(matches)
