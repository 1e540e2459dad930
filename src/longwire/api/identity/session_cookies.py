"""The cookie of a session."""

import re

from longwire.clock import SECOND
from longwire.identity.sessions import SECRET_PREFIX, NewSession
from longwire.web.cookies import get_cookie
from longwire.web.routing import Cookie, Request

NAME = b"longwire"
NO_SESSION = Cookie(NAME, b"", 0)  # removes that of a session

_SECRET = re.compile(rb"%s_[A-Za-z0-9_-]{43}" % SECRET_PREFIX.encode())


def get_session_secret(request: Request) -> str | None:
    """The secret in the cookie of a session; None if there is none that could be one."""
    found = get_cookie(request, NAME)
    is_secret = found is not None and _SECRET.fullmatch(found) is not None
    return found.decode() if found is not None and is_secret else None


def session_cookie(new: NewSession) -> Cookie:
    age_s = (new.session.ends_at - new.session.created_at) // SECOND
    return Cookie(NAME, new.secret.encode(), max(1, age_s))
