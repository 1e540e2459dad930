"""The OpenAPI document, generated from the same tables that serve the requests.

Knows routes and schemas, and no noun of the service: what is to be said about the whole API comes
as an `ApiInfo`, and a plain route carries its own entry, built with the helpers below.
"""

import copy
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

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
    PlainRoute,
    Redirect,
    Route,
    Text,
    TextBody,
)
from longwire.web.type_info import field_bounds, nested_structs

Json = dict[str, Any]

# A header that other sites cannot send; see `session_cookies`.
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
    webhooks: Mapping[str, Json]  # what the service sends, by name
    webhook_schemas: Sequence[type[msgspec.Struct]]  # that these refer to


def build_document(
    routes: Sequence[Route | PlainRoute], limits: InputLimits, info: ApiInfo
) -> Json:
    """The whole document as plain JSON values."""
    schemas = _schemas(routes, limits, info.webhook_schemas)
    simplify_components(schemas)
    _describe(schemas, info.fields)
    _build_examples(schemas, info.left_out_of_examples)
    paths: dict[str, Json] = {}
    for route in routes:
        entry = _operation(route, schemas) if isinstance(route, Route) else _plain_operation(route)
        if entry is not None:
            name = f"{route.method} {route.path}"
            entry = {"operationId": info.operation_ids.get(name, route.operation_id), **entry}
            paths.setdefault(route.path, {})[route.method.lower()] = entry
    webhooks = copy.deepcopy(dict(info.webhooks))
    simplify_parts(paths, schemas)
    simplify_parts(webhooks, schemas)
    queries = {route.query.__name__ for route in routes if isinstance(route, Route) and route.query}
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
            # Queries are spelled out as parameters, so nothing refers to their schemas.
            "schemas": {name: each for name, each in schemas.items() if name not in queries},
            "securitySchemes": info.security_schemes,
        },
    }


# --- for the entries of plain routes ---


def schema_ref(struct: type[msgspec.Struct]) -> Json:
    return {"$ref": REF.format(name=struct.__name__)}


def json_response(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def problem_responses(*statuses: int) -> dict[str, Json]:
    return {str(status): _problem(_MEANINGS[status]) for status in statuses}


# --- operations ---


def _plain_operation(route: PlainRoute) -> Json | None:
    if route.openapi is None:
        return None
    return {
        "tags": [route.tag],
        **copy.deepcopy(dict(route.openapi)),
        **_access(route.permission, route.object_rule),
    }


def _operation(route: Route, schemas: Mapping[str, Json]) -> Json:
    entry: Json = {
        "tags": [route.tag],
        "summary": route.summary,
        **({"description": route.description} if route.description else {}),
        **_access(route.permission, route.object_rule),
        "responses": _responses(route),
    }
    if route.permission == NO_TOKEN:
        entry["security"] = []
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
    if route.text_body is not None:
        entry["requestBody"] = {"required": True, "content": _text_content(route.text_body)}
    return entry


def _text_content(body: TextBody) -> Json:
    schema = {"type": "string", "description": body.description}
    return {body.media_type: {"schema": schema, "example": body.example}}


def _access(permission: str, object_rule: str) -> Json:
    return {"x-permission": permission, "x-object-rule": object_rule}


def _responses(route: Route) -> Json:
    statuses = [400, 401, 408, 429, 431, 503]
    if route.permission != ANY_TOKEN:
        statuses.append(403)
    if not route.not_found_is_bad_request and (
        route.permission not in (ANY_TOKEN, OWN) or route.query or _names_object(route)
    ):
        statuses.append(404)
    if route.body is not None or route.text_body is not None:
        statuses += [413, 415]
    problems = problem_responses(*(route.statuses or statuses))
    if route.conflicts:
        problems["409"] = _problem(route.conflicts)
    return {**_success(route), **dict(sorted(problems.items()))}


def _names_object(route: Route) -> bool:
    fields = msgspec.structs.fields(route.body) if route.body is not None else ()
    return any(each.name.endswith("_id") for each in fields)


def _success(route: Route) -> Json:
    if route.reply is Redirect:
        location = {"description": "Where to.", "schema": {"type": "string"}}
        return {"302": {"description": route.result, "headers": {"Location": location}}}
    if route.stream is not None:
        content = copy.deepcopy(dict(route.stream.content))
        return {"200": {"description": "A stream.", "content": content}}
    options = [
        msgspec.json.schema_components([each], ref_template=REF)[0][0]
        for each in _reply_options(route)
    ]
    schema = options[0] if len(options) == 1 else {"anyOf": options}
    response = json_response(route.result, schema)
    for media_type in route.formats:
        response["content"][media_type] = {"schema": {"type": "string"}}
    return {"200": response}


def _reply_options(route: Route) -> Sequence[Any]:
    """The types a route may respond with; mostly one."""
    if route.stream is not None:
        return route.stream.schemas
    if route.reply is Redirect:
        return ()
    is_union = isinstance(route.reply, types.UnionType)
    options = typing.get_args(route.reply) if is_union else [route.reply]
    return [each for each in options if each is not Text]


def _problem(meaning: str) -> Json:
    return {"description": meaning, "content": {errors.MEDIA_TYPE: {"schema": _PROBLEM}}}


def _parameters(schema: Json) -> list[Json]:
    required = set(schema.get("required", ()))
    return [
        _parameter(name, each, is_required=name in required)
        for name, each in schema["properties"].items()
    ]


def _parameter(name: str, schema: Json, *, is_required: bool) -> Json:
    plain = {key: each for key, each in schema.items() if key != "default"}
    described = {
        "name": name,
        "in": "query",
        "required": is_required,
        "description": plain.pop("description", ""),
        "schema": plain,
    }
    examples = plain.pop("examples", ())
    return {**described, "example": examples[0]} if examples else described


def _schemas(
    routes: Sequence[Route | PlainRoute],
    limits: InputLimits,
    others: Sequence[type[msgspec.Struct]],
) -> dict[str, Json]:
    operations = [route for route in routes if isinstance(route, Route)]
    inputs = [kind for route in operations for kind in (route.query, route.body) if kind]
    kinds = [*inputs, *(kind for route in operations for kind in _reply_options(route))]
    kinds += [each for route in routes if isinstance(route, PlainRoute) for each in route.schemas]
    kinds += [*others, errors.Problem]
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
