"""The name of the code that folds and decides changes with what it does, not only with its version."""

from __future__ import annotations

from pkgutil import get_data

import pytest

from amends.evaluator import code


def test_of_one_version_each_code_has_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"+{code._digest()}" in code.CODE
    monkeypatch.setattr(code, "get_data", lambda package, file: (get_data(package, file) or b"") + b"# changed")
    assert f"+{code._digest()}" not in code.CODE


def test_all_modules_that_it_is_named_after_are_there() -> None:
    named = [(package, module) for package, modules in code._FOLDING.items() for module in modules]
    assert all(get_data(package, f"{module}.py") for package, module in named)
