"""Apprise, as far as it is used; loaded when the first chat is there.

Only the one service that is asked for is loaded. What Apprise has to say about it goes nowhere,
since it may have somebody's key in it.
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


def problem(place: str, url: str, options: frozenset[str]) -> str | None:
    """Why nothing can be sent with this URL."""
    plugin = _plugin(place)
    try:
        parsed = plugin.parse_url(url)
        if not parsed:
            return "is not complete, or not as this service wants it"
        given = {name for part in ("qsd", "qsd+", "qsd-", "qsd:") for name in parsed.get(part, ())}
        if unknown := given - options:
            return f"has options that cannot be set here: {', '.join(sorted(unknown))}"
        plugin(**parsed, asset=_ASSET)
    except Exception:
        return "is not complete, or not as this service wants it"
    return None


def tell(place: str, url: str, subject: str, body: str) -> bool:
    """Send, and wait; whether the service took it."""
    plugin = _plugin(place)
    apprise = Apprise(asset=_ASSET)
    apprise.add(plugin(**(plugin.parse_url(url) or {}), asset=_ASSET))
    return bool(apprise.notify(body=body, title=subject, body_format=NotifyFormat.TEXT))


def _plugin(place: str) -> type[NotifyBase]:
    module, name = place.split(".")
    found: Any = importlib.import_module(f"apprise.plugins.{module}")
    return cast(type[NotifyBase], getattr(found, name))
