"""Assembles the sign-in methods: tokens, sessions, passwords, passkeys and an identity provider."""

import importlib
from typing import Any
from urllib.parse import urlsplit

from longwire.api.identity import tokens
from longwire.api.identity.authentication import CallerAuthenticator
from longwire.api.identity.tokens import TokenEndpoint
from longwire.api.services import SignInServices
from longwire.delivery.mail import email_addresses
from longwire.delivery.mail.sign_in_mail import SignInMailer
from longwire.delivery.mail.smtp import MailConfig
from longwire.identity.attempt_limits import FailureThrottle
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.identity.external_identities import (
    IdentityProvider,
    SignInPolicy,
    parse_claim_rules,
)
from longwire.identity.passkeys import find_relying_party
from longwire.identity.passwords import PasswordHashing
from longwire.map_archives.folder import MapFolder
from longwire.process import startup
from longwire.process.app_config import (
    build_session_rules,
    build_sign_in_guards,
    get_public_origin,
    list_sign_in_methods,
)
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.web.routing import Route


class SignInStack:
    """The authenticator, and the routes by which people and programs sign in."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        mail: MailConfig,
        rate_limiter: CallerRateLimiter,
        map_folder: MapFolder | None,
    ) -> None:
        base_url = startup.get_base_url(settings)
        self.authenticator = CallerAuthenticator(
            database, build_session_rules(settings), get_public_origin(settings), rate_limiter
        )
        self.mailer = SignInMailer(database, mail)
        self._hashing = PasswordHashing()
        self._oidc_provider = _build_oidc_provider(settings, database)
        guards = build_sign_in_guards(settings, database)
        self.services = SignInServices(
            methods=list_sign_in_methods(settings),
            rules=build_session_rules(settings),
            guards=guards,
            hashing=self._hashing,
            mailer=self.mailer,
            base_url=base_url,
            passkey_party=find_relying_party(base_url),
            oidc_provider=self._oidc_provider,
            oidc_policy=_build_oidc_policy(settings),
            oidc_name=settings.oidc_name or urlsplit(settings.oidc_issuer).hostname,
            map_tiles=settings.map_tiles if map_folder is None else None,
            map_folder=map_folder,
            map_attribution=settings.map_attribution or None,
        )
        self.routes = _build_token_routes(settings, database, guards.client_failures)

    async def close(self) -> None:
        self._hashing.close()
        if self._oidc_provider is not None:
            await self._oidc_provider.close()


def _build_token_routes(
    settings: Settings, database: Database, throttle: FailureThrottle
) -> list[Route]:
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


def _build_oidc_policy(settings: Settings) -> SignInPolicy:
    return SignInPolicy(
        domains=email_addresses.parse_domains(settings.oidc_domains),
        creates_users=settings.oidc_creates_users,
        claim_rules=parse_claim_rules(settings.oidc_memberships),
    )
