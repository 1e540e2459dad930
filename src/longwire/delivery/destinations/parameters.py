"""Parameters as JSON text, as they are received, stored and returned: schema, validation, secrets.

Secrets are found by their mark in the schema of the parameters' type. Of a URL everything but the
host is one: those of many services have a key in their path or query.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from longwire.delivery.destinations.base import MASK, ParamsBase
from longwire.delivery.http.egress import Egress
from longwire.errors import FieldError

P = TypeVar("P", bound=ParamsBase)
ParamsType = type[ParamsBase]
Mask = Callable[[str], str]

_URL = re.compile(r"(https?://)(?:[^/?#\\]*@)?([^/?#\\]*)", re.IGNORECASE)


def schema_text(params_type: ParamsType) -> str:
    """The JSON Schema of parameters, as text."""
    return json.dumps(_schema(params_type))


def parse_params(params_type: type[P], text: str) -> P:
    """Stored parameters, validated when they were saved, as a value."""
    return msgspec.json.decode(text, type=params_type)


def validate_params(
    params_type: type[P],
    requested: str,
    stored: str | None,
    parse_requested: Callable[[type[P], str], P],
    egress: Egress,
) -> tuple[str, P, list[FieldError]]:
    """Requested parameters as text and as a value, and their validation errors.

    `stored` are the current ones, if of the same type: a mask stands for the secret in its place.
    """
    text, params = requested, parse_requested(params_type, requested)
    if stored is not None:
        text = restore_secrets(params_type, text, stored)
        params = parse_params(params_type, text)
    field_errors = [
        FieldError(f"params.{place}", "is a mask; send the secret itself")
        for place, secret in list_secrets(params_type, text)
        if _is_mask(secret)
    ]
    field_errors += [
        FieldError(f"params.{place}", reason) for place, reason in params.validate(egress)
    ]
    return text, params, field_errors


def mask_secrets(params_type: ParamsType, text: str) -> str:
    """The parameters without their secrets."""
    value, has_unique_keys = _load(text)
    hidden = _map_secrets(value, _schema(params_type), lambda path, secret, mask: mask(secret))
    return text if hidden == value and has_unique_keys else json.dumps(hidden, ensure_ascii=False)


def restore_secrets(params_type: ParamsType, text: str, stored: str) -> str:
    """New parameters with masks replaced by the stored secrets."""
    value, old = json.loads(text), json.loads(stored)

    def restore(path: tuple[str, ...], secret: str, mask: Mask) -> str:
        if not _is_mask(secret):
            return secret
        present = _get_path(old, path)
        return present if isinstance(present, str) and mask(present) == secret else secret

    whole = _map_secrets(value, _schema(params_type), restore)
    return text if whole == value else json.dumps(whole, ensure_ascii=False)


def list_secrets(params_type: ParamsType, text: str) -> list[tuple[str, str]]:
    """(path, secret) of every secret among the parameters."""
    found: list[tuple[str, str]] = []

    def collect(path: tuple[str, ...], secret: str, mask: Mask) -> str:
        found.append((".".join(path), secret))
        return secret

    _map_secrets(json.loads(text), _schema(params_type), collect)
    return found


def mask_url(url: str) -> str:
    """A URL without what is behind its host, if there is anything, and without credentials."""
    found = _URL.match(url)
    if found is None:
        return MASK
    origin = "".join(found.groups())
    return url if url in (origin, f"{origin}/") else f"{origin}/{MASK}"


def mask_url_member(text: str) -> str:
    """Parameters of an unknown type, with their URL masked if they have one."""
    value = json.loads(text)
    url = value.get("url") if isinstance(value, dict) else None
    if not isinstance(url, str) or not _URL.match(url) or mask_url(url) == url:
        return text
    return json.dumps(value | {"url": mask_url(url)}, ensure_ascii=False)


def _mask_whole(secret: str) -> str:
    return MASK


def _is_mask(secret: str) -> bool:
    return secret == MASK or (secret.endswith(f"/{MASK}") and mask_url(secret) == secret)


@functools.cache
def _schema(params_type: ParamsType) -> dict[str, Any]:
    (schema,), parts = msgspec.json.schema_components([params_type], ref_template="#/$defs/{name}")
    own: dict[str, Any] = parts.pop(schema["$ref"].rpartition("/")[2])
    return own | ({"$defs": parts} if parts else {})


def _map_secrets(
    value: Any, schema: Mapping[str, Any], change: Callable[[tuple[str, ...], str, Mask], str]
) -> Any:
    """A copy of the value with `change` applied to every secret, with how that is masked."""
    parts = schema.get("$defs", {})

    def walk(value: Any, schema: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        if "$ref" in schema:
            return walk(value, parts[schema["$ref"].rpartition("/")[2]], path)
        if schema.get("writeOnly") and isinstance(value, str):
            return change(path, value, mask_url if schema.get("format") == "uri" else _mask_whole)
        for option in schema.get("anyOf", ()):
            value = walk(value, option, path)
        if isinstance(value, dict):
            known = schema.get("properties", {})
            others = schema.get("additionalProperties")
            others = others if isinstance(others, dict) else {}
            return {
                name: walk(each, known.get(name, others), (*path, name))
                for name, each in value.items()
            }
        return value

    return walk(value, schema, ())


def _load(text: str) -> tuple[Any, bool]:
    """The value of a JSON text, and whether no key occurs twice; the last one counts."""
    has_unique_keys = True

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_unique_keys
        value = dict(pairs)
        has_unique_keys = has_unique_keys and len(value) == len(pairs)
        return value

    return json.loads(text, object_pairs_hook=members), has_unique_keys


def _get_path(value: Any, path: tuple[str, ...]) -> Any:
    """What is there; None if nothing is."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value
