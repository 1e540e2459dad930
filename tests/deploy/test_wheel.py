"""The wheel that we publish: what it says, what it contains, and that it serves without extras."""

import email
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from longwire import __version__, extras
from tests.process import environment
from tests.waiting import PATIENCE_S, eventually

ROOT = Path(__file__).parent.parent.parent
CORE_MB_MAX = 120
# Runs before everything else in a Python process whose path begins with its folder.
HIDE_EXTRAS = f"import sys\nsys.modules.update(dict.fromkeys({list(extras.EXTRAS.values())}))\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one of our client, which the service depends on."""
    return build_wheel(ROOT / "clients" / "python", tmp_path_factory.mktemp("wheel"))


def build_wheel(project: Path, folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=project, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as an import path without any extra."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (folder / "sitecustomize.py").write_text(HIDE_EXTRAS)
    return folder


@pytest.mark.slow
def test_the_wheel_says_what_it_is_and_contains_the_console(wheel: Path) -> None:
    assert wheel.name == f"longwire-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = email.message_from_bytes(
            archive.read(f"longwire-{__version__}.dist-info/METADATA")
        )
    assert {"longwire/py.typed", "longwire/web/console/index.html"} <= set(names)
    outside = ("longwire/", f"longwire-{__version__}.dist-info/")
    assert [name for name in names if not name.startswith(outside)] == []
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {*extras.EXTRAS, "all"} <= set(metadata.get_all("Provides-Extra") or ())
    assert "Typing :: Typed" in (metadata.get_all("Classifier") or ())
    assert not re.search(r"/(?:work|tmp|home)/", metadata.as_string())


@pytest.mark.slow
def test_the_image_copies_what_its_wheels_are_built_from(tmp_path: Path) -> None:
    """The wheels are built again, from nothing but the context of the image."""
    context = tmp_path / "context"
    for name in list_context():
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "guide")
            shutil.copytree(source, context / name, ignore=ignored)
        else:
            (context / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, context / name)
    for project in (context, context / "clients" / "python"):
        built = build_wheel(project, tmp_path / project.name)
        with zipfile.ZipFile(built) as archive:
            assert any(name.endswith("/py.typed") for name in archive.namelist())


def list_context() -> list[str]:
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignore
    return [line.removeprefix("!") for line in ignore if line.startswith("!")]


@pytest.mark.slow
def test_it_serves_its_console_without_any_extra(unpacked: Path, tmp_path: Path) -> None:
    with serving([sys.executable, "-m", "longwire"], tmp_path, PYTHONPATH=str(unpacked)) as url:
        check_service(url)


@pytest.mark.slow
@pytest.mark.ordinary_variant("serve --port 0")
@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["doctor"]], ids=" ".join)
def test_an_operator_learns_which_extra_a_setting_needs(
    command: list[str], unpacked: Path, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "longwire", *command, "--database", "postgresql://localhost/x"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(unpacked), LONGWIRE_PORT="0"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode != 0
    assert "pip install '.[postgres]'" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.soak
@pytest.mark.parametrize("way", ["pip", "uvx"])
def test_it_installs_into_an_empty_environment_and_serves(
    wheel: Path, client_wheel: Path, tmp_path: Path, way: str
) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if way == "uvx":
        if uv is None:
            pytest.skip("uv is not installed; `make lock` installs it")
        source = ["--from", str(wheel), "--with", str(client_wheel)]
        command = [uv, "tool", "run", "--isolated", *source, "longwire"]
    else:
        venv = tmp_path / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        install = [str(venv / "bin" / "pip"), "install", "--quiet", str(client_wheel), str(wheel)]
        subprocess.run(install, check=True)
        command = [str(venv / "bin" / "longwire")]
        assert measure_mb(venv) < CORE_MB_MAX
    with serving(command, tmp_path) as url:
        check_service(url)


@pytest.mark.soak
def test_a_clone_is_ready_after_one_command(tmp_path: Path) -> None:
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if files.returncode != 0:
        pytest.skip("this is no clone")
    for name in files.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["make", "install"], cwd=tmp_path, env=environment(), check=True)
    with serving([str(tmp_path / ".venv" / "bin" / "longwire")], tmp_path) as url:
        check_service(url)


def measure_mb(venv: Path) -> float:
    """What longwire and its dependencies take; pip itself and compiled bytecode are not theirs."""
    packages = next(venv.glob("lib/python*/site-packages"))
    files = [
        path
        for path in packages.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and path.relative_to(packages).parts[0].split("-")[0] not in ("pip", "setuptools")
    ]
    return sum(path.stat().st_size for path in files) / 1e6


@contextmanager
def serving(command: list[str], folder: Path, **variables: str) -> Iterator[str]:
    """`longwire serve` by this command, until the block ends; its address."""
    out = folder / "out"
    serve = [*command, "serve", "--data", str(folder / "data"), "--port", "0"]
    with out.open("wb") as file:
        process = subprocess.Popen(
            serve, cwd=folder, env=environment(**variables), stdout=file, stderr=file
        )
    try:
        pattern = re.compile(r" serves (https?://\S+) ")
        eventually(lambda: bool(pattern.search(out.read_text())) or process.poll() is not None, 300)
        found = pattern.search(out.read_text())
        assert found, out.read_text()
        yield found[1]
    finally:
        process.terminate()
        process.wait(60)


def check_service(url: str) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as http:
        eventually(lambda: http.get("/health/ready").status_code == 200)
        page = http.get("/console/")
        assert page.status_code == 200 and "<script" in page.text
        script = re.search(r'src="([^"]+\.js)"', page.text)
        assert script and http.get(script[1]).status_code == 200
        assert http.get("/openapi.json").json()["info"]["version"] == __version__
