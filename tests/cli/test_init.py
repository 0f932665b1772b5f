"""`amends init`: what was said is tried against the doubles and written down, and no secret with it."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from amends.common.settings import read
from amends.doubles.model import ModelDouble
from amends.doubles.model.double import KEY, MODEL
from tests.support.command import AMENDS, WHOLE, called, lines
from tests.support.github import Scene

WIDGET = ("--repository", "acme/widget")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to call it in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelDouble]:
    """A model that the environment leads to."""
    with ModelDouble() as double:
        monkeypatch.setenv("AMENDS_MODEL_BASE_URL", double.url)
        monkeypatch.setenv("AMENDS_MODEL_NAME", MODEL)
        yield double


def kept(place: Path, name: str, secret: str) -> str:
    (place / name).write_text(secret)
    return name


def init(scene: Scene, *arguments: str) -> Result:
    return called("init", "--api-url", scene.double.api_url, *arguments)


def statuses(result: Result) -> dict[str, str]:
    return {one["name"]: one["status"] for one in lines(result.stdout) if "name" in one}


def test_an_app_is_tried_and_written_down_without_a_secret(scene: Scene, place: Path, model: ModelDouble) -> None:
    pem, key = kept(place, "app.pem", scene.app.pem), kept(place, "key", KEY)
    app = ("--app-id", str(scene.app.id), "--private-key-file", pem)
    result = init(scene, *WIDGET, *app, "--model-key-file", key)
    found = statuses(result)
    assert (result.exit_code, found["permissions"], found["repository"], found["model"]) == (0, "ok", "ok", "ok")
    written = (place / "amends.toml").read_text()
    made = (place / ".amends/secrets/webhook-secret").read_text()
    assert not [one for one in (made, KEY, scene.app.pem.splitlines()[1]) if one in written]
    known = read({}, place / "amends.toml")
    assert [one.get_secret_value() for one in known.gateway.webhook_secrets] == [made]
    assert (known.policy.repositories, known.gateway.port, known.fetcher.mode) == (("acme/widget",), 8080, "webhooks")


def test_a_token_and_poll_mode_need_no_webhook(scene: Scene, place: Path) -> None:
    token = kept(place, "token", scene.double.token("octocat"))
    result = init(scene, *WIDGET, "--token-file", token, "--mode", "poll")
    assert (result.exit_code, statuses(result)["webhook"], statuses(result)["scopes"]) == (0, "ok", "ok")
    known = read({}, place / "amends.toml")
    assert (known.fetcher.mode, known.gateway.webhook_secrets, known.github.known) == ("poll", (), True)


def test_what_is_in_the_environment_stays_there(scene: Scene, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENDS_GITHUB_TOKEN", token := scene.double.token("octocat"))
    assert init(scene, *WIDGET, "--mode", "poll").exit_code == 0
    assert token not in (place / "amends.toml").read_text()


def test_without_a_terminal_what_is_missing_is_named(place: Path) -> None:
    result = called("init")
    assert (result.exit_code, (place / "amends.toml").exists()) == (2, False)
    assert "--repository" in result.output
    assert "--app-id with --private-key-file, or --token-file" in result.output


def test_what_does_not_work_yet_is_written_and_told_with_exit_code_1(scene: Scene, place: Path) -> None:
    token = kept(place, "token", scene.double.token("rita"))
    result = init(scene, *WIDGET, "--token-file", token, "--mode", "poll")
    assert (result.exit_code, statuses(result)["repository"]) == (1, "fail")
    assert (place / "amends.toml").exists()


def test_a_file_that_is_there_is_not_written_over(scene: Scene, place: Path) -> None:
    (place / "amends.toml").write_text("# mine\n")
    token = ("--token-file", kept(place, "token", scene.double.token("octocat")), "--mode", "poll")
    result = init(scene, *WIDGET, *token)
    assert (result.exit_code, "--force" in result.output) == (1, True)
    assert (place / "amends.toml").read_text() == "# mine\n"
    assert init(scene, *WIDGET, *token, "--force").exit_code == 0


def test_wrong_values_are_named_before_anything_is_written(scene: Scene, place: Path) -> None:
    token = kept(place, "token", scene.double.token("octocat"))
    result = called("init", *WIDGET, "--token-file", token, "--api-url", "github.example")
    assert (result.exit_code, "github.api_url" in result.output) == (2, True)
    assert [one.name for one in place.iterdir() if one.name.startswith("amends.toml")] == []


@pytest.mark.parametrize(
    ("flag", "url"), [("--database", "postgresql://a:secret@db/amends"), ("--nats", "nats://a:secret@bus:4222")]
)
def test_a_password_in_an_address_is_kept_out(scene: Scene, place: Path, flag: str, url: str) -> None:
    token = kept(place, "token", scene.double.token("octocat"))
    result = init(scene, *WIDGET, "--token-file", token, flag, url)
    assert (result.exit_code, "without its password" in result.output, "secret" in result.output) == (2, True, False)


def test_a_database_and_a_bus_that_do_not_answer_are_told(scene: Scene, place: Path) -> None:
    token = kept(place, "token", scene.double.token("octocat"))
    elsewhere = ("--database", "postgresql://a@127.0.0.1:1/a", "--nats", "nats://127.0.0.1:1")
    result = init(scene, *WIDGET, "--token-file", token, "--mode", "poll", *elsewhere)
    assert (result.exit_code, statuses(result)["database"], statuses(result)["nats"]) == (1, "fail", "fail")


def test_on_a_terminal_it_asks_and_keeps_what_is_typed_for_its_owner_alone(scene: Scene, place: Path) -> None:
    token = scene.double.token("octocat")
    where, who, how = ("", "", ""), ("acme/widget", "", token), ("n", "")
    said = typed(["init", "--api-url", scene.double.api_url], (*where, *who, *how), place)
    assert "amends.toml is written" in said
    assert token not in said
    file = place / ".amends/secrets/github-token"
    assert (file.read_text(), file.stat().st_mode & 0o777) == (token, 0o600)
    assert token not in (place / "amends.toml").read_text()


def test_on_a_terminal_it_offers_to_make_a_secret(scene: Scene, place: Path) -> None:
    pem = kept(place, "app.pem", scene.app.pem)
    where, who, how = ("data", "", ""), ("acme/widget", str(scene.app.id), pem), ("y", "", "")
    assert "(it was made now)" in typed(["init", "--api-url", scene.double.api_url], (*where, *who, *how), place)
    known = read({}, place / "amends.toml")
    assert known.gateway.webhook_secrets[0].get_secret_value() == (place / "data/secrets/webhook-secret").read_text()


def typed(arguments: Sequence[str], answers: Sequence[str], cwd: Path, **more: Any) -> str:
    """What a command says on a terminal, where each of its questions is answered in turn."""
    ours, its = pty.openpty()
    process = subprocess.Popen([AMENDS, *arguments], stdin=its, stdout=its, stderr=its, cwd=cwd, env=WHOLE, **more)
    os.close(its)
    said, left = b"", list(answers)
    with suppress(OSError):  # the terminal closes with the process
        while piece := os.read(ours, 65_536):
            said += piece
            if left and said.rstrip(b" ").endswith(b":") and said.endswith(b": "):
                os.write(ours, f"{left.pop(0)}\n".encode())
                said += b"\n"
    os.close(ours)
    assert process.wait(30) == 0, said.decode()
    return said.decode()
