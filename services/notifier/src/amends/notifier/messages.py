"""Every sentence that amends says to people, wherever it says it. Pure: what is known goes in, text comes out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from amends.common.events import (
    Author,
    CommandAccepted,
    CommandRefused,
    CycleFinished,
    Escalated,
    Judgement,
    LoopFinished,
    PolicyObserved,
    ReviewRequested,
    Verdict,
)
from amends.common.explain.handover import EFFECTS
from amends.common.explain.reasons import ENDINGS, OUTCOMES, UNHEARD_COMMANDS, escalation
from amends.common.gate.hunks import claimed
from amends.common.github.names import is_sha
from amends.common.situation import Accounted, Situation
from amends.common.standing import Status
from amends.notifier.words import Words, cut, mark, sealed

MOST = 50  # lines of a list
PATCH = 20_000  # letters of a patch
CARD = "card"
POLICY_FILE = ".github/amends.yml"
Told = CycleFinished | ReviewRequested | Escalated | LoopFinished


class Note(NamedTuple):
    """A comment, and the marker by which it is found."""

    mark: str
    body: str


class Turned(NamedTuple):
    """A reviewer who was to be asked again: what came of it, and which head he saw last."""

    login: str
    how: Literal["asked", "mention", "left_out"]
    seen: str = ""


class Label(NamedTuple):
    """A label of ours."""

    name: str
    color: str
    description: str


WORKING = Label("amends: working", "1d76db", "amends collects, fixes or pushes")
WAITING = Label("amends: waiting", "fbca04", "amends waits for a review, or is paused")
NEEDS_HUMAN = Label("amends: needs human", "d93f0b", "amends waits for a decision")
READY = Label("amends: ready", "0e8a16", "nothing is open: ready for human review")
LABELS = (WORKING, WAITING, NEEDS_HUMAN, READY)
_LABELS: dict[Status, Label | None] = {
    Status.WATCHING: None,
    Status.SETTLING: WORKING,
    Status.COLLECTING: WORKING,
    Status.FIXING: WORKING,
    Status.PUSHING: WORKING,
    Status.AWAITING_REVIEW: WAITING,
    Status.NEEDS_HUMAN: NEEDS_HUMAN,
    Status.PAUSED: WAITING,
    Status.DONE: None,
}
_STANDS: dict[Status, str] = {
    Status.WATCHING: "watching",
    Status.SETTLING: "feedback is coming in",
    Status.COLLECTING: "collecting feedback",
    Status.FIXING: "working on a fix",
    Status.PUSHING: "pushing a fix",
    Status.AWAITING_REVIEW: "waiting for review",
    Status.NEEDS_HUMAN: "needs a human",
    Status.PAUSED: "paused",
    Status.DONE: "done",
}
_DONE: dict[Judgement, str] = {
    Judgement.ANSWERED: "Answered; nothing had to change.",
    Judgement.DECLINED: "Not done.",
    Judgement.DEFERRED: "Put aside; `/amends retry` opens it again.",
    Judgement.NEEDS_HUMAN: "This needs your decision. Answer here, or say `/amends accept` to leave it as it is.",
}
_SHORT: dict[Judgement, str] = {
    Judgement.FIXED: "fixed",
    Judgement.ANSWERED: "answered",
    Judgement.DECLINED: "declined",
    Judgement.DEFERRED: "put aside",
    Judgement.NEEDS_HUMAN: "needs a decision",
    Judgement.SUPERSEDED: "superseded",
}


class Messages:
    """All texts about one loop as it stands."""

    def __init__(self, words: Words, situation: Situation) -> None:
        self._words = words
        self._now = situation

    # --- comments ----------------------------------------------------------------------------------------------------

    def reply(self, verdict: Verdict, sha: str) -> Note:
        """What was done about one item, in its own thread."""
        marker = mark(self._now.loop, f"reply/{verdict.item}/{verdict.version}")
        return Note(marker, sealed(marker, *self._verdict(verdict, sha)))

    def _verdict(self, verdict: Verdict, sha: str) -> Iterable[str]:
        if verdict.judgement is Judgement.FIXED:
            hunks = ", ".join(self._words.line(claimed(hunk).place) for hunk in verdict.hunks[:MOST])
            yield f"Fixed in {self._commit(sha)}" + (f": {hunks}." if hunks else ".")
        elif verdict.judgement is Judgement.NEEDS_HUMAN and verdict.beside:
            yield self._one_decision(verdict)
        else:
            yield _DONE.get(verdict.judgement, "")
        yield self._words.block(verdict.reason)

    def _one_decision(self, verdict: Verdict) -> str:
        """The card that stands in every thread of those who want opposite things: the same words in each."""
        items = sorted((verdict.item, *verdict.beside))
        head = "These ask for different things, and one decision settles them"
        tail = "Answer in one of them, with the number of an option or in your own words: that counts for all."
        return f"{_titled(head, [self._item(id_) for id_ in items[:MOST]], len(items))}\n\n{tail}"

    def summary(self, fact: CycleFinished, verdicts: Sequence[Verdict]) -> Note:
        """What was done about items that have no thread, or for which there was no room."""
        marker = mark(self._now.loop, _first(fact))
        head = f"Cycle {fact.n}: {OUTCOMES[fact.outcome]}" + (f" ({self._commit(fact.sha)})." if fact.sha else ".")
        lines = [self._summed(verdict) for verdict in verdicts[:MOST]]
        asks = any(verdict.judgement is Judgement.NEEDS_HUMAN for verdict in verdicts)
        tail = "What needs a decision is answered by a comment below." if asks else ""
        return Note(marker, sealed(marker, head, _listed(lines, len(verdicts)), tail))

    def _summed(self, verdict: Verdict) -> str:
        reason = self._words.line(verdict.reason, 500)
        return f"{self._item(verdict.item)}: {_SHORT[verdict.judgement]}" + (f". {reason}" if reason else "")

    def asked_again(self, fact: ReviewRequested, turned: Sequence[Turned]) -> Note:
        """Whom it is now up to, and what changed since each of them looked."""
        marker = mark(self._now.loop, _first(fact))
        head = f"Everything these reviewers raised has its answer as of {self._commit(fact.sha)}. Please look again:"
        return Note(marker, sealed(marker, head, _bullets([self._turned(one, fact.sha) for one in turned])))

    def _turned(self, one: Turned, sha: str) -> str:
        name = self._words.mention(one.login) if one.how == "mention" else self._words.called(one.login)
        refused = " (GitHub takes no request for a review from this account)" if one.how == "left_out" else ""
        since = self._compare(one.seen, sha)
        return f"{name}{refused}" + (f": {since}" if since else "")

    def escalated(self, fact: Escalated, patch: str = "") -> Note:
        """Why a human is needed, what was tried, what is open, and what he can say."""
        marker, meaning = mark(self._now.loop, _first(fact)), escalation(fact.reason)
        goes = "The loop waits." if fact.stops else "The rest goes on."
        head = f"**A human is needed** ({self._words.line(fact.reason)}): {meaning.means}. {goes}"
        left = [(id_, spot) for id_, spot in self._now.items.items() if spot.left]
        open_ = [f"{self._item(id_)} {spot.left}" for id_, spot in left[:MOST]]
        return Note(
            marker,
            sealed(
                marker, head, self._words.block(fact.detail), f"What to do: {meaning.remedy}.",
                _titled("What was tried", [self._words.line(line) for line in self._now.history[-MOST:]]),
                f"Spent so far: {self._cost()}.",
                _titled("What is open", open_, len(left)), self._commands(),
                _patched(self._words, self._now.loop, patch) if fact.patch else "",
            ),
        )  # fmt: skip

    def ready(self, fact: LoopFinished, turned: Sequence[Turned]) -> Note:
        """Nothing is open: a human may look at all of it."""
        marker = mark(self._now.loop, _first(fact))
        head = f"**Ready for human review** at {self._commit(self._now.head)}: {ENDINGS[fact.outcome]}."
        asked = [self._turned(one, self._now.head) for one in turned]
        return Note(marker, sealed(marker, head, _titled("Asked for a review", asked)))

    def refused(self, fact: CommandRefused, by: str) -> Note:
        """Why a command has no effect, and what would have one."""
        marker = mark(self._now.loop, fact.key)
        head = f"{self._words.called(by)}: `/amends {fact.name}` was not done: {UNHEARD_COMMANDS[fact.reason]}."
        return Note(marker, sealed(marker, head, self._commands()))

    def helped(self, fact: CommandAccepted, by: str) -> Note:
        """What somebody can say, and which word of his was none of it."""
        marker, unknown = mark(self._now.loop, fact.key), self._words.line(fact.text)
        head = f"{self._words.called(by)}: " + (f"{unknown} is not understood." if unknown else "as you ask.")
        every = [f"`/amends {name}` {effect}" for name, effect in EFFECTS.items()]
        return Note(
            marker, sealed(marker, head, self._commands(), _titled("All commands, at the start of a line", every))
        )

    def explained(self, fact: CommandAccepted, by: str, account: Accounted) -> Note:
        """Why it stands where it stands, what was done, and what was not and under which value."""
        now, marker = self._now, mark(self._now.loop, fact.key)
        head = f"{self._words.called(by)}: **{self._stands()}.** {self._words.line(now.why, 1_000)}"
        parts = (("What is missing", account.missing), ("Done", account.done), ("Not done", account.undone))
        return Note(
            marker,
            sealed(
                marker, head, f"Next: {self._words.line(now.next, 500)}",
                *(_titled(title, [self._words.line(line, 500) for line in lines]) for title, lines in parts),
            ),
        )  # fmt: skip

    def bad_policy(self, fact: PolicyObserved, key: str, loop: str) -> Note:
        """What is wrong in the repository's policy file, and in which line."""
        marker, line = mark(loop, key), f"line {fact.line}" if fact.line else ""
        head = f"**`{POLICY_FILE}` cannot be used.** {self._wrong(line, fact.error)}"
        tail = f"`amends policy validate {POLICY_FILE}` checks it before it is pushed."
        return Note(marker, sealed(marker, head, tail))

    def _wrong(self, place: str, error: str) -> str:
        said = self._words.line(": ".join(filter(None, (place, error))), 500)
        return f"{said}. The last good policy stays in force."

    def card(self) -> Note:
        """Where the loop stands, edited in place."""
        now, marker = self._now, mark(self._now.loop, CARD)
        number = now.used + now.running
        cycles = f" Cycle {number} of {now.allowed}." if number else ""
        counts = [(name, sum(one.judgement is name for one in now.items.values())) for name in Judgement]
        judged = ", ".join(f"{count} {_SHORT[name]}" for name, count in counts if count)
        unjudged = sum(one.left == "has no verdict yet" for one in now.items.values())
        left = f"{unjudged} {'not worked on' if now.finished else 'without a verdict'}" if unjudged else ""
        items = ", ".join(filter(None, (judged, left)))
        aside = [id_ for id_, one in now.items.items() if one.left == "was put aside"]
        asked = [id_ for id_, one in now.items.items() if one.left == "waits for an answer"]
        return Note(
            marker,
            sealed(
                marker, f"**amends: {self._stands()}.**{cycles}", self._words.line(now.why, 1_000),
                f"Next: {self._words.line(now.next, 500)}", f"Items: {items}." if items else "",
                f"Spent: {self._cost()}.",
                f"`{POLICY_FILE}`: {self._wrong('', now.policy_error)}" if now.policy_error else "",
                _titled("Waits for an answer", [self._item(id_) for id_ in asked[:MOST]], len(asked)),
                _titled("Put aside", [self._item(id_) for id_ in aside[:MOST]], len(aside)), self._commands(),
            ),
        )  # fmt: skip

    def _stands(self) -> str:
        return "waiting, fixing is off" if self._off() else _STANDS[self._now.status]

    def _off(self) -> bool:
        """Whether nobody works on it although it looks so: a push needs no model, all before it does."""
        return bool(self._now.fixing_off) and self._now.status in {Status.SETTLING, Status.COLLECTING, Status.FIXING}

    def label(self) -> Label | None:
        """The one label of ours that the pull request bears now."""
        if self._now.closed:
            return None
        if self._off():
            return WAITING
        return READY if self._now.finished in {"approved", "ready"} else _LABELS[self._now.status]

    # --- elsewhere ---------------------------------------------------------------------------------------------------

    def subject(self, fact: Told) -> str:
        """One line, for a mail's subject and the head of a chat message."""
        what = "is ready for human review"
        if isinstance(fact, Escalated):
            what = f"needs a human: {escalation(fact.reason).means}"
        return f"[amends] {self._name()} {what}"

    def plain(self, fact: Told) -> str:
        """The same as the comment, for a mail: nothing is rendered there."""
        return "\n\n".join(self._said(fact)) + "\n"

    def slack(self, fact: Told) -> str:
        """The same for Slack, where only `&`, `<` and `>` mean something; by its reference it is found again."""
        said = "\n\n".join([f"*{_mrkdwn(self.subject(fact))}*", *map(_mrkdwn, self._said(fact))])
        return f"{cut(said, 3_500)}\n\n_{self.reference(fact)}_"

    def reference(self, fact: Told) -> str:
        """By which a message in a chat is found again."""
        return mark(self._now.loop, _first(fact)).removeprefix("<!-- ").removesuffix(" -->")

    def _said(self, fact: Told) -> Iterable[str]:
        now = self._now
        yield " ".join(filter(None, (self._words.harmless(now.title, 200), self._address())))
        if isinstance(fact, Escalated):
            meaning = escalation(fact.reason)
            yield f"{fact.reason}: {meaning.means}. What to do: {meaning.remedy}."
            yield from filter(None, [self._words.harmless(fact.detail)])
            yield from _plainly("What was tried", [self._words.harmless(line, 200) for line in now.history[-MOST:]])
            open_ = [f"{self._words.harmless(spot.name, 200)} {spot.left}" for spot in now.items.values() if spot.left]
            yield from _plainly("What is open", open_[:MOST])
        if isinstance(fact, LoopFinished):
            yield f"{ENDINGS[fact.outcome]}."
        yield f"Spent so far: {self._cost()}."
        yield from _plainly(
            "What you can say in a comment", [f"{one.comment} ({one.effect})" for one in now.orders if one.comment]
        )

    def _name(self) -> str:
        name = " ".join(self._words.harmless(self._now.full_name, 200).split())
        return f"{name}#{self._now.number}" if self._now.number else f"the {self._now.kind}"

    def _address(self) -> str:
        return self._now.url if self._words.link("", self._now.url) else ""

    # --- parts -------------------------------------------------------------------------------------------------------

    def _commit(self, sha: str) -> str:
        short = f"`{sha[:7]}`" if is_sha(sha) else "the last push"
        return self._words.link(short, f"{self._words.site}/{self._now.full_name}/commit/{sha}") if sha else short

    def _compare(self, seen: str, sha: str) -> str:
        if not (is_sha(seen) and is_sha(sha)) or seen == sha:
            return ""
        url = f"{self._words.site}/{self._now.full_name}/compare/{seen}...{sha}"
        return self._words.link("what changed since your last review", url)

    def _item(self, id_: str) -> str:
        spot = self._now.items.get(id_)
        return self._words.link(self._words.line(spot.name), spot.url) if spot else self._words.line(id_)

    def _cost(self) -> str:
        spent = self._now.spent
        dollars = spent.usd_micro / 1_000_000
        return f"{dollars:.2f} of {self._now.budget_usd:.2f} dollars, {spent.turns} turns, {spent.tokens} tokens"

    def _commands(self) -> str:
        orders = [one for one in self._now.orders if one.comment]  # some are for the command line only
        return _titled("What you can say", [f"`{one.comment}` {one.effect}" for one in orders])


def _patched(words: Words, loop: str, patch: str) -> str:
    """The fix that could not be pushed, folded: as it is, or not at all, for half a patch is none."""
    how = f"`amends loops patch {loop} | git apply`"
    fence = "`" * max(4, 1 + max((len(run) for run in re.findall("`+", patch)), default=0))
    if not patch or len(patch) > PATCH or words.plain(patch, PATCH) != patch.strip():
        return f"The fix is kept: {how}"
    folded = f"<details><summary>The fix as a patch</summary>\n\n{fence}diff\n{patch.rstrip()}\n{fence}\n\n</details>"
    return f"The fix is kept: {how}\n\n{folded}"


def authors(turned: Iterable[Author]) -> list[Author]:
    """Those of them whom GitHub knows."""
    return [one for one in turned if one.kind in {"user", "bot"}]


def _first(fact: Told) -> str:
    return fact.model_copy(update={"again": 0}).key


def _titled(title: str, lines: Sequence[str], of: int = 0) -> str:
    return f"{title}:\n\n{_listed(lines, of or len(lines))}" if lines else ""


def _listed(lines: Sequence[str], of: int) -> str:
    more = [f"and {of - len(lines)} more"] if of > len(lines) else []
    return _bullets([*lines, *more])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _plainly(title: str, lines: Sequence[str]) -> Iterable[str]:
    if lines:
        yield "\n".join([f"{title}:", *(f"- {line}" for line in lines)])


def _mrkdwn(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
