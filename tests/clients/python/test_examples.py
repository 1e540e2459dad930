"""The examples in the documents work as they are printed."""

import re
from pathlib import Path

import pytest

from tests.world import Person, World

pytestmark = [pytest.mark.engine_free, pytest.mark.slow]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("document", "printed"),
    [
        ("clients/python/README.md", []),
        (
            "docs/guides/clients.md",
            [
                '{"celsius":4.5}',
                "1 devices: ['Cold room']",
                "name must not be empty",
                "True",
                "['{\"celsius\":9}']",
                "204 401",
                "Cold room",
            ],
        ),
    ],
)
def test_the_examples_of_a_document_work(
    world: World,
    ada: Person,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    document: str,
    printed: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGWIRE_URL", world.url)
    monkeypatch.setenv("LONGWIRE_CLIENT_ID", ada.client_id)
    monkeypatch.setenv("LONGWIRE_CLIENT_SECRET", ada.client_secret)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, document, "exec"), namespace)
    lines = capsys.readouterr().out.splitlines()
    position = 0
    for each in printed:  # in this order
        position = next(
            number for number, line in enumerate(lines) if number >= position and each in line
        )
