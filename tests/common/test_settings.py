"""Settings: the environment wins over the file, a mistake is named with its field and its source, a secret never."""

from __future__ import annotations

from pathlib import Path

import pytest

from amends.common.log.engine import database, sqlite_file
from amends.common.policy import BudgetOverrides
from amends.common.settings import Settings, SettingsError, read

FILE = """
data_dir = "/var/lib/amends"
nats_url = "nats://bus:4222"
replicas = 3

[policy]
repositories = ["octo/shop"]
max_cycles = 4

[policy.budget]
usd = 5.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "amends.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def wrong(file: Path, **environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(environ, file)
    return [line.strip() for line in str(caught.value).splitlines()][1:]


def test_without_anything_it_runs_on_this_machine_alone(tmp_path: Path) -> None:
    settings = read({}, tmp_path / "none.toml")
    assert settings.database == "sqlite:///.amends/amends.db"
    assert (settings.nats_as("gateway"), settings.ops_host, settings.ops_port) == ("", "127.0.0.1", 0)
    assert (settings.batch, settings.grace_seconds, settings.replicas) == (256, 60.0, 1)
    assert settings.holder


@pytest.mark.parametrize("name", ["data", "why?", "100%25 mine", "Schöne Daten #1", ""])
def test_the_log_is_in_the_data_directory_whatever_that_is_called(tmp_path: Path, name: str) -> None:
    settings = read({"AMENDS_DATA_DIR": name}, tmp_path / "none.toml")
    assert sqlite_file(database(settings.database)) == settings.data_dir / "amends.db"


def test_the_file_says_where_things_are(file: Path) -> None:
    settings = read({}, file)
    assert settings.database == "sqlite:////var/lib/amends/amends.db"
    assert (settings.nats_as("gateway"), settings.replicas) == ("nats://bus:4222", 3)
    assert settings.policy.repositories == ("octo/shop",)


def test_the_environment_wins_field_by_field(file: Path) -> None:
    environ = {"AMENDS_REPLICAS": "1", "AMENDS_POLICY_MAX_CYCLES": "2", "AMENDS_POLICY_BUDGET_TOKENS": "9"}
    settings = read(environ, file)
    assert (settings.replicas, settings.policy.max_cycles) == (1, 2)
    assert settings.policy.budget == BudgetOverrides(usd=5.0, tokens=9)


def test_a_list_in_the_environment_is_json_and_a_word_is_a_word(file: Path) -> None:
    environ = {"AMENDS_POLICY_REPOSITORIES": '["a/b", "c/d"]', "AMENDS_POLICY_REVIEWERS": "anyone"}
    policy = read(environ, file).policy
    assert (policy.repositories, policy.reviewers) == (("a/b", "c/d"), "anyone")


def test_a_list_that_is_not_json_is_told_how_to_be_one(file: Path) -> None:
    (complaint,) = wrong(file, AMENDS_POLICY_REPOSITORIES="octo/shop")
    assert complaint.startswith("policy.repositories (AMENDS_POLICY_REPOSITORIES): Input should be a list")
    assert complaint.endswith('as in ["one", "two"]')


def test_what_has_a_form_is_told_by_an_example(file: Path) -> None:
    file.write_text('nats_url = "bus"\n[github]\napi_url = "github.com"\n[policy]\nrepositories = ["shop"]\n')
    assert sorted(wrong(file)) == [
        f"github.api_url ({file}): Input should be an address, as in https://github.example.com/api/v3",
        f"nats_url ({file}): Input should be an address, as in nats://host:4222, or several with commas between them",
    ]
    assert wrong(file.with_name("none"), AMENDS_POLICY_REPOSITORIES='["shop"]') == [
        'policy.repositories (AMENDS_POLICY_REPOSITORIES): each is owner/repo, as in ["octo/shop"]'
    ]


def test_the_id_of_an_app_may_be_a_number(file: Path) -> None:
    file.write_text('[github]\napp_id = 123\nprivate_key = "x"\n', encoding="utf-8")
    assert read({}, file).github.app_id == "123"


def test_a_wrong_value_is_named_with_its_field_and_where_it_came_from(file: Path) -> None:
    file.write_text("replicas = 7\n[policy]\nmax_cycles = 0\n", encoding="utf-8")
    assert sorted(wrong(file, AMENDS_OPS_PORT="tcp://10.0.0.1:80")) == [
        "ops_port (AMENDS_OPS_PORT): Input should be a valid integer, unable to parse string as an integer",
        f"policy.max_cycles ({file}): Input should be greater than or equal to 1",
        f"replicas ({file}): Input should be less than or equal to 5",
    ]


@pytest.mark.parametrize("url", ["mysql://eva:s3cr3t@db/log", "log.db", "sqlite://", ""])
def test_what_keeps_no_log_is_told_what_does(file: Path, url: str) -> None:
    said = "the address of a log: sqlite:///path or postgresql://user:password@host/name"
    assert wrong(file, AMENDS_DATABASE=url) == [f"database (AMENDS_DATABASE): Input should be {said}"]


def test_an_unknown_key_is_named_with_the_nearest_known_one(file: Path) -> None:
    file.write_text("databse = 'x'\n[policy]\nmax_cylces = 1\n", encoding="utf-8")
    assert sorted(wrong(file, AMENDS_NATS_ULR="nats://x", AMENDS_COLOUR="blue")) == [
        "AMENDS_COLOUR (environment): there is no such setting; take it out",
        "AMENDS_NATS_ULR (environment): there is no such setting; did you mean AMENDS_NATS_URL?",
        f"databse ({file}): there is no such setting; did you mean database?",
        f"policy.max_cylces ({file}): there is no such setting; did you mean policy.max_cycles?",
    ]


def test_a_section_that_is_no_section_is_a_mistake_of_the_file(file: Path) -> None:
    file.write_text("policy = 7\n", encoding="utf-8")
    assert wrong(file, AMENDS_POLICY_MAX_CYCLES="2") == [
        f"policy ({file}): Input should be a valid dictionary or instance of Overrides"
    ]


@pytest.mark.parametrize(
    "name",
    ["AMENDS_CRASH_AT", "AMENDS_PORT", "AMENDS_EVALUATOR_SERVICE_HOST", "AMENDS_GATEWAY_PORT_8080_TCP_ADDR", "PATH"],
)
def test_variables_that_others_put_there_are_left_alone(file: Path, name: str) -> None:
    assert read({name: "tcp://10.0.0.1:8080"}, file).replicas == 3


@pytest.mark.parametrize("content", [b"replicas = ", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"amends\.toml cannot be read: "):
        read({}, file)


def test_credentials_get_into_every_address_and_into_nothing_that_is_shown(file: Path) -> None:
    environ = {
        "AMENDS_NATS_URL": "nats://a:4222,nats://b:4222", "AMENDS_NATS_USER": "eva", "AMENDS_NATS_PASSWORD": "s3:cr@t",
        "AMENDS_DATABASE": "postgresql://eva:hidden@db/amends",
    }  # fmt: skip
    settings = read(environ, file)
    assert settings.nats_as("evaluator") == "nats://eva:s3%3Acr%40t@a:4222,nats://eva:s3%3Acr%40t@b:4222"
    assert settings.secrets == ("s3:cr@t", "hidden")
    assert [secret for secret in settings.secrets if secret in f"{settings!r} {settings}"] == []


@pytest.mark.parametrize("host", ["bus:port", "bus:99999", "a:4222,nats://eva:s3cr3t@b:x", "[::1"])
def test_a_port_that_is_none_is_told_with_an_example(file: Path, host: str) -> None:
    [said] = wrong(file, AMENDS_NATS_URL=f"nats://eva:s3cr3t@{host}")
    assert ("nats_url (AMENDS_NATS_URL)" in said, "as in nats://host:4222" in said, "s3cr3t" in said) == (
        True,
        True,
        False,
    )


def test_a_password_is_a_secret_whatever_its_letters(file: Path) -> None:
    settings = read({"AMENDS_DATABASE": "postgresql://eva:hid[den?#@db/amends"}, file)
    assert settings.secrets == ("hid[den?#",)


def test_a_wrong_secret_is_not_repeated(file: Path) -> None:
    assert "s3cr3t" not in str(wrong(file, AMENDS_NATS_URL="http://eva:s3cr3t@a"))


def test_settings_do_not_change_while_the_process_runs() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().batch = 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("claude -p --model 'a b'", ("claude", "-p", "--model", "a b")),
        ('["claude", "-p"]', ("claude", "-p")),
        ("", ()),
    ],
)
def test_a_command_is_words_or_what_a_shell_would_read(file: Path, said: str, meant: tuple[str, ...]) -> None:
    assert read({"AMENDS_AGENT_COMMAND": said}, file).agent.command == meant


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("claude 'p", "No closing quotation: write it as a shell would read it, or as a list of words"),
        ('["claude", ""]', "String should have at least 1 character"),
        ("[1]", "Input should be a valid string"),
    ],
)
def test_a_command_that_cannot_be_read_says_how_to_write_it(file: Path, said: str, complaint: str) -> None:
    (line,) = wrong(file, AMENDS_AGENT_COMMAND=said)
    assert line.startswith("agent.command")
    assert complaint in line


def test_secrets_may_be_in_files(tmp_path: Path) -> None:
    for name in ("token", "model", "old", "new"):
        (tmp_path / name).write_text(f"secret {name}\n")
    environ = {
        "AMENDS_GITHUB_TOKEN_FILE": str(tmp_path / "token"),
        "AMENDS_MODEL_API_KEY_FILE": str(tmp_path / "model"),
        "AMENDS_GATEWAY_WEBHOOK_SECRET_FILES": f'["{tmp_path / "new"}", "{tmp_path / "old"}"]',
    }
    settings = read(environ, tmp_path / "none.toml")
    assert sorted(settings.secrets) == ["secret model", "secret new", "secret old", "secret token"]
    assert settings.github.known
    assert settings.model.known


def test_a_file_of_a_secret_that_is_not_there_is_named(tmp_path: Path) -> None:
    [line] = wrong(tmp_path / "none.toml", AMENDS_GITHUB_TOKEN_FILE=str(tmp_path / "gone"))
    assert "token_file" in line
    assert "No such file" in line


def test_a_secret_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a")
    given = {"AMENDS_GITHUB_TOKEN": "b", "AMENDS_GITHUB_TOKEN_FILE": str(tmp_path / "token")}
    assert "give token or token_file, not both" in wrong(tmp_path / "none.toml", **given)[0]


def test_each_service_has_a_user_of_its_own_where_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("gateway:a:b\nevaluator:c\n")
    environ = {"AMENDS_NATS_URL": "nats://bus:4222", "AMENDS_NATS_USERS_FILE": str(tmp_path / "users")}
    settings = read(environ, tmp_path / "none.toml")
    assert settings.nats_as("gateway") == "nats://gateway:a%3Ab@bus:4222"
    assert settings.nats_as("notifier") == "nats://bus:4222"
    assert set(settings.secrets) == {"a:b", "c"}


@pytest.mark.parametrize("text", ["gateway", None])
def test_a_file_of_users_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    if text:
        (tmp_path / "users").write_text(text)
    [line] = wrong(tmp_path / "none.toml", AMENDS_NATS_USERS_FILE=str(tmp_path / "users"))
    assert "nats_users_file" in line
