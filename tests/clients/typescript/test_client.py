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
    run(str(TSC), "-p", str(CLIENT), "--outDir", str(folder))
    return folder


def run(*command: str, **environment: str) -> None:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
def test_the_example_of_the_readme_runs(world: World, built: Path, tmp_path: Path) -> None:
    ada = world.person("ada")
    text = (CLIENT / "README.md").read_text()
    (example,) = re.findall(r"```js\n(.*?)```", text, re.DOTALL)
    source = tmp_path / "example.mjs"
    source.write_text(example.replace('"@longwire/client"', f'"{(built / "index.js").as_uri()}"'))
    run(
        *("node", str(source)),
        LONGWIRE_URL=world.url,
        LONGWIRE_CLIENT_ID=ada.client_id,
        LONGWIRE_CLIENT_SECRET=ada.client_secret,
    )
