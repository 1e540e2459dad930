"""E-mail notifications, through the operator's mail server: a plain-text mail to each address."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from longwire.delivery.destinations.base import OutboundBatch, Outcome, ParamsBase
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.email_addresses import is_address, is_allowed_address
from longwire.delivery.mail.smtp import (
    DOMAIN_NOT_ALLOWED,
    MAIL_NOT_CONFIGURED,
    OutboundMail,
    SmtpClient,
)
from longwire.notifications.default_texts import append_held_back
from longwire.notifications.types.base import (
    ContactParams,
    ListTokens,
    Params,
    SenderContext,
    SendingConfig,
    decode_notification,
)
from longwire.notifications.values import to_one_line

ADDRESSES_MAX = 50

EmailAddress = Annotated[str, Meta(min_length=3, max_length=254, examples=["ada@example.com"])]


Addresses = Annotated[
    list[EmailAddress],
    Meta(
        min_length=1,
        max_length=ADDRESSES_MAX,
        description="The addresses; each gets a mail of its own, and sees no other.",
        examples=[["ada@example.com"]],
    ),
]


class EmailParams(Params, kw_only=True):
    """The recipients of a mail."""

    to: Addresses

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return [*super().validate(egress), *_list_invalid_addresses(self.to)]


class EmailContactParams(ContactParams, kw_only=True):
    """The same, with a name."""

    to: Addresses

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return [*super().validate(egress), *_list_invalid_addresses(self.to)]


def _list_invalid_addresses(addresses: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, address in enumerate(addresses):
        if not is_address(address):
            yield f"to[{index}]", "must be an e-mail address"


class EmailSender:
    type: ClassVar[str] = "email"
    title: ClassVar[str] = "E-mail"
    params_type: ClassVar[builtins.type[Params]] = EmailParams
    keeps_message: ClassVar[bool] = False
    setup_hint: ClassVar[str] = MAIL_NOT_CONFIGURED
    batch_max: ClassVar[int] = 1

    @classmethod
    def is_available(cls, config: SendingConfig) -> bool:
        return config.mail.is_configured

    @classmethod
    def list_disallowed(
        cls, params: ParamsBase, config: SendingConfig
    ) -> Sequence[tuple[str, str]]:
        assert isinstance(params, EmailParams | EmailContactParams)
        return [
            (f"to[{index}]", f"{address} is {DOMAIN_NOT_ALLOWED}")
            for index, address in enumerate(params.to)
            if is_address(address) and not is_allowed_address(address, config.mail.mail_domains)
        ]

    @classmethod
    def list_recipients(cls, params: ParamsBase, list_tokens: ListTokens) -> Sequence[str]:
        assert isinstance(params, EmailParams | EmailContactParams)
        return list({address.lower(): address for address in params.to}.values())

    def __init__(self, params: ParamsBase, context: SenderContext) -> None:
        self._client = SmtpClient(context.config.mail)
        self._check_mail = context.check_mail

    async def send(self, batch: OutboundBatch) -> Outcome:
        refusal = await self._check_mail(batch.single.to)
        if refusal is not None:
            return refusal
        message = decode_notification(batch)
        mail = OutboundMail(
            id=batch.single.id,
            to=batch.single.to,
            subject=to_one_line(message.subject) or to_one_line(message.reason),
            body=append_held_back(message.body, message.held_back, message.language),
            at=batch.at,
            language=message.language,
        )
        return await self._client.send(mail)

    async def close(self) -> None:
        """Every mail closes its own connection."""
