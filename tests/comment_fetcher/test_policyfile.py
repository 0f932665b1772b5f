"""A repository's own policy: what it sets, or what is wrong and in which line. Nothing of it runs, nothing explodes."""

import pytest

from amends.comment_fetcher.policyfile import MOST_BYTES, policy_seen
from amends.comment_fetcher.shapes import Blob
from amends.common.events import PolicyObserved
from amends.common.policy import Overrides

OID = "a" * 40


def seen(text: str) -> PolicyObserved:
    return policy_seen(Blob(oid=OID, byte_size=len(text), text=text))


def test_what_it_sets_is_observed() -> None:
    fact = seen("max_cycles: 1\nchecks:\n  - make test\nbudget: {usd: 3.5}\n")
    assert fact.values == Overrides.model_validate({"max_cycles": 1, "checks": ["make test"], "budget": {"usd": 3.5}})
    assert (fact.blob, fact.error, fact.line) == (OID, "", None)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("max_cycles: 1\nmax_cycle: 2\n", 2, "max_cycle: there is no such value; did you mean max_cycles?"),
        ("# hello\n\nbudget:\n  usd: lots\n", 4, "budget.usd"),
        ("checks:\n  - fine\n  - [no]\n", 3, "checks.1"),
        ("max_cycles: 1\nmax_cycles: 2\n", 1, "max_cycles is there twice"),
        ("repositories: [other/one]\n", 1, "only the installation"),
        ("max_cycles: [1\n", 2, "no YAML"),
        ("- a\n- b\n", 1, "settings by name"),
        ("a: &x [1]\nb: *x\n", 2, "aliases"),
        ("a: !!python/object/apply:os.system ['true']\n", 1, "not taken"),
        ("1: 2\n", 1, "a word"),
        ("custom_prompt: 2020-01-01\n", 1, "not taken"),
        ("[" * 5_000, 1, "too deep"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, words: str) -> None:
    fact = seen(text)
    assert words in fact.error
    assert (fact.values, fact.line) == (None, line)


def test_no_file_sets_nothing() -> None:
    assert policy_seen(None) == PolicyObserved(blob="", values=Overrides())
    assert seen("# nothing yet\n").values == Overrides()


@pytest.mark.parametrize("blob", [{"text": None}, {"byte_size": MOST_BYTES + 1, "text": "a: 1"}, {"is_binary": True}])
def test_what_is_no_text_or_too_much_is_an_error(blob: dict[str, object]) -> None:
    assert policy_seen(Blob.model_validate({"oid": OID, **blob})).error.startswith("a policy file is text")


def test_inv_20_a_secret_in_an_error_is_redacted() -> None:
    assert "ghp_" not in seen("ghp_0123456789abcdef0123456789abcdef0123: 1\n").error
