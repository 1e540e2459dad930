"""Chat and on-call services, through Apprise.

Only services with one public address each: their URL names an account, and cannot say where to
connect. Apprise blocks while it sends, so every service has a few threads of its own, in which
groups take turns: neither a service that hangs nor a group with many messages delays others.
"""

import asyncio
import builtins
import contextlib
import functools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, ClassVar, Protocol, cast

from msgspec import Meta

from longwire import extras
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundBatch,
    Outcome,
    Refused,
    Secret,
    Unreachable,
    list_invalid_fields,
)
from longwire.delivery.http.egress import Egress
from longwire.errors import LongwireError, TooManyRequests, Unavailable
from longwire.notifications.default_texts import append_held_back
from longwire.notifications.types.base import (
    ContactParams,
    Params,
    PublicService,
    SenderContext,
    SendingConfig,
    decode_notification,
)
from longwire.store.engines.workers import QueuedWork, RunJobs, WorkerPool

# Shorter than the engine's attempt timeout, so that the reason is the specific one.
TIMEOUT_S = 12.0
THREADS_PER_SERVICE = 4
WAITING_PER_SERVICE_MAX = 1_000
# Of one notification. A message that timed out counts until its thread is free again.
IN_FLIGHT_MAX = 2

# By URL scheme: the Apprise plugin, and the query options allowed. Other options could read local
# files, or redirect messages.
SERVICES: dict[str, tuple[str, frozenset[str]]] = {
    "tgram": ("telegram.NotifyTelegram", frozenset({"topic", "thread", "silent", "preview"})),
    "slack": ("slack.NotifySlack", frozenset()),
    "discord": ("discord.NotifyDiscord", frozenset({"thread", "tts"})),
    "gchat": ("google_chat.NotifyGoogleChat", frozenset({"thread"})),
    "webex": ("webexteams.NotifyWebexTeams", frozenset()),
    "zoom": ("zoom.NotifyZoom", frozenset({"mode"})),
    "flock": ("flock.NotifyFlock", frozenset()),
    "groupme": ("groupme.NotifyGroupMe", frozenset()),
    "line": ("line.NotifyLine", frozenset()),
    "threema": ("threema.NotifyThreema", frozenset()),
    "pover": ("pushover.NotifyPushover", frozenset({"priority", "sound"})),
    "pbul": ("pushbullet.NotifyPushBullet", frozenset()),
    "pagerduty": (
        "pagerduty.NotifyPagerDuty",
        frozenset({"region", "severity", "source", "component", "group", "class"}),
    ),
    "opsgenie": ("opsgenie.NotifyOpsgenie", frozenset({"region", "priority"})),
    "pagertree": ("pagertree.NotifyPagerTree", frozenset({"urgency"})),
    "signl4": ("signl4.NotifySIGNL4", frozenset({"service", "location"})),
    "victorops": ("splunk.NotifySplunk", frozenset()),
}
URL = re.compile(r"([a-z0-9]+)://[\x21-\x7e]+")


ServiceUrl = Annotated[
    Secret,
    Meta(
        description="The service and its keys, as Apprise writes them; one of "
        + ", ".join(f"{name}://" for name in SERVICES)
        + ".",
        examples=["tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"],
    ),
]


class ChatParams(Params, kw_only=True):
    """A service and an account there."""

    url: ServiceUrl

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields({"url": check_url(self.url)})


class ChatContactParams(ContactParams, kw_only=True):
    """The same, with a name."""

    url: ServiceUrl

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields({"url": check_url(self.url)})


def check_url(url: str) -> str | None:
    """Why the URL is invalid, without repeating it; None if it is valid."""
    found = URL.fullmatch(url)
    if found is None or found[1] not in SERVICES:
        return f"must begin with one of {', '.join(f'{name}://' for name in SERVICES)}"
    if not extras.is_installed("chat"):
        return None  # nothing is sent; see is_available
    plugin, options = SERVICES[found[1]]
    return _load_apprise().check_url(plugin, url, options)


class ChatSender(PublicService):
    """Sends to one account of one service."""

    type: ClassVar[str] = "chat"
    title: ClassVar[str] = "Chat and on-call services"
    params_type: ClassVar[builtins.type[Params]] = ChatParams
    keeps_message: ClassVar[bool] = True
    batch_max: ClassVar[int] = 1
    setup_hint: ClassVar[str] = extras.explain_missing("chat")

    @classmethod
    def is_available(cls, config: SendingConfig) -> bool:
        return extras.is_installed("chat")

    def __init__(self, params: ChatParams | ChatContactParams, context: SenderContext) -> None:
        self._url = params.url
        self._in_flight = asyncio.Semaphore(IN_FLIGHT_MAX)

    async def send(self, batch: OutboundBatch) -> Outcome:
        if not extras.is_installed("chat"):
            reason = f"the notification {self.setup_hint}"
            return Refused(reason, code=FailureCode.NOT_CONFIGURED)
        message = decode_notification(batch)
        body = append_held_back(message.body, message.held_back, message.language)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._in_flight.acquire()
                # A timeout cancels what has not started; what has started goes on.
                is_accepted = await self._submit(message.subject, body)
        except TimeoutError:
            return Unreachable("the service timed out", code=FailureCode.TIMED_OUT)
        except (TooManyRequests, Unavailable):
            return Refused("too many messages to this service are waiting")
        except ValueError:
            return Refused(
                "the parameters are no longer valid",
                is_final=True,
                code=FailureCode.NOT_CONFIGURED,
            )
        if not is_accepted:
            return Refused("the service was unreachable or did not accept the message")
        return Delivered()

    def _submit(self, subject: str, body: str) -> "asyncio.Future[bool]":
        loop = asyncio.get_running_loop()

        def work(is_wanted: bool) -> bool:
            try:
                return is_wanted and self._notify(subject, body)
            finally:
                with contextlib.suppress(RuntimeError):  # the event loop is closed
                    loop.call_soon_threadsafe(self._in_flight.release)

        try:
            return _workers(self._service).submit_for_caller(work)
        except LongwireError:
            self._in_flight.release()
            raise

    @property
    def _service(self) -> str:
        return self._url.partition(":")[0]

    def _notify(self, subject: str, body: str) -> bool:
        if check_url(self._url):
            raise ValueError("the URL was valid under the rules of the time it was saved")
        plugin, _ = SERVICES[self._service]
        return _load_apprise().notify(plugin, self._url, subject, body)

    async def close(self) -> None:
        """Nothing stays open."""


class _AppriseModule(Protocol):
    """The interface of `chat_services.py`."""

    def check_url(self, plugin_path: str, url: str, options: frozenset[str]) -> str | None: ...

    def notify(self, plugin_path: str, url: str, subject: str, body: str) -> bool: ...


def _load_apprise() -> _AppriseModule:
    # Loaded on first use: Apprise takes time and memory that most services never need.
    module = extras.load("chat", "longwire.notifications.types.chat_services")
    return cast(_AppriseModule, module)


@functools.cache
def _workers(service: str) -> WorkerPool:
    workers = WorkerPool(
        f"chat-{service}",
        _open_worker,
        threads=THREADS_PER_SERVICE,
        batch_max=1,
        waiting_max=WAITING_PER_SERVICE_MAX,
    )
    workers.start()
    return workers


@contextmanager
def _open_worker() -> Iterator[RunJobs]:
    yield _run


def _run(jobs: Iterable[QueuedWork[bool]]) -> None:
    for job in jobs:
        try:
            job.result = job.work(not job.future.cancelled())
        except Exception as error:
            job.error = error
