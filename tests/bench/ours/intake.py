"""Contender: the gateway on its real route, with the evaluator's real recorder beside it, as in `amends up`.

python -m tests.bench.ours.intake sqlite:///log.db 8080
"""

from __future__ import annotations

import asyncio
import logging
import sys

from amends.common.answers import Report
from amends.common.events import PolicyChanged
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.runner import run
from amends.common.settings import Settings
from amends.evaluator.migrate import migrate
from amends.evaluator.recorder import LocalRecorder, Recorder
from amends.evaluator.writer import Writer
from amends.gateway import app
from tests.bench.deliveries import REPOSITORY, SECRET
from tests.bench.ours.tending import tended


async def main(url: str, port: int) -> None:
    """Serve until the process is killed."""
    logging.disable(logging.INFO)
    migrate(url)
    writer = Writer(url)
    recorder = Recorder(writer)
    recorder.start()
    recorder.open()
    listed = PolicyChanged(request="bench", values=Overrides(repositories=(REPOSITORY,)))
    await recorder.report("cli", Report(fact=listed))
    gateway = {"webhook_secrets": (SECRET,), "port": port}
    settings = Settings.model_validate({"database": url, "gateway": gateway})
    log = Log(url)
    async with tended(writer), app.serving(settings, LocalRecorder(recorder, app.SERVICE, log.blob)):
        print("{}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(main(sys.argv[1], int(sys.argv[2])))
