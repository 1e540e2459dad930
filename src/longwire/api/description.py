"""What the OpenAPI document says about the API as a whole: introduction, tags, security."""

from longwire.web.openapi import ApiInfo

_DESCRIPTION = """\
longwire manages connected devices in groups, the users and app clients that act on them, and the
records that the devices send.

Get an access token from the token endpoint with a client id and secret, and send it in the header
`Authorization` of every request, with or without the scheme `Bearer`.

Lists are paginated: `limit` bounds a page, and the `nextToken` of one page requests the next; the
last page has none. Every error has the same body and names every invalid field at once. Every
response carries `X-Request-Id`, which identifies the request in the logs."""

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
    "Records": "What devices report: data, events, geolocations and telemetry.",
    "Connectors": "Where records are forwarded to, and the status of each delivery.",
    "Notifications": "Who is notified of what, when, and how.",
    "Metrics": "Counters of a group.",
    "Jobs": "Work with many devices at once: progress, cancel, result of each device, undo.",
    "Audit log": "Who changed what in a group.",
    "Networks": "Callbacks for networks that received an uplink, with the token of a group.",
    "Service": "Health and metrics of the service.",
}

_SECURITY_SCHEMES = {
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
        "description": "The cookie that `POST /session` sets; `longwire` over plain HTTP. All"
        " requests but GET need the header `X-Longwire-Console: 1` as well. Ignored by requests"
        " with `Authorization`, and by those that store records.",
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

_EXAMPLES = {
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


def api_info(version: str) -> ApiInfo:
    return ApiInfo(
        title="longwire",
        version=version,
        description=_DESCRIPTION,
        license={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=_TAGS,
        security=[{"bearer": []}, {"bare": []}, {"session": []}],
        security_schemes=_SECURITY_SCHEMES,
        examples=_EXAMPLES,
    )
