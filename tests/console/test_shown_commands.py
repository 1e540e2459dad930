"""The commands that empty pages show work as they are pasted."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S
from tests.world import World

PAGES = Path(__file__).parents[2] / "console/src/pages"
SHOWN = re.compile(r"curl(?:=\{|: )`(curl .*?)`")
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def list_commands() -> dict[str, str]:
    return {
        f"{path.name}:{number}": command.replace("\\\\", "\\")
        for path in sorted(PAGES.glob("*/*.tsx"))
        for number, command in enumerate(SHOWN.findall(path.read_text()))
    }


@pytest.mark.engine_free
@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
def test_the_commands_of_empty_pages_are_understood_by_the_service(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    values = {
        "SERVICE_URL": world.url,
        "groupId": group,
        "device.deviceId": ada.device(group),
        "new Date().toISOString().slice(0, 19)": "2026-11-19T04:00:00",
    }
    commands = list_commands()
    assert any("groups-page" in name for name in commands) and len(commands) > 5
    statuses = {}
    for name, command in commands.items():
        line = PLACEHOLDER.sub(lambda found: values[found[1]], command)
        statuses[name] = subprocess.run(
            ["bash", "-c", f"{line} -s -o /dev/null -w '%{{http_code}}'"],
            env={**os.environ, "TOKEN": ada.token},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        ).stdout
    # The id of a device is still to be put in; and there is no network that downlinks could go to.
    special = {"live-page.tsx:0": "400", "downlinks-tab.tsx:0": "409"}
    assert statuses == {name: special.get(name, "200") for name in commands}
