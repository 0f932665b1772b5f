"""Proxies and certificates, as the environment says them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from amends.common.outward import for_git, proxy

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PROXY = "http://proxy.corp.test:3128"


def environment(monkeypatch: pytest.MonkeyPatch, said: Mapping[str, str]) -> None:
    for name in (*_PROXIES, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)


SOCKS = "socks5://proxy.corp.test:1080"


@pytest.mark.parametrize(
    ("said", "url", "through"),
    [
        ({}, "https://api.github.com", None),
        ({"HTTPS_PROXY": PROXY}, "https://api.github.com", PROXY),
        ({"https_proxy": PROXY}, "http://github.corp.test/api/v3", None),
        ({"http_proxy": PROXY}, "http://github.corp.test/api/v3", PROXY),
        ({"https_proxy": PROXY, "no_proxy": "example.org, .corp.test"}, "https://github.corp.test/api/v3", None),
        ({"https_proxy": PROXY, "NO_PROXY": "*"}, "https://api.github.com", None),
        ({"http_proxy": PROXY}, "http://127.0.0.1:3000", None),
        ({"http_proxy": PROXY}, "http://[::1]:3000/api/v3", None),
        ({"http_proxy": PROXY}, "http://localhost:3000", None),
        ({"https_proxy": SOCKS}, "https://api.github.com", None),
    ],
)
def test_a_proxy_is_on_the_way_where_the_environment_puts_one(
    monkeypatch: pytest.MonkeyPatch, said: Mapping[str, str], url: str, through: str | None
) -> None:
    environment(monkeypatch, said)
    assert proxy(url) == through


def test_git_is_told_the_same_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, {"HTTPS_PROXY": PROXY, "NO_PROXY": ".corp.test", "SSL_CERT_FILE": "/ca.pem"})
    near = ".corp.test,localhost,127.0.0.1,::1"
    assert for_git() == {"https_proxy": PROXY, "no_proxy": near, "GIT_SSL_CAINFO": "/ca.pem"}


def test_git_is_told_nothing_where_there_is_nothing_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, {"http_proxy": SOCKS})
    assert for_git() == {}
