"""Assembles the sign-in methods: tokens, sessions, passwords, passkeys and an identity provider."""

import importlib
from typing import Any
from urllib.parse import urlsplit

from longwire import __version__
from longwire.api.identity import tokens
from longwire.api.identity.oidc import OidcEndpoints
from longwire.api.identity.passkeys import PasskeyEndpoints
from longwire.api.identity.passwords import PasswordEndpoints
from longwire.api.identity.session_shapes import ConsoleSettings
from longwire.api.identity.sessions import SessionEndpoints
from longwire.api.identity.tokens import TokenEndpoint
from longwire.delivery.mail import email_addresses
from longwire.delivery.mail.sign_in_mail import SignInMailer
from longwire.delivery.mail.smtp import MailConfig
from longwire.identity.external_identities import (
    IdentityProvider,
    SignInPolicy,
    parse_claim_rules,
)
from longwire.identity.passkeys import find_relying_party
from longwire.identity.passwords import PasswordHashing
from longwire.identity.rate_limiter import FailureThrottle, RateLimiter
from longwire.identity.sessions import SessionRules
from longwire.process import startup
from longwire.process.app_config import (
    build_quotas,
    build_session_rules,
    build_sign_in_failures,
    build_sign_in_guards,
    get_public_origin,
    list_sign_in_methods,
)
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.web.authentication import Authenticator
from longwire.web.fields import InputLimits
from longwire.web.routing import PlainRoute, Route


class SignInStack:
    """The authenticator, and the routes by which people and programs sign in."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        mail: MailConfig,
        limits: InputLimits,
        rate_limiter: RateLimiter | None,
    ) -> None:
        base_url = startup.get_base_url(settings)
        self.rules = rules = build_session_rules(settings)
        self.authenticator = authenticator = Authenticator(
            database, rules, get_public_origin(settings), rate_limiter
        )
        self.mailer = SignInMailer(database, mail)
        self._hashing = PasswordHashing()
        self._oidc_provider = _build_oidc_provider(settings, database)
        guards = build_sign_in_guards(settings, database)
        sessions = SessionEndpoints(
            database,
            authenticator,
            rules,
            limits,
            base_url=base_url,
            settings=_build_console_settings(settings, has_mail=self.mailer.is_configured),
            mailer=self.mailer,
            guards=guards,
            hashing=self._hashing,
        )
        passwords = PasswordEndpoints(
            database,
            authenticator,
            limits,
            mailer=self.mailer,
            guards=guards,
            hashing=self._hashing,
        )
        passkeys = PasskeyEndpoints(
            database,
            authenticator,
            find_relying_party(base_url),
            rules,
            limits,
            quotas=build_quotas(settings),
            failures=build_sign_in_failures(settings, database),
            mailer=self.mailer,
        )
        self.routes: list[Route | PlainRoute] = [
            *_build_token_routes(settings, database, guards.client_failures),
            *sessions.routes(),
            *passwords.routes(),
            *_build_oidc_routes(settings, database, self._oidc_provider, rules),
            *passkeys.routes(),
        ]

    async def close(self) -> None:
        self._hashing.close()
        if self._oidc_provider is not None:
            await self._oidc_provider.close()


def _build_console_settings(settings: Settings, *, has_mail: bool) -> ConsoleSettings:
    return ConsoleSettings(
        version=__version__,
        sign_in=list_sign_in_methods(settings),
        mail=has_mail,
        oidc_name=settings.oidc_name or urlsplit(settings.oidc_issuer).hostname,
        map_tiles=settings.map_tiles or None,
        map_attribution=settings.map_attribution or None,
    )


def _build_token_routes(
    settings: Settings, database: Database, throttle: FailureThrottle
) -> list[PlainRoute]:
    if settings.auth_url:
        return []
    return tokens.routes(
        TokenEndpoint(
            database,
            issuer=startup.get_base_url(settings),
            lifetime_s=settings.token_lifetime_s,
            throttle=throttle,
        )
    )


def _build_oidc_provider(settings: Settings, database: Database) -> IdentityProvider | None:
    if not settings.oidc_issuer:
        return None
    # Imported on demand: its libraries are large, and not every service has a provider.
    module: Any = importlib.import_module("longwire.oidc_provider")
    client = module.OidcClient(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        scopes=settings.oidc_scopes,
        verified_claim=settings.oidc_verified_claim,
        group_claim=settings.oidc_group_claim if settings.oidc_memberships.strip() else "",
    )
    provider: IdentityProvider = module.OidcProvider(client, database.context.clock)
    return provider


def _build_oidc_routes(
    settings: Settings, database: Database, provider: IdentityProvider | None, rules: SessionRules
) -> list[PlainRoute]:
    policy = SignInPolicy(
        domains=email_addresses.parse_domains(settings.oidc_domains),
        creates_users=settings.oidc_creates_users,
        claim_rules=parse_claim_rules(settings.oidc_memberships),
    )
    base_url = startup.get_base_url(settings)
    endpoints = OidcEndpoints(
        database,
        provider,
        policy,
        rules,
        base_url=base_url,
        failures=build_sign_in_failures(settings, database),
    )
    return endpoints.routes()
