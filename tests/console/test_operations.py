"""What a person can do by the API and not in the console, with the reason for each."""

import re
from pathlib import Path

from tests.console.test_tokens import SOURCES

INTERFACE = Path(__file__).parents[2] / "docs/reference/interface.md"
_ROW = re.compile(r"^\| (GET|POST|PUT|DELETE) \| `(/[^`]*)` \|", re.MULTILINE)
_CALL = re.compile(r"""\bapi\.(GET|POST|PUT|DELETE)\(\s*["'`](/[^"'`?$]*)["'`]""")
# A path alone: a link, a download, or a stream.
_PATH = re.compile(r"""(?:["'`]|\$\{BASE_PATH\})(/[\w/.-]+)""")

# Called without the typed client.
OTHERWISE = {
    "POST /user/password/reset",
    "POST /devices/import",
    *(f"GET /device/{kind}" for kind in ("data", "event", "geoloc", "telemetry")),
}

FOR_PROGRAMS = "for programs; a person signs in"
FOR_DEVICES = "devices and gateways send records, people read them"
FOR_NETWORKS = "a callback of a network"
OWN_PAGE = "a page of its own, or a file of one"
ANOTHER = "the console has the same from another operation"

# What the console never calls. Whoever adds one of these to a screen removes its line.
NOT_CALLED = {
    "GET /openapi-3.0.json": FOR_PROGRAMS,
    "POST /oauth2/token": FOR_PROGRAMS,
    "POST /oauth2/revoke": FOR_PROGRAMS,
    "POST /oauth2/introspect": FOR_PROGRAMS,
    "GET /.well-known/oauth-authorization-server": FOR_PROGRAMS,
    **{
        f"POST /device/{kind}{many}": FOR_DEVICES
        for kind in ("data", "event", "geoloc", "telemetry")
        for many in ("", "/batch")
    },
    **{
        f"DELETE /device/{kind}": "single records are deleted by programs; people delete all"
        for kind in ("event", "geoloc", "telemetry")
    },
    "PUT /device/data": "single records are deleted by programs; people delete all",
    **{
        f"{method} /network/vendor/{what}": FOR_NETWORKS
        for method in ("GET", "POST", "PUT")
        for what in ("data", "dataAdvanced", "status", "acknowledge", "error")
        if (method, what) != ("GET", "data")  # where the sample device reports
    },
    **{
        f"POST /network/{each}": FOR_NETWORKS
        for each in ("chirpstack", "ttn", "loriot", "thingpark")
    },
    "GET /": OWN_PAGE,
    "GET /console/": OWN_PAGE,
    "GET /docs/docs.css": OWN_PAGE,
    "GET /docs/docs.js": OWN_PAGE,
    "GET /openapi.json": OWN_PAGE,
    "GET /guide": OWN_PAGE,
    "GET /session/oidc/callback": "the identity provider leads there",
    "GET /group/devices": f"{ANOTHER}, GET /devices",
    "GET /user/groups": f"{ANOTHER}, GET /groups",
    "GET /user/me": f"{ANOTHER}, GET /session",
    "GET /connector/connectorEvent": f"{ANOTHER}, GET /connector/messages",
    "GET /connector/connectorType": f"{ANOTHER}, GET /connector/connectorTypes",
    "GET /notification/notificationType": f"{ANOTHER}, GET /notification/notificationTypes",
    **{
        f"{method} /permission": "no screen: permissions come with the service; Roles lists them"
        for method in ("POST", "PUT", "DELETE")
    },
    "POST /devices": f"{ANOTHER}, POST /devices/import",
    "POST /devices/vendor": "people register one at a time, by POST /device/vendor",
    "PUT /user/vendorToken": "a push token is registered by the app on a phone",
    "DELETE /user/vendorToken": "a push token is registered by the app on a phone",
}


def documented() -> set[str]:
    return {f"{method} {path}" for method, path in _ROW.findall(INTERFACE.read_text())}


def read_sources() -> str:
    return "\n".join(
        path.read_text()
        for path in SOURCES.rglob("*.ts*")
        if path.name not in ("permissions.ts", "schema.d.ts") and ".test." not in path.name
    )


def test_what_the_console_cannot_do_is_known() -> None:
    text = read_sources()
    called = {f"{method} {path}" for method, path in _CALL.findall(text)} | OTHERWISE
    called |= {f"GET {path}" for path in _PATH.findall(text)}
    missing = documented() - called
    assert missing - NOT_CALLED.keys() == set(), "cannot be done in the console"
    assert NOT_CALLED.keys() - missing == set(), "can be done in the console by now"


def test_every_operation_that_is_called_exists() -> None:
    typed = {f"{method} {path}" for method, path in _CALL.findall(read_sources())}
    assert typed - documented() == set()
