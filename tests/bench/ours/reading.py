"""Contender: amends reads all feedback of a pull request, for the first time or with what it remembers.

python -m tests.bench.ours.reading '{"api": ...}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from pydantic import SecretStr

from amends.comment_fetcher.reading import Reader
from amends.common.github.client import Client
from amends.common.runner import run
from amends.common.sections import GitHub
from tests.bench.conversation import Measured, converse, measured

AT = json.loads(sys.argv[1])
WHOLE = (250, 40, 120)


async def main() -> None:
    """The client lives as long as the service: its connections and its token are there."""
    key = SecretStr(AT["pem"])
    settings = GitHub(api_url=AT["api"], graphql_url=AT["graphql"], app_id=AT["app"], private_key=key)
    loop = asyncio.get_running_loop()
    async with Client(settings) as client:
        reach = await client.repository(AT["repo"])
        reader = Reader()

        async def read() -> float:
            began = time.perf_counter()
            shown = await reader.read(reach, AT["number"])
            took = time.perf_counter() - began
            found = (sum(len(thread.said) for thread in shown.threads), len(shown.reviews), len(shown.talk))
            assert found == WHOLE, found
            return took

        async def work(times: int, first: bool) -> Measured:
            began, cpu, took = time.perf_counter(), time.process_time(), []
            for _ in range(times):
                if first:
                    reader.forget()
                took.append(await read())
            return measured(time.perf_counter() - began, time.process_time() - cpu, took)

        def answer(times: int, *, first: bool = True) -> Measured:
            return asyncio.run_coroutine_threadsafe(work(times, first), loop).result()

        await read()
        await asyncio.to_thread(converse, answer)


if __name__ == "__main__":
    run(main())
