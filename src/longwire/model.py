"""The nouns of the service as plain frozen values; no behaviour beyond what a value can say.

Change makes a new value (`dataclasses.replace`). Moments are microseconds since 1970 (`clock`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from longwire.clock import Moment

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever acts: a person, a group's app client, or a network that speaks for its devices.

    Chosen by the token, by nothing else.
    """

    kind: Literal["user", "client", "network", "system"]
    id: str
    is_operator: bool = False
    group_id: str | None = None  # the home of an app client, or of a network's token


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from, for the audit trail."""

    address: str
    request_id: str


SYSTEM = Actor("system", "system", is_operator=True)
LOCAL = Origin("local", "-")


@dataclass(frozen=True, slots=True)
class Scope:
    """The groups in which somebody holds a permission: the key the store asks for.

    Either exactly `group_ids`, or, when `holder` is set, every group in which the holder has the
    permission. Only `identity/access.py` makes one, so that whoever reads has been checked.
    """

    permission: str
    group_ids: frozenset[str] = frozenset()
    holder: Actor | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A piece of a list and the key of its last row, when there is more."""

    items: Sequence[T]
    last_key: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """How much of a list is wanted, and after which row."""

    limit: int
    after: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Permission:
    id: str
    name: str
    description: str
    is_built_in: bool = False
    is_platform_wide: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    id: str
    name: str
    description: str
    permissions: tuple[str, ...]
    is_removable: bool = True
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class PushToken:
    sealed_token: str
    digest: bytes
    type: str
    created_at: Moment
    created_by: str
    device_name: str | None = None
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class User:
    id: str
    email: str
    created_at: Moment
    updated_at: Moment
    name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    gender: str | None = None
    seen_at: Moment | None = None
    is_operator: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    owner_id: str
    sealed_token: str
    administrator_role_id: str
    default_role_id: str
    created_at: Moment
    updated_at: Moment
    created_by: str
    updated_by: str
    name: str | None = None
    description: str | None = None
    parent_id: str | None = None
    tags: tuple[str, ...] = ()
    device_count: int = 0
    connector_count: int = 0
    notification_count: int = 0


@dataclass(frozen=True, slots=True)
class Membership:
    group_id: str
    user_id: str
    role_id: str
    created_at: Moment


@dataclass(frozen=True, slots=True)
class AppClient:
    id: str
    group_id: str
    name: str
    sealed_secret: str
    created_at: Moment
    created_by: str
    description: str | None = None
    expires_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """A client id whose bearer acts as a user; issued by the operator."""

    client_id: str
    user_id: str
    created_at: Moment
    expires_at: Moment | None = None
    email: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DeviceType:
    name: str
    display_name: str
    default_configuration: str
    battery: str | None = None
    firmware_version: str | None = None
    is_built_in: bool = False
    decoder: str | None = None  # the kind of its decoder
    decoder_source: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A device in the group it is in now. `stay` counts the groups it has been in before."""

    number: int  # ours alone: what records point at
    id: str
    group_id: str
    stay: int
    name: str
    type: str
    network: str
    original_id: str
    information: str
    configuration: str
    tags: tuple[str, ...]
    created_at: Moment
    updated_at: Moment
    created_by: str
    updated_by: str
    battery: str | None = None
    seen_at: Moment | None = None


class Count(NamedTuple):
    """How far a device has counted, and what is missing: the first of each gap, and how many."""

    number: int | None = None
    at: Moment | None = None
    missing: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a device that nobody but the service itself can tell."""

    device_id: str
    type: str
    ts: Moment
    message: str | None = None
    severity: str | None = None
    data: Mapping[str, Any] | None = None


DownlinkState = Literal["queued", "sent", "acknowledged", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class Downlink:
    """A message to a device, and how far it has come."""

    id: str
    device_number: int
    group_id: str  # the one its device was in when it was asked for
    payload: str  # hex
    port: int | None
    is_confirmed: bool
    state: DownlinkState
    detail: str | None
    reference: str | None  # what its network calls it
    seq: int | None  # of its delivery, where the engine takes it to its network
    created_at: Moment
    updated_at: Moment
    expires_at: Moment
    created_by: str


@dataclass(frozen=True, slots=True)
class Stay:
    """A time that a device spent in a group; its records of that time belong to that group."""

    number: int
    group_id: str


FORWARDING = "connector"  # the purpose of a connector: records to the customer's own systems


@dataclass(frozen=True, slots=True)
class Connector:
    """Where a group's messages are forwarded to, and which of them."""

    number: int  # ours alone: what deliveries point at
    id: str
    group_id: str
    version: int
    name: str | None
    description: str | None
    type: str
    sealed_params: str
    subgroups: bool
    device_types: tuple[str, ...]
    device_ids: tuple[str, ...]
    message_filter: str | None
    format: str
    storing_s: int
    retry_delay_s: int | None
    retries_max: int | None
    tags: tuple[str, ...]
    is_enabled: bool
    created_at: Moment
    updated_at: Moment
    created_by: str
    updated_by: str
    error_at: Moment | None = None
    error_message: str | None = None
    failures: int = 0
    resend_before: Moment | None = None
    purpose: str = FORWARDING  # what goes out through it; people see only their connectors


@dataclass(frozen=True, slots=True)
class Notification:
    """Who is told of what, and when."""

    outlet: Connector  # how it leaves, and all that the two have in common
    reason: str | None = None
    schedule: str | None = None  # JSON
    fired_at: Moment | None = None
    sent_at: Moment | None = None

    @property
    def number(self) -> int:
        return self.outlet.number

    @property
    def id(self) -> str:
        return self.outlet.id

    @property
    def group_id(self) -> str:
        return self.outlet.group_id

    @property
    def device_id(self) -> str | None:
        """The one device that it is about, if it is about one."""
        return self.outlet.device_ids[0] if self.outlet.device_ids else None


@dataclass(frozen=True, slots=True)
class Replay:
    """Stored records of a period on their way through a connector once more."""

    id: str
    connector_number: int
    begin_at: Moment
    end_at: Moment
    at_group: str
    at_seq: int
    until_seq: int
    looked_at: int
    queued: int
    state: Literal["running", "done", "cancelled"]
    created_at: Moment
    updated_at: Moment
    created_by: str
