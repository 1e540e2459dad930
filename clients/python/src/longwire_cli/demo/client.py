"""A caller of the service's HTTP API."""

from dataclasses import dataclass
from typing import Any

import aiohttp

from longwire_cli.demo.errors import DemoError, ServiceUnreachable

Json = dict[str, Any]

_TOKEN_PATH = "/oauth2/token?grant_type=client_credentials"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    client_id: str
    client_secret: str


class Api:
    """Sends requests of one user or app client, with a token that it renews."""

    def __init__(
        self, http: aiohttp.ClientSession, url: str, credentials: ClientCredentials
    ) -> None:
        self.http = http
        self.url = url
        self._credentials = credentials
        self._token = ""

    def sign_in_as(self, credentials: ClientCredentials) -> "Api":
        """The same service, used by somebody else."""
        return Api(self.http, self.url, credentials)

    async def get(self, path: str, **params: Any) -> Any:
        return await self.request("GET", path, params)

    async def post(self, path: str, body: Json | None = None, **params: Any) -> Any:
        return await self.request("POST", path, params, json=body or {})

    async def put(self, path: str, body: Json) -> Any:
        return await self.request("PUT", path, {}, json=body)

    async def delete(self, path: str, **params: Any) -> Any:
        return await self.request("DELETE", path, params)

    async def request(self, method: str, path: str, params: Json, **body: Any) -> Any:
        """The response of a request that must succeed."""
        if not self._token:
            await self._renew_token()
        status, response = await self._send(method, path, params, **body)
        if status == 401:  # it has expired
            await self._renew_token()
            status, response = await self._send(method, path, params, **body)
        if status != 200:
            raise DemoError(f"{method} {path}: {status} {_detail_of(response)}")
        return response

    async def _send(self, method: str, path: str, params: Json, **body: Any) -> tuple[int, Any]:
        query = {name: _to_query(value) for name, value in params.items() if value is not None}
        given = {"Authorization": f"Bearer {self._token}", **body.pop("headers", {})}
        return await send(self.http, method, self.url + path, params=query, headers=given, **body)

    async def _renew_token(self) -> None:
        client = self._credentials
        basic = aiohttp.encode_basic_auth(client.client_id, client.client_secret)
        headers = {**_FORM, "Authorization": basic}
        status, response = await send(self.http, "POST", self.url + _TOKEN_PATH, headers=headers)
        if status != 200:
            raise DemoError(f"no token: {status} {_detail_of(response)}")
        self._token = response["access_token"]


async def send(http: aiohttp.ClientSession, method: str, url: str, **given: Any) -> tuple[int, Any]:
    """The status and the JSON body of a response."""
    try:
        async with http.request(method, url, **given) as response:
            return response.status, await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise ServiceUnreachable(f"{url} cannot be reached: {error}") from error


def _to_query(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _detail_of(response: Any) -> str:
    if not isinstance(response, dict):
        return ""
    fields = [f"{each['field']} {each['message']}" for each in response.get("errors", [])]
    return "; ".join([str(response.get("detail", response)), *fields])
