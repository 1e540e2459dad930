# Made from _async/live.py by scripts/generate.py; do not edit.
"""Follows what arrives, also across interruptions."""

from collections.abc import Iterable, Iterator

import msgspec

from longwire_client._sync.runtime import sleep
from longwire_client._sync.transport import Transport
from longwire_client.calls import Call
from longwire_client.errors import (
    ApiError,
    InvalidResponse,
    LongwireError,
    NotAllowed,
    NotFound,
)
from longwire_client.events import EventParser, Expired, LiveEvent, parse_event

# The service says something every 15 seconds.
SILENCE_MAX_S = 45.0
# Why the service ends a stream although the caller could open it again.
_REOPENED = {"stopping", "not_authenticated", "unavailable"}


class Live:
    """A stream of events, which is opened again whenever it breaks off.

    What arrived meanwhile is sent then; if that was too much, there is a `Lost`. `last_id` is where
    the stream is: hand it to `live(last_id=...)` to go on there in another process.
    """

    def __init__(self, transport: Transport, call: Call[bytes], last_id: str | None) -> None:
        self._transport = transport
        self._call = call
        self._parser = EventParser(last_id)
        self._is_ended = False  # by the service, so that it can be opened again

    @property
    def last_id(self) -> str | None:
        return self._parser.last_id

    def __iter__(self) -> Iterator[LiveEvent]:
        failures = 0
        while True:
            try:
                for event in self._events():
                    failures = 0
                    yield event
            except LongwireError as error:
                failures += 1
                if not error.is_temporary:
                    raise
                asked_s = (error.retry_after_s or 0.0) if isinstance(error, ApiError) else 0.0
                sleep(max(asked_s, self._transport.options.retries.back_off(failures)))

    def _events(self) -> Iterator[LiveEvent]:
        """The events of one connection, until the service ends it."""
        headers = {"Accept": "text/event-stream"}
        if self._parser.last_id is not None:
            headers["Last-Event-ID"] = self._parser.last_id
        self._parser.restart()
        self._is_ended = False
        with self._transport.stream(self._call, headers, SILENCE_MAX_S) as chunks:
            for chunk in chunks:
                for event in self._parse_events(chunk):
                    yield event
                if self._is_ended:
                    return

    def _parse_events(self, chunk: bytes) -> Iterable[LiveEvent]:
        """What a chunk has, up to the end of the stream; `last_id` goes with each event."""
        for name, data in self._parser.feed(chunk):
            event = _parse(name, data)
            if isinstance(event, Expired):
                _check_end(event)
                self._is_ended = True
                return
            if event is not None:
                yield event


def _parse(name: str, data: bytes) -> LiveEvent | Expired | None:
    try:
        return parse_event(name, data)
    except msgspec.DecodeError as error:
        raise InvalidResponse(f"GET /live, event {name}: {error}") from error


def _check_end(end: Expired) -> None:
    """Raise if the stream cannot be opened again."""
    if end.code in _REOPENED:
        return
    kind = {"not_allowed": NotAllowed, "not_found": NotFound}.get(end.code, ApiError)
    raise kind({"not_allowed": 403, "not_found": 404}.get(end.code, 0), end.code, end.detail)
