"""Apprise, loaded when the first chat notification needs it.

Only the requested plugin is loaded. Its log output is discarded, since it may contain secrets.
"""

import importlib
import logging
from typing import Any, cast

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat, OverflowMode

logging.getLogger("apprise").setLevel(logging.CRITICAL)

_ASSET = AppriseAsset(
    app_id="longwire",
    app_desc="longwire",
    async_mode=False,
    http_redirects=False,
    storage_mode="memory",
    allow_templates=False,
)


INVALID_URL = "is incomplete, or not in the form of this service"
# Each is a request of its own, one after the other in a thread that others need.
RECIPIENTS_MAX = 10


def check_url(plugin_path: str, url: str, options: frozenset[str]) -> str | None:
    """Why the URL is invalid; None if it is valid."""
    plugin = _load_plugin(plugin_path)
    try:
        parsed = plugin.parse_url(url)
        if not parsed:
            return INVALID_URL
        given = {name for part in ("qsd", "qsd+", "qsd-", "qsd:") for name in parsed.get(part, ())}
        if unknown := given - options:
            return f"has options that are not allowed here: {', '.join(sorted(unknown))}"
        recipients = len(_create(plugin, parsed))
    except Exception:
        return INVALID_URL
    if recipients > RECIPIENTS_MAX:
        return f"names {recipients} recipients, and {RECIPIENTS_MAX} are allowed"
    return None


def notify(plugin_path: str, url: str, subject: str, body: str) -> bool:
    """Send and wait; whether the service accepted the message."""
    plugin = _load_plugin(plugin_path)
    apprise = Apprise(asset=_ASSET)
    apprise.add(_create(plugin, plugin.parse_url(url) or {}))
    return bool(apprise.notify(body=body, title=subject, body_format=NotifyFormat.TEXT))


def _create(plugin: type[NotifyBase], parsed: dict[str, Any]) -> NotifyBase:
    """The plugin for an account; a text that is too long for the service is truncated."""
    created = plugin(**parsed, asset=_ASSET, overflow=OverflowMode.TRUNCATE.value)
    # Apprise sleeps for seconds between two recipients; there are few.
    created.request_rate_per_sec = 0
    return created


def _load_plugin(plugin_path: str) -> type[NotifyBase]:
    module, name = plugin_path.split(".")
    found: Any = importlib.import_module(f"apprise.plugins.{module}")
    return cast(type[NotifyBase], getattr(found, name))
