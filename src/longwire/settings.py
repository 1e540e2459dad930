"""Every setting of the service: name, type, default and description.

Flags override environment variables, which override a TOML file. The class below is the only
definition of a setting; flags, variables, `longwire config` and the documents follow from it.
`app_config.py` passes plain values down; lower layers never import this module.
"""

import re
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from longwire.errors import OperatorError
from longwire.quotas import Quotas

PREFIX = "LONGWIRE_"
# Variables that are no settings: the file with settings, and those of clients.
NOT_SETTINGS = {"config", "profile", "url", "client_id", "client_secret", "token"}

Network = IPv4Network | IPv6Network

_DATA_FOLDER = Path("longwire-data")
STANDBY = "standby"
_DAYS_MAX = 100_000  # keeps dates within range
_PORT_MAX = 65_535
_IN_FLIGHT_MAX = 65_535  # packet identifiers of MQTT have 16 bits


class SettingsError(OperatorError):
    """Some settings are invalid; the message lists all of them."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The values that a setting may have, each by itself."""

    minimum: int | None
    maximum: int | None
    choices: tuple[str, ...]

    def validate(self, value: Any) -> str | None:
        """What the value must be, if it is not."""
        if self.choices:
            *others, last = self.choices
            return None if value in self.choices else f"must be {', '.join(others)} or {last}"
        is_small = self.minimum is not None and value < self.minimum
        is_large = self.maximum is not None and value > self.maximum
        if not is_small and not is_large:
            return None
        if self.minimum is not None and self.maximum is not None:
            return f"must be between {self.minimum} and {self.maximum}"
        return f"must be at least {self.minimum}" if is_small else f"must be at most {self.maximum}"


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """A setting's metadata, for flags and `longwire config`."""

    name: str
    default: object
    reason: str
    is_secret: bool

    @property
    def may_be_file(self) -> bool:
        """Whether its value may be in a file, which is named instead."""
        return self.is_secret or self.name in URLS_WITH_PASSWORD

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


def _setting(
    default: Any,
    reason: str,
    *,
    is_secret: bool = False,
    minimum: int | None = None,
    maximum: int | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    bounds = _Bounds(minimum, maximum, choices)
    metadata = {"reason": reason, "is_secret": is_secret, "bounds": bounds}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    # --- process ---
    host: str = _setting("127.0.0.1", "the address to listen on; only this machine by default")
    port: int = _setting(8080, "the port to listen on; 0 takes a free one", maximum=_PORT_MAX)
    data: Path = _setting(
        _DATA_FOLDER, "the folder for the embedded database, secret.key and operator.json"
    )
    database: str = _setting(
        "", "postgresql://… for PostgreSQL; empty for the embedded database in the data folder"
    )
    workers: int = _setting(1, "worker processes; more than one needs PostgreSQL", minimum=1)
    public_url: str = _setting(
        "", "the URL by which clients reach the service, if not http(s)://host:port"
    )
    auth_url: str = _setting(
        "", "another service that issues the access tokens; empty to issue them here"
    )
    tls_cert: str = _setting("", "certificate chain (PEM) to serve HTTPS with")
    tls_key: str = _setting("", "private key (PEM) of that certificate")
    cors_origins: str = _setting(
        "",
        "origins whose pages may use the API with a token, like https://app.example.com, separated"
        " by commas; * for all, empty for none",
    )
    compression: bool = _setting(True, "compress responses for clients that accept gzip")
    trusted_proxies: tuple[Network, ...] = _setting(
        (), "networks whose X-Forwarded-Proto and X-Forwarded-For headers are trusted"
    )
    egress_allow: tuple[Network, ...] = _setting(
        (), "non-public networks that outgoing connections may reach"
    )
    secret_key: str = _setting(
        "", "the key of secret.key in hex, for machines without that file", is_secret=True
    )
    # --- logging ---
    log_level: str = _setting(
        "info",
        "debug, info, warning or error; debug logs every request",
        choices=("debug", "info", "warning", "error"),
    )
    log_format: str = _setting(
        "auto",
        "human, json, or auto: human on a terminal, else json",
        choices=("auto", "human", "json"),
    )
    # --- tokens and rate limits ---
    token_lifetime_s: int = _setting(3_600, "lifetime of an access token", minimum=1)
    token_failures_per_client_max: int = _setting(
        5, "rate limit: failed token requests per address, client id and minute", minimum=1
    )
    token_failures_per_address_max: int = _setting(
        1_000,
        "the same for all client ids of an address; clients that got a token there are exempt",
        minimum=1,
    )
    # --- signing in ---
    session_idle_s: int = _setting(
        12 * 3_600, "how long a session lasts without being used", minimum=600
    )
    session_lifetime_s: int = _setting(14 * 86_400, "how long a session lasts at most", minimum=600)
    sessions_per_user_max: int = _setting(
        50, "maximum sessions of a user; one more ends the least recently used", minimum=1
    )
    password_sign_in: bool = _setting(True, "let people sign in with a password")
    sign_in_failures_per_account_max: int = _setting(
        5, "rate limit: failed attempts to sign in per address, account and minute", minimum=1
    )
    sign_in_failures_per_address_max: int = _setting(
        60,
        "the same for all accounts of an address; those that signed in there are exempt",
        minimum=1,
    )
    sign_in_mails_per_address_max: int = _setting(
        10,
        "rate limit: links to sign in that are requested by mail, per address and minute",
        minimum=1,
    )
    requests_per_caller_per_s: float = _setting(
        0.0, "rate limit: average requests per second of one caller; 0 for no limit"
    )
    requests_per_caller_burst: int = _setting(100, "burst size of that rate limit", minimum=1)
    # --- an identity provider (OpenID Connect) ---
    oidc_issuer: str = _setting(
        "", "the issuer URL of an OpenID Connect provider to sign in with; empty for none"
    )
    oidc_client_id: str = _setting("", "the client id of this service at that provider")
    oidc_client_secret: str = _setting(
        "", "the secret of that client; empty for a public client", is_secret=True
    )
    oidc_name: str = _setting("", "the provider's name on the sign-in page; empty for its host")
    oidc_scopes: str = _setting("openid email profile", "the scopes to ask for, with openid")
    oidc_domains: str = _setting(
        "", "e-mail domains whose people may sign in, separated by commas; empty for all"
    )
    oidc_verified_claim: str = _setting(
        "email_verified", "the claim that must be true for an address to count"
    )
    oidc_creates_users: bool = _setting(
        False, "create a user at the first sign-in; else only those who exist, like invited ones"
    )
    oidc_group_claim: str = _setting(
        "groups", "the claim that oidc_memberships looks at; dots lead into objects"
    )
    oidc_memberships: str = _setting(
        "",
        "lines (or parts between semicolons) of group id, role id and a value of that claim:"
        " whoever has the value is a member of the group with the role",
    )
    # --- the console ---
    map_tiles: str = _setting(
        "",
        "tiles for the console's map, like https://tiles.example.com/{z}/{x}/{y}.png; empty for the"
        " built-in map only, which needs no internet",
    )
    map_attribution: str = _setting("", "whom the map names as the source of these tiles")
    # --- quotas ---
    groups_per_owner_max: int = _setting(
        100_000, "maximum groups that one user creates, their app clients included"
    )
    members_per_group_max: int = _setting(10_000, "maximum members of a group")
    roles_per_creator_max: int = _setting(
        1_000, "maximum custom roles that one user or app client creates"
    )
    app_clients_per_group_max: int = _setting(1_000, "maximum app clients of a group")
    push_tokens_per_user_max: int = _setting(100, "maximum push tokens of a user")
    passkeys_per_user_max: int = _setting(20, "maximum passkeys of a user")
    group_deletion_grace_hours: int = _setting(
        72,
        "hours until a group is deleted with everything in it; until then it can be cancelled",
        maximum=24 * _DAYS_MAX,
    )
    # --- limits of a request ---
    body_bytes_max: int = _setting(1024 * 1024, "maximum size of a request body", minimum=1)
    bulk_body_bytes_max: int = _setting(
        8 * 1024 * 1024, "the same for bulk and batch requests", minimum=1
    )
    request_bytes_max: int = _setting(
        128 * 1024 * 1024,
        "maximum size of all bodies that are received or handled at once; a quarter per owner",
        minimum=1,
    )
    response_bytes_max: int = _setting(
        128 * 1024 * 1024,
        "maximum size of all responses that wait for clients to read them; beyond it the slowest "
        "connections of the heaviest address are closed",
        minimum=1,
    )
    json_depth_max: int = _setting(
        32, "maximum nesting of JSON; the API itself needs 5 levels", minimum=1
    )
    page_items_default: int = _setting(
        100, "items of a page if the request has no limit", minimum=1
    )
    page_items_max: int = _setting(1_000, "maximum items of a page")
    bulk_ids_max: int = _setting(1_000, "maximum ids in a bulk request")
    batch_records_max: int = _setting(5_000, "maximum records in a batch request")
    tags_max: int = _setting(50, "maximum tags of an object")
    tag_characters_max: int = _setting(64, "maximum characters of a tag")
    # --- limits of a connection ---
    head_bytes_max: int = _setting(16 * 1024, "maximum size of the request headers", minimum=1)
    head_timeout_s: float = _setting(10.0, "timeout for receiving the request headers", minimum=1)
    request_timeout_s: float = _setting(30.0, "timeout for receiving a whole request", minimum=1)
    write_timeout_s: float = _setting(
        30.0, "timeout for a client that reads no response bytes", minimum=1
    )
    keep_alive_s: float = _setting(30.0, "timeout of an idle connection", minimum=1)
    connections_max: int = _setting(
        10_000, "maximum connections of all clients; lowered to what the descriptor limit allows"
    )
    connections_per_address_max: int = _setting(
        0, "maximum connections per address; 0 for no limit, as needed behind a proxy"
    )
    live_listeners_max: int = _setting(
        200, "maximum clients of a process that follow what arrives, at GET /live"
    )
    # --- the database ---
    database_connections: int = _setting(
        8, "connections per process to PostgreSQL; half of them only read", minimum=2
    )
    database_pooled: bool = _setting(
        False, "whether a pooler in transaction mode, such as PgBouncer, is before PostgreSQL"
    )
    database_timeout_s: float = _setting(
        35.0,
        "how long a request waits for PostgreSQL at most; the outcome of a commit that takes"
        " longer is unknown",
        minimum=10,
    )
    database_standbys_min: int = _setting(
        0, "synchronous standbys that PostgreSQL must have for the service to be ready", minimum=0
    )
    database_read_standbys: str = _setting(
        "",
        "postgresql://… of standbys that serve reads which may lag, or the word standby for those"
        " among the servers of database; empty for none",
    )
    database_read_lag_s: float = _setting(
        0.0,
        "how old such a read may be; callers see their own writes through the same process anyway,"
        " with 0 those through any process",
        minimum=0,
    )
    database_slots: int = _setting(
        0,
        "parts into which a PostgreSQL divides devices and their records, a power of two up to 64;"
        " 0 for those that it has, which is one unless more were asked for",
        minimum=0,
        maximum=64,
    )
    database_patience_s: float = _setting(
        10.0,
        "how long records wait in the ingest queue while PostgreSQL is unreachable, instead of a"
        " 503",
        minimum=0,
    )
    ingest_waiting_records_max: int = _setting(
        20_000, "size of the ingest queue in records; when full, requests get 503"
    )
    ingest_commit_records_max: int = _setting(1_000, "maximum records stored by one commit")
    # --- retention ---
    retention_data_days: int = _setting(
        0, "days that data records are kept; 0 for ever", maximum=_DAYS_MAX
    )
    retention_event_days: int = _setting(0, "the same for events", maximum=_DAYS_MAX)
    retention_geoloc_days: int = _setting(0, "the same for geolocations", maximum=_DAYS_MAX)
    retention_telemetry_days: int = _setting(0, "the same for telemetry", maximum=_DAYS_MAX)
    retention_metrics_days: int = _setting(
        0, "minimum days that metrics are kept; 0 for ever", maximum=_DAYS_MAX
    )
    audit_retention_days: int = _setting(
        0, "days that the audit log is kept; 0 for ever", maximum=_DAYS_MAX
    )
    archive: str = _setting(
        "",
        "the folder, or s3://bucket/prefix, where `longwire archive` has moved old records; they"
        " are served from there",
    )
    stored_records_per_group_max: int = _setting(
        0, "maximum stored records of a group; 0 for no limit", minimum=0
    )
    stored_bytes_per_group_max: int = _setting(
        0, "maximum bytes of a group's stored records; 0 for no limit", minimum=0
    )
    stored_records_per_owner_max: int = _setting(
        0,
        "maximum stored records of all groups that a user has created; 0 for no limit",
        minimum=0,
    )
    stored_bytes_per_owner_max: int = _setting(
        0, "maximum bytes of these records; 0 for no limit", minimum=0
    )
    # --- delivery ---
    delivery: bool = _setting(
        True, "run the delivery engine in serve; off if `longwire deliver` runs it"
    )
    delivery_in_flight_max: int = _setting(
        16, "maximum messages in flight per connector, of all processes together", minimum=1
    )
    attempts_in_flight_max: int = _setting(
        1_000,
        "maximum attempts in flight per process, of all connectors; lowered to what the descriptor"
        " limit allows",
        minimum=1,
    )
    delivery_keep_days: int = _setting(
        30, "days that finished deliveries are kept", maximum=_DAYS_MAX
    )
    connector_metrics_keep_days: int = _setting(
        30, "days that the metrics of connectors are kept by the minute", maximum=_DAYS_MAX
    )
    trace_keep_hours: int = _setting(
        72,
        "hours that messages of networks are kept as they came in, for the trace of a record; 0"
        " for not at all",
        maximum=_DAYS_MAX * 24,
    )
    trace_body_bytes_max: int = _setting(
        16_384, "largest body of such a message that is kept", maximum=2**20
    )
    trace_bytes_max: int = _setting(
        2**30, "size of all such messages; beyond it the oldest of the largest group are deleted"
    )
    resend_per_s: int = _setting(
        100, "messages per second that a resend puts into the queue", minimum=1
    )
    metrics_host: str = _setting(
        "127.0.0.1", "the address on which `longwire deliver` serves health and metrics"
    )
    metrics_port: int = _setting(
        0, "the port for that; 0 for none. `serve` has them on its own port", maximum=_PORT_MAX
    )
    metrics_token: str = _setting(
        "",
        "the bearer token that /metrics requires; without one anybody may read them, and they do"
        " not name connectors",
        is_secret=True,
    )
    metrics_connectors_max: int = _setting(
        100,
        "connectors with metrics of their own, the worst first; the others are one. None without"
        " metrics_token",
    )
    # --- OpenTelemetry ---
    otel_endpoint: str = _setting(
        "",
        "the URL of a collector that takes OTLP over HTTP, without /v1/traces; empty for none."
        " Needs longwire[otel]",
    )
    otel_headers: str = _setting(
        "", "headers for it, like name=value,name=value; values as %.. if special", is_secret=True
    )
    otel_sample_ratio: float = _setting(
        1.0, "which part of the traces is exported; 0 for none", maximum=1
    )
    otel_metrics: bool = _setting(True, "whether it gets metrics as well; /metrics has them anyway")
    # --- MQTT ---
    mqtt_url: str = _setting(
        "", "mqtt(s)://user:password@host:port of a broker to subscribe to; empty for none"
    )
    mqtt_prefix: str = _setting(
        "longwire", "the first levels of the topics; group token, device and kind follow"
    )
    mqtt_version: str = _setting(
        "5", "the broker's MQTT version: 5 or 3.1.1", choices=("5", "3.1.1")
    )
    mqtt_client_id: str = _setting(
        "", "the client id at the broker; empty to derive one from the secret key"
    )
    mqtt_in_flight_max: int = _setting(
        100,
        "maximum messages received from the broker but not stored yet",
        minimum=1,
        maximum=_IN_FLIGHT_MAX,
    )
    # --- networks ---
    vendor_api_url: str = _setting(
        "", "the vendor network's API URL, including its version; empty to register no devices"
    )
    vendor_api_login: str = _setting("", "the login of that API")
    vendor_api_password: str = _setting("", "the password of that login", is_secret=True)
    chirpstack_api_url: str = _setting(
        "", "the URL of ChirpStack's REST API, for downlinks; empty to send none"
    )
    chirpstack_api_key: str = _setting("", "an API key of ChirpStack", is_secret=True)
    loriot_api_url: str = _setting(
        "", "the URL of LORIOT's network server, for downlinks; empty to send none"
    )
    loriot_api_key: str = _setting(
        "", "an access token of an application of LORIOT", is_secret=True
    )
    loriot_app_id: str = _setting("", "the id of that application, 8 hex digits")
    thingpark_api_url: str = _setting(
        "", "the URL of ThingPark's API, for downlinks; empty to send none"
    )
    thingpark_as_id: str = _setting("", "the id of this application server at ThingPark (AS_ID)")
    thingpark_as_key: str = _setting(
        "", "the tunnel authentication key of this application server (LRC-AS key)", is_secret=True
    )
    # --- connectors and their expressions ---
    connectors_per_group_max: int = _setting(1_000, "maximum connectors of a group", minimum=1)
    connector_bytes_per_group_max: int = _setting(
        8 * 1024 * 1024,
        "maximum size of the device ids, device types, filters and parameters of all connectors of"
        " a group, as they are stored",
        minimum=1,
    )
    compute_ms_per_group_per_s: int = _setting(
        250,
        "CPU time that the filters, templates and conditions of a group may use in a process, in"
        " milliseconds per second; beyond it they are evaluated later",
        minimum=1,
    )
    compute_burst_ms_per_group: int = _setting(
        2_000, "how much of that CPU time a group may use at once", minimum=1
    )
    codec_ms_per_group_per_s: int = _setting(
        600,
        "CPU time that codecs may use for a group in a process, in milliseconds per second; beyond"
        " it payloads are stored without decoded values",
        minimum=1,
    )
    codec_burst_ms_per_group: int = _setting(
        10_000, "how much of that CPU time a group may use at once", minimum=1
    )
    # --- jobs ---
    jobs_per_group_max: int = _setting(20, "maximum jobs of a group that wait or run", minimum=1)
    jobs_running_per_group_max: int = _setting(
        2, "maximum jobs of a group that run at once; the others wait", minimum=1
    )
    export_bytes_per_owner_max: int = _setting(
        256 * 1024 * 1024,
        "maximum bytes of the files of export jobs that are kept for the groups of one user",
        minimum=1,
    )
    job_keep_days: int = _setting(
        30, "days that jobs are listed after their end", minimum=2, maximum=_DAYS_MAX
    )
    # --- notifications ---
    notifications_per_group_max: int = _setting(
        200, "maximum notifications of a group; each may be evaluated for every record"
    )
    notification_bytes_per_group_max: int = _setting(
        8 * 1024 * 1024,
        "maximum size of the parameters of all notifications of a group, with their geofences, as "
        "they are stored: encrypted, which makes them a third larger",
    )
    smtp_host: str = _setting("", "the SMTP server for e-mail; empty to send none")
    smtp_port: int = _setting(
        587,
        "its port; 465 with smtp_security tls, 25 within a network",
        minimum=1,
        maximum=_PORT_MAX,
    )
    smtp_security: str = _setting(
        "starttls",
        "starttls, tls or none; none is not encrypted",
        choices=("starttls", "tls", "none"),
    )
    smtp_user: str = _setting("", "the SMTP user; empty for no authentication")
    smtp_password: str = _setting("", "the SMTP password", is_secret=True)
    smtp_from: str = _setting("", "the sender, like Longwire <longwire@example.com>")
    mail_domains: str = _setting(
        "",
        "domains that mail may go to, separated by commas; empty for members only, of any domain",
    )
    mails_per_group_hour_max: int = _setting(1_000, "maximum mails of a group in an hour")
    mails_per_owner_hour_max: int = _setting(
        5_000, "the same for all groups that one user has created"
    )
    vapid_key: str = _setting(
        "", "the private key for Web Push, in base64url; empty for no Web Push", is_secret=True
    )
    vapid_contact: str = _setting("", "a mailto: or https: URL for the push services")
    fcm_account: str = _setting(
        "", "the JSON file of a service account for Firebase Cloud Messaging; empty for none"
    )
    fcm_url: str = _setting("https://fcm.googleapis.com", "the URL of Firebase Cloud Messaging")
    # --- shutdown ---
    lame_duck_s: float = _setting(
        0.0,
        "how long a stopping service is unready but serves on, so that load balancers notice first",
    )
    stop_timeout_s: float = _setting(30.0, "how long a shutdown waits for requests in progress")


# Settings that may contain a password although they are no secret as a whole.
URLS_WITH_PASSWORD = frozenset({"database", "database_read_standbys", "mqtt_url"})
# Appended to the name of a secret: the file to read it from.
FILE_SUFFIX = "_file"

# What a running service can change; everything else needs a restart.
RELOADABLE = frozenset(
    {
        "tls_cert",
        "tls_key",
        "log_level",
        "log_format",
        "connections_max",
        "connections_per_address_max",
        *(each.name for each in fields(Quotas)),
    }
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
        SettingInfo(each.name, each.default, each.metadata["reason"], each.metadata["is_secret"])
        for each in fields(Settings)
    ]


def redact_password(url: str) -> str:
    """A URL without its password, for display."""
    hidden = re.sub(r"(//[^/?#@:]*):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"([?&])([^&=]+)=[^&]*", _redact_parameter, hidden)


def _redact_parameter(found: re.Match[str]) -> str:
    """Drivers decode the name of a parameter, so that it may be written in many ways."""
    is_secret = unquote(found[2]).lower().endswith("password")
    return f"{found[1]}{found[2]}=***" if is_secret else found[0]
