"""Schemas as programs read them that generate clients: plain types, named words, every field said.

What msgspec writes is true, but a generator makes better code of less: a member that is left out
when it has no value is not nullable, an integer says how wide it is, words that occur in several
places are one component.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from longwire.dataclass import dataclass

Json = dict[str, Any]

REF = "#/components/schemas/{name}"
HIDDEN = "x-hidden"  # taken from those who send it, and not advertised

DATE_FORMS = "RFC 3339, a date alone"  # how the description of every date begins that is sent

_NULL = {"type": "null"}
_DATE_TYPES = ["string", "integer", "number"]
_INT32_MAX = 2**31 - 1
_INT64_BOUNDS = {"minimum": -(2**63), "maximum": 2**63 - 1}
# Python's $ matches before a last line break; elsewhere $ alone is the end.
_PYTHON_END = r"$(?!\n)"


@dataclass(frozen=True, slots=True)
class FieldText:
    """What a field means, and a value that it may have."""

    description: str
    example: Any = None


def simplify_components(schemas: dict[str, Json]) -> None:
    """Make every schema plain, and each set of words with a title a component of its own."""
    for schema in list(schemas.values()):
        required = set(schema.get("required", ()))
        properties: dict[str, Json] = schema.get("properties", {})
        for name, each in list(properties.items()):
            plain = _plain_property(each, is_required=name in required)
            if plain is None:
                del properties[name]
            else:
                properties[name] = plain
    for schema in list(schemas.values()):
        for each in walk(schema):
            _plain_type(each)
        for each in list(walk(schema)):
            _lift_words(each, schemas)


def simplify_parts(part: Any, schemas: dict[str, Json]) -> None:
    """The same for the schemas of parameters and bodies that are no components."""
    if isinstance(part, dict):
        if isinstance(part.get("schema"), dict):
            for each in list(walk(part["schema"])):
                _plain_type(each)
                _lift_words(each, schemas)
        for value in part.values():
            simplify_parts(value, schemas)
    elif isinstance(part, list):
        for value in part:
            simplify_parts(value, schemas)


def walk(schema: Json) -> Iterator[Json]:
    """A schema, and those inside of it."""
    yield schema
    inner = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    inner += schema.get("properties", {}).values()
    for each in inner:
        if isinstance(each, dict):
            yield from walk(each)


def describe_property(
    schema: Json, texts: Mapping[str, FieldText], owner: str, name: str
) -> FieldText:
    """What is to be said about a field.

    A text about this one field comes first, then what its type says, then the text of its name.
    """
    own, common = texts.get(f"{owner}.{name}"), texts.get(name)
    said = schema.get("description", "")
    description = said or (common.description if common else "")
    if own is not None or (common is not None and said.startswith(DATE_FORMS)):
        # The forms of a date are said by its type, what it is the date of by the text.
        forms = f" {said}" if said.startswith(DATE_FORMS) else ""
        description = (own or common or FieldText("")).description + forms
    examples = [*([own.example] if own else []), *schema.get("examples", ())]
    if common is not None and not _has_parts(schema):
        examples.append(common.example)
    return FieldText(description, next((each for each in examples if each is not None), None))


def _has_parts(schema: Json) -> bool:
    """Whether it refers to schemas that have examples of their own."""
    return "$ref" in schema or "$ref" in schema.get("items", {})


def _plain_property(schema: Json, *, is_required: bool) -> Json | None:
    """A member that may be left out is left out rather than null; None if it is not advertised."""
    plain = dict(schema)
    if plain.get("default", ...) is None:
        del plain["default"]
    if [each.get("type") for each in plain.get("anyOf", ())] == _DATE_TYPES:
        del plain["anyOf"]
        plain["type"] = "string"  # numbers may be written as such
    if "anyOf" not in plain:
        return plain
    options = [each for each in plain.pop("anyOf") if HIDDEN not in each]
    options = [each for each in options if is_required or each != _NULL]
    if len(options) == 1:
        return _plain_property({**options[0], **plain}, is_required=is_required)
    return {**plain, "anyOf": options} if options else None


def _plain_type(schema: Json) -> None:
    if "enum" in schema and all(isinstance(each, str) for each in schema["enum"]):
        schema["type"] = "string"
        schema["enum"] = sorted(schema["enum"])
    if schema.get("type") == "integer":
        if _INT64_BOUNDS.items() <= schema.items():
            del schema["minimum"], schema["maximum"]
        is_narrow = schema.get("maximum", _INT32_MAX + 1) <= _INT32_MAX
        schema["format"] = "int32" if is_narrow and "minimum" in schema else "int64"
    elif schema.get("type") == "number":
        schema["format"] = "double"
    if str(schema.get("pattern", "")).endswith(_PYTHON_END):
        schema["pattern"] = schema["pattern"].removesuffix(_PYTHON_END) + "$"


def _lift_words(schema: Json, schemas: dict[str, Json]) -> None:
    if "enum" not in schema or "title" not in schema or schema is schemas.get(schema["title"]):
        return
    name = schema.pop("title")
    words = {"title": name, "type": schema.pop("type"), "enum": schema.pop("enum")}
    # In some languages all words of all sets are in one namespace.
    words["x-enum-varnames"] = [name + _pascal(each) for each in words["enum"]]
    if schemas.setdefault(name, words)["enum"] != words["enum"]:
        raise ValueError(f"{name} has several sets of words")
    for key in ("minLength", "maxLength"):
        schema.pop(key, None)
    schema["$ref"] = REF.format(name=name)


def _pascal(word: str) -> str:
    parts = re.split(r"[^A-Za-z0-9]+", word)
    return "".join(part[:1].upper() + part[1:] for part in parts)
