"""Mail, handed to a real server."""

import asyncio
import contextlib
import os
import socket
import threading
from pathlib import Path

import pytest

from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.mail import smtp
from longwire.delivery.mail.email_addresses import parse_domains
from longwire.delivery.mail.smtp import LOGIN_FAILED, MAIL_NOT_CONFIGURED, MailConfig
from longwire.notifications.types.base import NotificationMessage, SendingConfig
from longwire.notifications.types.email import EmailParams, EmailSender
from tests.certificates import create_tls_context
from tests.notifications.messages import LOOPBACK, MESSAGE, batch, run, send_all, sender_context
from tests.notifications.standins import MailServer
from tests.waiting import PATIENCE_S

ADA = EmailParams(to=["ada@example.com"])


def send_mails(config: MailConfig, *batches):
    return send_all(EmailSender(ADA, sender_context(SendingConfig(mail=config))), *batches)


def test_a_message_arrives_as_a_plain_mail_and_a_repetition_has_the_same_id():
    with MailServer() as server:
        config = MailConfig(**server.settings())
        message = NotificationMessage(
            "Käller\n: Alarm", "31.5 °C\n.\nend", "alarm", {}, held_back=2
        )
        first = batch(message, to="ada@example.com", id="msg_1_a")
        assert send_mails(config, first, first) == [Delivered(), Delivered()]
    one, again = server.mails
    assert (one.sender, one.to) == ("longwire@example.com", ["ada@example.com"])
    mail = one.message
    assert str(mail["From"]) == "Longwire <longwire@example.com>"
    assert str(mail["To"]) == "ada@example.com"
    assert mail["Subject"] == "Käller : Alarm"
    assert mail["Message-ID"] == again.message["Message-ID"] == "<msg_1_a@example.com>"
    assert mail["Date"].datetime.timestamp() == 1_700_000_000
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "text/plain"
    assert one.text.splitlines() == [
        *("31.5 °C", ".", "end", "", "2 more were held back since the last one.")
    ]


@pytest.mark.parametrize(
    "command, reply, expected",
    [
        ("RCPT", "450 busy", Refused("the mail server did not accept the address (450)")),
        ("RCPT", "550 no", Refused("the mail server did not accept the address (550)", True)),
        ("DATA", "451 later", Refused("the mail server did not accept the mail (451)")),
        ("DATA", "554 spam", Refused("the mail server did not accept the mail (554)", True)),
        ("RCPT", "530 log in first", LOGIN_FAILED),
    ],
)
def test_an_answer_of_the_server_says_whether_to_try_again(command, reply, expected):
    with MailServer() as server:
        server.replies[command].append(reply)
        message = batch(to="ada@example.com")
        assert send_mails(MailConfig(**server.settings()), message, message) == [
            expected,
            Delivered(),
        ]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_login_that_is_not_accepted_is_tried_again_and_says_so():
    with MailServer(login=("longwire", "right")) as server:
        message = batch(to="ada@example.com")
        for password, expected in (("wrong", LOGIN_FAILED), ("right", Delivered())):
            config = MailConfig(**server.settings(smtp_user="longwire", smtp_password=password))
            assert send_mails(config, message) == [expected]
        (nobody,) = send_mails(MailConfig(**server.settings()), message)
    assert nobody == LOGIN_FAILED
    assert len(server.mails) == 1


def test_what_is_to_be_encrypted_is_never_sent_in_the_clear(tmp_path, monkeypatch):
    message = batch(to="ada@example.com")
    with MailServer() as plain:
        config = MailConfig(**plain.settings(smtp_security="starttls"))
        (outcome,) = send_mails(config, message)
        assert isinstance(outcome, Refused) and not outcome.is_final
        assert "does not support TLS" in outcome.reason and plain.mails == []
    context, certificate = create_tls_context("127.0.0.1")
    with MailServer(tls=context) as server:
        config = MailConfig(**server.settings(smtp_security="starttls"))
        assert send_mails(config, message) == [
            Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED)
        ]
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(certificate)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        assert send_mails(config, message) == [Delivered()]
    assert [mail.was_encrypted for mail in server.mails] == [True]


def list_connections_to(port: int) -> list[int]:
    """The descriptors of this process for connections to a port."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile, not a socket, or not connected
            one = socket.socket(fileno=int(name))
            try:
                if one.family == socket.AF_INET and one.getpeername()[1] == port:
                    found.append(int(name))
            finally:
                one.detach()  # it belongs to somebody else
    return found


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # which would keep the loop from ending
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
@pytest.mark.parametrize(
    "reply, expected", [(b"235 welcome", Delivered()), (b"535 go away", LOGIN_FAILED)]
)
def test_a_connection_ends_with_its_mail_though_the_server_keeps_it(
    tmp_path, monkeypatch, reply, expected
):
    context, certificate = create_tls_context("127.0.0.1")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    replies = {
        b"EHLO": b"250-me\r\n250 AUTH PLAIN",
        b"AUTH": reply,
        b"DATA": b"354 go on",
        b"QUIT": b"221 ",
    }

    def serve(listener: socket.socket) -> None:
        server = context.wrap_socket(listener.accept()[0], server_side=True)
        kept.enter_context(server)  # and not closed before the end
        with contextlib.suppress(OSError), server.makefile("rb") as lines:
            server.sendall(b"220 hello\r\n")
            for line in lines:
                server.sendall(replies.get(line[:4], b"250 ") + b"\r\n")
                if line == b"DATA\r\n":
                    list(iter(lines.readline, b".\r\n"))
                    server.sendall(b"250 \r\n")

    async def send(config: MailConfig) -> tuple[Outcome, list[int]]:
        sender = EmailSender(ADA, sender_context(SendingConfig(mail=config)))
        outcome = await sender.send(batch(to="ada@example.com"))
        for _ in range(3):  # the loop closes what was aborted
            await asyncio.sleep(0)
        return outcome, list_connections_to(config.smtp_port)

    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as kept:
        serving = threading.Thread(target=serve, args=(listener,), daemon=True)
        serving.start()
        config = MailConfig(
            smtp_host="127.0.0.1",
            smtp_port=listener.getsockname()[1],
            smtp_user="longwire",
            smtp_password="secret",
            smtp_from="longwire@example.com",
            smtp_security="tls",
        )
        assert run(send(config)) == (expected, [])
        serving.join(PATIENCE_S)


def test_a_server_that_is_away_or_no_mail_server_is_unreachable(monkeypatch):
    message = batch(to="ada@example.com")

    def config(port: int) -> MailConfig:
        return MailConfig(
            smtp_host="127.0.0.1", smtp_port=port, smtp_from="a@b.example", smtp_security="none"
        )

    with socket.create_server(("127.0.0.1", 0)) as silent, monkeypatch.context() as short:
        short.setattr(smtp, "TIMEOUT_S", 0.3)
        port = silent.getsockname()[1]
        (outcome,) = send_mails(config(port), message)
        assert outcome == Unreachable("the mail server timed out", code=FailureCode.TIMED_OUT)
    assert send_mails(config(port), message) == [Unreachable("connection refused")]


def test_without_a_server_nothing_is_offered_and_what_was_queued_ends():
    assert not EmailSender.is_available(SendingConfig())
    mail = MailConfig(smtp_host="mail.example", smtp_from="a@b.example")
    assert EmailSender.is_available(SendingConfig(mail=mail))
    refusal = Refused(MAIL_NOT_CONFIGURED, is_final=True, code=FailureCode.NOT_CONFIGURED)
    assert send_mails(MailConfig(), batch(to="ada@example.com")) == [refusal]


def test_every_address_gets_a_mail_of_its_own_and_no_address_two():
    params = EmailParams(to=["ada@example.com", "bob@example.com", "Ada@Example.com"])
    assert len(EmailSender.list_recipients(params, lambda: [])) == 2


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
    config = SendingConfig(mail=MailConfig(mail_domains=parse_domains(domains)))
    problems = EmailSender.list_disallowed(EmailParams(to=["x@example.com", address]), config)
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
    problems = EmailParams(to=["fine@example.com", address]).validate(LOOPBACK)
    assert problems == ([] if is_fine else [("to[1]", "must be an e-mail address")])


def test_an_address_that_cannot_be_written_ends_the_message_and_not_the_service():
    with MailServer() as server:
        config = MailConfig(**server.settings())
        (outcome,) = send_mails(config, batch(MESSAGE, to="a\nb@example.com"))
    assert outcome == Refused(
        "the address is invalid", is_final=True, code=FailureCode.INVALID_MESSAGE
    )
