"""INV-41 with `amends up`: who reads its directory may speak in a service's name, and nobody else."""

import asyncio
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from amends.common.answers import Recorded, Report, Unavailable
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import PrClosed
from amends.common.identity import About
from tests.support.asynchronous import asynchronous
from tests.support.command import called, nats_url
from tests.support.facts import at
from tests.support.nats import linked

pytestmark = pytest.mark.connected


def test_inv_41_only_the_owner_may_read_how_the_users_are_let_in(running: Path) -> None:
    modes = {name: stat.S_IMODE((running / name).stat().st_mode) for name in (".", "nats.url", "nats/nats.conf")}
    assert modes == {".": 0o700, "nats.url": 0o600, "nats/nats.conf": 0o600}


@asynchronous
async def test_inv_41_a_stranger_on_this_machine_is_not_let_in(running: Path) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(Link(f"nats://127.0.0.1:{port(running)}", "cli").open(), 0.3)


@asynchronous
async def test_inv_41_the_fixer_cannot_speak_for_the_gateway(running: Path) -> None:
    report = Report(fact=PrClosed(merged=True, updated_at=at(90)), about=About(repo=1, number=401))
    async with linked(nats_url(running, "fixer"), "fixer") as link:
        answer = await NatsRecorder(link, "gateway").report(report)
        assert isinstance(answer, Unavailable)
        assert 'permissions violation for publish to "report.gateway"' in answer.detail
    async with linked(nats_url(running, "gateway"), "gateway") as link:
        assert isinstance(await NatsRecorder(link, "gateway").report(report), Recorded)


def line(number: int) -> str:
    report = Report(fact=PrClosed(merged=True, updated_at=at(91)), about=About(repo=1, number=number))
    return report.model_dump_json(by_alias=True)


def port(data_dir: Path) -> int:
    return urlsplit(nats_url(data_dir, "cli")).port or 0


def test_words_that_are_no_address_are_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "nats.url").write_text("")
    result = called("report", "-", "--data-dir", str(tmp_path), given=line(1))
    assert (result.exit_code, "no evaluator runs" in result.output) == (3, True)
