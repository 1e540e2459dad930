"""Writes what the console knows of the API: openapi.json, for its types, and the permissions.

Both come from the routes of the service, which need not run for that. And the list of the
documents, by which the console finds them.
"""

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

CONSOLE = Path(__file__).parents[1]
OPENAPI = CONSOLE / "openapi.json"
PERMISSIONS = CONSOLE / "src/api/permissions.ts"
DOCUMENTS = CONSOLE / "src/frame/documents.ts"

_TEMPLATE = """\
// Made from the OpenAPI document: what each operation needs. Do not edit; `make console` writes it.
export const NEEDS = {{
{lines}
}} as const;

export type Operation = keyof typeof NEEDS;
"""

_DOCUMENTS_TEMPLATE = """\
// Made from the navigation of the documents. Do not edit; `make console` writes it.
export const DOCUMENTS: readonly {{ readonly title: string; readonly path: string }}[] = [
{lines}
];
"""
# For whoever changes longwire itself.
_LEFT_OUT = "Project"


def build_openapi(folder: Path) -> dict[str, Any]:
    """The document of a service with a new database in an empty folder."""
    settings = Settings(data=folder)
    return App(settings, build_database(settings, Clock())[0]).build_openapi()


def render_permissions(document: dict[str, Any]) -> str:
    """A table of the operations that need a permission; others need a token, or nothing."""
    needs = {
        f"{method.upper()} {path}": entry["x-permission"]
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
        if "." in entry["x-permission"]
    }
    lines = "\n".join(f'  "{name}": "{needs[name]}",' for name in sorted(needs))
    return _TEMPLATE.format(lines=lines)


def render_documents() -> str:
    """The pages of the documents, as their site has them: titles, and paths below /guide."""
    root = CONSOLE.parent
    navigation = tomllib.loads((root / "zensical.toml").read_text())["project"]["nav"]
    parts = {name: pages for part in navigation for name, pages in part.items()}
    pages = [
        page
        for name, part in parts.items()
        if name != _LEFT_OUT
        for page in part
        if isinstance(page, str)
    ]
    lines = []
    for page in pages:
        title = (root / "docs" / page).read_text().partition("\n")[0].removeprefix("# ")
        path = "" if page == "index.md" else page.removesuffix(".md") + "/"
        lines.append(f"  {{ title: {json.dumps(title)}, path: {json.dumps(path)} }},")
    return _DOCUMENTS_TEMPLATE.format(lines="\n".join(lines))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        document = build_openapi(Path(folder))
    OPENAPI.write_text(json.dumps(document))
    PERMISSIONS.write_text(render_permissions(document))
    DOCUMENTS.write_text(render_documents())


if __name__ == "__main__":
    main()
