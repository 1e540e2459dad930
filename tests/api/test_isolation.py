"""Two tenants on one service: neither can see, name or change anything of the other.

The table below has one valid request for every operation, with placeholders for its ids. With ids
of one tenant it must succeed; with an id of the other tenant in any place it must be refused, for
every user, without details about that object. An operation that is not in the table fails the first
test.
"""

import dataclasses
import hashlib
import json
import typing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec
import pytest

from longwire import model
from longwire.delivery.destinations.signing import new_signing_secret
from longwire.fleet import device_types
from longwire.identity import tokens
from longwire.inbound.callbacks import GROUP_TOKEN
from longwire.model import SYSTEM
from longwire.store.identity.passkeys import PASSKEYS
from longwire.web.routing import Route
from tests.browser import Browser
from tests.waiting import eventually
from tests.world import KINDS, Person, World, ok, record_of

pytestmark = pytest.mark.engine_free

Values = dict[str, Any]


@dataclass(frozen=True)
class Right:
    """A valid request. `@thing` is replaced by an id of a tenant; `by` is its sender."""

    query: Values = field(default_factory=dict)
    body: Values | None = None
    by: str = "admin"
    csv: str = ""  # the body, if it is no JSON
    needs_session: bool = False  # one that has just begun


AT = "2026-03-02T12:00:00Z"
DEVICES = ("@device", "@moving", "@spare", "@doomed", "@doomed_too", "@sent_to")
UNKNOWN = "unknown 1"
NEW_DEVICE = {"groupId": "@home", "type": "generic", "network": "mqtt"}


NOWHERE = "http://127.0.0.1:9/"  # nobody listens there
CONNECTOR = {"connectorId": "@connector", "groupId": "@home"}
REPLAY = {**CONNECTOR, "replayId": "@replay"}
JOB = {"jobId": "@job", "groupId": "@home"}
EXPORT_JOB = {"jobId": "@export", "groupId": "@home"}
NOTIFICATION = {"notificationId": "@notification", "groupId": "@home"}
CONTACT_POINT = {"contactPointId": "@contact_point", "groupId": "@home"}
REPORT = {"reportId": "@report", "groupId": "@home"}
NEW_REPORT = {
    **{"name": "new", "content": "devices", "every": "month", "at": "06:00"},
    "to": {"type": "webhook", "params": {"url": NOWHERE}},
}
NEW_SHARE = {
    "name": "new",
    "expiresInDays": 30,
    "device": {"deviceId": "@device"},
}
LONG_AGO = {"beginDate": "2020-01-01", "endDate": "2020-01-02"}


def to_nowhere(**params: Any) -> Values:
    """The type of a connector, and its parameters."""
    return {"type": "http", "params": json.dumps({"url": NOWHERE, **params})}


def record(kind: str) -> Values:
    return record_of("@device", kind, timestamp=AT, groupId="@home")


# In the order in which they are carried out: what one removes no later one needs.
REQUESTS: dict[tuple[str, str], Right] = {
    ("GET", "/user/groups"): Right({"userId": "@member", "groupId": "@home"}),
    ("GET", "/group"): Right({"groupId": "@home"}),
    ("GET", "/groups"): Right({"parentId": "@home"}),
    ("GET", "/access"): Right(
        {"groupId": "@home", "permission": "device.read", "userId": "@member"}
    ),
    ("GET", "/group/users"): Right({"groupId": "@home"}),
    ("GET", "/group/roles"): Right(),
    ("GET", "/group/appClients"): Right({"groupId": "@home"}),
    ("GET", "/users"): Right(),
    ("GET", "/group/audit"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/sessions"): Right(),
    ("GET", "/permission"): Right(),
    ("GET", "/user/me"): Right(),
    ("GET", "/user"): Right({"userId": "@member"}),
    ("POST", "/group"): Right({"parentId": "@home"}, {"name": "new", "tags": ["new"]}),
    ("PUT", "/group"): Right(
        body={
            "groupId": "@home",
            "name": "changed",
            "ownerId": "@member",
            "roleId": "@role",
            "parent": "@home_parent",
        }
    ),
    ("PUT", "/group/invite"): Right(
        body={"email": "new@example.com", "groupId": "@home", "roleId": "@role"}
    ),
    ("POST", "/group/accept"): Right(body={"groupId": "@home"}),
    ("PUT", "/group/user"): Right(
        body={"userId": "@member", "groupId": "@home", "roleId": "@role"}
    ),
    ("PUT", "/user"): Right(body={"name": "changed"}),
    ("PUT", "/user/vendorToken"): Right(body={"token": "new", "deviceName": "new"}),
    ("POST", "/role"): Right(body={"name": "new", "description": "", "permissions": "group.read"}),
    ("PUT", "/role"): Right(body={"roleId": "@role", "groupId": "@home", "name": "changed"}),
    ("POST", "/appClient"): Right(body={"groupId": "@home", "name": "new", "roleId": "@role"}),
    ("PUT", "/appClient"): Right(
        body={
            "groupId": "@home",
            "name": "@client_name",
            "newName": "changed",
            "roleId": "@role",
        }
    ),
    ("POST", "/user"): Right(body={"email": "late@example.com", "lastName": "new"}, by="operator"),
    ("POST", "/permission"): Right(
        body={"permissionId": "new.one", "name": "new", "description": ""}, by="operator"
    ),
    ("PUT", "/permission"): Right(
        body={"permissionId": "new.one", "name": "changed", "description": ""}, by="operator"
    ),
    ("DELETE", "/permission"): Right({"permissionId": "new.one"}, by="operator"),
    ("GET", "/group/devices"): Right({"groupId": "@home"}),
    ("GET", "/devices"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/group/positions"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/group/unknownDevices"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/group/alarms"): Right(
        {"groupId": "@home", "subgroups": "true", "deviceId": "@device", "silenceId": "@silence"}
    ),
    ("GET", "/group/reports"): Right({"groupId": "@home"}),
    ("GET", "/group/overview"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/devices/export"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/records/export"): Right({"groupId": "@home", "deviceId": "@device"}),
    ("GET", "/connector/messages/export"): Right(CONNECTOR),
    ("GET", "/group/audit/export"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/group/metrics"): Right(
        {"groupId": "@home", "beginDate": "2026-03-01", "endDate": "2026-03-01"}
    ),
    ("GET", "/device"): Right({"deviceId": "@device", "groupId": "@home"}),
    ("GET", "/device/types"): Right({"groupId": "@home"}),
    ("GET", "/device/type"): Right({"type": "@type", "groupId": "@home"}),
    ("GET", "/device/type/definition"): Right({"type": "@type"}),
    ("POST", "/device/type"): Right(body={"name": "new type", "groupId": "@home"}),
    ("PUT", "/device/type/definition"): Right(body={"type": "@type", "displayName": "changed"}),
    ("POST", "/device/type/import"): Right(
        body={
            "files": {"a.js": "function Decode() { return {}; }"},
            "name": "imported",
            "groupId": "@home",
        }
    ),
    ("DELETE", "/device/type"): Right({"type": "@spare_type"}),
    **{("GET", f"/device/{kind}"): Right({"deviceId": "@device"}) for kind in KINDS},
    ("GET", "/device/values"): Right({"deviceId": "@device"}),
    ("GET", "/group/records"): Right({"groupId": "@home", "deviceId": "@device"}),
    ("GET", "/device/series"): Right({"deviceId": ["@device"], "path": "/data/temperature"}),
    ("GET", "/group/series"): Right(
        {"groupId": "@home", "deviceId": ["@device"], "measurement": "moisture"}
    ),
    ("POST", "/device"): Right(body={**NEW_DEVICE, "name": "new", "originalId": "new 1"}),
    ("POST", "/device/unknown"): Right(body={**NEW_DEVICE, "name": "new", "originalId": UNKNOWN}),
    ("DELETE", "/group/unknownDevices"): Right({"groupId": "@home", "subgroups": "true"}),
    ("POST", "/devices"): Right(body={**NEW_DEVICE, "originalDevicesIds": ["new 2", "new 3"]}),
    ("POST", "/devices/import"): Right(
        {"groupId": "@home"}, csv="name,originalId,type,network\nnew,new 9,generic,mqtt\n"
    ),
    ("POST", "/device/vendor"): Right(
        body={
            "input": {**NEW_DEVICE, "name": "new", "originalId": "4", "network": "vendor"},
            "vendor": {"id": "4", "deviceTypeId": "5d8c", "deviceName": "new", "pac": "77"},
        }
    ),
    ("POST", "/devices/vendor"): Right(
        body={
            "groupId": "@home",
            "type": "generic",
            "vendor": [{"id": "5", "deviceTypeId": "5d8c", "deviceName": "new", "pac": "77"}],
        }
    ),
    ("POST", "/device/downlink"): Right(
        body={"deviceId": "@sent_to", "groupId": "@home", "payload": "00" * 8}
    ),
    ("GET", "/device/downlinks"): Right({"deviceId": "@sent_to", "groupId": "@home"}),
    ("DELETE", "/device/downlink"): Right(
        {"downlinkId": "@downlink", "deviceId": "@sent_to", "groupId": "@home"}
    ),
    ("PUT", "/device"): Right(body={"deviceId": "@device", "groupId": "@home", "name": "changed"}),
    ("GET", "/group/configuration"): Right({"groupId": "@home"}),
    ("PUT", "/group/configuration"): Right(body={"groupId": "@home", "policy": {"new": 1}}),
    ("GET", "/device/type/configuration"): Right({"type": "@type"}),
    ("PUT", "/device/type/configuration"): Right(body={"type": "@type", "policy": {"new": 1}}),
    ("GET", "/device/type/decoder"): Right({"type": "@type"}),
    ("PUT", "/device/type/decoder"): Right(body={"type": "@type", "decoder": "cayenneLpp"}),
    ("POST", "/device/type/preview"): Right(
        body={
            "type": "generic",
            "groupId": "@home",
            "deviceId": "@device",
            "decoder": "cayenneLpp",
        }
    ),
    ("GET", "/group/drift"): Right({"groupId": "@home", "subgroups": "true"}),
    ("GET", "/group/limits"): Right({"groupId": "@home"}),
    ("GET", "/group/measurements"): Right({"groupId": "@home", "subgroups": "true"}),
    ("PUT", "/device/type/measurements"): Right(
        body={"type": "@type", "groupId": "@home", "measurements": []}
    ),
    ("GET", "/device/configuration"): Right({"deviceId": "@device", "groupId": "@home"}),
    ("PUT", "/devices"): Right(
        body={"deviceIds": ["@device", "@spare"], "groupId": "@home", "addTags": ["changed"]}
    ),
    ("PUT", "/device/type"): Right(
        body={"deviceId": "@device", "groupId": "@home", "type": "@type"}
    ),
    ("GET", "/connector"): Right(CONNECTOR),
    ("GET", "/connector/connectors"): Right({"groupId": "@home"}),
    ("GET", "/connector/connectorTypes"): Right(),
    ("GET", "/connector/connectorType"): Right({"type": "http"}),
    ("GET", "/connector/connectorEvent"): Right({**CONNECTOR, **LONG_AGO}),
    ("GET", "/connector/messages"): Right({**CONNECTOR, "deviceId": "@device"}),
    ("GET", "/connector/message"): Right({"id": "@message"}),
    ("GET", "/record/trace"): Right(
        {"recordId": "@record", "messageId": "@message", "groupId": "@home"}
    ),
    ("GET", "/connector/replay"): Right(REPLAY),
    ("GET", "/connector/metrics"): Right({**CONNECTOR, **LONG_AGO}),
    ("GET", "/connector/replays"): Right(CONNECTOR),
    ("GET", "/connector/health"): Right(CONNECTOR),
    ("POST", "/connector/replay/preview"): Right(body={**CONNECTOR, **LONG_AGO}),
    ("POST", "/connector"): Right(
        body={"groupId": "@home", **to_nowhere(), "deviceIds": ["@device"]}
    ),
    ("PUT", "/connector"): Right(body={**CONNECTOR, "name": "changed", "deviceIds": ["@device"]}),
    ("POST", "/connector/preview"): Right(
        body={**CONNECTOR, "deviceId": "@device", "draft": {"deviceIds": ["@device"]}}
    ),
    ("POST", "/connector/replay"): Right(body={**CONNECTOR, **LONG_AGO}),
    ("POST", "/connector/messages/retry"): Right(body={**CONNECTOR, "deviceId": "@device"}),
    ("POST", "/connector/messages/cancel"): Right(body={**CONNECTOR, "deviceId": "@device"}),
    ("POST", "/connector/resendData"): Right(body=CONNECTOR),
    ("GET", "/connector/failures"): Right(CONNECTOR),
    ("GET", "/connector/exchanges"): Right({**CONNECTOR, "messageId": "@message"}),
    ("POST", "/connector/test"): Right(body={**CONNECTOR, "recordId": "@record"}),
    ("POST", "/connector/rotateSecret"): Right(body=CONNECTOR),
    ("POST", "/connector/endSecretRotation"): Right(body=CONNECTOR),
    ("DELETE", "/connector/replay"): Right(REPLAY),
    ("GET", "/notification"): Right(NOTIFICATION),
    ("GET", "/notification/notifications"): Right({"groupId": "@home"}),
    ("GET", "/notification/notificationTypes"): Right(),
    ("GET", "/notification/notificationType"): Right({"type": "webhook"}),
    ("POST", "/notification"): Right(
        body={
            "groupId": "@home",
            **to_nowhere(),
            "type": "webhook",
            "name": "new",
            "deviceId": "@device",
        }
    ),
    ("PUT", "/notification"): Right(
        body={**NOTIFICATION, "name": "changed", "deviceId": "@device"}
    ),
    ("POST", "/notification/test"): Right(body=NOTIFICATION),
    ("POST", "/notification/backtest"): Right(
        body={
            "groupId": "@home",
            "notification": {
                **{"type": "webhook", "reason": "measurement", "deviceId": "@device"},
                "params": '{"url":"http://127.0.0.1:9/","measurement":"x","above":1}',
            },
            **{"beginDate": "2026-01-01", "endDate": "2026-01-02"},
        }
    ),
    ("GET", "/contactPoint"): Right(CONTACT_POINT),
    ("GET", "/group/contactPoints"): Right({"groupId": "@home", "usable": True}),
    ("GET", "/contactPoint/contactPointTypes"): Right(),
    ("POST", "/contactPoint"): Right(
        body={"groupId": "@home", **to_nowhere(), "type": "webhook", "name": "new"}
    ),
    ("PUT", "/contactPoint"): Right(body={**CONTACT_POINT, "name": "changed"}),
    ("POST", "/contactPoint/test"): Right(body=CONTACT_POINT),
    ("POST", "/alarm/acknowledge"): Right(body={"groupId": "@home", "alarmId": "@alarm"}),
    ("POST", "/alarm/silence"): Right(
        body={
            "groupId": "@home",
            "deviceIds": ["@device"],
            "until": "2100-01-01T00:00:00Z",
            "reason": "maintenance",
        }
    ),
    ("GET", "/group/silences"): Right({"groupId": "@home", "subgroups": "true"}),
    ("DELETE", "/alarm/silence"): Right({"groupId": "@home", "silenceId": "@silence"}),
    ("POST", "/report"): Right(body={**NEW_REPORT, "groupId": "@home"}),
    ("PUT", "/report"): Right(body={**REPORT, "name": "changed"}),
    ("POST", "/report/send"): Right(body=REPORT),
    ("POST", "/share"): Right(body={**NEW_SHARE, "groupId": "@home"}),
    ("GET", "/group/shares"): Right({"groupId": "@home"}),
    ("DELETE", "/share"): Right({"groupId": "@home", "shareId": "@share"}),
    ("POST", "/device/redecode"): Right(
        body={"deviceId": "@device", "groupId": "@home", **LONG_AGO}
    ),
    **{("POST", f"/device/{kind}"): Right(body=record(kind)) for kind in KINDS},
    **{("POST", f"/device/{kind}/batch"): Right(body={"items": [record(kind)]}) for kind in KINDS},
    # What PUT does to a data record, DELETE does to the others.
    **{
        ("PUT" if kind == "data" else "DELETE", f"/device/{kind}"): Right(
            {"deviceId": "@device", "timestamp": AT}
        )
        for kind in KINDS
    },
    ("DELETE", "/device/data"): Right(body={"deviceId": "@device"}),
    ("POST", "/job"): Right(
        body={
            "kind": "transfer",
            "groupId": "@home",
            "deviceIds": ["@moving"],
            "parameters": {"toGroupId": "@under"},
            "dryRun": True,
        }
    ),
    ("GET", "/job"): Right(JOB),
    ("GET", "/jobs"): Right({"groupId": "@home"}),
    ("GET", "/job/items"): Right(JOB),
    ("POST", "/job/cancel"): Right(body=JOB),
    ("POST", "/job/undo"): Right(body=JOB),
    ("GET", "/job/result"): Right(EXPORT_JOB),
    ("DELETE", "/job/result"): Right(EXPORT_JOB),
    # From here on the older records cannot be read.
    ("PUT", "/group/limits"): Right(
        body={"groupId": "@home", "limits": {"storedRecordsMax": 10_000}}, by="operator"
    ),
    ("PUT", "/group/retention"): Right(body={"groupId": "@home", "retentionDays": {"data": 900}}),
    ("PUT", "/device/transfer"): Right(
        body={"deviceId": "@device", "groupId": "@home", "toGroupId": "@under"}
    ),
    ("PUT", "/devices/transfer"): Right(
        body={"deviceIds": ["@moving"], "groupId": "@home", "toGroupId": "@under"}
    ),
    ("DELETE", "/device"): Right({"deviceId": "@spare", "groupId": "@home"}),
    ("POST", "/devices/delete"): Right(
        body={"deviceIds": ["@doomed", "@doomed_too"], "groupId": "@home"}
    ),
    ("DELETE", "/connector"): Right(CONNECTOR),
    # `name` carries the group here.
    ("DELETE", "/contactPoint"): Right(CONTACT_POINT),
    ("DELETE", "/report"): Right(REPORT),
    ("DELETE", "/notification"): Right({"name": "@home", "notificationId": "@notification"}),
    ("DELETE", "/appClient"): Right({"name": "@home", "appClientId": "@client"}),
    ("DELETE", "/user/vendorToken"): Right({"token": "@push"}),
    ("GET", "/user/passkeys"): Right(),
    ("PUT", "/user/passkey"): Right(
        body={"passkeyId": "@passkey", "name": "new"}, needs_session=True
    ),
    ("DELETE", "/user/passkey"): Right({"passkeyId": "@passkey"}, needs_session=True),
    ("GET", "/user/signInChanges"): Right(),
    ("DELETE", "/role"): Right({"groupId": "@home", "roleId": "@spare_role", "userId": "@admin"}),
    ("DELETE", "/group/user"): Right({"groupId": "@home", "userId": "@viewer"}),
    ("DELETE", "/group"): Right({"groupId": "@home", "recursive": "true"}, by="above"),
    ("POST", "/group/restore"): Right(body={"groupId": "@home"}, by="above"),
}

# Parameters that name something which belongs to no tenant: the catalogue's, the networks'.
SHARED = {
    "permissionId",
    "originalId",
    "originalDevicesIds[0]",
    "input.originalId",
    "vendor.deviceTypeId",
    "vendor[0].deviceTypeId",
}
# Filters of the audit log: a foreign id finds as little as one that does not exist, see
# `tests/identity/test_audit.py`.
FILTERS = {"objectId", "actorId", "requestId"}
# Of other kinds of jobs than the one in the table, see `tests/jobs/`.
OF_OTHER_KINDS = {
    f"parameters.{name}" for name in ("connectorId", "deviceId", "objectId", "actorId")
}
# In place of what the table sends; the operation's own tests ask for those of others.
OTHER_FORMS = {
    ("POST", "/notification/backtest"): {"notificationId", "notification.groupId"},
    ("POST", "/share"): {"chart.deviceIds[0]"},
}


class Tenant:
    """Groups, people and objects of one customer, each marked with the tenant's canary."""

    def __init__(self, world: World, label: str) -> None:
        self.world = world
        self.canary = f"{label}-canary"
        self.people = {
            name: world.person(f"{self.canary}-{name}")
            for name in ("above", "admin", "member", "viewer", "below")
        }
        above, admin = self.people["above"], self.people["admin"]
        over = above.group("over")
        home = above.group(f"{self.canary} home", over)
        under = above.group("under", home)
        texts = {"description": f"{self.canary} about", "tags": [f"{self.canary} tag"]}
        ok(above.put("/group", {"groupId": home, **texts}))
        self._settle(home, under)
        roles = [
            admin.role("group.read", name=f"{self.canary} role {number}") for number in range(2)
        ]
        admin.invite(self.people["member"], home, roles[0])
        body = {"groupId": home, "name": f"{self.canary} client", "description": self.canary}
        client = ok(admin.post("/appClient", body))
        self.people["client"] = Person(
            world,
            world.token(client["appClientId"], client["secret"]),
            client["appClientId"],
            (client["appClientId"], client["secret"]),
        )
        devices = self._devices(home)
        world.receive_unknown(home, "mqtt", UNKNOWN, payload=self.canary)
        push = f"{self.canary} push"
        ok(admin.put("/user/vendorToken", {"token": push, "deviceName": f"{self.canary} phone"}))
        self.things = {
            "@home": home,
            "@home_parent": over,
            "@under": under,
            **devices,
            **self._connector(home, devices["@device"]),
            "@notification": self._notification(home, devices["@device"]),
            "@contact_point": self._contact_point(home),
            "@alarm": self._alarm(home, devices["@device"]),
            "@silence": self._silence(home),
            "@report": self._report(home),
            "@share": self._share(home, devices["@device"]),
            "@downlink": self._downlink(devices["@sent_to"]),
            "@type": self._type(home, "type"),
            "@spare_type": self._type(home, "spare type"),
            "@passkey": self._passkey(admin),
            "@job": self._job(home, devices["@device"]),
            "@export": self._export(home),
            "@admin": admin.id,
            "@member": self.people["member"].id,
            "@viewer": self.people["viewer"].id,
            "@role": roles[0],
            "@spare_role": roles[1],
            "@client": client["appClientId"],
            "@client_name": body["name"],
            "@push": push,
        }
        network_token = ok(admin.get("/group", groupId=home))[0]["token"]
        self.secrets = {self.canary, client["secret"], network_token, *self.things.values()}

    def _settle(self, home: str, under: str) -> None:
        above = self.people["above"]
        above.invite(self.people["admin"], home, "administrator")
        above.invite(self.people["viewer"], home, "viewer")
        above.invite(self.people["below"], under, "administrator")
        # Handed over, so that every operation is open to somebody who belongs to `home` alone,
        # and then moved only as far as they may.
        ok(above.put("/group", {"groupId": home, "ownerId": self.people["admin"].id}))
        for person in self.people.values():
            names = ("name", "firstName", "lastName", "gender")
            ok(person.put("/user", {name: f"{self.canary} {name}" for name in names}))

    def _identity(self, name: str) -> dict[str, str]:
        if name == "@sent_to":
            return {"network": "vendor", "originalId": original_id(self.canary, "sent to")}
        return {"network": "mqtt", "originalId": f"{self.canary} {name} original"}

    def _devices(self, home: str) -> dict[str, str]:
        """Devices of `home`; the first has records of every kind."""
        admin = self.people["admin"]
        made = {
            name: admin.device(
                home,
                name=f"{self.canary} {name}",
                **self._identity(name),
                tags=[f"{self.canary} tag"],
            )
            for name in DEVICES
        }
        for device in made.values():
            change = {"deviceId": device, "groupId": home, "configuration": f"{self.canary} set"}
            ok(admin.put("/device", change))
        for kind in KINDS:
            admin.reports(made["@device"], kind, data=f"{self.canary} {kind}")
        admin.reports(made["@device"], data='{"moisture": 17}', timestamp="2026-03-01T11:00:00Z")
        return made

    def _type(self, home: str, name: str) -> str:
        body = {"name": f"{self.canary} {name}", "groupId": home, "battery": self.canary}
        return str(ok(self.people["admin"].post("/device/type", body))["name"])

    def _downlink(self, device: str) -> str:
        """A queued downlink."""
        body = {"deviceId": device, "payload": "77" * 8}
        return str(ok(self.people["admin"].post("/device/downlink", body))["id"])

    def _passkey(self, owner: Person) -> str:
        passkey = model.Passkey(
            id=f"psk_{self.canary}",
            credential_id=self.canary.encode(),
            user_id=owner.id,
            name=f"{self.canary} passkey",
            public_key=b"key",
            relying_party_id="localhost",
            sign_count=0,
            is_synced=False,
            created_at=self.world.clock.now(),
        )
        self.world.write(lambda tx: PASSKEYS.insert(tx, passkey))
        return passkey.id

    def _export(self, home: str) -> str:
        """A job that has written a file."""
        admin = self.people["admin"]
        body = {"kind": "export", "groupId": home, "parameters": {"content": "devices"}}
        job = str(ok(admin.post("/job", body))["job"]["jobId"])
        eventually(lambda: "result" in ok(admin.get("/job", groupId=home, jobId=job)))
        return job

    def _job(self, home: str, device: str) -> str:
        """A job that has ended; what it has set was changed since, so an undo changes nothing."""
        admin = self.people["admin"]
        body = {
            "kind": "tag",
            "groupId": home,
            "deviceIds": [device],
            "parameters": {"addTags": [f"{self.canary} new"]},
            "reason": f"{self.canary} reason",
        }
        job = str(ok(admin.post("/job", body))["job"]["jobId"])
        eventually(lambda: "endedAt" in ok(admin.get("/job", groupId=home, jobId=job)))
        tags = [f"{self.canary} tag"]
        ok(admin.put("/device", {"deviceId": device, "groupId": home, "tags": tags}))
        return job

    def _connector(self, home: str, device: str) -> dict[str, str]:
        """A connector with the canary in every field, and an empty replay of it."""
        admin = self.people["admin"]
        body = {
            "groupId": home,
            **to_nowhere(
                bearer=f"{self.canary} bearer",
                headers={"X-Key": f"{self.canary} key"},
                secret=new_signing_secret(),
            ),
            "id": f"{self.canary}-connector",
            "name": f"{self.canary} connector",
            "description": f"{self.canary} about",
            "tags": [f"{self.canary} tag"],
            "messageFilter": f"message.data != '{self.canary}'",
            "deviceIds": [device],
            "retryPolicy": {"retryDelay": 1, "maxRetry": 0},
        }
        connector = ok(admin.post("/connector", body))["id"]
        begun = {"connectorId": connector, "groupId": home, **LONG_AGO}
        replay = ok(admin.post("/connector/replay", begun))["replayId"]
        admin.reports(device, timestamp="2026-03-01T12:00:01Z", data=f"{self.canary} sent")
        eventually(lambda: bool(admin.events(home, connector)["stats"]["totalFailed"]))
        (event,) = admin.events(home, connector)["items"]
        message = ok(admin.get("/connector/message", id=event["id"]))
        return {
            "@connector": connector,
            "@replay": replay,
            "@message": event["id"],
            "@record": message["recordId"],
        }

    def _notification(self, home: str, device: str) -> str:
        """A notification with the canary in every field."""
        body = {
            "groupId": home,
            **to_nowhere(bearer=f"{self.canary} bearer", subject=f"{self.canary} subject"),
            "type": "webhook",
            "name": f"{self.canary} notification",
            "description": f"{self.canary} about",
            "tags": [f"{self.canary} tag"],
            "reason": f"{self.canary} reason",
            "deviceId": device,
        }
        return str(ok(self.people["admin"].post("/notification", body))["id"])

    def _silence(self, home: str) -> str:
        body = {"groupId": home, "until": "2100-01-01", "reason": f"{self.canary} maintenance"}
        return str(ok(self.people["admin"].post("/alarm/silence", body))["id"])

    def _contact_point(self, home: str) -> str:
        """A contact point with the canary in every field."""
        body = {
            "groupId": home,
            **to_nowhere(bearer=f"{self.canary} bearer"),
            "type": "webhook",
            "name": f"{self.canary} contact",
            "description": f"{self.canary} about",
        }
        return str(ok(self.people["admin"].post("/contactPoint", body))["id"])

    def _report(self, home: str) -> str:
        body = {**NEW_REPORT, "name": f"{self.canary} report", "groupId": home}
        return str(ok(self.people["admin"].post("/report", body))["id"])

    def _share(self, home: str, device: str) -> str:
        body = {**NEW_SHARE, "name": f"{self.canary} view", "groupId": home}
        return str(
            ok(self.people["admin"].post("/share", {**body, "device": {"deviceId": device}}))["id"]
        )

    def _alarm(self, home: str, device: str) -> str:
        """An open alarm; its notification is disabled, so that nothing happens by itself."""
        admin = self.people["admin"]
        params = {"measurement": "moisture", "above": 17}
        notification = admin.notification(home, NOWHERE, params=params, reason="measurement")
        admin.reports(device, data='{"moisture": 18}', timestamp="2026-03-01T11:00:01Z")
        named = {"notificationId": notification, "groupId": home}
        eventually(lambda: "error" in ok(admin.get("/notification", **named)))
        ok(admin.put("/notification", {**named, "enabled": False}))
        (alarm,) = ok(admin.get("/group/alarms", groupId=home))["items"]
        return str(alarm["id"])

    def renew_tokens(self) -> None:
        for person in self.people.values():
            person.token = self.world.token(person.client_id, person.client_secret)


@dataclass
class Sent:
    """A request as it goes out."""

    query: Values
    body: Values | None
    csv: str = ""

    def words(self) -> str:
        return repr((self.query, self.body))


def filled(right: Right, own: Tenant, foreign: Tenant, places: frozenset[str]) -> Sent:
    """The request with ids of the foreign tenant in these places, and own ids elsewhere."""

    def fill(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {name: fill(each, below(place, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [fill(each, f"{place}[{index}]") for index, each in enumerate(value)]
        if is_open(value):
            return (foreign if place in places else own).things[value]
        return value

    body = None if right.body is None else fill(right.body, "")
    return Sent(fill(right.query, ""), body, right.csv)


def below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def is_open(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("@")


def open_places(right: Right) -> list[str]:
    """Where an id of a tenant occurs, as an error would name it: `items[0].deviceId`."""

    def search(value: Any, place: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, each in value.items():
                yield from search(each, below(place, name))
        elif isinstance(value, list):
            for index, each in enumerate(value):
                yield from search(each, f"{place}[{index}]")
        elif is_open(value):
            yield place

    return [*search(right.query, ""), *search(right.body, "")]


def attacks(right: Right) -> Iterator[frozenset[str]]:
    """The places to fill with foreign ids: each alone, and all together."""
    places = open_places(right)
    yield from (frozenset([place]) for place in places)
    if len(places) > 1:
        yield frozenset(places)


def send_rightly(person: Person, route: Route, right: Right, sent: Sent) -> httpx.Response:
    """With all that the operation needs."""
    if not right.needs_session:
        return send(person, route, sent)
    with Browser(person.world) as browser:
        browser.sign_in_as(person)
        return send_in(browser, route, sent)


def send_in(browser: Browser, route: Route, sent: Sent) -> httpx.Response:
    return browser.http.request(route.method, route.path, params=sent.query, json=sent.body)


def send(person: Person, route: Route, sent: Sent) -> httpx.Response:
    if sent.csv:
        headers = {"Content-Type": "text/csv"}
        return person.request(
            route.method, route.path, params=sent.query, content=sent.csv, headers=headers
        )
    return person.request(route.method, route.path, params=sent.query, json=sent.body)


def key(route: Route) -> tuple[str, str]:
    return route.method, route.path


def in_order(world: World) -> list[tuple[Route, Right]]:
    routes = {key(route): route for route in world.operations}
    return [(routes[each], right) for each, right in REQUESTS.items() if each in routes]


def inputs(route: Route) -> list[str]:
    return [
        field.encode_name
        for struct in (route.query, route.body)
        if struct is not None
        for field in msgspec.structs.fields(struct)
    ]


def id_places(struct: type[msgspec.Struct] | None, place: str = "") -> Iterator[str]:
    """Where an operation takes an id, at any depth."""
    for each in msgspec.structs.fields(struct) if struct else ():
        here = below(place, each.encode_name) + ("[0]" if is_list(each.type) else "")
        inner = struct_in(each.type)
        if inner is not None:
            yield from id_places(inner, here)
        elif each.encode_name.endswith(("Id", "Ids")) or each.encode_name == "parent":
            yield here


def is_list(annotated: Any) -> bool:
    return typing.get_origin(annotated) is list or any(map(is_list, typing.get_args(annotated)))


def struct_in(annotated: Any) -> type[msgspec.Struct] | None:
    """The object that a field holds, or a list of it."""
    if isinstance(annotated, type) and issubclass(annotated, msgspec.Struct):
        return annotated
    return next(filter(None, map(struct_in, typing.get_args(annotated))), None)


# --- the table is whole ---


def test_every_operation_is_in_the_table_with_every_id_it_takes(world: World) -> None:
    assert REQUESTS.keys() == {key(route) for route in world.operations}
    for route, right in in_order(world):
        ids = {*id_places(route.query), *id_places(route.body)}
        missing = ids - SHARED - FILTERS - OF_OTHER_KINDS - set(open_places(right))
        missing -= OTHER_FORMS.get(key(route), set())
        assert not missing, f"{route.method} {route.path} takes {missing} too"
    deep = {place for _, right in in_order(world) for place in open_places(right)}
    assert {"items[0].deviceId", "items[0].groupId", "input.groupId", "deviceIds[0]"} <= deep


# --- the other tenant's things ---


@pytest.fixture
def tenants(world: World) -> tuple[Tenant, Tenant]:
    for name in ("generic", "meter"):
        world.write(
            lambda tx, each=name: device_types.set_decoder(tx, SYSTEM, each, "cayenneLpp", "")
        )  # type: ignore[misc]
    return Tenant(world, "alpha"), Tenant(world, "bravo")


@pytest.fixture
def strangers(world: World, tenants: tuple[Tenant, Tenant]) -> dict[str, Person]:
    """People without access: removed, revoked, expired or never invited."""
    own, _ = tenants
    credential = world.write(
        lambda tx: tokens.create_credential(tx, SYSTEM, own.people["admin"].id)
    )
    client = (credential.credential.client_id, credential.secret)
    revoked = Person(world, world.token(*client), own.people["admin"].id, client)
    expired = Person(world, own.people["admin"].token, own.people["admin"].id, client)
    ok(expired.get("/user/me"))
    ok(revoked.get("/user/me"))
    world.clock.let_pass(seconds=world.settings.token_lifetime_s)
    for tenant in tenants:
        tenant.renew_tokens()
    world.operator.token = world.token(world.operator.client_id, world.operator.client_secret)
    revoked.token = world.token(*client)
    world.write(lambda tx: tokens.revoke_credential(tx, SYSTEM, client[0]))
    return {"expired": expired, "revoked": revoked, "nobody": world.nobody}


@dataclass
class Attempt:
    """A request that must fail without revealing anything about an object."""

    who: str
    person: Person
    sent: Sent
    about: Tenant
    statuses: frozenset[int] = frozenset({400, 403, 404})


def attempts(
    right: Right, own: Tenant, foreign: Tenant, strangers: dict[str, Person]
) -> Iterator[Attempt]:
    for name, person in own.people.items():
        for places in attacks(right):
            yield Attempt(name, person, filled(right, own, foreign, places), foreign)
    for name, person in strangers.items():
        for tenant in (own, foreign):
            sent = filled(right, tenant, tenant, frozenset())
            yield Attempt(name, person, sent, tenant, frozenset({401}))
    sent = filled(right, own, own, frozenset())
    if any(own.things[each] in sent.words() for each in ("@home", *DEVICES)):
        # Whoever belongs below has no say in the group above, and does not see it.
        yield Attempt("somebody below", own.people["below"], sent, own)


@pytest.mark.slow
def test_foreign_objects_are_refused_without_details_and_stay_unchanged(
    world: World, tenants: tuple[Tenant, Tenant], strangers: dict[str, Person]
) -> None:
    own, _ = tenants
    count = 0
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(16))
        users = own.people.keys() - {"client"}  # which has no session
        browsers = {name: stack.enter_context(Browser(world)) for name in users}
        for name, browser in browsers.items():
            browser.sign_in_as(own.people[name])
        before = world.everything()
        for route, right in in_order(world):
            tried = list(attempts(right, *tenants, strangers))
            by_session = browsers if right.needs_session else {}

            def attempt(
                each: Attempt, route: Route = route, by_session: dict[str, Browser] = by_session
            ) -> httpx.Response:
                if each.who in by_session:
                    return send_in(by_session[each.who], route, each.sent)
                return send(each.person, route, each.sent)

            for each, response in zip(tried, pool.map(attempt, tried), strict=True):
                case = f"{route.method} {route.path} by {each.who}: {each.sent.words()}"
                # That a session is missing would be a 403, whatever the request is about.
                statuses = {404} if each.who in by_session else each.statuses
                assert response.status_code in statuses, f"{case}: {response.text}"
                assert_silent(response, each.about, each.sent, case)
            assert world.everything() == before, f"{route.method} {route.path} changed something"
            count += len(tried)
    assert count > 500


def assert_silent(response: httpx.Response, tenant: Tenant, sent: Sent, case: str) -> None:
    """The response contains nothing of the tenant that the request did not contain."""
    answer = response.text + repr(response.headers.raw)
    leaked = {
        secret for secret in tenant.secrets if secret in answer and secret not in sent.words()
    }
    assert not leaked, f"{case} tells {leaked}: {answer}"


def test_requests_without_an_id_return_nothing_of_the_other_tenant(
    world: World, tenants: tuple[Tenant, Tenant]
) -> None:
    own, foreign = tenants
    shown = 0
    for route, right in in_order(world):
        if route.method != "GET":
            continue
        required = {
            field.encode_name
            for field in (msgspec.structs.fields(route.query) if route.query else ())
            if field.required
        }
        for name, person in own.people.items():
            sent = filled(right, own, foreign, frozenset())
            least = Sent({each: sent.query[each] for each in required}, None)
            for asked in (sent, least):
                response = send(person, route, asked)
                assert_silent(response, foreign, asked, f"{route.method} {route.path} by {name}")
                shown += own.canary in response.text
    assert shown > 10, "one's own things are shown"


# --- networks, which speak for a group ---


def original_id(canary: str, network: str) -> str:
    return hashlib.sha256(f"{canary} {network}".encode()).hexdigest()[:16]


def messages(canary: str) -> dict[str, tuple[Values, Values]]:
    """A message of each network about a device, by path: query and body."""
    message = {
        "device": original_id(canary, "vendor"),
        "time": 1_772_366_400,
        "data": "00",
        "batt": 3,
    }
    vendor = ("data", "dataAdvanced", "status", "acknowledge", "error")
    return {
        **{f"/network/vendor/{kind}": ({}, message) for kind in vendor},
        "/network/chirpstack": (
            {"event": "up"},
            {"deviceInfo": {"devEui": original_id(canary, "chirpstack")}},
        ),
        "/network/ttn": (
            {},
            {"end_device_ids": {"dev_eui": original_id(canary, "ttn")}, "uplink_message": {}},
        ),
        "/network/loriot": ({}, {"cmd": "rx", "EUI": original_id(canary, "loriot")}),
        "/network/thingpark": ({}, {"DevEUI_uplink": {"DevEUI": original_id(canary, "thingpark")}}),
    }


def test_the_network_token_of_one_tenant_reaches_nothing_of_the_other(
    world: World, tenants: tuple[Tenant, Tenant]
) -> None:
    own, foreign = tenants
    for tenant in tenants:
        for network in ("vendor", "chirpstack", "ttn", "loriot", "thingpark"):
            fields = {"network": network, "originalId": original_id(tenant.canary, network)}
            tenant.people["admin"].device(tenant.things["@home"], **fields)
    (shown,) = ok(own.people["admin"].get("/group", groupId=own.things["@home"]))
    network = Person(world, shown["token"], "", ("", ""))
    called = {route.path for route in world.app.routes if route.permission == GROUP_TOKEN}
    assert messages("").keys() == called

    before = world.everything()
    unknown = {}
    for path, (query, body) in messages("nobody").items():
        unknown[path] = network.post(path, body, **query)
    for path, (query, body) in messages(foreign.canary).items():
        response = network.post(path, body, **query)
        assert response.status_code == 404, path
        assert_silent(response, foreign, Sent(query, body), path)
        nothing = {**response.json(), "requestId": ""}
        assert nothing == {**unknown[path].json(), "requestId": ""}, "as if it did not exist"
    for path, (query, body) in messages(own.canary).items():
        for person in (own.people["admin"], world.operator, world.nobody):
            assert person.post(path, body, **query).status_code == 401, path
    for route, right in in_order(world):  # and it is no access token
        assert send(network, route, filled(right, own, own, frozenset())).status_code == 401
    assert world.everything() == before

    for path, (query, body) in messages(own.canary).items():
        ok(network.post(path, body, **query))


# --- the right requests work, and nothing the server owns can be sent along ---


def answer_fields(kind: Any) -> set[str]:
    """Every member name in a response, at any depth."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        inner = [answer_fields(each.type) for each in fields]
        return {each.encode_name for each in fields}.union(*inner)
    return set().union(*(answer_fields(each) for each in typing.get_args(kind)))


def own_names() -> set[str]:
    """The internal names of fields, which must not be accepted."""
    kinds = [each for each in vars(model).values() if dataclasses.is_dataclass(each)]
    return {each.name for kind in kinds for each in dataclasses.fields(kind)}


FORGED = "forged"


def test_valid_requests_succeed_and_read_only_fields_in_them_are_ignored(
    world: World, tenants: tuple[Tenant, Tenant]
) -> None:
    own, _ = tenants
    callers = {**own.people, "operator": world.operator}
    everywhere = own_names().union(*(answer_fields(route.reply) for route in world.operations))
    assert {"id", "createdAt", "ownerId", "removable", "is_operator", "secret"} <= everywhere
    for route, right in in_order(world):
        sent = filled(right, own, own, frozenset())
        forged = dict.fromkeys(everywhere - set(inputs(route)), FORGED)
        sent.query |= forged
        if sent.body is not None:
            # What is misplaced is refused; none of it is in what the path itself returns.
            sent.body |= {name: FORGED for name in forged if name not in route.misplaced}
        response = send_rightly(callers[right.by], route, right, sent)
        case = f"{route.method} {route.path}"
        assert response.status_code == 200, f"{case}: {response.text}"
        assert FORGED not in response.text, case
        assert FORGED not in repr(world.everything()), case
    assert FORGED not in repr(world.audit())


def test_a_user_id_in_a_request_never_changes_the_actor(
    world: World, tenants: tuple[Tenant, Tenant]
) -> None:
    own, foreign = tenants
    victim = foreign.people["admin"].id
    names = ("userId", "actorId", "createdBy", "updatedBy", "ownerId", "user_id", "id", "sub")
    callers = {**own.people, "operator": world.operator}
    for route, right in in_order(world):
        caller = callers[right.by]
        sent = filled(right, own, own, frozenset())
        claimed = {name: victim for name in names if name not in inputs(route)}
        sent.query |= claimed
        if sent.body is not None:
            sent.body |= claimed
        before = len(world.audit())
        response = send_rightly(caller, route, right, sent)
        case = f"{route.method} {route.path}"
        assert response.status_code == 200, f"{case}: {response.text}"
        assert victim not in response.text, case
        assert {actor for actor, _, _ in world.audit()[before:]} <= {caller.id}, case
