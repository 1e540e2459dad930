"""CEL over a message: what a connector wants, and how its custom bodies are made.

The language is the Common Expression Language without loops, evaluated by the package `cel`. That
package converts all that it is given, copies what an expression touches, and holds the interpreter
lock meanwhile; so this module reads the expression first. It refuses names and functions that do
not exist, hands over nothing but the values that are named, and weighs them: an evaluation ends
after some tens of milliseconds at worst, whatever was written and whatever a device said.

Numbers compare across kinds (`21.0 == 21`), arithmetic does not mix them: `double(message.data.x)`
takes either. `matches` looks for a pattern of RE2 anywhere in the text; no pattern backtracks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple

import cel
import msgspec

EXPRESSION_CHARACTERS_MAX = 4_096
EXPRESSION_TOKENS_MAX = 1_000
NESTING_LEVELS_MAX = 32
# The package recurses on the stack of the thread, of which there may be little.
DATA_LEVELS_MAX = 64
# What all patterns of an expression together may amount to, in states of an automaton: they are
# built anew for every message, and 1,000 states take about a millisecond.
PATTERN_STATES_MAX = 1_000
# States times KiB of text. A pattern made for that costs about 30 µs for each.
PATTERN_WORK_MAX = 1_024
# About a quarter of a microsecond for each; measured on what it takes to hand a value over.
WORK_MAX = 65_536
WORK_PER_ITEM = 2
WORK_PER_KEY = 16
WORK_PER_PART = 8  # on top for an item that is a decimal number, a text, a list or an object
WORK_PER_KIB = 16
# How many joins (`+`) copy a value as often as it was handed over.
JOINS_PER_COPY = 8

NO_MATCH = "the filter says no"
TOO_LARGE = "the record is too large for this expression"

# Their number of arguments. Methods are written behind a value: message.deviceName.contains("a").
FUNCTIONS = {
    "has": 1,
    "size": 1,
    "int": 1,
    "uint": 1,
    "double": 1,
    "string": 1,
    "bytes": 1,
    "timestamp": 1,
    "duration": 1,
    "type": 1,
    "dyn": 1,
}
METHODS = {
    "size": 0,
    "contains": 1,
    "startsWith": 1,
    "endsWith": 1,
    "matches": 1,
    "getFullYear": 0,
    "getMonth": 0,
    "getDayOfYear": 0,
    "getDayOfMonth": 0,
    "getDate": 0,
    "getDayOfWeek": 0,
    "getHours": 0,
    "getMinutes": 0,
    "getSeconds": 0,
    "getMilliseconds": 0,
}
LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
KEYWORDS = frozenset({"true", "false", "null", "in"})
# Names of types, to compare with: type(message.data) == string.
TYPES = frozenset(
    {"int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"}
)


class BadExpression(Exception):
    """An expression that cannot be used: why, and where."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


class EvaluationError(Exception):
    """This expression has no value for this message; the text says why, in a few words."""


class Expression:
    """An expression that was checked and can be evaluated as often as needed, in any thread."""

    def __init__(self, source: str) -> None:
        tokens = _tokens(source)
        _check(source, tokens)
        _compiled(source, tokens)
        written = _Rewriting(source, tokens)
        self.source = source
        self._leaves = tuple(written.leaves.values())
        self._patterns = written.patterns
        self._joins = sum(token.text == "+" for token in tokens)
        try:
            self._program = cel.compile(written.text)
        except Exception:
            # The one thing that a name in place of `message.a` cannot stand for: has((message.a)).
            place = next((token.at for token in tokens if token.text == "has"), 0)
            raise _bad(source, place, WHAT_HAS_TAKES) from None

    def evaluate(self, message: Mapping[str, Any], *, share: float = 1.0) -> Any:
        """The value for this message, as plain Python; `EvaluationError` when there is none.

        `share` is how much of the work that one expression may cost is this one's.
        """
        root = message if isinstance(message, dict) else dict(message)
        values: dict[str, Any] = {}
        for leaf in self._leaves:
            try:
                values[leaf.variable] = leaf.find(root)
            except LookupError:
                # Nothing is wrong yet: the expression may not get there, or ask for it with has().
                continue
        self._weigh(values, share)
        try:
            return self._program.execute(values)
        except Exception as error:
            raise EvaluationError(self._reason(error, root)) from None
        except BaseException as error:
            # A panic of the package is no Exception, and no reason to end the process either.
            if type(error).__name__ != "PanicException":
                raise
            raise EvaluationError("it cannot be evaluated") from None

    def matches(self, message: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether the message is wanted; if not, why."""
        try:
            value = self.evaluate(message)
        except EvaluationError as error:
            return False, str(error)
        if value is True:
            return True, ""
        if value is False:
            return False, NO_MATCH
        return False, f"the filter gives {_kind(value)}, not true or false"

    def _weigh(self, values: Mapping[str, Any], share: float) -> None:
        work = 0.0
        text_kib = len(self.source) / 1_024
        for leaf in self._leaves:
            value = values.get(leaf.variable)
            if isinstance(value, str):
                kib = len(value) / 1_024
                work += leaf.uses * (1 + WORK_PER_KIB * kib)
            elif isinstance(value, (dict, list)):
                units, kib = _weight(value)
                work += leaf.uses * (units + WORK_PER_KIB * kib)
            else:
                continue
            text_kib += leaf.uses * kib
        searched = 0.0
        for pattern in self._patterns:
            value = values.get(pattern.variable or "")
            kib = len(value) / 1_024 if isinstance(value, str) else text_kib
            searched += pattern.states * kib
        work *= 1 + self._joins / JOINS_PER_COPY
        if work > share * WORK_MAX or searched > share * PATTERN_WORK_MAX:
            raise EvaluationError(TOO_LARGE)

    def _reason(self, error: Exception, message: dict[str, Any]) -> str:
        said = str(error)
        for pattern, words in REASONS.get(type(error), ()):
            if found := re.match(pattern, said):
                named = found.groupdict()
                if "variable" in named:
                    return self._missing(named["variable"], message)
                return words.format_map(named).replace("float", "double")
        return "it cannot be evaluated"

    def _missing(self, variable: str, message: dict[str, Any]) -> str:
        leaf = next(leaf for leaf in self._leaves if leaf.variable == variable)
        value: Any = message
        for length, step in enumerate(leaf.path):
            here, there = _spelled(leaf.path[:length]), _spelled(leaf.path[: length + 1])
            if not isinstance(value, _container(step)):
                return f"there is no {there}: {here} is {_kind(value)}"
            try:
                value = value[step]
            except LookupError:
                break
        return f"there is no {there}"


def message_of(kind: str, body: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """What expressions see of a record: its fields, its kind, and its device when it was stored.

    `body` is the record as it is answered; `context` has deviceName, deviceType and tags.
    """
    message: dict[str, Any] = {**context, **msgspec.json.decode(body), "kind": kind}
    data = message.get("data")
    if data is not None:
        # What is no JSON, or nested beyond reason, stays the text it is.
        with suppress(ValueError, RecursionError):
            message["data"] = msgspec.json.decode(data)
    return message


# What is read before the package sees it.

ESCAPED = r"(?:\\[\s\S]|[^\\])*?"
TOKEN = re.compile(
    rf"""
      (?P<blank> [ \t\r\n\f]+ | //[^\n]* )
    | (?P<bytes> [bB] (?= [rR]?["'] ) )?
      (?P<text>
          [rR] (?: \"""[\s\S]*?\""" | '''[\s\S]*?''' | "[^"\r\n]*" | '[^'\r\n]*' )
        | \"""{ESCAPED}\""" | '''{ESCAPED}'''
        | "(?:\\[^\r\n]|[^"\\\r\n])*" | '(?:\\[^\r\n]|[^'\\\r\n])*'
      )
    | (?P<number>
          0x[0-9a-fA-F]+[uU]?
        | (?: [0-9]+\.[0-9]+ | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?
        | [0-9]+[eE][+-]?[0-9]+
        | [0-9]+[uU]?
      )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<sign> == | != | <= | >= | && | \|\| | [-+*/%!<>?:.,()\[\]{{}}] )
    """,
    re.VERBOSE,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
WHAT_HAS_TAKES = "has() takes a field, as in has(message.data)"


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def _bad(source: str, at: int, reason: str) -> BadExpression:
    begin = source.rfind("\n", 0, at) + 1
    return BadExpression(reason, source.count("\n", 0, at) + 1, at - begin + 1)


def _tokens(source: str) -> list[_Token]:
    if len(source) > EXPRESSION_CHARACTERS_MAX:
        raise _bad(
            source,
            EXPRESSION_CHARACTERS_MAX,
            f"an expression has at most {EXPRESSION_CHARACTERS_MAX:,} characters",
        )
    tokens: list[_Token] = []
    at = 0
    while at < len(source):
        found = TOKEN.match(source, at)
        if found is None:
            what = "this text has no end" if source[at] in "\"'" else "unexpected character"
            raise _bad(source, at, what)
        kind = found.lastgroup or ""
        if kind != "blank":
            kind = "bytes" if found["bytes"] else kind
            tokens.append(_Token(kind, found[0], at))
        at = found.end()
    if not tokens:
        raise _bad(source, 0, "an expression is needed")
    if len(tokens) > EXPRESSION_TOKENS_MAX:
        raise _bad(
            source,
            tokens[EXPRESSION_TOKENS_MAX].at,
            f"an expression has at most {EXPRESSION_TOKENS_MAX:,} words and signs",
        )
    return tokens


def _check(source: str, tokens: Sequence[_Token]) -> None:
    """Refuse what is no part of the language here, whether or not the rest is well formed."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.kind == "name" and token.text not in KEYWORDS:
            _check_name(source, tokens, index)
        elif token.text == "." and not _ends_value(tokens, index - 1):
            raise _bad(source, token.at, "unexpected '.'")
        elif token.text in OPENING:
            depth += 1
            if depth > NESTING_LEVELS_MAX:
                raise _bad(source, token.at, f"nested deeper than {NESTING_LEVELS_MAX} levels")
        elif token.text in OPENING.values():
            depth -= 1


def _check_name(source: str, tokens: Sequence[_Token], index: int) -> None:
    name, at = tokens[index].text, tokens[index].at
    is_behind_dot = _text(tokens, index - 1) == "."
    following = _text(tokens, index + 1)
    if following == "{":
        raise _bad(source, tokens[index + 1].at, "unexpected '{'")
    if following == "(":
        known = METHODS if is_behind_dot else FUNCTIONS
        if name in LOOPS:
            raise _bad(source, at, f"{name}() is not available: expressions have no loops")
        if name not in known:
            what = "method" if is_behind_dot else "function"
            raise _bad(
                source, at, f"there is no {what} {name}(); there are {', '.join(sorted(known))}"
            )
        number = _argument_count(tokens, index + 1)
        if number not in (None, known[name]):
            raise _bad(source, at, f"{name}() takes {known[name] or 'no'} argument, not {number}")
    elif not is_behind_dot and name != "message" and name not in TYPES:
        raise _bad(
            source, at, f"there is no '{name}'; all there is is in message, as message.{name}"
        )


def _text(tokens: Sequence[_Token], index: int) -> str:
    """What is written there; nothing outside of the expression, or where it is text in quotes."""
    if not 0 <= index < len(tokens) or tokens[index].kind in ("text", "bytes"):
        return ""
    return tokens[index].text


def _ends_value(tokens: Sequence[_Token], index: int) -> bool:
    if index < 0:
        return False
    kind, text, _ = tokens[index]
    return text in OPENING.values() if kind == "sign" else text != "in"


def _argument_count(tokens: Sequence[_Token], opening: int) -> int | None:
    """How many there are between these parentheses; None if they do not close."""
    depth = commas = 0
    for index in range(opening, len(tokens)):
        text = _text(tokens, index)
        if text in OPENING:
            depth += 1
        elif text in OPENING.values():
            depth -= 1
            if depth == 0:
                return 0 if index == opening + 1 else commas + 1
        elif text == "," and depth == 1:
            commas += 1
    return None


def _compiled(source: str, tokens: Sequence[_Token]) -> None:
    """Let the package read the expression as it was written, for the sake of positions."""
    try:
        cel.compile(source)
    except ValueError as error:
        raise _syntax_error(source, tokens, str(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _bad(source, 0, "this is not understood") from None


COMPLAINT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
LITERAL = re.compile(r"invalid (int|uint|double|string|bytes) literal")


def _syntax_error(source: str, tokens: Sequence[_Token], said: str) -> BadExpression:
    # The package repeats the source first, which may look like one of its complaints.
    complaints = COMPLAINT.findall(said.partition(f"'{source}': ")[2])
    if not complaints:
        return _bad(source, 0, "this is not understood")
    syntax = [complaint for complaint in complaints if complaint[2].startswith("Syntax")]
    line, column, words = (syntax or complaints)[0]
    place = int(line), int(column)
    return BadExpression(_complaint(source, tokens, place, words), *place)


def _complaint(source: str, tokens: Sequence[_Token], place: tuple[int, int], words: str) -> str:
    if "Recursion limit" in words:
        return "nested too deeply"
    if "has() macro" in words:
        return WHAT_HAS_TAKES
    if literal := LITERAL.search(words):
        return f"this is no valid {literal[1]}"
    if missing := re.search(r"missing ('.') at", words):
        return f"{missing[1]} is missing"
    for token in tokens:
        here = _bad(source, token.at, "")
        if (here.line, here.column) == place:
            return f"unexpected {token.text}"
    return "the expression ends too early"


# What the package is given to evaluate.


@dataclass(slots=True)
class _Leaf:
    """A value that the expression names: `message.data.temp`, or has(message.data.temp)."""

    variable: str
    path: tuple[str | int, ...]
    is_test: bool
    uses: int = 0

    def find(self, message: dict[str, Any]) -> Any:
        value: Any = message
        path = self.path
        for step in path[:-1] if self.is_test else path:
            # Only what CEL can index as well: "abc"[0] is an error there.
            if not isinstance(value, _container(step)):
                raise LookupError
            value = value[step]
        if not self.is_test:
            return value
        if not isinstance(value, dict):
            raise LookupError
        return path[-1] in value


def _container(step: str | int) -> Any:
    return dict if isinstance(step, str) else list


class _Pattern(NamedTuple):
    variable: str | None  # what it is looked for in, if that is a leaf
    states: int


class _Rewriting:
    """The expression with a name in place of everything that it reads from the message."""

    def __init__(self, source: str, tokens: Sequence[_Token]) -> None:
        self.leaves: dict[tuple[bool, tuple[str | int, ...]], _Leaf] = {}
        self.patterns: list[_Pattern] = []
        self._source = source
        self._tokens = tokens
        self.text = " ".join(self._pieces())
        if sum(pattern.states for pattern in self.patterns) > PATTERN_STATES_MAX:
            place = next(token.at for token in tokens if token.text == "matches")
            raise _bad(source, place, "the patterns of this expression are too large")

    def _pieces(self) -> Iterator[str]:
        index = 0
        last_leaf: str | None = None
        while index < len(self._tokens):
            name = self._name(index)
            if name in ("has", "message"):
                leaf, end = self._leaf(index + 2 if name == "has" else index, name == "has")
                if leaf is not None:
                    last_leaf, index = leaf, end
                    yield leaf
                    continue
            elif name == "duration":
                self.patterns.append(_Pattern(None, 1))  # it reads about as slowly as a pattern
            elif self._is_call(index, "matches"):
                yield from ("matches", "(", self._pattern(index + 2, last_leaf))
                index += 3
                last_leaf = None
                continue
            if self._tokens[index].text != ".":
                last_leaf = None
            yield self._tokens[index].text
            index += 1

    def _name(self, index: int) -> str:
        token = self._tokens[index]
        is_free = token.kind == "name" and _text(self._tokens, index - 1) != "."
        return token.text if is_free else ""

    def _is_call(self, index: int, name: str) -> bool:
        return _text(self._tokens, index) == name and _text(self._tokens, index + 1) == "("

    def _leaf(self, begin: int, is_test: bool) -> tuple[str | None, int]:
        """The variable for what begins at this token, and where the expression goes on."""
        if begin >= len(self._tokens) or self._name(begin) != "message":
            return None, begin
        path, end = self._path(begin + 1)
        if is_test:
            is_field = _text(self._tokens, end - 2) == "." and _text(self._tokens, end) == ")"
            if not is_field:
                return None, begin
            end += 1
        leaf = self.leaves.setdefault((is_test, path), _Leaf(f"v{len(self.leaves)}", path, is_test))
        leaf.uses += 1
        return leaf.variable, end

    def _path(self, index: int) -> tuple[tuple[str | int, ...], int]:
        tokens = self._tokens
        path: list[str | int] = []
        while True:
            sign = _text(tokens, index)
            if sign == "." and _text(tokens, index + 2) != "(":
                path.append(tokens[index + 1].text)
                index += 2
            elif sign == "[" and _text(tokens, index + 2) == "]":
                kind, text, _ = tokens[index + 1]
                if kind == "text":
                    path.append(cel.evaluate(text))
                elif kind == "number" and text.isdecimal():
                    path.append(int(text))
                else:
                    break
                index += 3
            else:
                break
        return tuple(path), index

    def _pattern(self, index: int, variable: str | None) -> str:
        token = self._tokens[index]
        if token.kind != "text" or _text(self._tokens, index + 1) != ")":
            raise _bad(self._source, token.at, "a pattern is a text in quotes, nothing else")
        try:
            pattern, states = _read_pattern(cel.evaluate(token.text))
            literal = _literal(pattern)
            if states <= PATTERN_STATES_MAX:
                cel.evaluate(f'"".matches({literal})')
        except _BadPattern as error:
            raise _bad(self._source, token.at, f"not a pattern: {error}") from None
        except Exception as error:
            why = re.search(r"error: ([^.\n]*)\. Check", str(error))
            words = f"not a pattern: {why[1]}" if why else "not a pattern"
            raise _bad(self._source, token.at, words) from None
        self.patterns.append(_Pattern(variable, states))
        return literal


def _literal(text: str) -> str:
    plain = (c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'


def _spelled(path: Sequence[str | int]) -> str:
    return "message" + "".join(
        f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]"
        for step in path
    )


def _weight(value: Any) -> tuple[float, float]:
    """What it costs to hand over a list or an object: its parts, and its text in KiB."""
    units = characters = 0
    level = [value]
    for _ in range(DATA_LEVELS_MAX):
        below: list[Any] = []
        for part in level:
            if part is None or isinstance(part, int):
                continue
            units += WORK_PER_PART
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                units += WORK_PER_KEY * len(part)
                characters += sum(map(len, part))
                below.extend(part.values())
            elif isinstance(part, list):
                units += WORK_PER_ITEM * len(part)
                below.extend(part)
        if not below or units > WORK_MAX:
            return units, characters / 1_024
        level = below
    return inf, 0


# Patterns, in the syntax of RE2. The engine knows more: in some of it hides a lot of work, in some
# a mistake, since `\w` means every letter of every script there.

PATTERN_TOKEN = re.compile(
    r"""
      (?P<escape> \\ (?: [pP]\{[^}]*\} | [pP]. | x\{[^}]*\} | . ) )
    | (?P<set> \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^]\\[] )* \] )
    | (?P<flags> \(\? [imsU]* (?: -[imsU]+ )? \) )
    | (?P<open> \( (?: \?P?<\w+> | \? [imsU]* (?: -[imsU]+ )? : | (?! \? ) ) )
    | (?P<close> \) )
    | (?P<either> \| )
    | (?P<again> (?: [*+?] | \{ (?P<least> [0-9]*) (?: , (?P<most> [0-9]*) )? \} ) \?? )
    | (?P<any> \. )
    | (?P<other> [^][\\(){}] )
    """,
    re.VERBOSE | re.DOTALL,
)
ASCII_SETS = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r\x20"}
STATES_OF_ANY = 10
STATES_OF_SCRIPT = 400
# Not so much states as time: every character of a wide range is looked up in its other case.
STATES_OF_CASES = 800


class _BadPattern(Exception):
    pass


def _read_pattern(pattern: str) -> tuple[str, int]:
    """The same pattern in the words of the engine, and how many states it amounts to."""
    out: list[str] = []
    # For every group that is open: the states before its last part, and those of its last part.
    groups = [[0, 0]]
    ignores_case = re.search(r"\(\?[msU]*i", pattern) is not None
    at = 0
    while at < len(pattern):
        found = PATTERN_TOKEN.match(pattern, at)
        if found is None:
            raise _BadPattern(f"{pattern[at : at + 3]} at {at + 1} is not understood")
        at = found.end()
        text = found[0]
        group = groups[-1]
        match found.lastgroup:
            case "again":
                counts = [int(count) for count in (found["least"], found["most"]) if count]
                group[1] = group[1] * max([1, *counts]) + 1
            case "open":
                groups.append([0, 0])
            case "close":
                if len(groups) == 1:
                    raise _BadPattern("unopened group")
                groups.pop()
                groups[-1][0] += groups[-1][1]
                groups[-1][1] = sum(group) + 1
            case kind:
                text, states = _part(kind or "", text, ignores_case)
                group[0] += group[1]
                group[1] = states
        out.append(text)
    return "".join(out), sum(map(sum, groups))


def _part(kind: str, text: str, ignores_case: bool) -> tuple[str, int]:
    if kind == "escape":
        return _escape(text)
    if kind == "set":
        return _set(text, ignores_case)
    if kind == "any":
        return text, STATES_OF_ANY
    return text, len(text.encode())


def _set(text: str, ignores_case: bool) -> tuple[str, int]:
    translated = re.sub(r"\\.", lambda found: _escape_in_set(found[0]), text, flags=re.DOTALL)
    spans = [ord(last) - ord(first) for first, last in re.findall(r"(.)-(.)", text, re.DOTALL)]
    if re.search(r"\\[pP]", text):
        return translated, STATES_OF_SCRIPT
    if re.search(r"\\[DWSxuU]|\[:\^", text) or max(spans, default=0) > 255:
        return translated, STATES_OF_CASES if ignores_case else STATES_OF_ANY
    return translated, 1 if text.isascii() and text[1] != "^" else STATES_OF_ANY


def _escape(text: str) -> tuple[str, int]:
    letter = text[1]
    if letter in "pP":
        return text, STATES_OF_SCRIPT
    if letter in "bB":
        return f"(?-u:{text})", 1
    if letter in ASCII_SETS:
        return f"[{ASCII_SETS[letter]}]", 1
    if letter.lower() in ASCII_SETS:
        return f"[^{ASCII_SETS[letter.lower()]}]", STATES_OF_ANY
    return text, len(text)


def _escape_in_set(text: str) -> str:
    letter = text[1]
    if letter in ASCII_SETS:
        return ASCII_SETS[letter]
    return f"[^{ASCII_SETS[letter.lower()]}]" if letter.lower() in ASCII_SETS else text


# Reasons, out of the package's errors: never with a value of the record in them.

CONVERT = "convert with int(), double() or string()"
REASONS: Mapping[type[Exception], Sequence[tuple[str, str]]] = {
    KeyError: [(r"", "there is no such key")],
    IndexError: [(r"", "there is no such element")],
    ZeroDivisionError: [(r"", "it divides by zero")],
    OverflowError: [(r"", "a number is out of range")],
    TypeError: [
        (
            r"Unsupported operation: (?P<left>\w+) (?P<sign>.) (?P<right>\w+)\.",
            "{left} {sign} {right} is not defined; " + CONVERT,
        ),
        (r"", "values of these kinds do not go together; " + CONVERT),
    ],
    RuntimeError: [
        (r"Undefined variable or function: '(?P<variable>v\d+)'", ""),
        (r"Function '(?P<function>\w+)' error", "{function}() cannot take this value"),
    ],
}
KINDS: Sequence[tuple[type | tuple[type, ...], str]] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a text"),
    (list, "a list"),
    (dict, "an object"),
    (bytes, "bytes"),
    (datetime, "a timestamp"),
    (timedelta, "a duration"),
)


def _kind(value: Any) -> str:
    return next((name for kind, name in KINDS if isinstance(value, kind)), "null")
