"""A client of the live stream, on a thread of its own."""

import contextlib
import json
import socket
import threading
from types import TracebackType
from typing import Any

import httpx

from tests.waiting import eventually
from tests.world import Person

Json = dict[str, Any]


class Listening:
    """Reads events until it is closed or the service ends the stream."""

    def __init__(
        self,
        person: Person,
        last_id: str | None = None,
        *,
        cookie: str | None = None,
        **params: Any,
    ) -> None:
        """With the cookie of a session there is no token, as in a browser's `EventSource`."""
        self.events: list[tuple[str, Any]] = []
        self.last_id = last_id
        self.has_ended = False
        self.comments = 0
        headers = {"Authorization": f"Bearer {person.token}"}
        if cookie is not None:
            headers = {"Cookie": f"longwire={cookie}", "Sec-Fetch-Site": "same-origin"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        self._client = httpx.Client(base_url=person.world.url, timeout=None)
        request = self._client.build_request("GET", "/live", params=params, headers=headers)
        self._response = self._client.send(request, stream=True)
        self.status = self._response.status_code
        assert self.status == 200, self._response.read()
        assert self._response.headers["content-type"] == "text/event-stream"
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        eventually(lambda: bool(self.events))

    def __enter__(self) -> "Listening":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> None:
        event, data, cursor = "", "", None
        try:
            for line in self._response.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    event = value
                elif field == "id":
                    cursor = value
                elif field == "data":
                    data = value
                elif line.startswith(":"):
                    self.comments += 1
                elif not line:
                    self.last_id, cursor = cursor or self.last_id, None
                    if data:
                        self.events.append((event, json.loads(data)))
                    event, data = "", ""
        except (httpx.HTTPError, OSError):
            pass  # closed by one of the two
        self.has_ended = True

    def named(self, name: str) -> list[Any]:
        return [data for event, data in list(self.events) if event == name]

    @property
    def records(self) -> list[Json]:
        return [item for items in self.named("records") for item in items]

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.records]

    def wait_for(self, count: int) -> list[str]:
        eventually(lambda: len(self.ids) >= count)
        return self.ids

    def wait_for_end(self) -> Json:
        eventually(lambda: self.has_ended)
        (last,) = self.named("expired")
        return dict(last)

    def close(self) -> None:
        # Closing alone would not wake the thread that reads, before the next heartbeat.
        with contextlib.suppress(OSError):
            stream = self._response.extensions["network_stream"]
            stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._client.close()
