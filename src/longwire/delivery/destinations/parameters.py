"""Parameters as the text they come, rest and are answered in: their schema, and their secrets.

A type of parameters marks what is secret among them; these functions find it by the mark.
"""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

import msgspec

from longwire.delivery.destinations.base import MASK
from longwire.delivery.egress import Egress
from longwire.errors import Fault

P = TypeVar("P", bound=msgspec.Struct)
ParamsType = type[msgspec.Struct]


def schema_text(params_type: ParamsType) -> str:
    """The JSON Schema of parameters, as text."""
    return json.dumps(_schema(params_type))


def read(params_type: type[P], text: str) -> P:
    """Parameters that were checked before, as a value."""
    return msgspec.json.decode(text, type=params_type)


class Judging(Protocol):
    """Parameters that know what is wrong with them as a whole."""

    def problems(self, egress: Egress) -> list[tuple[str, str]]: ...


J = TypeVar("J", bound=Judging)


def judged(
    params_type: type[J],
    wished: str,
    kept: str | None,
    read_wished: Callable[[type[J], str], J],
    egress: Egress,
) -> tuple[str, J, list[Fault]]:
    """Parameters that somebody wishes for, as text and as a value, and all that is wrong with them.

    `kept` are those so far, if of the same type: a mask stands for the secret in its place.
    """
    text, params = wished, read_wished(params_type, wished)
    struct = cast(ParamsType, params_type)
    if kept is not None:
        text = unmasked(struct, text, kept)
        params = cast(J, read(struct, text))
    faults = [
        Fault(f"params.{place}", "is a mask; send the secret itself")
        for place, secret in secrets_in(struct, text)
        if secret == MASK
    ]
    faults += [Fault(f"params.{place}", why) for place, why in params.problems(egress)]
    return text, params, faults


def masked(params_type: ParamsType, text: str) -> str:
    """The parameters without their secrets."""
    value, is_plain = _loaded(text)
    hidden = _with_secrets(value, _schema(params_type), lambda path, secret: MASK)
    return text if hidden == value and is_plain else json.dumps(hidden, ensure_ascii=False)


def unmasked(params_type: ParamsType, text: str, kept: str) -> str:
    """New parameters in which a mask stands for the secret that was kept in its place."""
    value, old = json.loads(text), json.loads(kept)

    def restore(path: tuple[str, ...], secret: Any) -> Any:
        return _at(old, path, secret) if secret == MASK else secret

    whole = _with_secrets(value, _schema(params_type), restore)
    return text if whole == value else json.dumps(whole, ensure_ascii=False)


def secrets_in(params_type: ParamsType, text: str) -> list[tuple[str, str]]:
    """(place, secret) of every secret among the parameters."""
    found: list[tuple[str, str]] = []

    def note(path: tuple[str, ...], secret: Any) -> Any:
        found.append((".".join(path), secret))
        return secret

    _with_secrets(json.loads(text), _schema(params_type), note)
    return found


@functools.cache
def _schema(params_type: ParamsType) -> dict[str, Any]:
    (schema,), parts = msgspec.json.schema_components([params_type], ref_template="#/$defs/{name}")
    own: dict[str, Any] = parts.pop(schema["$ref"].rpartition("/")[2])
    return own | ({"$defs": parts} if parts else {})


def _with_secrets(
    value: Any, schema: Mapping[str, Any], change: Callable[[tuple[str, ...], Any], Any]
) -> Any:
    """A copy of the value in which every secret went through `change`."""
    parts = schema.get("$defs", {})

    def walk(value: Any, schema: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        if "$ref" in schema:
            return walk(value, parts[schema["$ref"].rpartition("/")[2]], path)
        if schema.get("writeOnly") and isinstance(value, str):
            return change(path, value)
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


def _loaded(text: str) -> tuple[Any, bool]:
    """What a text says, and whether it says nothing twice; the last time counts."""
    is_plain = True

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_plain
        made = dict(pairs)
        is_plain = is_plain and len(made) == len(pairs)
        return made

    return json.loads(text, object_pairs_hook=members), is_plain


def _at(value: Any, path: tuple[str, ...], otherwise: Any) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return otherwise
        value = value[name]
    return value
