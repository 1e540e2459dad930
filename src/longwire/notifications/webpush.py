"""Web Push: message encryption for one browser (RFC 8291) and VAPID authentication (RFC 8292).

Pure functions; nothing here sends.
"""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CURVE = ec.SECP256R1()
RECORD_BYTES = 4_096
LAST_RECORD = b"\x02"
# Push services accept a day at most.
SIGNATURE_TTL_S = 12 * 3_600


class Subscription(msgspec.Struct, frozen=True):
    """A push subscription of a browser."""

    endpoint: str
    public_key: bytes  # of the browser, a point on the curve
    secret: bytes


class _SubscriptionKeys(msgspec.Struct):
    p256dh: str
    auth: str


class _SubscriptionJson(msgspec.Struct):
    endpoint: str
    keys: _SubscriptionKeys


def parse_subscription(text: str) -> Subscription:
    """From the JSON of a PushSubscription; ValueError if it is invalid."""
    given = msgspec.json.decode(text, type=_SubscriptionJson)
    public_key, secret = decode_base64url(given.keys.p256dh), decode_base64url(given.keys.auth)
    ec.EllipticCurvePublicKey.from_encoded_point(CURVE, public_key)
    if len(secret) != 16:
        raise ValueError("the secret of a subscription has 16 bytes")
    return Subscription(given.endpoint, public_key, secret)


def encrypt(message: bytes, subscription: Subscription) -> bytes:
    """The request body: one record of aes128gcm (RFC 8188)."""
    return _encrypt_record(
        message, subscription, ec.generate_private_key(CURVE), secrets.token_bytes(16)
    )


def _encrypt_record(
    message: bytes, subscription: Subscription, own_key: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    own_point = encode_public_key(own_key)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, subscription.public_key)
    shared = own_key.exchange(ec.ECDH(), theirs)
    info = b"WebPush: info\0" + subscription.public_key + own_point
    secret = _derive_key(subscription.secret, shared, info, 32)
    key = _derive_key(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive_key(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(own_point)]) + own_point
    return head + AESGCM(key).encrypt(nonce, message + LAST_RECORD, None)


def _derive_key(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


class Vapid:
    """Our identity towards push services: a key and a contact."""

    def __init__(self, key: str, contact: str) -> None:
        self._key = parse_vapid_key(key)
        self._contact = contact
        self._cached: dict[str, tuple[int, str]] = {}  # by origin: expiry, header

    @property
    def public_key(self) -> str:
        """What browsers call the application server key."""
        return encode_base64url(encode_public_key(self._key))

    def authorization(self, endpoint: str, now_s: int) -> str:
        """The Authorization header for a push service, cached for hours."""
        parts = urlsplit(endpoint)
        origin = f"{parts.scheme}://{parts.netloc}"
        expires_at, header = self._cached.get(origin, (0, ""))
        if not now_s < expires_at <= now_s + SIGNATURE_TTL_S:
            claims = {"aud": origin, "exp": now_s + SIGNATURE_TTL_S, "sub": self._contact}
            header = f"vapid t={self._jwt(claims)}, k={self.public_key}"
            if len(self._cached) >= 100:
                self._cached.clear()
            self._cached[origin] = (now_s + SIGNATURE_TTL_S // 2, header)
        return header

    def _jwt(self, claims: Mapping[str, Any]) -> str:
        signed = _jwt_signing_input("ES256", claims)
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{encode_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def parse_vapid_key(text: str) -> ec.EllipticCurvePrivateKey:
    """A private key of 32 bytes in base64url, as common tools print it; else ValueError."""
    number = decode_base64url(text)
    if len(number) != 32:
        raise ValueError("the key has 32 bytes, in base64url")
    return ec.derive_private_key(int.from_bytes(number, "big"), CURVE)


def generate_vapid_key() -> str:
    number = ec.generate_private_key(CURVE).private_numbers().private_value
    return encode_base64url(number.to_bytes(32, "big"))


def sign_jwt_rs256(private_key: str, claims: Mapping[str, Any]) -> str:
    """A JWT signed with a PEM private key; ValueError if that is invalid."""
    try:
        key = serialization.load_pem_private_key(private_key.encode(), None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("not a private key") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("not an RSA private key")
    signed = _jwt_signing_input("RS256", claims)
    signature = key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{encode_base64url(signature)}"


def _jwt_signing_input(algorithm: str, claims: Mapping[str, Any]) -> str:
    parts = ({"typ": "JWT", "alg": algorithm}, claims)
    return ".".join(
        encode_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts
    )


def encode_public_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def encode_base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Decode base64url or base64, with or without padding."""
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
