"""The crash points in the source and the list of them are the same: a new one is tried without anybody's doing."""

import ast
from pathlib import Path

import amends.common.crash
from amends.common.crash import POINTS

ROOT = Path(__file__).parents[2]
SOURCES = [path for place in ("libs", "services") for path in sorted((ROOT / place).glob("*/src/**/*.py"))]


def passed_in(path: Path) -> list[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "crash_point"]
    return [name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)]


def test_every_point_of_the_source_is_listed_and_every_listed_one_is_in_the_source() -> None:
    assert {name for path in SOURCES for name in passed_in(path)} == set(POINTS)


def test_the_sources_are_those_that_run() -> None:
    assert Path(amends.common.crash.__file__).resolve() in SOURCES
