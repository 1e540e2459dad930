"""The domain entities as frozen values, with times in microseconds since 1970 (see `clock`)."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from longwire.clock import Moment
from longwire.work.turns import SERVICE, CallerKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a request: a user, an app client of a group, a network, or the service itself."""

    kind: Literal["user", "client", "network", "system"]
    id: str
    is_operator: bool = False
    group_id: str | None = None  # of an app client, or of a network's group token
    has_invitations: bool = False  # a user who has not accepted some membership yet
    owner_id: str | None = None  # as in `store/identity/request_owners.py`, unless it is the actor
    rates: tuple[tuple[str, float], ...] = ()  # requests per second of its groups; 0 for any number

    @property
    def caller(self) -> CallerKey:
        """Whose turn its requests take."""
        return SERVICE if self.kind == "system" else CallerKey(self.owner_id or self.id, self.id)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from, for the audit log."""

    address: str
    request_id: str
    issued_by: str | None = None  # who was shown the link that its session began with


SYSTEM = Actor("system", "system", is_operator=True)
LOCAL = Origin("local", "-")


@dataclass(frozen=True, slots=True)
class Scope:
    """The groups in which an actor has a permission; the store reads nothing without one.

    Either `group_ids`, or all in which `holder` has it. Only `identity/access.py` creates one.
    """

    permission: str
    group_ids: frozenset[str] = frozenset()
    holder: Actor | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `last_key` is the key of its last row if more rows follow."""

    items: Sequence[T]
    last_key: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Page size, and the key of the row to continue after."""

    limit: int
    after: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """Which devices of some groups; what is None does not matter."""

    q: str | None = None  # in the name, the original id or a tag; or the begin of the id
    type: str | None = None
    network: str | None = None
    tag: str | None = None
    seen: Literal["hour", "day", "week", "longer", "never", "silent"] | None = None
    battery_below: float | None = None  # percent


@dataclass(frozen=True, slots=True)
class DeviceOrder:
    """The order of a list of devices; with `q`, the best matches come first."""

    sort: Literal["created", "name", "seen_at", "battery"] = "created"
    ascending: bool = True


@dataclass(frozen=True, slots=True)
class GeoBox:
    """Degrees; one whose west is greater than its east contains the 180th meridian."""

    west: float
    south: float
    east: float
    north: float


@dataclass(frozen=True, slots=True)
class PositionFilter:
    """Which positions of devices."""

    since: Moment = -(2**62)
    box: GeoBox | None = None
    since_of_group: Mapping[int, Moment] = field(default_factory=dict)  # by number, if later


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
    updated_at: Moment = 0


@dataclass(frozen=True, slots=True)
class PushToken:
    sealed_token: str
    digest: bytes
    type: str
    created_at: Moment
    user_id: str
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
    language: str | None = None  # to be written to in; None for the default


class SignInMethod(enum.StrEnum):
    """How a person signed in."""

    LINK = "link"
    PASSWORD = "password"
    OIDC = "oidc"
    PASSKEY = "passkey"
    CLIENT = "client"  # the client id and secret of a user's credentials


class LinkSource(enum.StrEnum):
    """How a person gets a link by which they sign in."""

    TERMINAL = "terminal"  # printed by a command
    MAIL = "mail"
    SHOWN = "shown"  # to somebody else, who hands it over


@dataclass(frozen=True, slots=True)
class SignInCode:
    """What the link of a sign-in stands for."""

    digest: bytes
    user_id: str
    source: LinkSource
    created_at: Moment
    expires_at: Moment
    issued_by: str | None = None  # to whom it was shown


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is signed in with a browser."""

    id: str
    user_id: str
    method: SignInMethod
    address: str
    user_agent: str
    created_at: Moment
    seen_at: Moment
    expires_at: Moment  # unless it is used before
    ends_at: Moment  # however much it is used
    client_id: str | None = None  # its credentials: it ends when they are revoked
    issued_by: str | None = None  # who was shown the link that it began with, perhaps the user


@dataclass(frozen=True, slots=True)
class Passkey:
    """The public key of an authenticator with which a person signs in."""

    id: str
    credential_id: bytes  # what the authenticator calls it
    user_id: str
    name: str
    public_key: bytes
    relying_party_id: str  # the domain that it is valid for
    sign_count: int
    is_synced: bool  # the authenticator has a copy elsewhere
    created_at: Moment
    seen_at: Moment | None = None


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
    deletion_at: Moment | None = None  # when it will be deleted with everything in it


@dataclass(frozen=True, slots=True)
class Membership:
    group_id: str
    user_id: str
    role_id: str
    created_at: Moment
    updated_at: Moment  # when they got the role
    accepted_at: Moment | None = None  # until then others see only the address that was typed
    invited_as: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to which object, when, from where, in which request."""

    id: int
    at: Moment
    actor_kind: str
    actor_id: str
    action: str
    object_id: str
    group_id: str | None
    address: str
    request_id: str
    detail: str
    object_name: str | None = None  # at that time
    changes: str | None = None  # JSON: the changed fields before and after, and those left out
    issued_by: str | None = None  # who was shown the link of the session
    actor_name: str | None = None
    issuer_name: str | None = None
    depth: int | None = None  # of its group below the one that was asked for


@dataclass(frozen=True, slots=True)
class AppClient:
    id: str
    group_id: str
    name: str
    sealed_secret: str
    created_at: Moment
    updated_at: Moment
    created_by: str
    description: str | None = None
    expires_at: Moment | None = None
    role_id: str | None = None  # None for the default role of its group


@dataclass(frozen=True, slots=True)
class Credential:
    """A client id and secret that authenticate as a user; issued by the operator."""

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
    decoder: str | None = None  # the kind of decoder
    decoder_source: str | None = None
    encoder_source: str | None = None  # JavaScript, if encoding has a source of its own
    decoded_location: str | None = None  # the names of latitude and longitude, like "lat,lng"
    updated_at: Moment = 0
    group_id: str | None = None  # whose it is, with the groups below; None for all


@dataclass(frozen=True, slots=True)
class Device:
    """A device in its current group. `stay` counts the groups it has been in before."""

    number: int  # internal key, referenced by records
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
    joined_at: Moment | None = None  # when it was transferred into the group, or restored there


@dataclass(frozen=True, slots=True)
class ConfigurationPolicy:
    """What a device type or a group wants of the configuration of its devices."""

    policy: str  # JSON: a merge patch
    updated_at: Moment
    updated_by: str


class SequenceCounter(NamedTuple):
    """A device's last frame counter and the gaps so far: first missing number and length."""

    number: int | None = None
    at: Moment | None = None
    missing: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An event about a device that the service itself raises, such as falling silent."""

    device_id: str
    type: str
    ts: Moment
    message: str | None = None
    severity: str | None = None
    data: Mapping[str, Any] | None = None


DownlinkState = Literal["queued", "sent", "acknowledged", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class Downlink:
    """A message to a device and its delivery state."""

    id: str
    device_number: int
    group_id: str  # the device's group when it was requested
    payload: str  # hex
    data: str | None  # JSON: what the codec says that the payload means
    port: int | None
    is_confirmed: bool
    state: DownlinkState
    detail: str | None
    reference: str | None  # the network's id for it
    seq: int | None  # of its delivery, if the delivery engine sends it to the network
    created_at: Moment
    updated_at: Moment
    expires_at: Moment
    created_by: str


class ChannelPurpose(enum.StrEnum):
    """What leaves through a channel."""

    CONNECTOR = "connector"  # records, to the customer's own systems
    NOTIFICATION = "notification"
    DOWNLINK = "network"
    REGISTRATION = "registration"
    MAIL = "mail"
    CONTACT_POINT = "contact_point"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Channel:
    """A way out of the service: where deliveries go, how they are retried, and its health."""

    number: int  # internal key, referenced by deliveries; 0 until it is stored
    id: str
    group_id: str
    purpose: ChannelPurpose
    type: str
    created_at: Moment
    updated_at: Moment
    created_by: str
    updated_by: str
    sealed_params: str | None = None
    version: int = 1
    is_enabled: bool = True
    storing_s: int = 0
    retry_delay_s: int | None = None
    retries_max: int | None = None
    error_at: Moment | None = None
    error_message: str | None = None
    failures: int = 0  # attempts in a row
    failing_since: Moment | None = None  # the first of them
    filter_evaluated: int = 0  # lately, as long as some evaluations of its filter fail
    filter_failed: int = 0
    filter_failing_since: Moment | None = None  # while most of them fail
    resend_before: Moment | None = None
    paused_until: Moment | None = None  # its receiver has asked for so much time
    retry_delays: tuple[int, ...] = ()  # in place of `retry_delay_s`; one for each retry
    max_per_s: float | None = None  # requests
    is_ordered: bool = False  # the messages of a device are sent one after the other


@dataclass(frozen=True, slots=True)
class ChannelOwner:
    """What connectors, notifications and contact points share: a channel that users configure."""

    channel: Channel
    name: str | None = None
    description: str | None = None
    device_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        return self.channel.number

    @property
    def id(self) -> str:
        return self.channel.id

    @property
    def group_id(self) -> str:
        return self.channel.group_id

    @property
    def type(self) -> str:
        return self.channel.type

    @property
    def is_enabled(self) -> bool:
        return self.channel.is_enabled

    @property
    def created_at(self) -> Moment:
        return self.channel.created_at

    @property
    def updated_at(self) -> Moment:
        return self.channel.updated_at

    @property
    def created_by(self) -> str:
        return self.channel.created_by

    @property
    def updated_by(self) -> str:
        return self.channel.updated_by


@dataclass(frozen=True, slots=True)
class Connector(ChannelOwner):
    """Forwards a group's messages that match its filter to a destination."""

    subgroups: bool = False
    device_ids: tuple[str, ...] = ()
    message_filter: str | None = None
    format: str = "json"
    kinds: tuple[str, ...] = ()  # empty for all kinds of records


@dataclass(frozen=True, slots=True)
class Notification(ChannelOwner):
    """An alert rule: which condition notifies whom."""

    device_id: str | None = None  # the only device it watches, or None for all of the group
    reason: str | None = None
    schedule: str | None = None  # JSON
    fired_at: Moment | None = None
    sent_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """Sends the stored records of a period through a connector again."""

    id: str
    channel_number: int
    begin_at: Moment
    end_at: Moment
    at_group: str
    at_seq: int
    until_seq: int
    records_scanned: int
    queued: int
    state: Literal["running", "done", "cancelled"]
    created_at: Moment
    updated_at: Moment
    created_by: str


class JobState(enum.StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        return self in (JobState.WAITING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobCounts:
    """What became of the devices or records that a job has processed."""

    done: int = 0
    changed: int = 0
    skipped: int = 0
    failed: int = 0

    def plus(self, other: "JobCounts") -> "JobCounts":
        counts = zip(astuple(self), astuple(other), strict=True)
        return JobCounts(*(one + another for one, another in counts))


@dataclass(frozen=True, slots=True)
class Job:
    """Work that is too large for one request, done in steps."""

    id: str
    kind: str
    group_id: str
    owner_id: str  # whose turn it takes
    actor_kind: Literal["user", "client"]
    actor_id: str
    origin: Origin
    reason: str
    task: str  # JSON: what to do
    selection: str  # JSON: with which devices
    created_at: Moment
    updated_at: Moment
    total: int | None = None
    state: JobState = JobState.WAITING
    error: str | None = None  # a code
    counts: JobCounts = JobCounts()
    kept_characters: int = 0  # for an undo
    cursor: str = "null"  # JSON: everything up to it is done
    undo_of: str | None = None
    undone_by: str | None = None
    undo_until: Moment | None = None
    result_bytes: int = 0  # of the file that it has written, until that is deleted
    result_until: Moment | None = None
    fence: int = 0
    started_at: Moment | None = None
    ended_at: Moment | None = None


class ItemOutcome(enum.StrEnum):
    CHANGED = "changed"
    UNDONE = "undone"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobItem:
    """What a job did with one device."""

    object_id: str
    outcome: ItemOutcome
    code: str | None = None  # why it was skipped or failed
    old_values: str | None = None  # JSON: what an undo sets
    new_digest: str | None = None  # of what the job set
    number: int = 0  # its position among the items that are kept
