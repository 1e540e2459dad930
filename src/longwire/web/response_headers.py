"""The header fields of responses; most responses differ in two of them only."""

from longwire.web.asgi import Header
from longwire.web.request_cycle import encode_fields
from longwire.web.routing import Request, Response

LENGTH = b"content-length"

_COMMON: tuple[Header, ...] = ((b"x-content-type-options", b"nosniff"),)
_TLS_ONLY: tuple[Header, ...] = ((b"strict-transport-security", b"max-age=31536000"),)
_PLAIN = Response(200, b"")


class ResponseHeaders:
    """Builds the header fields of a response, as pairs or as bytes."""

    def __init__(self, *, has_tls: bool) -> None:
        self._common = _COMMON + _TLS_ONLY if has_tls else _COMMON
        self._plain_lines = encode_fields(self._build(_PLAIN, b"%d", b"%b"))

    def build(self, request: Request, response: Response) -> list[Header]:
        length, request_id = b"%d" % len(response.body), request.request_id.encode()
        return self._build(response, length, request_id)

    def encode(self, request: Request, response: Response) -> bytes:
        if (
            not response.headers
            and response.media_type == _PLAIN.media_type
            and response.cache_control == _PLAIN.cache_control
        ):
            return self._plain_lines % (len(response.body), request.request_id.encode())
        return encode_fields(self.build(request, response))

    def _build(self, response: Response, length: bytes, request_id: bytes) -> list[Header]:
        return [
            (b"content-type", response.media_type.encode()),
            (LENGTH, length),
            (b"x-request-id", request_id),
            (b"cache-control", response.cache_control),
            *self._common,
            *response.headers,
        ]
