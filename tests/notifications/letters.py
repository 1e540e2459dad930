"""Letters on their way out, without a service around them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import uvloop

from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import Outcome, Parcel
from longwire.delivery.egress import Egress
from longwire.notifications.types.base import (
    Envelope,
    Letter,
    Means,
    NotificationType,
    Office,
    PushTarget,
    enclosed,
)

NOON: Moment = 1_700_000_000 * SECOND
LOOPBACK = Egress(["127.0.0.0/8"])
LETTER = Letter(
    subject="Cellar: alarm",
    body="31.5 °C at noon",
    reason="alarm",
    message={"deviceId": "dev_1", "timestamp": "2023-11-14T22:13:20.000Z"},
)


def parcel(letter: Letter = LETTER, to: str = "", id: str = "msg_1_a", at: Moment = NOON) -> Parcel:
    body, context = msgspec.json.encode(letter), msgspec.json.encode(Envelope(to)).decode()
    return Parcel(id, [enclosed(id, "7", "dev_1", body, context)], at)


def means(
    office: Office | None = None,
    tokens: dict[str, PushTarget] | None = None,
    egress: Egress = LOOPBACK,
) -> Means:
    async def find_token(digest: str) -> PushTarget | None:
        return (tokens or {}).get(digest)

    return Means(egress, office or Office(), find_token)


def sent(sender: NotificationType, *parcels: Parcel) -> list[Outcome]:
    """What becomes of these, one after the other."""

    async def send() -> list[Outcome]:
        try:
            return [await sender.send(each) for each in parcels]
        finally:
            await sender.close()

    return run(send())


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
