"""Parameters of notifications: validated, described, masked; and the webhook type."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from standardwebhooks import Webhook as Verifier

from longwire.delivery.destinations import parameters
from longwire.delivery.destinations.base import MASK, Delivered, Refused
from longwire.delivery.destinations.http import Basic
from longwire.delivery.http.egress import Egress
from longwire.notifications.geofences import Geofence
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import NotificationMessage, Params, SendingConfig
from longwire.notifications.types.webhook import WebhookParams, WebhookSender
from tests.delivery.receiver import Receiver
from tests.notifications.messages import LOOPBACK, MESSAGE, batch, send_all, sender_context

SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_webhook_gets_the_message_as_json_signed_like_a_connectors():
    with Receiver() as receiver:
        params = WebhookParams(
            url=receiver.url,
            method="PUT",
            headers={"X-Key": "k"},
            basic=Basic(username="ada", password="p"),
            secret=SIGNING,
        )
        message = msgspec.structs.replace(MESSAGE, held_back=2)
        assert send_all(WebhookSender(params, sender_context()), batch(message)) == [
            Delivered(status=200)
        ]
    (request,) = receiver.requests
    assert request.method == "PUT" and request.headers["x-key"] == "k"
    assert request.headers["authorization"].startswith("Basic ")
    assert request.headers["webhook-id"] == "msg_1_a"
    assert request.json == {
        "subject": "Cellar: alarm",
        "body": "31.5 °C at noon",
        "reason": "alarm",
        "message": {"deviceId": "dev_1", "timestamp": "2023-11-14T22:13:20.000Z"},
        "heldBack": 2,
        "language": "en",
    }
    seal = Verifier(SIGNING)
    signature = request.headers["webhook-signature"]
    made = seal.sign(
        "msg_1_a",
        datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC),
        request.body.decode(),
    )
    assert made == signature


def test_a_webhook_that_is_gone_ends_the_message_and_disables_nothing():
    with Receiver(410, 503) as receiver:
        webhook = WebhookSender(WebhookParams(url=receiver.url), sender_context())
        gone, busy = send_all(webhook, batch(), batch())
    assert gone.is_final and not gone.disables
    assert isinstance(busy, Refused)
    assert msgspec.structs.replace(busy, exchange=None) == Refused(
        "answered with status 503", status=503
    )
    assert WebhookSender.list_recipients(WebhookParams(url="http://a.example"), lambda: ["d1"]) == [
        ""
    ]
    assert WebhookSender.is_available(SendingConfig())


def test_everything_that_is_wrong_is_named_at_once():
    params = WebhookParams(
        when="message.",
        subject="{{ nope }}",
        body="a\n{{",
        timezone="Mars/Olympus",
        geofence=Geofence(lat=1, radius=5),
        url="http://127.0.0.1/",
        headers={"Host": "x"},
    )
    found = dict(params.validate(Egress()))
    assert set(found) == {
        *("when", "subject", "body", "timezone", "geofence.lng", "url", "headers")
    }
    assert found["subject"].startswith("line 1, column 4")
    assert found["body"].startswith("line 2, column 1")


def test_what_nobody_said_has_a_default():
    params = Params()
    assert params.validate(LOOPBACK) == []
    assert (params.timezone, params.throttle) == ("UTC", 0)
    assert (params.battery_below, params.silent_after, params.failing_after) == (20, 86_400, 5)


@pytest.mark.parametrize(
    "text",
    [
        '{"throttle":-1}',
        '{"throttle":1e9}',
        '{"batteryBelow":0}',
        '{"batteryBelow":101}',
        '{"silentAfter":1}',
        '{"failingAfter":0}',
        '{"geofence":{"lat":1,"lng":1,"radius":1,"more":1}}',
        '{"subject":""}',
        '{"unknown":1}',
    ],
)
def test_values_have_bounds(text):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Params)


@pytest.mark.parametrize("name", catalogue.TYPES)
def test_every_type_describes_its_parameters(name):
    schema = json.loads(parameters.schema_text(catalogue.get_params_type(name)))
    common = {"when", "subject", "body", "timezone", "throttle", "geofence"}
    thresholds = {"batteryBelow", "silentAfter", "failingAfter"}
    assert common | thresholds <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    for field in thresholds | {"throttle", "timezone"}:
        assert schema["properties"][field]["description"]
        assert "default" in schema["properties"][field]
    assert catalogue.TYPES[name].title


def test_secrets_are_masked_and_a_mask_keeps_what_was_there():
    text = '{"url": "tgram://token/1", "when": "true"}'
    assert json.loads(parameters.mask_secrets(catalogue.get_params_type("chat"), text)) == {
        "url": MASK,
        "when": "true",
    }
    assert parameters.restore_secrets(
        catalogue.TYPES["chat"].params_type, f'{{"url": "{MASK}"}}', text
    ) == ('{"url": "tgram://token/1"}')
    hook = '{"url": "https://a.example", "secret": "s", "headers": {"X": "y"}}'
    assert parameters.list_secrets(catalogue.TYPES["webhook"].params_type, hook) == [
        ("url", "https://a.example"),
        ("secret", "s"),
        ("headers.X", "y"),
    ]
    to = '{"to": ["a@b.example"]}'
    assert parameters.mask_secrets(catalogue.get_params_type("email"), to) == to
    webhook = parameters.parse_params(catalogue.get_params_type("webhook"), hook)
    assert isinstance(webhook, WebhookParams)


def test_a_message_reads_back_as_it_was_written():
    message = NotificationMessage("s", "b", "r", {"data": {"x": [1, 2.5, None]}}, held_back=1)
    assert msgspec.json.decode(msgspec.json.encode(message), type=NotificationMessage) == message
