# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: DBOS. A workflow for each pull request, a step for each report, as its documentation writes them.

python -m tests.bench.peers.dbos_steps postgresql://... reports.jsonl
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig

from tests.bench.conversation import Measured, converse, measured, stored

REPORTS = stored(sys.argv[2])
took: list[float] = []


@DBOS.step()
def record(report: str) -> str:
    return report


@DBOS.workflow()
def pull_request(until: float) -> None:
    for report in REPORTS:
        now = time.perf_counter()
        if now >= until:
            return
        record(report)
        took.append(time.perf_counter() - now)


def lane(until: float) -> None:
    while time.perf_counter() < until:
        DBOS.start_workflow(pull_request, until).get_result()


def run(lanes: int, seconds: float) -> Measured:
    took.clear()
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(lanes) as threads:
        list(threads.map(lane, [began + seconds] * lanes))
    return measured(time.perf_counter() - began, time.process_time() - cpu, took)


if __name__ == "__main__":
    config: DBOSConfig = {"name": "bench", "system_database_url": sys.argv[1], "log_level": "ERROR"}
    DBOS(config=config)
    DBOS.launch()
    converse(run)
    os._exit(0)
