"""The envelope of a delivery: its headers, and the signature over its very bytes."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import urlencode

from amends.doubles.github.refusal import Json
from amends.doubles.github.state.repositories import Hook

AGENT = "GitHub-Hookshot/7e1f0a3"


def encode(payload: Json) -> bytes:
    """Compact, in UTF-8; a lone surrogate can only be escaped."""
    try:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(payload, separators=(",", ":")).encode()


def body(hook: Hook, raw: bytes) -> bytes:
    return urlencode({"payload": raw.decode()}).encode() if hook.form else raw


def headers(hook: Hook, event: str, guid: str, sent: bytes) -> dict[str, str]:
    """The delivery id and the event's name are not covered by the signature."""
    kind = "integration" if hook.app is not None else "repository" if hook.repo is not None else "organization"
    target = hook.app.id if hook.app is not None else hook.repo.id if hook.repo is not None else hook.id
    said = {
        "User-Agent": AGENT,
        "Accept": "*/*",
        "Content-Type": "application/x-www-form-urlencoded" if hook.form else "application/json",
        "X-GitHub-Delivery": guid,
        "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": str(hook.id),
        "X-GitHub-Hook-Installation-Target-ID": str(target),
        "X-GitHub-Hook-Installation-Target-Type": kind,
    }
    return {**said, **signatures(hook.secret, sent)}


def signatures(secret: str, sent: bytes) -> dict[str, str]:
    """Without a secret GitHub does not sign."""
    if not secret:
        return {}
    key = secret.encode()
    return {
        "X-Hub-Signature": "sha1=" + hmac.new(key, sent, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(key, sent, hashlib.sha256).hexdigest(),
    }
