"""From what was collected to a change set with a verdict for each item: suggestions first, then the agent.

What is nothing but a suggestion needs no model, no sandbox and no workspace. Where no agent can work, suggestions go on
without it, and what is left keeps no verdict.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from amends.common.delivery import pull_of
from amends.common.events import Author, Change, Check, Failure, FixPrepared, Judgement, Verdict
from amends.common.feedback import Feedback
from amends.common.gate import Altered, Objection, Rules
from amends.common.gate.hunks import claimed
from amends.common.git import Repository
from amends.fixer import inventory, suggestions
from amends.fixer.agent import Around, Run, Stopped, Wanted
from amends.fixer.attempt import Agent, Attempt, Means
from amends.fixer.brief import Setting, brief, named
from amends.fixer.commanded import Commanded
from amends.fixer.ledger import Ledger, Limits
from amends.fixer.proof import Checks, Proof, separated
from amends.fixer.sources import Source, base_branch, contents, requirements
from amends.fixer.tools import Toolbox
from amends.fixer.workspaces import Within, Workspace

_REPORT = "Leave your report when you are done."
_BESIDE = "its suggestion is applied already: see whether its words ask for more"


@dataclass(frozen=True)
class Plan:
    """What is done without thinking, and what is left for the agent. `hunks` belong to items already.

    `silent` are verdicts on items without a word, `taken` those on suggestions.
    """

    altered: tuple[Altered, ...] = ()
    silent: tuple[Verdict, ...] = ()
    taken: tuple[Verdict, ...] = ()
    beside: Mapping[str, Verdict] = field(default_factory=dict)
    rest: tuple[tuple[Feedback, str], ...] = ()
    hunks: frozenset[str] = frozenset()
    credits: tuple[Author, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return (*self.silent, *self.taken)


@dataclass(frozen=True)
class Done:
    """What came of it."""

    altered: tuple[Altered, ...]
    verdicts: tuple[Verdict, ...]
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Work:
    """An attempt on a source that was read."""

    attempt: Attempt
    repository: Repository
    of: Source

    @property
    def means(self) -> Means:
        return self.attempt.means

    @property
    def gate(self) -> Rules:
        """What may change at all."""
        rules = self.attempt.rules
        return Rules(rules.protected_paths, self.means.secrets, allowed=rules.allowed_paths)

    async def prepared(self, items: Sequence[Feedback]) -> FixPrepared:
        """The fix; raises Stopped."""
        files = await contents(self.repository, self.of.tree, {item.anchor.path for item in items if item.anchor})
        plan = self._planned(items, files)
        trouble = await self._trouble(plan)
        if trouble and not plan.taken:
            raise trouble
        if trouble:
            done = Done(plan.altered, plan.verdicts, tuple(Check(name=line) for line in self.attempt.rules.checks))
        elif plan.rest or (plan.altered and self.attempt.rules.checks):
            done = await self._in_a_workspace(plan, files)
        else:
            done = Done(plan.altered, plan.verdicts)
        return await self._fact(plan, done)

    # --- without thinking --------------------------------------------------------------------------------------------

    def _planned(self, items: Sequence[Feedback], files: Mapping[str, bytes]) -> Plan:
        silent, spoken = _silent(items)
        applied = suggestions.applied(files, spoken)
        tree = self.of.tree
        altered = [
            Altered(path, tree[path].mode, files[path], tree[path].mode, content)
            for path, content in sorted(applied.files.items())
        ]
        good, bad, against = separated(altered, self.gate)
        if against:
            raise Stopped(Failure.POLICY, "; ".join(map(str, against)))
        taken = [_handed_over(one, bad) for one in applied.verdicts]
        beside = {one.item: one for one in applied.beside if not _is_bad(one, bad)}
        taken += [_handed_over(one, bad) for one in applied.beside if one.item not in beside]
        rest = [(left.item, left.reason) for left in applied.left]
        if not self.means.thinks:
            taken += beside.values()
            beside = {}
        rest += [(item, _BESIDE) for item in spoken if item.item in beside]
        hunks = frozenset(hunk for one in (*taken, *beside.values()) for hunk in one.hunks)
        return Plan(good, tuple(silent), tuple(taken), beside, tuple(rest), hunks, applied.credits if good else ())

    async def _trouble(self, plan: Plan) -> Stopped | None:
        """Why what is left cannot be done here."""
        if not plan.rest and not (plan.altered and self.attempt.rules.checks):
            return None
        if said := await self.means.trouble():
            return Stopped(Failure.SANDBOX_UNAVAILABLE, said)
        if plan.rest and not self.means.thinks:
            return Stopped(Failure.MODEL_AUTH, "there is no model: set model.api_key")
        if plan.rest and self.means.outside and (said := await self.means.outside.trouble(self.means.sandbox)):
            return Stopped(Failure.SANDBOX_UNAVAILABLE, said)
        return None

    # --- with the files ----------------------------------------------------------------------------------------------

    async def _in_a_workspace(self, plan: Plan, files: Mapping[str, bytes]) -> Done:
        loop = self.attempt.event.loop
        missing = self.attempt.rules.worktree_missing
        async with self.means.workspaces.ready(loop, self.repository, self.of.base, missing) as workspace:
            self.attempt.notes = workspace.notes
            for one in plan.altered:
                inventory.put(workspace.path, one.path, one.mode or "100644", one.new or b"")
            lines = self.attempt.rules.checks
            checks = Checks(Within(workspace, self.means.sandbox), lines, self._on_the_base) if lines else None
            proof = Proof(workspace.path, workspace.changes, self.gate, checks, plan.hunks)
            said: Sequence[Verdict] = ()
            if plan.rest:
                said = await self._thought(workspace, plan, files, proof)
            if proof.accepted is not None:
                return Done(proof.accepted, (*plan.verdicts, *said), proof.checked.checks)
            checked = await proof.checked_in(workspace.path)
            if checked.against:
                raise Stopped(Failure.CHECKS_FAILED, checked.against)
            return Done(plan.altered, (*plan.verdicts, *said), checked.checks)

    async def _on_the_base(self, work: Callable[[Path], Awaitable[None]]) -> None:
        async with self.means.spare.ready(self.attempt.event.loop, self.repository, self.of.base) as workspace:
            await work(workspace.path)

    async def _thought(
        self, workspace: Workspace, plan: Plan, files: Mapping[str, bytes], proof: Proof
    ) -> Sequence[Verdict]:
        rules, budget = self.attempt.rules, self.attempt.rules.budget
        at = pull_of(self.attempt.event.loop)
        onto = await base_branch(self.means.access, self.repository, at, self.of) if self.means.requirements else None
        agreed, proposed = await requirements(self.repository, self.of, onto, self.means.requirements)
        begin = _REPORT if self.means.outside else Setting.begin
        setting = Setting(self.of.title, rules.custom_prompt, rules.checks, agreed, proposed, begin)
        told = brief(named(plan.rest), files, setting, secrets.token_hex(16))
        limits = Limits(budget.turns, budget.tokens, round(budget.run_usd * 1_000_000), budget.agent_seconds)
        wanted = Wanted(told.tasks, told.text, rules.severity_threshold)
        self.attempt.agent = agent = self._agent(wanted, Ledger(limits, self.attempt.record), workspace, proof)
        said = await agent.verdicts()
        return [_joined(one, plan.beside.get(one.item)) for one in said]

    def _agent(self, wanted: Wanted, ledger: Ledger, workspace: Workspace, proof: Proof) -> Agent:
        means, allowed = self.means, self.attempt.wanted
        sandbox = Within(workspace, means.sandbox)
        if means.outside is not None:
            return Commanded(means.outside, wanted, ledger, sandbox, workspace.path, proof.judge, allowed)
        if means.model is None:
            raise AssertionError("nobody thinks without a model")
        toolbox = Toolbox(sandbox, workspace.path)
        return Run(wanted, ledger, Around(means.model, toolbox, proof.judge, proof.shown, allowed))

    # --- what comes of it --------------------------------------------------------------------------------------------

    async def _fact(self, plan: Plan, done: Done) -> FixPrepared:
        attempt = self.attempt
        if not done.altered and not done.verdicts:
            raise Stopped(Failure.NO_CHANGE, "nothing was changed, and no item has a verdict")
        changes = [await self._change(one) for one in done.altered]
        return FixPrepared(
            n=attempt.fetched.n, k=attempt.fetched.k, run=attempt.run, base=self.of.base, changes=tuple(changes),
            verdicts=done.verdicts, checks=done.checks, usage=attempt.usage, transcript=await attempt.transcript(),
            credits=plan.credits, notes=attempt.notes,
        )  # fmt: skip

    async def _change(self, one: Altered) -> Change:
        blob = None if one.new is None else await self.means.recorder.put(one.new)
        before = None if one.old is None else sha256(one.old).hexdigest()
        mode = "100755" if (one.mode or one.old_mode) == "100755" else "100644"
        return Change.model_validate({"path": one.path, "mode": mode, "blob": blob, "before": before})


def _silent(items: Sequence[Feedback]) -> tuple[list[Verdict], list[Feedback]]:
    """Items without a word, like the review that only holds comments: they need no thought, and get none."""
    spoken = [item for item in items if any(one.text.strip() or one.suggestions for one in item.remarks)]
    told = Judgement.ANSWERED, "It says nothing beside the comments that were looked at."
    if not spoken:
        told = Judgement.NEEDS_HUMAN, "Changes are asked for, and nothing says which. What should be changed?"
    quiet = [
        Verdict(item=one.item, version=one.version, judgement=told[0], reason=told[1])
        for one in items
        if one not in spoken
    ]
    return quiet, spoken


def _is_bad(verdict: Verdict, bad: Mapping[str, Objection]) -> bool:
    return any(claimed(hunk).path in bad for hunk in verdict.hunks)


def _handed_over(verdict: Verdict, bad: Mapping[str, Objection]) -> Verdict:
    """The verdict, or, where nobody may touch the file, a question to a human."""
    against = [str(bad[claimed(hunk).path]) for hunk in verdict.hunks if claimed(hunk).path in bad]
    if not against:
        return verdict
    ways = "Should it be made by hand?"
    if all(bad[claimed(hunk).path].kind == "ask" for hunk in verdict.hunks if claimed(hunk).path in bad):
        ways = "Make it by hand, or let the installation's policy allow it (`allowed_paths`) and say retry?"
    reason = f"This suggestion was not taken over. {'; '.join(against)}. {ways}"
    return verdict.model_copy(update={"judgement": Judgement.NEEDS_HUMAN, "reason": reason, "hunks": ()})


def _joined(said: Verdict, suggested: Verdict | None) -> Verdict:
    """What became of an item whose suggestion was taken over anyway."""
    if suggested is None:
        return said
    hunks = tuple(dict.fromkeys((*suggested.hunks, *said.hunks)))
    return said.model_copy(update={"judgement": Judgement.FIXED, "hunks": hunks})
