"""Push messages: to a browser that can read them, and to a stand-in for Firebase."""

import json

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from longwire.clock import SECOND
from longwire.delivery.destinations.base import Delivered, FailureCode, Refused, Unreachable
from longwire.delivery.engine.worker import SEND_TIMEOUT_S
from longwire.delivery.http.egress import Egress
from longwire.notifications import webpush
from longwire.notifications.types import push
from longwire.notifications.types.base import (
    NotificationMessage,
    PushTarget,
    SendingConfig,
)
from longwire.notifications.types.push import (
    ACCOUNT_REJECTED,
    FCM_NOT_CONFIGURED,
    INVALID_TOKEN_TEXT,
    TOKEN_INVALID,
    WEBPUSH_NOT_CONFIGURED,
    PushParams,
    PushSender,
)
from longwire.notifications.webpush import Vapid, decode_base64url
from tests.delivery.receiver import HANG, Receiver, StubResponse
from tests.notifications.messages import NOON, batch, send_all, sender_context
from tests.notifications.standins import Browser, Firebase, claims_of_vapid, fcm_error

VAPID_KEY = webpush.generate_vapid_key()
WEBPUSH = SendingConfig(vapid_key=VAPID_KEY, vapid_contact="mailto:ops@example.com")
LONG = NotificationMessage("Alarm", '"é\n' * 5_000, "alarm", {"timestamp": "now"}, held_back=3)


def send_push(config: SendingConfig, token: str, *batches, egress: Egress | None = None):
    type = "webpush" if token.startswith("{") else "fcm"
    tokens = {"d1": PushTarget(type, token)}
    given = (
        sender_context(config, tokens) if egress is None else sender_context(config, tokens, egress)
    )
    return send_all(PushSender(PushParams(), given), *batches)


def test_the_example_of_the_standard_comes_out_as_printed_there():
    """RFC 8291, appendix A."""
    subscription = webpush.Subscription(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        decode_base64url(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        ),
        decode_base64url("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    own_key = webpush.parse_vapid_key("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    record = webpush._encrypt_record(
        b"When I grow up, I want to be a watermelon",
        subscription,
        own_key,
        decode_base64url("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert webpush.encode_base64url(record) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
        "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy"
        "4a-fN"
    )


def test_a_browser_reads_what_was_encrypted_for_it_and_knows_the_sender():
    with Receiver(201) as receiver:
        browser = Browser(receiver.url)
        later = batch(LONG, to="d1", id="msg_1_b", at=NOON + 3_600 * SECOND)
        assert send_push(WEBPUSH, browser.token, batch(to="d1"), later) == [Delivered()] * 2
    short, long = receiver.requests
    assert browser.read(short.body) == {
        "id": "msg_1_a",
        "title": "Cellar: alarm",
        "body": "31.5 °C at noon",
        "reason": "alarm",
        "heldBack": 0,
        "groupId": "7",
        "deviceId": "dev_1",
        "timestamp": "2023-11-14T22:13:20.000Z",
    }
    assert browser.read(long.body)["body"].endswith("…") and len(long.body) <= 4_096
    assert short.headers["content-encoding"] == "aes128gcm"
    assert short.headers["ttl"] == "86400"
    claims, key = claims_of_vapid(short.headers["authorization"])
    assert key == Vapid(VAPID_KEY, "").public_key
    assert claims == {
        "aud": f"http://127.0.0.1:{receiver.port}",
        "exp": NOON // SECOND + 12 * 3_600,
        "sub": "mailto:ops@example.com",
    }
    assert long.headers["authorization"] == short.headers["authorization"]  # it serves for hours


@pytest.mark.parametrize(
    "status, expected",
    [
        (200, Delivered()),
        (201, Delivered()),
        (404, TOKEN_INVALID),
        (410, TOKEN_INVALID),
        (413, Refused("the push service responded with status 413", is_final=True)),
        (403, Refused("the push service responded with status 403")),
        (302, Refused("the push service responded with status 302")),
        (503, Refused("the push service responded with status 503")),
    ],
)
def test_an_answer_of_a_push_service_says_whether_the_subscription_lives(status, expected):
    with Receiver(status) as receiver:
        assert send_push(WEBPUSH, Browser(receiver.url).token, batch(to="d1")) == [expected]


def test_a_push_service_is_waited_for_as_long_as_it_asks():
    with Receiver(StubResponse(429, headers={"Retry-After": "77"})) as receiver:
        (outcome,) = send_push(WEBPUSH, Browser(receiver.url).token, batch(to="d1"))
    assert outcome == Refused("the push service responded with status 429", retry_after_s=77)


def test_a_push_service_that_hangs_does_not_speak_for_those_of_other_members(monkeypatch):
    assert push.TIMEOUT_S < SEND_TIMEOUT_S, "or the engine takes the service for unreachable"
    monkeypatch.setattr(push, "TIMEOUT_S", 0.2)
    with Receiver(HANG) as receiver:
        (outcome,) = send_push(WEBPUSH, Browser(receiver.url).token, batch(to="d1"))
    assert isinstance(outcome, Refused) and outcome.reason == "timed out"


@pytest.mark.parametrize(
    "token",
    [
        "{}",
        "{not json",
        '{"endpoint":"https://a.example","keys":{"p256dh":"AAAA","auth":"AAAA"}}',
        json.dumps(json.loads(Browser("https://a.example").token) | {"keys": {}}),
        Browser("https://a.example").token.replace('"auth": "', '"auth": "AAAA'),
    ],
)
def test_what_is_no_subscription_never_works(token):
    assert send_push(WEBPUSH, token, batch(to="d1")) == [TOKEN_INVALID]


@pytest.mark.parametrize(
    ("endpoint", "is_final"),
    [
        ("http://127.0.0.1:9/", True),
        ("http://169.254.169.254/latest", True),
        ("http://localhost/", False),  # a name can get another address
        ("file:///etc/passwd", True),
        ("ftp://a.example", True),
    ],
)
def test_a_subscription_cannot_lead_past_the_guard(endpoint, is_final):
    (outcome,) = send_push(WEBPUSH, Browser(endpoint).token, batch(to="d1"), egress=Egress())
    assert isinstance(outcome, Refused | Unreachable) and outcome.is_final == is_final
    assert outcome.code is not FailureCode.RECIPIENT_GONE


def test_firebase_is_asked_for_access_once_and_then_given_the_messages():
    with Receiver() as receiver:
        firebase = Firebase(receiver)
        config = SendingConfig(fcm_account=firebase.account, fcm_url=firebase.url)
        hours_later = batch(LONG, to="d1", at=NOON + 2 * 3_600 * SECOND)
        outcomes = send_push(config, "token-1", batch(to="d1"), batch(to="d1"), hours_later)
    assert outcomes == [Delivered()] * 3
    assert firebase.grants == 2  # the first was over by then
    first, _, long = firebase.messages
    assert first["token"] == "token-1"
    assert first["notification"] == {"title": "Cellar: alarm", "body": "31.5 °C at noon"}
    assert first["data"]["deviceId"] == "dev_1" and first["data"]["id"] == "msg_1_a"
    assert all(isinstance(value, str) for value in long["data"].values())
    assert len(msgspec.json.encode(long)) <= 4_096


@pytest.mark.parametrize(
    "answer, expected",
    [
        (fcm_error(404, "UNREGISTERED"), TOKEN_INVALID),
        (fcm_error(400, "INVALID_ARGUMENT", field="message.token"), TOKEN_INVALID),
        (
            fcm_error(400, "INVALID_ARGUMENT", f"The registration token is {INVALID_TOKEN_TEXT}"),
            TOKEN_INVALID,
        ),
        (fcm_error(403, "SENDER_ID_MISMATCH"), Refused(f"{ACCOUNT_REJECTED} (status 403)")),
        (fcm_error(401, "THIRD_PARTY_AUTH_ERROR"), Refused(f"{ACCOUNT_REJECTED} (status 401)")),
        (StubResponse(403, body=b"{}"), Refused(f"{ACCOUNT_REJECTED} (status 403)")),
        (
            fcm_error(400, "INVALID_ARGUMENT", field="message.data"),
            Refused("the push service responded with status 400", is_final=True),
        ),
        (
            fcm_error(400, "INVALID_ARGUMENT"),
            Refused("the push service responded with status 400", is_final=True),
        ),
        (fcm_error(503, "UNAVAILABLE"), Refused("the push service responded with status 503")),
        (StubResponse(500, body=b"oops"), Refused("the push service responded with status 500")),
        (StubResponse(404, body=b"[]"), Refused("the push service responded with status 404")),
    ],
)
def test_an_answer_of_firebase_says_whether_the_token_lives(answer, expected):
    with Receiver() as receiver:
        firebase = Firebase(receiver, answers=[answer])
        config = SendingConfig(fcm_account=firebase.account, fcm_url=firebase.url)
        assert send_push(config, "token-1", batch(to="d1")) == [expected]


def test_access_that_is_not_granted_or_taken_back_is_asked_for_again():
    with Receiver() as receiver:
        firebase = Firebase(receiver)
        config = SendingConfig(fcm_account=firebase.account, fcm_url=firebase.url)
        sender = PushSender(
            PushParams(), sender_context(config, {"d1": PushTarget("fcm", "token-1")})
        )
        sender._access_token, sender._token_expires_at = "revoked", NOON + SECOND
        outcomes = send_all(sender, batch(to="d1"), batch(to="d1"))
        assert outcomes == [Refused("the push service responded with status 401"), Delivered()]
        receiver.respond_with(StubResponse(400, body=b'{"error":"invalid_grant"}'))
        assert send_push(config, "token-1", batch(to="d1")) == [
            Refused("no access token for the service account (status 400)")
        ]


def test_what_is_not_set_up_is_not_offered_and_what_was_queued_ends():
    assert not PushSender.is_available(SendingConfig())
    assert PushSender.is_available(WEBPUSH)
    browser = Browser("https://push.example")
    assert send_push(SendingConfig(), browser.token, batch(to="d1")) == [WEBPUSH_NOT_CONFIGURED]
    assert send_push(WEBPUSH, "token-1", batch(to="d1")) == [FCM_NOT_CONFIGURED]
    (gone,) = send_push(WEBPUSH, browser.token, batch(to="another"))
    assert gone.is_final and gone.code is not FailureCode.RECIPIENT_GONE


def test_every_registered_token_gets_its_own():
    assert PushSender.list_recipients(PushParams(), lambda: ["d1", "d2"]) == ["d1", "d2"]


def test_a_key_is_32_bytes():
    assert isinstance(webpush.parse_vapid_key(VAPID_KEY), ec.EllipticCurvePrivateKey)
    with pytest.raises(ValueError):
        webpush.parse_vapid_key(VAPID_KEY[:-4])
