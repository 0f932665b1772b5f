"""Somebody else's agent, started as a command in the sandbox: the same contract and the same proof."""

import json
from typing import Any

import pytest

from amends.common.events import Failure, FixFailed, Judgement
from amends.common.policy import BudgetOverrides, Overrides
from amends.doubles.model import Asked, Breaks, Denies, Says, Uses, calls, text
from amends.doubles.model.double import MODEL
from amends.doubles.model.script import Step
from tests.support.asynchronous import asynchronous
from tests.support.commanding import Place, installed, one, report, verdict
from tests.support.fetching import RULES
from tests.support.fixing import edits, fixing, suggests, told
from tests.support.github import LINES
from tests.support.model import model_settings

CHANGED = LINES.replace("line 10\n", "line ten\n")
EDIT = edits("app.py", "line ten", "line X")
FIXED = text(report(one()))


# --- the contract ----------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_command_does_what_was_asked_for_and_reports_it(commanded: Place) -> None:
    commanded.double.says(EDIT, FIXED)
    fact = await commanded.prepared()
    assert commanded.changed == {"app.py": CHANGED.replace("line ten", "line X").encode()}
    assert verdict(fact) == (Judgement.FIXED, "")


@asynchronous
async def test_its_task_has_the_items_in_regions_and_the_rules_of_our_own_agent(commanded: Place) -> None:
    commanded.double.says(text(report(one("declined", (), "No."))))
    await commanded.prepared(checks=("true",), custom_prompt="Be brief.")
    task = commanded.heard()
    assert "bob: Better.\nWORDS " in task
    assert all(
        part in task for part in ("<<<TITLE ", "- `true`", "Be brief.", "AMENDS_REPORT", "less severe than medium")
    )


@asynchronous
async def test_every_turn_is_accounted_for_also_of_streams(commanded: Place) -> None:
    commanded.double.says(EDIT, FIXED)
    fact = await commanded.prepared()
    links = told(commanded.book, fact.transcript)
    assert (fact.usage.turns, fact.usage.tokens) == (2, sum(sum(link["tokens"].values()) for link in links[:2]))
    assert fact.usage.usd_micro > 0
    said = [message for link in links for message in link["said"]]
    assert [message.get("role", next(iter(message))) for message in said] == [
        *("system", "user", "assistant"), *("user", "assistant"), "command",
    ]  # fmt: skip
    assert said[4]["content"][0]["text"] == FIXED.blocks[0]


@pytest.mark.parametrize(
    "code",
    [
        "print('I am done:'); print(json.dumps(said))",
        "print('Done.\\n```json\\n' + json.dumps(said, indent=1) + '\\n```')",
        "print(json.dumps(said, indent=1))",
        "print('```json\\n' + json.dumps(said).replace('Because of', 'Because\\nof') + '\\n```\\n\\nTokens: 20.')",
    ],
)
@asynchronous
async def test_a_report_may_be_printed(commanded: Place, code: str) -> None:
    said = "said = {'items': [one('answered', 'Because of it.', kind='question')]}\n"
    judged, reason = verdict(await commanded.prepared(said + code))
    assert (judged, reason.replace("\n", " ")) == (Judgement.ANSWERED, "Because of it.")


@asynchronous
async def test_it_finds_a_home_a_placeholder_and_the_loopback_and_its_task_is_what_it_reads(commanded: Place) -> None:
    code = """
        names = "HOME", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "AMENDS_TASK"
        found = {name: os.environ[name] for name in names}
        open(os.environ["HOME"] + "/x", "w").close()
        found["same"] = sys.stdin.read() == open(os.environ["AMENDS_TASK"]).read()
        report(items=[one("declined", json.dumps(found))])
    """
    found = json.loads(verdict(await commanded.prepared(code))[1])
    assert found.pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    assert found == {
        "HOME": "/home/agent",
        "ANTHROPIC_API_KEY": "placeholder: amends adds the key outside",
        "ANTHROPIC_MODEL": "claude-double",
        "AMENDS_TASK": "/tmp/amends/task.md",
        "same": True,
    }


@asynchronous
async def test_nothing_to_be_done_before_a_human_decides_is_handed_over(commanded: Place) -> None:
    commanded.double.says(text(report(one("needs_human", (), "Which?", "needs_human"), overall="blocked")))
    assert verdict(await commanded.prepared()) == (Judgement.NEEDS_HUMAN, "Which?")


@pytest.mark.parametrize("overall", ["needs_human_input", "blocked"])
@asynchronous
async def test_items_that_one_decision_settles_are_told_together(commanded: Place, overall: str) -> None:
    commanded.scene.pull.review("carol", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Worse."}])
    asked = [one("needs_human", (), reason, "needs_human") for reason in ("1. up, 2. down", "see there")]
    asked[0]["beside"], asked[1]["item"] = ["item-2"], "item-2"
    commanded.double.says(text(report(*asked, overall=overall)))
    found = {verdict.item: verdict for verdict in (await commanded.prepared()).verdicts if "thread" in verdict.item}
    assert [verdict.reason for verdict in found.values()] == ["1. up, 2. down"] * 2
    assert [found[verdict.beside[0]].beside[0] for verdict in found.values()] == list(found)
    assert "names the options by number" in commanded.heard()


@asynchronous
async def test_what_is_less_severe_than_the_policy_wants_is_put_off(commanded: Place) -> None:
    commanded.double.says(text(report({**one("declined", (), "Too small."), "severity": "low"})))
    assert verdict(await commanded.prepared())[0] is Judgement.DEFERRED


# --- proof -----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_report_that_something_speaks_against_is_said_to_it_in_another_run(commanded: Place) -> None:
    commanded.double.says(
        calls(Uses("edit", {"path": "app.py", "old": "line ten", "new": "line X"})),
        text(report(one(hunks=("other.py",)))),
        FIXED,
    )
    await commanded.prepared()
    assert "there is no hunk other.py" in commanded.heard(2)
    assert "Your report was not accepted" in commanded.heard(2)


@asynchronous
async def test_a_check_that_the_change_breaks_is_said_to_it(commanded: Place) -> None:
    commanded.double.says(EDIT, FIXED, edits("app.py", "line X", "line Y"), FIXED)
    fact = await commanded.prepared(checks=("! grep -n 'line X' app.py",))
    assert "passes without your changes" in commanded.heard(2)
    assert [(one.before, one.after) for one in fact.checks] == [("skipped", "passed")]


@pytest.mark.parametrize(
    ("code", "reason", "detail"),
    [
        ("report(items=[])", Failure.MALFORMED, "missing: item-1"),
        ("report(items='all good')", Failure.MALFORMED, "items: Input should be"),
        ("report(items=[one('fixed', '', ['app.py'])])", Failure.POLICY, "there is no hunk app.py"),
        ("open('app.py', 'a').write('x\\n'); report(items=[one()])", Failure.POLICY, "belong to no item"),
        ("open(os.environ['AMENDS_REPORT'], 'w').write('{' * 9999)", Failure.MALFORMED, "left no report"),
        ("os.symlink('/etc/passwd', os.environ['AMENDS_REPORT'])", Failure.MALFORMED, "left no report"),
        ("sys.exit('I cannot log in')", Failure.MALFORMED, "ended with 1 and left no report: I cannot log in"),
        ("os.kill(os.getppid(), 9)", Failure.MALFORMED, "left no report"),
    ],
)
@asynchronous
async def test_a_report_that_lies_or_is_none_ends_the_attempt(
    commanded: Place, code: str, reason: Failure, detail: str
) -> None:
    fact = await commanded.failed(code)
    assert (fact.reason, detail in fact.detail) == (reason, True), fact.detail


@asynchronous
async def test_inv_27_a_protected_path_ends_the_attempt_with_the_list(commanded: Place) -> None:
    code = """
        os.makedirs(".github/workflows", exist_ok=True)
        open(".github/workflows/ci.yml", "w").write("on: push")
        report(items=[one("fixed", "", [".github/workflows/ci.yml"])])
    """
    fact = await commanded.failed(code)
    assert (fact.reason, ".github/workflows/ci.yml" in fact.detail) == (Failure.POLICY, True)


# --- when it cannot go on --------------------------------------------------------------------------------------------


@asynchronous
async def test_a_command_that_is_not_there_is_said_with_the_remedy_and_suggestions_go_on(commanded: Place) -> None:
    where: list[Any] = [{"path": "app.py", "line": 8, "body": suggests("line eight")}]
    commanded.scene.pull.review("bob", "changes_requested", "", where)
    known: dict[str, Any] = {"model": model_settings(commanded.double), "agent": {"command": "no-such-agent --yes"}}
    async with fixing(commanded.book, commanded.scene, commanded.folder, None, **known) as bench:
        fact = await bench.fixed()
        assert bench.files(fact).keys() == {"app.py"}
        means = bench.slot.means
        assert means.outside is not None
        assert "no 'no-such-agent' inside the sandbox" in await means.outside.trouble(means.sandbox)


@asynchronous
async def test_a_command_that_is_not_there_fails_what_needs_it(commanded: Place) -> None:
    known: dict[str, Any] = {"model": model_settings(commanded.double), "agent": {"command": "no-such-agent"}}
    async with fixing(commanded.book, commanded.scene, commanded.folder, None, **known) as bench:
        fact = await bench.fixed()
    assert isinstance(fact, FixFailed)
    assert (fact.reason, "sandbox.readable" in fact.detail) == (Failure.SANDBOX_UNAVAILABLE, True)


@pytest.mark.parametrize(
    ("always", "reason"),
    [
        (Denies(401, "authentication_error"), Failure.MODEL_AUTH),
        (Denies(429, "rate_limit_error", code="enforced_spend_limit_reached"), Failure.MODEL_SPEND),
        (Denies(400, "invalid_request_error", "Your credit balance is too low"), Failure.MODEL_SPEND),
        (Denies(404, "not_found_error"), Failure.MODEL_UNKNOWN),
        (Denies(429, "rate_limit_error", headers={"retry-after": "7"}), Failure.MODEL_OVERLOADED),
        (Denies(529, "overloaded_error"), Failure.MODEL_OVERLOADED),
        (Denies(500, "api_error"), Failure.MODEL_OVERLOADED),
        (Breaks(text("half"), after=3), Failure.MODEL_OVERLOADED),
        (Breaks(text("half"), after=3, kind="overloaded_error"), Failure.MODEL_OVERLOADED),
        (text("I will not.", "refusal"), Failure.REFUSED),
        (Denies(400, "invalid_request_error", "tools.0: no"), Failure.MALFORMED),
    ],
)
@asynchronous
async def test_rel_10_what_the_model_cannot_is_told_from_what_the_command_did_not(
    commanded: Place, always: Step, reason: Failure
) -> None:
    commanded.double.always = always
    fact = await commanded.failed()
    assert fact.reason is reason
    assert (fact.usage.usd_micro > 0) is not isinstance(always, Denies)  # nobody pays for an error


@asynchronous
async def test_rel_10_a_long_wait_is_handed_on(commanded: Place) -> None:
    commanded.double.always = Denies(429, "rate_limit_error", headers={"retry-after": "3600"})
    assert (await commanded.failed()).retry_after == 3600


@asynchronous
async def test_rel_10_a_command_that_asks_again_may_come_through(commanded: Place) -> None:
    code = """
        first = post(body(user("x")))[0], post(body(user("x")))[0]
        report(items=[one("declined", str(first))])
    """
    commanded.double.says(Denies(529, "overloaded_error"), text("Yes."))
    assert verdict(await commanded.prepared(code))[1] == "(529, 200)"


@pytest.mark.parametrize(
    "denied",
    [
        Denies(404, "not_found_error", "model: claude-other"),
        Denies(403, "permission_error", "not for you"),
        Denies(400, "invalid_request_error", "system: 'credit balance' and spend limit and billing"),
    ],
)
@asynchronous
async def test_an_agent_cannot_switch_the_installation_off_with_what_it_asks(commanded: Place, denied: Denies) -> None:
    asked = 'post({**body(user("x")), "model": "claude-other"})[0]'
    commanded.double.models = (MODEL, "claude-other")
    commanded.double.says(denied)
    fact = await commanded.prepared(f'report(items=[one("declined", str({asked}))])')
    assert verdict(fact)[1] == str(denied.status)


@asynchronous
async def test_a_pause_ends_the_run_before_the_next_request(commanded: Place) -> None:
    known = {"model": model_settings(commanded.double), **installed(commanded.folder)}
    async with fixing(commanded.book, commanded.scene, commanded.folder, None, RULES, **known) as bench:

        def paused(_: Asked) -> Says:
            bench.desk.rules(Overrides(enabled=False))
            return EDIT

        commanded.double.says(paused, FIXED)
        fact = await bench.fixed()
    assert isinstance(fact, FixFailed)
    assert (fact.reason, len(commanded.double.asked)) == (Failure.CANCELLED, 1)


@asynchronous
async def test_a_pause_ends_a_run_that_asks_for_nothing(commanded: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amends.fixer.commanded._LOOK", 0.05)
    known = {"model": model_settings(commanded.double), **installed(commanded.folder, HANGS)}
    async with fixing(commanded.book, commanded.scene, commanded.folder, None, RULES, **known) as bench:

        def paused(_: Asked) -> Says:
            bench.desk.rules(Overrides(enabled=False))
            return text("Yes.")

        commanded.double.says(paused)
        fact = await bench.fixed()
    assert isinstance(fact, FixFailed)
    assert (fact.reason, fact.usage.seconds < 30) == (Failure.CANCELLED, True)


HANGS = 'post(body(user("x")))\ntime.sleep(600)'


@asynchronous
async def test_time_is_a_limit(commanded: Place) -> None:
    commanded.double.says(text("Yes."))
    assert (await commanded.failed(HANGS, budget=BudgetOverrides(agent_seconds=3))).reason is Failure.LIMITS


@pytest.mark.parametrize(
    "budget", [BudgetOverrides(turns=3), BudgetOverrides(tokens=9_000), BudgetOverrides(run_usd=0.1)]
)
@asynchronous
async def test_rel_11_endless_turns_end_at_the_limit(commanded: Place, budget: BudgetOverrides) -> None:
    commanded.double.always = text("And then?")
    fact = await commanded.failed('while True: post(body(user("x" * 999)))', budget=budget)
    assert fact.reason is Failure.LIMITS
    assert 1 <= fact.usage.turns == len(commanded.double.asked) <= 60
    assert fact.usage.usd_micro <= 100_000
