"""Outbound notifications, without a running service."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import uvloop

from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import OutboundBatch, Outcome
from longwire.delivery.http.egress import Egress
from longwire.notifications.types.base import (
    NotificationContext,
    NotificationMessage,
    NotificationSender,
    PushTarget,
    SenderContext,
    SendingConfig,
    build_outbound_message,
)

NOON: Moment = 1_700_000_000 * SECOND
LOOPBACK = Egress(["127.0.0.0/8"])
MESSAGE = NotificationMessage(
    subject="Cellar: alarm",
    body="31.5 °C at noon",
    reason="alarm",
    message={"deviceId": "dev_1", "timestamp": "2023-11-14T22:13:20.000Z"},
)


def batch(
    message: NotificationMessage = MESSAGE, to: str = "", id: str = "msg_1_a", at: Moment = NOON
) -> OutboundBatch:
    body, context = (
        msgspec.json.encode(message),
        msgspec.json.encode(NotificationContext(to)).decode(),
    )
    return OutboundBatch(id, [build_outbound_message(id, "7", "dev_1", body, context)], at)


def sender_context(
    config: SendingConfig | None = None,
    tokens: dict[str, PushTarget] | None = None,
    egress: Egress = LOOPBACK,
) -> SenderContext:
    async def get_push_target(digest: str) -> PushTarget | None:
        return (tokens or {}).get(digest)

    async def check_mail(address: str) -> None:
        return None

    return SenderContext(egress, config or SendingConfig(), get_push_target, check_mail)


def send_all(sender: NotificationSender, *batches: OutboundBatch) -> list[Outcome]:
    """The outcomes of sending these, one after the other."""

    async def send() -> list[Outcome]:
        try:
            return [await sender.send(each) for each in batches]
        finally:
            await sender.close()

    return run(send())


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
