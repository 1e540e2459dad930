"""The client: its options, its nouns, and what is written by hand."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

import msgspec

from longwire_client._async.live import AsyncLive
from longwire_client._async.nouns import AsyncNouns
from longwire_client._async.transport import AsyncTransport
from longwire_client.auth import ClientCredentials, SessionCookie, TokenFunction, TokenSource
from longwire_client.calls import Call, QueryValue
from longwire_client.errors import ApiError, LongwireError
from longwire_client.options import Options
from longwire_client.retries import Retries
from longwire_client.spool import Entry, Spool
from longwire_client.writer import AsyncWriter


class AsyncClient(AsyncNouns):
    """A longwire service.

    Give a client id and its secret, or a token, or a function that returns one, or the cookie of
    the `session` of a person (`name=value`). Tokens of clients are requested and renewed as needed.
    `url` may have a path, if the service is served below one.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        token: str | Callable[[], str] | None = None,
        session: str | None = None,
        auth_url: str | None = None,
        retries: Retries | None = None,
        timeout_s: float = 60.0,
        verify: SSLContext | bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        options = Options(
            url=url.rstrip("/"),
            source=_choose_source(client_id, client_secret, token, session),
            auth_url=(auth_url or url).rstrip("/"),
            retries=retries or Retries(),
            timeout_s=timeout_s,
            verify=verify,
            headers=headers or {},
        )
        self._transport = AsyncTransport(options)
        super().__init__(self._transport)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """As the environment says.

        LONGWIRE_URL, and LONGWIRE_TOKEN or LONGWIRE_CLIENT_ID and LONGWIRE_CLIENT_SECRET.
        """
        return cls(
            environment.get("LONGWIRE_URL", "http://127.0.0.1:8080"),
            client_id=environment.get("LONGWIRE_CLIENT_ID"),
            client_secret=environment.get("LONGWIRE_CLIENT_SECRET"),
            token=environment.get("LONGWIRE_TOKEN"),
            auth_url=environment.get("LONGWIRE_AUTH_URL"),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    @property
    def options(self) -> Options:
        return self._transport.options

    def live(
        self,
        group_id: str | Sequence[str],
        *,
        subgroups: bool | None = None,
        device_id: str | None = None,
        kinds: Sequence[str] | None = None,
        filter: str | None = None,
        last_id: str | None = None,
    ) -> AsyncLive:
        """Follow what arrives in up to 20 groups; needs `record.read` in each.

        The stream goes on until the loop over it is left. `filter` is an expression as of a
        connector; with `last_id`, what arrived since comes first.
        """
        query: dict[str, QueryValue] = {
            "groupId": [group_id] if isinstance(group_id, str) else list(group_id),
            "subgroups": subgroups,
            "deviceId": device_id,
            "kinds": kinds,
            "filter": filter,
        }
        call: Call[bytes] = Call("GET", "/live", bytes, query, is_repeatable=True)
        return AsyncLive(self._transport, call, last_id)

    def writer(
        self,
        *,
        spool: Spool | str | Path | None = None,
        batch_records: int = 500,
        batch_bytes: int = 2 * 1024**2,
        linger_s: float = 0.2,
        queue_records: int = 10_000,
        in_flight: int = 1,
        on_rejected: Callable[[Entry, ApiError], None] | None = None,
        on_failure: Callable[[LongwireError], None] | None = None,
    ) -> AsyncWriter:
        """Write many records in batches; with a spool, none is lost in an outage of the service.

        `queue_records` is how many may wait in memory without a spool. More than one batch
        `in_flight` is faster, but then the order is up to the service.
        """
        return AsyncWriter(
            self.options,
            spool=spool,
            batch_records=batch_records,
            batch_bytes=batch_bytes,
            linger_s=linger_s,
            queue_records=queue_records,
            in_flight=in_flight,
            on_rejected=on_rejected,
            on_failure=on_failure,
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Any = None,
        repeatable: bool | None = None,
    ) -> Any:
        """Any other operation, with JSON values and the names of the API.

        What may have been carried out is only sent again if it is `repeatable`; GET is.
        """
        call: Call[Any] = Call(
            method,
            path,
            Any,
            query or {},
            None if body is None else msgspec.json.encode(body),
            is_repeatable=method == "GET" if repeatable is None else repeatable,
        )
        return await self._transport.request(call)


def _choose_source(
    client_id: str | None,
    client_secret: str | None,
    token: str | Callable[[], str] | None,
    session: str | None,
) -> TokenSource:
    if session is not None:
        return SessionCookie(session)
    if token is not None:
        given = token
        return TokenFunction((lambda: given) if isinstance(given, str) else given)
    if not client_id or not client_secret:
        raise ValueError("a client needs client_id and client_secret, or a token")
    return ClientCredentials(client_id, client_secret)
