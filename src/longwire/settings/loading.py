"""Loading the settings from a file, the environment and flags, and validating them together."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from email.utils import parseaddr
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from urllib.parse import unquote

import msgspec

from longwire.delivery.http.proxies import parse_proxy
from longwire.delivery.mail import email_addresses
from longwire.identity import external_identities
from longwire.notifications import webpush
from longwire.settings.declaration import FILE_SUFFIX, PREFIX, SettingsError
from longwire.settings.fixed_limits import FixedLimits
from longwire.settings.settings import (
    NOT_SETTINGS,
    STANDBY,
    Networks,
    Settings,
    describe_settings,
    setting_fields,
)
from longwire.web import origins
from longwire.web.body_budget import OWNER_SHARE
from longwire.web.validation import to_plain_words

_BROKER = re.compile(
    r"mqtts?://(?:[^\s/?#@]+@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?/?"
)
_POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SENDER = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_SITE = r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?"
_API = re.compile(_SITE + r"(?:/[^\s?#]*)?")
# Its path becomes part of pages and scripts, and is compared with that of requests.
_PUBLIC_URL = re.compile(_SITE + r"(?:/[A-Za-z0-9._~-]+)*/?")
# The host becomes part of a header, so it has no character that means anything there.
_TILES = re.compile(
    r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?/[!-~]*", re.ASCII
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_TILE_PLACEHOLDERS = ["{x}", "{y}", "{z}"]
# Settings that need each other.
_PAIRS = (
    ("tls_cert", "tls_key"),
    ("vendor_api_url", "vendor_api_login"),
    ("smtp_host", "smtp_from"),
    ("smtp_user", "smtp_password"),
    ("vapid_key", "vapid_contact"),
    ("oidc_issuer", "oidc_client_id"),
)


def load(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Path | None = None
) -> Settings:
    """The settings from all three sources; raises one error that lists every problem."""
    wrong: list[str] = []
    raw: dict[str, Any] = {}
    if config is not None:
        raw.update(_load_file(config, wrong))
    raw.update(_load_environment(environ, wrong))
    raw.update({name: value for name, value in flags.items() if value is not None})
    values: dict[str, Any] = {}
    for each in setting_fields():
        if each.name in raw:
            try:
                values[each.name] = _parse_value(raw[each.name], each.type)
            except ValueError as error:
                wrong.append(f"{each.name}: {_explain(error, each.type)}")
    settings = Settings(**values)
    wrong += _validate(settings)
    if wrong:
        raise SettingsError("\n".join(wrong))
    return settings


def _load_file(path: Path, wrong: list[str]) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {error}") from error
    given: dict[str, tuple[str, Any]] = {}
    for toml_path, value in _flatten(values):
        name = _name_of(toml_path)
        if name in given:
            wrong.append(f"{path}: {given[name][0].rpartition(': ')[2]}, {toml_path}: give one")
        given[name] = (f"{path}: {toml_path}", value)
    return _resolve_source(given, path.parent, wrong)


def _flatten(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a TOML document with their paths."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{table}{key}.")
        else:
            yield f"{table}{key}", value


def _name_of(path: str) -> str:
    """The name of a setting by its path in a file; a name alone is what files had before 0.3."""
    for each in describe_settings():
        if path.removesuffix(FILE_SUFFIX) == each.path and (path == each.path or each.may_be_file):
            return each.name + path.removeprefix(each.path)
    return path


def _load_environment(environ: Mapping[str, str], wrong: list[str]) -> dict[str, Any]:
    given: dict[str, tuple[str, Any]] = {}
    for variable, value in environ.items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in NOT_SETTINGS:
            given[name] = (variable, value)
    return _resolve_source(given, Path(), wrong)


def _resolve_source(
    given: Mapping[str, tuple[str, Any]], folder: Path, wrong: list[str]
) -> dict[str, Any]:
    """The settings of one source; secrets that are in files are read, from `folder` if relative.

    `given` has what each is called there and its value, by name.
    """
    in_files = {
        each.name + FILE_SUFFIX: each.name for each in describe_settings() if each.may_be_file
    }
    values: dict[str, Any] = {}
    for name, (source, value) in given.items():
        secret = in_files.get(name)
        if secret is None:
            _require_known(name, source, wrong)
            values[name] = value
        elif secret in given:
            wrong.append(f"{secret}, {name}: give one of them")
        elif value:
            try:
                # The path is not a secret, the content is: errors name the path only.
                values[secret] = (folder / str(value)).read_text().rstrip("\r\n")
            except (OSError, ValueError) as error:
                # Not text, or no path: one with a NUL in it.
                reason = error.strerror if isinstance(error, OSError) else "is not text"
                wrong.append(f"{source}: {value} cannot be read: {reason}")
    return values


def _require_known(name: str, source: str, wrong: list[str]) -> None:
    """Reject unknown names: a misspelled setting must not be ignored silently."""
    settings = describe_settings()
    known = {each.name for each in settings}
    if hasattr(FixedLimits, name):
        value = getattr(FixedLimits(), name)
        wrong.append(f"{source} is no setting any more: it is fixed at {value}. Remove it")
    elif name not in known:
        spellings = known if "." not in name else {each.path for each in settings}
        near = get_close_matches(name, sorted(spellings), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        wrong.append(f"{source} is not a setting{hint}")


def _parse_value(raw: Any, kind: Any) -> Any:
    """Convert a raw value, often a string, to the type of a setting, within its bounds."""
    if kind is Networks:
        if not isinstance(raw, str | list):
            raise ValueError(f"cannot be of the type {type(raw).__name__}")
        parts = raw if isinstance(raw, list) else raw.split(",")
        return tuple(ip_network(part) for each in parts if (part := str(each).strip()))
    if isinstance(raw, str) and kind is not str:
        raw = _BOOLEANS.get(raw.strip().lower(), raw) if kind is bool else raw.strip()
    return msgspec.convert(raw, kind, strict=False, dec_hook=_to_path)


def _explain(error: ValueError, kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"must be one of {', '.join(get_args(kind))}"
    return to_plain_words(str(error)) if isinstance(error, msgspec.ValidationError) else str(error)


_BOOLEANS = {"yes": True, "on": True, "no": False, "off": False}


def _to_path(_: type, raw: Any) -> Path:
    return raw if isinstance(raw, Path) else Path(msgspec.convert(raw, str))


def _validate(settings: Settings) -> list[str]:
    wrong = []
    for one, other in _PAIRS:
        if bool(getattr(settings, one)) != bool(getattr(settings, other)):
            wrong.append(f"{one}, {other}: give both or neither")
    return [
        *wrong,
        *_validate_process(settings),
        *_validate_otel(settings),
        *_validate_mqtt(settings),
        *_validate_network_apis(settings),
        *_validate_oidc(settings),
        *_validate_map(settings),
        *_validate_delivery(settings),
    ]


def _validate_process(settings: Settings) -> list[str]:
    wrong = []
    if not settings.host:
        wrong.append("host: must not be empty; 0.0.0.0 listens on every address")
    if settings.database and not settings.database.startswith(_POSTGRES_SCHEMES):
        wrong.append("database: must start with postgresql://, or be empty")
    wrong += _validate_standbys(settings)
    if settings.workers > 1 and not settings.database:
        wrong.append(
            "workers: the embedded database is served by one process; use PostgreSQL for more"
        )
    try:
        origins.parse_origins(settings.cors_origins)
    except ValueError as error:
        wrong.append(f"cors_origins: {error}")
    if settings.public_url and not _PUBLIC_URL.fullmatch(settings.public_url):
        wrong.append(
            "public_url: must be http:// or https:// with a host, and no login in it; a path has"
            " letters, digits and . _ ~ - only"
        )
    least = OWNER_SHARE * settings.fixed.bulk_body_bytes_max
    if settings.request_bytes_max < least:
        wrong.append(f"request_bytes_max: must be at least {least}: an owner may have a part")
    return wrong


def _validate_standbys(settings: Settings) -> list[str]:
    standbys = settings.database_read_standbys
    if standbys and not settings.database:
        return ["database_read_standbys: is for PostgreSQL only; give database"]
    if standbys and standbys != STANDBY and not standbys.startswith(_POSTGRES_SCHEMES):
        return [f"database_read_standbys: must start with postgresql://, or be {STANDBY}"]
    return []


def _validate_otel(settings: Settings) -> list[str]:
    wrong = []
    if settings.otel_endpoint and not _API.fullmatch(settings.otel_endpoint):
        wrong.append("otel_endpoint: must be http:// or https:// with a host, and no login in it")
    try:
        parse_headers(settings.otel_headers)
    except ValueError:
        # The value is not repeated: it is a secret.
        wrong.append("otel_headers: must be name=value, separated by commas")
    return wrong


def parse_headers(text: str) -> dict[str, str]:
    """Headers as OpenTelemetry writes them in one line; ValueError if they are not."""
    headers: dict[str, str] = {}
    for each in filter(None, map(str.strip, text.split(","))):
        name, _, value = (part.strip() for part in each.partition("="))
        value = unquote(value)
        is_text = value and value.isascii() and value.isprintable()
        if not is_text or not _HEADER_NAME.fullmatch(name):
            raise ValueError("not a header")
        headers[name.lower()] = value
    return headers


def _validate_mqtt(settings: Settings) -> list[str]:
    wrong = []
    if settings.mqtt_url and not _BROKER.fullmatch(settings.mqtt_url):
        # The value is not repeated: it may contain a password.
        wrong.append(
            "mqtt_url: must be mqtt:// or mqtts:// with a host, a port if wanted, and"
            " user:password@ in front of the host if wanted, special characters as %.."
        )
    prefix = settings.mqtt_prefix
    if not all(prefix.split("/")) or not prefix.isprintable() or set(prefix) & set("+#$"):
        wrong.append("mqtt_prefix: must be levels of a topic, without +, # and $")
    if not settings.mqtt_client_id.isprintable():
        wrong.append("mqtt_client_id: has a character that does not print")
    return wrong


def _validate_network_apis(settings: Settings) -> list[str]:
    wrong = []
    for name in ("vendor_api_url", *_API_CREDENTIALS):
        url = getattr(settings, name)
        if url and not _API.fullmatch(url):
            wrong.append(f"{name}: must be http:// or https:// with a host, and no login in it")
    if ":" in settings.vendor_api_login:
        wrong.append("vendor_api_login: must not have a colon in it")
    for url_name, names in _API_CREDENTIALS.items():
        for name in names:
            value = getattr(settings, name)
            if getattr(settings, url_name) and not value:
                wrong.append(f"{name}: is needed with {url_name}")
            if not value.isascii() or not value.isprintable():
                wrong.append(f"{name}: has a character that no key has")
    return wrong


# What the API of each network needs beside its URL.
_API_CREDENTIALS = {
    "chirpstack_api_url": ("chirpstack_api_key",),
    "loriot_api_url": ("loriot_api_key", "loriot_app_id"),
    "thingpark_api_url": ("thingpark_as_id", "thingpark_as_key"),
}


def _validate_oidc(settings: Settings) -> list[str]:
    wrong = []
    issuer = settings.oidc_issuer
    if issuer and not (_API.fullmatch(issuer) and external_identities.is_trustworthy(issuer)):
        wrong.append("oidc_issuer: must be https:// with a host; http:// only on this machine")
    if "openid" not in settings.oidc_scopes.split():
        wrong.append("oidc_scopes: must have openid")
    domains = email_addresses.parse_domains(settings.oidc_domains)
    if not all(map(email_addresses.is_domain, domains)):
        wrong.append("oidc_domains: must be domains like example.com, separated by commas")
    try:
        external_identities.parse_claim_rules(settings.oidc_memberships)
    except ValueError as error:
        wrong.append(f"oidc_memberships: {error}")
    return wrong


def _validate_map(settings: Settings) -> list[str]:
    wrong = []
    tiles = settings.map_tiles
    is_server = _TILES.fullmatch(tiles) and sorted(re.findall("{.*?}", tiles)) == _TILE_PLACEHOLDERS
    is_folder = tiles.startswith("/") and "{" not in tiles and tiles.isprintable()
    if tiles and not is_server and not is_folder:
        wrong.append(
            "map_tiles: must be https:// (or http://) with a host, and {z}, {x} and {y} once each"
            " after it; or the absolute path of a folder"
        )
    if not settings.map_attribution.isprintable():
        wrong.append("map_attribution: has a character that does not print")
    return wrong


def _validate_delivery(settings: Settings) -> list[str]:
    wrong = []
    try:
        if settings.egress_proxy:
            parse_proxy(settings.egress_proxy)
    except ValueError as error:
        wrong.append(f"egress_proxy: {error}")
    if settings.smtp_from and not _SENDER.fullmatch(parseaddr(settings.smtp_from)[1]):
        wrong.append("smtp_from: must be an address, or a name with an address in < >")
    domains = email_addresses.parse_domains(settings.mail_domains)
    if not all(map(email_addresses.is_domain, domains)):
        wrong.append("mail_domains: must be domains like example.com, separated by commas")
    if settings.vapid_key and not _is_vapid_key(settings.vapid_key):
        wrong.append("vapid_key: must be a key of 32 bytes in base64url")
    if settings.vapid_contact and not settings.vapid_contact.startswith(("mailto:", "https://")):
        wrong.append("vapid_contact: must begin with mailto: or https://")
    if settings.fcm_account and not _is_service_account(Path(settings.fcm_account)):
        wrong.append("fcm_account: must be the JSON file of a service account, with its keys")
    return wrong


def _is_vapid_key(text: str) -> bool:
    try:
        webpush.parse_vapid_key(text)
    except ValueError:
        return False
    return True


def _is_service_account(path: Path) -> bool:
    try:
        account = json.loads(path.read_text())
        texts = {"token_uri": "", **account}
        webpush.sign_jwt_rs256(texts["private_key"], {})
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return False
    needed = ("project_id", "client_email", "token_uri")
    return all(isinstance(texts.get(key), str) for key in needed)
