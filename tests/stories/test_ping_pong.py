"""Bots that answer whatever we say, for ever: the loop ends within its caps, and how much was done is printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from amends.common.events import CommandGiven, FixPushed, FixStarted
from amends.doubles.github.control.talk import CommentHandle, ThreadHandle
from amends.doubles.model import Asked, ModelDouble, Says
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fixing import reports, suggests, triages
from tests.support.github import Scene
from tests.support.stage import RULES, US, Stage, stage

BOT = "robot[bot]"
MOST_ROUNDS, MAX_CYCLES = 30, 2
QUOTA = "> [!WARNING]\n> ## Rate limit exceeded\n\n@amends has exceeded the limit for the number of reviews per hour."


def agrees(asked: Asked) -> Says:
    """A model that has an answer for everything, and changes nothing."""
    items = dict.fromkeys(re.findall(r"## (item-[0-9]+)", asked.words))
    if not any(block for block in asked.results()):
        return triages(**dict.fromkeys((name.replace("-", "_") for name in items), "question"))
    return reports(**dict.fromkeys((name.replace("-", "_") for name in items), "answered: It is as you say."))


@dataclass
class Robot:
    """Answers every comment of ours once, where it stands, and every push with a review."""

    scene: Scene
    says: Callable[[Robot, str], str]
    rejects: bool = False
    answered: set[int] = field(default_factory=set)
    heads: set[str] = field(default_factory=set)

    def _fresh(self) -> Iterator[tuple[CommentHandle, ThreadHandle | None]]:
        pull = self.scene.pull
        found: list[tuple[CommentHandle, ThreadHandle | None]] = [(one, None) for one in pull.conversation]
        found += [(one, thread) for thread in pull.threads for one in thread.comments]
        for comment, thread in found:
            if comment.author == US and comment.id not in self.answered:
                self.answered.add(comment.id)
                yield comment, thread

    def acts(self) -> int:
        """How much it had to say."""
        fresh = list(self._fresh())
        for comment, thread in fresh:
            words = self.says(self, comment.body)
            _ = thread.reply(words, BOT) if thread else self.scene.pull.say(BOT, words)
        head = self.scene.pull.head
        if self.rejects and head not in self.heads:
            self.heads.add(head)
            words = suggests(f"line of round {len(self.heads)}")
            self.scene.pull.review(BOT, "changes_requested", "", [{"path": "app.py", "line": 10, "body": words}])
            return len(fresh) + 1
        return len(fresh)


async def played(all_: Stage, robot: Robot) -> int:
    """They take turns until neither has anything to say; answers with how many rounds that took."""
    for number in range(1, MOST_ROUNDS + 1):
        spoke = robot.acts()
        await all_.goes()
        if not spoke:
            return number
    raise AssertionError(f"it goes on after {MOST_ROUNDS} rounds")


BOTS: dict[str, Callable[[Robot, str], str]] = {
    "answers every comment": lambda robot, _: f"Thank you, I am looking into it ({len(robot.answered)}).",
    "is over its quota": lambda robot, _: f"{QUOTA} ({len(robot.answered)})",
    "quotes us": lambda _, body: "\n".join(f"> {line}" for line in body.splitlines()),
    "repeats us with our marks": lambda _, body: body,
    "gives commands": lambda robot, _: f"/amends {('fix', 'retry', 'reset')[len(robot.answered) % 3]}",
}


@dataclass
class Play:
    """What a test of these takes."""

    scene: Scene
    book: Book
    folder: Path
    double: ModelDouble


@pytest.fixture
def play(scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble) -> Play:
    return Play(scene, sqlite_book, tmp_path, double)


def counted(all_: Stage, robot: Robot, rounds: int, asked: int) -> str:
    runs, pushes, words = len(all_.all(FixStarted)), len(all_.all(FixPushed)), len(all_.ours())
    return (
        f"{rounds} rounds, {len(robot.answered)} answers of its own, {runs} runs, {asked} calls of the model, "
        f"{pushes} pushes, {words} comments of ours, escalated {all_.escalations()}"
    )


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
@pytest.mark.parametrize("kind", BOTS)
@asynchronous
async def test_a_bot_that_has_a_word_for_everything_ends_within_the_caps(
    kind: str, listed: bool, play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, double = play.scene, play.double
    robot = Robot(scene, BOTS[kind], rejects=listed)
    bots = (scene.double.bot("robot").id,) if listed else ()
    rules = RULES.model_copy(update={"bots": bots, "triggers": ("comments",), "max_cycles": MAX_CYCLES})
    double.always = agrees
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 8, "body": "Why?"}])
    async with stage(play.book, scene, play.folder, double, rules) as all_:
        await all_.goes()
        rounds = await played(all_, robot)
        with capsys.disabled():
            name = f"{'listed' if listed else 'unlisted'} bot that {kind}"
            sys.stdout.write(f"\n{name}: {counted(all_, robot, rounds, len(double.asked))}")
        assert len(all_.all(FixStarted)) <= (MAX_CYCLES if listed else 1)
        assert len(all_.ours()) <= 8
        assert all_.escalations() in ([], ["max_cycles"])
        assert all_.all(CommandGiven) == []


@asynchronous
async def test_what_we_say_ourselves_starts_nothing_even_if_it_reads_like_a_command(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = RULES.model_copy(update={"triggers": ("comments",)})
    async with stage(play.book, play.scene, play.folder, play.double, rules) as all_:
        for words in ("/amends fix", "<!-- amends:x -->\n/amends reset", suggests("line X")):
            play.scene.pull.say(US, words)
        play.scene.pull.comment(US, suggests("line X"), path="app.py", line=8)
        await all_.goes()
        with capsys.disabled():
            sys.stdout.write(f"\nour own commands: {all_.runs()} runs, {len(all_.ours())} comments of ours")
        assert (all_.all(CommandGiven), all_.all(FixStarted), len(all_.ours())) == ([], [], 4)
