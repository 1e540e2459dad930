"""Patterns of `matches`, in the syntax of RE2: translated, and measured in states.

The regex engine of the `cel` package knows more than RE2. Some of that is expensive, and some
differs: there `\\w` means the letters of every script.
"""

import re
from typing import NamedTuple

# All patterns of an expression together, in states of an automaton: they are compiled again for
# every message, and 1,000 states take about a millisecond.
PATTERN_STATES_MAX = 1_000

PATTERN_TOKEN = re.compile(
    r"""
      (?P<escape> \\ (?: [pP]\{[^}]*\} | [pP]. | x\{[^}]*\} | . ) )
    | (?P<set> \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^]\\[] )* \] )
    | (?P<flags> \(\? [imsU]* (?: -[imsU]+ )? \) )
    | (?P<open> \( (?: \?P?<\w+> | \? [imsU]* (?: -[imsU]+ )? : | (?! \? ) ) )
    | (?P<close> \) )
    | (?P<either> \| )
    | (?P<repeat> (?: [*+?] | \{ (?P<least> [0-9]*) (?: , (?P<most> [0-9]*) )? \} ) \?? )
    | (?P<any> \. )
    | (?P<other> [^][\\(){}] )
    """,
    re.VERBOSE | re.DOTALL,
)
ASCII_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r\x20"}
STATES_OF_ANY = 10
STATES_OF_SCRIPT = 400
# Not so much states as time: every character of a wide range is looked up in its other case.
STATES_OF_CASE_FOLDING = 800


class InvalidPattern(Exception):
    pass


class TranslatedPattern(NamedTuple):
    text: str  # for the regex engine
    states: int


def translate_pattern(pattern: str) -> TranslatedPattern:
    out: list[str] = []
    # For each open group: the states before its last part, and those of its last part.
    groups = [[0, 0]]
    ignores_case = re.search(r"\(\?[msU]*i", pattern) is not None
    at = 0
    while at < len(pattern):
        found = PATTERN_TOKEN.match(pattern, at)
        if found is None:
            raise InvalidPattern(f"unexpected {pattern[at : at + 3]} at {at + 1}")
        at = found.end()
        text = found[0]
        group = groups[-1]
        match found.lastgroup:
            case "repeat":
                counts = [int(count) for count in (found["least"], found["most"]) if count]
                group[1] = group[1] * max([1, *counts]) + 1
            case "open":
                groups.append([0, 0])
            case "close":
                if len(groups) == 1:
                    raise InvalidPattern("unopened group")
                groups.pop()
                groups[-1][0] += groups[-1][1]
                groups[-1][1] = sum(group) + 1
            case kind:
                text, states = _translate_part(kind or "", text, ignores_case)
                group[0] += group[1]
                group[1] = states
        out.append(text)
    return TranslatedPattern("".join(out), sum(map(sum, groups)))


def _translate_part(kind: str, text: str, ignores_case: bool) -> TranslatedPattern:
    if kind == "escape":
        return _translate_escape(text)
    if kind == "set":
        return _translate_set(text, ignores_case)
    if kind == "any":
        return TranslatedPattern(text, STATES_OF_ANY)
    return TranslatedPattern(text, len(text.encode()))


def _translate_set(text: str, ignores_case: bool) -> TranslatedPattern:
    translated = re.sub(r"\\.", lambda found: _escape_in_set(found[0]), text, flags=re.DOTALL)
    spans = [ord(last) - ord(first) for first, last in re.findall(r"(.)-(.)", text, re.DOTALL)]
    if re.search(r"\\[pP]", text):
        states = STATES_OF_SCRIPT
    elif re.search(r"\\[DWSxuU]|\[:\^", text) or max(spans, default=0) > 255:
        states = STATES_OF_CASE_FOLDING if ignores_case else STATES_OF_ANY
    else:
        states = 1 if text.isascii() and text[1] != "^" else STATES_OF_ANY
    return TranslatedPattern(translated, states)


def _translate_escape(text: str) -> TranslatedPattern:
    letter = text[1]
    if letter in "pP":
        return TranslatedPattern(text, STATES_OF_SCRIPT)
    if letter in "bB":
        return TranslatedPattern(f"(?-u:{text})", 1)
    if letter in ASCII_CLASSES:
        return TranslatedPattern(f"[{ASCII_CLASSES[letter]}]", 1)
    if letter.lower() in ASCII_CLASSES:
        return TranslatedPattern(f"[^{ASCII_CLASSES[letter.lower()]}]", STATES_OF_ANY)
    return TranslatedPattern(text, len(text))


def _escape_in_set(text: str) -> str:
    letter = text[1]
    if letter in ASCII_CLASSES:
        return ASCII_CLASSES[letter]
    return f"[^{ASCII_CLASSES[letter.lower()]}]" if letter.lower() in ASCII_CLASSES else text
