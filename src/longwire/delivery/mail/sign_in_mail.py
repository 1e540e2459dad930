"""Mails with links by which people sign in, and about changes of how they do.

Whoever asks for a link learns nothing: whether there is such a user is found out after the
response. The mail is sent at once and not stored, because its link is a secret. One that does not
arrive is asked for again; of changes the account page of the console has a list as well.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

import structlog

from longwire.clock import Moment
from longwire.delivery.destinations.base import Delivered, Outcome
from longwire.delivery.mail.email_addresses import is_address, is_allowed_address
from longwire.delivery.mail.smtp import CONNECTIONS_MAX, MailConfig, OutboundMail, SmtpClient
from longwire.errors import LongwireError, TooManyRequests, Unavailable
from longwire.identity import languages, sign_in_links
from longwire.identity.sign_in_links import LinkPurpose
from longwire.identity.sign_in_methods import SignInChange
from longwire.ids import new_id
from longwire.model import Actor, Origin, User
from longwire.store.database import Database, Tx
from longwire.store.identity import users as store_users
from longwire.translations.catalogue import translate
from longwire.translations.dates import format_moment
from longwire.work.rate_limits import RateLimiter

WAITING_MAX = 200
# Of one user: whoever changes a password in a loop does not make the mail server work in one.
NOTICES_BURST = 10
NOTICES_PER_MINUTE = 1

_CHANGES = {
    SignInChange.PASSWORD_SET: "sign_in_change.password_set",
    SignInChange.TOTP_ENABLED: "sign_in_change.totp_enabled",
    SignInChange.TOTP_DISABLED: "sign_in_change.totp_disabled",
    SignInChange.PASSKEY_CREATED: "sign_in_change.passkey_created",
    SignInChange.PASSKEY_DELETED: "sign_in_change.passkey_deleted",
}
_LINK_TEXTS = "sign_in.link_subject", "sign_in.link_body"
_RESET_TEXTS = "sign_in.reset_subject", "sign_in.reset_body"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """Somebody asks for a link to be mailed to an address."""

    email: str
    origin: Origin
    resets_password: bool = False


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """A user is to know that one of their ways to sign in was changed."""

    user_id: str
    email: str
    change: SignInChange
    origin: Origin
    at: Moment
    language: str


class SignInMailer:
    """Creates links, and mails them, some at a time; a bounded number of requests waits."""

    def __init__(self, database: Database, config: MailConfig) -> None:
        self._database = database
        self._config = config
        self._client = SmtpClient(config)
        self._waiting: asyncio.Queue[LinkRequest | ChangeNotice] = asyncio.Queue(WAITING_MAX)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._notices = RateLimiter(
            database.context.clock, burst=NOTICES_BURST, per_minute=NOTICES_PER_MINUTE
        )

    @property
    def is_configured(self) -> bool:
        return self._config.is_configured

    def enqueue(self, request: LinkRequest) -> None:
        """Have a link mailed, if there is a user with this address."""
        if not self._can_send_to(request.email):
            return
        try:
            self._waiting.put_nowait(request)
        except asyncio.QueueFull:
            raise Unavailable from None

    def notify_on_commit(self, tx: Tx, actor: Actor, change: SignInChange) -> None:
        """Have a user's change mailed to the user, once it is committed."""
        user = store_users.USERS.get(tx, actor.id)
        if user is not None and self._can_send_to(user.email):
            language = languages.choose(user.language)
            notice = ChangeNotice(user.id, user.email, change, tx.origin, tx.now, language)
            tx.on_commit(partial(self._notify_from_any_thread, notice))

    def _notify_from_any_thread(self, notice: ChangeNotice) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._notify, notice)

    def _notify(self, notice: ChangeNotice) -> None:
        try:
            self._notices.acquire(notice.user_id)
            self._waiting.put_nowait(notice)
        except (TooManyRequests, asyncio.QueueFull):
            log.warning("notice not mailed", reason="too many mails", user_id=notice.user_id)

    def _can_send_to(self, email: str) -> bool:
        can_send = self.is_configured and is_address(email)
        return can_send and is_allowed_address(email, self._config.mail_domains)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as workers:
            for _ in range(CONNECTIONS_MAX):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            request = await self._waiting.get()
            if isinstance(request, ChangeNotice):
                await self._send_notice(request)
                continue
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

    async def _send_notice(self, notice: ChangeNotice) -> None:
        page = self._config.base_url + sign_in_links.PAGE_PATH
        language = notice.language
        at = format_moment(language, notice.at, with_seconds=True)
        change = translate(language, _CHANGES[notice.change], at=at, address=notice.origin.address)
        mail = OutboundMail(
            id=new_id("mail"),
            to=notice.email,
            subject=translate(language, "sign_in_change.subject"),
            body=translate(language, "sign_in_change.body", change=change, page=page),
            at=self._database.context.clock.now(),
            language=language,
        )
        outcome = await self._client.send(mail)
        if not isinstance(outcome, Delivered):
            log.warning("notice not mailed", reason=outcome.reason, user_id=notice.user_id)

    async def _send(self, request: LinkRequest, user: User, secret: str) -> Outcome:
        purpose = LinkPurpose.RESET_PASSWORD if request.resets_password else LinkPurpose.CONFIRM
        url = sign_in_links.build_url(self._config.base_url, secret, purpose)
        minutes = sign_in_links.LIFETIME_S // 60
        language = languages.choose(user.language)
        subject, body = _RESET_TEXTS if request.resets_password else _LINK_TEXTS
        values = {"minutes": minutes, "url": url, "address": request.origin.address}
        mail = OutboundMail(
            id=new_id("mail"),
            # The address that the user has, not how somebody has typed it.
            to=user.email,
            subject=translate(language, subject),
            body=translate(language, body, **values),
            at=self._database.context.clock.now(),
            language=language,
        )
        return await self._client.send(mail)
