"""How this machine reaches others: through which proxy, and whose certificates it believes. Its environment says both.

What is on the machine itself is never a matter for a proxy.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

_HERE = ("localhost", "127.0.0.1", "::1")


def proxy(url: str) -> str | None:
    """The proxy on the way to this address, if there is one."""
    said, host = _proxies(), urlsplit(url).hostname or ""
    near = host in _HERE or host.startswith("127.") or _is_one_of(host, said.get("no", ""))
    return None if near else said.get(urlsplit(url).scheme)


def for_git() -> dict[str, str]:
    """The same as git is told it, which hears of nothing else in the environment."""
    said = _proxies()
    ways = {f"{scheme}_proxy": said[scheme] for scheme in ("http", "https") if scheme in said}
    if ways:
        ways["no_proxy"] = ",".join(filter(None, (said.get("no"), *_HERE)))
    if file := os.environ.get("SSL_CERT_FILE"):
        return {**ways, "GIT_SSL_CAINFO": file}
    folder = os.environ.get("SSL_CERT_DIR")
    return {**ways, "GIT_SSL_CAPATH": folder} if folder else ways


def _proxies() -> dict[str, str]:
    """By scheme, those that speak HTTP; and under `no` for whom they are not."""
    said = getproxies_environment()
    return {what: way for what, way in said.items() if what == "no" or way.startswith(("http://", "https://"))}


def _is_one_of(host: str, names: str) -> bool:
    """Whether these are all, or one of them is the host or what its name ends with."""
    known = [name.strip().lstrip(".").lower() for name in names.split(",")]
    return "*" in known or any(name and f".{host}".endswith(f".{name}") for name in known)
