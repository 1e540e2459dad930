"""Origins of pages, as the operator lists them.

Apart from `cors`, so that reading the settings does not load all that serves requests.
"""

import re

ANY = "*"

_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def parse_origins(text: str) -> frozenset[str]:
    """The origins in a list with commas; raises ValueError for what is none."""
    origins = frozenset(part for each in text.split(",") if (part := each.strip().lower()))
    for each in origins:
        if each != ANY and not _ORIGIN.fullmatch(each):
            raise ValueError(f"{each} is no origin like https://app.example.com, nor *")
    return origins
