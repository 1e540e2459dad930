"""The browsable page at /docs: the files it is made of, and the policy they keep to.

Knows which path answers with which file, and that the page needs nothing from another host.
Hides where the files lie and how they are read. It knows no web framework: whoever serves an asset
sends its bytes with its media type and the policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

# The page sends tokens and secrets, so nothing but its own script may run, and that script may
# speak to this service alone. `data:` images are there for the empty icon in the page's head.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page, ready to be sent."""

    content: bytes
    media_type: str


_FILES = (
    ("/docs", "docs.html", "text/html; charset=utf-8"),
    ("/docs/docs.css", "docs.css", "text/css; charset=utf-8"),
    ("/docs/docs.js", "docs.js", "text/javascript; charset=utf-8"),
)
_FOLDER = resources.files("longwire.web") / "assets"

# Read when the module is imported: a file missing from an installation stops the start, and no
# request waits for the disk.
ASSETS: Mapping[str, Asset] = MappingProxyType(
    {path: Asset((_FOLDER / name).read_bytes(), media_type) for path, name, media_type in _FILES}
)
