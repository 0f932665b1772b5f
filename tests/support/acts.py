"""What people do on a forge: each act answers with the facts that webhooks would bring of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from amends.common.events import AnyFact, Author, Permission
from tests.support.facts import ANNA, EVE, MARIA, ROBOT, TOM, US
from tests.support.forge import CHECKS, Comment, Pull, Talk, Verb

T = TypeVar("T")
PEOPLE: tuple[Author, ...] = (MARIA, TOM, EVE, ROBOT, US, ANNA)
PERMISSIONS: dict[int, Permission] = {MARIA.id: "write", TOM.id: "maintain", ANNA.id: "admin", EVE.id: "read"}


class Choice:
    """Choices taken from one number; 0 always takes the first."""

    def __init__(self, number: int) -> None:
        self._number = number

    def of(self, things: Sequence[T]) -> T:
        self._number, index = divmod(self._number, len(things))
        return things[index]

    def rarely(self, times: int = 4) -> bool:
        return self.of(range(times)) == times - 1


def _reviews(pull: Pull, choice: Choice) -> list[AnyFact]:
    by = choice.of((MARIA, MARIA, TOM, EVE, ROBOT))
    verb: Verb = choice.of(("rejected", "rejected", "commented", "approved"))
    return pull.review(by, verb, threads=choice.of((1, 0, 2)), words=not choice.rarely())


def _finds(pull: Pull, choice: Choice) -> list[AnyFact]:
    return pull.findings(Author(id=0, login="outside", kind="token"), choice.of((1, 2, 0)))


def _dismisses(pull: Pull, choice: Choice) -> list[AnyFact]:
    formal = [review.id for review in pull.reviews.values() if review.verb != "commented"]
    return pull.dismiss(choice.of(formal)) if formal else []


def _replies(pull: Pull, choice: Choice) -> list[AnyFact]:
    threads = _threads(pull)
    return pull.reply(choice.of(threads), choice.of(PEOPLE)) if threads else []


def _starts_thread(pull: Pull, choice: Choice) -> list[AnyFact]:
    return pull.start_thread(choice.of(PEOPLE))


def _remarks(pull: Pull, choice: Choice) -> list[AnyFact]:
    return pull.remark(choice.of(PEOPLE))


def _edits(pull: Pull, choice: Choice) -> list[AnyFact]:
    living = _living(pull)
    return pull.edit(*choice.of(living)) if living else []


def _deletes(pull: Pull, choice: Choice) -> list[AnyFact]:
    living = [(talk, comment) for talk, comment in _living(pull) if talk.kind != "review"]
    return pull.delete(*choice.of(living)) if living else []


def _resolves(pull: Pull, choice: Choice) -> list[AnyFact]:
    threads = _threads(pull)
    return pull.resolve(choice.of(threads)) if threads else []


def _checks(pull: Pull, choice: Choice) -> list[AnyFact]:
    return pull.check(choice.of(CHECKS), passed=choice.rarely(2))


def _pushes(pull: Pull, _choice: Choice) -> list[AnyFact]:
    return pull.push()


def _drafts(pull: Pull, _choice: Choice) -> list[AnyFact]:
    return pull.toggle_draft()


def _access(pull: Pull, _choice: Choice) -> list[AnyFact]:
    return pull.change_access()


def _closes(pull: Pull, choice: Choice) -> list[AnyFact]:
    return pull.close("" if pull.closed else choice.of(("closed", "merged")))


def _threads(pull: Pull) -> list[Talk]:
    return [talk for talk in pull.talks.values() if talk.kind == "thread"]


def _living(pull: Pull) -> list[tuple[Talk, Comment]]:
    return [(talk, comment) for talk in pull.talks.values() for comment in talk.comments if not comment.gone]


Act = Callable[[Pull, Choice], list[AnyFact]]
TALKING: tuple[Act, ...] = (
    _reviews, _reviews, _reviews, _replies, _replies, _edits, _resolves, _starts_thread, _remarks, _deletes,
    _dismisses, _checks, _pushes,
)  # fmt: skip
ACTS: tuple[Act, ...] = (
    *TALKING,
    *TALKING,
    *TALKING,
    *TALKING,
    _finds,
    _finds,
    _drafts,
    _drafts,
    _closes,
    _access,
    _access,
)
