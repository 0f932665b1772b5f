"""The pure core can do no I/O: an allow-list, because a deny-list forgets. import-linter does the rest."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

PURE = [
    "amends.comment_fetcher.bots",
    "amends.comment_fetcher.bots.coderabbit",
    "amends.comment_fetcher.bots.copilot",
    "amends.comment_fetcher.bots.generic",
    "amends.comment_fetcher.bots.meaning",
    "amends.comment_fetcher.checks",
    "amends.comment_fetcher.documents",
    "amends.comment_fetcher.items",
    "amends.comment_fetcher.memory",
    "amends.comment_fetcher.policyfile",
    "amends.comment_fetcher.shapes",
    "amends.comment_fetcher.sighted",
    "amends.comment_fetcher.snapshot",
    "amends.comment_fetcher.strand",
    "amends.comment_fetcher.visible",
    "amends.common.answers",
    "amends.common.complaints",
    "amends.common.envelope",
    "amends.common.events",
    "amends.common.explain",
    "amends.common.explain.account",
    "amends.common.explain.citing",
    "amends.common.explain.conditions",
    "amends.common.explain.done",
    "amends.common.explain.explanation",
    "amends.common.explain.handover",
    "amends.common.explain.plain",
    "amends.common.explain.reasons",
    "amends.common.explain.text",
    "amends.common.explain.turns",
    "amends.common.explain.undone",
    "amends.common.explain.why",
    "amends.common.feedback",
    "amends.common.frozen",
    "amends.common.gate",
    "amends.common.gate.gate",
    "amends.common.gate.hunks",
    "amends.common.gate.paths",
    "amends.common.gate.tests",
    "amends.common.git.objects",
    "amends.common.git.trees",
    "amends.common.github.commands",
    "amends.common.github.models",
    "amends.common.github.names",
    "amends.common.github.sightings",
    "amends.common.github.text",
    "amends.common.identity",
    "amends.common.loop",
    "amends.common.policy",
    "amends.common.provenance",
    "amends.common.redaction",
    "amends.common.rows",
    "amends.common.situation",
    "amends.common.standing",
    "amends.common.state",
    "amends.common.upcast",
    "amends.evaluator.admission",
    "amends.evaluator.decider",
    "amends.evaluator.divergence",
    "amends.evaluator.invariants",
    "amends.evaluator.projections",
    "amends.evaluator.redecide",
    "amends.evaluator.replay",
    "amends.evaluator.verify",
    "amends.fixer.suggestions",
    "amends.fixer.brief",
    "amends.fixer.dialogue",
    "amends.fixer.prices",
    "amends.fixer.verdicts",
    "amends.gateway.access",
    "amends.gateway.asking",
    "amends.gateway.checks",
    "amends.gateway.found",
    "amends.gateway.observe",
    "amends.gateway.outside",
    "amends.gateway.payloads",
    "amends.gateway.pulls",
    "amends.gateway.signatures",
    "amends.notifier.messages",
    "amends.notifier.words",
    "amends.publisher.message",
]
STDLIB = [
    *["__future__", "base64", "bisect", "collections", "contextlib", "dataclasses", "datetime", "difflib", "enum"],
    *["functools"],
    *["gc", "hashlib", "hmac", "itertools", "json", "math", "operator", "re", "textwrap", "types", "typing"],
    *["unicodedata", "uuid"],
]
CALM = {*STDLIB, "html", "markdown_it", "pydantic", "pydantic_core", "yaml"}  # these parse text, and no more
CALM_PARTS = ("urllib.parse.",)
# What an allowed import, or none at all, still gives: the clock, randomness, the outside.
RESTLESS_NAMES = {"uuid1", "uuid4", "open", "print", "input", "eval", "exec", "__import__"}
RESTLESS_ATTRIBUTES = {"now", "today", "utcnow", "uuid1", "uuid4"}


def tree(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None, f"{module} is listed as pure and does not exist"
    assert spec.origin is not None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def imports(node: ast.AST) -> list[str]:
    """Full names, since `from a import b` may mean the module a.b. A relative one starts with a dot: never calm."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names]
    return []


def is_calm(name: str) -> bool:
    return (
        name.partition(".")[0] in CALM
        or name.startswith(CALM_PARTS)
        or any(f"{name}.".startswith(f"{pure}.") for pure in PURE)
    )


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_imports_only_what_cannot_do_io(module: str) -> None:
    named = {name for node in ast.walk(tree(module)) for name in imports(node)}
    assert {name for name in named if not is_calm(name)} == set()


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_awaits_nothing_and_has_no_clock_and_no_randomness(module: str) -> None:
    nodes = list(ast.walk(tree(module)))
    assert {node.id for node in nodes if isinstance(node, ast.Name)} & RESTLESS_NAMES == set()
    assert {node.attr for node in nodes if isinstance(node, ast.Attribute)} & RESTLESS_ATTRIBUTES == set()
    assert [node for node in nodes if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)] == []


SOURCES = sorted(Path(__file__).parents[1].glob("*/*/src/amends/**/*.py"))
# Whose processes are not git: the wall around commands, the nats-server, the process that holds the model's key.
GIT_HOME = "amends/common/git/"


def strings(node: ast.AST) -> list[str]:
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def starts(node: ast.AST) -> bool:
    """Whether it is a call that starts a process."""
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return name in {"run", "Popen", "check_output", "check_call", "call", "create_subprocess_exec", "execv", "execve"}


def test_git_has_one_home() -> None:
    """No other module of the product starts something called git; the double has a git of its own, as GitHub has."""
    outside = [path for path in SOURCES if GIT_HOME not in path.as_posix() and "amends/doubles/" not in path.as_posix()]
    guilty = [
        path.as_posix()
        for path in outside
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if starts(node) and any(said == "git" or said.endswith("/git") for said in strings(node))
    ]
    assert (len(outside) > 50, guilty) == (True, [])


def test_inv_09_no_shell_reads_a_command() -> None:
    shells = [
        path.as_posix()
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.keyword) and node.arg == "shell")
        or (isinstance(node, ast.Attribute) and node.attr in {"create_subprocess_shell", "getoutput", "popen"})
    ]
    assert shells == []
