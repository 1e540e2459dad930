"""Every setting of the service: name, type, default and description.

The class below is the only definition of a setting; flags, variables, `longwire config` and the
documents follow from it.
"""

import sys
from dataclasses import Field, dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from longwire.quotas import Quotas
from longwire.settings.declaration import SettingInfo, setting
from longwire.settings.fixed_limits import FixedLimits

# Variables that are no settings: the file with settings, and those of clients.
NOT_SETTINGS = {"config", "profile", "url", "client_id", "client_secret", "token"}

Network = IPv4Network | IPv6Network
Networks = tuple[Network, ...]

_DATA_FOLDER = Path("longwire-data")
STANDBY = "standby"
_DAYS_MAX = 100_000  # keeps dates within range
_PORT_MAX = 65_535
_FLOAT_MAX = sys.float_info.max  # refuses infinity

# Numbers and their bounds, which msgspec checks.
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=_PORT_MAX)]
Days = Annotated[int, Meta(ge=0, le=_DAYS_MAX)]
Finite = Annotated[float, Meta(ge=0, le=_FLOAT_MAX)]


@dataclass(frozen=True, slots=True)
class Settings:
    # --- [server] ---
    host: str = setting(
        "server.host", "127.0.0.1", "the address to listen on; only this machine by default"
    )
    port: Port = setting("server.port", 8080, "the port to listen on; 0 takes a free one")
    data: Path = setting(
        "server.data",
        _DATA_FOLDER,
        "the folder for the embedded database, secret.key and operator.json",
    )
    workers: Positive = setting(
        "server.workers", 1, "worker processes; more than one needs PostgreSQL"
    )
    public_url: str = setting(
        "server.public_url",
        "",
        "the URL by which clients reach the service, if not http(s)://host:port",
    )
    auth_url: str = setting(
        "server.auth_url",
        "",
        "another service that issues the access tokens; empty to issue them here",
    )
    tls_cert: str = setting("server.tls_cert", "", "certificate chain (PEM) to serve HTTPS with")
    tls_key: str = setting("server.tls_key", "", "private key (PEM) of that certificate")
    cors_origins: str = setting(
        "server.cors_origins",
        "",
        "origins whose pages may use the API with a token, like https://app.example.com, separated"
        " by commas; * for all, empty for none",
    )
    compression: bool = setting(
        "server.compression", True, "compress responses for clients that accept gzip"
    )
    trusted_proxies: Networks = setting(
        "server.trusted_proxies",
        (),
        "networks whose X-Forwarded-Proto and X-Forwarded-For headers are trusted",
    )
    secret_key: str = setting(
        "server.secret_key",
        "",
        "the key of secret.key in hex, for machines without that file",
        is_secret=True,
    )
    connections_max: Count = setting(
        "server.connections_max",
        10_000,
        "maximum connections of all clients; lowered to what the descriptor limit allows",
    )
    connections_per_address_max: Count = setting(
        "server.connections_per_address_max",
        0,
        "maximum connections per address; 0 for no limit, as needed behind a proxy",
    )
    keep_alive_s: Annotated[float, Meta(ge=1, le=_FLOAT_MAX)] = setting(
        "server.keep_alive_s", 30.0, "timeout of an idle connection"
    )
    lame_duck_s: Finite = setting(
        "server.lame_duck_s",
        0.0,
        "how long a stopping service is unready but serves on, so that load balancers notice first",
    )
    stop_timeout_s: Finite = setting(
        "server.stop_timeout_s", 30.0, "how long a shutdown waits for requests in progress"
    )
    # --- [log] ---
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "log.level",
        "info",
        "debug, info, warning or error; debug logs every request",
    )
    log_format: Literal["auto", "human", "json"] = setting(
        "log.format",
        "auto",
        "human, json, or auto: human on a terminal, else json",
    )
    # --- [database] ---
    database: str = setting(
        "database.url",
        "",
        "postgresql://… for PostgreSQL; empty for the embedded database in the data folder",
    )
    database_connections: Annotated[int, Meta(ge=2)] = setting(
        "database.connections",
        8,
        "connections per process to PostgreSQL; half of them only read",
    )
    database_pooled: bool = setting(
        "database.pooled",
        False,
        "whether a pooler in transaction mode, such as PgBouncer, is before PostgreSQL",
    )
    database_timeout_s: Annotated[float, Meta(ge=10, le=_FLOAT_MAX)] = setting(
        "database.timeout_s",
        35.0,
        "how long a request waits for PostgreSQL at most; the outcome of a commit that takes"
        " longer is unknown",
    )
    database_standbys_min: Count = setting(
        "database.standbys_min",
        0,
        "synchronous standbys that PostgreSQL must have for the service to be ready",
    )
    database_read_standbys: str = setting(
        "database.read_standbys",
        "",
        "postgresql://… of standbys that serve reads which may lag, or the word standby for those"
        " among the servers of database; empty for none",
    )
    database_read_lag_s: Finite = setting(
        "database.read_lag_s",
        0.0,
        "how old such a read may be; callers see their own writes through the same process anyway,"
        " with 0 those through any process",
    )
    database_slots: Annotated[int, Meta(ge=0, le=64)] = setting(
        "database.slots",
        0,
        "parts into which a PostgreSQL divides devices and their records, a power of two up to 64;"
        " 0 for those that it has, which is one unless more were asked for",
    )
    # --- [sign_in] ---
    token_lifetime_s: Positive = setting(
        "sign_in.token_lifetime_s", 3_600, "lifetime of an access token"
    )
    session_idle_s: Annotated[int, Meta(ge=600)] = setting(
        "sign_in.session_idle_s",
        12 * 3_600,
        "how long a session lasts without being used",
    )
    session_lifetime_s: Annotated[int, Meta(ge=600)] = setting(
        "sign_in.session_lifetime_s", 14 * 86_400, "how long a session lasts at most"
    )
    password_sign_in: bool = setting("sign_in.password", True, "let people sign in with a password")
    # --- [sign_in.oidc] ---
    oidc_issuer: str = setting(
        "sign_in.oidc.issuer",
        "",
        "the issuer URL of an OpenID Connect provider to sign in with; empty for none",
    )
    oidc_client_id: str = setting(
        "sign_in.oidc.client_id", "", "the client id of this service at that provider"
    )
    oidc_client_secret: str = setting(
        "sign_in.oidc.client_secret",
        "",
        "the secret of that client; empty for a public client",
        is_secret=True,
    )
    oidc_name: str = setting(
        "sign_in.oidc.name", "", "the provider's name on the sign-in page; empty for its host"
    )
    oidc_scopes: str = setting(
        "sign_in.oidc.scopes", "openid email profile", "the scopes to ask for, with openid"
    )
    oidc_domains: str = setting(
        "sign_in.oidc.domains",
        "",
        "e-mail domains whose people may sign in, separated by commas; empty for all",
    )
    oidc_verified_claim: str = setting(
        "sign_in.oidc.verified_claim",
        "email_verified",
        "the claim that must be true for an address to count",
    )
    oidc_creates_users: bool = setting(
        "sign_in.oidc.creates_users",
        False,
        "create a user at the first sign-in; else only those who exist, like invited ones",
    )
    oidc_group_claim: str = setting(
        "sign_in.oidc.group_claim",
        "groups",
        "the claim that oidc_memberships looks at; dots lead into objects",
    )
    oidc_memberships: str = setting(
        "sign_in.oidc.memberships",
        "",
        "lines (or parts between semicolons) of group id, role id and a value of that claim:"
        " whoever has the value is a member of the group with the role",
    )
    # --- [console] ---
    map_tiles: str = setting(
        "console.map_tiles",
        "",
        "tiles for the console's map: a server, like https://tiles.example.com/{z}/{x}/{y}.png, or"
        " the folder for `longwire map add`; empty for the folder `map` in the data folder",
    )
    map_attribution: str = setting(
        "console.map_attribution", "", "whom the map names as the source of these tiles"
    )
    # --- [limits] ---
    requests_per_caller_per_s: Finite = setting(
        "limits.requests_per_caller_per_s",
        0.0,
        "rate limit: average requests per second of one caller; 0 for no limit",
    )
    body_bytes_max: Positive = setting(
        "limits.body_bytes_max", 1024 * 1024, "maximum size of a request body"
    )
    request_bytes_max: Positive = setting(
        "limits.request_bytes_max",
        128 * 1024 * 1024,
        "maximum size of all bodies that are received or handled at once; a quarter per owner",
    )
    stored_records_per_group_max: Count = setting(
        "limits.stored_records_per_group_max",
        0,
        "maximum stored records of a group; 0 for no limit",
    )
    stored_bytes_per_group_max: Count = setting(
        "limits.stored_bytes_per_group_max",
        0,
        "maximum bytes of a group's stored records; 0 for no limit",
    )
    stored_records_per_owner_max: Count = setting(
        "limits.stored_records_per_owner_max",
        0,
        "maximum stored records of all groups that a user has created; 0 for no limit",
    )
    stored_bytes_per_owner_max: Count = setting(
        "limits.stored_bytes_per_owner_max",
        0,
        "maximum bytes of these records; 0 for no limit",
    )
    connectors_per_group_max: Positive = setting(
        "limits.connectors_per_group_max", 1_000, "maximum connectors of a group"
    )
    compute_ms_per_group_per_s: Positive = setting(
        "limits.compute_ms_per_group_per_s",
        250,
        "CPU time that the filters, templates and conditions of a group may use in a process, in"
        " milliseconds per second; beyond it they are evaluated later",
    )
    codec_ms_per_group_per_s: Positive = setting(
        "limits.codec_ms_per_group_per_s",
        600,
        "CPU time that codecs may use for a group in a process, in milliseconds per second; beyond"
        " it payloads are stored without decoded values",
    )
    # --- [retention] ---
    retention_data_days: Days = setting(
        "retention.data_days", 0, "days that data records are kept; 0 for ever"
    )
    retention_event_days: Days = setting("retention.event_days", 0, "the same for events")
    retention_geoloc_days: Days = setting("retention.geoloc_days", 0, "the same for geolocations")
    retention_telemetry_days: Days = setting(
        "retention.telemetry_days", 0, "the same for telemetry"
    )
    retention_metrics_days: Days = setting(
        "retention.metrics_days",
        0,
        "minimum days that metrics are kept; 0 for ever",
    )
    audit_retention_days: Days = setting(
        "retention.audit_days", 0, "days that the audit log is kept; 0 for ever"
    )
    delivery_keep_days: Days = setting(
        "retention.deliveries_days", 30, "days that finished deliveries are kept"
    )
    trace_keep_hours: Annotated[int, Meta(ge=0, le=_DAYS_MAX * 24)] = setting(
        "retention.traces_hours",
        72,
        "hours that messages of networks are kept as they came in, and requests of webhooks with"
        " their responses, as far as a connector keeps them; 0 for not at all",
    )
    trace_bytes_max: Count = setting(
        "retention.traces_bytes_max",
        2**30,
        "size of all such messages; beyond it the oldest of the largest group are deleted",
    )
    group_deletion_grace_hours: Annotated[int, Meta(ge=0, le=24 * _DAYS_MAX)] = setting(
        "retention.deleted_groups_hours",
        72,
        "hours until a group is deleted with everything in it; until then it can be cancelled",
    )
    archive: str = setting(
        "retention.archive",
        "",
        "the folder, or s3://bucket/prefix, where `longwire archive` has moved old records; they"
        " are served from there",
    )
    # --- [delivery] ---
    delivery: bool = setting(
        "delivery.enabled",
        True,
        "run the delivery engine in serve; off if `longwire deliver` runs it",
    )
    egress_allow: Networks = setting(
        "delivery.egress_allow", (), "non-public networks that outgoing connections may reach"
    )
    egress_proxy: str = setting(
        "delivery.egress_proxy",
        "",
        "the proxy through which all webhooks are sent, as http://, socks5:// or socks5h:// with a"
        " host, a port, and a login if it wants one; empty for none",
    )
    delivery_in_flight_max: Positive = setting(
        "delivery.in_flight_max",
        16,
        "maximum messages in flight per connector, of all processes together",
    )
    # --- [metrics] ---
    metrics_host: str = setting(
        "metrics.host",
        "127.0.0.1",
        "the address on which `longwire deliver` serves health and metrics",
    )
    metrics_port: Port = setting(
        "metrics.port",
        0,
        "the port for that; 0 for none. `serve` has them on its own port",
    )
    metrics_token: str = setting(
        "metrics.token",
        "",
        "the bearer token that /metrics requires; without one anybody may read them, and they do"
        " not name connectors",
        is_secret=True,
    )
    # --- [metrics.otel] ---
    otel_endpoint: str = setting(
        "metrics.otel.endpoint",
        "",
        "the URL of a collector that takes OTLP over HTTP, without /v1/traces; empty for none."
        " Needs longwire[otel]",
    )
    otel_headers: str = setting(
        "metrics.otel.headers",
        "",
        "headers for it, like name=value,name=value; values as %.. if special",
        is_secret=True,
    )
    otel_sample_ratio: Annotated[float, Meta(ge=0, le=1)] = setting(
        "metrics.otel.sample_ratio",
        1.0,
        "which part of the traces is exported; 0 for none",
    )
    # --- [mail] ---
    smtp_host: str = setting("mail.smtp_host", "", "the SMTP server for e-mail; empty to send none")
    smtp_port: Annotated[int, Meta(ge=1, le=_PORT_MAX)] = setting(
        "mail.smtp_port",
        587,
        "its port; 465 with smtp_security tls, 25 within a network",
    )
    smtp_security: Literal["starttls", "tls", "none"] = setting(
        "mail.smtp_security",
        "starttls",
        "starttls, tls or none; none is not encrypted",
    )
    smtp_user: str = setting("mail.smtp_user", "", "the SMTP user; empty for no authentication")
    smtp_password: str = setting("mail.smtp_password", "", "the SMTP password", is_secret=True)
    smtp_from: str = setting(
        "mail.smtp_from", "", "the sender, like Longwire <longwire@example.com>"
    )
    mail_domains: str = setting(
        "mail.domains",
        "",
        "domains that mail may go to, separated by commas; empty for members only, of any domain",
    )
    mails_per_group_hour_max: Count = setting(
        "mail.per_group_hour_max", 1_000, "maximum mails of a group in an hour"
    )
    # --- [push] ---
    vapid_key: str = setting(
        "push.vapid_key",
        "",
        "the private key for Web Push, in base64url; empty for no Web Push",
        is_secret=True,
    )
    vapid_contact: str = setting(
        "push.vapid_contact", "", "a mailto: or https: URL for the push services"
    )
    fcm_account: str = setting(
        "push.fcm_account",
        "",
        "the JSON file of a service account for Firebase Cloud Messaging; empty for none",
    )
    # --- [mqtt] ---
    mqtt_url: str = setting(
        "mqtt.url",
        "",
        "mqtt(s)://user:password@host:port of a broker to subscribe to; empty for none",
    )
    mqtt_prefix: str = setting(
        "mqtt.prefix",
        "longwire",
        "the first levels of the topics; group token, device and kind follow",
    )
    mqtt_version: Literal["5", "3.1.1"] = setting(
        "mqtt.version", "5", "the broker's MQTT version: 5 or 3.1.1"
    )
    mqtt_client_id: str = setting(
        "mqtt.client_id", "", "the client id at the broker; empty to derive one from the secret key"
    )
    # --- [networks.vendor] ---
    vendor_api_url: str = setting(
        "networks.vendor.api_url",
        "",
        "the vendor network's API URL, including its version; empty to register no devices",
    )
    vendor_api_login: str = setting("networks.vendor.api_login", "", "the login of that API")
    vendor_api_password: str = setting(
        "networks.vendor.api_password", "", "the password of that login", is_secret=True
    )
    # --- [networks.chirpstack] ---
    chirpstack_api_url: str = setting(
        "networks.chirpstack.api_url",
        "",
        "the URL of ChirpStack or of its REST API, for downlinks; empty to send none",
    )
    chirpstack_api_key: str = setting(
        "networks.chirpstack.api_key", "", "an API key of ChirpStack", is_secret=True
    )
    # --- [networks.loriot] ---
    loriot_api_url: str = setting(
        "networks.loriot.api_url",
        "",
        "the URL of LORIOT's network server, for downlinks; empty to send none",
    )
    loriot_api_key: str = setting(
        "networks.loriot.api_key", "", "an access token of an application of LORIOT", is_secret=True
    )
    loriot_app_id: str = setting(
        "networks.loriot.app_id", "", "the id of that application, 8 hex digits"
    )
    # --- [networks.thingpark] ---
    thingpark_api_url: str = setting(
        "networks.thingpark.api_url",
        "",
        "the URL of ThingPark's API, for downlinks; empty to send none",
    )
    thingpark_as_id: str = setting(
        "networks.thingpark.as_id", "", "the id of this application server at ThingPark (AS_ID)"
    )
    thingpark_as_key: str = setting(
        "networks.thingpark.as_key",
        "",
        "the tunnel authentication key of this application server (LRC-AS key)",
        is_secret=True,
    )
    fixed: FixedLimits = field(default_factory=FixedLimits)


# What a new installation looks at first, in this order.
MOST_SET = (
    "data",
    "public_url",
    "host",
    "port",
    "tls_cert",
    "database",
    "egress_allow",
    "smtp_host",
)


def list_changed(before: Settings, after: Settings) -> list[str]:
    """The names of the settings that differ."""
    return [
        each.name
        for each in fields(Settings)
        if getattr(before, each.name) != getattr(after, each.name)
    ]


def describe_settings() -> list[SettingInfo]:
    """Every setting, in the order of the class."""
    return [
        SettingInfo(
            each.name,
            each.metadata["path"],
            each.default,
            each.metadata["reason"],
            each.metadata["is_secret"],
        )
        for each in setting_fields()
    ]


def setting_fields() -> list[Field[Any]]:
    """What of the class is a setting."""
    return [each for each in fields(Settings) if each.metadata]


# What a running service can change; everything else needs a restart.
RELOADABLE = frozenset(
    {
        "tls_cert",
        "tls_key",
        "log_level",
        "log_format",
        "connections_max",
        "connections_per_address_max",
        *({each.name for each in fields(Quotas)} & {each.name for each in setting_fields()}),
    }
)
