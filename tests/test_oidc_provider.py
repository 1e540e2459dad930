"""ID tokens that no honest provider issues, from one that issues whatever a test asks for."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from longwire.clock import Clock
from longwire.identity.external_identities import ExternalIdentity, parse_claim_rules
from longwire.oidc_provider import Failure, OidcClient, OidcError, OidcProvider

KEY = ECKey.generate_key("P-256", {"kid": "one", "use": "sig", "alg": "ES256"})
OTHER = ECKey.generate_key("P-256", {"kid": "two"})
SECRET = "a secret of the client that is long enough to sign"
SYMMETRIC = OctKey.import_key(SECRET)

Claims = dict[str, Any]


class Provider:
    """Serves a configuration, keys, and one ID token."""

    def __init__(self, build_token: Callable[[Claims], str], **configuration: Any) -> None:
        self._build_token = build_token
        self._configuration = configuration
        self.userinfo: Any = {}
        self.requests: list[str] = []

    async def redeem(self, **client: Any) -> ExternalIdentity:
        runner = web.AppRunner(self._app())
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
        provider = OidcProvider(OidcClient(self.issuer, "me", SECRET, **client), Clock())
        try:
            return await provider.redeem(
                "code", "http://here/callback", issuer=None, nonce="n", code_verifier="v" * 43
            )
        finally:
            await provider.close()
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        return app

    async def _serve(self, request: web.Request) -> web.Response:
        self.requests.append(request.path)
        now = int(time.time())
        claims = {
            **{"iss": self.issuer, "sub": "s", "aud": "me", "exp": now + 60, "iat": now},
            **{"nonce": "n", "email": "ada@example.com", "email_verified": True},
        }
        bodies = {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/me",
                "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
                **self._configuration,
            },
            "/keys": {"keys": [KEY.as_dict(private=False), {"kty": "oct", "k": "AAAA"}]},
            "/token": {"access_token": "at", "id_token": self._build_token(claims)},
            "/me": self.userinfo,
        }
        return web.json_response(bodies[request.path])


def signed(changes: Claims | None = None, *, without: str = "") -> Callable[[Claims], str]:
    """An ID token as it should be, except for some claims."""

    def build(claims: Claims) -> str:
        changed = {**claims, **(changes or {})}
        changed.pop(without, None)
        return jwt.encode({"alg": "ES256", "kid": "one"}, changed, KEY)

    return build


def unsigned(claims: Claims) -> str:
    token = jwt.encode({"alg": "ES256", "kid": "one"}, claims, KEY)
    # {"alg":"none"}
    return "eyJhbGciOiJub25lIn0." + token.split(".")[1] + "."


def test_a_valid_token_says_who_somebody_is() -> None:
    found = asyncio.run(Provider(signed({"given_name": "Ada"})).redeem())
    assert (found.subject, found.email, found.is_email_verified) == ("s", "ada@example.com", True)
    assert found.first_name == "Ada"
    # Some providers have a claim of their own for addresses that were verified.
    token = signed({"xms_edov": True}, without="email_verified")
    provider = Provider(token, userinfo_endpoint=None)
    assert not asyncio.run(provider.redeem()).is_email_verified
    assert asyncio.run(provider.redeem(verified_claim="xms_edov")).is_email_verified


@pytest.mark.parametrize(
    "build",
    [
        signed({"iss": "https://other.example.com"}),
        signed({"aud": "somebody else"}),
        signed({"aud": ["me", "somebody else"]}),  # without azp
        signed({"azp": "somebody else"}),
        signed({"exp": 1}),
        signed({"iat": 4_000_000_000}),
        signed({"nonce": "another"}),
        signed({"sub": ""}),
        signed({"sub": 7}),
        signed({"sub": "s" * 256}),
        signed({"exp": "soon"}),
        signed(without="nonce"),
        signed(without="exp"),
        signed(without="sub"),
        unsigned,
        # Signed with the secret that the client has too.
        lambda claims: jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET)),
        lambda claims: jwt.encode(
            {"alg": "HS256", "kid": "one"}, claims, OctKey.import_key(SECRET)
        ),
        # Another key with a name that is known, and one with a name that is not.
        lambda claims: jwt.encode({"alg": "ES256", "kid": "one"}, claims, OTHER),
        lambda claims: jwt.encode({"alg": "ES256", "kid": "two"}, claims, OTHER),
        lambda claims: jwt.encode({"alg": "RS256"}, claims, RSAKey.generate_key(2048)),
        lambda claims: "no.token.at all",
        lambda claims: "",
    ],
)
def test_an_invalid_token_is_refused(build: Callable[[Claims], str]) -> None:
    with pytest.raises(OidcError) as refused:
        asyncio.run(Provider(build).redeem())
    assert refused.value.failure == Failure.INVALID_TOKEN


@pytest.mark.parametrize(
    "configuration",
    [
        {"issuer": "http://127.0.0.1:1"},
        {"token_endpoint": "http://example.com/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_configuration_of_another_issuer_or_without_tls_is_not_used(
    configuration: Claims,
) -> None:
    provider = Provider(signed(), **configuration)
    with pytest.raises(OidcError) as refused:
        asyncio.run(provider.redeem())
    assert refused.value.failure == Failure.UNAVAILABLE
    assert "/token" not in provider.requests


def test_what_an_id_token_leaves_out_is_asked_for_and_must_be_about_the_same_person() -> None:
    provider = Provider(signed(without="email"))
    provider.userinfo = {"sub": "s", "email": "a@example.com", "realm": {"roles": ["x", 1]}}
    found = asyncio.run(provider.redeem(group_claim="realm.roles"))
    assert (found.email, found.claim_values) == ("a@example.com", {"x"})
    provider.userinfo["sub"] = "another"
    with pytest.raises(OidcError):
        asyncio.run(provider.redeem())


def test_groups_that_are_too_many_for_a_token_are_unknown_rather_than_none() -> None:
    token = signed({"_claim_names": {"groups": "src1"}})
    provider = Provider(token, userinfo_endpoint=None)
    assert asyncio.run(provider.redeem(group_claim="groups")).claim_values is None
    assert asyncio.run(provider.redeem(group_claim="roles")).claim_values == frozenset()


def test_rules_have_a_group_a_role_and_a_value_that_may_have_spaces() -> None:
    rules = parse_claim_rules("\n 12 viewer  CN=a b, DC=c \n;7 manager x;")
    assert [(rule.group_id, rule.role_id, rule.claim_value) for rule in rules] == [
        ("12", "viewer", "CN=a b, DC=c"),
        ("7", "manager", "x"),
    ]
    for wrong in ("12 viewer", "north viewer x", "12"):
        with pytest.raises(ValueError, match="must be a group id"):
            parse_claim_rules(wrong)
