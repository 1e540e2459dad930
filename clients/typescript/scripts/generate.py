"""Writes the generated files of the client; run it again whenever the API has changed.

    .venv/bin/python clients/typescript/scripts/generate.py

- src/models.ts, from the schemas of the OpenAPI document;
- src/nouns.ts, from its operations and from clients/surface.toml.
"""

import re
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

Json = dict[str, Any]

SOURCES = Path(__file__).parents[1] / "src"
SURFACE = Path(__file__).parents[2] / "surface.toml"
MADE = "// {what} Made by scripts/generate.py; do not edit.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def build_openapi() -> Json:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        return App(settings, build_database(settings, Clock())[0]).build_openapi()


# --- types ---


def type_of(schema: Json, prefix: str = "") -> str:
    if "$ref" in schema:
        return prefix + str(schema["$ref"]).rpartition("/")[2]
    if "x-date" in schema:
        return "When"
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(type_of(each, prefix) for each in options))
    match schema.get("type"):
        case "array":
            inner = type_of(schema.get("items", {}), prefix)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case "object":
            return "Record<string, unknown>"
        case "null":
            return "null"
        case kind:
            return PLAIN.get(str(kind), "unknown")


def comment(text: str, indent: str) -> str:
    lines = [
        line
        for paragraph in re.split(r"\n\s*\n", text.strip().replace("*/", "* /"))
        for line in [*textwrap.wrap(paragraph, 96 - len(indent), break_on_hyphens=False), ""]
    ][:-1]
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


def render_models(document: Json) -> str:
    parts = [
        MADE.format(what="The values of the API."),
        'import type { When } from "./transport.js";\n',
    ]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts.append("\n" + comment(schema.get("description") or name, ""))
        if "enum" in schema:
            parts.append(f"export type {name} = {type_of(schema)};\n")
            continue
        required = set(schema.get("required", ()))
        parts.append(f"export interface {name} {{\n")
        for field, each in schema.get("properties", {}).items():
            parts.append(comment(each["description"], "  "))
            parts.append(f"  {field}{'' if field in required else '?'}: {type_of(each)};\n")
        parts.append("}\n")
    return "".join(parts)


# --- nouns ---


def to_camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def operations(document: Json) -> dict[str, Json]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


class Method:
    """One method of a noun."""

    def __init__(self, document: Json, name: str, given: str | Mapping[str, Any]) -> None:
        options: Mapping[str, Any] = {"call": given} if isinstance(given, str) else given
        self.name = to_camel(name)
        self.call: str = options["call"]
        self.schemas: Json = document["components"]["schemas"]
        self.operation: Json = operations(document)[self.call]
        self.rename: Mapping[str, str] = options.get("rename", {})
        self.is_repeatable = options.get("repeatable", False) or self.call.startswith("GET ")
        self.query = [
            each for each in self.operation.get("parameters", ()) if each["in"] == "query"
        ]
        content = self.operation.get("requestBody", {}).get("content", {})
        self.media_type = (
            "application/json" if "application/json" in content else next(iter(content), "")
        )
        self.is_free = "Networks" in self.operation["tags"]
        body = content.get(self.media_type, {}).get("schema", {})
        self.body = {} if self.is_free else self.schemas.get(type_of(body), {})
        reply = self.operation["responses"]["200"].get("content", {})
        self.is_stream = "application/json" not in reply
        self.reply: Json = reply.get("application/json", {}).get("schema", {})
        self.paged = self._paged_member()
        self.arguments = list(self._arguments())
        self.first = self._choose_first(options.get("first"))

    def _paged_member(self) -> str | None:
        if "nextToken" not in {each["name"] for each in self.query} or self.is_stream:
            return None
        members: Json = self.schemas[type_of(self.reply)]["properties"]
        return next(name for name, each in members.items() if each.get("type") == "array")

    def _arguments(self) -> Iterator[tuple[str, str, bool, str]]:
        """Wire name, type, whether it is required, and description."""
        if self.media_type and (self.is_free or self.media_type != "application/json"):
            kind = "Record<string, unknown>" if self.is_free else "string | Uint8Array<ArrayBuffer>"
            yield "", kind, True, "The body."
        for each in self.query:
            if not (self.paged and each["name"] == "nextToken"):
                kind = type_of(each["schema"], "m.")
                yield each["name"], kind, each["required"], each["description"]
        required = set(self.body.get("required", ()))
        for name, each in self.body.get("properties", {}).items():
            yield name, type_of(each, "m."), name in required, each["description"]

    def _choose_first(self, given: str | None) -> tuple[str, str, bool, str] | None:
        for each in self.arguments:
            if (each[0] == given) if given else each[2]:
                return each
        return None

    def render(self) -> str:
        others = [each for each in self.arguments if each is not self.first]
        parameters = []
        if self.first is not None:
            optional = "" if self.first[2] else "?"
            parameters.append(f"{self._own_name(self.first[0])}{optional}: {self.first[1]}")
        if others:
            members = "; ".join(
                f"{self._own_name(name)}{'' if required else '?'}: {kind}"
                for name, kind, required, _ in others
            )
            default = "" if any(each[2] for each in others) else " = {}"
            parameters.append(f"options: {{ {members} }}{default}")
        head = f"  {self.name}({', '.join(parameters)}): {self._returned()} {{\n"
        return (
            comment(self._doc(others), "  ") + head + f"    {self._statement(bool(others))}\n  }}\n"
        )

    def _own_name(self, wire: str) -> str:
        return self.rename.get(wire, wire) or "body"

    def _doc(self, others: list[tuple[str, str, bool, str]]) -> str:
        permission = self.operation.get("x-permission", "")
        needs = f"; needs `{permission}`" if "." in permission else ""
        text = self.operation.get("description", "")
        named = "".join(f"\n\n- `{self._own_name(name)}`: {said}" for name, _, _, said in others)
        return f"{self.operation['summary']}.\n\n{text}{named}\n\n`{self.call}`{needs}."

    def _returned(self) -> str:
        if self.is_stream:
            return "AsyncGenerator<Uint8Array, void, void>"
        model = type_of(self.reply, "m.")
        if self.paged:
            page = self.schemas[type_of(self.reply)]["properties"][self.paged]
            return f"Pages<{type_of(page['items'], 'm.')}, {model}>"
        return f"Promise<{model.removesuffix('[]')}>"

    def _statement(self, has_options: bool) -> str:
        method, _, path = self.call.partition(" ")
        spec = [
            f'method: "{method}"',
            f'path: "{path}"',
            f"isRepeatable: {str(self.is_repeatable).lower()}",
        ]
        values = []
        if self.first is not None and self.first[0]:
            values.append(self._own_name(self.first[0]))
        values += ["...options"] if has_options else []
        given = f"{{ {', '.join(values)} }}"
        names = [self._own_name(each["name"]) for each in self.query]
        if self.rename:
            pairs = ", ".join(f'{new}: "{old}"' for old, new in self.rename.items())
            given = f"renamed({given}, {{ {pairs} }})"
            names = [each["name"] for each in self.query]
        if self.media_type and self.first is not None and not self.first[0]:
            spec.append("body")
            spec += [] if self.is_free else [f'mediaType: "{self.media_type}"']
            spec += [f"query: {given}"] if values else []
        elif self.body and names:
            spec.append(f"...split({given}, {names!r})".replace("'", '"'))
        elif self.body:
            spec.append(f"body: {given}")
        elif values:
            spec.append(f"query: {given}")
        call = f"{{ {', '.join(spec)} }}"
        if self.is_stream:
            return f"return this.transport.stream({call});"
        if self.paged:
            return f'return new Pages(this.transport, {call}, "{self.paged}");'
        if type_of(self.reply).endswith("[]"):
            return f"return this.one({call});"
        return f"return this.transport.request({call});"


_HEAD = """import type * as m from "./models.js";
import { Pages } from "./pages.js";
import type { Call, Transport, When } from "./transport.js";

type Values = Record<string, unknown>;

// The query and the body of an operation that has both.
function split(given: Values, inQuery: readonly string[]): { query: Values; body: Values } {
  const parts = { query: {} as Values, body: {} as Values };
  for (const [name, value] of Object.entries(given))
    parts[inQuery.includes(name) ? "query" : "body"][name] = value;
  return parts;
}

function renamed(given: Values, names: Record<string, string>): Values {
  const pairs = Object.entries(given).map(([name, value]) => [names[name] ?? name, value]);
  return Object.fromEntries(pairs) as Values;
}

class Noun {
  constructor(protected readonly transport: Transport) {}

  // The response is an array with one item.
  protected async one<T>(call: Call): Promise<T> {
    const [found] = await this.transport.request<[T]>(call);
    return found;
  }
}
"""


def render_nouns(document: Json, surface: Mapping[str, Any]) -> str:
    nouns = {name: each for name, each in surface.items() if name != "left_out"}
    parts = [MADE.format(what="The nouns of the client, and their methods."), _HEAD]
    for noun, methods in nouns.items():
        parts.append(f"\nexport class {class_name(noun)} extends Noun {{\n")
        parts.append("\n".join(Method(document, *each).render() for each in methods.items()))
        parts.append("}\n")
    parts.append("\nexport class Nouns {\n")
    parts += [f"  readonly {to_camel(noun)}: {class_name(noun)};\n" for noun in nouns]
    parts.append("\n  constructor(protected readonly transport: Transport) {\n")
    parts += [f"    this.{to_camel(noun)} = new {class_name(noun)}(transport);\n" for noun in nouns]
    parts.append("  }\n}\n")
    return "".join(parts)


def class_name(noun: str) -> str:
    return "".join(word.title() for word in noun.split("_")) + "Noun"


def generate() -> dict[Path, str]:
    """Every generated file."""
    document = build_openapi()
    surface = tomllib.loads(SURFACE.read_text())
    return {
        SOURCES / "models.ts": render_models(document),
        SOURCES / "nouns.ts": render_nouns(document, surface),
    }


def main() -> None:
    for path, text in generate().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
