"""The OpenAPI document, made from the same tables that serve the requests."""

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.api import tokens
from longwire.web import errors
from longwire.web.routing import ANY_TOKEN, OWN, PlainRoute, Route
from longwire.web.validation import InputLimits, bounds, structs_in

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_PROBLEM = {"$ref": _REF.format(name="Problem")}

_MEANINGS = {
    400: "Something in the request is wrong; `errors` names every field.",
    401: "The access token is missing, unknown or over.",
    403: "You see this, but you may not do this.",
    404: "A parameter names nothing, or nothing that you may see.",
    408: "The request took too long to arrive.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    429: "Too many requests; wait for `Retry-After` seconds.",
    431: "The headers are too large.",
    503: "Not now, or the outcome is unknown; repeat after `Retry-After` seconds.",
}

_TAGS = {
    "Tokens": "Getting an access token.",
    "Groups": "Groups form a tree; what you hold in one, you hold in all below it.",
    "Members": "Who belongs to a group, and with which role.",
    "Roles": "Named sets of permissions.",
    "Permissions": "What a role can allow.",
    "Users": "People, and where to reach them.",
    "App clients": "Credentials that act for a group.",
    "Devices": "What is out there, and in which group.",
    "Device types": "The catalogue that the operator keeps.",
    "Records": "What devices said: data, events, geolocations and telemetry.",
    "Connectors": "Where what devices say is forwarded to, and what became of it.",
    "Notifications": "Who is told of what, when, and how.",
    "Metrics": "Counters of a group.",
    "Networks": "What networks call when they have heard a device, with the token of a group.",
    "Service": "How the service is doing.",
}

_DESCRIPTION = """\
longwire manages connected devices in groups, the people and programs that act on them, and what the
devices say.

Get an access token from the token endpoint with your client id and secret, and send it in the
header `Authorization` of every request, with or without the word `Bearer` before it.

Lists come in pages: `limit` bounds a page, and the `nextToken` of one page asks for the next; on
the last page there is none. Every refusal has the same body, and names every wrong field at once.
Every answer carries `X-Request-Id`, which finds the request again in the logs."""


def document(routes: Sequence[Route | PlainRoute], limits: InputLimits, version: str) -> Json:
    """The whole document as plain JSON values."""
    operations = [route for route in routes if isinstance(route, Route)]
    schemas = _schemas(operations, limits)
    paths: dict[str, Json] = {}
    for route in routes:
        if isinstance(route, Route):
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
        elif route.document is not None:
            entry = {"operationId": route.operation_id, "tags": [route.tag], **route.document}
            entry |= _access(route.needs, route.rule)
            paths.setdefault(route.path, {})[route.method.lower()] = entry
    parameters_only = {route.query.__name__ for route in operations if route.query}
    used = {route.tag for route in routes if isinstance(route, Route) or route.document}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "longwire",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": name, "description": text} for name, text in _TAGS.items() if name in used
        ],
        "security": [{"bearer": []}, {"bare": []}],
        "paths": paths,
        "components": {
            "schemas": {
                name: schema for name, schema in schemas.items() if name not in parameters_only
            },
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`Authorization: Bearer <access token>`",
                },
                "bare": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`Authorization: <access token>`",
                },
                "client": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "Client id and secret, for the token endpoint only.",
                },
                "groupToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`Authorization: Bearer <token of a group>`, for networks only.",
                },
                "groupTokenInQuery": {
                    "type": "apiKey",
                    "in": "query",
                    "name": "token",
                    "description": "The token of a group, where a network can send no header.",
                },
            },
        },
    }


def token_document() -> Json:
    """The token endpoint's entry."""
    refused = {"$ref": _REF.format(name="Refused")}
    return {
        "summary": "Get an access token",
        "description": "OAuth 2.0, client credentials. Over HTTPS only, or within the machine.",
        "security": [{"client": []}],
        "parameters": [
            {
                "name": "grant_type",
                "in": "query",
                "required": False,
                "description": "Here or in the body.",
                "schema": {"type": "string", "enum": [tokens.GRANT]},
                "example": tokens.GRANT,
            }
        ],
        "requestBody": {
            "required": False,
            "content": {
                "application/x-www-form-urlencoded": {
                    "schema": {
                        "type": "object",
                        "properties": {"grant_type": {"type": "string", "enum": [tokens.GRANT]}},
                    }
                }
            },
        },
        "responses": {
            "200": _json_response("A token.", {"$ref": _REF.format(name="Granted")}),
            "400": _json_response("The request is wrong.", refused),
            "401": _json_response("The client is unknown or its secret is wrong.", refused),
            "429": _json_response("Too many failed tries.", refused),
            **_problems([408, 413, 431, 503]),
        },
    }


def plain_document(summary: str, media_type: str, *, statuses: Mapping[int, str]) -> Json:
    """The entry of something that answers a text or a small object."""
    schema = {"type": "object"} if media_type.endswith("json") else {"type": "string"}
    return {
        "summary": summary,
        "security": [],
        "responses": {
            str(status): {"description": text, "content": {media_type: {"schema": schema}}}
            for status, text in statuses.items()
        }
        | _problems([408, 431]),
    }


def network_document(
    summary: str, example: Mapping[str, Any], parameters: Sequence[Json] = ()
) -> Json:
    """The entry of what a network calls: any body it sends, with the token of a group."""
    anything: Json = {
        "schema": {"type": "object", "properties": {name: {} for name in example}},
        "example": example,
    }
    return {
        "summary": summary,
        "description": "The device is found by the network's own id, in the group of the token or"
        " below it. The answer comes when what the message says is on the disk; the same message"
        " sent again is stored once. A message without a body is read from the query.",
        "security": [{"groupToken": []}, {"groupTokenInQuery": []}],
        **({"parameters": list(parameters)} if parameters else {}),
        "requestBody": {
            "required": False,
            "content": {
                "application/json": anything,
                "application/x-www-form-urlencoded": anything,
            },
        },
        "responses": {
            "200": _json_response("Stored; or what to send to the device.", {"type": "object"}),
            **_problems([400, 401, 404, 408, 413, 429, 431, 503]),
        },
    }


def _operation(route: Route, schemas: Mapping[str, Json]) -> Json:
    entry: Json = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.summary,
        **({"description": route.description} if route.description else {}),
        **_access(route.needs, route.rule),
        "responses": _responses(route),
    }
    if route.query is not None:
        entry["parameters"] = _parameters(schemas[route.query.__name__])
    if route.body is not None:
        schema = schemas[route.body.__name__]
        entry["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": _REF.format(name=route.body.__name__)},
                    "example": _example(schema, schemas),
                }
            },
        }
    return entry


def _access(needs: str, rule: str) -> Json:
    return {"x-permission": needs, "x-object-rule": rule}


def _responses(route: Route) -> Json:
    options = [
        msgspec.json.schema_components([each], ref_template=_REF)[0][0]
        for each in _reply_options(route)
    ]
    reply = options[0] if len(options) == 1 else {"anyOf": options}
    statuses = [400, 401, 408, 429, 431, 503]
    if route.needs != ANY_TOKEN:
        statuses.append(403)
    if not route.missing_is_bad and (route.needs not in (ANY_TOKEN, OWN) or route.query):
        statuses.append(404)
    if route.body is not None:
        statuses += [413, 415]
    problems = _problems(sorted(statuses))
    if route.conflicts:
        problems["409"] = _problem(route.conflicts)
    return {"200": _json_response("Done.", reply), **dict(sorted(problems.items()))}


def _reply_options(route: Route) -> Sequence[Any]:
    """What a route may answer; one kind mostly."""
    is_union = isinstance(route.reply, types.UnionType)
    return typing.get_args(route.reply) if is_union else [route.reply]


def _problems(statuses: Sequence[int]) -> dict[str, Json]:
    return {str(status): _problem(_MEANINGS[status]) for status in statuses}


def _problem(meaning: str) -> Json:
    return {"description": meaning, "content": {errors.MEDIA_TYPE: {"schema": _PROBLEM}}}


def _json_response(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _parameters(schema: Json) -> list[Json]:
    required = set(schema.get("required", ()))
    return [
        _parameter(name, each, is_required=name in required)
        for name, each in schema["properties"].items()
    ]


def _parameter(name: str, schema: Json, *, is_required: bool) -> Json:
    plain = _without_null(schema)
    description = plain.pop("description", None)
    example = (plain.get("examples") or [_NAMED.get(name)])[0]
    return {
        "name": name,
        "in": "query",
        "required": is_required,
        **({"description": description} if description else {}),
        "schema": plain,
        **({} if example is None else {"example": example}),
    }


def _without_null(schema: Json) -> Json:
    """A parameter is there or not; null is something only a body can say."""
    options = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    plain = dict(options[0]) if len(options) == 1 else dict(schema)
    plain.pop("default", None)
    return plain


def _schemas(operations: Sequence[Route], limits: InputLimits) -> dict[str, Json]:
    inputs = [kind for route in operations for kind in (route.query, route.body) if kind]
    kinds = [*inputs, *(kind for route in operations for kind in _reply_options(route))]
    kinds += [errors.Problem, tokens.Granted, tokens.Refused]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    for kind in {each for given in inputs for each in structs_in(given)}:
        for bound in bounds(kind):
            _set_bound(
                schemas[kind.__name__]["properties"][bound.wire_name],
                getattr(limits, bound.limit),
                per_item=bound.per_item,
            )
    return schemas


def _set_bound(schema: Json, most: int, *, per_item: bool) -> None:
    """Write a limit that is a setting into the schema of the field it bounds."""
    for each in schema.get("anyOf", [schema]):
        if each.get("type") == "array" and per_item:
            each["items"]["maxLength"] = most
        elif each.get("type") == "array":
            each["maxItems"] = most
        elif each.get("type") == "integer":
            each["maximum"] = most


def _example(schema: Json, schemas: Mapping[str, Json]) -> Any:
    """A plausible value; the first example given, else one made from the type."""
    if "$ref" in schema:
        return _example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], schemas)
    match schema.get("type"):
        case "object":
            return {
                name: _named_example(name, each, schemas)
                for name, each in schema.get("properties", {}).items()
            }
        case "array":
            return [_example(schema["items"], schemas)]
        case "integer":
            return max(1, schema.get("minimum", 1))
        case "number":
            return 1.5
        case "boolean":
            return True
        case _:
            return "text"


_NAMED = {
    "name": "Harbour",
    "description": "Everything on the quay",
    "userId": "usr_vzpeqxr5mxjrq2uy6ct3mlgw",
    "ownerId": "usr_vzpeqxr5mxjrq2uy6ct3mlgw",
    "roleId": "member",
    "appClientId": "app_kq4hfz2vhn5xq7m3p6rjt2wd",
    "token": "fGx1c2gtdG9rZW4tb2YtYS1waG9uZQ",
    "parent": "880148294221312",
    "tags": ["north"],
    "firstname": "Ada",
    "firstName": "Ada",
    "lastName": "Lovelace",
    "gender": "female",
    "newName": "quay-reader-2",
    "deviceName": "Ada's phone",
    "connectorId": "con_vzpeqxr5mxjrq2uy6ct3mlgw",
    "deviceTypes": ["tracker"],
    "expiration": 1_893_456_000,
}


def _named_example(name: str, schema: Json, schemas: Mapping[str, Json]) -> Any:
    return _NAMED[name] if name in _NAMED else _example(schema, schemas)
