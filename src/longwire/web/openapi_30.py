"""The OpenAPI document in the form of version 3.0, for generators that do not read 3.1.

Nothing is said in it that the document does not say; webhooks, which 3.0 does not know, are left
out.
"""

from collections.abc import Mapping
from typing import Any

_NULL = {"type": "null"}


def to_openapi_30(document: Mapping[str, Any]) -> dict[str, Any]:
    license_name = {"name": document["info"]["license"]["name"]}
    rest = {name: each for name, each in document.items() if name != "webhooks"}
    return {
        **_convert(rest),
        "openapi": "3.0.3",
        "info": {**document["info"], "license": license_name},
    }


def _convert(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: _convert_member(name, each) for name, each in value.items()}
    if isinstance(examples := value.get("examples"), list):
        del found["examples"]
        found["example"] = examples[0]
    if found.get("required") == []:
        del found["required"]
    if _NULL in found.get("anyOf", ()):
        found["anyOf"] = [each for each in found["anyOf"] if each != _NULL]
        found["nullable"] = True
    if "$ref" in found and len(found) > 1:  # what stands beside a reference would be ignored
        found["allOf"] = [{"$ref": found.pop("$ref")}]
    return found


def _convert_member(name: str, value: Any) -> Any:
    if name in ("example", "examples"):
        return value
    if name == "properties":  # names of the caller's members, not of the schema language
        return {member: _convert(each) for member, each in value.items()}
    return _convert(value)
