"""What the OpenAPI document says about the API as a whole: introduction, tags, security.

What it says about single operations and fields is in `openapi.toml`, beside this file.
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from longwire.api.delivery import webhooks
from longwire.web.openapi import ApiInfo
from longwire.web.openapi_schemas import FieldText

_DESCRIPTION = """\
longwire manages connected devices in groups, the users and app clients that act on them, and the
records that the devices send.

Get an access token from the token endpoint with a client id and secret, and send it in the header
`Authorization` of every request, with or without the scheme `Bearer`.

Lists are paginated: `limit` bounds a page, and the `nextToken` of one page requests the next; the
last page has none. Every error has the same body and names every invalid field at once. Every
response carries `X-Request-Id`, which identifies the request in the logs.

Members without a value are left out of responses. A member of a request that may be left out may
also be `null`, which means the same, unless the operation says that null removes it."""

_TAGS = {
    "Tokens": "Getting, revoking and introspecting access tokens.",
    "Sessions": "Signing in with a browser, and where one is signed in.",
    "Groups": "Groups form a tree; a role in a group holds in all groups below it.",
    "Members": "Who belongs to a group, and with which role.",
    "Roles": "Named sets of permissions.",
    "Permissions": "What a role can allow.",
    "Users": "People, and where to reach them.",
    "App clients": "Credentials that act for a group.",
    "Devices": "Devices and downlinks to them.",
    "Configuration": "What the configuration of devices should be: policies of types and groups.",
    "Device types": "The catalogue that the operator maintains.",
    "Measurements": "Named values of device types, and the current ones of devices.",
    "Records": "What devices report: data, events, geolocations and telemetry.",
    "Connectors": "Where records are forwarded to, and the status of each delivery.",
    "Notifications": "Who is notified of what, when, and how.",
    "Reports": "Files that are made and sent on a schedule.",
    "Shared views": "Links that show something of a group without signing in.",
    "Metrics": "Counters of a group.",
    "Jobs": "Work with many devices at once: progress, cancel, result of each device, undo.",
    "Audit log": "Who changed what in a group.",
    "Networks": "Callbacks for networks that received an uplink, with the token of a group.",
    "Webhooks": "What the service sends to receivers of yours.",
    "Service": "Health and metrics of the service.",
}

_SECURITY_SCHEMES: Mapping[str, dict[str, Any]] = {
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
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-longwire",
        "description": "The cookie that `POST /session` sets; `longwire` over plain HTTP, and with"
        " a suffix where the public URL has a path. All requests but GET need the header"
        " `X-Longwire-Console: 1` as well. Ignored by requests with `Authorization`, and by those"
        " that store records.",
    },
    "client": {
        "type": "http",
        "scheme": "basic",
        "description": "Client id and secret, for the endpoints of tokens only.",
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
        "description": "The token of a group, for networks that cannot send a header.",
    },
}


def api_info(version: str, server: str = "/", token_url: str = "/oauth2/token") -> ApiInfo:
    """`server` is the URL that the paths are below, `token_url` that of the token endpoint."""
    texts = tomllib.loads(
        resources.files("longwire.api").joinpath("openapi.toml").read_text("utf8")
    )
    oauth2 = {
        "type": "oauth2",
        "description": "Client id and secret for an access token, as a bearer.",
        "flows": {"clientCredentials": {"tokenUrl": token_url, "scopes": {}}},
    }
    return ApiInfo(
        title="longwire",
        version=version,
        description=_DESCRIPTION,
        license={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        server=server,
        tags=_TAGS,
        security=[{"bearer": []}, {"oauth2": []}, {"bare": []}, {"session": []}],
        security_schemes={"oauth2": oauth2, **_SECURITY_SCHEMES},
        operation_ids=texts["operations"],
        fields={name: FieldText(*each) for name, each in texts["fields"].items()},
        left_out_of_examples=texts["left_out_of_examples"],
        webhooks=webhooks.WEBHOOKS,
    )
