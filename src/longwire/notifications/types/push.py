"""Push messages to the phones and browsers that members of the group have registered.

A token is either a browser's Web Push subscription (the message is encrypted for it and signed by
us) or a registration token of Firebase Cloud Messaging (HTTP v1 API). Subscriptions come from
users, so the egress guard checks their endpoints.
"""

import asyncio
import builtins
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from yarl import URL

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundBatch,
    Outcome,
    ParamsBase,
    Refused,
)
from longwire.delivery.destinations.http import (
    parse_retry_after,
    validate_url,
)
from longwire.delivery.http.http_client_loader import load_http_client
from longwire.delivery.http.http_limits import RESPONSE_BYTES_MAX
from longwire.notifications import webpush
from longwire.notifications.default_texts import append_held_back
from longwire.notifications.types.base import (
    ContactParams,
    ListTokens,
    NotificationMessage,
    Params,
    PushTarget,
    SenderContext,
    SendingConfig,
    decode_notification,
)
from longwire.notifications.values import ELLIPSIS, truncate

if TYPE_CHECKING:
    import aiohttp

# What both networks accept, minus what they add.
PAYLOAD_BYTES_MAX = 3_000
TIME_TO_LIVE_S = 86_400
# Shorter than the engine's attempt timeout: one member's endpoint that hangs must not count as an
# outage for all of them.
TIMEOUT_S = 12.0
FCM_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
FCM_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GRANT_TTL_S = 3_600
# Renew an access token this long before it expires.
RENEW_BEFORE_S = 60

PUSH_NOT_CONFIGURED = "push is not configured; the operator sets vapid_key or fcm_account"
WEBPUSH_NOT_CONFIGURED = Refused(
    "Web Push is not configured; the operator sets vapid_key",
    is_final=True,
    code=FailureCode.NOT_CONFIGURED,
)
FCM_NOT_CONFIGURED = Refused(
    "Firebase Cloud Messaging is not configured; the operator sets fcm_account",
    is_final=True,
    code=FailureCode.NOT_CONFIGURED,
)
TOKEN_REMOVED = Refused(
    "the push token is not registered any more, or its user may not see this",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)
TOKEN_INVALID = Refused(
    "the push token is no longer valid", is_final=True, code=FailureCode.RECIPIENT_GONE
)
# The account is not the one that the tokens belong to, or lacks a permission.
ACCOUNT_ERROR_CODES = ("SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR")
ACCOUNT_REJECTED = "Firebase does not accept the operator's account for this push token"
# FCM has no code that distinguishes an invalid token from an invalid message, only this text.
INVALID_TOKEN_TEXT = "not a valid FCM registration token"


class PushParams(Params, kw_only=True):
    """No more parameters: the recipients are the members with a registered push token."""


class PushContactParams(ContactParams, kw_only=True):
    """No more parameters: the recipients are those of the group of the contact point."""


class FcmAccount(msgspec.Struct, frozen=True):
    """The used fields of a service account's JSON file."""

    project_id: str
    client_email: str
    private_key: str
    token_uri: str = "https://oauth2.googleapis.com/token"


class PushSender:
    """Sends to the push services, for one notification."""

    type: ClassVar[str] = "push"
    title: ClassVar[str] = "Push messages (Web Push, Firebase)"
    params_type: ClassVar[builtins.type[Params]] = PushParams
    keeps_message: ClassVar[bool] = False
    setup_hint: ClassVar[str] = PUSH_NOT_CONFIGURED
    batch_max: ClassVar[int] = 1

    @classmethod
    def is_available(cls, config: SendingConfig) -> bool:
        return bool(config.vapid_key or config.fcm_account)

    @classmethod
    def list_disallowed(
        cls, params: ParamsBase, config: SendingConfig
    ) -> Sequence[tuple[str, str]]:
        return ()

    @classmethod
    def list_recipients(cls, params: ParamsBase, list_tokens: ListTokens) -> Sequence[str]:
        return list_tokens()

    def __init__(self, params: ParamsBase, context: SenderContext) -> None:
        self._context = context
        self._client = load_http_client()
        self._session: aiohttp.ClientSession | None = None
        config = context.config
        self._vapid = (
            webpush.Vapid(config.vapid_key, config.vapid_contact) if config.vapid_key else None
        )
        self._account = (
            msgspec.json.decode(config.fcm_account, type=FcmAccount) if config.fcm_account else None
        )
        self._token_lock = asyncio.Lock()
        self._access_token = ""
        self._token_expires_at: Moment = 0

    async def send(self, batch: OutboundBatch) -> Outcome:
        target = await self._context.get_push_target(batch.single.to)
        if target is None:
            return TOKEN_REMOVED
        message = decode_notification(batch)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if target.type == "webpush":
                    return await self._send_webpush(batch, message, target)
                return await self._send_fcm(batch, message, target)
        except Exception as error:
            # One member's endpoint is no evidence about the others, so never `Unreachable`.
            failure = self._client.outcome_of_http_error(error)
            return Refused(failure.reason, is_final=failure.is_final, code=failure.code)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    # --- Web Push ---

    async def _send_webpush(
        self, batch: OutboundBatch, message: NotificationMessage, target: PushTarget
    ) -> Outcome:
        if self._vapid is None:
            return WEBPUSH_NOT_CONFIGURED
        try:
            subscription = webpush.parse_subscription(target.token)
        except ValueError:
            return TOKEN_INVALID
        for problem in validate_url(subscription.endpoint, self._context.egress):
            return Refused(f"the endpoint of the push token {problem}", is_final=True)
        payload = {"id": batch.single.id, **build_payload(batch, message)}
        status, headers, _ = await self._post(
            subscription.endpoint,
            webpush.encrypt(json.dumps(payload, ensure_ascii=False).encode(), subscription),
            {
                "Content-Type": "application/octet-stream",
                "Content-Encoding": "aes128gcm",
                "TTL": str(TIME_TO_LIVE_S),
                "Urgency": "high",
                "Authorization": self._vapid.authorization(
                    subscription.endpoint, batch.at // SECOND
                ),
            },
        )
        if status in (404, 410):
            return TOKEN_INVALID
        return outcome_of_status(status, headers, batch.at, is_final=status in (400, 413))

    # --- Firebase ---

    async def _send_fcm(
        self, batch: OutboundBatch, message: NotificationMessage, target: PushTarget
    ) -> Outcome:
        if self._account is None:
            return FCM_NOT_CONFIGURED
        access_token = await self._get_access_token(self._account, batch.at)
        if isinstance(access_token, Refused):
            return access_token
        status, headers, answer = await self._post(
            f"{self._context.config.fcm_url}/v1/projects/{self._account.project_id}/messages:send",
            json.dumps({"message": build_fcm_message(batch, message, target.token)}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {access_token}"},
        )
        if status == 401:
            self._token_expires_at = 0
        error = parse_fcm_error(answer)
        if error.is_token_invalid:
            return TOKEN_INVALID
        if error.code in ACCOUNT_ERROR_CODES or status == 403:
            # It concerns every token, and the operator can fix it: not final.
            return Refused(f"{ACCOUNT_REJECTED} (status {status})")
        return outcome_of_status(status, headers, batch.at, is_final=status == 400)

    async def _get_access_token(self, account: FcmAccount, at: Moment) -> str | Refused:
        """An OAuth access token, cached until shortly before it expires."""
        async with self._token_lock:
            if at < self._token_expires_at:
                return self._access_token
            now_s = at // SECOND
            grant = webpush.sign_jwt_rs256(
                account.private_key,
                {
                    "iss": account.client_email,
                    "scope": FCM_SCOPE,
                    "aud": account.token_uri,
                    "iat": now_s,
                    "exp": now_s + GRANT_TTL_S,
                },
            )
            status, _, answer = await self._post(
                account.token_uri,
                URL.build(
                    query={"grant_type": FCM_GRANT, "assertion": grant}
                ).raw_query_string.encode(),
                {"Content-Type": "application/x-www-form-urlencoded"},
            )
            try:
                granted = msgspec.json.decode(answer, type=_TokenResponse)
            except msgspec.DecodeError:
                return Refused(f"no access token for the service account (status {status})")
            self._access_token = granted.access_token
            self._token_expires_at = at + (granted.expires_in - RENEW_BEFORE_S) * SECOND
            return self._access_token

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            agent = {"User-Agent": f"longwire/{__version__}"}
            self._session = self._client.create_guarded_session(self._context.egress, agent)
        response = await self._session.post(
            URL(url), data=body, headers=headers, allow_redirects=False
        )
        try:
            answer = b""
            while len(answer) <= RESPONSE_BYTES_MAX and not response.content.at_eof():
                answer += await response.content.readany()
            return response.status, response.headers, answer
        finally:
            response.close()


class _TokenResponse(msgspec.Struct):
    access_token: str
    expires_in: int


def outcome_of_status(
    status: int, headers: Mapping[str, str], at: Moment, *, is_final: bool
) -> Delivered | Refused:
    if 200 <= status < 300:
        return Delivered()
    return Refused(
        f"the push service responded with status {status}",
        is_final=is_final,
        retry_after_s=parse_retry_after(headers.get("Retry-After"), at),
    )


class FcmError(msgspec.Struct, frozen=True):
    """The error of an FCM response; empty where it has none."""

    code: str = ""
    message: str = ""
    fields: tuple[str, ...] = ()

    @property
    def is_token_invalid(self) -> bool:
        """Whether the token will never work again, as opposed to the message or the account."""
        if self.code == "INVALID_ARGUMENT":
            return "message.token" in self.fields or INVALID_TOKEN_TEXT in self.message
        return self.code == "UNREGISTERED"


class _FcmFieldViolation(msgspec.Struct):
    field: str = ""


class _FcmErrorDetail(msgspec.Struct, rename="camel"):
    error_code: str = ""
    field_violations: list[_FcmFieldViolation] = []


class _FcmErrorBody(msgspec.Struct):
    message: str = ""
    details: list[_FcmErrorDetail] = []


class _FcmResponse(msgspec.Struct):
    error: _FcmErrorBody


def parse_fcm_error(answer: bytes) -> FcmError:
    try:
        error = msgspec.json.decode(answer, type=_FcmResponse).error
    except msgspec.DecodeError:
        return FcmError()
    return FcmError(
        next((each.error_code for each in error.details if each.error_code), ""),
        error.message,
        tuple(each.field for detail in error.details for each in detail.field_violations),
    )


def build_payload(batch: OutboundBatch, message: NotificationMessage) -> dict[str, Any]:
    """What the receiving application gets, truncated to what push services accept."""
    payload: dict[str, Any] = {
        "title": message.subject,
        "body": append_held_back(message.body, message.held_back, message.language),
        "reason": truncate(message.reason, 100),
        "heldBack": message.held_back,
        "groupId": batch.single.group_id,
        "deviceId": batch.single.device_id,
        "timestamp": str(message.message.get("timestamp", "")),
    }
    without_body = json.dumps(payload | {"body": ""}, ensure_ascii=False).encode()
    payload["body"] = truncate_utf8(payload["body"], PAYLOAD_BYTES_MAX - len(without_body))
    return payload


def truncate_utf8(text: str, bytes_max: int) -> str:
    """The longest tried prefix whose JSON encoding has at most so many bytes."""
    while len(json.dumps(text, ensure_ascii=False).encode()) - 2 > bytes_max:
        prefix = text[: len(text) * 9 // 10].removesuffix(ELLIPSIS)
        text = prefix + ELLIPSIS
    return text


def build_fcm_message(
    batch: OutboundBatch, message: NotificationMessage, token: str
) -> dict[str, Any]:
    payload = build_payload(batch, message)
    title, body = payload.pop("title"), payload.pop("body")
    data = {"id": batch.single.id} | {name: str(value) for name, value in payload.items() if value}
    return {
        "token": token,
        "notification": {"title": title, "body": body},
        "data": data,
        "android": {"ttl": f"{TIME_TO_LIVE_S}s", "priority": "HIGH"},
    }
