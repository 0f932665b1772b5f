# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: gidgethub, with `getiter` over the three lists, as bots written with it do. It learns no resolutions.

python -m tests.bench.peers.gidgethub_reading '{"api": ...}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from gidgethub import httpx as gidgethub_httpx

from tests.bench.conversation import converse, measured

AT = json.loads(sys.argv[1])
PULL = f"/repos/{AT['name']}/pulls/{AT['number']}"
LISTS = (
    f"{PULL}/comments?per_page=100",
    f"{PULL}/reviews?per_page=100",
    f"/repos/{AT['name']}/issues/{AT['number']}/comments?per_page=100",
)
HTTPX = gidgethub_httpx.httpx2 if hasattr(gidgethub_httpx, "httpx2") else gidgethub_httpx.httpx


async def main() -> None:
    loop = asyncio.get_running_loop()
    async with HTTPX.AsyncClient() as session:
        github = gidgethub_httpx.GitHubAPI(session, "bench", oauth_token=AT["token"], base_url=AT["api"])

        async def read() -> float:
            began = time.perf_counter()
            found = tuple([len([one async for one in github.getiter(address)]) for address in LISTS])
            assert found == (250, 40, 120), found
            return time.perf_counter() - began

        async def work(times: int):
            began, cpu = time.perf_counter(), time.process_time()
            took = [await read() for _ in range(times)]
            return measured(time.perf_counter() - began, time.process_time() - cpu, took)

        def answer(times: int, first: bool = True):
            return asyncio.run_coroutine_threadsafe(work(times), loop).result()

        await read()
        await asyncio.to_thread(converse, answer)


asyncio.run(main())
