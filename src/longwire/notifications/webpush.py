"""Web Push: a message that only one browser can read (RFC 8291), from a sender it knows (RFC 8292).

Nothing here sends; it is arithmetic, and the cryptography itself is the library's.
"""

import json
import os
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
# Push services take a day at most.
SIGNATURE_LASTS_S = 12 * 3_600


class Subscription(msgspec.Struct, frozen=True):
    """What a browser gives its application, and that to us."""

    endpoint: str
    public_key: bytes  # of the browser, a point on the curve
    secret: bytes


class _Keys(msgspec.Struct):
    p256dh: str
    auth: str


class _Subscription(msgspec.Struct):
    endpoint: str
    keys: _Keys


def subscription_of(text: str) -> Subscription:
    """A subscription as JSON; ValueError when it is none."""
    given = msgspec.json.decode(text, type=_Subscription)
    public_key, secret = unpadded(given.keys.p256dh), unpadded(given.keys.auth)
    ec.EllipticCurvePublicKey.from_encoded_point(CURVE, public_key)
    if len(secret) != 16:
        raise ValueError("the secret of a subscription has 16 bytes")
    return Subscription(given.endpoint, public_key, secret)


def encrypted(message: bytes, subscription: Subscription) -> bytes:
    """The body to send: one record of aes128gcm (RFC 8188)."""
    return _record(message, subscription, ec.generate_private_key(CURVE), os.urandom(16))


def _record(
    message: bytes, subscription: Subscription, own_key: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    own_point = point_of(own_key)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, subscription.public_key)
    shared = own_key.exchange(ec.ECDH(), theirs)
    info = b"WebPush: info\0" + subscription.public_key + own_point
    secret = _derived(subscription.secret, shared, info, 32)
    key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(own_point)]) + own_point
    return head + AESGCM(key).encrypt(nonce, message + LAST_RECORD, None)


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


class Vapid:
    """Who we are to push services: a key, and whom to write to about it."""

    def __init__(self, key: str, contact: str) -> None:
        self._key = vapid_key_of(key)
        self._contact = contact
        self._made: dict[str, tuple[int, str]] = {}  # by origin: good until, header

    @property
    def public_key(self) -> str:
        """What browsers call the key of the application's server."""
        return padless(point_of(self._key))

    def authorization(self, endpoint: str, now_s: int) -> str:
        """The header for a push service; the same one serves for hours."""
        parts = urlsplit(endpoint)
        origin = f"{parts.scheme}://{parts.netloc}"
        good_until, header = self._made.get(origin, (0, ""))
        if not now_s < good_until <= now_s + SIGNATURE_LASTS_S:
            claims = {"aud": origin, "exp": now_s + SIGNATURE_LASTS_S, "sub": self._contact}
            header = f"vapid t={self._jwt(claims)}, k={self.public_key}"
            if len(self._made) >= 100:
                self._made.clear()
            self._made[origin] = (now_s + SIGNATURE_LASTS_S // 2, header)
        return header

    def _jwt(self, claims: Mapping[str, Any]) -> str:
        signed = _unsigned("ES256", claims)
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{padless(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def vapid_key_of(text: str) -> ec.EllipticCurvePrivateKey:
    """A private key of 32 bytes in base64url, as the usual tools print it; else ValueError."""
    number = unpadded(text)
    if len(number) != 32:
        raise ValueError("the key has 32 bytes, in base64url")
    return ec.derive_private_key(int.from_bytes(number, "big"), CURVE)


def new_vapid_key() -> str:
    number = ec.generate_private_key(CURVE).private_numbers().private_value
    return padless(number.to_bytes(32, "big"))


def jwt_rs256(private_key: str, claims: Mapping[str, Any]) -> str:
    """A signed token, for whoever knows the other half of this key; ValueError for no key."""
    try:
        key = serialization.load_pem_private_key(private_key.encode(), None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("this is no private key") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("this is no private key of the kind that is needed")
    signed = _unsigned("RS256", claims)
    return f"{signed}.{padless(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _unsigned(algorithm: str, claims: Mapping[str, Any]) -> str:
    parts = ({"typ": "JWT", "alg": algorithm}, claims)
    return ".".join(padless(json.dumps(part, separators=(",", ":")).encode()) for part in parts)


def point_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def padless(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def unpadded(text: str) -> bytes:
    """The bytes behind base64url, with or without its padding, in either alphabet."""
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
