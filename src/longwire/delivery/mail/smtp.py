"""SMTP client for the operator's own mail server.

One mail to one address per call. The Message-ID is made of the delivery's id, so that a
mail sent twice, because the first attempt was never confirmed, can be recognised. The server is
configured by the operator and not by a tenant, so the egress guard does not apply.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime, parseaddr
from typing import cast

import aiosmtplib

from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.connections import outcome_of_error
from longwire.delivery.mail.email_addresses import is_allowed_address

# Shorter than the engine's attempt timeout, so that the reason is the specific one.
TIMEOUT_S = 12.0
QUIT_TIMEOUT_S = 1.0
# Servers limit the connections of one client.
CONNECTIONS_MAX = 4

MAIL_NOT_CONFIGURED = "no mail server is configured; the operator sets smtp_host and smtp_from"
DOMAIN_NOT_ALLOWED = "not in a domain that the operator allows mail to"
LOGIN_FAILED = Refused(
    "the mail server did not accept the operator's login", code=FailureCode.LOGIN_REJECTED
)
NOT_SMTP = "the server does not speak SMTP"
# Authentication is required or failed: the operator has to fix it, so these are retried.
LOGIN_CODES = frozenset((530, 534, 535, 538))


@dataclass(frozen=True, slots=True)
class MailConfig:
    """The operator's mail server; empty where there is none."""

    smtp_host: str = ""
    smtp_port: int = 587
    smtp_user: str = ""
    smtp_password: str = ""
    smtp_from: str = ""
    smtp_security: str = "starttls"  # starttls, tls or none
    mail_domains: frozenset[str] = frozenset()  # those that mail may go to; none for any
    base_url: str = ""  # of this service, for links
    mails_per_group_hour_max: int = 1_000
    mails_per_owner_hour_max: int = 5_000

    @property
    def is_configured(self) -> bool:
        return bool(self.smtp_host and self.smtp_from)


@dataclass(frozen=True, slots=True)
class MailPart:
    """A file of a mail; one with an id is a picture in its HTML."""

    name: str
    media_type: str
    content: bytes
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class OutboundMail:
    id: str  # of the delivery
    to: str
    subject: str
    body: str
    at: Moment
    language: str
    html: str | None = None  # the same as the body
    attachments: tuple[MailPart, ...] = ()


class SmtpClient:
    """Sends mail with the operator's configuration; every mail has its own connection."""

    def __init__(self, config: MailConfig) -> None:
        self._config = config
        self._connections = asyncio.Semaphore(CONNECTIONS_MAX)

    async def send(self, mail: OutboundMail) -> Outcome:
        if not self._config.is_configured:
            return Refused(MAIL_NOT_CONFIGURED, is_final=True, code=FailureCode.NOT_CONFIGURED)
        if not is_allowed_address(mail.to, self._config.mail_domains):
            return Refused(
                f"the address is {DOMAIN_NOT_ALLOWED}", is_final=True, code=FailureCode.WITHDRAWN
            )
        try:
            message = build_mime_message(mail, self._config.smtp_from)
        except ValueError:
            return Refused(
                "the address is invalid", is_final=True, code=FailureCode.INVALID_MESSAGE
            )
        async with self._connections:
            return await self._submit(message)

    async def _submit(self, message: EmailMessage) -> Outcome:
        config = self._config
        sender = parseaddr(config.smtp_from)[1]
        server = _Connection(
            hostname=config.smtp_host,
            port=config.smtp_port,
            username=config.smtp_user or None,
            password=config.smtp_password or None,
            # By default the library looks up this machine's name, which blocks.
            local_hostname=sender.rpartition("@")[2],
            timeout=TIMEOUT_S,
            use_tls=config.smtp_security == "tls",
            start_tls=config.smtp_security == "starttls",
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await server.connect()
                await server.send_message(message, sender=sender)
            # The server has accepted it, so errors of QUIT do not matter.
            with contextlib.suppress(Exception):
                await server.quit(timeout=QUIT_TIMEOUT_S)
            return Delivered()
        except Exception as error:
            return outcome_of_smtp_error(error)
        finally:
            server.close()


class _Connection(aiosmtplib.SMTP):
    """One that ends at once, and not half a minute later if the server does not end its TLS."""

    def close(self) -> None:
        transport = cast(asyncio.WriteTransport | None, self.transport)
        super().close()
        if transport is not None:
            transport.abort()


def build_mime_message(mail: OutboundMail, sender: str) -> EmailMessage:
    """The MIME message; ValueError for an invalid header."""
    name, address = parseaddr(sender)
    domain = address.rpartition("@")[2]
    message = EmailMessage(policy=SMTP_POLICY)
    message["From"] = Address(name, *_split_address(address))
    message["To"] = Address("", *_split_address(mail.to))
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(datetime.fromtimestamp(mail.at // SECOND, UTC))
    message["Message-ID"] = f"<{mail.id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.body)
    if mail.html is not None:
        message.add_alternative(mail.html, subtype="html")
    for part in mail.attachments:
        _attach(message, part)
    message["Content-Language"] = mail.language  # setting the content removes it
    return message


def _attach(message: EmailMessage, part: MailPart) -> None:
    kind, _, subtype = part.media_type.partition("/")
    if not part.content_id:
        message.add_attachment(part.content, kind, subtype, filename=part.name)
        return
    page = next(each for each in message.walk() if each.get_content_type() == "text/html")
    assert isinstance(page, EmailMessage)
    page.add_related(part.content, kind, subtype, cid=f"<{part.content_id}>")


def _split_address(address: str) -> tuple[str, str]:
    local, _, domain = address.rpartition("@")
    return local, domain


def outcome_of_smtp_error(error: Exception) -> Outcome:
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            return _outcome_of_reply(error.recipients[0].code, "did not accept the address")
        case aiosmtplib.SMTPAuthenticationError():
            return LOGIN_FAILED
        case aiosmtplib.SMTPResponseException():
            return _outcome_of_reply(error.code, "did not accept the mail")
        case aiosmtplib.SMTPConnectTimeoutError():
            return Unreachable("the connection timed out", code=FailureCode.TIMED_OUT)
        case TimeoutError():
            return Unreachable("the mail server timed out", code=FailureCode.TIMED_OUT)
        case aiosmtplib.SMTPConnectError() if isinstance(error.__cause__, OSError):
            return outcome_of_error(error.__cause__)
        case OSError():
            return outcome_of_error(error)
        # The library has one class for all missing extensions, and names this one in the text.
        case aiosmtplib.SMTPNotSupported() if "SMTPUTF8" in error.message:
            return Refused("the mail server does not support SMTPUTF8 addresses", is_final=True)
        case aiosmtplib.SMTPException():
            return Refused("the mail server does not support TLS or login as configured")
    return Unreachable(NOT_SMTP)


def _outcome_of_reply(code: int, what: str) -> Outcome:
    """A negative reply: 4xx is transient, 5xx permanent."""
    if code in LOGIN_CODES:
        return LOGIN_FAILED
    if not 200 <= code < 600:
        return Unreachable(NOT_SMTP)
    return Refused(f"the mail server {what} ({code})", is_final=code >= 500)
