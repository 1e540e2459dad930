"""Webhooks: the letter as JSON, sent and signed like what connectors send."""

import builtins
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from longwire.delivery.destinations.base import Outcome, Parcel, Refused
from longwire.delivery.destinations.http import (
    Basic,
    Bearer,
    Headers,
    Http,
    HttpParams,
    Method,
    SigningSecret,
    Url,
)
from longwire.delivery.egress import Egress
from longwire.notifications.types.base import Means, Office, Params, Tokens


class WebhookParams(Params, kw_only=True):
    """Where a webhook goes, and how it proves where it comes from."""

    url: Url
    method: Method = "POST"
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + as_http(self).problems(egress)


def as_http(params: WebhookParams) -> HttpParams:
    """The same, as a connector is told."""
    return HttpParams(
        url=params.url,
        method=params.method,
        headers=params.headers,
        bearer=params.bearer,
        basic=params.basic,
        secret=params.secret,
    )


class Webhook:
    """One notification's webhook and its open connections."""

    type: ClassVar[str] = "webhook"
    title: ClassVar[str] = "HTTP webhook"
    params_type: ClassVar[builtins.type[Params]] = WebhookParams
    keeps_message: ClassVar[bool] = True
    batch_max: ClassVar[int] = 1

    @classmethod
    def unavailable(cls, office: Office) -> str | None:
        return None

    @classmethod
    def unwanted(cls, params: Params, office: Office) -> Sequence[tuple[str, str]]:
        return ()

    @classmethod
    def recipients(cls, params: Params, tokens: Tokens) -> Sequence[str]:
        return [""]

    def __init__(self, params: WebhookParams, means: Means) -> None:
        self._http = Http(as_http(params), means.egress)

    async def send(self, parcel: Parcel) -> Outcome:
        outcome = await self._http.send(parcel)
        if isinstance(outcome, Refused) and outcome.disables:
            # Gone for this letter; whether the notification is still wanted, people decide.
            return msgspec.structs.replace(outcome, disables=False)
        return outcome

    async def close(self) -> None:
        await self._http.close()
