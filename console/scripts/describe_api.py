"""Writes what the console knows of the API: openapi.json, for its types, and the permissions.

Both come from the routes of the service, which need not run for that.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

CONSOLE = Path(__file__).parents[1]
OPENAPI = CONSOLE / "openapi.json"
PERMISSIONS = CONSOLE / "src/api/permissions.ts"

_TEMPLATE = """\
// Made from the OpenAPI document: what each operation needs. Do not edit; `make console` writes it.
export const NEEDS = {{
{lines}
}} as const;

export type Operation = keyof typeof NEEDS;
"""


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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        document = build_openapi(Path(folder))
    OPENAPI.write_text(json.dumps(document))
    PERMISSIONS.write_text(render_permissions(document))


if __name__ == "__main__":
    main()
