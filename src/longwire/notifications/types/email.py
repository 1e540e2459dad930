"""Mail, through the operator's own server.

Each letter goes to one address, in plain text. Its Message-ID is made of the delivery's id, so that
a mail that had to be sent twice, because nobody could tell whether the first had arrived, can be
recognised. The server is the operator's choice and not a tenant's, so the guard is not asked.
"""

import asyncio
import builtins
import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime, parseaddr
from typing import Annotated, ClassVar

import aiosmtplib
from msgspec import Meta

from longwire.clock import SECOND
from longwire.delivery.destinations.base import (
    Delivered,
    Outcome,
    Parcel,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.connections import failure
from longwire.delivery.egress import Egress
from longwire.notifications import templates
from longwire.notifications.addresses import is_address, may_be_written_to
from longwire.notifications.types.base import (
    Letter,
    Means,
    Office,
    Params,
    Tokens,
    letter_in,
)

ADDRESSES_MAX = 50
# Less than whoever calls allows: then the reason is ours to give.
TIMEOUT_S = 12.0
GOODBYE_TIMEOUT_S = 1.0
# Servers limit how many connections one client may have.
AT_ONCE_MAX = 4

NOT_SET_UP = "there is no mail server to send with; the operator sets smtp_host and smtp_from"
ELSEWHERE = "in no domain that the operator lets mails go to"
NO_LOGIN = "the mail server did not accept the operator's login"
# What the server wants to hear before anything else: for the operator to put right.
LOGIN_CODES = frozenset((530, 534, 535, 538))

EmailAddress = Annotated[str, Meta(min_length=3, max_length=254, examples=["ada@example.com"])]


class EmailParams(Params, kw_only=True):
    """Whom a mail goes to."""

    to: Annotated[
        list[EmailAddress],
        Meta(
            min_length=1,
            max_length=ADDRESSES_MAX,
            description="The addresses; each gets a mail of its own, and sees no other.",
            examples=[["ada@example.com"]],
        ),
    ]

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return [*super().problems(egress), *self._address_problems()]

    def _address_problems(self) -> Iterator[tuple[str, str]]:
        for index, address in enumerate(self.to):
            if not is_address(address):
                yield f"to[{index}]", "must be an e-mail address"


class Email:
    """The operator's mail server, for one notification."""

    type: ClassVar[str] = "email"
    title: ClassVar[str] = "E-mail"
    params_type: ClassVar[builtins.type[Params]] = EmailParams
    keeps_message: ClassVar[bool] = False
    batch_max: ClassVar[int] = 1

    @classmethod
    def unavailable(cls, office: Office) -> str | None:
        return None if office.smtp_host and office.smtp_from else NOT_SET_UP

    @classmethod
    def unwanted(cls, params: Params, office: Office) -> Sequence[tuple[str, str]]:
        assert isinstance(params, EmailParams)
        return [
            (f"to[{index}]", f"{address} is {ELSEWHERE}")
            for index, address in enumerate(params.to)
            if is_address(address) and not may_be_written_to(address, office.mail_domains)
        ]

    @classmethod
    def recipients(cls, params: Params, tokens: Tokens) -> Sequence[str]:
        assert isinstance(params, EmailParams)
        return list({address.lower(): address for address in params.to}.values())

    def __init__(self, params: Params, means: Means) -> None:
        self._office = means.office
        self._at_once = asyncio.Semaphore(AT_ONCE_MAX)

    async def send(self, parcel: Parcel) -> Outcome:
        if self.unavailable(self._office):
            return Refused(NOT_SET_UP, is_final=True)
        if not may_be_written_to(parcel.only.to, self._office.mail_domains):
            return Refused(f"the address is {ELSEWHERE}", is_final=True)
        try:
            mail = mail_of(parcel, letter_in(parcel), self._office.smtp_from)
        except ValueError:
            return Refused("the address cannot be written to", is_final=True)
        async with self._at_once:
            return await self._hand_over(mail)

    async def _hand_over(self, mail: EmailMessage) -> Outcome:
        office = self._office
        sender = parseaddr(office.smtp_from)[1]
        server = aiosmtplib.SMTP(
            hostname=office.smtp_host,
            port=office.smtp_port,
            username=office.smtp_user or None,
            password=office.smtp_password or None,
            # Otherwise the library asks for the name of this machine, and waits for it.
            local_hostname=sender.rpartition("@")[2],
            timeout=TIMEOUT_S,
            use_tls=office.smtp_security == "tls",
            start_tls=office.smtp_security == "starttls",
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await server.connect()
                await server.send_message(mail, sender=sender)
            # The server has it, however it takes its leave.
            with contextlib.suppress(Exception):
                await server.quit(timeout=GOODBYE_TIMEOUT_S)
            return Delivered()
        except Exception as error:
            return outcome_of(error)
        finally:
            server.close()

    async def close(self) -> None:
        """Each mail has a connection of its own, and closes it."""


def mail_of(parcel: Parcel, letter: Letter, sender: str) -> EmailMessage:
    """The letter as a mail; raises ValueError where a header cannot be."""
    name, address = parseaddr(sender)
    domain = address.rpartition("@")[2]
    mail = EmailMessage(policy=SMTP_POLICY)
    mail["From"] = Address(name, *_parts(address))
    mail["To"] = Address("", *_parts(parcel.only.to))
    mail["Subject"] = templates.one_line(letter.subject) or templates.one_line(letter.reason)
    mail["Date"] = format_datetime(datetime.fromtimestamp(parcel.at // SECOND, UTC))
    mail["Message-ID"] = f"<{parcel.only.id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(templates.with_held_back(letter.body, letter.held_back))
    return mail


def _parts(address: str) -> tuple[str, str]:
    local, _, domain = address.rpartition("@")
    return local, domain


def outcome_of(error: Exception) -> Outcome:
    """What an error of the library, or on the way, means for the letter."""
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            return refusal(error.recipients[0].code, "did not take the address")
        case aiosmtplib.SMTPAuthenticationError():
            return Refused(NO_LOGIN)
        case aiosmtplib.SMTPResponseException():
            return refusal(error.code, "did not take the mail")
        case aiosmtplib.SMTPConnectTimeoutError():
            return Unreachable("the connection was not made in time")
        case TimeoutError():
            return Unreachable("the mail server did not answer in time")
        case aiosmtplib.SMTPConnectError() if isinstance(error.__cause__, OSError):
            return failure(error.__cause__)
        case OSError():
            return failure(error)
        case aiosmtplib.SMTPNotSupported() if "SMTPUTF8" in error.message:
            return Refused("the mail server takes no address like this", is_final=True)
        case aiosmtplib.SMTPException():
            return Refused("the mail server cannot encrypt, or cannot log in, as it is set up")
    return Unreachable("what answers there does not speak SMTP")


def refusal(code: int, what: str) -> Outcome:
    """An answer that is no success: 4xx asks to try again, 5xx not to."""
    if code in LOGIN_CODES:
        return Refused(NO_LOGIN)
    if not 200 <= code < 600:
        return Unreachable("what answers there does not speak SMTP")
    return Refused(f"the mail server {what} ({code})", is_final=code >= 500)
