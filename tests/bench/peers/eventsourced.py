# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: the eventsourcing library on SQLite. An aggregate for each loop, with the same events as ours has.

    python -m tests.bench.peers.eventsourced log.db events.jsonl

Written as its documentation writes applications: an event for each decorated method with the method's argument, its own
transcoder for dates, no snapshots and no cache. An event does to the aggregate what it does to a loop of ours, but for
all that takes thought.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from tests.bench.conversation import Measured, converse, stored

DATES = ("updated_at", "submitted_at")


class PullRequest(Aggregate):
    @event("Opened")
    def __init__(self, name: str) -> None:
        self.name = name
        self.phase = "resting"
        self.settled = self.finished = self.closed = ""
        self.n = self.k = self.used = self.told = 0
        self.opened, self.pull, self.rules, self.cycle = {}, {}, {}, {}
        self.reviews, self.items, self.verdicts, self.permissions, self.claims = {}, {}, {}, {}, {}
        self.history, self.asks = [], []

    @event("LoopOpened")
    def loop_opened(self, fact):
        self.opened = fact

    @event("PolicyChanged")
    def policy_changed(self, fact):
        self.rules = {**self.rules, **fact["values"]}

    @event("PrObserved")
    def pr_observed(self, fact):
        self.pull = fact

    @event("PrClosed")
    def pr_closed(self, fact):
        self.closed = "merged" if fact["merged"] else "closed"

    @event("ReviewRejected")
    def review_rejected(self, fact):
        author, review = fact["author"], fact["review"]
        self.reviews[review] = {"author": author, "verb": "rejected", "head": fact["head"], "at": fact["submitted_at"]}
        self.items[f"review/{review}"] = {"kind": "review", "author": author, "hints": {fact["node"]: fact["body"]}}

    @event("ReviewApproved")
    def review_approved(self, fact):
        approved = {"author": fact["author"], "verb": "approved", "head": fact["head"], "at": fact["submitted_at"]}
        self.reviews[fact["review"]] = approved

    @event("AuthorChecked")
    def author_checked(self, fact):
        self.permissions[fact["author"]["id"]] = fact["permission"]

    @event("CommentAdded")
    def comment_added(self, fact):
        id_, author = f"{fact['kind']}/{fact['root']}", fact["author"]
        item = self.items.setdefault(id_, {"kind": fact["kind"], "author": author, "hints": {}})
        item["hints"][fact["node"]] = (fact["body"], author["id"], fact["updated_at"])

    @event("TimerFired")
    def timer_fired(self, fact):
        self.settled = f"{fact['name']}/{fact['generation']}"

    @event("FixRequested")
    def fix_requested(self, fact):
        self.phase, self.n, self.k, self.cycle = "collecting", fact["n"], fact["k"], {"requested": fact}

    @event("CommentsFetched")
    def comments_fetched(self, fact):
        self.phase = "fixing"
        for item in fact["items"]:
            self.items[item["id"]] = {**item, "hints": {}}

    @event("FixStarted")
    def fix_started(self, fact):
        self.claims[f"{fact['n']}/{fact['k']}"] = {"holder": fact["holder"], "run": fact["run"], "live": True}

    @event("FixPrepared")
    def fix_prepared(self, fact):
        self.cycle["prepared"] = fact
        claim = self.claims[f"{fact['n']}/{fact['k']}"]
        claim["live"], claim["usage"] = False, fact["usage"]

    @event("PushRequested")
    def push_requested(self, fact):
        self.phase = "pushing"

    @event("FixPushed")
    def fix_pushed(self, fact):
        self.cycle["pushed"] = fact["sha"]

    @event("CycleFinished")
    def cycle_finished(self, fact):
        for verdict in fact["verdicts"]:
            self.verdicts[verdict["item"], verdict["version"]] = verdict["judgement"]
        self.phase, self.used = "resting", self.used + fact["used"]
        self.history.append((fact["n"], fact["outcome"], fact["reason"], fact["sha"]))
        self.asks.append("cycle.finished")

    @event("ResolveRequested")
    def resolve_requested(self, fact):
        self.asks.append("resolve.requested")

    @event("ResolveFinished")
    def resolve_finished(self, fact):
        for root in fact["roots"]:
            self.items[f"thread/{root}"]["resolved"] = True

    @event("ReviewRequested")
    def review_requested(self, fact):
        self.asks.append("review.requested")

    @event("Notified")
    def notified(self, fact):
        self.told += 1

    @event("LoopFinished")
    def loop_finished(self, fact):
        self.finished = fact["outcome"]


def fill(app: Application, path: str) -> list:
    pulls: dict[str, PullRequest] = {}
    for line in stored(path):
        said = json.loads(line)
        pull = pulls.get(said["loop"])
        if pull is None:
            pull = pulls[said["loop"]] = PullRequest(said["loop"])
        fact = {name: datetime.fromisoformat(value) if name in DATES else value for name, value in said["fact"].items()}
        getattr(pull, said["type"].replace(".", "_"))(fact)
    for pull in pulls.values():
        app.save(pull)
    return [pull.id for pull in pulls.values()]


def main(database: str, path: str) -> None:
    app = Application(env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": database})
    ids = fill(app, path)

    def rebuild() -> Measured:
        began, cpu = time.perf_counter(), time.process_time()
        events = sum(app.repository.get(id_).version - 1 for id_ in ids)  # `Opened` is its own, we have none
        return Measured(events, time.perf_counter() - began, time.process_time() - cpu)

    converse(rebuild)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
