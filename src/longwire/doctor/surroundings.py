"""Checks of what the service connects to: names, proxies, mail, broker, provider, networks."""

import os
import smtplib
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from longwire import extras
from longwire.doctor.findings import Area, Finding, describe_error
from longwire.settings import Settings

TIMEOUT_S = 5.0
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_PORTS = {"mqtt": 1883, "mqtts": 8883, "http": 80, "https": 443}
_URLS = (
    "mqtt_url",
    "otel_endpoint",
    "oidc_issuer",
    "vendor_api_url",
    "chirpstack_api_url",
    "loriot_api_url",
    "thingpark_api_url",
)


def check_egress(area: Area, settings: Settings) -> Iterator[Finding]:
    """Whether the hosts in the settings can be reached; destinations of connectors are theirs."""
    named = [
        name for name in PROXY_VARIABLES if os.environ.get(name) or os.environ.get(name.lower())
    ]
    if named:
        advice = "let the service connect directly, or through a transparent proxy"
        yield area.warning(f"{', '.join(named)} is set, but the service uses no proxy", advice)
    if settings.otel_endpoint and not extras.is_installed("otel"):
        yield area.problem(
            "otel_endpoint: the SDK of OpenTelemetry is missing", extras.how_to_install("otel")
        )
    hosts = _list_hosts(settings)
    for name, host, port in hosts:
        yield _connect(area, name, host, port)
    if not hosts:
        yield area.ok("the settings name no host to connect to")


def _list_hosts(settings: Settings) -> list[tuple[str, str, int]]:
    found = []
    for name in _URLS:
        url = urlsplit(getattr(settings, name))
        if url.hostname:
            found.append((name, url.hostname, url.port or _PORTS.get(url.scheme, 443)))
    return found


def _connect(area: Area, name: str, host: str, port: int) -> Finding:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # the latter for what is no name at all
        return area.problem(f"{name}: {host} cannot be resolved: {error}", "check the name and DNS")
    try:
        socket.create_connection((host, port), TIMEOUT_S).close()
    except OSError as error:
        advice = "check the port, the firewall, and whether the other side runs"
        return area.problem(f"{name}: {host}:{port} cannot be reached: {error}", advice)
    return area.ok(f"{name}: {host}:{port} responds ({len(addresses)} addresses)")


def check_mail(area: Area, settings: Settings) -> Iterator[Finding]:
    """Whether the mail server lets us in; nothing is sent."""
    if not settings.smtp_host:
        yield area.ok("no mail server is set; no mail is sent")
        return
    place = f"{settings.smtp_host}:{settings.smtp_port}"
    try:
        with _open_smtp(settings) as smtp:
            if settings.smtp_security == "starttls":
                smtp.starttls(context=ssl.create_default_context())
            if settings.smtp_user:
                smtp.login(settings.smtp_user, settings.smtp_password)
            smtp.noop()
    except smtplib.SMTPAuthenticationError as error:
        text = f"{place} refuses the login (code {error.smtp_code})"
        yield area.problem(text, "check smtp_user and smtp_password")
        return
    except (OSError, UnicodeError, smtplib.SMTPException) as error:
        advice = "check smtp_host, smtp_port and smtp_security, and the server's certificate"
        yield area.problem(f"{place} cannot be used: {describe_error(error)}", advice)
        return
    if settings.smtp_security == "none":
        advice = "set smtp_security to starttls or tls, unless the server is on this machine"
        yield area.warning(f"{place} is used without encryption", advice)
    else:
        yield area.ok(f"{place} takes mail")


def _open_smtp(settings: Settings) -> smtplib.SMTP:
    if settings.smtp_security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(
            settings.smtp_host, settings.smtp_port, timeout=TIMEOUT_S, context=context
        )
    return smtplib.SMTP(settings.smtp_host, settings.smtp_port, timeout=TIMEOUT_S)
