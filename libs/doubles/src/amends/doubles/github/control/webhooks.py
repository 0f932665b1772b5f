"""Webhooks as a test has them: where they go, what goes wrong on the way, what was delivered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from amends.doubles.github.control.apps import AppHandle
from amends.doubles.github.state.repositories import Hook
from amends.doubles.github.state.world import World
from amends.doubles.github.webhooks.disorder import Mishap
from amends.doubles.github.webhooks.post import Delivery, Post


@dataclass(frozen=True)
class Webhooks:
    world: World
    post: Post

    def to(self, url: str, secret: str, app: AppHandle | None = None, events: tuple[str, ...] = ("*",)) -> Hook:
        """Send events there: of an App's installations, or, without one, of every repository."""
        with self.world.lock:
            hook = Hook(self.world.ids.take("hook"), url, secret, self.world.clock.moment(), list(events))
            if app is None:
                self.world.hooks.append(hook)
            else:
                hook.app, app.of.hook = app.of, hook
        return hook

    @property
    def deliveries(self) -> list[Delivery]:
        return list(self.post.deliveries)

    def find(self, event: str, action: str | None = None) -> list[Delivery]:
        return [one for one in self.deliveries if one.event == event and action in {None, one.action}]

    def drop(self, event: str = "*", action: str = "*", times: int = 1) -> None:
        """The next ones never arrive; the list of deliveries shows them as failed."""
        self.post.disorder.add(Mishap(event, action, times, lose=True))

    def duplicate(self, event: str = "*", action: str = "*", *, copies: int = 1, new_ids: bool = False) -> None:
        """The next one arrives more than once, under its own delivery id or new ones."""
        self.post.disorder.add(Mishap(event, action, copies=copies, new_ids=new_ids))

    def delay(self, seconds: float, event: str = "*", action: str = "*", times: int = 1) -> None:
        self.post.disorder.add(Mishap(event, action, times, seconds=seconds))

    def add(self, mishap: Mishap) -> None:
        self.post.disorder.add(mishap)

    def hold(self) -> None:
        """Keep everything back; `release` lets it go."""
        self.post.hold()

    def release(self, seed: int | None = None, *, backwards: bool = False) -> None:
        self.post.release(seed, backwards=backwards)

    @contextmanager
    def reordered(self, seed: int) -> Iterator[None]:
        """What happens in this block is told in another order, the same for the same seed."""
        self.hold()
        try:
            yield
        finally:
            self.release(seed)

    def redeliver(self, delivery: Delivery) -> Delivery:
        """With the same delivery id."""
        return self.post.redeliver(delivery.id)

    def replay(self, delivery: Delivery) -> Delivery:
        """With another delivery id."""
        return self.post.replay(delivery)

    def wait(self, seconds: float = 10.0) -> None:
        """Until all that is not held back is delivered."""
        self.post.wait(seconds)
