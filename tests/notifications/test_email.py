"""Mail, handed to a real server."""

import socket

import pytest

from longwire.delivery.destinations.base import Delivered, Refused, Unreachable
from longwire.notifications.addresses import domains_in
from longwire.notifications.types import email
from longwire.notifications.types.base import Letter, Office
from longwire.notifications.types.email import NO_LOGIN, NOT_SET_UP, Email, EmailParams
from tests.delivery.receiver import self_signed
from tests.notifications.letters import LETTER, LOOPBACK, means, parcel, sent
from tests.notifications.standins import MailServer

ADA = EmailParams(to=["ada@example.com"])


def mailed(office: Office, *parcels):
    return sent(Email(ADA, means(office)), *parcels)


def test_a_letter_arrives_as_a_plain_mail_that_a_repetition_can_be_told_by():
    with MailServer() as server:
        office = Office(**server.settings())
        letter = Letter("Käller\n: Alarm", "31.5 °C\n.\nend", "alarm", {}, held_back=2)
        first = parcel(letter, to="ada@example.com", id="msg_1_a")
        assert mailed(office, first, first) == [Delivered(), Delivered()]
    one, again = server.mails
    assert (one.sender, one.to) == ("longwire@example.com", ["ada@example.com"])
    message = one.message
    assert str(message["From"]) == "Longwire <longwire@example.com>"
    assert str(message["To"]) == "ada@example.com"
    assert message["Subject"] == "Käller : Alarm"
    assert message["Message-ID"] == again.message["Message-ID"] == "<msg_1_a@example.com>"
    assert message["Date"].datetime.timestamp() == 1_700_000_000
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    assert one.text.splitlines() == [
        *("31.5 °C", ".", "end", "", "2 more were held back since the last one.")
    ]


@pytest.mark.parametrize(
    "command, reply, expected",
    [
        ("RCPT", "450 busy", Refused("the mail server did not take the address (450)")),
        ("RCPT", "550 no", Refused("the mail server did not take the address (550)", True)),
        ("DATA", "451 later", Refused("the mail server did not take the mail (451)")),
        ("DATA", "554 spam", Refused("the mail server did not take the mail (554)", True)),
        ("RCPT", "530 log in first", Refused(NO_LOGIN)),
    ],
)
def test_an_answer_of_the_server_says_whether_to_try_again(command, reply, expected):
    with MailServer() as server:
        server.replies[command].append(reply)
        letter = parcel(to="ada@example.com")
        assert mailed(Office(**server.settings()), letter, letter) == [expected, Delivered()]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_login_that_is_not_accepted_is_tried_again_and_says_so():
    with MailServer(login=("longwire", "right")) as server:
        letter = parcel(to="ada@example.com")
        for password, expected in (("wrong", Refused(NO_LOGIN)), ("right", Delivered())):
            office = Office(**server.settings(smtp_user="longwire", smtp_password=password))
            assert mailed(office, letter) == [expected]
        (nobody,) = mailed(Office(**server.settings()), letter)
    assert nobody == Refused(NO_LOGIN)
    assert len(server.mails) == 1


def test_what_is_to_be_encrypted_is_never_sent_in_the_clear(tmp_path, monkeypatch):
    letter = parcel(to="ada@example.com")
    with MailServer() as plain:
        office = Office(**plain.settings(smtp_security="starttls"))
        (outcome,) = mailed(office, letter)
        assert isinstance(outcome, Refused) and not outcome.is_final
        assert "cannot encrypt" in outcome.reason and plain.mails == []
    context, certificate = self_signed("127.0.0.1")
    with MailServer(tls=context) as server:
        office = Office(**server.settings(smtp_security="starttls"))
        assert mailed(office, letter) == [Unreachable("the certificate was not accepted")]
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(certificate)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        assert mailed(office, letter) == [Delivered()]
    assert [mail.was_encrypted for mail in server.mails] == [True]


def test_a_server_that_is_away_or_no_mail_server_is_unreachable(monkeypatch):
    monkeypatch.setattr(email, "TIMEOUT_S", 0.3)
    letter = parcel(to="ada@example.com")

    def office(port: int) -> Office:
        return Office(
            smtp_host="127.0.0.1", smtp_port=port, smtp_from="a@b.example", smtp_security="none"
        )

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (outcome,) = mailed(office(port), letter)
        assert outcome == Unreachable("the mail server did not answer in time")
    assert mailed(office(port), letter) == [Unreachable("connection refused")]


def test_without_a_server_nothing_is_offered_and_what_was_queued_ends():
    assert Email.unavailable(Office()) == NOT_SET_UP
    assert Email.unavailable(Office(smtp_host="mail.example", smtp_from="a@b.example")) is None
    assert mailed(Office(), parcel(to="ada@example.com")) == [Refused(NOT_SET_UP, is_final=True)]


def test_every_address_gets_a_mail_of_its_own_and_no_address_two():
    params = EmailParams(to=["ada@example.com", "bob@example.com", "Ada@Example.com"])
    assert len(Email.recipients(params, lambda: [])) == 2


@pytest.mark.parametrize(
    "address, domains, is_fine",
    [
        ("ada@example.com", "", True),
        ("ada@example.com", "example.com", True),
        ("Ada@Example.COM", " example.org ,EXAMPLE.com, ", True),
        ("ada@example.com", "example.org", False),
        ("ada@mail.example.com", "example.com", False),
        ("ada@badexample.com", "example.com", False),
        ("example.com@example.net", "example.com", False),
        ("ada@straße.example", "strasse.example", False),
    ],
)
def test_an_address_is_in_a_domain_or_it_is_not(address, domains, is_fine):
    office = Office(mail_domains=domains_in(domains))
    problems = Email.unwanted(EmailParams(to=["x@example.com", address]), office)
    assert (not [place for place, _ in problems if place == "to[1]"]) == is_fine


@pytest.mark.parametrize(
    "address, is_fine",
    [
        ("ada@example.com", True),
        ("ada.lovelace+cellar@mail.example.com", True),
        ("ada@localhost", True),
        ("ädä@exämple.com", True),
        ("ada", False),
        ("ada@", False),
        ("@example.com", False),
        ("ada@b@c", False),
        ("a da@example.com", False),
        ("ada@example.com\nBcc: bob@example.com", False),
        ("ada@example.com, bob@example.com", False),
        ("Ada <ada@example.com>", False),
        ('"ada"@example.com', False),
        ("ada@[127.0.0.1]", False),
        ("ada@-example.com", False),
        ("ada@example..com", False),
        (".ada@example.com", False),
        ("ada.@example.com", False),
    ],
)
def test_an_address_is_one_address_and_nothing_else(address, is_fine):
    problems = EmailParams(to=["fine@example.com", address]).problems(LOOPBACK)
    assert problems == ([] if is_fine else [("to[1]", "must be an e-mail address")])


def test_an_address_that_cannot_be_written_ends_the_letter_and_not_the_service():
    with MailServer() as server:
        office = Office(**server.settings())
        (outcome,) = mailed(office, parcel(LETTER, to="a\nb@example.com"))
    assert outcome == Refused("the address cannot be written to", is_final=True)
