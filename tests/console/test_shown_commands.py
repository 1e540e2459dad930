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
SHOWN = re.compile(r"curl(?:=\{|: )`(curl .*?)`", re.DOTALL)
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def list_commands() -> dict[str, str]:
    return {
        f"{path.name}:{number}": command.replace("\\\\", "\\")
        for path in sorted(PAGES.glob("*/*.tsx"))
        for number, command in enumerate(SHOWN.findall(path.read_text()))
    }


def is_folded(command: str) -> bool:
    """Each option stands in a line of its own, and each line but the last goes on."""
    *lines, last = command.split("\n")
    return (
        bool(lines)
        and all(line.endswith(" \\") and len(re.findall(r" -[Hd] ", line)) == 1 for line in lines)
        and not last.endswith("\\")
    )


@pytest.mark.engine_free
@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
def test_the_commands_of_empty_pages_are_understood_by_the_service(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    values = {
        "SERVICE_URL": world.url,
        "groupId": group,
        "device.deviceId": ada.device(group),
    }
    commands = list_commands()
    assert any("groups-page" in name for name in commands) and len(commands) > 5
    assert [name for name, command in commands.items() if not is_folded(command)] == []
    statuses = {}
    for name, command in commands.items():
        line = PLACEHOLDER.sub(lambda found: values[found[1]], command)
        statuses[name] = subprocess.run(
            ["bash", "-c", f"{line} \\\n  -s -o /dev/null -w '%{{http_code}}'"],
            env={**os.environ, "TOKEN": ada.token},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        ).stdout
    # There is no network that downlinks could go to.
    special = {"downlinks-tab.tsx:0": "409"}
    assert statuses == {name: special.get(name, "200") for name in commands}
