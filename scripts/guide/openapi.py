"""docs/reference/openapi.json: the API as this commit serves it, to compare with.

`make reference` writes it. What changes the API therefore shows as a difference in review.
"""

import tempfile
from pathlib import Path

import msgspec

from longwire.clock import Clock
from longwire.process.app import App
from longwire.process.startup import build_database
from longwire.settings import Settings

PATH = Path(__file__).parents[2] / "docs/reference/openapi.json"


def build_openapi() -> bytes:
    """The document of a service with the default settings, as it is served."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        document = App(settings, build_database(settings, Clock())[0]).build_openapi()
    return msgspec.json.encode(document)


def render(document: bytes) -> str:
    """As it is committed: a member a line, and sorted, as the order of members says nothing."""
    members = msgspec.json.encode(msgspec.json.decode(document), order="sorted")
    return msgspec.json.format(members, indent=1).decode() + "\n"
