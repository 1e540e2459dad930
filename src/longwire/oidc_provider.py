"""The operator's OpenID Connect provider: its configuration, its keys, and codes for identities.

Authorization code flow with PKCE. Authlib writes the requests and checks the claims of an ID token,
joserfc its signature; the HTTP client is that of the other APIs, with its limits. What the provider
sends is used by fields, and never shown to anybody. Loaded only if there is a provider: the two
libraries are large.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import aiohttp
import msgspec
import structlog
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from longwire import __version__
from longwire.clock import SECOND, Clock, Moment
from longwire.delivery.http.egress import Egress
from longwire.delivery.http.http_client import create_guarded_session
from longwire.identity.external_identities import (
    ExternalIdentity,
    Failure,
    OidcError,
    is_trustworthy,
)

METADATA_TTL = 3_600 * SECOND
# After a failure, and for an unknown key: nobody makes us ask the provider more often than this.
REFRESH_INTERVAL = 10 * SECOND
REQUESTS_MAX = 16  # in flight
RESPONSE_BYTES_MAX = 128 * 1_024
LEEWAY_S = 60  # between its clock and ours
SUBJECT_CHARACTERS_MAX = 255
NAME_CHARACTERS_MAX = 200
CLAIM_VALUES_MAX = 2_000
# Signatures that only the provider can make: with HS256 the key is a secret that we have too.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
KEY_TYPES = ("RSA", "EC", "OKP")
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OidcClient:
    """This service as a client of the provider."""

    issuer: str
    client_id: str
    client_secret: str = ""
    scopes: str = "openid email profile"
    verified_claim: str = "email_verified"
    group_claim: str = ""  # empty if nobody looks at it


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What the provider publishes about itself, as far as it is needed."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    algorithms: Sequence[str]
    uses_secret_in_body: bool
    sends_issuer: bool


class OidcProvider:
    """Speaks to the provider; its configuration and keys are cached."""

    def __init__(self, client: OidcClient, clock: Clock) -> None:
        self.client = client
        self._clock = clock
        self._egress = Egress.build_unrestricted()
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(REQUESTS_MAX)
        self._refreshing = asyncio.Lock()
        self._metadata: _Metadata | None = None
        self._keys: KeySet | None = None
        self._refreshed_at: Moment = 0
        self._attempted_at: Moment = 0

    async def build_authorization_url(
        self, redirect_uri: str, *, state: str, nonce: str, code_verifier: str
    ) -> str:
        """Where to send a browser for the person to sign in."""
        metadata, _ = await self._get_configuration()
        return str(
            prepare_grant_uri(
                metadata.authorization_endpoint,
                self.client.client_id,
                "code",
                redirect_uri,
                self.client.scopes,
                state,
                nonce=nonce,
                code_challenge=create_s256_code_challenge(code_verifier),
                code_challenge_method="S256",
            )
        )

    async def redeem(
        self, code: str, redirect_uri: str, *, issuer: str | None, nonce: str, code_verifier: str
    ) -> ExternalIdentity:
        """Who has signed in, for a code; `issuer` is what came with the code (RFC 9207)."""
        metadata, _ = await self._get_configuration()
        is_issuer_missing = issuer is None and metadata.sends_issuer
        if is_issuer_missing or issuer not in (None, self.client.issuer):
            raise OidcError(Failure.INVALID_TOKEN, "the code is of another issuer")
        tokens = await self._exchange(metadata, code, redirect_uri, code_verifier)
        claims = await self._verify(metadata, tokens, nonce)
        if metadata.userinfo_endpoint and self._needs_userinfo(claims):
            claims = await self._get_userinfo(metadata, tokens, claims["sub"]) | claims
        return _parse_identity(self.client, claims)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    # --- its configuration and keys ---

    async def _get_configuration(self, *, unknown_key: bool = False) -> tuple[_Metadata, KeySet]:
        """Metadata and keys, not older than their TTL; refreshed for a key that is not known."""
        async with self._refreshing:
            now = self._clock.now()
            cached = (self._metadata, self._keys)
            is_fresh = now - self._refreshed_at < METADATA_TTL and not unknown_key
            may_refresh = now - self._attempted_at >= REFRESH_INTERVAL
            if not is_fresh and may_refresh:
                self._attempted_at = now
                await self._refresh()
                cached = (self._metadata, self._keys)
            metadata, keys = cached
            if metadata is None or keys is None:
                raise OidcError(Failure.UNAVAILABLE, "the last attempt failed a moment ago")
            return metadata, keys

    async def _refresh(self) -> None:
        url = get_well_known_url(self.client.issuer, external=True)
        try:
            metadata = _parse_metadata(self.client, await self._request("GET", url))
            self._keys = _parse_keys(await self._request("GET", metadata.jwks_uri))
        except OidcError as error:
            # The last ones may still be valid; tokens are checked against them in any case.
            log.warning("the OpenID Connect provider cannot be used", reason=str(error))
            if self._metadata is None:
                raise
            return
        self._metadata, self._refreshed_at = metadata, self._attempted_at

    # --- from a code to claims ---

    async def _exchange(
        self, metadata: _Metadata, code: str, redirect_uri: str, code_verifier: str
    ) -> Mapping[str, Any]:
        client = self.client
        method = "client_secret_post" if metadata.uses_secret_in_body else "client_secret_basic"
        if not client.client_secret:
            method = "none"
        is_basic = method == "client_secret_basic"
        # In the header both are encoded like a form (RFC 6749, 2.3.1), in a form they are anyway.
        auth = ClientAuth(
            quote_plus(client.client_id) if is_basic else client.client_id,
            quote_plus(client.client_secret) if is_basic else client.client_secret,
            method,
        )
        body = prepare_token_request(
            "authorization_code", redirect_uri=redirect_uri, code=code, code_verifier=code_verifier
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url, headers, body = auth.prepare("POST", metadata.token_endpoint, headers, body)
        return await self._request("POST", url, headers, body)

    async def _verify(
        self, metadata: _Metadata, tokens: Mapping[str, Any], nonce: str
    ) -> dict[str, Any]:
        """The claims of the ID token, after its signature and all of them have been checked."""
        id_token = tokens.get("id_token")
        if not isinstance(id_token, str):
            raise OidcError(Failure.INVALID_TOKEN, "the response has no ID token")
        _, keys = await self._get_configuration()
        try:
            try:
                token = _decode(id_token, keys, metadata.algorithms)
            except InvalidKeyIdError:
                metadata, keys = await self._get_configuration(unknown_key=True)
                token = _decode(id_token, keys, metadata.algorithms)
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    "iss": {"essential": True, "value": self.client.issuer},
                    "aud": {"essential": True, "value": self.client.client_id},
                    "nonce": {"essential": True, "value": nonce},
                },
                {
                    "nonce": nonce,
                    "client_id": self.client.client_id,
                    "access_token": tokens.get("access_token"),
                },
            )
            claims.validate(self._clock.now() // SECOND, LEEWAY_S)
        except (JoseError, ValueError, TypeError) as error:
            raise OidcError(Failure.INVALID_TOKEN, f"{type(error).__name__}: {error}") from None
        return dict(claims)

    def _needs_userinfo(self, claims: Mapping[str, Any]) -> bool:
        """Some providers put only the subject into an ID token, and the rest elsewhere."""
        names = ("email", self.client.verified_claim, self.client.group_claim)
        return any(name and _find_claim(claims, name) is None for name in names)

    async def _get_userinfo(
        self, metadata: _Metadata, tokens: Mapping[str, Any], subject: str
    ) -> dict[str, Any]:
        access_token = tokens.get("access_token")
        if not isinstance(access_token, str) or not access_token.isprintable():
            return {}
        headers = {"Authorization": f"Bearer {access_token}"}
        found = dict(await self._request("GET", metadata.userinfo_endpoint, headers))
        if found.get("sub") != subject:
            raise OidcError(Failure.INVALID_TOKEN, "the userinfo is about another subject")
        return found

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: str = ""
    ) -> Mapping[str, Any]:
        """The JSON object that the provider responds with."""
        if self._session is None:
            agent = {"User-Agent": f"longwire/{__version__}", "Accept": "application/json"}
            self._session = create_guarded_session(self._egress, agent)
        try:
            async with (
                self._slots,
                self._session.request(
                    method, url, data=body or None, headers=headers, allow_redirects=False
                ) as response,
            ):
                content = await _read_limited(response.content)
                status = response.status
            decoded = msgspec.json.decode(content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise OidcError(Failure.UNAVAILABLE, type(error).__name__) from None
        except (msgspec.DecodeError, RecursionError, ValueError):
            raise OidcError(Failure.UNAVAILABLE, f"{url} sent no JSON") from None
        if status >= 500:
            raise OidcError(Failure.UNAVAILABLE, f"{url} responded with status {status}")
        if status != 200 or not isinstance(decoded, dict):
            raise OidcError(Failure.REFUSED, f"{url} responded with status {status}")
        return decoded


async def _read_limited(content: aiohttp.StreamReader) -> bytes:
    parts = b""
    while not content.at_eof():
        parts += await content.readany()
        if len(parts) > RESPONSE_BYTES_MAX:
            raise ValueError("too large")
    return parts


def _parse_metadata(client: OidcClient, found: Mapping[str, Any]) -> _Metadata:
    if found.get("issuer") != client.issuer:
        raise OidcError(Failure.UNAVAILABLE, "the configuration is that of another issuer")
    urls = {name: found.get(name) for name in (*ENDPOINTS, "userinfo_endpoint")}
    for name, url in urls.items():
        is_valid = isinstance(url, str) and is_trustworthy(url)
        if not is_valid and (name in ENDPOINTS or url is not None):
            raise OidcError(Failure.UNAVAILABLE, f"{name} is missing, or not https")
    algorithms = found.get("id_token_signing_alg_values_supported") or ["RS256"]
    methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return _Metadata(
        authorization_endpoint=str(urls["authorization_endpoint"]),
        token_endpoint=str(urls["token_endpoint"]),
        jwks_uri=str(urls["jwks_uri"]),
        userinfo_endpoint=str(urls["userinfo_endpoint"] or ""),
        algorithms=[each for each in ALGORITHMS if each in algorithms],
        uses_secret_in_body="client_secret_basic" not in methods
        and "client_secret_post" in methods,
        sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
    )


def _parse_keys(found: Mapping[str, Any]) -> KeySet:
    keys = found.get("keys")
    usable = [
        key
        for key in (keys if isinstance(keys, list) else [])
        if isinstance(key, dict) and key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig"
    ]
    try:
        return KeySet.import_key_set({"keys": usable})
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise OidcError(Failure.UNAVAILABLE, f"invalid keys: {type(error).__name__}") from None


def _decode(id_token: str, keys: KeySet, algorithms: Sequence[str]) -> jwt.Token:
    registry = JWSRegistry(algorithms=list(algorithms), strict_check_header=False)
    return jwt.decode(id_token, keys, registry=registry)


def _parse_identity(client: OidcClient, claims: Mapping[str, Any]) -> ExternalIdentity:
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_CHARACTERS_MAX:
        raise OidcError(Failure.INVALID_TOKEN, "the subject is invalid")
    if "\x00" in subject:
        raise OidcError(Failure.INVALID_TOKEN, "the subject is invalid")
    # Some write true as a text or a number.
    verified = claims.get(client.verified_claim)
    is_verified = verified is True or verified in ("true", "1") or verified == 1
    return ExternalIdentity(
        issuer=client.issuer,
        subject=subject,
        email=email if isinstance(email, str) else "",
        is_email_verified=is_verified and isinstance(email, str) and "@" in email,
        first_name=_parse_name(claims.get("given_name")),
        last_name=_parse_name(claims.get("family_name")),
        claim_values=_parse_claim_values(client.group_claim, claims),
    )


def _parse_name(value: Any) -> str | None:
    is_name = isinstance(value, str) and value.isprintable() and value.strip()
    return value.strip()[:NAME_CHARACTERS_MAX] if is_name else None


def _parse_claim_values(name: str, claims: Mapping[str, Any]) -> frozenset[str] | None:
    """The values of a claim that is a text or a list of texts; None if they are left out.

    A provider that leaves out a claim because it would be too large says so in `_claim_names`.
    """
    found = _find_claim(claims, name)
    left_out = claims.get("_claim_names")
    if found is None and isinstance(left_out, dict) and name in left_out:
        return None
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(each for each in values[:CLAIM_VALUES_MAX] if isinstance(each, str))


def _find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, which may be a URL, or by a path such as realm_access.roles."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
