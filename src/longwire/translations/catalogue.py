"""Texts by language and key, with placeholders and plural forms."""

import functools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any, Literal, get_args

Language = Literal["en", "de", "fr"]
LANGUAGES: Sequence[str] = get_args(Language)
# Of whoever has chosen none.
DEFAULT_LANGUAGE = "en"

# A text, or one for each plural form.
Entry = str | Mapping[str, str]
# By language: the form for a count. French has the singular for none, too.
_PLURAL_FORMS: Mapping[str, Callable[[int], str]] = {
    "en": lambda count: "one" if count == 1 else "other",
    "de": lambda count: "one" if count == 1 else "other",
    "fr": lambda count: "one" if count in (0, 1) else "other",
}
PLURAL_FORMS = frozenset(("one", "other"))


def translate(language: str, key: str, **values: object) -> str:
    """The text with this key; values are inserted as they are."""
    text = load_catalogue(language)[key]
    assert isinstance(text, str), f"{key} has plural forms"
    return text.format_map(values)


def translate_count(language: str, key: str, count: int, **values: object) -> str:
    """The same in the form for a count, which is its `{count}`."""
    forms = load_catalogue(language)[key]
    assert not isinstance(forms, str), f"{key} has no plural forms"
    shown = format_number(language, count)
    return forms[_PLURAL_FORMS[language](count)].format_map({**values, "count": shown})


def find_text(language: str, key: str) -> str | None:
    """The text with a key that is made of a code; None if there is none for that code."""
    text = load_catalogue(language).get(key)
    return text if isinstance(text, str) else None


def format_number(language: str, number: float) -> str:
    """A number with the separators of the language, and all of its digits."""
    plain = f"{number:,}"
    if "e" in plain or "n" in plain:  # 1e+20, inf and nan
        return plain.replace(".", translate(language, "format.decimal"))
    whole, _, fraction = plain.partition(".")
    whole = whole.replace(",", translate(language, "format.group"))
    if fraction in ("", "0"):  # a whole number, of either type
        return whole
    return f"{whole}{translate(language, 'format.decimal')}{fraction}"


@functools.cache
def load_catalogue(language: str) -> Mapping[str, Entry]:
    """All texts of a language by their dotted keys; English if there is no such language."""
    known = language if language in LANGUAGES else DEFAULT_LANGUAGE
    file = resources.files("longwire.translations").joinpath(f"{known}.toml")
    found: dict[str, Entry] = {}
    _flatten(found, "", tomllib.loads(file.read_text("utf8")))
    return found


def _flatten(found: dict[str, Entry], prefix: str, table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if isinstance(value, str) or value.keys() == PLURAL_FORMS:
            found[f"{prefix}{name}"] = value
        else:
            _flatten(found, f"{prefix}{name}.", value)
