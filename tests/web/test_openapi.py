"""The OpenAPI document as it is served: valid, complete, and as the contract says."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

import longwire.api
from longwire.api.delivery import webhooks
from longwire.api.description import api_info
from longwire.api.services import Context
from longwire.api.types import Tags
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations.base import FailureCode
from longwire.identity.bootstrap import PERMISSIONS
from longwire.inbound.callbacks import GROUP_TOKEN
from longwire.model import JobState
from longwire.process.app import OPERATIONS, App
from longwire.process.startup import build_database
from longwire.records import KIND_NAMES
from longwire.settings import Settings
from longwire.web import openapi
from longwire.web.docs_page import ASSETS, CONTENT_SECURITY_POLICY
from longwire.web.fields import Body, Id, InputLimits
from longwire.web.routing import ANY_TOKEN, NO_TOKEN, OWN, Route
from longwire.web.type_info import wire_names
from scripts.guide import openapi as golden
from tests.delivery.receiver import Received, Receiver
from tests.world import KINDS, AdjustableClock, World, copy_data_folder, ok

Json = dict[str, Any]
TEXTS = Path(longwire.api.__path__[0]) / "openapi.toml"
NULL = {"type": "null"}

# The operations of the contract: method, path, query parameters, members of the body, response.
# An exclamation mark: required. Where it leaves the response open, this is our choice.
INTERFACE = """
GET    /user/groups      | limit nextToken userId groupId      |                            | GroupConnection
GET    /group            | groupId!                            |                            | [Group]
POST   /group            | parentId                            | name description tags      | Group
PUT    /group            |                                     | groupId! ownerId name roleId description parent tags | Group
PUT    /group/invite     |                                     | email! groupId! roleId!    | GroupUserRelation
PUT    /group/user       |                                     | userId! groupId! roleId!   | GroupUserRelation
DELETE /group/user       | groupId! userId                     |                            | GroupUserRelation
GET    /group/roles      | limit nextToken                     |                            | RoleConnection
GET    /group/users      | groupId! limit nextToken            |                            | UserConnection
GET    /user             | userId!                             |                            | User PublicUser
PUT    /user             |                                     | gender name firstName lastName | User
POST   /user             |                                     | email! lastName! firstname | User
PUT    /user/vendorToken |                                     | token! deviceName          | VendorToken
DELETE /user/vendorToken | token!                              |                            | GenericReturnBoolean
GET    /user/me          |                                     |                            | User
GET    /permission       | limit nextToken                     |                            | PermissionConnection
POST   /permission       |                                     | permissionId! name! description! | Permission
PUT    /permission       |                                     | permissionId! name! description! | Permission
DELETE /permission       | permissionId!                       |                            | Permission
POST   /role             |                                     | name! description! permissions! | Role
PUT    /role             |                                     | roleId! groupId! name description permissions | Role
DELETE /role             | groupId! roleId! userId!            |                            | Role
POST   /appClient        |                                     | groupId! name!             | GroupAppClient
PUT    /appClient        |                                     | name! newName! groupId!    | UpdateGroupAppClient
DELETE /appClient        | name! appClientId!                  |                            | GenericReturnBoolean
GET    /group/devices    | groupId! limit nextToken            |                            | DeviceConnection
GET    /group/metrics    | groupId! beginDate! endDate! timeSpan |                          | GroupMetrics
POST   /devices          |                                     | originalDevicesIds! groupId! type! network! tags | Devices
POST   /devices/delete   |                                     | deviceIds! groupId!        | Devices
PUT    /devices/transfer |                                     | deviceIds! groupId! toGroupId! | Devices
POST   /device/vendor    |                                     | input! vendor!             | Device
GET    /device           | deviceId! groupId                   |                            | Device
POST   /device           |                                     | groupId! name! type! originalId! network! tags | Device
PUT    /device           |                                     | deviceId! groupId! name configuration tags | Device
DELETE /device           | deviceId! groupId!                  |                            | Device
PUT    /device/transfer  |                                     | deviceId! groupId! toGroupId! | Device
GET    /device/types     | limit nextToken                     |                            | DeviceTypeConnection
GET    /device/type      | type!                               |                            | DeviceType
PUT    /device/type      |                                     | deviceId! groupId! type!   | Device
GET    /device/data      | deviceId! limit nextToken beginDate endDate ascending |          | DeviceDataConnection
POST   /device/data      |                                     | deviceId! timestamp! data! configuration! __raw! deviceType! mode reason deviceName groupId | DeviceData
PUT    /device/data      | deviceId! timestamp!                |                            | GenericReturnBoolean
DELETE /device/data      |                                     | deviceId!                  | GenericReturn
GET    /device/event     | deviceId! limit nextToken beginDate endDate ascending |          | DeviceEventConnection
POST   /device/event     |                                     | deviceId! timestamp! type! deviceType groupId message data severity | DeviceEvent
DELETE /device/event     | deviceId! timestamp!                |                            | GenericReturnBoolean
GET    /device/geoloc    | deviceId! limit nextToken beginDate endDate ascending |          | DeviceGeolocConnection
POST   /device/geoloc    |                                     | timestamp! deviceId! status source radius lat lng location data __raw groupId | DeviceGeoloc
DELETE /device/geoloc    | deviceId! timestamp!                |                            | GenericReturnBoolean
GET    /device/telemetry | deviceId! limit nextToken beginDate endDate ascending |          | DeviceTelemetryConnection
POST   /device/telemetry |                                     | deviceId! timestamp! deviceType! duplicates data score nbBs rc | DeviceTelemetry
DELETE /device/telemetry | deviceId! timestamp!                |                            | GenericReturnBoolean
GET    /connector        | connectorId! groupId!               |                            | Connector
DELETE /connector        | groupId! connectorId!               |                            | Connector
POST   /connector        |                                     | groupId! params! type! id name description deviceTypes deviceIds messageFilter format dataFailurePolicy retryPolicy | Connector
PUT    /connector        |                                     | connectorId! groupId! params name description type deviceTypes deviceIds messageFilter dataFailurePolicy retryPolicy format enabled tags | Connector
POST   /connector/resendData |                                 | connectorId! groupId!      | Connector
GET    /connector/connectorEvent | connectorId! groupId! beginDate! endDate! ascending |       | ConnectorEventConnection
GET    /connector/connectorTypes | limit nextToken             |                            | ConnectorTypeConnection
GET    /connector/connectorType | type!                        |                            | ConnectorType
GET    /connector/connectors | groupId! limit nextToken        |                            | ConnectorConnection
GET    /notification     | notificationId! groupId             |                            | Notification
POST   /notification     |                                     | groupId! params! type! name! description deviceId reason schedule deviceTypes tags | Notification
PUT    /notification     |                                     | notificationId! groupId! params name description type deviceId reason schedule enabled deviceTypes tags | Notification
DELETE /notification     | name! notificationId!               |                            | Notification
GET    /notification/notificationType | type!                  |                            | NotificationType
GET    /notification/notificationTypes | limit nextToken       |                            | NotificationTypeConnection
GET    /notification/notifications | groupId limit nextToken   |                            | NotificationConnection
"""  # noqa: E501

RESPONSES = """
Group                id! userId! name description token administratorRole defaultRole createdAt \
updatedAt createdBy updatedBy parent role:Role ownerId numberOfDevices numberOfNotifications \
numberOfConnectors
GroupConnection      items!:[Group] nextToken
GroupUserRelation    id! userId! role:Role token description name
Role                 id! name! description! permissions! removable
RoleConnection       items!:[Role] nextToken
Permission           id! name! description!
PermissionConnection items!:[Permission] nextToken
User                 id email name seenAt firstName lastName createdAt updatedAt gender \
devices:VendorToken
PublicUser           id email name seenAt firstName lastName createdAt updatedAt role:Role
UserConnection       items!:[PublicUser] nextToken
VendorToken          token type createdAt createdBy deviceName enabled
GroupAppClient       groupId! appClientId! secret! description expiration
UpdateGroupAppClient appClientId! secret! name! expiration
GenericReturn        message
GenericReturnBoolean message value
Device               deviceId! groupId! name! type! network! originalId! battery seenAt \
createdAt! updatedAt! createdBy! updatedBy! information configuration tags
DeviceConnection     items!:[Device] nextToken
Devices              message! items!:[Device]
DeviceType           name displayName defaultConfiguration battery firmwareVersion
DeviceTypeConnection items!:[DeviceType] nextToken
DeviceData           deviceId! timestamp! data! configuration __raw deviceType mode reason \
deviceName groupId
DeviceDataConnection items!:[DeviceData] nextToken
DeviceEvent          deviceId! timestamp! type! deviceType groupId message data severity
DeviceEventConnection items!:[DeviceEvent] nextToken
DeviceGeoloc         timestamp! deviceId! status source radius lat lng groupId location data __raw
DeviceGeolocConnection items!:[DeviceGeoloc] nextToken
DeviceTelemetry      deviceId! timestamp! deviceType duplicates data score nbBS rc groupId
DeviceTelemetryConnection items!:[DeviceTelemetry] nextToken
BatchReturn          message! stored! duplicates!
Connector            groupId! id! name description params! type! createdAt! updatedAt! \
updatedBy! createdBy! error:ConnectorError deviceTypes enabled messageFilter format \
dataFailurePolicy:DataFailurePolicy retryPolicy:RetryPolicy tags
ConnectorError       at message
RetryPolicy          retryDelay maxRetry
DataFailurePolicy    storingDuration hasData startTime resending
ConnectorConnection  test!:[Connector] nextToken
ConnectorType        expectedParameters! type! formatAvailable name
ConnectorTypeConnection items!:[ConnectorType] nextToken
ConnectorEvent       connectorId! timestamp status
ConnectorEventStats  totalStillProcessing totalSucceed totalFailed
ConnectorEventConnection items!:[ConnectorEvent] stats!:ConnectorEventStats
Notification         groupId! id! name description params! type! createdAt! updatedAt! \
updatedBy! createdBy! deviceId deviceTypes reason schedule enabled tags
NotificationConnection items!:[Notification] nextToken
NotificationType     expectedParameters! type! name
NotificationTypeConnection items!:[NotificationType] nextToken
GroupMetric          groupId timestamp totalConnectorMessageError totalConnectorMessageProcessed \
totalConnectorMessageProcessing totalConnectorMessageStarted totalConnectorRetryMessageError \
totalConnectorRetryMessageProcessed totalConnectorRetryMessageStarted totalDeviceData \
totalDeviceEvent totalDeviceGeoloc totalDeviceTelemetry totalDeviceMessage \
totalDeviceVendorDownlink totalDeviceVendorUplink totalVendorDataAdvancedMessage \
totalVendorDataMessage
GroupMetrics         groupId beginDate endDate totalConnectorMessageError \
totalConnectorMessageProcessed totalConnectorMessageProcessing totalConnectorMessageStarted \
totalConnectorRetryMessageError totalConnectorRetryMessageProcessed \
totalConnectorRetryMessageStarted totalDeviceData totalDeviceEvent totalDeviceGeoloc \
totalDeviceTelemetry totalDeviceMessage totalDeviceVendorDownlink totalDeviceVendorUplink \
totalVendorDataAdvancedMessage totalVendorDataMessage items:[GroupMetric] activeDevices \
numberActiveDevices activeConnectors numberActiveConnectors
"""

# Objects inside a body.
INSIDE = """
DeviceAtVendor input!:DeviceInput vendor!:VendorInput
DeviceInput    groupId! name! type! originalId! network! tags
VendorInput    id! deviceTypeId! deviceName! pac! activable automaticRenewal lat lng
ConnectorInput groupId! params! type! id name description deviceTypes deviceIds messageFilter \
format dataFailurePolicy:DataFailurePolicyInput retryPolicy:RetryPolicyInput
RetryPolicyInput retryDelay maxRetry
NotificationInput groupId! params! type! name! description deviceId reason schedule deviceTypes tags
Schedule       Day! From:ScheduleTime To:ScheduleTime
ScheduleTime   Hours! Minutes! Secondes
DataFailurePolicyInput storingDuration
"""

# Additions to the contract: further members of responses and bodies.
ADDED = {
    "GET /connector/connectors": {"subgroups"},
    "GET /notification/notifications": {"subgroups"},
    **{f"GET /device/{kind}": {"fields"} for kind in ("data", "event", "geoloc", "telemetry")},
    "Group": {"tags", "deletionAt", "isInvited"},
    "GroupAppClient": {"name", "updatedAt", "roleId"},
    "UpdateGroupAppClient": {"updatedAt", "roleId"},
    "Role": {"updatedAt"},
    "GroupUserRelation": {"updatedAt", "mail", "invitationUrl"},
    "PublicUser": {"membershipUpdatedAt"},
    **{
        f"PUT /{path}": {"ifUpdatedAt"}
        for path in (
            *("group", "group/user", "role", "appClient", "device", "device/type"),
            *("connector", "notification"),
        )
    },
    "User": {"language"},
    "PUT /user": {"language"},
    "POST /user": {"language"},
    "PUT /group/invite": {"language"},
    "PUT /device": {"ifUpdatedAt", "originalId", "network"},
    "GET /device/type": {"groupId"},
    "GET /group/devices": {"values", "where", "order", "descending"},
    "Device": {"values"},
    "DeviceType": {"measurements", "measurementsUpdatedAt", "groupId"},
    "GET /device/types": {"groupId"},
    "POST /appClient": {"description", "expiration", "roleId"},
    "PUT /appClient": {"ifUpdatedAt", "roleId"},
    "POST /device/telemetry": {"groupId"},
    "GET /group/metrics": {"subgroups"},
    "Connector": {"deviceIds", "filterFailing", "previousSecretUntil"},
    "ConnectorError": {"since"},
    "RetryPolicy": {"delays"},
    "RetryPolicyInput": {"delays"},  # in place of the other two, so that no one is required
    "NotificationType": {"unavailable"},
    "ConnectorEvent": {"id", "deviceId", "kind", "attempts", "message"},
    "ConnectorEventConnection": {"nextToken"},
    "GET /connector/connectorEvent": {"limit", "nextToken"},
    "DeviceData": {"decodedNames"},
    "POST /connector": {"enabled", "tags"},
    "ConnectorInput": {"enabled", "tags"},
    "Notification": {"lastFiredAt", "lastSentAt", "error", "filterFailing"},
    "POST /notification": {"enabled"},
    "NotificationInput": {"enabled"},
}

# Whose body is one of several; the example is one of them, which `test_openapi_examples.py` sends.
ALTERNATIVES = {
    *("POST /session", "POST /device/downlink", "POST /connector/test", "POST /job"),
    *("POST /connector/messages/retry", "POST /connector/messages/cancel"),
    "POST /notification/backtest",
    "POST /share",
}

# Callbacks of networks.
NETWORKS = {
    *(
        f"{method} /network/vendor/{kind}"
        for method in ("POST", "PUT", "GET")
        for kind in ("data", "dataAdvanced", "status", "acknowledge", "error")
    ),
    "POST /network/chirpstack",
    "POST /network/ttn",
    "POST /network/loriot",
    "POST /network/thingpark",
}


@pytest.fixture(scope="module")
def document(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Json:
    folder = copy_data_folder(sqlite_template, tmp_path_factory.mktemp("openapi") / "data")
    world = World(Settings(data=folder), AdjustableClock())
    try:
        response = world.nobody.get("/openapi.json")
        assert response.headers["content-type"] == "application/json"
        return dict(ok(response))
    finally:
        world.stop()


def operations(document: Json) -> Iterator[tuple[str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def resolved(document: Json, schema: Json) -> Json:
    if "$ref" not in schema:
        return schema
    return dict(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])


def body_of(document: Json, operation: Json) -> Json:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return resolved(document, content["schema"]) if content else {}


def marked(names: Any, required: Any) -> set[str]:
    return {name + "!" * (name in required) for name in names}


def test_the_document_is_the_one_that_is_committed(document: Json) -> None:
    served = golden.render(json.dumps(document, ensure_ascii=False).encode())
    assert golden.PATH.read_text() == served, "run `make reference`, and look at what has changed"


# --- valid, and complete ---


@pytest.mark.slow
def test_the_document_is_valid_openapi(document: Json) -> None:
    assert [str(each) for each in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_exactly_the_served_operations_are_described(document: Json) -> None:
    served = {f"{route.method} {route.path}" for route in OPERATIONS}
    beside = {
        "POST /oauth2/token",
        "POST /oauth2/revoke",
        "POST /oauth2/introspect",
        "GET /.well-known/oauth-authorization-server",
        "POST /session/link",
        "PUT /user/password",
        "POST /user/password/reset",
        *(f"{method} /user/totp" for method in ("POST", "PUT", "DELETE")),
        "GET /console/settings",
        *(f"{method} /session" for method in ("GET", "POST", "DELETE")),
        *(f"POST /{of}/passkey{step}" for of in ("session", "user") for step in ("", "/options")),
        "GET /session/oidc",
        "DELETE /user/passkey",
        "POST /invitation",
        "GET /session/oidc/callback",
        "GET /health/live",
        "GET /health/ready",
        "GET /metrics",
        "GET /live",
    }
    assert {name for name, _ in operations(document)} == served | beside | NETWORKS


def test_every_operation_describes_its_purpose_permission_and_response(document: Json) -> None:
    tags = {tag["name"] for tag in document["tags"]}
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["x-permission"], name
        assert operation["x-object-rule"], name
        assert set(operation["tags"]) <= tags, name
        assert {"200", "302"} & operation["responses"].keys(), name
        for status, response in operation["responses"].items():
            assert response["description"], f"{name} {status}"
            assert response["headers" if status == "302" else "content"], f"{name} {status}"


def test_operation_ids_are_unique_and_begin_with_a_verb_of_the_table(document: Json) -> None:
    texts = tomllib.loads(TEXTS.read_text("utf-8"))
    described = dict(operations(document))
    # A new operation needs a name, in openapi.toml; the name of an old one never changes.
    assert texts["operations"] == {name: each["operationId"] for name, each in described.items()}
    ids = list(texts["operations"].values())
    assert len({each.lower() for each in ids}) == len(ids)
    assert [
        each for each in ids if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)+|redecode|signIn", each)
    ] == []


# --- for those who generate clients ---


def walk(schema: Any) -> Iterator[Json]:
    """Every schema, at any depth."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key not in ("example", "examples", "enum"):
                yield from walk(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from walk(value)


def fields(document: Json) -> Iterator[tuple[str, Json]]:
    for owner, schema in document["components"]["schemas"].items():
        for name, each in schema.get("properties", {}).items():
            yield f"{owner}.{name}", each


def parameters(document: Json) -> Iterator[tuple[str, Json]]:
    sent = {f"webhook {name}": each["post"] for name, each in document["webhooks"].items()}
    for name, operation in [*operations(document), *sent.items()]:
        for parameter in operation.get("parameters", ()):
            yield f"{name} {parameter['name']}", parameter


def test_every_field_and_parameter_is_described_and_has_an_example(document: Json) -> None:
    assert len(list(fields(document))) > 1_000
    assert [name for name, each in fields(document) if not each.get("description")] == []
    assert [name for name, each in fields(document) if not each.get("examples")] == []
    assert [name for name, each in parameters(document) if not each.get("description")] == []
    assert [name for name, each in parameters(document) if "example" not in each] == []
    inline = {
        name
        for name, operation in operations(document)
        for part in walk(operation)
        if "properties" in part
    }
    assert inline == set(), "only components have fields"


def test_no_text_is_about_a_field_that_does_not_exist(document: Json) -> None:
    known = {name for name, _ in fields(document)}
    queries = {
        f"{route.query.__name__}.{wire}"
        for route in OPERATIONS
        if route.query is not None
        for wire in wire_names(route.query).values()
    }
    names = {name.partition(".")[2] for name in known | queries}
    texts = tomllib.loads(TEXTS.read_text("utf-8"))
    assert [name for name in texts["fields"] if name not in known | queries | names] == []
    left_out = texts["left_out_of_examples"]
    assert {f"{owner}.{name}" for owner in left_out for name in left_out[owner]} <= known


def test_nothing_is_nullable_that_is_never_null(document: Json) -> None:
    nullable = {
        name for name, each in fields(document) for part in walk(each) if part.get("type") == "null"
    }
    assert nullable == {"Positions.items"}  # the radius of a position


def test_every_number_says_how_wide_it_is(document: Json) -> None:
    for part in walk(document):
        if part.get("type") == "integer":
            assert part["format"] in ("int32", "int64"), part
            fits = part.get("maximum", 2**31) < 2**31 and part.get("minimum", -(2**32)) >= -(2**31)
            assert part["format"] == "int64" or fits, part
        if part.get("type") == "number":
            assert part["format"] == "double", part
    schemas = document["components"]["schemas"]
    assert schemas["Device"]["properties"]["seenAt"]["format"] == "int64"


def test_fixed_words_are_components(document: Json) -> None:
    schemas = document["components"]["schemas"]
    for name, words in (
        ("RecordKind", set(KIND_NAMES)),
        ("JobState", set(JobState)),
        ("MessageFormat", set(FORMATS)),
        ("AttemptOutcome", {"delivered", *FailureCode}),
        ("GrantType", {"client_credentials"}),
    ):
        assert set(schemas[name]["enum"]) == words, name
    inline = [part for part in walk(document) if "enum" in part and part not in schemas.values()]
    # The header that shows that a request is from our own pages.
    assert {tuple(each["enum"]) for each in inline} == {("1",)}
    assert kind_of(schemas["Arrival"]["properties"]["kind"]) == "RecordKind"


# What runtimes and generated code declare themselves, in any spelling.
TAKEN = {
    *("bool", "int", "int32", "int64", "float32", "float64", "string", "time", "date", "error"),
    *("object", "array", "map", "list", "set", "type", "record", "any", "class", "enum", "file"),
    *("request", "response", "headers", "promise", "option", "result", "optional", "configuration"),
    *("apiclient", "apierror", "apiresponse", "apiexception", "client", "module", "process"),
}


def test_names_of_schemas_collide_in_no_language(document: Json) -> None:
    names = [name.lower() for name in document["components"]["schemas"]]
    assert len(names) == len(set(names))
    assert TAKEN.isdisjoint(names)
    for owner, schema in document["components"]["schemas"].items():
        members = [name.lower().replace("_", "") for name in schema.get("properties", {})]
        assert len(members) == len(set(members)), owner
        assert owner.lower() not in members, owner


def test_patterns_are_regular_expressions_of_every_language(document: Json) -> None:
    patterns = {part["pattern"] for part in walk(document) if isinstance(part.get("pattern"), str)}
    assert patterns
    for each in patterns:
        assert not re.search(r"\(\?[=!<]|\\[1-9]", each), each  # RE2 has neither
        assert re.compile(each), each


def test_the_document_says_how_to_get_a_token_and_what_is_sent(document: Json) -> None:
    flows = document["components"]["securitySchemes"]["oauth2"]["flows"]
    assert flows["clientCredentials"]["tokenUrl"] == "/oauth2/token"
    for name in ("connectorMessage", "connectorBatch", "notification"):
        headers = {each["name"]: each for each in document["webhooks"][name]["post"]["parameters"]}
        assert headers.keys() == {
            *("webhook-id", "webhook-timestamp", "webhook-signature", "Idempotency-Key"),
        }
        assert not headers["webhook-signature"]["required"]


def test_every_permission_named_by_a_route_exists(document: Json) -> None:
    catalogue = {permission.id for permission in PERMISSIONS}
    for name, operation in operations(document):
        if name not in NETWORKS:
            assert operation["x-permission"] in catalogue | {ANY_TOKEN, OWN, NO_TOKEN}, name
            needs_token = operation["x-permission"] != NO_TOKEN
            assert ("security" not in operation) == needs_token, name
    assert document["security"] == [{"bearer": []}, {"oauth2": []}, {"bare": []}, {"session": []}]


def test_network_callbacks_require_the_token_of_a_group(document: Json) -> None:
    described = dict(operations(document))
    schemes = document["components"]["securitySchemes"]
    for name in NETWORKS:
        assert described[name]["x-permission"] == GROUP_TOKEN, name
        assert described[name]["security"] == [{"groupToken": []}, {"groupTokenInQuery": []}], name
        assert {"400", "401", "404", "413", "503"} <= set(described[name]["responses"]), name
    assert schemes["groupToken"]["scheme"] == "bearer"
    assert (schemes["groupTokenInQuery"]["in"], schemes["groupTokenInQuery"]["name"]) == (
        "query",
        "token",
    )
    (event,) = described["POST /network/chirpstack"]["parameters"]
    assert (event["name"], event["in"], event["required"]) == ("event", "query", True)
    events = resolved(document, event["schema"])["enum"]
    assert {"up", "join", "status", "location", "log"} < set(events)


def test_error_responses_are_described_where_they_can_occur(document: Json) -> None:
    described = {name: set(operation["responses"]) for name, operation in operations(document)}
    for route in OPERATIONS:
        statuses = described[f"{route.method} {route.path}"]
        assert {"400", "401", "429", "503"} <= statuses, route
        has_body = route.body is not None or route.raw_body is not None
        assert ({"413", "415"} <= statuses) == has_body, route
        assert ("409" in statuses) == bool(route.conflicts), route
        if route.not_found_is_bad_request:
            assert "404" not in statuses, route
    problem = document["components"]["schemas"]["Problem"]
    assert set(problem["required"]) == {
        *("type", "title", "status", "detail", "message", "code", "errors", "requestId"),
    }


# --- examples ---


def examples(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Every example with its schema, at any depth."""

    def within(place: str, part: Any) -> Iterator[tuple[str, Json, Any]]:
        if isinstance(part, dict):
            if "schema" in part and "example" in part:
                yield place, part["schema"], part["example"]
            if isinstance(part.get("examples"), list):
                yield from ((place, part, each) for each in part["examples"])
            for key, value in part.items():
                yield from within(f"{place}/{key}", value)
        elif isinstance(part, list):
            for index, value in enumerate(part):
                yield from within(f"{place}/{index}", value)

    yield from within("", document["paths"])
    yield from within("", document["components"])


def test_every_body_and_every_required_parameter_has_an_example(document: Json) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            assert "example" in parameter or not parameter["required"], f"{name} {parameter}"
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is not None:
            assert "example" in content, name
            shown, known = content["example"].keys(), body_of(document, operation)["properties"]
            assert shown <= known.keys(), name
            assert shown == known.keys() or name in ALTERNATIVES, name


def test_every_example_is_valid_for_its_schema(document: Json) -> None:
    found = list(examples(document))
    assert len(found) > 40
    for place, schema, example in found:
        whole = {**schema, "components": document["components"]}
        field_errors = [error.message for error in Draft202012Validator(whole).iter_errors(example)]
        assert field_errors == [], place


# --- the contract ---


def contract() -> dict[str, tuple[set[str], set[str], str]]:
    table = {}
    for line in INTERFACE.strip().splitlines():
        operation, query, body, result = (part.strip() for part in line.split("|"))
        name = " ".join(operation.split())
        table[name] = (set(query.split()), set(body.split()), result)
    return table


def response_name(operation: Json) -> str:
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    options = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", ()) or ()]
    if schema.get("type") == "array":
        return f"[{schema['items']['$ref'].rpartition('/')[2]}]"
    return " ".join(options) or schema["$ref"].rpartition("/")[2]


def test_every_operation_has_the_request_and_response_of_the_contract(document: Json) -> None:
    described = dict(operations(document))
    for name, (query, body, result) in contract().items():
        operation = described[name]
        added = ADDED.get(name, set())
        parameters = [each for each in operation.get("parameters", ()) if each["name"] not in added]
        required = {each["name"] for each in parameters if each["required"]}
        assert marked([each["name"] for each in parameters], required) == query, name
        assert {each["in"] for each in parameters} <= {"query"}, name
        schema = body_of(document, operation)
        names = schema.get("properties", {}).keys() - added
        assert marked(names, schema.get("required", ())) == body, name
        assert response_name(operation) == result, name


def test_every_operation_beyond_the_contract_is_marked_as_an_addition() -> None:
    ours = {f"{route.method} {route.path}" for route in OPERATIONS if route.is_addition}
    batches = {f"POST /device/{kind}/batch" for kind in KINDS}
    assert batches <= ours
    every = {f"{route.method} {route.path}" for route in OPERATIONS}
    assert every - ours == contract().keys()


def test_every_object_has_the_fields_of_the_contract(document: Json) -> None:
    schemas = document["components"]["schemas"]
    for line in (*RESPONSES.strip().splitlines(), *INSIDE.strip().splitlines()):
        name, *fields = line.split()
        properties = dict(schemas[name]["properties"])
        for added in ADDED.get(name, ()):
            properties.pop(added)
        wanted = {each.partition(":")[0] for each in fields}
        assert marked(properties, schemas[name].get("required", ())) == wanted, name
        for each in fields:
            field, _, kind = each.replace("!", "").partition(":")
            if kind:
                assert kind_of(properties[field]) == kind, f"{name}.{field}"


def kind_of(schema: Json) -> str:
    schema = next((each for each in schema.get("anyOf", ()) if each != NULL), schema)
    if schema.get("type") == "array":
        return f"[{kind_of(schema['items'])}]"
    return str(schema["$ref"].rpartition("/")[2])


# --- what is sent ---


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_webhooks_are_sent_as_the_document_says(world: World, document: Json) -> None:
    home = world.operator.group("home")
    device = world.operator.device(home)
    with (
        Receiver() as plain,
        Receiver() as changed,
        Receiver() as enveloped,
        Receiver() as notified,
    ):
        world.operator.connector(home, plain.url)
        params = {"kinds": ["alarm", "registry"]}
        world.operator.connector(home, changed.url, params=params)
        limit = {"measurement": "temperature", "above": 20}
        world.operator.notification(home, notified.url, params=limit, reason="measurement")
        which = {"deviceId": device, "groupId": home}
        ok(world.operator.put("/device", {**which, "name": "Store"}))
        world.operator.reports(device, data='{"temperature":21}')
        world.operator.connector(home, enveloped.url, format="cloudevents")
        world.operator.notification(home, notified.url, reason="opened")
        for kind in KINDS:
            fields = {"type": "opened"} if kind == "event" else {}
            world.operator.reports(device, kind, **fields)
        sent = [
            *((f"{kind_name(each)}Message", each) for each in plain.wait_for(5)),
            *((f"{kind_name(each)}Message", each) for each in changed.wait_for(2)),
            *(("CloudEventMessage", each) for each in enveloped.wait_for(4)),
            *(("NotificationMessage", each) for each in notified.wait_for(2)),
        ]
    bodies = [each for body in webhooks.WEBHOOKS.values() for each in body.bodies.values()]
    described = set(re.findall(r"\w+Message\b", str(bodies)))
    assert {name for name, _ in sent} == described
    headers = {
        each["name"].lower(): each for _, each in parameters(document) if each["in"] == "header"
    }
    required = {name for name, each in headers.items() if each["required"]} - {"x-longwire-console"}
    for name, request in sent:
        schema = {
            **document["components"]["schemas"][name],
            "components": document["components"],
            "additionalProperties": False,
        }
        found = Draft202012Validator(schema).iter_errors(json.loads(request.body))
        assert [error.message for error in found] == [], name
        assert required <= {each.lower() for each in request.headers}, name


def kind_name(request: Received) -> str:
    return str(json.loads(request.body)["kind"]).capitalize()


# --- limits, and the page ---


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_limits_in_the_document_are_those_of_the_settings(
    make_world: Callable[..., World],
) -> None:
    world = make_world(
        page_items_max=77, tags_max=3, tag_characters_max=9, bulk_ids_max=5, batch_records_max=6
    )
    served = ok(world.nobody.get("/openapi.json"))
    parameters = served["paths"]["/permission"]["get"]["parameters"]
    limit = next(each["schema"] for each in parameters if each["name"] == "limit")
    assert (limit["minimum"], limit["maximum"]) == (1, 77)
    schemas = served["components"]["schemas"]
    tags = schemas["GroupInput"]["properties"]["tags"]
    assert tags["maxItems"] == 3
    assert tags["items"]["maxLength"] == 9
    for name, field, most in (
        ("DevicesInput", "originalDevicesIds", 5),
        ("BulkDelete", "deviceIds", 5),
        ("BulkTransfer", "deviceIds", 5),
        ("DeviceDataBatch", "items", 6),
        ("DeviceTelemetryBatch", "items", 6),
    ):
        listed = schemas[name]["properties"][field]
        assert (listed["minItems"], listed["maxItems"]) == (1, most), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "given, server, token_url",
    [
        (
            {"public_url": "https://example.com/iot/"},
            "https://example.com/iot",
            "https://example.com/iot/oauth2/token",
        ),
        (
            {"public_url": "https://a.example", "auth_url": "https://b.example/auth"},
            "https://a.example",
            "https://b.example/auth/oauth2/token",
        ),
    ],
    ids=["below a path", "tokens from elsewhere"],
)
def test_urls_in_the_document_are_those_by_which_clients_reach_the_service(
    tmp_path: Path, given: Json, server: str, token_url: str
) -> None:
    settings = Settings(data=tmp_path, **given)
    served = App(settings, build_database(settings, AdjustableClock())[0]).build_openapi()
    flows = served["components"]["securitySchemes"]["oauth2"]["flows"]
    assert served["servers"] == [{"url": server}]
    assert flows["clientCredentials"]["tokenUrl"] == token_url


class Inner(Body):
    """An object inside a body."""

    tags: Tags


class Outer(Body):
    """A body with objects inside."""

    input: Inner
    others: list[Inner] | None = None


def change_nothing(call: Context, body: Outer) -> Annotated[list[Id], "nothing"]:
    """Change nothing."""
    return []


def test_limits_hold_for_objects_inside_a_body() -> None:
    route = Route(
        method="PUT",
        path="/x",
        handler=change_nothing,
        permission=OWN,
        object_rule="none",
        tag="Groups",
    )
    document_of_outer = openapi.build_document(
        [route], InputLimits(tags_max=3, tag_characters_max=9), api_info("1")
    )
    tags = document_of_outer["components"]["schemas"]["Inner"]["properties"]["tags"]
    assert (tags["maxItems"], tags["items"]["maxLength"]) == (3, 9)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_page_and_its_files_are_served_under_their_policy(world: World) -> None:
    for path, asset in ASSETS.items():
        response = world.nobody.get(path)
        assert response.status_code == 200, path
        assert response.content == asset.content, path
        assert response.headers["content-type"] == asset.media_type, path
        assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY, path
        assert response.headers["x-content-type-options"] == "nosniff", path
    assert "/docs" in ASSETS


def test_the_document_is_served_for_generators_that_read_openapi_3_0(world: World) -> None:
    document = ok(world.nobody.get("/openapi.json"))
    older = ok(world.nobody.get("/openapi-3.0.json"))
    assert older["openapi"] == "3.0.3"
    assert [str(each) for each in OpenAPIV30SpecValidator(older).iter_errors()] == []
    assert {name for name, _ in operations(older)} == {name for name, _ in operations(document)}
    assert older["components"]["schemas"].keys() == document["components"]["schemas"].keys()
    # A member that happens to be called `examples` is still there.
    examples = older["components"]["schemas"]["TypeImportReturn"]["properties"]["examples"]
    assert examples["items"]
