"""INV-41, as a table: every user, and every subject that is not his. A real server refuses each.

The table is written by hand. What is here and not allowed is tried, and so is what is here and allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import product

import pytest
from nats.aio.msg import Msg

from amends.common.bus.client import SturdyClient
from amends.common.bus.consumers import DEFERRED, Consumers
from amends.common.bus.jetstream import ask
from amends.common.bus.link import Link, Unserved
from amends.common.bus.mirror import STREAM, Mirror
from amends.common.events import EVERYONE, REACTIONS, Reporter
from tests.support.asynchronous import asynchronous
from tests.support.chain import Chain, push
from tests.support.nats import NatsServer, linked, with_users

EVALUATOR = {"evaluator"}
OTHERS = {str(user) for user in EVERYONE} - EVALUATOR
API = "$JS.API"
NOBODY: set[str] = set()

_VERBS = ("DELETE", "PURGE", "UPDATE", "MSG.DELETE", "SNAPSHOT", "RESTORE", "LEADER.STEPDOWN", "PEER.REMOVE")
_OF_NOBODY = (
    *(f"{API}.STREAM.{verb}.{one}" for verb in _VERBS for one in (STREAM, DEFERRED)),
    *(f"{API}.STREAM.{what}" for what in ("CREATE.MINE", f"MSG.GET.{DEFERRED}", "NAMES", "LIST")),
    *(f"{API}.DIRECT.GET.{what}" for what in (STREAM, f"{STREAM}.events.7-pr-1.push.requested", DEFERRED)),
    *(f"{API}.{what}" for what in ("INFO", "META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.evaluator")),
    *(f"{API}.CONSUMER.{what}" for what in (f"NAMES.{STREAM}", f"LIST.{STREAM}", f"CREATE.{DEFERRED}.mine")),
    f"{API}.CONSUMER.MSG.NEXT.{STREAM}.mine",
    "$JS.EVENT.ADVISORY.x",
    "$SYS.REQ.SERVER.PING",
)
SAYS: Mapping[str, set[str]] = {
    "report.evaluator": NOBODY,
    **{f"report.{user}": {user} for user in OTHERS},
    "events.7-pr-1.fix.pushed": EVALUATOR,
    "ask.may": OTHERS | EVALUATOR,
    "ask.requeue": {"gateway", "cli"},
    "ask.followed": {"comment-fetcher"},
    "ask.situation": {"notifier"},
    "ask.anything": NOBODY,
    "blob.put": OTHERS,
    "blob.get": OTHERS,
    "reconcile.now": {"cli"},
    **{f"_INBOX.{user}.x": EVALUATOR if user == "evaluator" else NOBODY for user in EVERYONE},
    **dict.fromkeys(_OF_NOBODY, NOBODY),
    **{f"{API}.STREAM.{verb}.{one}": EVALUATOR for verb in ("INFO", "CREATE") for one in (STREAM, DEFERRED)},
    f"{API}.STREAM.MSG.GET.{STREAM}": EVALUATOR,
    # of each service's consumer
    **{
        f"{API}.CONSUMER.{verb}.{STREAM}.{one}": NOBODY
        for one in REACTIONS
        for verb in ("DELETE", "DURABLE.CREATE", "LEADER.STEPDOWN", "PAUSE", "RESET", "UNPIN")
    },
    **{f"{API}.CONSUMER.{verb}.{STREAM}.{one}": EVALUATOR for one in REACTIONS for verb in ("CREATE", "INFO")},
    **{f"{API}.CONSUMER.MSG.NEXT.{STREAM}.{one}": {str(one)} for one in REACTIONS},
    **{f"$JS.ACK.{STREAM}.{one}.1.1.1.1.0": {str(one)} for one in REACTIONS},
    **{f"consumer.{one}": {str(one)} for one in REACTIONS},
    **{f"deferred.{one}.1": {str(one)} for one in REACTIONS},
    **{f"{API}.DIRECT.GET.{DEFERRED}.deferred.{one}.1": {str(one)} for one in REACTIONS},
}

_UNHEARD = (
    *(
        ">",
        "*",
        "*.*",
        "*.*.*",
        "events.>",
        "events.7-pr-1.>",
        "events.*.fix.pushed",
        "deferred.>",
        "_INBOX.>",
        "_R_.>",
    ),
    *("$JS.>", "$JS.ACK.>", f"{API}.>", "$JS.EVENT.ADVISORY.>", "$SYS.>", "$SRV.>"),
)
HEARS: Mapping[str, set[str]] = {
    **dict.fromkeys(_UNHEARD, NOBODY),
    **dict.fromkeys(("report.*", "ask.*", "ask.may", "blob.*", "blob.put", "consumer.*"), EVALUATOR),
    **{f"report.{user}": EVALUATOR for user in EVERYONE},
    "reconcile.now": {"comment-fetcher"},
    **{f"_INBOX.{user}.>": {str(user)} for user in EVERYONE},
}

# Whoever asks nats-server for something says where the answer goes; it must not go where he may not.
ASTRAY = (
    f"{API}.STREAM.DELETE.{STREAM}",
    f"{API}.STREAM.PURGE.{DEFERRED}",
    f"{API}.STREAM.DELETE.{DEFERRED}",
    *(f"{API}.CONSUMER.DELETE.{STREAM}.{service}" for service in REACTIONS),
    "events.7-pr-1.push.requested",
    *(f"deferred.{service}.9" for service in REACTIONS),
    *(f"$JS.ACK.{STREAM}.{service}.1.1.1.1.0" for service in REACTIONS),
    *(f"report.{user}" for user in EVERYONE),
    "reconcile.now",
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with with_users(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@asynccontextmanager
async def mirror(server: NatsServer) -> AsyncIterator[Link]:
    """The evaluator's connection, to a mirror of three events that somebody owes an answer to."""
    chain = Chain()
    for n in (1, 2, 3):
        chain.record(push(n))
    async with linked(server.address("evaluator"), "evaluator") as link:
        if await Mirror(link).state() is None:
            await Mirror(link).create(1, chain.epoch)
            await Mirror(link).publish(chain.kept)
            await Consumers(link).ensure({}, 1)
        yield link


async def refused(server: NatsServer, user: str, act: str) -> set[str]:
    """Which subjects of the table the server does not let him use, in its own words."""
    said: list[str] = []

    async def heard(error: Exception) -> None:
        said.append(str(error))

    async def ignore(_: Msg) -> None: ...

    client = SturdyClient()
    await client.connect(server.address(user), error_cb=heard, inbox_prefix=f"_INBOX.{user}")
    for subject in SAYS if act == "publish" else HEARS:
        if act == "publish":
            await client.publish(subject, b"?")
        else:
            await client.subscribe(subject, queue="evaluators" if act == "queue" else "", cb=ignore)
    await client.flush()
    await client.close()
    quoted = {word.lower() for one in said if "permissions violation" in one.lower() for word in one.split('"')[1::2]}
    return {subject for subject in (*SAYS, *HEARS) if subject.lower() in quoted}


@pytest.mark.parametrize("user", EVERYONE)
@asynchronous
async def test_inv_41_a_user_can_say_what_is_his_and_nothing_else(guarded: NatsServer, user: Reporter) -> None:
    async with mirror(guarded):
        denied = await refused(guarded, user, "publish")
        assert denied == {subject for subject, allowed in SAYS.items() if user not in allowed}


@pytest.mark.parametrize("act", ["subscribe", "queue"])
@pytest.mark.parametrize("user", EVERYONE)
@asynchronous
async def test_inv_41_a_user_can_hear_what_is_his_and_nothing_else(
    guarded: NatsServer, user: Reporter, act: str
) -> None:
    denied = await refused(guarded, user, act)
    assert denied == {subject for subject, allowed in HEARS.items() if user not in allowed}


@pytest.mark.parametrize("user", sorted(OTHERS))
@asynchronous
async def test_inv_41_nobody_can_have_nats_server_do_what_he_may_not(guarded: NatsServer, user: Reporter) -> None:
    wire: list[str] = []

    async def overheard(message: Msg) -> None:
        wire.append(message.subject)

    async with mirror(guarded) as evaluator, linked(guarded.address(user), user) as link:
        await evaluator.subscribe("report.*", overheard)
        before = await standing(evaluator, user)
        for subject in (one for one, allowed in SAYS.items() if user in allowed and one != f"report.{user}"):
            for astray, payload in product(ASTRAY, (b"", b"{}", b"1")):
                await link.publish(subject, payload, reply=astray)
        with pytest.raises(Unserved):
            await link.request("ask.may")  # by then it has dealt with all of this
        await asyncio.sleep(0.1)  # in which a stream would go
        assert (await standing(evaluator, user), {*wire} - {f"report.{user}"}) == (before, set())


async def standing(link: Link, user: str) -> object:
    """The mirror, the consumers, and the notes of others."""
    state = await Mirror(link).state()
    notes = (await ask(link, f"STREAM.INFO.{DEFERRED}", subjects_filter=">"))["state"].get("subjects", {})
    others = {one: number for one, number in notes.items() if not one.startswith(f"deferred.{user}.")}
    return state, {**await Consumers(link).standing(), user: ()}, others
