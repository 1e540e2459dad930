"""Verifying what a connector sends."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook as OtherWebhook

from longwire_client import Webhook, WebhookRefused
from tests.delivery.receiver import Receiver
from tests.world import Person

pytestmark = pytest.mark.engine_free

OLD = "whsec_" + base64.b64encode(b"o" * 32).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 24).decode()
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_what_a_connector_sends_is_verified(ada: Person) -> None:
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        ada.connector(group, receiver.url, params={"secret": NEW, "previousSecret": OLD})
        ada.reports(device)
        [request] = receiver.wait_for(1)
    for webhook in (
        Webhook(OLD),
        Webhook(NEW),
        Webhook(NEW, OLD),
        Webhook(NEW.removeprefix("whsec_")),
    ):
        assert webhook.verify(request.body, request.headers) == request.id
    with pytest.raises(WebhookRefused) as refused:
        Webhook(NEW, OLD).verify(request.body + b" ", request.headers)
    assert refused.value.code == "bad_signature"
    unknown = "whsec_" + base64.b64encode(b"x" * 32).decode()
    with pytest.raises(WebhookRefused):
        Webhook(unknown).verify(request.body, request.headers)


def test_signatures_are_those_of_standard_webhooks() -> None:
    body, now = b'{"a":1}', datetime.now(UTC)
    headers = Webhook(NEW, OLD).sign("msg_1", body, now=now)
    OtherWebhook(NEW).verify(body, headers)
    theirs = OtherWebhook(OLD).sign("msg_1", now, body.decode())
    assert theirs in headers["webhook-signature"].split()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"webhook-id": ""}, "missing_header"),
        ({"webhook-signature": ""}, "missing_header"),
        ({"webhook-timestamp": "soon"}, "bad_timestamp"),
        ({"webhook-timestamp": "²"}, "bad_timestamp"),
        ({"webhook-timestamp": str(int((NOW - timedelta(minutes=6)).timestamp()))}, "too_old"),
        ({"webhook-timestamp": str(int((NOW + timedelta(minutes=6)).timestamp()))}, "too_new"),
        ({"webhook-id": "msg_2"}, "bad_signature"),
        ({"webhook-id": "msg_\udcff"}, "bad_signature"),
        ({"webhook-signature": "v2,AAAA \udce9"}, "bad_signature"),
    ],
)
def test_anything_else_is_refused(change: dict[str, str], code: str) -> None:
    webhook = Webhook(NEW)
    headers = webhook.sign("msg_1", b"{}", now=NOW)
    assert webhook.verify(b"{}", {name.title(): each for name, each in headers.items()}, now=NOW)
    with pytest.raises(WebhookRefused) as refused:
        webhook.verify(b"{}", {**headers, **change}, now=NOW)
    assert refused.value.code == code


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_?"])
def test_a_secret_that_is_none_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        Webhook(NEW, secret)
