"""What is not done about a change, and why: asked of `standing`, so that no two answers differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amends.common.envelope import Event
from amends.common.events import Author, CommentsFetched, CycleFinished, Judgement, LoopPaused, Verdict
from amends.common.explain.citing import Citing, login
from amends.common.explain.conditions import titled
from amends.common.explain.explanation import Deed
from amends.common.explain.reasons import escalation
from amends.common.loop import Item, Loop, Phase
from amends.common.policy import Policy, Severity
from amends.common.standing import counting, obstacles, questions, trusted, unchecked, window

_OBSTACLES = {"not enabled": ("enabled",), "opted out": ("opt_out_label",), "draft": ("drafts",)}
_LEFT_OUT = {
    "untrusted": "those who wrote them may not write to the repository, or are not among the reviewers",
    "bots": "bots that are not listed wrote them",
    "overflow": "there were more than fit",
}
_SEVERITIES = list(Severity)


@dataclass(frozen=True)
class Undone:
    """Looks at a loop as it stands."""

    loop: Loop
    policy: Policy
    citing: Citing

    def all(self, events: Sequence[Event]) -> Iterator[Deed]:
        """All that is not done, what matters most first."""
        yield from self._hindered()
        yield from self._unheard()
        yield from self._others_unheard(events)
        yield from self._not_begun()
        yield from self._put_aside(events)
        if self.citing.known.error:
            yield _not("the repository's policy file is not in force", self.citing.known.error, "the last good one is")

    def _hindered(self) -> Iterator[Deed]:
        for name, remedy in obstacles(self.loop, self.policy):
            under = self.citing.values(*_OBSTACLES.get(name, ()))
            yield _not("no cycle begins", f"{name}{self._who_paused(name)}: {remedy}", under)
        if self.loop.phase is Phase.STOPPED:
            meaning, under = escalation(self.loop.human), self.citing.limits(self.loop.human)
            yield _not("no cycle begins", f"a human is needed ({self.loop.human}): {meaning.means}", under)
        for id_, item in questions(self.loop, self.policy).items():
            yield _not(f"{titled(id_, item)} waits", "only a human can answer it", "")

    def _who_paused(self, name: str) -> str:
        place = self.loop.id if name == "paused" else "installation" if name == "killed" else ""
        last = [one for one in self.citing.at.values() if one.loop == place and isinstance(one.fact, LoopPaused)]
        return f" by {self.citing.by(max(last, key=lambda one: one.pos))}" if last else ""

    def _unheard(self) -> Iterator[Deed]:
        """Everybody who reviewed and whose word does not count, or does not yet."""
        for number, review in self.loop.reviews.items():
            if not review.verb or review.dismissed:
                continue
            counts = trusted(self.policy, review.author, review.permission)
            if counts is None and unchecked(review):
                why = "nobody has looked up yet what its author may do" + (" (late)" if review.overdue else "")
                yield _not(f"review {number} by {login(review.author)} does not count yet", why, self._trust())
            elif not counts and review.author.kind != "self":
                why = self._stranger(review.author, review.permission)
                yield _not(f"review {number} by {login(review.author)} does not count", why, self._trust())

    def _others_unheard(self, events: Sequence[Event]) -> Iterator[Deed]:
        for id_, item in self.loop.items.items():
            yield from self._item_unheard(id_, item)
        for key, command in self.loop.commands.items():
            if trusted(self.policy, command.author, command.permission) is None:
                why = "nobody has looked up yet what its author may do"
                yield _not(f"the command {command.name!r} ({key}) waits", why, self._trust())
        fetched = [event.fact for event in events if isinstance(event.fact, CommentsFetched)]
        for what, count in fetched[-1].left_out if fetched else ():
            if count and what != "own":
                yield _not(f"{count} comments were left out", _LEFT_OUT[what], self._trust())

    def _item_unheard(self, id_: str, item: Item) -> Iterator[Deed]:
        if id_.startswith(("review/", "finding/", "check/")):
            return
        authors = {hint.author.account: hint.author for hint in (*item.hints.values(), *item.asked.values())}
        for account_, author in authors.items():
            permission = self.loop.permissions.get(account_)
            stranger = author.kind == "user" and author.id in self.loop.strangers
            if author.kind not in {"ghost", "self"} and (stranger or trusted(self.policy, author, permission) is False):
                why = self._stranger(author, permission)
                yield _not(f"{id_}: what {login(author)} said does not count", why, self._trust())

    def _not_begun(self) -> Iterator[Deed]:
        counts = counting(self.loop, self.policy)
        for id_, item in counting(self.loop, self.policy, "all").items():
            if id_ not in counts:
                name = "checks" if item.kind == "check" else "comments"
                why = f"its author does not reject, and the triggers do not have {name!r}"
                yield _not(f"{titled(id_, item)} starts nothing", why, self.citing.values("triggers"))
        opening = window(self.loop, self.policy)
        if opening is not None and not opening.over(self.loop.settled):
            why = "more may follow: it has to be quiet for a while"
            yield _not("the next cycle has not begun yet", why, self.citing.values("settle_seconds"))

    def _put_aside(self, events: Sequence[Event]) -> Iterator[Deed]:
        verdicts: dict[str, Verdict] = {}
        for event in events:
            if isinstance(event.fact, CycleFinished):
                verdicts |= {verdict.item: verdict for verdict in event.fact.verdicts}
        for id_, item in self.loop.items.items():
            judgement, verdict = item.verdicts.get(item.version), verdicts.get(id_)
            if judgement not in {Judgement.DEFERRED, Judgement.DECLINED} or item.resolved:
                continue
            severity = verdict.severity if verdict and verdict.severity else item.severity
            minor = severity is not None and _rank(severity) > _rank(self.policy.severity_threshold)
            why = verdict.reason if verdict and verdict.version == item.version else "somebody said so"
            under = self.citing.values("severity_threshold") if minor else ""
            what = f"{titled(id_, item)} was {judgement}" + (f" ({severity})" if severity else "")
            yield _not(what, why or "no reason was given", under)

    def _trust(self) -> str:
        return self.citing.values("reviewers", "bots")

    def _stranger(self, author: Author, permission: str | None) -> str:
        if author.kind == "bot":
            return "it is a bot that is not listed"
        if author.kind == "ghost":
            return "the account is gone"
        listed = self.policy.reviewers
        if isinstance(listed, tuple) and author.id not in listed:
            return f"{login(author)} ({author.id}) is not among the reviewers"
        return f"{login(author)} may {permission or 'not write'} here, which is not enough"


def _not(what: str, why: str, under: str) -> Deed:
    return Deed(0, what, why, "", under)


def _rank(severity: Severity) -> int:
    return _SEVERITIES.index(severity)
