"""Chat services, through Apprise; stand-ins take the place of their public addresses."""

import asyncio
import threading
from collections import Counter
from functools import cache, partial

import pytest
from apprise import URLBase
from apprise.plugins.line import NotifyLine
from apprise.plugins.slack import NotifySlack
from apprise.plugins.telegram import NotifyTelegram

from longwire.delivery.destinations.base import Delivered, FailureCode, Refused, Unreachable
from longwire.notifications.types import chat
from longwire.notifications.types.base import NotificationMessage, SendingConfig
from longwire.notifications.types.chat import SERVICES, ChatParams, ChatSender
from longwire.work.turns import CallerKey, current_caller
from tests.delivery.receiver import Receiver, StubResponse, redirect
from tests.notifications.messages import LOOPBACK, batch, run, send_all, sender_context
from tests.waiting import PATIENCE_S

TELEGRAM = "tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general"
ACCEPTED = StubResponse(body=b'{"ok": true, "result": {"message_id": 1}}')
EVERY = {
    "tgram": TELEGRAM,
    "slack": SLACK,
    "discord": "discord://417429632418316298/JHZ7lQml277CDHmQKMHI8qBe7bk2ZwO5UKjCiOAF7711o",
    "gchat": "gchat://AAAAk6lGXyM/AIzaSyDdI0hCZtE6vySjMm/O7b1nyri_waOpLMSzbFILAGRzgtQ",
    "webex": f"webex://{'a' * 80}",
    "zoom": "zoom://webhookid123/token123",
    "flock": "flock://134b8gh0eba04fa9ab9c257ced0e8221",
    "groupme": "groupme://abcdefghij1234567890",
    "line": "line://xmas98hds98s9a8d9s8a7d98s7a98d7sa9/U1234",
    "threema": "threema://*MYGWYID@secretsecret/AAAA1234",
    "pover": "pover://uQiRzpo4DXghDmr9QzzfQu27cmVRsG@azGDORePK8gMaC0QOYAMyEEuzJnyUi?priority=1",
    "pbul": f"pbul://{'a' * 32}",
    "pagerduty": f"pagerduty://{'a' * 32}@{'b' * 20}?region=eu",
    "opsgenie": "opsgenie://eb243592-faa2-4ba2-a551q-1afdf565c889",
    "pagertree": "pagertree://int_abcdefghij",
    "signl4": "signl4://secret1234",
    "victorops": "victorops://router@db243592-faa2-4ba2-a551q-1afdf565c889",
}


@pytest.fixture
def telegram(monkeypatch):
    with Receiver(ACCEPTED) as receiver:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"http://127.0.0.1:{receiver.port}/bot")
        yield receiver


def send_chat(url: str, *batches):
    return send_all(ChatSender(ChatParams(url=url), sender_context()), *batches)


def test_a_message_is_written_to_the_chat_as_the_plain_text_it_is(telegram):
    message = NotificationMessage("Cellar: <b>alarm</b>", "31.5 & rising", "alarm", {}, held_back=1)
    assert send_chat(TELEGRAM, batch(message)) == [Delivered()]
    (request,) = telegram.requests
    assert request.path == "/bot123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/sendMessage"
    assert str(request.json["chat_id"]) == "87654321"
    text = request.json["text"]
    assert "Cellar: &lt;b&gt;alarm" in text and "31.5 &amp; rising" in text
    assert "One more was held back" in text


def test_a_service_that_does_not_take_it_is_asked_again_later(telegram):
    telegram.respond_with(StubResponse(500), ACCEPTED)
    refused, accepted = send_chat(TELEGRAM, batch(), batch())
    assert isinstance(refused, Refused) and not refused.is_final and accepted == Delivered()
    telegram.respond_with(redirect("http://127.0.0.1:9/elsewhere"))
    assert isinstance(send_chat(TELEGRAM, batch())[0], Refused)


@pytest.fixture(autouse=True)
def patient_apprise(monkeypatch):
    """It has timeouts of its own, of four seconds."""
    monkeypatch.setattr(URLBase, "socket_read_timeout", PATIENCE_S)
    monkeypatch.setattr(URLBase, "socket_connect_timeout", PATIENCE_S)


@pytest.fixture
def unused_workers(monkeypatch):
    """Threads that still wait for a service of an earlier test would be missing."""
    monkeypatch.setattr(chat, "_workers", cache(chat._workers.__wrapped__))
    yield
    for service in ("tgram", "slack"):
        chat._workers(service).close()


def test_a_service_that_does_not_answer_holds_nobody_up(telegram, monkeypatch):
    monkeypatch.setattr(chat, "TIMEOUT_S", 0.2)
    telegram.respond_with(StubResponse(delay_s=60, body=ACCEPTED.body))
    assert send_chat(TELEGRAM, batch()) == [
        Unreachable("the service timed out", code=FailureCode.TIMED_OUT)
    ]


def test_a_service_that_hangs_holds_up_nobody_who_writes_to_another(
    telegram, unused_workers, monkeypatch
):
    """Nor do more messages of one notification wait in its threads than two."""
    monkeypatch.setattr(chat, "TIMEOUT_S", 3.0)
    is_released = threading.Event()
    begun = []

    def hang(self, subject, body):
        begun.append(subject)
        return is_released.wait(PATIENCE_S)

    notify = ChatSender._notify
    with Receiver(StubResponse(body=b"ok")) as slack:
        monkeypatch.setattr(NotifySlack, "webhook_url", f"http://127.0.0.1:{slack.port}/s")

        async def outcomes():
            hanging = [ChatSender(ChatParams(url=TELEGRAM), sender_context()) for _ in range(3)]
            for each in hanging:
                monkeypatch.setattr(each, "_notify", partial(hang, each))
            stuck = [asyncio.ensure_future(each.send(batch())) for each in hanging * 3]
            while len(begun) < 4 and not all(map(asyncio.Future.done, stuck)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            monkeypatch.setattr(chat, "TIMEOUT_S", PATIENCE_S)
            other = ChatSender(ChatParams(url=SLACK), sender_context())
            found = await asyncio.gather(*stuck, other.send(batch()))
            # What was not begun in time is never sent; a place is free once its thread is.
            started = len(begun)
            is_released.set()
            monkeypatch.setattr(hanging[0], "_notify", partial(notify, hanging[0]))
            late = await hanging[0].send(batch())
            return found, started, late

        found, started, late = run(outcomes())
    assert found == [Unreachable("the service timed out", code=FailureCode.TIMED_OUT)] * 9 + [
        Delivered()
    ]
    assert started == len(begun) == 4
    assert late == Delivered()


def test_a_group_with_many_messages_leaves_threads_to_the_others(
    telegram, unused_workers, monkeypatch
):
    is_released = threading.Event()
    begun = []

    def hang(subject, body):
        begun.append(subject)
        return is_released.wait(PATIENCE_S)

    async def send(caller, sender):
        current_caller.set(CallerKey.alone(caller))
        return await sender.send(batch())

    async def outcomes():
        greedy = [ChatSender(ChatParams(url=TELEGRAM), sender_context()) for _ in range(10)]
        for each in greedy:
            monkeypatch.setattr(each, "_notify", hang)
        hanging = [asyncio.create_task(send("group 1", each)) for each in greedy]
        while len(begun) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        other = ChatSender(ChatParams(url=TELEGRAM), sender_context())
        found = await send("group 2", other)
        started = len(begun)
        is_released.set()
        assert await asyncio.gather(*hanging) == [Delivered()] * 10
        return found, started

    monkeypatch.setattr(chat, "TIMEOUT_S", PATIENCE_S)
    found, started = run(outcomes())
    assert found == Delivered()
    assert started < 4, "one of the threads is left to others"


def test_several_recipients_are_written_to_without_a_pause(monkeypatch):
    pauses = []
    monkeypatch.setattr(URLBase.throttle.__globals__["time"], "sleep", pauses.append)
    with Receiver(StubResponse(body=b"{}")) as line:
        monkeypatch.setattr(NotifyLine, "notify_url", f"http://127.0.0.1:{line.port}/push")
        assert send_chat(f"{EVERY['line']}/U5678/U9012", batch()) == [Delivered()]
    assert [request.json["to"] for request in line.requests] == ["U1234", "U5678", "U9012"]
    assert [each for each in pauses if each > 0.5] == []


@pytest.mark.parametrize(
    "url, recipient",
    [
        (TELEGRAM, "1000{}"),
        (SLACK.partition("#")[0], "%23channel{}"),
        (EVERY["line"], "U1000{}"),
        (EVERY["opsgenie"], "%23team{}"),
    ],
)
def test_a_url_names_few_recipients(url, recipient):
    many = "/".join(recipient.format(number) for number in range(100))
    ((field, problem),) = ChatParams(url=f"{url}/{many}").validate(LOOPBACK)
    assert field == "url" and "recipients, and 10 are allowed" in problem


def test_a_text_that_is_longer_than_the_service_takes_is_truncated(telegram):
    message = NotificationMessage("Cellar", "31.5 " * 2_000, "alarm", {})
    assert send_chat(TELEGRAM, batch(message)) == [Delivered()]
    (request,) = telegram.requests
    assert len(request.json["text"]) <= 4_096 and "31.5 31.5" in request.json["text"]


def test_slack_gets_its_own_form(monkeypatch):
    with Receiver(StubResponse(body=b"ok")) as receiver:
        monkeypatch.setattr(NotifySlack, "webhook_url", f"http://127.0.0.1:{receiver.port}/s")
        assert send_chat(SLACK, batch()) == [Delivered()]
    (request,) = receiver.requests
    assert request.path == "/s/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert "31.5" in request.body.decode()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_that_is_offered_can_be_saved(name):
    assert ChatParams(url=EVERY[name]).validate(LOOPBACK) == []


@pytest.mark.parametrize(
    "url, why",
    [
        ("json://192.168.0.1/hook", "must begin with one of tgram://, slack://"),
        ("mattermost://chat.example.com/token", "must begin with one of"),
        ("https://hooks.slack.com/services/a/b/c", "must begin with one of"),
        ("mailto://user:pass@example.com", "must begin with one of"),
        ("file:///etc/passwd", "must begin with one of"),
        ("tgram", "must begin with one of"),
        ("TGRAM://x", "must begin with one of"),
        ("tgram://no token here", "must begin with one of"),
        ("tgram://x\nslack://y", "must begin with one of"),
        ("tgram://localhost", "is incomplete"),
        ("slack://only/two", "is incomplete"),
        (f"{TELEGRAM}?template=/etc/passwd", "has options that are not allowed here: template"),
        (f"{SLACK}?template=http://a.example", "has options that are not allowed here: template"),
        (
            f"{TELEGRAM}?verify=no&+x=1&topic=3",
            "has options that are not allowed here: +x, verify, x",
        ),
        (f"{TELEGRAM}?TEMPLATE=/etc/passwd", "has options that are not allowed here"),
        (f"{TELEGRAM}?%74emplate=/etc/passwd", "has options that are not allowed here"),
    ],
)
def test_no_url_leads_anywhere_but_to_a_known_service(url, why):
    ((field, problem),) = ChatParams(url=url).validate(LOOPBACK)
    assert field == "url" and problem.startswith(why), problem


def test_what_is_not_allowed_any_more_ends_the_message(telegram):
    (outcome,) = send_chat(f"{TELEGRAM}?template=/etc/passwd", batch())
    assert isinstance(outcome, Refused) and outcome.is_final and telegram.requests == []


def test_a_chat_is_one_recipient_and_needs_nothing_of_the_operator():
    assert ChatSender.list_recipients(ChatParams(url=TELEGRAM), lambda: ["d1"]) == [""]
    assert ChatSender.is_available(SendingConfig())


def test_sending_uses_few_threads():
    names = (thread.name.rpartition("-")[0] for thread in threading.enumerate())
    counts = Counter(name for name in names if name.startswith("chat-"))
    assert all(count <= 4 for count in counts.values()), counts
