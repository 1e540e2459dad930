"""The assets of the browsable page at /docs, and their content security policy.

The page loads nothing from another host. Whoever serves an asset sends its bytes with its media
type and the policy.
"""

from collections.abc import Iterable, Mapping
from importlib import resources
from types import MappingProxyType

from longwire.dataclass import dataclass

# The page sends tokens and secrets, so only its own script may run, and that script may connect to
# this service alone. `data:` images are for the empty icon in the page's head.
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


def build_page_headers(policy: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of all pages of ours, and of what they load."""
    return (
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"permissions-policy", b"geolocation=(), camera=(), microphone=()"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    )


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    content: bytes
    media_type: str


_FILES = (
    ("/docs", "docs.html", "text/html; charset=utf-8"),
    ("/docs/docs.css", "docs.css", "text/css; charset=utf-8"),
    ("/docs/docs.js", "docs.js", "text/javascript; charset=utf-8"),
)
_FOLDER = resources.files("longwire.web") / "assets"


def load_assets(files: Iterable[tuple[str, str, str]]) -> Mapping[str, Asset]:
    """Files by path; each is given with its name and media type.

    Called on import: a missing file stops the start, and no request waits for the disk.
    """
    return MappingProxyType(
        {path: Asset((_FOLDER / name).read_bytes(), media_type) for path, name, media_type in files}
    )


ASSETS = load_assets(_FILES)
