"""Chat services, through Apprise; stand-ins take the place of their public addresses."""

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from functools import partial

import pytest
from apprise.plugins.slack import NotifySlack
from apprise.plugins.telegram import NotifyTelegram

from longwire.delivery.destinations.base import Delivered, Refused, Unreachable
from longwire.notifications.types import chat
from longwire.notifications.types.base import Letter, Office
from longwire.notifications.types.chat import SERVICES, Chat, ChatParams
from tests.delivery.receiver import Answer, Receiver, redirect
from tests.notifications.letters import LOOPBACK, means, parcel, run, sent

TELEGRAM = "tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general"
TAKEN = Answer(body=b'{"ok": true, "result": {"message_id": 1}}')
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
    with Receiver(TAKEN) as receiver:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"http://127.0.0.1:{receiver.port}/bot")
        yield receiver


def told(url: str, *parcels):
    return sent(Chat(ChatParams(url=url), means()), *parcels)


def test_a_letter_is_written_to_the_chat_as_the_plain_text_it_is(telegram):
    letter = Letter("Cellar: <b>alarm</b>", "31.5 & rising", "alarm", {}, held_back=1)
    assert told(TELEGRAM, parcel(letter)) == [Delivered()]
    (request,) = telegram.requests
    assert request.path == "/bot123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/sendMessage"
    assert str(request.json["chat_id"]) == "87654321"
    text = request.json["text"]
    assert "Cellar: &lt;b&gt;alarm" in text and "31.5 &amp; rising" in text
    assert "One more was held back" in text


def test_a_service_that_does_not_take_it_is_asked_again_later(telegram):
    telegram.answer(Answer(500), TAKEN)
    refused, taken = told(TELEGRAM, parcel(), parcel())
    assert isinstance(refused, Refused) and not refused.is_final and taken == Delivered()
    telegram.answer(redirect("http://127.0.0.1:9/elsewhere"))
    assert isinstance(told(TELEGRAM, parcel())[0], Refused)


def test_a_service_that_does_not_answer_holds_nobody_up(telegram, monkeypatch):
    monkeypatch.setattr(chat, "TIMEOUT_S", 0.2)
    telegram.answer(Answer(delay_s=0.5, body=TAKEN.body))
    assert told(TELEGRAM, parcel()) == [Unreachable("the service did not answer in time")]


def test_a_service_that_hangs_holds_up_nobody_who_writes_to_another(telegram, monkeypatch):
    """Nor do more letters of one notification wait in its threads than two."""
    monkeypatch.setattr(chat, "TIMEOUT_S", 0.5)
    chat._threads.cache_clear()
    is_over = threading.Event()
    begun = []

    def hang(self, subject, body):
        begun.append(subject)
        return is_over.wait(10)

    tell = Chat._tell
    with Receiver(Answer(body=b"ok")) as slack:
        monkeypatch.setattr(NotifySlack, "webhook_url", f"http://127.0.0.1:{slack.port}/s")

        async def outcomes():
            hanging = [Chat(ChatParams(url=TELEGRAM), means()) for _ in range(3)]
            for each in hanging:
                monkeypatch.setattr(each, "_tell", partial(hang, each))
            stuck = [each.send(parcel()) for each in hanging for _ in range(3)]
            other = Chat(ChatParams(url=SLACK), means())
            found = await asyncio.gather(*stuck, other.send(parcel()))
            # What was not begun in time is never sent; a place is free once its thread is.
            at_once = len(begun)
            is_over.set()
            monkeypatch.setattr(hanging[0], "_tell", partial(tell, hanging[0]))
            late = await hanging[0].send(parcel())
            return found, at_once, late

        found, at_once, late = run(outcomes())
    assert found == [Unreachable("the service did not answer in time")] * 9 + [Delivered()]
    assert at_once == len(begun) == 4
    assert late == Delivered()


def test_slack_gets_its_own_form(monkeypatch):
    with Receiver(Answer(body=b"ok")) as receiver:
        monkeypatch.setattr(NotifySlack, "webhook_url", f"http://127.0.0.1:{receiver.port}/s")
        assert told(SLACK, parcel()) == [Delivered()]
    (request,) = receiver.requests
    assert request.path == "/s/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert "31.5" in request.body.decode()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_that_is_offered_can_be_saved(name):
    assert ChatParams(url=EVERY[name]).problems(LOOPBACK) == []


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
        ("tgram://localhost", "is not complete"),
        ("slack://only/two", "is not complete"),
        (f"{TELEGRAM}?template=/etc/passwd", "has options that cannot be set here: template"),
        (f"{SLACK}?template=http://a.example", "has options that cannot be set here: template"),
        (
            f"{TELEGRAM}?verify=no&+x=1&topic=3",
            "has options that cannot be set here: +x, verify, x",
        ),
        (f"{TELEGRAM}?TEMPLATE=/etc/passwd", "has options that cannot be set here"),
        (f"{TELEGRAM}?%74emplate=/etc/passwd", "has options that cannot be set here"),
    ],
)
def test_no_url_leads_anywhere_but_to_a_known_service(url, why):
    ((field, problem),) = ChatParams(url=url).problems(LOOPBACK)
    assert field == "url" and problem.startswith(why), problem


def test_what_is_not_allowed_any_more_ends_the_letter(telegram):
    (outcome,) = told(f"{TELEGRAM}?template=/etc/passwd", parcel())
    assert isinstance(outcome, Refused) and outcome.is_final and telegram.requests == []


def test_a_chat_is_one_recipient_and_needs_nothing_of_the_operator():
    assert Chat.recipients(ChatParams(url=TELEGRAM), lambda: ["d1"]) == [""]
    assert Chat.unavailable(Office()) is None


def test_the_service_starts_without_the_libraries_that_few_need():
    modules = "longwire.notifications.types.catalogue, longwire.notifications.rules"
    code = f"import {modules}, sys; print({{'apprise', 'shapely', 'numpy'}} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert shown.stdout.strip() == "set()", shown.stderr


def test_sending_uses_few_threads():
    names = (thread.name.rpartition("_")[0] for thread in threading.enumerate())
    counts = Counter(name for name in names if name.startswith("chat-"))
    assert all(count <= 4 for count in counts.values()), counts
