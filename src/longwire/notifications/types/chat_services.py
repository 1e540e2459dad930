"""Apprise, loaded when the first chat notification needs it.

Only the requested plugin is loaded. Its log output is discarded, since it may contain secrets.
"""

import importlib
import logging
from typing import Any, cast

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat

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
        plugin(**parsed, asset=_ASSET)
    except Exception:
        return INVALID_URL
    return None


def notify(plugin_path: str, url: str, subject: str, body: str) -> bool:
    """Send and wait; whether the service accepted the message."""
    plugin = _load_plugin(plugin_path)
    apprise = Apprise(asset=_ASSET)
    apprise.add(plugin(**(plugin.parse_url(url) or {}), asset=_ASSET))
    return bool(apprise.notify(body=body, title=subject, body_format=NotifyFormat.TEXT))


def _load_plugin(plugin_path: str) -> type[NotifyBase]:
    module, name = plugin_path.split(".")
    found: Any = importlib.import_module(f"apprise.plugins.{module}")
    return cast(type[NotifyBase], getattr(found, name))
