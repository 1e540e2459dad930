"""Parse the request of a network callback into values by name.

Networks fill in templates: a JSON object may come under the media type of a form, and a missing
value as one of several words.
"""

import codecs
import re
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from longwire.networks.base import InvalidMessage
from longwire.networks.json_text import (
    INTEGER_MAX,
    JSON_VALUES_MAX,
    check_values,
    clean_text,
    parse_json,
    unique_members,
)
from longwire.networks.values import is_empty

BODY_BYTES_MAX = 1024 * 1024
FORM_FIELDS_MAX = 1_000

# The group's token may be in the query. It is not part of the message.
TOKEN = "token"


def parse_body(media_type: str | None, raw: bytes, query: bytes) -> dict[str, Any]:
    """The values of a request by name: of its body, or of its query if the body is empty."""
    if len(raw) > BODY_BYTES_MAX:
        raise InvalidMessage(f"The body may have at most {BODY_BYTES_MAX} bytes.")
    body = raw.removeprefix(b"\xef\xbb\xbf").strip()
    plain = _parse_flat_object(body)
    if plain is not None:
        return plain
    if body:
        values = _parse_content((media_type or "").partition(";")[0].strip().lower(), body)
    else:
        values = _parse_form(query)
        values.pop(TOKEN, None)
    return {name: None if is_empty(value) else value for name, value in values.items()}


def _parse_content(media_type: str, body: bytes) -> dict[str, Any]:
    # JSON templates are often sent with the network's default media type, which is that of a form.
    if body.startswith(b"{"):
        value = _parse_template_json(body)
        if isinstance(value, dict):
            return value
    if media_type in _BINARY_TYPES:
        raise InvalidMessage(
            "The body is Protobuf. Set the payload encoding of the integration at ChirpStack, or "
            "the format of the webhook at The Things Stack, to JSON."
        )
    if media_type == "application/json" or media_type.endswith("+json"):
        raise InvalidMessage("The body is not a JSON object.")
    if media_type not in _FORM_TYPES or b"=" not in body:
        raise InvalidMessage("The body is neither a JSON object nor a form.")
    return _parse_form(body)


# As ChirpStack and The Things Stack send Protobuf.
_BINARY_TYPES = {"application/octet-stream", "application/x-protobuf", "application/protobuf"}
_FORM_TYPES = {"", "text/plain", "application/x-www-form-urlencoded"}


# --- for people ---

# Session keys, as networks name them: whoever has one could decrypt all payloads of a device.
_SECRETS = (b"joinservercontext", b"app_s_key", b"appskey", b"nwkskey")
_SEARCHED_BYTES_MAX = 64 * 1024


def describe_body(body: bytes, characters_max: int) -> str:
    """The begin of a body as text, without session keys; in hex if it is no text."""
    shown = body[:characters_max]
    folded = shown.lower()
    if any(each in folded for each in _SECRETS):
        shown = _encode_without_secrets(body)[:characters_max]
    try:
        # It may end within a character.
        return clean_text(codecs.getincrementaldecoder("utf-8")().decode(shown))
    except UnicodeDecodeError:
        return shown[: characters_max // 2].hex()


def _encode_without_secrets(body: bytes) -> bytes:
    """JSON without session keys; nothing of what is no JSON, or too long to be looked through."""
    if len(body) > _SEARCHED_BYTES_MAX:
        return b""
    try:
        return _ENCODER.encode(_without_secrets(parse_json(body)))
    except InvalidMessage:
        return b""


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_secrets(each)
            for name, each in value.items()
            if name.lower().encode() not in _SECRETS
        }
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


_ENCODER = msgspec.json.Encoder()


# --- forms ---


def _parse_form(raw: bytes) -> dict[str, Any]:
    pairs = raw.split(b"&", FORM_FIELDS_MAX)
    if len(pairs) > FORM_FIELDS_MAX:
        raise InvalidMessage(f"The form may have at most {FORM_FIELDS_MAX} fields.")
    named = [pair.partition(b"=") for pair in pairs if b"=" in pair]
    return unique_members(
        (_decode_form_text(name), _strip_quotes(_decode_form_text(value)))
        for name, _, value in named
    )


def _decode_form_text(raw: bytes) -> str:
    return clean_text(unquote_to_bytes(raw.replace(b"+", b" ")).decode(errors="replace").strip())


def _strip_quotes(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


# --- JSON ---


def _parse_flat_object(raw: bytes) -> dict[str, Any] | None:
    """Fast path for an object of scalars; None if the body needs the full parser.

    Saves a fifth of the CPU time of a vendor callback with the fields of the radio link.
    Without escapes, a colon right after a quote follows a name. So if there are no other colons
    and as many names as colons, no name is duplicated.
    """
    if raw[:1] != b"{" or raw.count(b"{") != 1 or b"[" in raw or b"\\" in raw:
        return None
    colons = raw.count(b":")
    if raw.count(b'":') != colons or 2 * colons > JSON_VALUES_MAX:
        return None
    try:
        found = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if not isinstance(found, dict) or len(found) != colons:
        return None
    for name, value in found.items():
        if type(value) is str:
            if is_empty(value):
                found[name] = None
        elif type(value) is int and value > INTEGER_MAX:
            return None
    return found


_DECODER = msgspec.json.Decoder()


def _parse_template_json(raw: bytes) -> Any:
    """The JSON of a template, also if unquoted values have made it invalid."""
    check_values(raw)
    try:
        return parse_json(raw)
    except InvalidMessage as error:
        try:
            return parse_json(_UNQUOTED.sub(_quote_value, raw))
        except InvalidMessage:
            raise error from None


# Either a string, to skip; or an unquoted value after a colon: nothing, N/A, or hex digits that are
# not a JSON number, like 0A1B or 007. Linear time: possessive, an unclosed string counts as one.
_UNQUOTED = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?|(?P<colon>:\s*+)(?P<bare>(?:[Nn]/[Aa]|[0-9A-Fa-f]++)?+)(?=\s*+[,}])',
    re.DOTALL,
)
_JSON_INTEGER = re.compile(rb"0|[1-9][0-9]*")


def _quote_value(found: re.Match[bytes]) -> bytes:
    bare = found["bare"]
    if bare is None or _JSON_INTEGER.fullmatch(bare):
        return found[0]
    return found["colon"] + b'"' + bare + b'"'
