"""The OpenAPI document, generated from the same tables that serve the requests.

Knows routes and schemas, and no noun of the service: what is to be said about the whole API comes
as an `ApiInfo`.
"""

import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from longwire.dataclass import dataclass
from longwire.web import errors
from longwire.web.fields import InputLimits
from longwire.web.openapi_schemas import (
    REF,
    FieldText,
    describe_property,
    simplify_components,
    simplify_parts,
)
from longwire.web.routing import (
    ANY_TOKEN,
    NO_TOKEN,
    OWN,
    DeclaredResponse,
    RawBody,
    Redirect,
    Route,
    Stream,
    Text,
    Webhook,
)
from longwire.web.type_info import field_bounds, nested_structs

Json = dict[str, Any]

# A header that other sites cannot send; see `cookies`.
OWN_SITE_PARAMETER: Json = {
    "name": "X-Longwire-Console",
    "in": "header",
    "required": True,
    "description": "Shows that no other site has caused the request.",
    "schema": {"type": "string", "enum": ["1"]},
    "example": "1",
}

_PROBLEM = {"$ref": REF.format(name="Problem")}

_MEANINGS = {
    400: "The request is invalid; `errors` names every invalid field.",
    401: "The access token is missing, unknown or expired.",
    403: "The caller can see the object, but lacks the permission.",
    404: "A parameter names nothing that the caller can see.",
    408: "The request took too long to arrive.",
    409: "It conflicts with the current state; `code` and `detail` say how.",
    413: "The body is too large.",
    415: "The body is sent as another media type.",
    429: "Rate limit exceeded; retry after `Retry-After` seconds.",
    431: "The request head is too large.",
    503: "Temporarily unavailable, or the outcome is unknown; retry after `Retry-After` seconds.",
}


@dataclass(frozen=True, slots=True)
class ApiInfo:
    """What the document says about the API as a whole."""

    title: str
    version: str
    description: str
    license: Json
    server: str  # the URL that paths are below
    tags: Mapping[str, str]  # name to description
    security: Sequence[Json]
    security_schemes: Mapping[str, Json]
    operation_ids: Mapping[str, str]  # by method and path
    fields: Mapping[str, FieldText]  # by the name of a field, or of a schema and a field
    left_out_of_examples: Mapping[str, Collection[str]]  # fields by schema
    webhooks: Mapping[str, Webhook]  # what the service sends, by name


def build_document(served: Sequence[Route], limits: InputLimits, info: ApiInfo) -> Json:
    """The whole document as plain JSON values."""
    routes = [route for route in served if route.is_documented]
    schemas = _schemas(routes, limits, info.webhooks.values())
    simplify_components(schemas)
    _describe(schemas, info.fields)
    _build_examples(schemas, info.left_out_of_examples)
    paths: dict[str, Json] = {}
    for route in routes:
        operation_id = info.operation_ids.get(f"{route.method} {route.path}", route.operation_id)
        entry = {"operationId": operation_id, **_operation(route, schemas)}
        paths.setdefault(route.path, {})[route.method.lower()] = entry
    webhooks = {name: _webhook(each, schemas) for name, each in info.webhooks.items()}
    simplify_parts(paths, schemas)
    simplify_parts(webhooks, schemas)
    parameters = {route.query.__name__ for route in routes if route.query}
    parameters |= {each.headers.__name__ for each in info.webhooks.values()}
    entries = [*paths.values(), *webhooks.values()]
    used_tags = {entry["tags"][0] for methods in entries for entry in methods.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": info.title,
            "version": info.version,
            "description": info.description,
            "license": info.license,
        },
        "servers": [{"url": info.server}],
        "tags": [
            {"name": name, "description": text}
            for name, text in info.tags.items()
            if name in used_tags
        ],
        "security": info.security,
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            # These are spelled out as parameters, so nothing refers to their schemas.
            "schemas": {name: each for name, each in schemas.items() if name not in parameters},
            "securitySchemes": info.security_schemes,
        },
    }


def schema_ref(struct: type[msgspec.Struct]) -> Json:
    return {"$ref": REF.format(name=struct.__name__)}


# --- operations ---


def _operation(route: Route, schemas: Mapping[str, Json]) -> Json:
    entry: Json = {
        "tags": [route.tag],
        "summary": route.summary,
        **({"description": route.description} if route.description else {}),
        "x-permission": route.permission,
        "x-object-rule": route.object_rule,
        "responses": _responses(route),
    }
    if route.permission == NO_TOKEN or route.schemes:
        entry["security"] = [{name: []} for name in route.schemes]
    if route.query is not None or route.own_site:
        entry["parameters"] = [
            *([OWN_SITE_PARAMETER] if route.own_site else ()),
            *(_parameters(schemas[route.query.__name__]) if route.query is not None else ()),
        ]
    if route.body is not None:
        entry["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {
                    "schema": schema_ref(route.body),
                    "example": route.example
                    or _build_example(schemas[route.body.__name__], schemas),
                }
            },
        }
    if route.raw_body is not None:
        entry["requestBody"] = _raw_body(route.raw_body)
    return entry


def _webhook(webhook: Webhook, schemas: Mapping[str, Json]) -> Json:
    bodies = {each: {"schema": _schema_of(kind)} for each, kind in webhook.bodies.items()}
    entry = {
        "operationId": webhook.operation_id,
        # A tag of their own: generators write one file for each tag, of paths or of webhooks.
        "tags": ["Webhooks"],
        "summary": webhook.summary,
        "description": webhook.description,
        "security": [],
        "parameters": _parameters(schemas[webhook.headers.__name__], "header"),
        "requestBody": {"required": True, "content": bodies},
        "responses": {key: {"description": each} for key, each in webhook.meanings.items()},
    }
    return {"post": entry}


def _raw_body(body: RawBody) -> Json:
    schema: Json = {"type": "string", "description": body.description}
    if body.content is not None:
        schema = schema_ref(body.content)
    content = {"schema": schema, "example": body.example}
    return {"required": body.is_required, "content": dict.fromkeys(body.media_types, content)}


def _responses(route: Route) -> Json:
    statuses = route.statuses or _usual_statuses(route)
    problems = {str(status): _problem(_MEANINGS[status]) for status in statuses}
    if route.conflicts:
        problems["409"] = _problem(route.conflicts)
    declared = {str(status): _declared(each) for status, each in route.responses.items()}
    return {**(declared or _success(route)), **dict(sorted(problems.items()))}


def _usual_statuses(route: Route) -> list[int]:
    statuses = [400, 401, 408, 429, 431, 503]
    if route.permission != ANY_TOKEN:
        statuses.append(403)
    if not route.not_found_is_bad_request and (
        route.permission not in (ANY_TOKEN, OWN) or route.query or _names_object(route)
    ):
        statuses.append(404)
    if route.body is not None or route.raw_body is not None:
        statuses += [413, 415]
    return statuses


def _names_object(route: Route) -> bool:
    fields = msgspec.structs.fields(route.body) if route.body is not None else ()
    return any(each.name.endswith("_id") for each in fields)


def _success(route: Route) -> Json:
    if route.reply is Redirect:
        location = {"description": "Where to.", "schema": {"type": "string"}}
        return {"302": {"description": route.result, "headers": {"Location": location}}}
    if route.stream is not None:
        return {"200": {"description": "A stream.", "content": _streamed(route.stream)}}
    response = _response(route.result, "application/json", _schema_of(route.reply))
    for media_type in route.formats:
        response["content"][media_type] = {"schema": {"type": "string"}}
    return {"200": response}


def _streamed(stream: Stream) -> Json:
    if not stream.events:
        return {each: {"schema": {"type": "string"}} for each in stream.media_types}
    *names, last = [f"`{name}` ({_kind_name(kind)})" for name, kind in stream.events.items()]
    # Without a type: the events are objects for some tools, and the whole a text for others.
    schema = {
        "description": f"Events {', '.join(names)} and {last}, each with JSON in `data`;"
        f" a comment every {stream.heartbeat_s:.0f} seconds.",
    }
    return {each: {"schema": schema, "example": stream.example} for each in stream.media_types}


def _kind_name(kind: Any) -> str:
    items = typing.get_args(kind)
    return f"a list of {items[0].__name__}" if items else str(kind.__name__)


def _replies(route: Route) -> Iterable[Any]:
    """The types of what a route responds with, but errors."""
    if route.stream is not None:
        return route.stream.events.values()
    if route.responses:
        return [each.content for each in route.responses.values()]
    return () if route.reply is Redirect else [route.reply]


def _declared(response: DeclaredResponse) -> Json:
    return _response(response.meaning, response.media_type, _schema_of(response.content))


def _problem(meaning: str) -> Json:
    return _response(meaning, errors.MEDIA_TYPE, _PROBLEM)


def _response(meaning: str, media_type: str, schema: Json) -> Json:
    return {"description": meaning, "content": {media_type: {"schema": schema}}}


def _schema_of(kind: Any) -> Json:
    if typing.get_origin(kind) is list:
        return {"type": "array", "items": _schema_of(*typing.get_args(kind))}
    if isinstance(kind, types.UnionType):
        options = [_schema_of(each) for each in _inner(kind)]
        return options[0] if len(options) == 1 else {"anyOf": options}
    schema: Json = msgspec.json.schema_components([kind], ref_template=REF)[0][0]
    return schema


def _parts(kind: Any) -> list[Any]:
    """The types that a union or a list is of; msgspec describes no union of untagged structs."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is list:
        return [part for each in _inner(kind) for part in _parts(each)]
    return [kind]


def _inner(kind: Any) -> list[Any]:
    return [each for each in typing.get_args(kind) if each is not Text]


def _parameters(schema: Json, place: str = "query") -> list[Json]:
    required = set(schema.get("required", ()))
    return [
        _parameter(name, place, each, is_required=name in required)
        for name, each in schema["properties"].items()
    ]


def _parameter(name: str, place: str, schema: Json, *, is_required: bool) -> Json:
    plain = {key: each for key, each in schema.items() if key != "default"}
    described = {
        "name": name,
        "in": place,
        "required": is_required,
        "description": plain.pop("description", ""),
        "schema": plain,
    }
    examples = plain.pop("examples", ())
    return {**described, "example": examples[0]} if examples else described


def _schemas(
    routes: Sequence[Route], limits: InputLimits, webhooks: Collection[Webhook]
) -> dict[str, Json]:
    inputs = [kind for route in routes for kind in (route.query, route.body) if kind]
    outputs = [kind for route in routes for kind in _replies(route)]
    outputs += [kind for each in webhooks for kind in each.bodies.values()]
    kinds = [*inputs, *(part for kind in outputs for part in _parts(kind))]
    bodies = [route.raw_body for route in routes if route.raw_body is not None]
    kinds += [each.content for each in bodies if each.content is not None]
    kinds += [*(each.headers for each in webhooks), errors.Problem]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=REF)
    for kind in {each for given in inputs for each in nested_structs(given)}:
        for bound in field_bounds(kind):
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


def _describe(schemas: Mapping[str, Json], texts: Mapping[str, FieldText]) -> None:
    """Say of every field what it means, and give the example that its text has."""
    for owner, schema in schemas.items():
        for name, each in schema.get("properties", {}).items():
            text = describe_property(each, texts, owner, name)
            if text.description:
                each["description"] = text.description
            if text.example is not None:
                each["examples"] = [text.example]


def _build_examples(schemas: Mapping[str, Json], left_out: Mapping[str, Collection[str]]) -> None:
    """Give an example of what has parts with examples."""
    for owner, names in left_out.items():
        if owner in schemas:
            shown = schemas[owner]["properties"].items()
            schemas[owner]["examples"] = [
                {name: _build_example(each, schemas) for name, each in shown if name not in names}
            ]
    for schema in schemas.values():
        for each in schema.get("properties", {}).values():
            if "examples" not in each and (built := _build_example(each, schemas)) is not None:
                each["examples"] = [built]


def _build_example(schema: Json, schemas: Mapping[str, Json]) -> Any:
    """The schema's own example, or one of its parts; None if it says nothing of them."""
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        return _build_example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "anyOf" in schema:
        return _build_example(schema["anyOf"][0], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties: Json = schema.get("properties", {})
            return {name: _build_example(each, schemas) for name, each in properties.items()}
        case "array":
            return [_build_example(schema["items"], schemas)]
        case "boolean":
            return True
    return None
