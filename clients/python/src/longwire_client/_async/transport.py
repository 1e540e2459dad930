"""Sends requests: with a token, over pooled connections, again where that helps."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx

from longwire_client._async.runtime import Lock, sleep
from longwire_client._version import USER_AGENT
from longwire_client.auth import (
    TOKEN_CALL,
    ClientCredentials,
    TokenCache,
    authorization_headers,
)
from longwire_client.calls import Call
from longwire_client.errors import (
    ConnectionFailed,
    LongwireError,
    NotAuthenticated,
    ResponseLost,
)
from longwire_client.options import Options

T = TypeVar("T")

# The service closes idle connections after 30 seconds; we close them before. All idle ones are kept
# until then: closing surplus ones can hit one that another thread has just been given.
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=None, keepalive_expiry=20)
# Nothing was sent yet when one of these occurs.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class AsyncTransport:
    """One service, one token, one pool of connections."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._http = httpx.AsyncClient(
            base_url=options.url,
            headers={"User-Agent": USER_AGENT, **options.headers},
            timeout=options.timeout_s,
            verify=options.verify,
            limits=_LIMITS,
        )
        self._cache = TokenCache()
        self._renewing = Lock()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def request(self, call: Call[T]) -> T:
        """The response of an operation; or a LongwireError."""
        response = await self._send(call, {})
        return call.parse(response.status_code, response.headers, response.content)

    @asynccontextmanager
    async def stream(
        self,
        call: Call[bytes],
        headers: Mapping[str, str] | None = None,
        read_timeout_s: float | None = None,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of a response while it arrives."""
        timeout_s = self.options.timeout_s
        response = await self._send(
            call,
            headers or {},
            is_stream=True,
            timeouts=httpx.Timeout(timeout_s, read=read_timeout_s or timeout_s),
        )
        try:
            yield response.aiter_bytes()
        except httpx.TransportError as error:
            raise ResponseLost(f"{call.method} {call.path}: {error!r}") from error
        finally:
            await response.aclose()

    async def _send(
        self,
        call: Call[T],
        headers: Mapping[str, str],
        *,
        is_stream: bool = False,
        timeouts: httpx.Timeout | None = None,
    ) -> httpx.Response:
        """A success; a token that the service refuses is renewed once."""
        may_renew = True
        attempt = 1
        while True:
            token = await self._token()
            sent = {**authorization_headers(self.options.source, token), **headers}
            try:
                return await self._attempt(call, sent, is_stream, timeouts)
            except NotAuthenticated:
                if not may_renew or not self._is_renewable(token):
                    raise
                may_renew = False
                self._cache.discard(token)
            except LongwireError as error:
                await self._pause(error, attempt, call)
                attempt += 1

    async def _attempt(
        self,
        call: Call[T],
        headers: Mapping[str, str],
        is_stream: bool = False,
        timeouts: httpx.Timeout | None = None,
        url: str | None = None,
    ) -> httpx.Response:
        """One request; a success, or an exception."""
        if call.body is not None:
            headers = {"Content-Type": call.media_type, **headers}
        request = self._http.build_request(
            call.method,
            call.path if url is None else url,
            params=call.parameters(),
            content=call.body,
            headers=headers,
            timeout=httpx.USE_CLIENT_DEFAULT if timeouts is None else timeouts,
        )
        try:
            response = await self._http.send(request, stream=is_stream)
            if response.status_code == 200:
                return response
            body = await response.aread()
            await response.aclose()
        except _NOT_SENT as error:
            raise ConnectionFailed(f"{self.options.url}: {error!r}") from error
        except httpx.TransportError as error:
            raise ResponseLost(f"{call.method} {call.path}: {error!r}") from error
        raise call.error(response.status_code, response.headers, body)

    async def _pause(self, error: LongwireError, attempt: int, call: Call[T]) -> None:
        """Wait for the next attempt, or raise the error if there is none."""
        retries = self.options.retries
        delay_s = retries.next_delay(error, attempt, is_repeatable=call.is_repeatable)
        if delay_s is None:
            raise error
        await sleep(delay_s)

    # --- tokens ---

    async def _token(self) -> str:
        token = self._cache.get()
        if token is not None:
            return token
        async with self._renewing:  # others wait for the one that is on its way
            return self._cache.get() or await self._renew()

    async def _renew(self) -> str:
        source = self.options.source
        if not isinstance(source, ClientCredentials):
            return self._cache.set(source.get())
        headers = {"Authorization": source.authorization()}
        url = self.options.auth_url + TOKEN_CALL.path
        attempt = 1
        while True:
            try:
                response = await self._attempt(TOKEN_CALL, headers, url=url)
            except LongwireError as error:
                await self._pause(error, attempt, TOKEN_CALL)
                attempt += 1
            else:
                issued = TOKEN_CALL.parse(200, response.headers, response.content)
                return self._cache.set(issued.access_token, issued.expires_in)

    def _is_renewable(self, token: str) -> bool:
        """Whether there may be another token than the one that was refused."""
        source = self.options.source
        return isinstance(source, ClientCredentials) or source.get() != token
