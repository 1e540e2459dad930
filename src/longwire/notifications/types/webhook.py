"""Webhooks: the notification as JSON, sent and signed like the messages of connectors."""

import builtins
from typing import ClassVar

import msgspec

from longwire.delivery.destinations.base import OutboundBatch, Outcome, Refused
from longwire.delivery.destinations.http import (
    Basic,
    Bearer,
    Headers,
    Http,
    HttpParams,
    Method,
    PreviousSecret,
    SigningSecret,
    Url,
)
from longwire.delivery.http.egress import Egress
from longwire.notifications.types.base import (
    ContactParams,
    Params,
    PublicService,
    SenderContext,
)


class WebhookParams(Params, kw_only=True):
    """The URL of a webhook, and how requests authenticate themselves."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None
    previous_secret: PreviousSecret | None = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + to_http_params(self).validate(egress)


class WebhookContactParams(ContactParams, kw_only=True):
    """The same, with a name."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None
    previous_secret: PreviousSecret | None = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + to_http_params(self).validate(egress)


def to_http_params(params: WebhookParams | WebhookContactParams) -> HttpParams:
    """The same, as parameters of a connector."""
    return HttpParams(
        url=params.url,
        method=params.method,
        headers=params.headers,
        bearer=params.bearer,
        basic=params.basic,
        secret=params.secret,
        previous_secret=params.previous_secret,
    )


class WebhookSender(PublicService):
    """The webhook of one notification or contact point, with its open connections."""

    type: ClassVar[str] = "webhook"
    title: ClassVar[str] = "HTTP webhook"
    params_type: ClassVar[builtins.type[Params]] = WebhookParams
    keeps_message: ClassVar[bool] = True
    batch_max: ClassVar[int] = 1

    def __init__(
        self, params: WebhookParams | WebhookContactParams, context: SenderContext
    ) -> None:
        self._http = Http(to_http_params(params), context.egress)

    async def send(self, batch: OutboundBatch) -> Outcome:
        outcome = await self._http.send(batch)
        if isinstance(outcome, Refused) and outcome.disables:
            # 410 Gone ends this message; whether to disable the notification is up to its users.
            return msgspec.structs.replace(outcome, disables=False)
        return outcome

    async def close(self) -> None:
        await self._http.close()
