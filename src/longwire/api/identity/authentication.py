"""Who makes a request: by the access token in `Authorization`, else by the cookie of a session."""

import contextlib
from typing import Any

from longwire.api.identity.session_cookies import get_session_secret
from longwire.errors import Unavailable
from longwire.identity import sessions, tokens
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.identity.sessions import SessionRules
from longwire.model import Actor, Session
from longwire.store.cache.cache import MISSING
from longwire.store.database import Database
from longwire.web.authentication import get_token
from longwire.web.cookies import require_own_site
from longwire.web.routing import Caller, Request
from longwire.work.turns import current_caller

_TOKENS, _SESSIONS = "bearers", "session cookies"  # namespaces of the auth cache


class CallerAuthenticator:
    """Authenticates requests; who is known is cached until the auth epoch changes."""

    def __init__(
        self,
        database: Database,
        session_rules: SessionRules,
        public_origin: str,
        rate_limiter: CallerRateLimiter,
    ) -> None:
        self._database = database
        self._session_rules = session_rules
        self.public_origin = public_origin
        self._rate_limiter = rate_limiter

    async def authenticate(self, request: Request, *, takes_cookie: bool = True) -> Caller:
        """The caller of a request, on whose account it goes from now on."""
        caller = await self._identify(request, takes_cookie=takes_cookie)
        if caller.session is not None:
            caller = await self._touch_if_due(request, caller.actor, caller.session)
        current_caller.set(caller.actor.caller)
        self._rate_limiter.acquire(caller.actor)
        return caller

    async def reauthenticate(self, request: Request) -> Actor:
        """The caller as they are now; a response that takes long does not prolong a session."""
        return (await self._identify(request, takes_cookie=True)).actor

    async def _identify(self, request: Request, *, takes_cookie: bool) -> Caller:
        secret = None
        if takes_cookie and b"authorization" not in request.headers:
            secret = get_session_secret(request)
        if secret is None:
            return await self._identify_by_token(get_token(request))
        require_own_site(request, self.public_origin)
        return await self._identify_by_session(secret)

    def get_unlimited_actor(self, token: str) -> Actor | None:
        """Who acts with an access token, if that is cached, and their requests are not counted."""
        found = self._get_cached(_TOKENS, token)
        if found is None or self._rate_limiter.is_limited(found.actor):
            return None
        return found.actor

    def _get_cached(self, namespace: str, secret: str) -> Caller | None:
        context = self._database.context
        found: Any = context.caches.auth.lookup(namespace, secret)
        if found is MISSING or found is None or found.expires_at <= context.clock.now():
            return None
        caller: Caller = found
        return caller

    async def _identify_by_token(self, token: str) -> Caller:
        caller = self._get_cached(_TOKENS, token)
        if caller is None:
            context = self._database.context
            generation = context.caches.auth.generation
            digest = context.keyring.digest(token)
            found = await self._database.read(lambda tx: tokens.authenticate_token(tx, digest))
            caller = Caller(*found)
            context.caches.auth.put(_TOKENS, token, caller, since=generation)
        return caller

    async def _identify_by_session(self, secret: str) -> Caller:
        caller = self._get_cached(_SESSIONS, secret)
        if caller is None:
            context = self._database.context
            generation = context.caches.auth.generation
            digest = context.keyring.digest(secret)
            session, actor = await self._database.read(lambda tx: sessions.authenticate(tx, digest))
            caller = _build_caller(actor, session)
            context.caches.auth.put(_SESSIONS, secret, caller, since=generation)
        return caller

    async def _touch_if_due(self, request: Request, actor: Actor, session: Session) -> Caller:
        """Note that the session is in use; reading goes on while nothing can be written."""
        context = self._database.context
        secret = get_session_secret(request)
        if secret is not None and sessions.needs_touch(session, context.clock.now()):
            generation = context.caches.auth.generation
            digest = context.keyring.digest(secret)
            with contextlib.suppress(Unavailable):
                session = await self._database.write(
                    lambda tx: sessions.touch(tx, digest, session, self._session_rules)
                )
            caller = _build_caller(actor, session)
            context.caches.auth.put(_SESSIONS, secret, caller, since=generation)
        return _build_caller(actor, session)


def _build_caller(actor: Actor, session: Session) -> Caller:
    return Caller(actor, session.expires_at, session, sessions.get_other_issuer(session))
