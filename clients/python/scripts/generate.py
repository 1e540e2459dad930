"""Writes the generated files of the client; run it again whenever the API has changed.

    .venv/bin/python clients/python/scripts/generate.py

- models.py, from the schemas of the OpenAPI document;
- _async/nouns.py, from its operations and from clients/surface.toml;
- _sync/, from the files of _async, without `async` and `await`.

The document comes from the code of the service beside us, which need not run for that.
"""

import keyword
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

Json = dict[str, Any]

PACKAGE = Path(__file__).parents[1] / "src" / "longwire_client"
SURFACE = Path(__file__).parents[2] / "surface.toml"

# Strings of requests with JSON in them.
JSON_TEXTS = {"data", "configuration", "params"}
# A member whose type depends on another one: schema, member, the other one, and its values.
ONE_OF = {
    "Arrival": (
        "record",
        "kind",
        {
            "data": "DeviceData",
            "event": "DeviceEvent",
            "geoloc": "DeviceGeoloc",
            "telemetry": "DeviceTelemetry",
        },
    )
}
MADE = '"""{what}\n\nMade by scripts/generate.py; do not edit.\n"""\n\n'

# A member of this name would hide it from the types of those below.
_USED_IN_TYPES = frozenset(("list", "dict"))


def build_openapi() -> Json:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        document = App(settings, build_database(settings, Clock())[0]).build_openapi()
    words = {
        f"#/components/schemas/{name}": schema
        for name, schema in document["components"]["schemas"].items()
        if "enum" in schema
    }
    document = _inline(document, words)
    for ref in words:
        del document["components"]["schemas"][ref.rpartition("/")[2]]
    return document


def _inline(node: Any, words: Mapping[str, Json]) -> Any:
    """The same with sets of words in place of references to them."""
    if isinstance(node, list):
        return [_inline(each, words) for each in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _inline(value, words) for key, value in node.items()}
    if plain.get("$ref") in words:
        named = words[plain.pop("$ref")]
        return {**plain, "type": named["type"], "enum": named["enum"], "title": named["title"]}
    return plain


def list_words(node: Any) -> Iterator[tuple[str, list[str]]]:
    """The named sets of words within a node."""
    if isinstance(node, list):
        for each in node:
            yield from list_words(each)
    elif isinstance(node, dict):
        if "title" in node and "enum" in node:
            yield node["title"], node["enum"]
        yield from list_words(list(node.values()))


# --- names and texts ---


def to_snake(name: str) -> str:
    """`device_id` for deviceId, `raw` for __raw, `from_` for From."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("_")).lower()
    return f"{words}_" if keyword.iskeyword(words) or words in _USED_IN_TYPES else words


def to_docstring(text: str, indent: str) -> str:
    clean = text.strip().replace("\\", "\\\\").replace('"""', "'''")
    width = 96 - len(indent)
    paragraphs = re.split(r"\n\s*\n", clean)
    wrapped = ["\n".join(textwrap.wrap(each, width, break_on_hyphens=False)) for each in paragraphs]
    lines = "\n\n".join(each for each in wrapped if each).split("\n")
    if len(lines) == 1:
        ending = " " if lines[0].endswith('"') else ""
        return f'{indent}"""{lines[0]}{ending}"""'
    body = "\n".join(f"{indent}{line}".rstrip() for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}\n{indent}"""'


def ref_name(schema: Json) -> str | None:
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else None


def options_of(schema: Json) -> list[Json]:
    """The alternatives of a schema, nested ones included."""
    nested = schema.get("anyOf") or schema.get("oneOf")
    if nested:
        return [each for option in nested for each in options_of(option)]
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": each} for each in schema["type"]]
    return [schema]


def description_of(schema: Json) -> str:
    found = [schema, *options_of(schema)]
    return next((each["description"] for each in found if each.get("description")), "")


# --- types ---


@dataclass(frozen=True)
class Types:
    """Python types for schemas: of what is sent, or of what is received."""

    is_input: bool
    prefix: str = ""  # of the names of models
    array: str = "list"

    def of(self, schema: Json, *, is_optional: bool = False, name: str = "") -> str:
        options = options_of(schema)
        kinds = {each.get("type") for each in options} - {"null"}
        is_nullable = is_optional or len(kinds) < len({each.get("type") for each in options})
        if self.is_input and "x-date" in schema:
            found = ["When"]
        elif self.is_input and kinds == {"string"} and name in JSON_TEXTS:
            found = ["JsonText"]
        else:
            found = list(dict.fromkeys(self._plain(each) for each in options))
            found = [each for each in found if each != "None"]
            if len(found) > 1 and any(ref_name(each) for each in options):
                found = ["Any"]
        return " | ".join([*found, "None"] if is_nullable and found != ["Any"] else found)

    def _plain(self, schema: Json) -> str:
        name = ref_name(schema)
        if name is not None:
            return self.prefix + name
        if "enum" in schema or "const" in schema:
            return self._enum(schema.get("enum", [schema.get("const")]))
        match schema.get("type"):
            case "string":
                return "datetime" if self._is_time(schema) else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "null":
                return "None"
            case "array":
                kind = "Sequence" if self.is_input else self.array
                return f"{kind}[{self.of(schema['items']) if schema.get('items') else 'Any'}]"
            case "object":
                return self._object(schema)
            case _:
                return "Any"

    def _enum(self, values: list[Any]) -> str:
        """Fixed words; in a response any word, because a newer service may know more."""
        if self.is_input or not all(isinstance(each, str) for each in values):
            return f"Literal[{', '.join(map(repr, values))}]"
        return "str"

    def _is_time(self, schema: Json) -> bool:
        return schema.get("format") == "date-time" and not self.is_input

    def _object(self, schema: Json) -> str:
        more = schema.get("additionalProperties")
        value = self.of(more) if isinstance(more, dict) and more else "Any"
        return f"{'Mapping' if self.is_input else 'dict'}[str, {value}]"


# Not `list`: that is a method of most nouns.
REPLY_TYPES = Types(is_input=False, prefix="m.", array="Sequence")


# --- models ---


@dataclass(frozen=True)
class Models:
    """models.py"""

    document: Json

    @property
    def schemas(self) -> Mapping[str, Json]:
        return self.document["components"]["schemas"]

    @cached_property
    def inputs(self) -> set[str]:
        """Schemas that occur in requests, and in no response."""
        sent, received = set[str](), set[str]()
        for _, operation in operations(self.document):
            sent |= self._reachable(operation.get("requestBody", {}))
            received |= self._reachable(operation["responses"])
        return sent - received

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """What requests may say, by name; a response may have words of a newer service."""
        parameters = [each.get("parameters", []) for _, each in operations(self.document)]
        return dict(list_words([parameters, [self.schemas[name] for name in self.inputs]]))

    def _reachable(self, node: Any) -> set[str]:
        waiting, found = [node], set[str]()
        while waiting:
            match waiting.pop():
                case {"$ref": str(ref)} as schema:
                    name = ref.rpartition("/")[2]
                    if name not in found:
                        found.add(name)
                        waiting.append(self.schemas[name])
                    waiting += [value for key, value in schema.items() if key != "$ref"]
                case dict() as mapping:
                    waiting += [
                        value
                        for key, value in mapping.items()
                        if key not in ("example", "examples", "description")
                    ]
                case list() as items:
                    waiting += items
        return found

    def render(self) -> str:
        parts = [MADE.format(what="The values of the API.")]
        parts.append(
            "from __future__ import annotations\n\n"
            "from collections.abc import Mapping, Sequence\n"
            "from datetime import datetime\n"
            "from typing import TYPE_CHECKING, Any, Literal\n\n"
            "import msgspec\nfrom msgspec import field\n\n"
            "from longwire_client._bases import Input, Model, OneOf\n"
            "from longwire_client.calls import JsonText, When\n\n"
        )
        parts += [f"{name} = Literal{words!r}\n" for name, words in sorted(self.words.items())]
        parts += [self._model(name, self.schemas[name]) for name in sorted(self.schemas)]
        for name, (member, _, options) in ONE_OF.items():
            table = ", ".join(
                f'"{word}": msgspec.json.Decoder({model})' for word, model in options.items()
            )
            union = " | ".join(options.values())
            parts.append(
                f"\n\nif TYPE_CHECKING:\n    {name}{member.title()} = {union}\n"
                f"else:  # decoded as soon as it is known what it is\n"
                f"    {name}{member.title()} = msgspec.Raw\n"
                f"{name}.options = {{{table}}}\n"
            )
        return "".join(parts)

    def _model(self, name: str, schema: Json) -> str:
        if name in ONE_OF:
            base = "OneOf"
        else:
            base = "Input" if name in self.inputs else "Model"
        lines = [f"\n\nclass {name}({base}, frozen=True, kw_only=True, omit_defaults=True):"]
        lines.append(to_docstring(schema.get("description") or name, "    "))
        lines += self._fields(name, schema, Types(base == "Input"))
        return "\n".join([*lines, ""])

    def _fields(self, name: str, schema: Json, types: Types) -> Iterator[str]:
        required = set(schema.get("required", ()))
        taken = set[str]()
        texts, times = list[str](), list[str]()
        for wire, each in schema.get("properties", {}).items():
            snake = to_snake(wire)
            if snake in taken:  # two spellings of one thing, such as nbBs and nbBS
                continue
            taken.add(snake)
            kind = types.of(each, is_optional=wire not in required, name=wire)
            if name in ONE_OF and ONE_OF[name][0] == wire:
                kind = f"{name}{wire.title()}"
            texts += [snake] if "JsonText" in kind else []
            times += [snake] if kind.startswith("When") else []
            arguments = [] if wire in required else ["default=None"]
            arguments += [f'name="{wire}"'] if wire != snake else []
            if not arguments:
                default = ""
            elif arguments == ["default=None"]:
                default = " = None"
            else:
                default = f" = field({', '.join(arguments)})"
            yield f"\n    {snake}: {kind}{default}"
            if description := description_of(each):
                yield to_docstring(description, "    ")
        if texts:
            yield f"\n    json_fields = {tuple(texts)!r}"
        if times:
            yield f"\n    time_fields = {tuple(times)!r}"
        if name in ONE_OF:
            yield f'\n    chosen = "{ONE_OF[name][0]}"\n    chooser = "{ONE_OF[name][1]}"'


# --- nouns ---


def operations(document: Json) -> Iterator[tuple[str, Json]]:
    """(`GET /device`, its entry)"""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


@dataclass(frozen=True)
class Argument:
    """A parameter of a method."""

    wire: str
    name: str
    type: str
    is_required: bool
    is_query: bool

    def render(self) -> str:
        return f"{self.name}: {self.type}{'' if self.is_required else ' = None'}"


@dataclass(frozen=True)
class Method:
    """One method of a noun."""

    name: str
    call: str
    operation: Json
    models: Models
    first: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False

    # --- what it takes ---

    @cached_property
    def arguments(self) -> list[Argument]:
        """Required ones first; the first of all is the one that comes by position."""
        found = [*self._query(), *self._body_fields()]
        assert len({each.name for each in found}) == len(found), self.call
        return sorted(found, key=lambda each: (each.wire != self.first, not each.is_required))

    def _query(self) -> Iterator[Argument]:
        types = Types(is_input=True)
        for each in self.operation.get("parameters", ()):
            if each["in"] != "query" or (self.paged and each["name"] == "nextToken"):
                continue
            wire, is_required = each["name"], each.get("required", False)
            kind = types.of(each["schema"], is_optional=not is_required)
            name = "pageSize" if self.paged and wire == "limit" else self.rename.get(wire, wire)
            yield Argument(wire, to_snake(name), kind, is_required, True)

    @cached_property
    def _body(self) -> tuple[str, Json] | None:
        content = self.operation.get("requestBody", {}).get("content", {})
        for media_type in ("application/json", *content):
            if media_type in content:
                return media_type, content[media_type]["schema"]
        return None

    @property
    def _body_model(self) -> str | None:
        # The templates of networks are free, so their messages are mappings.
        is_free = "Networks" in self.operation["tags"]
        return ref_name(self._body[1]) if self._body and not is_free else None

    def _body_fields(self) -> Iterator[Argument]:
        if self._body is None:
            return
        if self._body_model is None:
            is_json = self._body[0] == "application/json"
            name, kind = ("message", "Mapping[str, Any]") if is_json else ("text", "str | bytes")
            yield Argument("", name, kind, True, False)
            return
        schema = self.models.schemas[self._body_model]
        types = Types(self._body_model in self.models.inputs, prefix="m.")
        required = schema.get("required", ())
        names = set[str]()
        for wire, each in schema["properties"].items():
            snake = to_snake(self.rename.get(wire, wire))
            if snake not in names:
                names.add(snake)
                kind = types.of(each, is_optional=wire not in required, name=wire)
                yield Argument(wire, snake, kind, wire in required, False)

    # --- what it returns ---

    @cached_property
    def _reply(self) -> Json:
        return self.operation["responses"]["200"].get("content", {})

    @property
    def _is_stream(self) -> bool:
        return "application/json" not in self._reply

    @cached_property
    def _reply_schema(self) -> Json:
        return options_of(self._reply["application/json"]["schema"])[0]

    @cached_property
    def paged(self) -> str | None:
        """The member with the items, if the list has pages."""
        names = {each["name"] for each in self.operation.get("parameters", ())}
        model = None if self._is_stream else ref_name(self._reply_schema)
        if "nextToken" not in names or model is None:
            return None
        members = self.models.schemas[model]["properties"].items()
        return next(name for name, each in members if each.get("type") == "array")

    # --- the code ---

    def render(self) -> str:
        first, *others = self.arguments or [None]
        parameters = ["self"]
        if first is not None:
            parameters += [first.render()] if first.is_required or self.first else []
            others = others if len(parameters) > 1 else [first, *others]
        if others:
            parameters += ["*", *(each.render() for each in others if each)]
        awaited = not self.paged and not self._is_stream
        head = f"    {'async ' if awaited else ''}def {self.name}({', '.join(parameters)})"
        lines = [f"{head} -> {self._returned}:", to_docstring(self._doc, " " * 8)]
        lines += [f"        {line}" for line in self._statements()]
        return "\n".join(lines)

    @property
    def _doc(self) -> str:
        permission = self.operation.get("x-permission", "")
        needs = f"; needs `{permission}`" if "." in permission else ""
        size = "\n\n`page_size` is how many items one request gets." if self.paged else ""
        text = self.operation.get("description", "")
        return f"{self.operation['summary']}.\n\n{text}{size}\n\n`{self.call}`{needs}."

    @property
    def _model(self) -> str:
        return REPLY_TYPES.of(self._reply_schema)

    @property
    def _returned(self) -> str:
        if self._is_stream:
            return "AsyncIterator[bytes]"
        if self.paged:
            return f"AsyncPages[{self._item}, {self._model}]"
        is_list = self._reply_schema.get("type") == "array"
        return REPLY_TYPES.of(self._reply_schema["items"]) if is_list else self._model

    @property
    def _item(self) -> str:
        page = self.models.schemas[ref_name(self._reply_schema) or ""]
        return REPLY_TYPES.of(page["properties"][self.paged]["items"])

    def _statements(self) -> Iterator[str]:
        method, _, path = self.call.partition(" ")
        arguments = [f'"{method}"', f'"{path}"', "bytes" if self._is_stream else self._model]
        query = [each for each in self.arguments if each.is_query]
        if query:
            pairs = ", ".join(f'"{each.wire}": {each.name}' for each in query)
            arguments.append(f"query={{{pairs}}}")
        arguments += self._body_arguments()
        if self.repeatable or method == "GET":
            arguments.append("is_repeatable=True")
        reply = "bytes" if self._is_stream else self._model
        yield f"call: Call[{reply}] = Call({', '.join(arguments)})"
        if self._is_stream:
            yield "return self._stream(call)"
        elif self.paged:
            member = to_snake(self.paged)
            yield f"return AsyncPages(self._transport, call, lambda page: page.{member})"
        elif self._reply_schema.get("type") == "array":
            yield "return (await self._transport.request(call))[0]"
        else:
            yield "return await self._transport.request(call)"

    def _body_arguments(self) -> Iterator[str]:
        if self._body is None:
            return
        media_type = self._body[0]
        if self._body_model is not None:
            fields = [each for each in self.arguments if not each.is_query]
            values = ", ".join(f"{to_snake(each.wire)}={each.name}" for each in fields)
            yield f"body=encode(m.{self._body_model}({values}))"
        elif media_type == "application/json":
            yield "body=encode(message)"
        else:
            yield "body=text.encode() if isinstance(text, str) else text"
            yield f'media_type="{media_type}"'


@dataclass(frozen=True)
class Nouns:
    """_async/nouns.py"""

    document: Json
    surface: Mapping[str, Any]

    def render(self) -> str:
        models = Models(self.document)
        known = dict(operations(self.document))
        parts = [MADE.format(what="The nouns of the client, and their methods.")]
        parts.append(
            "from collections.abc import AsyncIterator, Mapping, Sequence\n"
            "from typing import Any, Literal\n\n"
            "from msgspec.json import encode\n\n"
            "from longwire_client import models as m\n"
            "from longwire_client._async.pages import AsyncPages\n"
            "from longwire_client._async.transport import AsyncTransport\n"
            "from longwire_client.calls import Call, JsonText, When\n\n\n"
            "class _Noun:\n"
            "    def __init__(self, transport: AsyncTransport) -> None:\n"
            "        self._transport = transport\n\n"
            "    async def _stream(self, call: Call[bytes]) -> AsyncIterator[bytes]:\n"
            "        async with self._transport.stream(call) as chunks:\n"
            "            async for chunk in chunks:\n"
            "                yield chunk\n"
        )
        nouns = {name: each for name, each in self.surface.items() if name != "left_out"}
        for noun, methods in nouns.items():
            parts.append(f"\n\nclass {class_name(noun)}(_Noun):\n")
            for name, given in methods.items():
                options = {"call": given} if isinstance(given, str) else given
                method = Method(name, operation=known[options["call"]], models=models, **options)
                parts.append(f"{method.render()}\n\n")
        parts.append(
            "\n\nclass AsyncNouns:\n    def __init__(self, transport: AsyncTransport) -> None:\n"
        )
        for noun in nouns:
            parts.append(f"        self.{noun} = {class_name(noun)}(transport)\n")
        return "".join(parts)


def class_name(noun: str) -> str:
    return "Async" + "".join(word.title() for word in noun.split("_"))


# --- the client without asyncio ---

_SYNC = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(Client|Transport|Pages|Live|Nouns|Writer|Iterator)\b", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\ba(close|read)\(", r"\1("),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\b_async\b", "_sync"),
)


def to_sync(source: str, nouns: list[str]) -> str:
    """The same without asyncio."""
    for pattern, replacement in _SYNC:
        source = re.sub(pattern, replacement, source)
    for noun in nouns:
        source = source.replace(class_name(noun), class_name(noun).removeprefix("Async"))
    return source


def generate() -> dict[Path, str]:
    """Every generated file."""
    document = build_openapi()
    surface = tomllib.loads(SURFACE.read_text())
    nouns = Nouns(document, surface).render()
    files = {
        PACKAGE / "models.py": Models(document).render(),
        PACKAGE / "_async" / "nouns.py": nouns,
    }
    sources = {
        path.name: path.read_text()
        for path in sorted((PACKAGE / "_async").glob("*.py"))
        if path.name not in ("runtime.py", "nouns.py", "__init__.py")
    }
    names = [name for name in surface if name != "left_out"]
    for name, source in {**sources, "nouns.py": nouns}.items():
        made = to_sync(source, names)
        if name != "nouns.py":
            made = f"# Made from _async/{name} by scripts/generate.py; do not edit.\n{made}"
        files[PACKAGE / "_sync" / name] = made
    files[PACKAGE / "_sync" / "__init__.py"] = (
        '"""The client without asyncio, made from `_async` by scripts/generate.py."""\n'
    )
    return {path: tidy(path, text) for path, text in files.items()}


def tidy(path: Path, source: str) -> str:
    """In the format of the project, with its imports in order."""
    ruff = [sys.executable, "-m", "ruff"]
    quiet = ["--quiet", "--stdin-filename", str(path), "-"]
    for command in (["check", "--fix-only"], ["format"]):
        done = subprocess.run(
            [*ruff, *command, *quiet], input=source, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"{path}: {done.stderr}")
        source = done.stdout
    return source


def main() -> None:
    for path, text in generate().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
