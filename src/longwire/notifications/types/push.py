"""Push messages to the phones and browsers that members of the group have registered.

A token is either the subscription of a browser (Web Push: the message is encrypted for it and
signed by us) or one of Firebase Cloud Messaging (its HTTP v1 interface). Subscriptions come from
users, so the guard looks at where they lead.
"""

import asyncio
import builtins
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import aiohttp
import msgspec
from yarl import URL

from longwire import __version__
from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.base import Delivered, Outcome, Parcel, Refused
from longwire.delivery.destinations.http import (
    ANSWER_BYTES_MAX,
    after,
    guarded_session,
    url_problems,
    wait_s,
)
from longwire.notifications import templates, webpush
from longwire.notifications.types.base import (
    TOKEN_IS_DEAD,
    Letter,
    Means,
    Office,
    Params,
    PushTarget,
    Tokens,
    letter_in,
)

# What both networks carry, with room for what they add.
PAYLOAD_BYTES_MAX = 3_000
TIME_TO_LIVE_S = 86_400
# Less than whoever calls allows: what hangs for one member must not pass for all of them.
TIMEOUT_S = 12.0
FCM_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
FCM_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GRANT_LASTS_S = 3_600
# A token is renewed while it is still good for a try.
SPARE_S = 60

NOT_SET_UP = "there is nothing to push with; the operator sets vapid_key or fcm_account"
NO_WEBPUSH = "there is no key for Web Push any more; the operator sets vapid_key"
NO_FCM = "there is no account for Firebase Cloud Messaging; the operator sets fcm_account"
# What FCM answers when the account is not the one that the tokens were made for, or lacks a right.
ACCOUNT_CODES = ("SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR")
NO_TOKEN = "not a valid FCM registration token"
WRONG_ACCOUNT = "Firebase does not take the operator's account for this push token"
NOBODYS = "nobody who may see this has the push token registered any more"
DEAD = Refused(TOKEN_IS_DEAD, is_final=True)


class PushParams(Params, kw_only=True):
    """Nothing more: whoever is a member of the group and has registered a token is told."""


class Account(msgspec.Struct, frozen=True):
    """What matters of a service account's file."""

    project_id: str
    client_email: str
    private_key: str
    token_uri: str = "https://oauth2.googleapis.com/token"


class Push:
    """The push services, for one notification."""

    type: ClassVar[str] = "push"
    title: ClassVar[str] = "Push messages (Web Push, Firebase)"
    params_type: ClassVar[builtins.type[Params]] = PushParams
    keeps_message: ClassVar[bool] = False
    batch_max: ClassVar[int] = 1

    @classmethod
    def unavailable(cls, office: Office) -> str | None:
        return None if office.vapid_key or office.fcm_account else NOT_SET_UP

    @classmethod
    def unwanted(cls, params: Params, office: Office) -> Sequence[tuple[str, str]]:
        return ()

    @classmethod
    def recipients(cls, params: Params, tokens: Tokens) -> Sequence[str]:
        return tokens()

    def __init__(self, params: Params, means: Means) -> None:
        self._means = means
        self._session: aiohttp.ClientSession | None = None
        office = means.office
        self._vapid = (
            webpush.Vapid(office.vapid_key, office.vapid_contact) if office.vapid_key else None
        )
        self._account = (
            msgspec.json.decode(office.fcm_account, type=Account) if office.fcm_account else None
        )
        self._asking = asyncio.Lock()
        self._access_token = ""
        self._is_good_until: Moment = 0

    async def send(self, parcel: Parcel) -> Outcome:
        target = await self._means.find_token(parcel.only.to)
        if target is None:
            return Refused(NOBODYS, is_final=True)
        letter = letter_in(parcel)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if target.type == "webpush":
                    return await self._to_browser(parcel, letter, target)
                return await self._to_firebase(parcel, letter, target)
        except Exception as error:
            # Says nothing of where the other members' tokens lead, so it is not "unreachable".
            failure = after(error)
            return Refused(failure.reason, is_final=failure.is_final)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    # --- Web Push ---

    async def _to_browser(self, parcel: Parcel, letter: Letter, target: PushTarget) -> Outcome:
        if self._vapid is None:
            return Refused(NO_WEBPUSH, is_final=True)
        try:
            subscription = webpush.subscription_of(target.token)
        except ValueError:
            return DEAD
        for problem in url_problems(subscription.endpoint, self._means.egress):
            return Refused(f"the endpoint of the push token {problem}", is_final=True)
        message = {"id": parcel.only.id, **payload(parcel, letter)}
        status, headers, _ = await self._posted(
            subscription.endpoint,
            webpush.encrypted(json.dumps(message, ensure_ascii=False).encode(), subscription),
            {
                "Content-Type": "application/octet-stream",
                "Content-Encoding": "aes128gcm",
                "TTL": str(TIME_TO_LIVE_S),
                "Urgency": "high",
                "Authorization": self._vapid.authorization(
                    subscription.endpoint, parcel.at // SECOND
                ),
            },
        )
        if status in (404, 410):
            return DEAD
        return outcome_of(status, headers, parcel.at, is_final=status in (400, 413))

    # --- Firebase ---

    async def _to_firebase(self, parcel: Parcel, letter: Letter, target: PushTarget) -> Outcome:
        if self._account is None:
            return Refused(NO_FCM, is_final=True)
        access = await self._access(self._account, parcel.at)
        if isinstance(access, Refused):
            return access
        status, headers, answer = await self._posted(
            f"{self._means.office.fcm_url}/v1/projects/{self._account.project_id}/messages:send",
            json.dumps({"message": firebase_message(parcel, letter, target.token)}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {access}"},
        )
        if status == 401:
            self._is_good_until = 0
        said = said_by_firebase(answer)
        if said.is_about_a_dead_token:
            return DEAD
        if said.code in ACCOUNT_CODES or status == 403:
            # The same for every token of every member: the operator can put it right.
            return Refused(f"{WRONG_ACCOUNT} (status {status})")
        return outcome_of(status, headers, parcel.at, is_final=status == 400)

    async def _access(self, account: Account, at: Moment) -> str | Refused:
        """A token for the interface; asked for once, and kept as long as it is good."""
        async with self._asking:
            if at < self._is_good_until:
                return self._access_token
            now_s = at // SECOND
            grant = webpush.jwt_rs256(
                account.private_key,
                {
                    "iss": account.client_email,
                    "scope": FCM_SCOPE,
                    "aud": account.token_uri,
                    "iat": now_s,
                    "exp": now_s + GRANT_LASTS_S,
                },
            )
            status, _, answer = await self._posted(
                account.token_uri,
                URL.build(
                    query={"grant_type": FCM_GRANT, "assertion": grant}
                ).raw_query_string.encode(),
                {"Content-Type": "application/x-www-form-urlencoded"},
            )
            try:
                granted = msgspec.json.decode(answer, type=_Granted)
            except msgspec.DecodeError:
                return Refused(f"the service account got no token (status {status})")
            self._access_token = granted.access_token
            self._is_good_until = at + (granted.expires_in - SPARE_S) * SECOND
            return self._access_token

    async def _posted(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            agent = {"User-Agent": f"longwire/{__version__}"}
            self._session = guarded_session(self._means.egress, agent)
        response = await self._session.post(
            URL(url), data=body, headers=headers, allow_redirects=False
        )
        try:
            answer = b""
            while len(answer) <= ANSWER_BYTES_MAX and not response.content.at_eof():
                answer += await response.content.readany()
            return response.status, response.headers, answer
        finally:
            response.close()


class _Granted(msgspec.Struct):
    access_token: str
    expires_in: int


def outcome_of(
    status: int, headers: Mapping[str, str], at: Moment, *, is_final: bool
) -> Delivered | Refused:
    if 200 <= status < 300:
        return Delivered()
    return Refused(
        f"the push service answered with status {status}",
        is_final=is_final,
        retry_after_s=wait_s(headers.get("Retry-After"), at),
    )


class Said(msgspec.Struct, frozen=True):
    """What FCM says is wrong; nothing where it says nothing."""

    code: str = ""
    words: str = ""
    fields: tuple[str, ...] = ()

    @property
    def is_about_a_dead_token(self) -> bool:
        """Whether this token will never work again, as opposed to the message or the account."""
        if self.code == "INVALID_ARGUMENT":
            return "message.token" in self.fields or NO_TOKEN in self.words
        return self.code == "UNREGISTERED"


class _Violation(msgspec.Struct):
    field: str = ""


class _Detail(msgspec.Struct, rename="camel"):
    error_code: str = ""
    field_violations: list[_Violation] = []


class _Error(msgspec.Struct):
    message: str = ""
    details: list[_Detail] = []


class _Answer(msgspec.Struct):
    error: _Error


def said_by_firebase(answer: bytes) -> Said:
    try:
        error = msgspec.json.decode(answer, type=_Answer).error
    except msgspec.DecodeError:
        return Said()
    return Said(
        next((each.error_code for each in error.details if each.error_code), ""),
        error.message,
        tuple(each.field for detail in error.details for each in detail.field_violations),
    )


def payload(parcel: Parcel, letter: Letter) -> dict[str, Any]:
    """What the application on the other side gets to see, cut to what can be carried."""
    message = letter.message
    shown: dict[str, Any] = {
        "title": letter.subject,
        "body": templates.with_held_back(letter.body, letter.held_back),
        "reason": templates.cut(letter.reason, 100),
        "heldBack": letter.held_back,
        "groupId": parcel.only.group_id,
        "deviceId": parcel.only.device_id,
        "timestamp": str(message.get("timestamp", "")),
    }
    spare = PAYLOAD_BYTES_MAX - len(json.dumps(shown | {"body": ""}, ensure_ascii=False).encode())
    shown["body"] = fitting(shown["body"], spare)
    return shown


def fitting(text: str, bytes_max: int) -> str:
    """The beginning of a text that takes no more bytes than this, as JSON."""
    while len(json.dumps(text, ensure_ascii=False).encode()) - 2 > bytes_max:
        text = text[: len(text) * 9 // 10].removesuffix(templates.CUT) + templates.CUT
    return text


def firebase_message(parcel: Parcel, letter: Letter, token: str) -> dict[str, Any]:
    shown = payload(parcel, letter)
    title, body = shown.pop("title"), shown.pop("body")
    data = {"id": parcel.only.id} | {name: str(value) for name, value in shown.items() if value}
    return {
        "token": token,
        "notification": {"title": title, "body": body},
        "data": data,
        "android": {"ttl": f"{TIME_TO_LIVE_S}s", "priority": "HIGH"},
    }
