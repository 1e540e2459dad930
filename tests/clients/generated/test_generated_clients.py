"""Clients that generators make of the OpenAPI document: they compile, and decode every response.

`make generators` installs the generators. It takes minutes to run them all, so `make soak` does.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import eventually
from tests.world import KINDS, World, ok

HERE = Path(__file__).parent
TOOLS = HERE.parents[2] / ".brokers" / "generators"
JAR = TOOLS / "openapi-generator.jar"
NODE_BIN = TOOLS / "node" / "node_modules" / ".bin"
PYTHON_BIN = TOOLS / "python" / "bin"
NOWHERE = "http://127.0.0.1:9/"  # a closed port
# GETs that need something else than a token: the cookie of a session.
WITH_COOKIE = {"getSession"}

pytestmark = [
    pytest.mark.soak,
    pytest.mark.engine_free,
    pytest.mark.parametrize("engine", ["sqlite"], indirect=True),
]


def need(*paths: Path | str) -> None:
    for path in paths:
        is_there = path.exists() if isinstance(path, Path) else shutil.which(path)
        if not is_there:
            pytest.skip(f"{path} is missing; `make generators` may install it")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1_200,
    )
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


@pytest.fixture
def document(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(world.nobody.get("/openapi.json").text)
    return path


@pytest.fixture
def calls(world: World, document: Path, tmp_path: Path) -> Path:
    """Every GET that responds with JSON, with parameters of things that exist."""
    values = fill(world)
    described = json.loads(document.read_text())["paths"]
    found = [
        {
            "operation": operation["operationId"],
            "tag": operation["tags"][0],
            "query": {
                each["name"]: values.get(f"{operation['operationId']}.{each['name']}")
                or values[each["name"]]
                for each in operation.get("parameters", ())
                if each["required"]
            },
        }
        for path, methods in described.items()
        for method, operation in methods.items()
        if method == "get"
        and "application/json" in operation["responses"].get("200", {}).get("content", {})
        and not path.startswith("/network/")
        and operation["operationId"] not in WITH_COOKIE
    ]
    trace = next(each for each in found if each["operation"] == "traceRecord")
    trace["query"] = {"messageId": values["id"]}
    path = tmp_path / "calls.json"
    path.write_text(json.dumps(found))
    return path


def fill(world: World) -> dict[str, Any]:
    """One thing of every kind; what it is called, by the names of parameters."""
    operator = world.operator
    home = operator.group("home")
    device = operator.device(home)
    connector = operator.connector(home, NOWHERE)
    notification = operator.notification(home, NOWHERE, reason="never")
    operator.app_client(home, "reader")
    for kind in KINDS:
        operator.reports(device, kind)
    tagging = {"kind": "tag", "groupId": home, "deviceIds": [device]}
    job = ok(operator.post("/job", {**tagging, "parameters": {"addTags": ["new"]}}))["job"]
    named = {"connectorId": connector, "groupId": home}
    period = {"beginDate": "2026-03-01", "endDate": "2026-03-02"}
    replay = ok(operator.post("/connector/replay", {**named, **period}))["replayId"]
    eventually(lambda: bool(ok(operator.get("/connector/messages", groupId=home))["items"]))
    message = ok(operator.get("/connector/messages", groupId=home))["items"][0]["id"]
    return {
        **named,
        **period,
        "deviceId": device,
        "getSeries.deviceId": [device],
        "path": "/data/temperature",
        "measurement": "temperature",
        "userId": operator.id,
        "permission": "device.read",
        "type": "generic",
        "getConnectorType.type": "http",
        "getNotificationType.type": "webhook",
        "notificationId": notification,
        "jobId": job["jobId"],
        "replayId": replay,
        "id": message,
    }


def expect_all(calls: Path, output: str) -> None:
    wanted = [each["operation"] for each in json.loads(calls.read_text())]
    assert len(wanted) > 50
    assert output.split() == wanted


def generate(language: str, document: Path, output: Path, *options: str) -> None:
    need("java", JAR)
    left_out = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
    run(
        *("java", "-jar", JAR, "generate", "-g", language, "-i", document, "-o", output),
        *("--global-property", left_out, *options),
        cwd=document.parent,
    )


def test_python(world: World, document: Path, calls: Path, tmp_path: Path) -> None:
    need(PYTHON_BIN / "openapi-python-client")
    client = tmp_path / "longwire_generated"
    run(
        *(PYTHON_BIN / "openapi-python-client", "generate", "--meta", "none"),
        *("--path", document, "--output-path", client),
        cwd=tmp_path,
    )
    run(PYTHON_BIN / "mypy", "--strict", client.name, cwd=tmp_path)
    python = PYTHON_BIN / "python"
    said = run(
        *(python, HERE / "call_python.py", client, calls, world.url, world.operator.token),
        cwd=tmp_path,
    )
    expect_all(calls, said)


def test_typescript(world: World, document: Path, calls: Path, tmp_path: Path) -> None:
    need("node", NODE_BIN / "openapi-ts")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(TOOLS / "node" / "node_modules")
    sources = tmp_path / "src"
    run(NODE_BIN / "openapi-typescript", document, "-o", sources / "types.ts", cwd=tmp_path)
    hey = ("-i", document, "-o", sources / "hey", "-c", "@hey-api/client-fetch")
    run(NODE_BIN / "openapi-ts", *hey, "--no-log-file", cwd=tmp_path)
    orval = ("--input", document, "--output", sources / "orval.ts", "--client", "fetch")
    run(NODE_BIN / "orval", *orval, cwd=tmp_path)
    strict = {
        "strict": True,
        "target": "es2022",
        "module": "esnext",
        "moduleResolution": "bundler",
        "lib": ["es2022", "dom", "dom.iterable"],
        "outDir": "built",
        "rootDir": "src",
    }
    config = {"compilerOptions": strict, "include": ["src"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    run(NODE_BIN / "tsc", "-p", ".", cwd=tmp_path)
    built = tmp_path / "built" / "hey"
    add_extensions(built)
    said = run(
        *("node", HERE / "call_typescript.mjs", built, calls, world.url, world.operator.token),
        cwd=tmp_path,
    )
    expect_all(calls, said)


def add_extensions(folder: Path) -> None:
    """Bundlers find modules without their extension, Node.js does not."""
    for path in folder.rglob("*.js"):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            head, quote, target = line.rpartition(" from '")
            name = target.removesuffix("';")
            if quote and name.startswith("."):
                whole = path.parent / name
                name += "/index.js" if whole.is_dir() else ".js"
                lines[number] = f"{head}{quote}{name}';"
        path.write_text("\n".join(lines))


def test_go(world: World, document: Path, calls: Path, tmp_path: Path) -> None:
    need("go")
    client = tmp_path / "go"
    options = "gitHost=example.com,gitUserId=longwire,gitRepoId=longwire,packageName=longwire"
    generate("go", document, client, f"--additional-properties={options}")
    module = client / "go.mod"
    first, _, rest = module.read_text().partition("\n")
    assert first.startswith("module ")
    module.write_text(f"module example.com/longwire\n{rest}")
    (client / "calls").mkdir()
    (client / "calls" / "main.go").write_text((HERE / "call_go.go.txt").read_text())
    run("go", "mod", "tidy", cwd=client)
    run("go", "vet", "./...", cwd=client)
    said = run("go", "run", "./calls", calls, world.url, world.operator.token, cwd=client)
    expect_all(calls, said)


def test_oapi_codegen(world: World, tmp_path: Path) -> None:
    """Go, by the generator that reads OpenAPI 3.0, with no option but where to write."""
    need("go")
    (tmp_path / "openapi.json").write_text(world.nobody.get("/openapi-3.0.json").text)
    (tmp_path / "go.mod").write_text("module example.com/longwire\n\ngo 1.24\n")
    generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
    options = ("-generate", "types,client", "-package", "longwire", "-o", "longwire.go")
    run("go", "run", generator, *options, "openapi.json", cwd=tmp_path, GOFLAGS="-mod=mod")
    run("go", "mod", "tidy", cwd=tmp_path)
    run("go", "vet", "./...", cwd=tmp_path)


def test_java(document: Path, tmp_path: Path) -> None:
    need("java", "mvn")
    generate("java", document, tmp_path / "java", "--library", "native")
    run("mvn", "-q", "-B", "compile", cwd=tmp_path / "java")


def test_csharp(document: Path, tmp_path: Path) -> None:
    client = tmp_path / "csharp"
    generate("csharp", document, client, "--additional-properties=packageName=Longwire")
    assert (client / "src" / "Longwire" / "Longwire.csproj").exists()
    need("dotnet")
    run("dotnet", "build", "src/Longwire", cwd=client)


def test_rust(document: Path, tmp_path: Path) -> None:
    need("cargo")
    generate("rust", document, tmp_path / "rust")
    run("cargo", "check", "--quiet", cwd=tmp_path / "rust")
