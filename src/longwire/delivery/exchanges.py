"""Exchanges: an HTTP request as it was sent and the response to it, to be kept and shown.

Both are cut, and without the secrets of the connector, also where the receiver echoes one. Nothing
here is trusted: a body may be binary, compressed, in a wrong encoding, or made to look like one.
"""

import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

import msgspec

from longwire.clock import Moment
from longwire.delivery.http.recorder import Phase, Recorder

MASK = b"********"

# Of a body. What is behind it is received only to find a secret that begins before it.
BODY_BYTES_MAX = 4 * 1_024
SECRET_BYTES_MAX = 4 * 1_024
RECORDED_BYTES_MAX = BODY_BYTES_MAX + SECRET_BYTES_MAX
# A shorter text is in too many words; nobody has such a password.
SECRET_CHARACTERS_MIN = 4
# Parts of a URL: longer than the words of one.
PATH_SECRET_CHARACTERS_MIN = 20
QUERY_SECRET_CHARACTERS_MIN = 8
HEADER_CHARACTERS_MAX = 512
URL_CHARACTERS_MAX = 2_048
SENT_HEADERS_MAX = 60

# Those that say what a failure is about; none of them is a credential.
HEADERS_KEPT = (
    *("content-type", "content-length", "content-encoding", "date", "location", "retry-after"),
    *("server", "via", "www-authenticate", "proxy-authenticate", "x-request-id", "traceparent"),
    *("x-amzn-requestid", "x-amz-cf-id", "cf-ray", "request-id", "x-correlation-id", "allow"),
)
_PACKED = {b"gzip": 47, b"x-gzip": 47, b"deflate": 47}  # zlib's window: either header
_CHARSET = re.compile(rb"charset=\"?([\w-]{1,40})", re.IGNORECASE)
_CHARSETS = {b"iso-8859-1": "cp1252", b"latin-1": "cp1252", b"windows-1252": "cp1252"}
# What text does not have: most control characters.
_BINARY = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
# So many of its characters could not be decoded that it is no text.
_GARBLED_PART = 10


class Content(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a body. The order of the fields is what is stored."""

    text: str  # base64 if it is binary
    is_base64: bool
    size: int  # of the body in bytes, as far as it was received
    is_cut: bool


class SentRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request; secrets are masked."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Content


class ReceivedResponse(msgspec.Struct, frozen=True, array_like=True):
    """A response; secrets of the connector are masked."""

    status: int
    headers: Mapping[str, str]
    body: Content


class Exchange(msgspec.Struct, frozen=True, array_like=True):
    """What was sent in one attempt, and what came back. The order of the fields is stored."""

    id: str
    at: Moment
    duration_ms: int
    phase: Phase | None  # how far it came, if that is known
    messages: int  # how many the request had
    request: SentRequest
    response: ReceivedResponse | None = None


class SecretMask:
    """Hides secrets in what comes back, as they are and as an echo may write them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        wanted = {each for each in secrets if len(each) >= SECRET_CHARACTERS_MIN}
        spellings = {spelling for each in wanted for spelling in _spell(each)}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) or b"(?!)")

    def cut(self, raw: bytes, most: int) -> bytes:
        """The first bytes, with each secret that begins there masked as a whole."""
        pieces, at = [], 0
        for found in self._pattern.finditer(raw):
            if found.start() >= most:
                break
            pieces += [raw[at : found.start()], MASK]
            at = found.end()
        return b"".join([*pieces, raw[at:most]])


def _spell(secret: str) -> set[bytes]:
    raw = secret.encode(errors="replace")
    in_json = msgspec.json.encode(secret)[1:-1]
    in_html = raw.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    in_html = in_html.replace(b'"', b"&quot;")
    return {
        raw,
        in_json,
        in_json.replace(b"/", b"\\/"),
        in_html,
        in_html.replace(b"&quot;", b"&#34;").replace(b"'", b"&#39;"),
        quote(secret, safe="").encode(),
        quote(secret).encode(),
        b64encode(raw),
    }


def build_request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> SentRequest:
    """A request whose headers have been masked."""
    shown = dict(list(headers.items())[:SENT_HEADERS_MAX])
    shown = {name: value[:HEADER_CHARACTERS_MAX] for name, value in shown.items()}
    part = body[:BODY_BYTES_MAX]
    return SentRequest(method, url[:URL_CHARACTERS_MAX], shown, _decode(part, len(body), b""))


def build_response(recorder: Recorder, mask: SecretMask) -> ReceivedResponse | None:
    """What was received, if a response has begun."""
    if recorder.status is None:
        return None
    headers: dict[str, str] = {}
    values: dict[bytes, bytes] = {}
    for raw_name, value in recorder.headers:
        name = raw_name.lower()
        values.setdefault(name, value)
        text = name.decode("latin-1")
        if text in HEADERS_KEPT and text not in headers:
            headers[text] = mask.cut(value, HEADER_CHARACTERS_MAX).decode("latin-1")
    raw = bytes(recorder.body)
    raw = _unpack(raw, values.get(b"content-encoding", b"").strip().lower())
    body = mask.cut(raw, BODY_BYTES_MAX)
    is_cut = recorder.body_bytes > BODY_BYTES_MAX or len(raw) > BODY_BYTES_MAX
    content = _decode(body, recorder.body_bytes, values.get(b"content-type", b""), is_cut=is_cut)
    return ReceivedResponse(recorder.status, headers, content)


def _unpack(raw: bytes, encoding: bytes) -> bytes:
    """What is packed, unpacked no further than is kept: a few bytes may stand for gigabytes."""
    if encoding not in _PACKED or not raw:
        return raw
    try:
        return zlib.decompressobj(_PACKED[encoding]).decompress(raw, RECORDED_BYTES_MAX)
    except zlib.error:
        return raw


def _decode(part: bytes, size: int, content_type: bytes, *, is_cut: bool | None = None) -> Content:
    if is_cut is None:
        is_cut = size > len(part)
    charset = _CHARSET.search(content_type)
    encoding = _CHARSETS.get(charset[1].lower() if charset else b"", "utf-8")
    text = part.decode(encoding, errors="replace")
    if is_cut and text.endswith("�"):
        text = text[:-1]  # a character that was cut
    garbled = text.count("�")
    if _BINARY.search(text) or garbled * _GARBLED_PART > len(text):
        return Content(b64encode(part).decode(), True, size, is_cut)
    return Content(text, False, size, is_cut)


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Exchange)


def encode_exchange(exchange: Exchange) -> bytes:
    return _encode(exchange)


def decode_exchange(content: bytes) -> Exchange:
    return _decoder.decode(content)


def list_url_secrets(path_segments: Sequence[str], query_values: Iterable[str]) -> list[str]:
    """What of a URL is probably a key: long parts of its path, and the values of its query."""
    return [
        *(each for each in path_segments if len(each) >= PATH_SECRET_CHARACTERS_MIN),
        *(each for each in query_values if len(each) >= QUERY_SECRET_CHARACTERS_MIN),
    ]
