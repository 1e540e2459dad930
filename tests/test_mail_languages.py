"""Everybody is written to in their own language, by mail, by webhook and on their phones."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from longwire.dates import format_date
from longwire.notifications import alarm_work, contact_limits
from longwire.notifications.webpush import generate_vapid_key
from longwire.reports import runner
from tests.browser import OWN_PAGE
from tests.browser import Browser as Session
from tests.delivery.receiver import Receiver
from tests.identity.test_passwords import GOOD, set_password
from tests.identity.test_sign_in_links import ask_for_mail
from tests.notifications.standins import Browser, Mail, MailServer
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

Json = dict[str, Any]
MakeWorld = Callable[..., World]
PEOPLE = {"ada": "de", "bob": "fr", "carl": None}
ADDRESSES = [f"{each}@example.com" for each in PEOPLE]


def test_a_user_chooses_a_language_and_nobody_else_sees_it(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    assert "language" not in ok(ada.get("/user/me"))
    assert ok(ada.put("/user", {"language": "de"}))["language"] == "de"
    assert ok(ada.put("/user", {"name": "Ada"}))["language"] == "de"
    before = world.everything()
    for wrong in ("es", "", "DE", 1, ["de"]):
        refused(ada.put("/user", {"language": wrong}), 400, "language")
        body = {"email": "new@example.com", "groupId": group, "roleId": "viewer"}
        refused(ada.put("/group/invite", {**body, "language": wrong}), 400, "language")
        params = json.dumps({"url": "https://example.com", "language": wrong})
        contact = {"groupId": group, "name": "x", "type": "webhook", "params": params}
        refused(ada.post("/contactPoint", contact), 400, "params.language")
    assert world.everything() == before
    assert "language" not in ok(bob.get("/user", userId=ada.id))
    assert all("language" not in each for each in ok(bob.get("/users"))["items"])
    assert "language" not in ok(ada.put("/user", {"language": None}))


def start(make_world: MakeWorld, server: MailServer, **settings: Any) -> tuple[World, list[Person]]:
    """A service with three people, whose languages differ; the last one has none."""
    world = make_world(
        **server.settings(), public_url="https://lw.example", token_lifetime_s=10**8, **settings
    )
    people = [world.person(each) for each in PEOPLE]
    for person, language in zip(people, PEOPLE.values(), strict=True):
        ok(person.put("/user", {"language": language}))
    return world, people


def wait_for(server: MailServer, count: int) -> list[Mail]:
    eventually(lambda: len(server.mails) == count)
    return server.mails


def by_address(mails: list[Mail]) -> dict[str, Mail]:
    assert len({mail.to[0] for mail in mails}) == len(mails)
    return {mail.to[0].partition("@")[0]: mail for mail in mails}


def subjects(mails: dict[str, Mail]) -> dict[str, str]:
    return {
        name: f"{mail.message['Content-Language']} {mail.message['Subject']}"
        for name, mail in mails.items()
    }


@pytest.mark.engine_free
def test_links_and_changes_of_how_one_signs_in(make_world: MakeWorld) -> None:
    with MailServer() as server:
        world, people = start(make_world, server)
        for address in ADDRESSES:
            ask_for_mail(world, address)
        links = by_address(wait_for(server, 3))
        assert subjects(links) == {
            "ada": "de Ihr Link zum Anmelden",
            "bob": "fr Votre lien de connexion",
            "carl": "en Your link to sign in",
        }
        for mail in links.values():
            assert "15 minut" in mail.text.lower() and "127.0.0.1" in mail.text
            assert "https://lw.example/console/sign-in#mail=lwl_" in mail.text
        server.mails.clear()
        for address in ADDRESSES:
            ok(world.http.post("/user/password/reset", json={"email": address}, headers=OWN_PAGE))
        assert subjects(by_address(wait_for(server, 3))) == {
            "ada": "de Ihr neues Passwort",
            "bob": "fr Votre nouveau mot de passe",
            "carl": "en Your new password",
        }
        server.mails.clear()
        for person in people:
            with Session(world) as session:
                session.sign_in_as(person)
                ok(set_password(session, GOOD))
        notices = by_address(wait_for(server, 3))
        words = {
            "ada": "Ihr Passwort wurde am",
            "bob": "Votre mot de passe a été défini le",
            "carl": "Your password was set on",
        }
        assert {name: words[name] in mail.text for name, mail in notices.items()} == dict.fromkeys(
            words, True
        )


@pytest.mark.engine_free
def test_an_invitation_is_in_the_language_of_who_invites_unless_another_is_given(
    make_world: MakeWorld,
) -> None:
    with MailServer() as server:
        world, (ada, bob, carl) = start(make_world, server)
        group = ada.group("Keller & {url}")
        chief = world.person("chief", operator=True)

        def invite(email: str, by: Person = ada, **fields: Any) -> Mail:
            count = len(server.mails)
            body = {"email": email, "groupId": group, "roleId": "viewer"}
            ok(by.put("/group/invite", {**body, **fields}))
            mail = wait_for(server, count + 1)[-1]
            return mail

        new = invite("new@example.com")
        assert str(new.message["Subject"]) == "Sie sind jetzt Mitglied einer Gruppe"
        assert "der Gruppe „Keller & {url}“" in new.text
        # Somebody who was never here has chosen nothing: what is given counts, and is kept.
        assert "vous a ajouté" in invite("new@example.com", language="fr").text
        assert "vous a ajouté" in invite("new@example.com").text
        # Whoever has chosen one is written to in that; whoever has none, as they are invited.
        assert "vous a ajouté" in invite("bob@example.com", language="en").text
        assert "hat Sie zum Mitglied" in invite("carl@example.com").text
        assert ok(bob.get("/user/me"))["language"] == "fr"
        assert "language" not in ok(carl.get("/user/me"))
        fields = {"groupId": group, "name": "sync", "roleId": "administrator"}
        app = ok(ada.post("/appClient", fields))
        client = app["appClientId"], app["secret"]
        program = Person(world, world.token(*client), client[0], client)
        assert "A program that acts for the group" in invite("other@example.com", program).text
        created = {"email": "made@example.com", "lastName": "M", "language": "fr"}
        assert ok(chief.post("/user", created))["language"] == "fr"
        assert "vous a ajouté" in invite("made@example.com").text


@pytest.mark.engine_free
def test_an_alarm_is_raised_repeated_escalated_grouped_and_resolved_in_each_language(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    monkeypatch.setattr(contact_limits, "PER_MINUTE_MAX", 3)
    with MailServer() as server, Receiver() as hook, Receiver() as plain:
        world, (ada, bob, carl) = start(make_world, server, mail_domains="example.com")
        world.clock.freeze()
        group = ada.group()
        for person in (bob, carl):
            ada.invite(person, group, "viewer")
        wait_for(server, 2)
        server.mails.clear()

        def contact(type_name: str, **params: Any) -> str:
            body = {"groupId": group, "name": "Bereitschaft", "type": type_name}
            created = ok(ada.post("/contactPoint", {**body, "params": json.dumps(params)}))
            return str(created["id"])

        # An address of nobody, and a webhook, in the language of the contact point.
        shift = contact("email", to=["shift@example.com", "bob@example.com"], language="de")
        webhook = contact("webhook", url=hook.url, language="fr")
        # eve has an account and chose French, but is no member: the group does not learn it.
        eve = world.person("eve")
        ok(eve.put("/user", {"language": "fr"}))
        params = {
            "to": [*ADDRESSES, "eve@example.com"],
            **{"measurement": "temperature", "above": -15, "severity": "critical"},
            **{"contactPoints": [webhook], "escalateAfter": 600, "escalateTo": shift},
        }
        body = {"groupId": group, "type": "email", "reason": "measurement", "name": "warm"}
        ok(ada.post("/notification", {**body, "params": json.dumps(params)}))
        device = ada.device(group, name="Kühlraum")

        def read(celsius: float, *devices: str) -> None:
            world.clock.let_pass(seconds=1)
            now = format_date(world.clock.now())
            for each in devices:
                ada.reports(each, timestamp=now, data=json.dumps({"temperature": celsius}))

        read(-10.5, device)
        raised = by_address(wait_for(server, 4))
        assert {name: mail.text.splitlines()[1] for name, mail in raised.items()} == {
            "ada": "Die Bedingung für die Werte des Geräts ist erfüllt.",
            "bob": "La condition sur les valeurs de l\u2019appareil est remplie.",
            "carl": "The condition on the values of the device is met.",
            "eve": "The condition on the values of the device is met.",
        }
        assert "Wert: -10,5" in raised["ada"].text.splitlines()
        assert "Gravité\u00a0: critique" in raised["bob"].text.splitlines()
        assert "Severity: critical" in raised["carl"].text.splitlines()
        first = hook.wait_for(1)[0].json
        assert (first["language"], first["message"]["severity"]) == ("fr", "critical")
        assert first["body"] == raised["bob"].text.rstrip("\r\n").replace("\r\n", "\n")

        server.mails.clear()
        world.clock.let_pass(seconds=600)
        world.run_alarms_once()
        mails = wait_for(server, 6)  # to those who had it before as well
        escalated = by_address([each for each in mails if each.to[0] != "bob@example.com"])
        of_bob = [each for each in mails if each.to[0] == "bob@example.com"]
        found = {each.to[0]: str(each.message["Content-Language"]) for each in escalated.values()}
        assert found == {
            **{"ada@example.com": "de", "carl@example.com": "en", "eve@example.com": "en"},
            "shift@example.com": "de",
        }
        assert [str(each.message["Content-Language"]) for each in of_bob] == ["fr", "fr"]

        server.mails.clear()
        world.clock.let_pass(seconds=60)
        read(-20, device)
        resolved = [each for each in wait_for(server, 6) if each.to[0] != "eve@example.com"]
        assert {str(each.message["Subject"]) for each in resolved} == {
            *("Behoben: Kühlraum: measurement", "Résolu : Kühlraum: measurement"),
            "Resolved: Kühlraum: measurement",
        }

        server.mails.clear()
        world.clock.let_pass(seconds=120)
        others = [ada.device(group, name=f"Raum {each}") for each in range(7)]
        world.clock.let_pass(seconds=1)
        read(-10.5, *others)
        wait_for(server, 4 * 3)
        server.mails.clear()
        world.clock.let_pass(seconds=60)
        world.run_alarms_once()
        grouped = by_address(wait_for(server, 4))
        assert subjects(grouped) == {
            "ada": "de 4 Alarme: 4 ausgelöst, 0 behoben",
            "bob": "fr 4 alarmes (déclenchées : 4, résolues : 0)",
            "carl": "en 4 alarms: 4 raised, 0 resolved",
            "eve": "en 4 alarms: 4 raised, 0 resolved",
        }

        # A test, of the contact point and of a notification with a template of its own.
        server.mails.clear()
        ok(ada.post("/contactPoint/test", {"groupId": group, "contactPointId": shift}))
        tests = by_address(wait_for(server, 2))
        assert subjects(tests) == {
            "shift": "de Test des Kontakts Bereitschaft",
            "bob": "fr Test du point de contact Bereitschaft",
        }
        assert tests["shift"].text.strip() == "Das ist ein Test. Es ist nichts passiert."
        own = ada.notification(group, plain.url, params={"subject": "{{ message.kind }}!"})
        ok(ada.post("/notification/test", {"groupId": group, "notificationId": own}))
        sent = plain.wait_for(1)[0].json
        assert (sent["subject"], sent["language"]) == ("test!", "en")
        assert "This is a test. Nothing has happened." in sent["body"]


@pytest.mark.engine_free
def test_what_was_held_back_is_counted_on_each_phone_in_its_language(
    make_world: MakeWorld,
) -> None:
    with MailServer() as server, Receiver(201) as german, Receiver(201) as french:
        push = {"vapid_key": generate_vapid_key(), "vapid_contact": "mailto:ops@example.com"}
        world, (ada, bob, _) = start(make_world, server, **push)
        world.clock.freeze()
        group = ada.group()
        device = ada.device(group, name="Keller")
        ada.invite(bob, group, "viewer")
        phones = Browser(german.url), Browser(french.url)
        for person, phone in zip((ada, bob), phones, strict=True):
            ok(person.put("/user/vendorToken", {"token": phone.token}))
        params = json.dumps({"throttle": 60})
        body = {"groupId": group, "name": "flood", "type": "push", "params": params}
        ok(ada.post("/notification", {**body, "reason": "flood"}))
        for count in (3, 1):
            for _ in range(count):
                world.clock.let_pass(seconds=1)
                now = format_date(world.clock.now())
                ada.reports(device, "event", type="flood", timestamp=now)
            world.clock.let_pass(seconds=60)
        last = [
            phone.read(receiver.wait_for(2)[1].body)["body"]
            for phone, receiver in zip(phones, (german, french), strict=True)
        ]
        assert [each.splitlines()[-1] for each in last] == [
            "Seit der letzten Meldung wurden 2 weitere zurückgehalten.",
            "2 autres messages ont été retenus depuis le dernier.",
        ]
        assert [each.splitlines()[1] for each in last] == [
            f"Gerät: Keller ({device}, generic)",
            f"Appareil\u00a0: Keller ({device}, generic)",
        ]


@pytest.mark.engine_free
def test_a_report_is_written_to_each_of_its_readers(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "POLL_INTERVAL_S", 0.1)
    with MailServer() as server:
        _, (ada, bob, carl) = start(make_world, server, mail_domains="example.com")
        group = ada.group("Kühlräume")
        for person in (bob, carl):
            ada.invite(person, group, "viewer")
        wait_for(server, 2)
        server.mails.clear()
        ada.device(group)
        body = {
            **{"groupId": group, "content": "alarms", "every": "week", "at": "06:00"},
            **{"timezone": "Europe/Berlin", "name": "Woche"},
        }
        to = {"to": [*ADDRESSES, "office@example.com"], "language": "fr"}
        report = ok(ada.post("/report", {**body, "to": {"type": "email", "params": to}}))
        ok(ada.post("/report/send", {"groupId": group, "reportId": report["id"]}))
        mails = by_address(wait_for(server, 4))
        first = {
            name: str(mail.message.get_body(("plain",)).get_content()).splitlines()[0]
            for name, mail in mails.items()
        }
        day = r"[0-9]+(er)?\.? [^\W\d_]+ 20[0-9]{2}"
        for name, pattern in {
            "ada": f"0 Zeilen der Gruppe Kühlräume, {day} bis {day} \\(Europe/Berlin\\)\\.",
            "bob": f"0 ligne du groupe Kühlräume, du {day} au {day} \\(Europe/Berlin\\)\\.",
            "carl": f"0 ligne du groupe Kühlräume, du {day} au {day} \\(Europe/Berlin\\)\\.",
            "office": f"0 ligne du groupe Kühlräume, du {day} au {day} \\(Europe/Berlin\\)\\.",
        }.items():
            assert re.fullmatch(pattern, first[name]), first[name]
        page = mails["ada"].message.get_body(("html",)).get_content()
        assert '<html lang="de">' in page and "angehängt" in page
