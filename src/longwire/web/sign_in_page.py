"""The assets of the page at /sign-in, served with the policy of /docs.

The page is public and static; what it shows it gets from the API, with the cookie of the session.
"""

from longwire.identity.sign_in_links import PAGE_PATH
from longwire.web.docs_page import load_assets

ASSETS = load_assets(
    (
        (PAGE_PATH, "sign-in.html", "text/html; charset=utf-8"),
        (f"{PAGE_PATH}/sign-in.css", "sign-in.css", "text/css; charset=utf-8"),
        (f"{PAGE_PATH}/sign-in.js", "sign-in.js", "text/javascript; charset=utf-8"),
        (f"{PAGE_PATH}/passkeys.js", "passkeys.js", "text/javascript; charset=utf-8"),
    )
)
