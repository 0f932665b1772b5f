"""Whether GitHub sent it: an HMAC over the raw bytes, compared in constant time, before anything reads them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable

_PIECE, _LARGE = 2_047, 256 * 1024
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
        matches = [hmac.compare_digest(_digest(secret, body), digest) for secret in self._secrets]
        return any(matches)


def _digest(secret: bytes, body: bytes) -> bytes:
    """The hexadecimal digest. In pieces for which hashlib keeps the interpreter's lock: another thread records, and to
    win the lock back from it takes ten times as long as to hash what GitHub usually sends.
    """
    if len(body) > _LARGE:
        return hmac.digest(secret, body, "sha256").hex().encode()
    signed, whole = hmac.new(secret, digestmod="sha256"), memoryview(body)
    for start in range(0, len(body), _PIECE):
        signed.update(whole[start : start + _PIECE])
    return signed.hexdigest().encode()
