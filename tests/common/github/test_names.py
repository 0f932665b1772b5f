"""Names that become part of commands and addresses."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amends.common.github.names import is_branch, is_login, is_repository

LETTERS = st.text(st.sampled_from("ab-./@{}~^:?*[\\ \t\x7f\u202e\u00e4"), min_size=1, max_size=6)


@given(LETTERS)
@settings(max_examples=60, deadline=None)
def test_inv_09_no_branch_passes_that_git_refuses(branch: str) -> None:
    if is_branch(branch):
        subprocess.run(["git", "check-ref-format", "--branch", branch], check=True, capture_output=True)


@pytest.mark.parametrize("branch", ["main", "feature/one", "a.b", "v1@2", "\u00e4", "x-", "dependabot/npm/a-1.2.3"])
def test_ordinary_branches_pass(branch: str) -> None:
    assert is_branch(branch)


@pytest.mark.parametrize("login", ["maria", "dependabot[bot]", "octo-cat", "emu_short", "1"])
def test_ordinary_logins_pass(login: str) -> None:
    assert is_login(login)


@pytest.mark.parametrize("login", ["", "-a", "a b", "a\n", "m\u0430ria", "a[bot]b", "@a", "a/b"])
def test_inv_09_others_do_not(login: str) -> None:
    assert not is_login(login)


@pytest.mark.parametrize("name", ["../x", "x/..", "./x", "a//b", "a", "a/b/", "a/b\n", "\u043eo/b"])
def test_inv_09_a_repository_is_owner_and_name(name: str) -> None:
    assert not is_repository(name)
    assert is_repository("octo/shop.js_2-x")
