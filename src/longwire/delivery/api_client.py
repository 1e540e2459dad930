"""Requests to the APIs of others: one exchange, and what was answered or why nothing was.

The client is the one of the webhooks, with its guard and its limits. Here an answer is read as far
as it is short, because some of it has to be understood.
"""

from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from longwire import __version__
from longwire.clock import Moment
from longwire.delivery.destinations.base import Delivered, Outcome, Refused
from longwire.delivery.destinations.http import after, guarded_session, wait_s
from longwire.delivery.egress import Egress

ANSWER_BYTES_MAX = 64 * 1_024
# Ours may have been wrong at that moment, or theirs is: the same request may do better later.
LATER = frozenset((408, 425, 429))
# Whoever has set up the other side, or the key for it, may mend that meanwhile.
LATER_THAN_KEYS = LATER | {401, 403}


class Answer(msgspec.Struct, frozen=True):
    """What the other side has answered."""

    status: int
    body: bytes
    retry_after: str | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_conflict(self) -> bool:
        """What was asked for is there already."""
        return self.status == 409

    @property
    def is_gone(self) -> bool:
        """There is nothing at this address."""
        return self.status in (404, 410)

    @property
    def is_withheld(self) -> bool:
        """What was asked for is not there, or not for us to see."""
        return self.status in (403, 404)

    def member(self, name: str) -> str | None:
        """A text in the object that was answered, if it is there."""
        try:
            said = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError):
            return None
        found = said.get(name) if isinstance(said, dict) else None
        return found if isinstance(found, str) else None


class Caller:
    """Open connections to one API."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._session: aiohttp.ClientSession | None = None

    async def call(
        self, method: str, url: str, headers: Mapping[str, str], body: Any = None
    ) -> Answer | Outcome:
        """One request with a JSON body, and its answer; or why there was none."""
        try:
            return await self._exchange(method, url, dict(headers), body)
        except Exception as error:
            return after(error)

    async def _exchange(self, method: str, url: str, headers: dict[str, str], body: Any) -> Answer:
        if self._session is None:
            self._session = guarded_session(self._egress, {"User-Agent": f"longwire/{__version__}"})
        if body is not None:
            headers["Content-Type"] = "application/json"
        response = await self._session.request(
            method,
            url,
            data=None if body is None else msgspec.json.encode(body),
            headers=headers,
            allow_redirects=False,
        )
        try:
            said = await _heard(response.content)
            return Answer(response.status, said, response.headers.get("Retry-After"))
        finally:
            response.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _heard(content: aiohttp.StreamReader) -> bytes:
    """An answer as far as it is worth reading."""
    parts = b""
    while len(parts) <= ANSWER_BYTES_MAX and not content.at_eof():
        parts += await content.readany()
    return parts


def outcome(
    answer: Answer, at: Moment, *, later: frozenset[int] = LATER, said: str = ""
) -> Outcome:
    """What an answer means for the message; `said` are words of the other side to be shown."""
    if answer.is_success:
        return Delivered(said)
    reason = f"answered with status {answer.status}" + (f": {said}" if said else "")
    return Refused(
        reason,
        is_final=400 <= answer.status < 500 and answer.status not in later,
        retry_after_s=wait_s(answer.retry_after, at),
    )
