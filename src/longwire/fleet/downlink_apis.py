"""The networks to which downlinks are sent through an API that the operator has configured."""

from collections.abc import Callable, Mapping

import msgspec

from longwire.clock import Moment
from longwire.networks import chirpstack, chirpstack_grpc, loriot, thingpark
from longwire.networks.base import (
    CHIRPSTACK,
    LORIOT,
    THINGPARK,
    ApiReply,
    ApiRequest,
    DownlinkFrame,
    QueuedItem,
)


class DownlinkApi(msgspec.Struct, frozen=True):
    """How downlinks reach a network through the API that the operator has configured."""

    title: str
    push_request: Callable[[DownlinkFrame, str, str, Moment], ApiRequest]
    parse_reply: Callable[[bytes, DownlinkFrame], ApiReply]
    # Finds a downlink in the queue that a GET of the same path returns, if the network has one.
    find_in_queue: Callable[[bytes, DownlinkFrame], str | None] | None = None
    queue: "QueueApi | None" = None
    # Of a network whose own API is not REST: what a REST proxy in front of it would do.
    transcode_request: Callable[[str, ApiRequest], ApiRequest] | None = None
    transcode_response: (
        Callable[[str, int, Mapping[str, str], bytes], tuple[int, bytes] | None] | None
    ) = None


class QueueApi(msgspec.Struct, frozen=True):
    """The queue of a device, of a network that lists it by GET and empties it by DELETE."""

    build_request: Callable[[str, str], ApiRequest]  # for an original id, with the key
    parse: Callable[[bytes], list[QueuedItem] | None]  # None if the response does not say


DOWNLINK_APIS: Mapping[str, DownlinkApi] = {
    CHIRPSTACK: DownlinkApi(
        "ChirpStack",
        chirpstack.push_request,
        chirpstack.parse_reply,
        chirpstack.find_in_queue,
        QueueApi(chirpstack.queue_request, chirpstack.parse_queue),
        chirpstack_grpc.transcode_request,
        chirpstack_grpc.transcode_response,
    ),
    LORIOT: DownlinkApi("LORIOT", loriot.push_request, loriot.parse_reply),
    THINGPARK: DownlinkApi("ThingPark", thingpark.push_request, thingpark.parse_reply),
}
