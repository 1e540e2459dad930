"""Templates with placeholders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.notifications import templates
from longwire.notifications.default_texts import append_held_back
from longwire.notifications.templates import Template, Texts, replace_old_state

MESSAGE = {
    "kind": "data",
    "deviceId": "dev_1",
    "deviceName": "Cellar",
    "deviceType": "thermometer",
    "groupId": "7",
    "tags": ["cold", "dark"],
    "timestamp": "2026-11-15T08:30:00.000Z",
    "reason": "alarm",
    "data": {"temperature": 31.5, "count": 3, "open": True, "nothing": None, "}}": "braces"},
}


@pytest.mark.parametrize(
    "source, filled",
    [
        ("plain", "plain"),
        ("", ""),
        ("{ not } a }} placeholder", "{ not } a }} placeholder"),
        ("{{ message.deviceName }}", "Cellar"),
        ("{{message.deviceName}}!{{message.deviceId}}", "Cellar!dev_1"),
        ("{{ message.data.temperature }} °C", "31.5 °C"),
        ("{{ message.data.count + 1 }}", "4"),
        ("{{ message.data.open }} {{ message.data.nothing }}", "true null"),
        ("{{ message.tags }}", '["cold","dark"]'),
        ('{{ {"a": {"b": message.data.count}} }}', '{"a":{"b":3}}'),
        ('{{ {"a": {"b": 1}}}}', '{"a":{"b":1}}'),
        ('{{ message.data["}}"] }}', "braces"),
        ("{{ '{{' }}", "{{"),
        ("{{ message.data.count > 2 ? 'many' : 'few' }}", "many"),
        ("{{ timestamp(message.timestamp) }}", "2026-11-15T08:30:00Z"),
        ("{{ duration('90s') }}", "90s"),
        ("{{ bytes('hé') }}", "hé"),
        ("a\n{{ message.deviceName }}\nb", "a\nCellar\nb"),
    ],
)
def test_placeholders_take_their_values_from_the_message(source, filled):
    assert Template(source).render(MESSAGE) == filled


@pytest.mark.parametrize(
    "source, mark",
    [
        ("{{ message.data.missing }}", "[? there is no message.data.missing]"),
        ("{{ message.data.count / 0 }}", "[? division by zero]"),
        ("{{ message.deviceName + 1 }}", "[? string + int is not defined; convert with int()"),
    ],
)
def test_what_has_no_value_shows_in_its_place_and_stops_nothing(source, mark):
    filled = Template(f"before {source} after").render(MESSAGE)
    assert filled.startswith(f"before {mark[:-1]}") and filled.endswith("] after")


@pytest.mark.parametrize(
    "source, why",
    [
        ("{{", "line 1, column 1: this {{ has no }}"),
        ("fine {{ message.deviceName }} and {{ not", "line 1, column 35: this {{ has no }}"),
        ("{{}}", "line 1, column 3: an expression is required"),
        ("{{ name }}", "line 1, column 4: unknown name 'name'"),
        ("one\ntwo {{ message.tags.map(x, x) }}", "line 2, column 21: map() is not available"),
        ("{{ message.a\n + }}", "line 2"),
        ("{{ 'no end }}", "line 1, column 4: unterminated string"),
        ("{{ a } }}", "line 1"),
        ("{{ 1 }}" * 33, "has more than 32 placeholders"),
    ],
)
def test_a_text_that_cannot_be_filled_says_where_it_is_wrong(source, why):
    assert (templates.check(source) or "").startswith(why)


def test_all_placeholders_of_a_text_share_what_one_expression_may_cost():
    message = {"data": ["x" * 10] * 1_500}
    alone, together = Template("{{ size(message.data) }}"), "{{ size(message.data) }}" * 32
    assert alone.render(message) == "1500"
    assert "[? the record is too large" in Template(together).render(message)


def test_what_is_not_given_is_made_up_of_what_happened():
    subject, body = Texts(None, None).render("alarm", MESSAGE)
    assert subject == "Cellar: alarm"
    assert body.splitlines()[:3] == [
        "alarm on 15 November 2026 at 08:30:00 UTC",
        "Device: Cellar (dev_1, thermometer)",
        "",
    ]
    assert '"temperature":31.5' in body and "groupId" not in body
    assert Texts(None, None).render("connectorFailing", {}) == (
        "connectorFailing",
        "connectorFailing",
    )


def test_texts_are_cut_to_their_bounds_and_subjects_have_one_line():
    subject, body = Texts("{{ message.a }}", "{{ message.a }}" * 8).render(
        "r", {"a": "x\n" * 5_000}
    )
    assert len(subject) == 200 and "\n" not in subject and subject.endswith("…")
    assert len(body) <= 10_000
    assert Texts("a\r\nBcc: b", "a\0b\x1bc\r\nd").render("r", {}) == ("a Bcc: b", "a b c\nd")


@pytest.mark.parametrize(
    "count, words",
    [(0, "body"), (1, "body\n\nOne more was held"), (1_234, "body\n\n1,234 more were held")],
)
def test_the_count_of_what_was_held_back_is_readable(count, words):
    assert append_held_back("body", count, "en").startswith(words)


@given(st.text(st.sampled_from("{}' \"\\abmessage.+1\n"), max_size=60))
def test_any_text_is_either_refused_in_words_or_filled(source):
    if templates.check(source) is None:
        assert isinstance(Template(source).render(MESSAGE), str)


@pytest.mark.parametrize(
    "source, now",
    [
        ('{{ message.state == "over" ? 1 : 2 }}', '{{ message.state == "resolved" ? 1 : 2 }}'),
        ("{{ 'over' != message.state }}", "{{ 'resolved' != message.state }}"),
        ('it is "over", {{ message.state }}', 'it is "over", {{ message.state }}'),
        (None, None),
    ],
)
def test_a_template_that_knows_the_old_state_goes_on_working(
    source: str | None, now: str | None
) -> None:
    assert replace_old_state(source) == now
