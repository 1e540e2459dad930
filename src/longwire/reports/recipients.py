"""To whom reports go: the parameters of their channels."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.delivery.destinations.base import ParamsBase
from longwire.delivery.destinations.http import (
    Basic,
    Bearer,
    Headers,
    HttpParams,
    SigningSecret,
    Url,
)
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.email_addresses import is_address, is_allowed_address
from longwire.delivery.mail.smtp import DOMAIN_NOT_ALLOWED, MAIL_NOT_CONFIGURED, MailConfig
from longwire.errors import FieldError
from longwire.notifications.types.email import ADDRESSES_MAX, EmailAddress
from longwire.translations.catalogue import Language

EMAIL, WEBHOOK = "email", "webhook"


class ReportParams(ParamsBase, kw_only=True):
    """The parameters of a report's channel."""

    def list_recipients(self) -> Sequence[str]:
        """A delivery for each; by default the parameters themselves say it."""
        return [""]


class ReportMailParams(ReportParams, kw_only=True):
    """The recipients of a report by mail."""

    to: Annotated[
        list[EmailAddress],
        Meta(
            min_length=1,
            max_length=ADDRESSES_MAX,
            description="The addresses; each gets a mail of its own, and sees no other.",
            examples=[["ada@example.com"]],
        ),
    ]
    language: (
        Annotated[
            Language,
            Meta(
                description="Of the mails to addresses that are not of members with a language of"
                " their own; else English.",
                examples=["de"],
            ),
        ]
        | None
    ) = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return [
            (f"to[{index}]", "must be an e-mail address")
            for index, address in enumerate(self.to)
            if not is_address(address)
        ]

    def list_recipients(self) -> Sequence[str]:
        return list({address.lower(): address for address in self.to}.values())


class ReportWebhookParams(ReportParams, kw_only=True):
    """Where a report is posted to, and how requests authenticate themselves."""

    url: Url
    headers: Headers = msgspec.field(default_factory=dict)
    bearer: Bearer | None = None
    basic: Basic | None = None
    secret: SigningSecret | None = None

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return self.to_http_params().validate(egress)

    def to_http_params(self) -> HttpParams:
        """The same, as parameters of a connector."""
        return HttpParams(
            url=self.url,
            headers=self.headers,
            bearer=self.bearer,
            basic=self.basic,
            secret=self.secret,
        )


TYPES: Mapping[str, type[ReportParams]] = {EMAIL: ReportMailParams, WEBHOOK: ReportWebhookParams}


def get_params_type(name: str) -> type[ReportParams]:
    return TYPES[name]


def list_disallowed(type_name: str, params: ReportParams, config: MailConfig) -> list[FieldError]:
    """What the operator's configuration forbids."""
    if not isinstance(params, ReportMailParams):
        return []
    if not config.is_configured:
        return [FieldError("type", MAIL_NOT_CONFIGURED)]
    return [
        FieldError(f"params.to[{index}]", f"{address} is {DOMAIN_NOT_ALLOWED}")
        for index, address in enumerate(params.to)
        if is_address(address) and not is_allowed_address(address, config.mail_domains)
    ]
