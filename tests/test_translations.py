"""What the service writes to people: complete in each language, and nowhere else in the code."""

import ast
import re
import string
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

import longwire
from longwire.clock import SECOND
from longwire.translations.catalogue import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    Entry,
    format_number,
    load_catalogue,
    translate,
    translate_count,
)
from longwire.translations.dates import format_day, format_moment, format_period

SOURCE = Path(longwire.__file__).parent
TRANSLATE = {"translate", "translate_count"}
# What makes a text for people.
MAIL_MAKERS = {"OutboundMail", "InvitationMail", "NotificationMessage"}
# Modules that make nothing else than what is in a mail.
WRITERS = (
    *("notifications/default_texts.py", "notifications/contact_limits.py"),
    *("notifications/values.py", "translations/dates.py", "reports/mails.py"),
)
# Keys that are made of a code.
MADE_OF_CODES = ("alarm_raised", "alarm_resolved", "alarm_field", "alarm_state", "alarm_severity")
MONTH = "month"
# Two words, or a word at the edge of an inserted value.
SENTENCE = re.compile(r"[^\W\d_]{2,}[,.:;]? [^\W\d_]{2,}|^ [^\W\d_]+ |^[^\W\d_]{2,} $")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def shape(entry: Entry) -> tuple[set[str], set[str]]:
    """The plural forms, and the placeholders; that of the count may be a word."""
    if isinstance(entry, str):
        return set(), placeholders(entry)
    return set(entry), set().union(*map(placeholders, entry.values())) | {"count"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    expected = {key: shape(entry) for key, entry in load_catalogue(DEFAULT_LANGUAGE).items()}
    found = load_catalogue(language)
    assert {key: shape(entry) for key, entry in found.items()} == expected
    texts = [
        text
        for entry in found.values()
        for text in ([entry] if isinstance(entry, str) else entry.values())
    ]
    assert all(texts)
    # A placeholder is a name: nothing in a value is looked up.
    assert all(re.fullmatch("[a-z]+", name) for text in texts for name in placeholders(text))


def test_no_text_was_left_in_english() -> None:
    english = load_catalogue("en")
    for language in ("de", "fr"):
        same = {
            key
            for key, entry in load_catalogue(language).items()
            if entry == english[key] and not str(entry).startswith("{")
        }
        same = {each for each in same if not each.startswith(("format.", f"{MONTH}."))}
        assert same <= {"alarm_field.alarmId", "alarms.messages", "alarm_severity.info"}, language


def test_every_text_is_used_and_every_one_that_is_used_is_there() -> None:
    keys = set(load_catalogue(DEFAULT_LANGUAGE))
    constants: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        if "longwire.translations" not in source:
            continue
        tree = ast.parse(source)
        constants |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for call in list_translations(tree):
            check_translation(path.name, call)
    made = {each for each in keys if each.partition(".")[0] in (*MADE_OF_CODES, MONTH)}
    assert keys - made - constants == set()


def list_translations(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TRANSLATE:
            yield node


def check_translation(module: str, call: ast.Call) -> None:
    """A key in the call is there, and is given what it wants, and no more."""
    key = call.args[1]
    if not isinstance(key, ast.Constant):
        return
    entry = load_catalogue(DEFAULT_LANGUAGE)[key.value]
    forms, wanted = shape(entry)
    assert bool(forms) == (getattr(call.func, "id", "") == "translate_count"), (module, key.value)
    if any(each.arg is None for each in call.keywords):  # **values
        return
    given = {each.arg for each in call.keywords}
    assert given == wanted - ({"count"} if forms else set()), (module, key.value)


def list_writers() -> Iterator[tuple[str, ast.AST]]:
    """The modules above, and each function elsewhere that makes a mail or a message."""
    for path in SOURCE.rglob("*.py"):
        name, source = str(path.relative_to(SOURCE)), path.read_text()
        if name in WRITERS:
            yield name, ast.parse(source)
        elif any(f"{each}(" in source for each in MAIL_MAKERS):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and makes_mail(node):
                    yield f"{name}: {node.name}", node


def makes_mail(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAIL_MAKERS
        for node in ast.walk(function)
    )


def list_sentences(tree: ast.AST) -> list[str]:
    """Texts of several words, besides documentation, HTML and what is logged."""
    documentation = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    logged = {
        constant
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("log.")
        for constant in ast.walk(node)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node not in documentation | logged
    ]
    return [
        each
        for each in texts
        if isinstance(each, str) and SENTENCE.search(each) and not each.startswith("<")
    ]


def test_nothing_that_writes_to_people_has_a_sentence_of_its_own() -> None:
    writers = dict(list_writers())
    for expected in ("sign_in_mail.py: _send", "invitations.py: _build_invitation", "mails.py"):
        assert any(expected in each for each in writers), expected
    found = {name: texts for name, tree in writers.items() if (texts := list_sentences(tree))}
    assert found == {}
    wrong = 'OutboundMail(subject=f"{name} was set")', 'body = "Sign in at this page."'
    assert [len(list_sentences(ast.parse(each))) for each in wrong] == [1, 1]
    assert list_sentences(ast.parse('log.warning("not mailed", user_id="x")')) == []


@pytest.mark.parametrize(
    "language, none, one, many",
    [
        (
            "en",
            "0 rows of the group G.",
            "1 row of the group G.",
            "1,234 rows of the group G.",
        ),
        (
            "de",
            "0 Zeilen der Gruppe G.",
            "1 Zeile der Gruppe G.",
            "1.234 Zeilen der Gruppe G.",
        ),
        (
            "fr",
            "0 ligne du groupe G.",
            "1 ligne du groupe G.",
            "1\u202f234 lignes du groupe G.",
        ),
    ],
)
def test_counts_have_the_plural_forms_of_the_language(
    language: str, none: str, one: str, many: str
) -> None:
    assert [
        translate_count(language, "report.rows", each, group="G") for each in (0, 1, 1_234)
    ] == [none, one, many]


def test_numbers_and_dates_are_written_as_in_the_language() -> None:
    numbers = (31.5, -18.0, 1_234_567.25, 1e300, 7)
    assert {each: [format_number(each, number) for number in numbers] for each in LANGUAGES} == {
        "en": ["31.5", "-18", "1,234,567.25", "1e+300", "7"],
        "de": ["31,5", "-18", "1.234.567,25", "1e+300", "7"],
        "fr": ["31,5", "-18", "1\u202f234\u202f567,25", "1e+300", "7"],
    }
    first, last = date(2026, 3, 1), date(2026, 3, 31)
    assert {each: format_period(each, first, last) for each in LANGUAGES} == {
        "en": "1 March 2026 to 31 March 2026",
        "de": "1. März 2026 bis 31. März 2026",
        "fr": "du 1er mars 2026 au 31 mars 2026",
    }
    assert [format_moment(each, 1_800_000_000 * SECOND) for each in LANGUAGES] == [
        "15 January 2027 at 08:00 UTC",
        "15. Januar 2027 um 08:00 Uhr UTC",
        "15 janvier 2027 à 08:00 UTC",
    ]
    for language in LANGUAGES:
        assert len({format_day(language, date(2026, month, 2)) for month in range(1, 13)}) == 12


def test_what_is_inserted_is_shown_as_it_is() -> None:
    shown = translate("fr", "test.contact_subject", name="{url} {0.__class__} %s")
    assert shown.endswith("{url} {0.__class__} %s")
    # A language of a later release is no reason to write nothing.
    assert translate("xx", "report.name") == "Report"
