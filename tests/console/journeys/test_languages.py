"""Somebody reads German or French."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

# Of the sections of a group: what their pages are called.
HEADINGS = {
    "de-DE": {
        "overview": "Übersicht",
        "alarms": "Alarme",
        "devices": "Geräte",
        "connectors": "Konnektoren",
        "notifications": "Benachrichtigungen",
        "reports": "Berichte",
        "jobs": "Aufträge",
        "people": "Personen",
        "audit": "Auditprotokoll",
    },
    "fr-FR": {
        "overview": "Vue d\u2019ensemble",
        "alarms": "Alarmes",
        "devices": "Appareils",
        "connectors": "Connecteurs",
        "notifications": "Notifications",
        "reports": "Rapports",
        "jobs": "Tâches",
        "people": "Personnes",
        "audit": "Journal d\u2019audit",
    },
}
# What a text would look like that was not found, or a place that got no value.
UNFILLED = re.compile(r"\{\{\w*\}\}|\b[a-z]+(?:[A-Z][a-z]+){3,}\b")


@pytest.mark.parametrize("locale", HEADINGS)
def test_the_console_speaks_the_language_of_the_browser(
    world: World, browse: OpenConsole, locale: str
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.reports(ada.device(harbour, name="Mooring 1"), data='{"celsius": 1234.5}')
    with browse(world, ada, locale=locale) as console:
        for section, heading in HEADINGS[locale].items():
            page = console.open(f"/g/{harbour}/{section}")
            expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
            assert page.locator("html").get_attribute("lang") == locale[:2]
            assert UNFILLED.findall(page.locator("main").inner_text()) == []


def test_a_language_is_chosen_and_kept(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.open("/account")
        page.get_by_label("Language").select_option("Deutsch")
        expect(page.get_by_role("heading", level=1, name="Konto")).to_be_visible()
        page = console.open("/groups")
        expect(page.get_by_role("heading", level=1, name="Gruppen")).to_be_visible()
