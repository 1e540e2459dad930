"""A client for the API of a network that takes downlinks: as REST, or transcoded."""

from longwire.delivery.destinations.base import FailureCode, Outcome, Refused
from longwire.delivery.http.api_client import ApiClient, ApiResponse
from longwire.delivery.http.egress import Egress
from longwire.fleet.downlink_apis import DownlinkApi
from longwire.fleet.network_apis import NetworkApi
from longwire.networks.base import ApiRequest


class DownlinkApiClient:
    """Keeps connections to the API of one network open."""

    def __init__(self, network: DownlinkApi, api: NetworkApi, egress: Egress) -> None:
        self._network = network
        self._api = api
        self._client = ApiClient(egress.unrestricted)
        self._is_transcoded = False  # there is no REST proxy in front of the network's own API

    async def request(self, method: str, sent: ApiRequest) -> ApiResponse | Outcome:
        """Ask the REST API; or the network itself, if there is no such API at the URL."""
        if not self._is_transcoded:
            url = self._api.url_for(sent.path)
            response = await self._client.request(method, url, sent.headers, sent.body)
            can_transcode = self._network.transcode_request is not None
            if not (can_transcode and isinstance(response, ApiResponse) and response.is_no_json):
                return response
        return await self._request_transcoded(method, sent)

    async def _request_transcoded(self, method: str, sent: ApiRequest) -> ApiResponse | Outcome:
        encode, decode = self._network.transcode_request, self._network.transcode_response
        assert encode is not None and decode is not None
        transcoded = encode(method, sent)
        response = await self._client.request(
            "POST", self._api.url_for(transcoded.path), transcoded.headers, transcoded.raw_body
        )
        if not isinstance(response, ApiResponse):
            return response
        found = decode(method, response.status, response.headers, response.body)
        self._is_transcoded = found is not None
        if found is None:
            title = self._network.title
            return Refused(
                f"the URL is neither that of {title} nor that of its REST API: it answered with "
                f"status {response.status} to both",
                code=FailureCode.NOT_CONFIGURED,
                status=response.status,
            )
        status, body = found
        return ApiResponse(status, body)

    async def close(self) -> None:
        await self._client.close()
