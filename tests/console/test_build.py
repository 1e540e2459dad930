"""The committed console is what its sources build, and says whose work is in it.

Most of these tests need no Node.js. One builds the console, and skips without it.
"""

import copy
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

from console.scripts import describe_api, licences, manifest
from longwire.web import console_page
from tests.chromium import require_console
from tests.world import World, ok

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "console"
REBUILD = "run `make console`, and commit what it changes"
BUILD_TIMEOUT_S = 600


@pytest.fixture
def built() -> Path:
    require_console()
    return console_page.FOLDER


@pytest.fixture
def packages() -> Path:
    """What `npm ci` has installed from the lock file that is there now."""
    lock, installed = CONSOLE / "package-lock.json", CONSOLE / "node_modules/.package-lock.json"
    if not installed.exists():
        pytest.skip("the packages of the console are missing; `make node` installs them")
    wanted = json.loads(lock.read_text())["packages"]
    found = json.loads(installed.read_text())["packages"]
    if any(each["version"] != wanted.get(name, {}).get("version") for name, each in found.items()):
        pytest.skip("the packages of the console are of another version; `make node` installs them")
    return installed.parent


def with_node(*command: str, **variables: str) -> None:
    done = subprocess.run(
        [CONSOLE / "scripts/with-node", *command],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode == os.EX_UNAVAILABLE:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def find_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return sorted(
        f"{part}: {name}"
        for part in before.keys() | after.keys()
        for name in before.get(part, {}).keys() | after.get(part, {}).keys()
        if before.get(part, {}).get(name) != after.get(part, {}).get(name)
    )


@pytest.mark.slow
def test_the_permissions_are_those_of_the_operations(tmp_path: Path) -> None:
    document = describe_api.build_openapi(tmp_path)
    permissions = describe_api.render_permissions(document)
    assert '"PUT /connector": "connector.write",' in permissions
    assert describe_api.PERMISSIONS.read_text() == permissions, REBUILD


def test_the_list_of_documents_is_that_of_their_site() -> None:
    documents = describe_api.render_documents()
    assert '{ title: "Connectors", path: "guides/connectors/" },' in documents
    assert describe_api.DOCUMENTS.read_text() == documents, REBUILD


@pytest.mark.engine_free
def test_the_client_is_made_from_the_api_that_is_served(built: Path, world: World) -> None:
    served = manifest.digest_api(ok(world.nobody.get("/openapi.json")))
    changes = find_changes({"api": manifest.read_manifest().get("api", {})}, {"api": served})
    assert not changes, f"{changes} changed since the client was generated: {REBUILD}"


def test_neither_sources_nor_built_files_were_changed_since_the_build(built: Path) -> None:
    assert (built / manifest.NAME).exists(), f"this was not built as a whole: {REBUILD}"
    found = manifest.build_manifest()
    recorded = manifest.read_manifest()
    changes = find_changes({part: recorded.get(part, {}) for part in found}, found)
    assert not changes, f"{changes} changed since the console was built: {REBUILD}"


@pytest.mark.slow
def test_the_sources_build_these_files_to_the_byte(
    built: Path, packages: Path, tmp_path: Path
) -> None:
    with_node("npm", "run", "--silent", "build", CONSOLE_OUT=str(tmp_path / "built"))
    expected = manifest.build_manifest()
    found = manifest.build_manifest(output=tmp_path / "built")
    assert not find_changes(expected, found), f"the sources build something else: {REBUILD}"


def test_every_package_in_the_console_is_named_with_its_licence() -> None:
    text = licences.LICENCES.read_text()
    lock = json.loads((CONSOLE / "package-lock.json").read_text())
    for path in licences.list_bundled(lock):
        name = path.rpartition("node_modules/")[2]
        assert f"\n{name} {lock['packages'][path]['version']} (" in text, f"{name}: {REBUILD}"


def test_the_licences_are_those_of_the_installed_packages(packages: Path) -> None:
    assert licences.LICENCES.read_text() == licences.render_licences(), REBUILD


def test_a_wheel_has_the_built_files_and_the_licences(built: Path) -> None:
    builder = WheelBuilder(str(ROOT))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    names = {f"longwire/web/console/{name}" for name in manifest.build_manifest()["outputs"]}
    assert names <= packed
    assert not any("node_modules" in name for name in packed)
    assert "console/LICENCES.txt" in builder.metadata.core.license_files


def test_a_change_of_anything_is_noticed(tmp_path: Path) -> None:
    sources, output = tmp_path / "console", tmp_path / "built"
    for name in ("src/main.tsx", "package-lock.json", "node_modules/react/index.js"):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text("1")
    (sources / ".gitignore").write_text("/node_modules\n")
    output.mkdir()
    (output / "index.html").write_text("1")
    before = manifest.build_manifest(sources, output)
    for path, change in {
        sources / "src/main.tsx": "sources: src/main.tsx",
        sources / "src/new.ts": "sources: src/new.ts",
        sources / "package-lock.json": "sources: package-lock.json",
        output / "index.html": "outputs: index.html",
        output / "assets.js": "outputs: assets.js",
    }.items():
        was = path.read_text() if path.exists() else None
        path.write_text("2")
        assert find_changes(before, manifest.build_manifest(sources, output)) == [change]
        path.unlink() if was is None else path.write_text(was)
    (sources / "node_modules/react/index.js").write_text("2")
    (output / "manifest.json").write_text("{}")
    assert manifest.build_manifest(sources, output) == before


def test_a_change_of_what_the_api_takes_or_answers_with_is_noticed(tmp_path: Path) -> None:
    def describe(change: Callable[[Any], None]) -> dict[str, Any]:
        changed = copy.deepcopy(document)
        change(changed)
        return {"api": manifest.digest_api(changed)}

    document = describe_api.build_openapi(tmp_path)
    before = {"api": manifest.digest_api(document)}

    def find(change: Callable[[Any], None]) -> list[str]:
        return find_changes(before, describe(change))

    def group(changed: Any) -> Any:
        return changed["components"]["schemas"]["Group"]

    def operation(changed: Any) -> Any:
        return changed["paths"]["/group"]["get"]

    # "description" is a text of Group, and a member of it.
    assert find(lambda each: group(each)["properties"].pop("description")) == ["api: components"]
    assert find(lambda each: operation(each)["parameters"].pop()) == ["api: paths"]
    assert find(lambda each: operation(each).update({"x-permission": "none"})) == ["api: paths"]
    assert find(lambda each: each["paths"].pop("/group")) == ["api: paths"]
    assert find(lambda each: each["info"].update(version="9.9.9")) == []
    assert find(lambda each: operation(each).update(description="Other words.")) == []
    assert find(lambda each: group(each).update(description="Other words.", example={})) == []
