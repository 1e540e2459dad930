"""Chat and on-call services, through Apprise.

Only services that live at one public address each: a URL says which account of theirs to write to,
and can say nothing about where to connect. Apprise blocks while it sends, so it has a few threads,
and each service has its own: one that hangs holds up nobody who writes to another.
"""

import asyncio
import builtins
import contextlib
import functools
import importlib
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Annotated, ClassVar, Protocol, cast

from msgspec import Meta

from longwire.delivery.destinations.base import (
    Delivered,
    Outcome,
    Parcel,
    Refused,
    Secret,
    Unreachable,
    only_problems,
)
from longwire.delivery.egress import Egress
from longwire.notifications import templates
from longwire.notifications.types.base import Means, Office, Params, Tokens, letter_in

# Less than whoever calls allows: then the reason is ours to give.
TIMEOUT_S = 12.0
THREADS_PER_SERVICE_MAX = 4
# Of one notification. A letter that was given up on counts until its thread is free again.
AT_ONCE_MAX = 2

# By the name in front of ://, where Apprise has it, and which options may follow after a question
# mark. Others could read files here, or send where nobody should.
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


class ChatParams(Params, kw_only=True):
    """Which account of which service is written to."""

    url: Annotated[
        Secret,
        Meta(
            description="The service and its keys, as Apprise writes them; one of "
            + ", ".join(f"{name}://" for name in SERVICES)
            + ".",
            examples=["tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"],
        ),
    ]

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + only_problems({"url": url_problem(self.url)})


def url_problem(url: str) -> str | None:
    """Why nothing can be sent with this URL; what it says is not repeated."""
    found = URL.fullmatch(url)
    if found is None or found[1] not in SERVICES:
        return f"must begin with one of {', '.join(f'{name}://' for name in SERVICES)}"
    place, options = SERVICES[found[1]]
    return _services().problem(place, url, options)


class Chat:
    """One account of one service."""

    type: ClassVar[str] = "chat"
    title: ClassVar[str] = "Chat and on-call services"
    params_type: ClassVar[builtins.type[Params]] = ChatParams
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

    def __init__(self, params: ChatParams, means: Means) -> None:
        self._url = params.url
        self._at_once = asyncio.Semaphore(AT_ONCE_MAX)

    async def send(self, parcel: Parcel) -> Outcome:
        letter = letter_in(parcel)
        body = templates.with_held_back(letter.body, letter.held_back)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._at_once.acquire()
                telling = _threads(self._service).submit(self._tell, letter.subject, body)
                telling.add_done_callback(
                    partial(_freed, asyncio.get_running_loop(), self._at_once)
                )
                # One that has not begun by then is never sent; what has begun goes on.
                is_taken = await asyncio.wrap_future(telling)
        except TimeoutError:
            return Unreachable("the service did not answer in time")
        except ValueError:
            return Refused("the parameters cannot be used any more", is_final=True)
        if not is_taken:
            return Refused("the service could not be reached, or did not take it")
        return Delivered()

    @property
    def _service(self) -> str:
        return self._url.partition(":")[0]

    def _tell(self, subject: str, body: str) -> bool:
        if url_problem(self._url):
            raise ValueError("it passed when it was saved, by the rules of that time")
        place, _ = SERVICES[self._service]
        return _services().tell(place, self._url, subject, body)

    async def close(self) -> None:
        """Nothing stays open."""


class _Services(Protocol):
    """What `chat_services.py` offers."""

    def problem(self, place: str, url: str, options: frozenset[str]) -> str | None: ...

    def tell(self, place: str, url: str, subject: str, body: str) -> bool: ...


def _services() -> _Services:
    # Loaded for the first chat: the library takes its time and memory, and most need neither.
    return cast(_Services, importlib.import_module("longwire.notifications.types.chat_services"))


def _freed(
    loop: asyncio.AbstractEventLoop, at_once: asyncio.Semaphore, telling: "Future[bool]"
) -> None:
    with contextlib.suppress(RuntimeError):  # the service has stopped meanwhile
        loop.call_soon_threadsafe(at_once.release)


@functools.cache
def _threads(service: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS_PER_SERVICE_MAX, thread_name_prefix=f"chat-{service}")
