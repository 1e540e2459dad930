"""What browsers do with passkeys: people register authenticators, and sign in with them alone.

A challenge is a sealed text: whoever asks gets one, and nothing is stored before it is redeemed. It
expires, it is redeemed once, and one for registering does not sign anybody in. The checks of what
an authenticator has signed are those of the library webauthn, which is large: this module is loaded
when somebody has a passkey.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import structlog
import webauthn
from webauthn.helpers import (
    options_to_json_dict,
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    CollectedClientData,
    CredentialDeviceType,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from longwire.clock import SECOND, Moment
from longwire.errors import Conflict, NotAuthenticated, invalid_field
from longwire.identity import users
from longwire.identity.passkeys import RelyingParty
from longwire.identity.sign_in_methods import SignInChange
from longwire.ids import new_id
from longwire.model import Actor, Passkey
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.identity import audit, challenges
from longwire.store.identity import passkeys as store
from longwire.store.identity.passkeys import PASSKEYS

CHALLENGE_LIFETIME_S = 300
SERVICE_NAME = "longwire"
CREDENTIAL_ID_BYTES_MAX = 1_023  # by the specification
PUBLIC_KEY_BYTES_MAX = 1_024  # RSA with 4,096 bits has half of that
REASON_CHARACTERS_MAX = 200  # for the log; an error may repeat all that a stranger has sent
ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]
_REGISTERING = "passkey registration"
_SIGNING_IN = "passkey sign-in"

T = TypeVar("T")

log = structlog.get_logger()


class _Challenge(msgspec.Struct, frozen=True):
    id: str
    expires_at: Moment
    user_id: str = ""  # who registers


# --- registering ---


def build_registration_options(tx: Tx, actor: Actor, party: RelyingParty) -> dict[str, Any]:
    """What a browser needs to create a passkey, for `navigator.credentials.create`."""
    user = users.get_current(tx, actor)
    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=SERVICE_NAME,
        user_id=user.id.encode(),
        user_name=user.email,
        user_display_name=user.name or user.email,
        challenge=_new_challenge(tx, _REGISTERING, user.id),
        timeout=CHALLENGE_LIFETIME_S * 1_000,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=each.credential_id)
            for each in PASSKEYS.list_all(tx, user_id=user.id, order="created_at")
        ],
        supported_pub_key_algs=ALGORITHMS,
    )
    return options_to_json_dict(options)


def register(
    tx: Tx,
    actor: Actor,
    party: RelyingParty,
    credential: Mapping[str, Any],
    name: str,
    quotas: Quotas = DEFAULT_QUOTAS,
) -> Passkey:
    """Keep the passkey that a browser has created for the actor."""
    user = users.get_current(tx, actor)
    locks.acquire_lock(tx, "passkeys of user", user.id)
    quotas.require_room("passkeys_per_user_max", PASSKEYS.count(tx, user_id=user.id))
    try:
        created = _run_check(lambda: parse_registration_credential_json(dict(credential)))
        client_data_json = created.response.client_data_json
        challenge, origin = _redeem_challenge(tx, party, client_data_json, _REGISTERING, user.id)
        verified = _run_check(
            lambda: webauthn.verify_registration_response(
                credential=created,
                expected_challenge=challenge,
                expected_rp_id=party.id,
                expected_origin=origin,
                require_user_verification=True,
                supported_pub_key_algs=ALGORITHMS,
            )
        )
    except _InvalidCredential as invalid:
        log.info("a passkey was not registered", user_id=user.id, reason=str(invalid))
        raise invalid_field(
            "credential", "is invalid, of another site, expired or used before"
        ) from None
    if len(verified.credential_id) > CREDENTIAL_ID_BYTES_MAX:
        raise invalid_field("credential", "has an id that is too long")
    if len(verified.credential_public_key) > PUBLIC_KEY_BYTES_MAX:
        raise invalid_field("credential", "has a public key that is too large")
    passkey = Passkey(
        id=new_id("psk"),
        credential_id=verified.credential_id,
        user_id=user.id,
        name=name,
        public_key=verified.credential_public_key,
        relying_party_id=party.id,
        sign_count=verified.sign_count,
        is_synced=verified.credential_device_type == CredentialDeviceType.MULTI_DEVICE,
        created_at=tx.now,
    )
    locks.acquire_lock(tx, "passkey", passkey.credential_id.hex())
    if store.get_by_credential_id(tx, passkey.credential_id) is not None:
        raise Conflict("This passkey is registered already.")
    PASSKEYS.insert(tx, passkey)
    audit.log(tx, actor, SignInChange.PASSKEY_CREATED, user.id, name=name, detail=passkey.id)
    return passkey


# --- signing in ---


def build_sign_in_options(tx: Tx, party: RelyingParty) -> dict[str, Any]:
    """What a browser needs to use a passkey, for `navigator.credentials.get`.

    Names no passkeys: the authenticator knows which ones it has for this site.
    """
    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=_new_challenge(tx, _SIGNING_IN),
        timeout=CHALLENGE_LIFETIME_S * 1_000,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def authenticate(tx: Tx, party: RelyingParty, credential: Mapping[str, Any]) -> Passkey:
    """The passkey that has signed a challenge; the same error whatever is wrong."""
    try:
        signed = _run_check(lambda: parse_authentication_credential_json(dict(credential)))
        client_data_json = signed.response.client_data_json
        challenge, origin = _redeem_challenge(tx, party, client_data_json, _SIGNING_IN)
        passkey = _find_signer(tx, party, signed)
        verified = _run_check(
            lambda: webauthn.verify_authentication_response(
                credential=signed,
                expected_challenge=challenge,
                expected_rp_id=party.id,
                expected_origin=origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            )
        )
    except _InvalidCredential as invalid:
        log.info("a passkey was refused", reason=str(invalid))
        raise NotAuthenticated from None
    used = replace(
        passkey,
        sign_count=verified.new_sign_count,
        is_synced=verified.credential_device_type == CredentialDeviceType.MULTI_DEVICE,
        seen_at=tx.now,
    )
    PASSKEYS.save(tx, passkey, used)
    return used


def _find_signer(tx: Tx, party: RelyingParty, signed: AuthenticationCredential) -> Passkey:
    """The passkey that has signed, by its id; the authenticator must name the same user."""
    passkey = store.get_by_credential_id(tx, signed.raw_id)
    if passkey is None or passkey.relying_party_id != party.id:
        raise _InvalidCredential("the passkey is unknown")
    if signed.response.user_handle != passkey.user_id.encode():
        raise _InvalidCredential("the passkey is that of another user")
    return passkey


class _InvalidCredential(Exception):
    """What a browser sent proves nothing."""


def _run_check(check: Callable[[], T]) -> T:
    """Parse or verify what a stranger has sent.

    Parsers of CBOR, ASN.1 and certificates raise all sorts of errors for invalid input, so all of
    them count. Nothing in here touches the database.
    """
    try:
        return check()
    except Exception as error:
        raise _InvalidCredential(repr(error)[:REASON_CHARACTERS_MAX]) from None


# --- challenges ---


def _new_challenge(tx: Tx, purpose: str, user_id: str = "") -> bytes:
    challenge = _Challenge(new_id("cha"), tx.now + CHALLENGE_LIFETIME_S * SECOND, user_id)
    return tx.keyring.seal(msgspec.json.encode(challenge).decode(), purpose).encode()


def _redeem_challenge(
    tx: Tx, party: RelyingParty, client_data_json: bytes, purpose: str, user_id: str = ""
) -> tuple[bytes, str]:
    """The challenge that was signed, which is one of ours, and the origin where."""
    client_data, challenge = _run_check(lambda: _open_challenge(tx, client_data_json, purpose))
    if challenge.user_id != user_id or challenge.expires_at <= tx.now:
        raise _InvalidCredential("the challenge has expired, or is that of another user")
    if client_data.cross_origin or not _run_check(lambda: party.is_own_origin(client_data.origin)):
        raise _InvalidCredential("the origin is not ours")
    if not challenges.redeem(tx, challenge.id, challenge.expires_at):
        raise _InvalidCredential("the challenge was used before")
    return client_data.challenge, client_data.origin


def _open_challenge(
    tx: Tx, client_data_json: bytes, purpose: str
) -> tuple[CollectedClientData, _Challenge]:
    client_data = parse_client_data_json(client_data_json)
    text = tx.keyring.unseal(client_data.challenge.decode("ascii"), purpose)
    return client_data, msgspec.json.decode(text, type=_Challenge)
