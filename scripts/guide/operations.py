"""Pages about every operation and every type, from the OpenAPI document.

They are made for the site alone and never committed: in the repository the tables of
docs/reference/interface.md say what there is, and a running service has the document itself.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

Json = dict[str, Any]

HEAD = """# {title}

{text}
"""
LIST = "operations.md"
TYPES = "types.md"
_METHODS = ("get", "post", "put", "patch", "delete")


def write_operations(folder: Path) -> None:
    """A page for each tag of the document, one with all types, and one with all operations."""
    document = build_openapi()
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        HEAD.format(title="All operations", text="Every operation, with a link to its fields.")
    ]
    for tag in document["tags"]:
        operations = list(list_operations(document, tag["name"]))
        if not operations:
            continue
        page = f"{slug(tag['name'])}.md"
        (folder / page).write_text(render_page(tag, operations, document))
        lines += [f"## {tag['name']}\n", f"{tag['description']}\n"]
        lines += ["| Operation | Permission | What it does |", "|---|---|---|"]
        lines += [
            f"| [`{title}`]({page}#{slug(title)}) | {permission(entry)} | {entry['summary']} |"
            for title, entry in operations
        ]
        lines.append("")
    (folder / LIST).write_text("\n".join(lines))
    (folder / TYPES).write_text(render_types(document))


def build_openapi() -> Json:
    """The document of a service with a new database."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        return App(settings, build_database(settings, Clock())[0]).build_openapi()


def list_operations(document: Json, tag: str) -> Iterator[tuple[str, Json]]:
    """The operations of a tag, each with its title such as `GET /device`."""
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if tag in methods.get(method, {}).get("tags", ()):
                yield f"{method.upper()} {path}", methods[method]


def render_page(tag: Json, operations: list[tuple[str, Json]], document: Json) -> str:
    text = (
        f"{tag['description']} A `?` marks what may be left out. [The interface](../interface.md)"
        " has what holds for all operations."
    )
    parts = [HEAD.format(title=tag["name"], text=text)]
    for title, entry in operations:
        parts.append(f"## {title}\n")
        parts.append(f"{entry['summary']}.\n")
        if entry.get("description"):
            parts.append(f"{entry['description']}\n")
        parts.append(f"Permission: {permission(entry)}\n")
        parts += render_parameters(entry)
        parts += render_body(entry, document)
        parts += render_response(entry)
    return "\n".join(parts)


def permission(entry: Json) -> str:
    needed = entry.get("x-permission", "")
    return f"[`{needed}`](../permissions.md#permissions)" if "." in needed else needed or "none"


def render_parameters(entry: Json) -> list[str]:
    given = entry.get("parameters", ())
    if not given:
        return []
    rows = [
        row(name_of(each["name"], each.get("required")), each["in"], each["schema"], each)
        for each in given
    ]
    return ["| Parameter | Where | Type | Meaning |", "|---|---|---|---|", *rows, ""]


def render_body(entry: Json, document: Json) -> list[str]:
    content = entry.get("requestBody", {}).get("content", {})
    parts: list[str] = []
    for media_type, each in content.items():
        schema = each.get("schema", {})
        parts += [f"Body (`{media_type}`): {type_of(schema)}\n"]
        if "$ref" in schema:
            parts += render_fields(resolve(schema, document))
    return parts


def render_response(entry: Json) -> list[str]:
    parts = []
    for status, response in entry["responses"].items():
        if status.startswith("2"):
            shown = [
                f"{type_of(each['schema'])} (`{media_type}`)"
                for media_type, each in response.get("content", {}).items()
                if "schema" in each
            ]
            parts.append(f"Response {status}: {', '.join(shown) or response['description']}\n")
    errors = ", ".join(f"{each}" for each in entry["responses"] if each.startswith(("4", "5")))
    if errors:
        parts.append(f"Errors: {errors}; see [errors](../errors.md).\n")
    return parts


def render_types(document: Json) -> str:
    text = "The objects of requests and responses. A `?` marks what may be missing."
    parts = [HEAD.format(title="Types", text=text)]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += [f"## {name}\n", f"{flat(schema.get('description', ''))}\n"]
        parts += render_fields(schema) if "properties" in schema else [f"{type_of(schema)}\n"]
    return "\n".join(parts)


def render_fields(schema: Json) -> list[str]:
    fields = schema.get("properties", {})
    if not fields:
        return []
    required = schema.get("required", ())
    rows = [row(name_of(name, name in required), None, each, each) for name, each in fields.items()]
    return ["| Field | Type | Meaning |", "|---|---|---|", *rows, ""]


def row(name: str, place: str | None, schema: Json, described: Json) -> str:
    cells = [name, *([place] if place else []), type_of(schema), describe(schema, described)]
    return f"| {' | '.join(cells)} |"


def name_of(name: str, is_required: bool | None) -> str:
    return f"`{name}`{'' if is_required else ' ?'}"


def describe(schema: Json, described: Json) -> str:
    """What is said of a value itself, or of the one that it is unless it is null."""
    candidates = [described, schema, *schema.get("anyOf", ())]
    text = next((each["description"] for each in candidates if each.get("description")), "")
    return flat(text)


def type_of(schema: Json) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({TYPES}#{slug(name)})"
    if "anyOf" in schema or "oneOf" in schema:
        choices = (type_of(each) for each in schema.get("anyOf") or schema["oneOf"])
        return " or ".join(dict.fromkeys(choices))
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {type_of(schema['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def resolve(schema: Json, document: Json) -> Json:
    return dict(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])


def flat(text: str) -> str:
    """A text in one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def slug(text: str) -> str:
    """As the generator makes an anchor of a heading."""
    kept = "".join(each for each in text.lower() if each.isalnum() or each in " -_")
    return kept.strip().replace(" ", "-")
