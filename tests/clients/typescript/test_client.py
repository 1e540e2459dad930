"""The TypeScript client: what is generated is current, it compiles, and it works."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.world import World

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CLIENT = ROOT / "clients" / "typescript"
TSC = ROOT / "console" / "node_modules" / ".bin" / "tsc"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ts_generate", CLIENT / "scripts/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("node") is None or not TSC.exists():
        pytest.skip("Node.js or TypeScript is missing; `make node` installs both")
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "package.json").write_text('{"type": "module"}')
    # What TypeScript itself declares of browsers is checked by its makers.
    run(str(TSC), "-p", str(CLIENT), "--skipLibCheck", "--outDir", str(folder))
    return folder


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_generated_files_are_current(generator: ModuleType) -> None:
    stale = [path.name for path, text in generator.generate().items() if path.read_text() != text]
    assert stale == [], "run clients/typescript/scripts/generate.py"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_client_works_with_the_service(world: World, built: Path) -> None:
    ada = world.person("ada")
    run(
        *("node", "--test", str(HERE / "client.test.mjs")),
        BUILT=str(built),
        URL_OF_SERVICE=world.url,
        CLIENT_ID=ada.client_id,
        CLIENT_SECRET=ada.client_secret,
    )


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("document", "printed"),
    [
        ("clients/typescript/README.md", []),
        (
            "docs/guides/typescript.md",
            [
                '{"celsius":4.5}',
                "1 device: [ 'Cold room' ]",
                "name must not be empty",
                "20 stored",
                "[ '{\"celsius\":9}' ]",
                "got msg_1",
                "204 401",
            ],
        ),
    ],
)
def test_the_examples_of_a_document_run(
    world: World, built: Path, tmp_path: Path, document: str, printed: list[str]
) -> None:
    ada = world.person("ada")
    blocks = re.findall(r"^```js\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    assert blocks
    source = tmp_path / "example.mjs"
    module = (built / "index.js").as_uri()
    source.write_text("\n".join(blocks).replace('"@longwire/client"', f'"{module}"'))
    output = run(
        *("node", str(source)),
        LONGWIRE_URL=world.url,
        LONGWIRE_CLIENT_ID=ada.client_id,
        LONGWIRE_CLIENT_SECRET=ada.client_secret,
    )
    places = [output.find(each) for each in printed]
    assert -1 not in places and places == sorted(places), output
