"""What `amends doctor` says of this machine and of the model."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from amends.cli import machine
from amends.common.policy import Overrides
from amends.common.sections import Model, Sandbox
from amends.common.settings import Settings
from amends.doubles.model import ModelDouble
from tests.support.model import model_settings


def settings(**sections: object) -> Settings:
    return Settings.model_validate({"policy": Overrides(), **sections})


def test_git_and_the_disk_are_looked_at(tmp_path: Path) -> None:
    assert machine.git().status in {"ok", "warn"}
    assert "GB free" in machine.disk(tmp_path / "not" / "there" / "yet").found


def test_a_sandbox_that_does_not_hold_is_told_with_a_remedy() -> None:
    found = machine.sandbox(settings(sandbox=Sandbox(bwrap=Path("/usr/bin/false"))))
    assert (found.status, bool(found.remedy)) == ("warn", True)


def test_a_model_that_takes_key_and_name_is_well() -> None:
    with ModelDouble() as double:
        assert machine.model(settings(model=model_settings(double))).status == "ok"
        assert double.asked == []


def test_a_wrong_key_a_wrong_name_and_a_wrong_address_are_told_apart() -> None:
    with ModelDouble() as double:
        wrong = [
            model_settings(double, api_key=SecretStr("no")),
            model_settings(double, name="gpt"),
            model_settings(double, base_url="http://127.0.0.1:1"),
        ]
        found = [machine.model(settings(model=one)) for one in wrong]
    assert [one.status for one in found] == ["fail"] * 3
    assert ["key" in found[0].remedy, "name" in found[1].remedy] == [True, True]
    assert len({one.remedy for one in found}) == 3


def test_without_a_key_only_suggestions_are_applied() -> None:
    assert machine.model(settings(model=Model())).status == "warn"
