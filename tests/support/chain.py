"""A log in memory: real rows in a real hash chain, for tests of what only reads a log."""

from dataclasses import dataclass, field

from amends.common.envelope import GENESIS, Event, Row, row_of
from amends.common.events import AnyFact, CommandGiven, CommentsFetched, PushRequested

LOOP = "7-pr-1"
ANN = {"id": 1, "login": "ann"}


@dataclass(frozen=True)
class End:
    pos: int
    hash: bytes
    epoch: str


@dataclass
class Chain:
    """What a relay reads. `owed` is the projection of outstanding requests, set by hand."""

    epoch: str = "epoch-1"
    kept: list[Row] = field(default_factory=list)
    owed: dict[str, int] = field(default_factory=dict)

    def record(self, fact: AnyFact, loop: str = LOOP) -> Row:
        pos = len(self.kept) + 1
        version = 1 + sum(row.loop == loop for row in self.kept) if pos < 1_000 else pos
        event = Event(pos, loop, version, fact.key, 1_700_000_000_000_000 + pos, "gateway", "ann", None, "", fact)
        self.kept.append(row_of(event, self.kept[-1].hash if self.kept else GENESIS))
        return self.kept[-1]

    def grow(self, number: int, named: str = "c") -> None:
        """Commands, which say nothing to anybody here but the comment-fetcher."""
        for _ in range(number):
            self.record(command(f"{named}-{len(self.kept) + 1}"))

    def until(self, pos: int) -> "Chain":
        """An older copy of it, as from a backup."""
        return Chain(self.epoch, self.kept[:pos], dict(self.owed))

    def head(self) -> End:
        return End(len(self.kept), self.kept[-1].hash if self.kept else GENESIS, self.epoch)

    def rows(self, after: int, limit: int) -> list[Row]:
        return self.kept[after : after + limit]

    def row(self, pos: int) -> Row | None:
        return self.kept[pos - 1] if 0 < pos <= len(self.kept) else None

    def oldest_outstanding(self) -> dict[str, int]:
        return dict(self.owed)


def command(id_: str) -> CommandGiven:
    return CommandGiven.model_validate({"id": id_, "name": "help", "author": ANN})


def push(n: int) -> PushRequested:
    """Something the publisher reacts to."""
    return PushRequested(n=n, k=1, base="a" * 40, head_ref="topic", changes=(), prepared=1)


def fetched(n: int) -> CommentsFetched:
    """Something the fixer reacts to."""
    return CommentsFetched(n=n, k=1, head="a" * 40)
