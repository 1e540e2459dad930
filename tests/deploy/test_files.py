"""The container image, the compose file and the unit, checked as far as that needs no engine.

No image is built here: that needs a registry. `test_wheel.py` installs what the image installs.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from jsonschema.validators import validator_for
from ruamel.yaml import YAML

from longwire import __version__
from longwire.settings import Settings
from tests.waiting import eventually

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
SCHEMAS = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor"
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+(\.\d+)+")
LOCKED = re.compile(r"--require-hashes .*-r |--no-deps --no-index ")
SECURITY_SCORE_MAX = 2.0  # of 10; from 0, which nothing with a network reaches


# --- the image ---


def read_dockerfile() -> list[tuple[str, str]]:
    """(instruction, its arguments) in order, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def test_the_image_is_made_as_the_linters_want_it() -> None:
    found = read_dockerfile()
    stages = [index for index, (name, _) in enumerate(found) if name == "FROM"]
    assert len(stages) == 2, "one stage builds, the other one runs"
    final = found[stages[-1] :]
    for name, arguments in found:
        if name == "FROM":
            assert re.match(r"[\w./-]+:\d[\w.-]*( AS \w+)?$", arguments), "a version, not latest"
        if name == "RUN" and " pip install" in arguments:
            assert "--no-deps --no-build-isolation" in arguments or (
                "--require-hashes --only-binary :all:" in arguments
            )
        assert name not in ("ADD", "MAINTAINER")
        assert not re.search(r"\bsudo\b|curl .*\|\s*sh|apt-get upgrade", arguments)
    names = [name for name, _ in final]
    assert {"USER", "HEALTHCHECK", "ENTRYPOINT", "CMD", "EXPOSE", "STOPSIGNAL"} <= set(names)
    assert dict(final)["USER"] == "10001:10001"
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("RUN", "COPY"))
    for name in ("ENTRYPOINT", "CMD"):
        assert dict(final)[name].startswith("["), "a list, so that signals reach the process"


def test_the_image_copies_what_is_there_and_its_settings_exist() -> None:
    allowed = [
        line.removeprefix("!")
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert [name for name in allowed if not (ROOT / name).exists()] == []
    # What hatchling reads: the licences and the README, beside the sources.
    assert {"LICENSE", "README.md", "pyproject.toml", "console/LICENCES.txt", "src"} <= set(allowed)
    text = (DEPLOY / "Dockerfile").read_text()
    check_settings(re.findall(r"\bLONGWIRE_\w+", text))


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_health_check_tells_a_ready_service_from_others(world: Any) -> None:
    health = next(arguments for name, arguments in read_dockerfile() if name == "HEALTHCHECK")
    command = yaml.safe_load(health.partition("CMD ")[2])
    assert command[0] == "python"
    for port, code in ((world.port, 0), (9, 1)):
        env = {"LONGWIRE_PORT": str(port)}
        check = partial(
            subprocess.run, [sys.executable, *command[1:]], env=env, stderr=subprocess.DEVNULL
        )
        eventually(lambda: check().returncode == code)  # noqa: B023 (it is called right here)


def check_settings(names: list[str]) -> None:
    known = {f"LONGWIRE_{name.upper()}" for name in Settings.__dataclass_fields__}
    known |= {f"{name}_FILE" for name in known} | {"LONGWIRE_CONFIG"}
    assert names and [name for name in names if name not in known] == []


# --- compose ---


def read_compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def test_the_compose_file_and_the_workflows_match_their_published_schemas() -> None:
    for name, pattern in (
        ("compose-spec", "deploy/compose.yaml"),
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ):
        schema = json.loads((SCHEMAS / f"{name}.json").read_text())
        validator = validator_for(schema)(schema)
        paths = list(ROOT.glob(pattern))
        assert paths, pattern
        for path in paths:
            # YAML 1.2: `on` is a name in a workflow, and was true in 1.1.
            content = YAML(typ="safe").load(path.read_text())
            assert [error.message for error in validator.iter_errors(content)] == [], path
            assert list(validator.iter_errors({**content, "jobs": 1, "services": 1, "body": 1}))


def test_what_the_compose_file_names_exists() -> None:
    compose = read_compose()
    for name, service in compose["services"].items():
        assert set(service["networks"]) <= set(compose["networks"]), name
        assert set(service.get("secrets", ())) <= set(compose["secrets"]), name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert re.search(r":v?\d", service["image"]), f"{name}: a version, not latest"
        for volume in service.get("volumes", ()):
            source, place = volume.split(":")[:2]
            assert (DEPLOY / source).exists() if source[0] == "." else source in compose["volumes"]
            assert place.startswith("/")
    longwire = compose["services"]["longwire"]
    check_settings(list(longwire["environment"]))
    assert longwire["image"] == f"longwire:{__version__}"
    assert longwire["read_only"] and longwire["cap_drop"] == ["ALL"]
    (subnet,) = compose["networks"]["front"]["ipam"]["config"]
    assert longwire["environment"]["LONGWIRE_TRUSTED_PROXIES"] == subnet["subnet"]


def test_secrets_are_made_once_and_are_those_of_the_compose_file(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "make-secrets", tmp_path)
    subprocess.run([tmp_path / "make-secrets"], check=True, capture_output=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    subprocess.run([tmp_path / "make-secrets"], check=True, capture_output=True)
    assert made == {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert set(made) == set(read_compose()["secrets"])
    assert made["postgres_password"] in made["database_url"]
    assert len(set(made.values())) == len(made) and all(len(each) >= 48 for each in made.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


# --- the release ---


def test_what_a_release_runs_and_installs_cannot_be_replaced() -> None:
    """Actions by their commits, since a tag can be moved; packages by their hashes."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text()
        uses = re.findall(r"uses: (.+)", text)
        assert uses and [each for each in uses if not PINNED.fullmatch(each)] == []
        installs = re.findall(r"(?:pip|uv|npm|npx|pipx) (?:install|ci|run) .+", text)
        assert installs and [each for each in installs if not LOCKED.search(each)] == []
        assert not re.search(r"python -m build|curl|wget", text)


def test_the_changelog_has_a_section_for_this_version_and_one_for_the_next() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", headings[1])


# --- systemd ---


def test_the_unit_names_settings_that_exist() -> None:
    check_settings(re.findall(r"\bLONGWIRE_\w+", (DEPLOY / "systemd/longwire.service").read_text()))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit_and_finds_it_confined(tmp_path: Path) -> None:
    unit = tmp_path / "longwire.service"
    text = (DEPLOY / "systemd" / "longwire.service").read_text()
    command = f"{shlex.quote(sys.executable)} -m longwire"
    unit.write_text(text.replace("/opt/longwire/bin/longwire", command))
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0 and "longwire.service" not in verified.stderr, verified.stderr
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    score = re.search(r"exposure level for longwire.service: ([\d.]+)", rated.stdout)
    assert score and float(score[1]) < SECURITY_SCORE_MAX, rated.stdout
