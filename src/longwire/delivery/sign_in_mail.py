"""Mails with links by which people sign in.

Whoever asks for one learns nothing: whether there is such a user is found out after the response.
The mail is sent at once and not stored, because its link is a secret. One that does not arrive is
asked for again.
"""

import asyncio
from dataclasses import dataclass

import structlog

from longwire.delivery.destinations.base import Delivered, Outcome
from longwire.delivery.email_addresses import is_address, is_allowed_address
from longwire.delivery.smtp import CONNECTIONS_MAX, MailConfig, OutboundMail, SmtpClient
from longwire.errors import LongwireError, Unavailable
from longwire.identity import sign_in_links
from longwire.identity.sign_in_links import LinkPurpose
from longwire.ids import new_id
from longwire.model import Origin, User
from longwire.store.database import Database, Tx

WAITING_MAX = 200

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """Somebody asks for a link to be mailed to an address."""

    email: str
    origin: Origin
    resets_password: bool = False


class SignInMailer:
    """Creates links, and mails them, some at a time; a bounded number of requests waits."""

    def __init__(self, database: Database, config: MailConfig) -> None:
        self._database = database
        self._config = config
        self._client = SmtpClient(config)
        self._waiting: asyncio.Queue[LinkRequest] = asyncio.Queue(WAITING_MAX)

    @property
    def is_configured(self) -> bool:
        return self._config.is_configured

    def enqueue(self, request: LinkRequest) -> None:
        """Have a link mailed, if there is a user with this address."""
        can_send = self.is_configured and is_address(request.email)
        if not can_send or not is_allowed_address(request.email, self._config.mail_domains):
            return
        try:
            self._waiting.put_nowait(request)
        except asyncio.QueueFull:
            raise Unavailable from None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as workers:
            for _ in range(CONNECTIONS_MAX):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            request = await self._waiting.get()
            try:
                await self._handle(request)
            except LongwireError:
                log.warning("sign-in mail not sent", reason="the database is unavailable")

    async def _handle(self, request: LinkRequest) -> None:
        # Most addresses that strangers try are unknown: those cost a read, and no write.
        if not await self._database.read(lambda tx: sign_in_links.can_mail(tx, request.email)):
            return

        def create(tx: Tx) -> tuple[User, str] | None:
            tx.origin = request.origin
            return sign_in_links.create_for_mail(tx, request.email)

        created = await self._database.write(create)
        if created is not None:
            outcome = await self._send(request, *created)
            if not isinstance(outcome, Delivered):
                log.warning("sign-in mail not sent", reason=outcome.reason)

    async def _send(self, request: LinkRequest, user: User, secret: str) -> Outcome:
        purpose = LinkPurpose.RESET_PASSWORD if request.resets_password else LinkPurpose.CONFIRM
        url = sign_in_links.build_url(self._config.base_url, secret, purpose)
        minutes = sign_in_links.LIFETIME_S // 60
        what = "set a new password" if request.resets_password else "sign in"
        mail = OutboundMail(
            id=new_id("mail"),
            # The address that the user has, not how somebody has typed it.
            to=user.email,
            subject="Your new password" if request.resets_password else "Your link to sign in",
            body=(
                f"To {what}, open this link within {minutes} minutes. It works once.\n\n{url}\n\n"
                f"It was requested from {request.origin.address}. If that was not you, ignore this"
                " mail: without the link nobody gets in."
            ),
            at=self._database.context.clock.now(),
        )
        return await self._client.send(mail)
