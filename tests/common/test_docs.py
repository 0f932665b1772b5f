"""docs/events.md: complete, true to the code, and up to date."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from amends.common import events, policy
from amends.common.docs.__main__ import main
from amends.common.docs.forms import ENVELOPE, example
from amends.common.docs.meanings import MEANINGS, meaning
from amends.common.docs.page import key_pattern, page, type_name
from amends.common.envelope import FACTS
from amends.common.events import RESERVED, AnyFact, CommandRefused, Failure, Judgement
from amends.common.explain.reasons import JUDGEMENTS, UNHEARD_COMMANDS
from amends.common.identity import About
from tests.support.examples import EXAMPLES

PAGE = page()
FILE = Path(__file__).parents[2] / "docs" / "events.md"


def models() -> list[type[BaseModel]]:
    found = [*vars(events).values(), *vars(policy).values(), About]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, BaseModel)]


def test_the_page_in_the_repository_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == PAGE, "run ./taskw docs"


def test_every_field_has_a_meaning_and_every_meaning_a_field() -> None:
    named = {(cls.__name__, field) for cls in models() for field in cls.model_fields if field != "type"}
    used = {f"{model}.{field}" for model, field in named} | {field for _, field in named} | {"fact", "about", "actor"}
    assert [field for model, field in sorted(named) if not meaning(model, field)] == []
    assert set(MEANINGS) - used - {"cause", "Report.version"} == set()


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_key_s_pattern_gives_the_fact_s_real_key(fact: AnyFact) -> None:
    said = re.sub(r"<(\w+)>", lambda name: str(getattr(fact, name[1], "<number>")), key_pattern(type(fact)))
    assert said == (f"{fact.key}/<number>" if fact.slot else fact.key)


def test_every_fact_every_reason_and_every_reserved_name_is_on_the_page() -> None:
    sections = set(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE))
    assert set(FACTS) <= sections
    assert [code for code in (*Failure, *Judgement, *RESERVED) if f"`{code}`" not in PAGE] == []


def test_every_code_of_a_closed_list_has_its_words() -> None:
    assert set(UNHEARD_COMMANDS) == set(get_args(CommandRefused.model_fields["reason"].annotation))
    assert set(JUDGEMENTS) == set(Judgement)


def test_every_attribute_of_the_envelope_is_explained() -> None:
    assert list(example()) == list(ENVELOPE)
    assert json.dumps(example(), indent=2) in PAGE


def test_every_link_leads_somewhere() -> None:
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors


def test_every_table_has_as_many_cells_in_each_row() -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)
    assert len(tables) > 50
    assert [table for table in tables if len({row.count("|") for row in table.splitlines()}) != 1] == []


def test_the_names_that_never_change_are_bold() -> None:
    assert re.findall(r"\*\*\[`([a-z.]+)`\]", PAGE) == [
        "review.rejected", "comments.fetched", "fix.pushed", "review.requested", "escalated",
    ]  # fmt: skip


def test_it_writes_a_file_that_it_then_finds_up_to_date(tmp_path: Path) -> None:
    file = str(tmp_path / "docs" / "events.md")
    assert main(["--check", file]) == 1
    assert main([file]) == 0
    assert main(["--check", file]) == 0


def test_an_outdated_file_is_told_apart_with_the_lines_and_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "events.md"
    file.write_text(PAGE.replace("never change", "often change"), encoding="utf-8")
    command = [sys.executable, "-m", "amends.common.docs", "--check", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "-The names in bold often change.\n+The names in bold never change." in ended.stderr
    assert ended.stderr.endswith(f"{file} is not up to date: ./taskw docs\n")


@pytest.mark.parametrize("arguments", [[], ["--check"], ["a", "b"], ["--help"]])
def test_a_wrong_call_is_told_how_to_call(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == "usage: python -m amends.common.docs [--check] FILE\n"


def test_names_are_taken_from_the_classes() -> None:
    assert {type_name(type(fact)) for fact in EXAMPLES} == set(FACTS)
