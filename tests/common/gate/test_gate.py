"""What speaks against a change, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from amends.common.gate import Altered, Rules, examined, hunks, unclaimed
from amends.common.gate.paths import is_asked, is_hard, protected, unfit
from amends.common.gate.tests import weakened

ORDINARY = [
    "src/app.py", "README.md", "docs/actions.md", "github/workflows.py", "src/git.py", "lib/hooks.rb", "a b.txt",
    "tests/test_a.py", "Übersicht.md", "src/owners.py", ".gitignore", "src/lockfile.py", "packages/x/index.js",
    "日本語.py",
]  # fmt: skip


def altered(path: str, old: bytes | None, new: bytes | None) -> Altered:
    return Altered(path, old if old is None else "100644", old, new if new is None else "100644", new)


def kinds(*changes: Altered, rules: Rules | None = None, claims: list[str] | None = None) -> set[str]:
    return {objection.kind for objection in examined(changes, rules or Rules(), claims)}


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_may_change(path: str) -> None:
    assert kinds(altered(path, b"a\n", b"b\n")) == set()


@pytest.mark.parametrize(
    "path",
    ["a/.git/config", ".GIT/x", ".git./x", ".git /x", "GIT~1/x", "a//b", "./a", "a/../b", "/a", "a\\b", "a\nb",
     "a\u200db", "-a", ":(top)a", "a/con:x", "x" * 300, ".ｇｉｔ/config"],
)  # fmt: skip
def test_inv_25_such_a_path_is_written_by_nobody(path: str) -> None:
    assert unfit(path) != ""


@given(st.text(alphabet="gitGIT1a09~_.+-/: \\\n\u200d\uff47", min_size=1, max_size=12))
def test_inv_25_the_short_way_for_usual_paths_says_what_the_rules_say(path: str) -> None:
    assume(path[0] not in "-:")
    assert bool(unfit(path)) == bool(unfit(f"\u00fc/{path}"))  # no usual path, so that every rule is asked


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 5\n" % (b"a" * 64)


@pytest.mark.parametrize(
    ("old", "new"),
    [(POINTER, POINTER.replace(b"a", b"b")), (POINTER, b"12345"), (b"12345", POINTER), (None, POINTER), (POINTER, b"")],
)
def test_what_is_kept_with_git_lfs_is_not_changed(old: bytes | None, new: bytes) -> None:
    """The bytes that a pointer stands for would have to be sent somewhere else first."""
    assert kinds(altered("a.bin", old, new)) == {"lfs"}


def test_what_is_kept_with_git_lfs_may_go_and_may_be_written_about() -> None:
    assert kinds(altered("a.bin", POINTER, None), altered("b.md", b"x\n", b"See:\n" + POINTER)) == set()


def test_inv_27_hard_and_asked_are_told_apart() -> None:
    assert [is_hard(path) for path in (".github/workflows/a.yml", "pyproject.toml")] == [True, False]
    assert [is_asked(path) for path in (".github/workflows/a.yml", "sub/pyproject.toml")] == [False, True]


@pytest.mark.parametrize(
    ("pattern", "held", "free"),
    [
        ("**", ["a", "a/b"], []),
        ("*.sql", ["a.sql", "x/y.SQL"], ["a.sqlx"]),
        ("infra/", ["infra/a", "sub/infra/b"], ["infrastructure/a"]),
        ("/infra", ["infra/a"], ["sub/infra/a"]),
        ("src/*/gen.py", ["src/a/gen.py"], ["src/a/b/gen.py", "src/gen.py"]),
        ("src/**/gen.py", ["src/gen.py", "src/a/b/gen.py"], ["gen.py"]),
        ("a?.py", ["ab.py"], ["a.py", "a/.py"]),
        ("a+(b).py", ["a+(b).py"], ["aab.py"]),
    ],
)
def test_what_the_policy_protects(pattern: str, held: list[str], free: list[str]) -> None:
    assert [path for path in [*held, *free] if protected(path, [pattern])] == held


@pytest.mark.parametrize(
    "path",
    [".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", ".github/actions/x/action.yml", "CODEOWNERS",
     "docs/codeowners", ".gitattributes", "sub/.gitmodules", ".husky/pre-commit", ".pre-commit-config.yaml",
     "CLAUDE.md", "sub/AGENTS.md", ".claude/settings.json", ".cursorrules", ".vscode/tasks.json", ".npmrc",
     ".gitlab-ci.yml", "Jenkinsfile", "sub/.envrc", "package.json", "uv.lock", "Dockerfile", "conftest.py",
     "Makefile", "requirements-dev.txt", ".git/config", "sub/.GIT/hooks/x", "sub/git~1/x", "../outside",
     "/etc/passwd", "a\u202eb.py", "-x", "a\\b"],
)  # fmt: skip
def test_inv_27_no_fix_touches_this(path: str) -> None:
    assert kinds(altered(path, None, b"x\n")) & {"path", "hard", "ask"} != set()


@pytest.mark.parametrize("mode", ["120000", "160000", "000000", "100664"])
def test_inv_25_only_files_change(mode: str) -> None:
    assert kinds(Altered("a", None, None, mode, b"x")) == {"link"}
    assert kinds(Altered("a", "120000", None, "100644", b"x")) == {"link"}


def test_a_mode_without_bytes_is_no_change() -> None:
    assert kinds(Altered("a", None, None, "100644", None)) == {"mode"}


def test_inv_28_what_was_there_before_is_not_added() -> None:
    key = b"-----BEGIN RSA PRIVATE KEY-----\n"
    assert kinds(altered("a", key + b"a\n", key + b"b\n")) == set()
    assert kinds(altered("a", b"a\n", key + b"a\n")) == {"secret"}


def test_inv_28_ordinary_code_is_no_secret() -> None:
    code = b'token = authentication_middleware\nurl = "postgres://user:pass@localhost/test"\nheader = "Bearer {}"\n'
    assert kinds(altered("a", b"", code)) == set()


def test_inv_28_sizes_have_an_end() -> None:
    rules = Rules(files=1, lines=2, size=10)
    assert kinds(altered("a", b"", b"1\n2\n3\n"), rules=rules) == {"size"}
    assert kinds(altered("a", b"", b"x" * 11), rules=rules) == {"size"}
    assert kinds(altered("a", b"x" * 99, b""), rules=rules) == set()


# --- scope -----------------------------------------------------------------------------------------------------------

OLD = b"1\n2\n3\n4\n5\n"


@pytest.mark.parametrize(
    ("new", "claims", "strays"),
    [
        (b"1\nx\n3\n4\n5\n", ["a:2-2"], []),
        (b"1\nx\n3\n4\n5\n", ["a:3-3"], ["a:2-2"]),
        (b"1\nx\n3\n4\n5\n", ["b:2-2"], ["a:2-2"]),
        (b"1\nx\n3\n4\n5\n", ["a"], []),
        (b"1\nx\ny\n4\n5\n", ["a:2-2", "a:3-3"], []),
        (b"1\n2\nnew\n3\n4\n5\n", ["a:2-2"], []),
        (b"1\n2\nnew\n3\n4\n5\n", ["a:3-3"], []),
        (b"1\n2\nnew\n3\n4\n5\n", ["a:5-5"], ["a:3-2"]),
        (b"1\nx\n3\n4\ny\n", ["a:2-2"], ["a:5-5"]),
        (b"1\n2\n3\n4\n5", ["a:1-1"], ["a:6-6"]),
    ],
)
def test_every_hunk_belongs_to_somebody(new: bytes, claims: list[str], strays: list[str]) -> None:
    assert [hunk.name for hunk in unclaimed("a", OLD, new, claims)] == strays


def test_a_new_file_is_claimed_by_its_name_or_from_its_first_line() -> None:
    assert [unclaimed("a", None, b"x\n", claim) for claim in (["a"], ["a:1-9"])] == [(), ()]
    assert len(unclaimed("a", None, b"x\n", ["a:2-9"])) == 1


def test_a_deleted_file_is_claimed_whole() -> None:
    assert [len(unclaimed("a", OLD, None, claim)) for claim in (["a"], ["a:1-5"], ["a:1-4"])] == [0, 0, 1]


def test_a_difference_that_may_be_seen_in_two_places_is_claimed_in_either() -> None:
    old, new = b"x\nx\nx\nend\n", b"x\nx\nend\n"
    assert [unclaimed("a", old, new, [f"a:{line}-{line}"]) for line in (1, 2, 3)] == [(), (), ()]
    assert len(unclaimed("a", old, new, ["a:4-4"])) == 1


def test_large_files_are_compared_in_time() -> None:
    old = b"".join(b"%d\n" % (n % 97) for n in range(60_000))
    assert len(hunks("a", old, old.replace(b"\n13\n", b"\n14\n"))) == 1


# --- tests made weaker -----------------------------------------------------------------------------------------------

PYTEST = b"def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    with pytest.raises(ValueError):\n        f(0)\n"
JEST = b"it('a', () => { expect(f()).toBe(1) })\n"
GO = b"func TestA(t *testing.T) {\n t.Fatal()\n}\n"
JUNIT = b"@Test void a() { assertEquals(1, f()); }"
RUST = b"#[test]\nfn a() { assert_eq!(f(), 1); }"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", PYTEST, None),
        ("tests/test_a.py", PYTEST, PYTEST.replace(b"def test_b", b"def b")),
        ("tests/test_a.py", PYTEST, PYTEST.replace(b"assert f(1) == 2", b"f(1)")),
        ("tests/test_a.py", PYTEST, PYTEST.replace(b"assert f(1) == 2", b"assert True")),
        ("tests/test_a.py", PYTEST, b"@pytest.mark.skip\n" + PYTEST),
        ("tests/test_a.py", PYTEST, b"@pytest.mark.xfail\n" + PYTEST),
        ("src/a.test.ts", JEST, JEST.replace(b"it(", b"it.skip(")),
        ("a_test.go", GO, GO.replace(b"t.Fatal", b"t.Skip()\nt.Fatal")),
        ("src/FooTest.java", JUNIT, b"@Disabled " + JUNIT),
        ("tests/a.rs", RUST, RUST.replace(b"fn a", b"#[ignore]\nfn a")),
    ],
)  # fmt: skip
def test_a_weaker_test_is_noticed(path: str, old: bytes, new: bytes | None) -> None:
    assert weakened([(path, old, new)]) != ""
    assert kinds(altered(path, old, new)) == {"tests"}


@pytest.mark.parametrize(
    "changes",
    [
        [("tests/test_a.py", PYTEST, PYTEST + b"\n\ndef test_c():\n    assert f(3) == 4\n")],
        [("tests/test_a.py", PYTEST, PYTEST.replace(b"== 2", b"== 3"))],
        [("tests/test_a.py", PYTEST, None), ("tests/test_b.py", None, PYTEST)],
        [("src/app.py", b"assert x\nassert y\n", b"pass\n")],
    ],
)
def test_a_test_that_moved_or_grew_is_not_weaker(changes: list[tuple[str, bytes | None, bytes | None]]) -> None:
    assert weakened(changes) == ""


# --- what is made so that looking at it takes for ever ---------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\n" * 400_000, b"it.each\n" * 50_000, b"eyJ" * 150_000])
def test_inv_32_no_file_keeps_the_gate_busy_for_hours(content: bytes) -> None:
    assert kinds(altered("tests/test_a.py", b"", content)) <= {"size"}


def test_inv_32_lines_that_stand_there_again_and_again_are_not_compared_each_with_each() -> None:
    old, new = b"x\ny\n" * 1_900, b"y\nx\nx\n" * 1_300
    assert [one.name for one in hunks("a.txt", old, new)] == ["a.txt:1-3800"]


def test_inv_32_a_piece_that_nearly_stands_everywhere_is_looked_for_once() -> None:
    piece = b"x\n" * 200_000
    before, after = b"1\n" + piece + b"2\n" + piece, b"one\n" + piece + b"two\n" + piece
    assert unclaimed("a.txt", before, after, ["a.txt:1-1", "a.txt:200002-200002"]) == ()
    assert unclaimed("a.txt", before, after.replace(b"two\n", b"two\ny\n", 1) + b"y\n", ["a.txt:1-1"]) != ()
