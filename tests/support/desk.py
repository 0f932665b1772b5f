"""A recorder behind the bus, in a few lines."""

import asyncio

from amends.common.answers import Already, Answer, Followed, Go, Malformed, Recorded, Refused, Stop, Unavailable, parse
from amends.common.bus import wire
from amends.common.situation import Asked, Situation


class MemoryDesk:
    """A recorder of a few lines. `open` lets answers out; `most` is how many waited together."""

    def __init__(self) -> None:
        self.told: tuple[int, ...] = (1,)
        self.keys: list[str] = []
        self.services: set[str] = set()
        self.blobs: dict[tuple[str, int], wire.Chunk] = {}
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = self.most = 0

    async def report_raw(self, service: str, raw: bytes) -> Answer:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.open.wait()
        self.waiting -= 1
        self.services.add(service)
        try:
            key = parse(raw).fact.key
        except Malformed as malformed:
            return malformed.refused
        if key in self.keys:
            return Already(self.keys.index(key) + 1, parse(raw).fact)
        self.keys.append(key)
        return Recorded(len(self.keys))

    async def may(self, pos: int, run: str) -> Go | Stop | Unavailable:
        return Go() if run == "run-1" else Stop("superseded")

    async def requeue(self, asked: wire.Requeued) -> Answer:
        return Recorded(asked.parked or asked.pos or 0)

    async def followed(self) -> list[Followed]:
        return [Followed(full_name="octo/shop", repo=7, numbers=(42,))]

    async def asked(self, pos: int) -> Asked | None:
        return Asked(owed=pos in self.told, situation=Situation(loop="1-pr-7")) if pos < 100 else None

    async def put_chunk(self, chunk: wire.Chunk) -> Refused | Unavailable | None:
        self.blobs[chunk.sha, chunk.n] = chunk
        return None

    async def get_chunk(self, sha: str, n: int) -> wire.Chunk | None:
        return self.blobs.get((sha, n))
