"""Secrets taken out of text: those this process knows, and whatever looks like one."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[redacted]"
SHORTEST = 4  # a shorter secret would take half of every text with it

# What is a secret wherever it stands. A pattern is tried only where one of its signs stands: most lines pay for a few
# substring searches and no more.
_CERTAIN: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"gh[pousr]_[A-Za-z0-9_.-]{16,}"), HIDDEN),
    (("github_pat_",), re.compile(r"github_pat_\w{16,}"), HIDDEN),
    (("eyJ",), re.compile(r"eyJ[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)?"), HIDDEN),
    (("sk-",), re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), HIDDEN),
    (("xox", "xapp-"), re.compile(r"\bx(ox[a-z]|app)-[A-Za-z0-9-]{10,}"), HIDDEN),
    (("hooks.slack.com/",), re.compile(r"hooks\.slack\.com/[\w/]+"), f"hooks.slack.com/{HIDDEN}"),
    (("AKIA", "ASIA"), re.compile(r"\bA[KS]IA[0-9A-Z]{16}\b"), HIDDEN),
    (
        ("ecret", "ECRET"),
        re.compile(r"(?i)(aws_?secret_?(?:access_?)?key[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9/+]{40}"),
        rf"\1{HIDDEN}",
    ),
    (
        ("PRIVATE KEY-----",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL),
        HIDDEN,
    ),
)
# What may be one: too much is hidden rather than too little.
_LIKELY: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("://",), re.compile(r"://[^\s/\"']+@"), f"://{HIDDEN}@"),
    (("earer ", "asic ", "oken "), re.compile(r"(?i)\b(bearer|basic|token) +[A-Za-z0-9._~+/=-]{16,}"), rf"\1 {HIDDEN}"),
)


class Redactor:
    """Knows the secrets of its process, in the forms in which they get into texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        self._known = sorted(known, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        for signs, pattern, instead in (*_CERTAIN, *_LIKELY):
            if any(sign in text for sign in signs):
                text = pattern.sub(instead, text)
        return text

    def finds(self, text: str) -> bool:
        """Whether a secret is in it, for certain: one of ours, or what cannot be anything else."""
        known = any(secret in text for secret in self._known)
        return known or any(
            pattern.search(text) for signs, pattern, _ in _CERTAIN if any(sign in text for sign in signs)
        )


def _forms(secret: str) -> set[str]:
    raw = secret.encode()
    plain = {secret, repr(secret)[1:-1], quote(secret, safe=""), b64encode(raw).decode(), raw.hex()}
    return plain | {json.dumps(form)[1:-1] for form in plain}
