"""Text from outside: whatever it was, what comes out can be stored, published, logged, put in argv and mailed."""

from __future__ import annotations

import json
import subprocess
import sys
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.answers import has_nul
from amends.common.events import CommandGiven
from amends.common.github.text import EMPTY, body_hash, clean, name, paired, visible
from tests.support.facts import MARIA

HOSTILE = st.text(st.characters(exclude_categories=()), max_size=200)
CANARY = "ghp_" + "a1B2" * 9


@given(HOSTILE)
def test_inv_05_what_passed_the_normaliser_is_taken_by_every_store(text: str) -> None:
    said = clean(text)
    fact = CommandGiven(id="1", name="refine", text=said, author=MARIA)
    assert not has_nul(fact.model_dump_json().encode())
    assert said.encode().decode() == said
    assert not any(letter < " " and letter not in "\t\n" for letter in said)


@given(HOSTILE)
def test_inv_05_what_passed_the_normaliser_can_be_mailed(text: str) -> None:
    message = EmailMessage()
    message.set_content(clean(text))
    message["Subject"] = name(text, 60)
    assert b"\0" not in message.as_bytes()


def test_inv_05_what_passed_the_normaliser_can_be_an_argument() -> None:
    hostile = "a\x00b\ud800c\x1b[31m\x9b\ufffe\r\nd\u2028\U0001f600"
    heard = subprocess.run(
        [sys.executable, "-c", "import sys; sys.stdout.buffer.write(sys.argv[1].encode())", clean(hostile)],
        capture_output=True, check=True,
    )  # fmt: skip
    assert heard.stdout.decode() == "abc[31m\nd\u2028\U0001f600"


@given(HOSTILE)
def test_doing_it_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert visible(visible(text)) == visible(text)
    assert name(name(text)) == name(text)


@pytest.mark.parametrize(
    "text",
    ["Stra\u00dfe", "\u4f60\u597d", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f468\u200d\U0001f469"],
)
def test_inv_14_words_of_any_language_stay(text: str) -> None:
    assert visible(clean(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "a<!-- hidden -->b", "a<!-- hidden", "a<!-\u200b- hidden -->b", "a\u200b\u2060\ufeffb", "a\u202eb\u202c",
        "a\U000e0041\U000e0042b", "a<!-<!-- x -->- hidden -->b",
    ],
)  # fmt: skip
def test_inv_14_what_nobody_sees_is_not_there(text: str) -> None:
    shown = visible(text)
    assert "hidden" not in shown or "<!--" not in shown
    assert shown.isascii()


@given(HOSTILE.map(lambda text: f"{text}<!-- {text} "))
def test_inv_14_no_comment_is_left_and_none_is_made(text: str) -> None:
    assert "<!--" not in visible(text)


@pytest.mark.parametrize("place", ["{}", "say {} and", "token={}\n", "https://maria:{}@host/"])
def test_inv_20_a_secret_in_a_text_is_taken_out(place: str) -> None:
    assert CANARY not in clean(place.format(CANARY))
    assert CANARY not in name(place.format(CANARY))


@pytest.mark.parametrize(
    "secret",
    [
        "ghs_" + "aB3.x-Y_" * 65, "github_pat_" + "a1B2_" * 16, "sk-ant-api03-" + "a-B_" * 20, "AKIA" + "A1B2" * 4,
        "ASIA" + "A1B2" * 4, "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NTYifQ.c2lnbmF0dXJlLW9mLWl0", "xoxb-12345-abcdefgh",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEow\nits end was cut off",
    ],
)  # fmt: skip
def test_inv_20_of_no_kind_of_secret_anything_is_left(secret: str) -> None:
    assert clean(f"look: {secret}") == "look: [redacted]"


def test_inv_20_an_aws_key_is_known_by_its_name() -> None:
    assert clean(f"aws_secret_access_key = {'aB3/' * 10}") == "aws_secret_access_key = [redacted]"


def test_one_text_has_one_hash_whatever_its_newlines() -> None:
    assert body_hash("one\r\ntwo") == body_hash("one\ntwo") != body_hash("one\n\ntwo")
    assert {body_hash(None), body_hash(""), body_hash(" \n")} == {EMPTY}


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_json_with_lone_surrogates_becomes_json_that_everybody_reads(text: str) -> None:
    mended = json.loads(paired(json.dumps([text, "\\ud800"]).encode()))
    assert mended[1] == "\\ud800"
    assert mended[0].encode() == mended[0].encode("utf-8", "strict")
    assert len(mended[0]) == len(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
